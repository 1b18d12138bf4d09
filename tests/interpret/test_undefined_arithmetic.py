"""What C++ leaves open is reported in a checked run, for the threads that compute it and no others."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import UndefinedError, run
from prism.interpret.undefined_arithmetic import _far, _no_quotient, _overflows
from prism.lang import (
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    template,
    thread,
    wrapping_add,
    wrapping_multiply,
    wrapping_subtract,
)  # fmt: skip
from prism.lang.types import INT32, INT64, UINT32, Scalar

EDGES = [
    -(2**63),
    -(2**63) + 1,
    -(2**31),
    -(2**31) + 1,
    -46341,
    -3,
    -1,
    0,
    1,
    2,
    46340,
    46341,
    2**31 - 1,
    2**32,
    2**63 - 1,
]


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "%"])
@pytest.mark.parametrize("scalar", [INT32, INT64], ids=str)
def test_arrays_and_numbers_agree_with_exact_integers(scalar: Scalar, op: str) -> None:
    half = 1 << (scalar.bits - 1)
    rng = np.random.default_rng(3)
    values = [v for v in EDGES if -half <= v < half] + [int(v) for v in rng.integers(-half, half, 20)]
    pairs = [(a, b) for a in values for b in values]
    exact = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}

    def bad(a: int, b: int) -> bool:
        return b == 0 or (b == -1 and a == -half) if op in "/%" else not -half <= exact[op](a, b) < half

    faulty = _no_quotient if op in "/%" else _overflows
    a, b = (np.array(column, scalar.numpy) for column in zip(*pairs, strict=True))
    expected = [bad(*pair) for pair in pairs]
    assert faulty(op, a, b, scalar).tolist() == expected
    assert [bool(faulty(op, *pair, scalar)) for pair in pairs] == expected
    for other in (value for value in values if value or op in "+-*"):
        assert np.broadcast_to(faulty(op, a, other, scalar), a.shape).tolist() == [bad(int(one), other) for one in a]
    one = values[0]
    assert np.broadcast_to(faulty(op, one, b, scalar), b.shape).tolist() == [bad(one, int(other)) for other in b]


def test_counts_of_shifts() -> None:
    assert _far("<<", 1, np.array([-1, 0, 31, 32]), UINT32).tolist() == [True, False, False, True]


@template(T=dtype)
@prism("global")
@requires(grid[1], thread[32])
def halves(y: ptr(T) @ grid[1], n: T @ grid[1]):
    i: T @ thread[1] = T(id())
    with partition(y, thread[1], id()) as mine:
        with group(thread[1]):
            mine[0] = n // i if i != 0 else 0
            if i < 2:
                mine[0] += n


@pytest.mark.parametrize("scalar", [np.int32, np.int64])
def test_only_those_who_compute_it_count(scalar: type) -> None:
    top = np.iinfo(scalar).max
    y = np.zeros(32, scalar)
    run(prism.check(halves, {"T": np.dtype(scalar).name}), 1, 32, [y, top // 2], check=True)
    assert y[:4].tolist() == [top // 2, top // 2 * 2, top // 2 // 2, top // 2 // 3]
    with pytest.raises(UndefinedError, match="the sum of .* does not fit") as caught:
        run(prism.check(halves, {"T": np.dtype(scalar).name}), 1, 32, [y, top], check=True)
    assert (caught.value.thread, caught.value.block) == (1, 0)


@prism("global")
@requires(grid[1], thread[32])
def faults(y: ptr(int32) @ grid[1], a: int32 @ grid[1], b: int32 @ grid[1], which: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine:
        with group(thread[1]):
            if which == 0:
                mine[0] = a // b
            elif which == 1:
                mine[0] = a % b
            elif which == 2:
                mine[0] = a << b
            elif which == 3:
                mine[0] = -a


LEAST = -(2**31)
MOST = 2**31 - 1


@pytest.mark.parametrize(
    ("which", "a", "b", "said"),
    [
        (0, 3, 0, "3 is divided by zero"),
        (1, 3, 0, "3 is divided by zero"),
        (0, LEAST, -1, "the quotient of -2147483648 and -1 does not fit in int32"),
        (2, 1, 32, "a shift of int32 by 32 bits"),
        (2, 1, -1, "a shift of int32 by -1 bits"),
        (3, LEAST, 0, "the opposite of -2147483648 is no int32"),
    ],
)
def test_each_is_named(which: int, a: int, b: int, said: str) -> None:
    with pytest.raises(UndefinedError) as caught:
        faults[1, 32](np.zeros(32, np.int32), a, b, which, check=True)
    assert said in str(caught.value)
    faults[1, 32](np.zeros(32, np.int32), a, b, which)  # unchecked, it runs


@template(T=dtype)
@prism("global")
@requires(grid[1], thread[32])
def wrapped(y: ptr(T) @ grid[1], a: T @ grid[1], b: T @ grid[1]):
    with partition(y, thread[1], id() * 3) as mine:
        with group(thread[1]):
            mine[0] = wrapping_add(a, b)
            mine[1] = wrapping_subtract(a, b)
            mine[2] = wrapping_multiply(a, b)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32"])
def test_wrapping(name: str) -> None:
    kind = np.dtype(name)
    a, b = (1.5, 2.25) if kind.kind == "f" else (np.iinfo(kind).max, np.iinfo(kind).max - 2)
    y = np.zeros(96, kind)
    run(prism.check(wrapped, {"T": name}), 1, 32, [y, a, b], check=True)
    with np.errstate(over="ignore"):
        one, two = kind.type(a), kind.type(b)
        assert y[:3].tolist() == [one + two, one - two, one * two]


@prism("global")
@template(T=dtype)
@requires(grid[1], thread[32])
def counted(y: ptr(int32) @ grid[1], start: T @ grid[1], stop: T @ grid[1], step: T @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        n: int32 = 0
        for k in range(start, stop, step):
            n += 1 if k == k else 0
        for k in range(start, stop - T(i * 0), step):
            n += 1 if k == k else 0
        mine[0] = n


@pytest.mark.parametrize(
    ("kind", "start", "stop", "step", "fits"),
    [
        ("int32", MOST - 9, MOST, 3, True),
        ("int32", MOST - 10, MOST, 4, False),
        ("int32", LEAST + 10, LEAST, -4, False),
        ("int32", LEAST + 8, LEAST, -4, True),
        ("uint32", 2**32 - 11, 2**32 - 1, 4, False),
        ("uint8", 250, 255, 2, False),
        ("uint8", 250, 255, 1, True),
        ("int64", 2**63 - 10, 2**63 - 1, 4, False),
        ("int32", MOST, LEAST, 4, True),
    ],
)
def test_an_index_that_leaves_its_type(kind: str, start: int, stop: int, step: int, fits: bool) -> None:
    program, y = prism.check(counted, {"T": kind}), np.zeros(32, np.int32)
    if fits:
        run(program, 1, 32, [y, start, stop, step], check=True)
        assert (y == 2 * len(range(start, stop, step))).all()
        return
    with pytest.raises(UndefinedError) as caught:
        run(program, 1, 32, [y, start, stop, step], check=True)
    assert "the index of the loop would be" in str(caught.value) and f"is no {kind}" in str(caught.value)
