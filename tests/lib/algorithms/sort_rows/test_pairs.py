"""Sorts whose results are put where they are asked for, on NumPy arrays: in place by an even number of passes, or made beside.

Tests of prism/lib/algorithms/sort_rows: pairs; prism/lib/algorithms/sort: plan; kernels/sort: even.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from prism.host import call, lazies, memory
from prism.lang import uint32
from prism.lib import evaluate, lazy, plan, sort, sort_by_key
from prism.lib.algorithms.sort.plan import may_be_in_place
from prism.lib.algorithms.sort_rows.plan import Kind
from tests.kernels.test_sort import hard
from tests.lib.algorithms.sort.test_api import LONG, Device
from tests.rarely import rarely

SOME = ("int16", "float16", "uint32", "float32", "int64")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The sizes of arrays that calls make for results."""
    found: list[int] = []
    empty = memory.empty

    def counted(info: Any, size: Any, dtype: Any) -> Any:
        found.append(int(np.prod(size)))
        return empty(info, size, dtype)

    monkeypatch.setattr(memory, "empty", counted)
    call.forget()
    yield found
    call.forget()


def data(kind: str, scalar: str) -> Any:
    """Return numbers whose passes are an odd and an even number, or none."""
    x = hard(scalar, LONG)
    if x.dtype.kind == "f":
        return {"all": x, "few": np.where(x < 0, x, x.dtype.type(0)), "equal": np.full_like(x, 7)}[kind]
    return {"all": x, "few": x & 0xFF, "equal": np.full_like(x, 7)}[kind]


@pytest.mark.parametrize(
    ("scalar", "kind"),
    rarely(
        [(scalar, kind) for scalar in SOME for kind in ("all", "few", "equal")],
        but=[("int16", "few"), ("uint32", "all"), ("uint32", "equal"), ("float32", "few")],
    ),
)
def test_in_place(scalar: str, kind: str, made: list[int]) -> None:
    x = data(kind, scalar)
    order = np.argsort(x, kind="stable")
    wanted, values = x[order], np.arange(LONG, dtype=np.int32)
    both = x.copy(), values.copy()
    made.clear()
    found = sort_by_key(*both, out=both)
    assert found[0] is both[0] and found[1] is both[1] and not made
    assert np.array_equal(both[0], wanted, equal_nan=x.dtype.kind == "f") and np.array_equal(both[1], order)
    assert sort(x, out=x) is x and made == ([LONG] if scalar == "float16" else [])
    assert np.array_equal(x, wanted, equal_nan=x.dtype.kind == "f")


@pytest.mark.parametrize("scalar", ["uint8", "float16"])
def test_what_is_sorted_beside(scalar: str, made: list[int]) -> None:
    x = hard(scalar, LONG)
    wanted = np.sort(x, kind="stable")  # NumPy 2.4.6's other kind puts -0 before -6e-8, on some processors
    assert sort(x, out=x) is x and made == [LONG] and np.array_equal(x, wanted, equal_nan=x.dtype.kind == "f")


def test_bits_in_place(made: list[int]) -> None:
    x = hard("uint32", LONG)
    order = np.argsort(x & 0xFF, kind="stable")
    wanted, values = x[order], np.arange(LONG)
    both = x.copy(), values
    sort_by_key(*both, bits=(0, 8), out=both)
    assert sort(x, bits=(0, 8), out=x) is x and not made and np.array_equal(x, wanted)
    assert np.array_equal(both[0], wanted) and np.array_equal(values, order)


def test_rows_in_place(made: list[int]) -> None:
    x = hard("uint16", 3 * (1 << 16) + 3).reshape(3, -1)
    wanted = np.sort(x)
    assert sort(x, out=x) is x and not made and np.array_equal(x, wanted)


@pytest.mark.parametrize("n", rarely([300, 9000], but=[300]))
def test_pairs_are_put_anywhere(n: int) -> None:
    keys, values = hard("uint16", n), np.arange(n).astype(np.float64)
    order = np.argsort(keys, kind="stable")
    plain = [np.zeros(n, np.uint16), np.zeros(n)]
    gaps = [np.zeros(3 * n, np.uint16)[::3], np.zeros(2 * n)[::-2]]
    for one in (plain, gaps, (plain[0], gaps[1]), (None, plain[1]), (plain[0], None), (None, gaps[1])):
        for target in one:
            if target is not None:
                target[:] = 0
        found = sort_by_key(keys, values, out=one)
        assert all(target is None or target is y for target, y in zip(one, found, strict=True))
        assert np.array_equal(found[0], keys[order]) and np.array_equal(found[1], values[order])
    for swapped in ((None, "keys"), ("values", None), ("keys", None), (None, "values"), ("values", "keys")):
        given = {"keys": np.sort(np.arange(n) % 77)[::-1].copy(), "values": np.arange(n)}
        places = np.argsort(given["keys"], kind="stable")
        wanted = [given[name][places] for name in ("keys", "values")]
        out = [None if name is None else given[name] for name in swapped]
        found = sort_by_key(given["keys"], given["values"], out=out)
        assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])
    shifted = np.zeros(n + 1)
    shifted[1:] = values
    found = sort_by_key(keys, shifted[1:], out=(None, shifted[:-1]))
    assert np.array_equal(shifted[:-1], values[order]) and np.array_equal(found[0], keys[order])


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", ["int32", "complex128"])
def test_pairs_along_axes(axis: int | None, dtype: str) -> None:
    keys = hard("int16", 1200).reshape(30, 40)
    values = np.arange(1200).astype(dtype).reshape(30, 40)
    order = np.argsort(keys, axis=axis, kind="stable")
    flat, last = ([x.reshape(-1) for x in (keys, values)], -1) if axis is None else ([keys, values], axis)
    wanted = [np.take_along_axis(x, order, last) for x in flat]
    out = [np.zeros_like(x) for x in wanted]
    found = sort_by_key(keys, values, axis, out=out)
    assert found[0] is out[0] and found[1] is out[1]
    assert np.array_equal(out[0], wanted[0]) and np.array_equal(out[1], wanted[1])


@pytest.mark.parametrize("how", ["key", "bits", "less", "complex", "large"])
def test_all_ways_put_pairs(how: str) -> None:
    n = 5000
    keys = hard("uint32", n).astype(np.complex64 if how == "complex" else np.uint32)
    values = np.arange(n).astype(np.complex128 if how == "large" else np.int32)
    options: dict[str, Any] = {
        "key": {"key": lambda x: uint32(x % 1000)}, "bits": {"bits": (3, 9)}, "less": {"less": lambda a, b: a % 9 < b % 9},
    }.get(how, {})  # fmt: skip
    by = {"key": lambda x: x % 1000, "bits": lambda x: x >> 3 & 63, "less": lambda x: x % 9}.get(how, lambda x: x)
    order = np.argsort(by(keys), kind="stable")
    wanted = keys[order], values[order]
    for out in ([np.zeros_like(keys), np.zeros_like(values)], [None, np.zeros_like(values)], [keys.copy(), None]):
        found = sort_by_key(keys, values, out=out, **options)
        assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])
    found = sort_by_key(keys, values, out=(keys, values), **options)
    assert found[0] is keys and np.array_equal(keys, wanted[0]) and np.array_equal(values, wanted[1])


def test_what_may_be_in_place() -> None:
    def may(kind: Kind, n: int, many: int = 1) -> bool:
        return may_be_in_place(kind, many, n, Device())

    assert (
        may(Kind("float32"), 1 << 20)
        and may(Kind("int16", values="uint64"), 1 << 20)
        and may(Kind("int64"), 1 << 20, 5)
    )
    assert not may(Kind("uint8"), 1 << 20) and not may(Kind("float16"), 1 << 20) and not may(Kind("float32"), 1000)
    assert not may(Kind("float32", elements=False, places="int64"), 1 << 20)


def test_plans_with_pairs() -> None:
    keys, values = hard("int16", 300), np.arange(300)
    out = np.zeros(300, np.int16), np.zeros(300, int)
    again = plan(sort_by_key, keys, values, out=out)
    keys[:] = keys[::-1].copy()
    out[0][:] = out[1][:] = 0
    found = again()
    order = np.argsort(keys, kind="stable")
    assert found[0] is out[0] and found[1] is out[1]
    assert np.array_equal(out[0], keys[order]) and np.array_equal(out[1], order)
    with pytest.raises(ValueError, match="is not just launches"):
        plan(sort_by_key, keys, values, out=(np.zeros(600, np.int16)[::2], None))
    by_key = plan(sort, keys, key=lambda x: uint32(x))
    assert np.array_equal(by_key(), keys[np.argsort(keys.astype(np.uint32), kind="stable")])


def test_errors() -> None:
    x = np.arange(6)
    with pytest.raises(TypeError, match="`out` must be two arrays"):
        sort_by_key(x, x, out=x)
    with pytest.raises(TypeError, match="`out` must be two arrays"):
        sort_by_key(x, x, out=(x, x, x))
    with pytest.raises(ValueError, match=r"`out\[0\]` and `out\[1\]` share memory"):
        sort_by_key(x, x, out=(x, x))
    with pytest.raises(TypeError, match=r"`out\[1\]` must be of int64"):
        sort_by_key(x, x, out=(None, np.zeros(6)))
    with pytest.raises(ValueError, match=r"`out\[0\]` must have shape"):
        sort_by_key(x, x, out=(np.zeros(5, int), None))
    fixed = np.zeros(6, int)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        sort_by_key(x, x, out=(None, fixed))


@pytest.mark.parametrize("n", [0, 300, LONG])
def test_lazy_values_are_computed_where_they_are_read(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, x = hard("uint32", n), np.arange(n, dtype=np.float32)
    order = np.argsort(keys, kind="stable")

    def never(info: Any) -> Any:
        raise AssertionError("the elements of a lazy array are written to memory")

    monkeypatch.setattr(lazies, "evaluators", [never])
    for values, wanted in ((lazy.arange(n), order), (lazy.of(x) * 2, 2 * x[order])):
        found = sort_by_key(keys, values)
        assert np.array_equal(found[0], keys[order]) and np.array_equal(found[1], wanted)
        out = np.zeros(n, wanted.dtype)
        assert sort_by_key(keys, values, out=(None, out))[1] is out and np.array_equal(out, wanted)
    found = sort_by_key(keys.reshape(1, -1), lazy.broadcast_to(lazy.arange(n), (1, n)))
    assert np.array_equal(found[1][0], order)


def test_lazy_values_of_other_kinds() -> None:
    keys = hard("uint8", 400).reshape(20, 20)
    for values in (
        lazy.of(keys) > 9,
        lazy.of(keys.astype(np.complex64)) + lazy.of(keys.astype(np.complex64)),
        lazy.of(keys.astype(np.complex128)),
    ):
        there = evaluate(values)
        for axis in (0, 1):
            order = np.argsort(keys, axis, kind="stable")
            assert np.array_equal(sort_by_key(keys, values, axis)[1], np.take_along_axis(there, order, axis))
