"""Lambdas that name numbers: one kernel for all of them, dtypes as of arithmetic. prism/lib/lazy: closures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import interpret, lib
from prism.interpret import run
from prism.kernels import transform
from prism.lang import CompileError, float32, requires, template, thread
from prism.lang import dtype as dtype_
from prism.lang import prism as mark
from prism.lib import lazy
from prism.lib.algorithms.select import calls

DTYPES = ("int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")
SCALE = 7


def equal(found: Any, wanted: Any) -> None:
    found = lib.evaluate(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert np.array_equal(found, wanted)


def kernels() -> int:
    return len(transform.copy.__dict__.get("_viewed", {}))


@pytest.mark.parametrize("number", [3, 2.5, np.int8(3), np.float32(2.5), np.uint64(2), np.float64(0.1)], ids=repr)
@pytest.mark.parametrize("one", DTYPES)
def test_dtypes_and_values_are_those_of_arithmetic(one: str, number: Any) -> None:
    x = np.array([3, 1, 4], one)
    equal(lazy.map(lambda a: a * number, x), lib.evaluate(lazy.of(x) * number))
    equal(lazy.map(lambda a: number + a, x), lib.evaluate(number + lazy.of(x)))
    equal(lazy.map(lambda a: a > number, x), lib.evaluate(lazy.of(x) > number))
    if one not in ("uint64", "int64") or not isinstance(number, np.generic):  # NumPy's own type of those is float64
        equal(lazy.map(lambda a: a * number, x), x * number)


def test_one_kernel_for_all_numbers() -> None:
    x = np.arange(5, dtype=np.int32)
    equal(lazy.map(lambda a: a * 2 + 1, x), x * 2 + 1)

    def scaled(k: Any, shift: Any = 1) -> Any:
        return lazy.map(lambda a: a * k + (shift + 1) * 2, x)

    equal(scaled(1), x + 4)
    before, one = kernels(), scaled(1).value
    for k in range(-3, 30):
        equal(scaled(k, k), x * np.int32(k) + np.int32(2 * k + 2))
        assert scaled(k).value is one
    assert kernels() == before
    equal(scaled(0.5), x * 0.5 + np.int32(4))  # of another kind: another kernel
    assert kernels() == before + 1


def test_numbers_of_the_module() -> None:
    global SCALE
    x, before = np.array([3.0, 1.0], np.float32), SCALE
    try:
        for number in (2, 3):
            SCALE = number
            equal(lazy.map(lambda a: a / SCALE + math.pi, x), x / np.float32(number) + np.float32(math.pi))
    finally:
        SCALE = before


def test_a_lambda_that_was_opened_before() -> None:
    """It is known by its code; whatever its names stand for now counts: other numbers, of other types, bools, no numbers."""
    x = np.arange(5, dtype=np.int32)

    def less(k: Any) -> Any:
        return lambda a: a * SCALE < k

    for _ in range(2):
        for number in (14, 21, 14.5, np.int8(7), np.float32(20.5)):
            equal(lazy.map(less(number), x), x * SCALE < number)
        for wrong in ("7", None, True):
            with pytest.raises(CompileError):
                lazy.map(less(wrong), x)

    def swapped(a: int, b: int) -> Any:
        return lambda e: b - e * a

    for a, b in ((2, 9), (3, 9), (9, 3)):
        equal(lazy.map(swapped(a, b), x), b - x * a)


def test_what_is_of_numbers_alone_is_computed_as_before() -> None:
    """On the host, with C's division, as constants are: also what has no meaning in a kernel."""
    x = np.array([3, 1, 4], np.int64)
    for k in (7, -7):
        equal(lazy.map(lambda a: a * (k // 2), x), x * int(k / 2))
        equal(lazy.map(lambda a: a + k**2, x), x + 49)
        equal(lazy.map(lambda a: -k * a, x), -k * x)
        equal(lazy.map(lambda a: min(k, 3) + a, x), min(k, 3) + x)
    zero = 0
    with pytest.raises(CompileError, match="division by zero"):
        lazy.map(lambda a: a + 1 / zero, x)


@mark("device")
@requires(thread[1])
@template(T=dtype_)
def clip(x: T @ thread[1], low: T @ thread[1], high: T @ thread[1]) -> T @ thread[1]:
    return min(max(x, low), high)


@mark("device")
@requires(thread[1])
def halve(x: float32 @ thread[1], times: float32 @ thread[1]) -> float32 @ thread[1]:
    return x * 0.5 * times


def test_numbers_in_conditions_and_calls() -> None:
    x = np.array([-3.0, 1.0, 4.0], np.float32)
    for low, high in ((0, 2.5), (-1, 1)):
        equal(lazy.map(lambda a: clip(a, low, high), x), np.clip(x, low, high))
        equal(lazy.map(lambda a: max(a, low), x), np.maximum(x, np.float32(low)))
        equal(
            lazy.map(lambda a: a if low < a <= high else high, x),
            np.where((low < x) & (x <= high), x, np.float32(high)),
        )
        equal(lazy.map(lambda a: low if a < 0 else a, x), np.where(x < 0, np.float32(low), x))
        equal(lazy.map(lambda a: halve(a, high), x), x * np.float32(0.5) * np.float32(high))
    equal(lazy.map(lambda a: a << low + 2, np.arange(3)), np.arange(3) << 1)
    low = 4
    equal(lazy.map(lambda a: low, x), np.full(3, 4))
    equal(lazy.map(lambda a: float32(low), x), np.full(3, 4, np.float32))


def test_several_arrays_each_with_its_own_dtype() -> None:
    i, x = np.array([1, 2], np.int64), np.array([0.5, 1.5], np.float32)
    for k in (2, 3):
        equal(lazy.map(lambda a, b: b * k, i, x), x * k)
        equal(lazy.map(lambda a, b: a * k, i, x), i * k)
        equal(lazy.map(lambda p: p.f0 * k, lazy.zip(i, x)), i * k)


def test_conditions_of_numbers_alone_are_constants() -> None:
    """The side that is not taken is not looked at: it may be of what the elements don't have."""
    pairs = np.zeros(2, [("a", "i4"), ("b", "i4")])
    for field in (0, 1):
        equal(lazy.map(lambda p: p.a if field == 0 else p.nothing, pairs), pairs["a"]) if not field else None
    flag = True
    equal(lazy.map(lambda p: p.a if flag else p.nothing, pairs), pairs["a"])


def test_selections_by_them() -> None:
    x = np.array([3, 1, 4, 1, 5], np.int32)
    for k in (1, 3):
        assert lib.select(x, lambda e: e > k).tolist() == x[x > k].tolist()
        assert [part.tolist() for part in lib.split(x, lambda e: e > k)] == [x[x > k].tolist(), x[x <= k].tolist()]
        assert lib.find(x, lambda e: e > k) == np.argmax(x > k)
        found = lib.adjacent_difference(x, lambda a, b: a - k * b)
        assert found.tolist() == [3, *(x[1:] - k * x[:-1]).tolist()]


@pytest.mark.parametrize("kind", ["int8", "float16", "float32", "uint64"])
def test_a_selection_by_one_number_reads_elements_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a function without numbers; and it is one kernel for all numbers."""
    x = np.random.default_rng(0).integers(0, 50, (30, 31)).astype(kind)
    monkeypatch.setattr(calls, "select_by_mask", lambda *given, **more: pytest.fail("a mask is made"))
    made = set[Any]()

    def note(program: Any, *rest: Any, **more: Any) -> None:
        made.add(program)
        run(program, *rest, **more)

    for k in (0, 3, 20):
        with monkeypatch.context() as patch:
            patch.setattr(interpret, "run", note)
            assert lib.select(x, lambda e: e > k).tolist() == x[x > k].tolist()
        fixed = lib.select(x, lambda e: e != k + 1, size=1000, fill_value=1)
        assert fixed.tolist() == [*x[x != k + 1].tolist(), *[1] * (1000 - (x != k + 1).sum())]
    assert len(made) == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, k: lazy.map(lambda a: a + k, x.astype(np.int8)), OverflowError, "300 is out of the range of int8"),
        (lambda x, k: lazy.map(lambda a, b: a + k, x), CompileError, "argument"),
        (lambda x, k: lazy.map(lambda a: a.foo + k, x), CompileError, "`.foo` is not a value"),
        (lambda x, k: lazy.map(lambda a: unknown + k, x), CompileError, "`unknown`"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_misuse(call: Callable[[Any, Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call(np.arange(3), 300)
    assert text in str(caught.value)
