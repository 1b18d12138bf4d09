"""Lazy arrays by NumPy's: what each is of, dtypes and shapes, and what is refused.

Tests of prism/lib/lazy: array, facts, functions, sinks, types; prism/host/lazies.py; prism/lib/algorithms/transform/api.py.
"""

from __future__ import annotations

import doctest
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret, lib
from prism.host import lazies
from prism.kernels import transform
from prism.lang import CompileError, float32, requires, template, thread
from prism.lang import dtype as dtype_
from prism.lang import prism as mark
from prism.lang.parse import views
from prism.lib import lazy
from prism.lib.lazy import sinks
from prism.lib.thread import operators as thread_operators
from prism.runtime.arrays import describe
from tests.lib.lazy.lazies import same

RANDOM = np.random.default_rng(0)
DTYPES = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


def numbers(dtype: str, size: int = 50) -> Any:
    low = 0 if np.dtype(dtype).kind in "bu" else -50
    return RANDOM.integers(low, 2 if dtype == "bool" else 50, size).astype(dtype)


def equal(found: Any, wanted: Any) -> None:
    found = lib.evaluate(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")


def test_the_examples_in_the_docstrings() -> None:
    for module in (lazy, sinks):
        found = doctest.testmod(module, extraglobs={"prism": prism, "np": np})
        assert found.attempted and not found.failed


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.lt, operator.eq, operator.ge, operator.ne])
@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.covering(1)
def test_arithmetic_has_numpys_dtypes_and_values(op: Callable[[Any, Any], Any], one: str, other: str) -> None:
    x, y = numbers(one), numbers(other)
    with np.errstate(over="ignore"):
        # Of two dtypes one order has the lazy array before the operator, the other behind it.
        equal(op(lazy.of(x), y) if one <= other else op(x, lazy.of(y)), op(x, y))


@pytest.mark.parametrize("one", DTYPES)
def test_arithmetic_with_numbers(one: str) -> None:
    x = numbers(one)
    wider = np.dtype(np.int64) if one == "bool" else x.dtype
    equal(lazy.of(x) + 3, x.astype(wider) + wider.type(3))
    equal(3 * lazy.of(x), x.astype(wider) * wider.type(3))
    equal(lazy.of(x) > 1, x > 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = one in ("bool", "int8", "uint8", "float16")  # NumPy's division of bytes is of halves
        equal(lazy.of(x) / x, np.true_divide(x, x)) if not half or one == "float16" else None
    if one != "bool":
        with np.errstate(over="ignore"):
            equal(lazy.of(x) - x[::-1], x - x[::-1])
            equal(-lazy.of(x), -x)
    if wider.kind in "iu" or one == "bool":
        equal(lazy.of(x) & x[::-1], x & x[::-1])
        equal(~lazy.of(x), ~x)


@pytest.mark.parametrize("one", ["bool", "int8", "int64", "uint16"])
def test_quotients_remainders_and_powers_of_integers(one: str) -> None:
    x = numbers(one)
    y = x[::-1]
    with np.errstate(all="ignore"):
        equal(lazy.of(x) // y, x // y)
        equal(y % lazy.of(x), y % x)
        if one != "bool":
            equal(7 // lazy.of(x), x.dtype.type(7) // x)
            equal(lazy.of(x) % 5, x % x.dtype.type(5))
        for power in (0, 1, 3, 10):
            equal(lazy.of(x) ** power, x**power)
    for wrong, error, text in (
        (lambda: lazy.of(np.ones(3)) // 2, TypeError, "`//` is for integers"),
        (lambda: lazy.of(np.ones(3, int)) ** -1, ValueError, "negative integer powers"),
        (lambda: lazy.of(x) ** x, TypeError, "takes a number as exponent"),
    ):
        with pytest.raises(error, match=text):
            wrong()


@pytest.mark.parametrize("one", ["float16", "float64"])
def test_powers_of_floats(one: str) -> None:
    x = abs(numbers(one, 20)) / 8
    found = lib.evaluate(lazy.of(x) ** 1.5)
    assert found.dtype == x.dtype and np.allclose(found, x ** x.dtype.type(1.5), rtol=4 * np.finfo(x.dtype).eps)


def test_kernels_of_lambdas_that_name_other_numbers_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_MOST", 2)
    for number in range(4):
        equal(lazy.map(lambda a: a + 1 if number > 1 else a, np.arange(3)), np.arange(3) + (number > 1))
    assert 0 < len(transform.copy.__dict__["_viewed"]) <= 2


def test_complex_numbers_are_added_and_multiplied() -> None:
    x = (numbers("float32") + 1j * numbers("float32")).astype(np.complex64)
    equal(lazy.of(x) * x + 2.0, x * x + np.complex64(2))
    assert lib.sum(lazy.of(x) * x) == (x * x).sum()
    equal(lazy.map(lambda a, b: a * b + 2.0 * a, x, x[::-1].copy()), x * x[::-1] + 2 * x)
    assert lib.select(x, lambda a: a != 0).tolist() == x[x != 0].tolist()
    with pytest.raises(CompileError, match="expected a scalar, found complex64"):
        lazy.map(lambda a: a if a != 0 else a * a, x)
    with pytest.raises(TypeError, match="`<` is not for lazy arrays of complex64"):
        lazy.of(x) < x  # noqa: B015


@pytest.mark.parametrize(
    ("op", "what"), [(operator.sub, "`-` is not for bools"), (operator.and_, "for integers and bools")]
)
def test_operators_that_are_not_for_a_dtype(op: Callable[[Any, Any], Any], what: str) -> None:
    x = numbers("bool" if op is operator.sub else "float32")
    with pytest.raises(TypeError, match=what):
        op(lazy.of(x), x)


def test_an_array_twice_is_read_once() -> None:
    x, y = numbers("float32"), numbers("float32")
    info = describe(lazy.of(x) * x + y * lazy.of(x))
    assert isinstance(info, lazies.LazyInfo) and len(info.leaves) == 2


def test_shapes_broadcast() -> None:
    x, y = numbers("int32", 12).reshape(3, 4), numbers("int32", 4)
    equal(lazy.of(x) + y, x + y)
    equal(lazy.of(x[:, :1]) * y, x[:, :1] * y)
    equal(
        lazy.map(lambda a, b: a - b, lazy.arange(3), np.arange(6).reshape(2, 3)),
        np.arange(3) - np.arange(6).reshape(2, 3),
    )
    equal(lazy.broadcast_to(lazy.of(y) + 1, (5, 4)), np.broadcast_to(y + 1, (5, 4)))
    with pytest.raises(ValueError, match=r"shapes \(3, 4\) and \(3,\) do not broadcast"):
        lazy.of(x) + np.arange(3, dtype=np.int32)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4)])
def test_arrays_that_lie_otherwise(shape: tuple[int, ...]) -> None:
    x = RANDOM.integers(-9, 9, tuple(3 * n for n in shape)).astype(np.int32)
    for part in (
        x[tuple(slice(None, None, 2) for _ in shape)],
        x[tuple(slice(None, None, -1) for _ in shape)],
        x.T,
        x[1:][::2],
    ):
        equal(lazy.of(part), part)
        assert lib.sum(lazy.of(part)) == part.sum()
    swapped = x.astype(">i4")
    equal(lazy.of(swapped), x)


def test_bfloat16_that_lies_otherwise() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(24).reshape(4, 6).astype(ml_dtypes.bfloat16)
    for given in (x, x[::-1, ::2], x.T):
        assert np.array_equal(lib.evaluate(lazy.of(given)), given)


def test_numbers_and_positions() -> None:
    equal(lazy.arange(7), np.arange(7))
    equal(lazy.arange(7, 1, -2), np.arange(7, 1, -2))
    equal(lazy.arange(5, 2), np.arange(5, 2))
    equal(lazy.arange(2, 9, 3, dtype="int16"), np.arange(2, 9, 3, dtype="int16"))
    equal(lazy.arange(0.5, 3, 0.25), np.arange(0.5, 3, 0.25))
    equal(lazy.full((2, 3), 7), np.full((2, 3), 7))
    equal(lazy.full(4, 2.5, "float32"), np.full(4, 2.5, np.float32))
    equal(lazy.full(4, True), np.full(4, True))
    equal(lazy.full(2, 2**64 - 1, "uint64"), np.full(2, 2**64 - 1, np.uint64))
    equal(lazy.full(2, -(2**63)), np.full(2, -(2**63)))
    assert lib.sum(lazy.arange(2**31 + 10, 2**31 + 20)) == np.arange(2**31 + 10, 2**31 + 20).sum()


def test_positions_in_another_order() -> None:
    for n in (0, 1, 2, 5, 17, 1000):
        assert sorted(lib.evaluate(lazy.permutation(n, 3)).tolist()) == list(range(n))
    one, other = lazy.permutation(1000, 1), lazy.permutation(1000, 2)
    assert (lib.evaluate(one) != lib.evaluate(other)).sum() > 900
    equal(one, lib.evaluate(lazy.permutation(1000, 1)))
    assert abs(np.corrcoef(lib.evaluate(one), np.arange(1000))[0, 1]) < 0.1
    with pytest.raises(ValueError, match="`n` must not be negative"):
        lazy.permutation(-1)


def test_shuffle() -> None:
    for shape in ((0,), (1,), (17, 5)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        equal(lazy.shuffle(x, 3), x.ravel()[lib.evaluate(lazy.permutation(x.size, 3))])
    whole = np.arange(1000)
    assert sorted(lib.evaluate(lazy.shuffle(lazy.of(whole) * 2, 1)).tolist()) == list(range(0, 2000, 2))
    assert (lib.evaluate(lazy.shuffle(whole)) != whole).sum() > 900
    with pytest.raises(TypeError, match="`x`"):
        lazy.shuffle("3 1 4")


def test_another_order() -> None:
    x, i = numbers("float32"), np.array([[4, -1, 0], [49, -50, 3]])
    equal(lazy.take(x, i), np.take(x, i))
    equal(lazy.take(x, i.astype(np.int8)), np.take(x, i))
    equal(lazy.take(x, np.array([3, 1], np.uint32)), x[[3, 1]])
    equal(lazy.take(lazy.of(x) * 2, lazy.arange(49, -1, -7)), (x * 2)[::-7])
    equal(lazy.flip(x.reshape(5, 10)), np.flip(x.reshape(5, 10)))
    equal(lazy.flip(lazy.flip(x)), x)


def test_structs_of_several_arrays() -> None:
    keys, values = numbers("int32"), numbers("float64")
    found = lib.evaluate(lazy.zip(keys, values, names=("key", "value")))
    assert found.dtype == np.dtype([("key", "i4"), ("value", "f8")], align=True)
    assert np.array_equal(found["key"], keys) and np.array_equal(found["value"], values)
    equal(lazy.map(lambda pair: pair.key, lazy.zip(keys, values, names=("key", "value"))), keys)


@mark("device")
@requires(thread[1])
@template(T=dtype_)
def square(x: T @ thread[1]) -> T @ thread[1]:
    return x * x


def test_device_functions_and_intrinsics() -> None:
    x = numbers("float32")
    equal(lazy.map(square, x), x * x)
    equal(lazy.map(prism.lang.absolute, x), abs(x))
    equal(lazy.map(thread_operators.add, x, x), x + x)
    equal(lazy.map(prism.lang.float64, x), x.astype(float))


def test_for_whole_arrays_and_results_of_them() -> None:
    x = numbers("int64").reshape(5, 10)
    assert lib.argmax(lazy.flip(x)) == np.argmax(np.flip(x))
    assert np.array_equal(lib.sum(lazy.of(x) * 2, axis=1), (x * 2).sum(1))
    real = x.astype(np.float32)
    assert np.array_equal(lib.matmul(lazy.of(real) + 1, real.T), (real + 1) @ real.T)
    out = np.zeros_like(x)
    assert lib.evaluate(lazy.of(x) + 1, out=out) is out and np.array_equal(out, x + 1)
    assert lib.evaluate(lazy.of(x) + 1, out=x) is x and np.array_equal(out, x)  # it is what it reads
    kept = x.copy()
    assert lib.evaluate(lazy.flip(x), out=x) is x and np.array_equal(x, np.flip(kept))


def test_where_leaves_the_others() -> None:
    x, out = numbers("float32"), np.full(50, -7, np.float32)
    lib.evaluate(lazy.of(x) + 1, out=out, where=lazy.of(x) > 0)
    assert np.array_equal(out, np.where(x > 0, x + 1, np.float32(-7)))
    with pytest.raises(ValueError, match="pass `out`"):
        lib.evaluate(x, where=x > 0)
    with pytest.raises(TypeError, match="`where` must be of bool, not of float32"):
        lib.evaluate(x, where=x, out=out)
    with pytest.raises(ValueError, match=r"`where` must have shape \(50,\)"):
        lib.evaluate(x, where=x[:3] > 0, out=out)


def test_what_is_in_the_arrays_when_it_is_read() -> None:
    x = np.ones(5)
    found = lazy.of(x) + 1
    x[:] = 3
    assert lib.sum(found) == 20


def test_misuse() -> None:
    x = numbers("float32")
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: lib.scan(x, out=lazy.of(x)), TypeError, "`out` is a lazy array, which holds no memory"),
        (lambda: lib.scan_by_key(lazy.of(x.reshape(5, 10)), x), ValueError, "`keys` must have 1 axis, not 2"),
        (lambda: lib.scan_by_key(lazy.arange(3), x), ValueError, "must have one shape"),
        (lambda: lazy.take(x, np.array([50])), IndexError, "index 50 is out of bounds for 50 elements"),
        (lambda: lazy.take(x, np.array([-51])), IndexError, "index -51"),
        (lambda: lazy.take(x, x), TypeError, "`indices` must be of integers"),
        (lambda: lazy.of("x"), TypeError, "must be an array of NumPy, CuPy or torch"),
        (lambda: lazy.of(np.array([None])), TypeError, "object"),
        (lambda: lazy.map(square), TypeError, "at least one array"),
        (lambda: lazy.map(np.sin, x), TypeError, "must be a device function of Prism's"),
        (lambda: lazy.map(numbers, x), TypeError, "`numbers` is a function of Python's"),
        (lambda: lazy.map(lambda a, b: a, x), CompileError, "argument"),
        (lambda: lazy.cast(x + 1j, "float32"), TypeError, "is not converted to float32"),
        (lambda: lazy.zip(lazy.zip(x, x), x), TypeError, "`zip` is of arrays of integers"),
        (lambda: lazy.zip(x, x, names=("a",)), ValueError, "1 names for 2 arrays"),
        (lambda: lazy.arange(3, 5, 0), ValueError, "`step` must not be 0"),
        (lambda: lazy.arange(3, dtype="bool"), TypeError, "arange counts in integers or floats"),
        (lambda: lazy.full(3, 300, "int8"), OverflowError, "300 is out of the range of int8"),
        (lambda: lazy.full(-1, 3), ValueError, "negative extent"),
        (lambda: lazy.full(3, "x"), TypeError, "no number"),
        (lambda: lazy.broadcast_to(x, 3), ValueError, "broadcast"),
        (lambda: np.asarray(lazy.of(x)), TypeError, "make an array of it by prism.lib.evaluate"),
        (lambda: list(lazy.of(x)), TypeError, "prism.lib.evaluate"),
        (lambda: bool(lazy.of(x)), TypeError, "prism.lib.any"),
        (lambda: lazy.of(x) + "x", TypeError, "unsupported operand"),
        (lambda: lib.plan(lib.sum, lazy.of(x))(x), TypeError, "a plan of lazy arrays takes no others"),
    ]
    for call, error, text in calls:
        with pytest.raises(error) as caught:
            call()
        assert text in str(caught.value), str(caught.value)


def test_positions_past_2_31_take_no_memory() -> None:
    n = 2**40
    ends = np.array([0, 2**31, 2**33 + 1, n - 1, -1])
    wanted = ends % n
    equal(lazy.take(lazy.arange(n), ends), wanted)
    equal(lazy.take(lazy.flip(lazy.arange(n)), ends), n - 1 - wanted)
    equal(lazy.take(lazy.arange(n) // 3 % 1000, ends), wanted // 3 % 1000)
    wide = lazy.broadcast_to(lazy.of(np.arange(3)), (2**38, 3))
    equal(lazy.take(wide, ends[:3]), ends[:3] % 3)
    places = lib.evaluate(lazy.take(lazy.permutation(n, 1), ends[:4]))
    assert len(set(places.tolist())) == 4 and (places >= 0).all() and (places < n).all() and places.max() > 2**33


def test_results_that_go_elsewhere() -> None:
    """Tests of prism/lib/lazy: sinks."""
    x, y = np.arange(6.0).reshape(2, 3), np.zeros((2, 3), np.float32)
    sink = lazy.map_out(lambda s: float32(s) + 1, y)
    assert lib.cumsum(x, axis=1, out=sink) is sink and np.array_equal(y, np.cumsum(x, axis=1) + 1)
    total = np.zeros(())
    lib.sum(x, out=lazy.map_out(lambda s: s * 2, total))
    assert total == 30
    lib.max(x, axis=1, out=lazy.put(y, lazy.arange(5, 3, -1)))
    assert y.ravel()[4:].tolist() == [5, 2]
    assert lib.scan(x, out=lazy.discard) is lazy.discard
    with pytest.raises(ValueError, match="`out` must have shape"):
        lib.sum(x, axis=0, out=lazy.map_out(lambda s: s, np.zeros(2)))
    with pytest.raises(ValueError, match="`indices` must have shape"):
        lib.sum(x, axis=0, out=lazy.put(y, np.arange(2)))
    with pytest.raises(IndexError):
        lib.sum(x, axis=0, out=lazy.put(y, np.arange(4, 7)))


def test_what_is_one_lazy_array_goes_elsewhere_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of prism/lib/lazy: sinks. One kernel, and no memory; what is no lazy array takes two."""
    launched: list[int] = []
    run = interpret.run
    monkeypatch.setattr(interpret, "run", lambda *given, **more: (launched.append(1), run(*given, **more)))
    x, y, z = np.array([3.0, 1, 4, 1, 5]), np.zeros(4), np.zeros(4)
    at, half = np.array([4, 0, 1, 1]), lambda e: e / 2
    calls: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda out: lib.diff(x, out=out), np.diff(x)),
        (lambda out: lib.take(x, at, out=out), x[at]),
        (lambda out: lib.take_along_axis(x, at, 0, out=out), x[at]),
        (lambda out: lib.evaluate(lazy.of(x[1:]) * 3, out=out), x[1:] * 3),
        (lambda out: lib.evaluate(x[1:], out=out), x[1:]),
    ]
    for call, wanted in calls:
        for sink, many in ((lazy.map_out(half, y), 1), (lazy.discard, 0), (lazy.put(z, np.arange(3, -1, -1)), 1)):
            launched.clear()
            assert call(sink) is sink and len(launched) == many
        assert np.array_equal(y, wanted / 2) and np.array_equal(z[::-1], wanted)
    launched.clear()
    lib.cumsum(x[1:], out=lazy.put(z, np.arange(4)))
    assert len(launched) == 2 and np.array_equal(z, np.cumsum(x[1:]))
    lib.evaluate(lazy.of(x[:4]) + 1, out=lazy.put(x, lazy.arange(1, 5)))  # what it is of is overwritten
    assert np.array_equal(x, [3, 4, 2, 5, 2])
    x[1:] = [1, 4, 1, 5]
    with pytest.raises(TypeError, match="same_kind"):
        lib.evaluate(x, out=lazy.put(np.zeros(5, int), np.arange(5)))
    pairs = lazy.zip(x[1:], lazy.arange(4), names=("a", "b"))
    places = np.zeros(4, int)
    launched.clear()
    lib.evaluate(pairs, out=lazy.zip_out(y, places))
    assert len(launched) == 1 and np.array_equal(y, x[1:]) and np.array_equal(places, np.arange(4))
    lib.evaluate(pairs, out=lazy.zip_out(x[:4], places))  # what it is of is overwritten: made beside
    assert np.array_equal(x, [1, 4, 1, 5, 5])
    lib.evaluate(lazy.flip(lazy.of(x)), out=lazy.map_out(half, x))
    assert np.array_equal(x, [2.5, 2.5, 0.5, 2, 0.5])
    with pytest.raises(TypeError, match="`where`"):
        lib.evaluate(lazy.of(x), out=lazy.map_out(half, x), where=x > 1)
    with pytest.raises(ValueError, match="`out` must have shape"):
        lib.diff(x, out=lazy.map_out(half, x))


def test_structs_that_go_to_several_arrays() -> None:
    """Tests of prism/lib/lazy: sinks. One kernel writes all of them."""
    keys, values = np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    pairs = lazy.zip(keys, values, names=("key", "value"))
    for order in "CF":
        k, v = np.zeros((2, 3), int), np.zeros((2, 3))
        sink = lazy.zip_out(k, v)
        assert lib.evaluate(lazy.zip(np.asarray(keys, order=order), values), out=sink) is sink
        assert np.array_equal(k, keys) and np.array_equal(v, values)
    lib.evaluate(lazy.flip(pairs), out=lazy.zip_out(k, v))
    assert np.array_equal(k, np.flip(keys)) and np.array_equal(v, np.flip(values))
    re, im = np.zeros((), np.float32), np.zeros((), np.float32)
    lib.sum(np.array([1 + 2j, 3 - 5j], np.complex64), out=lazy.zip_out(re, im))
    assert (re, im) == (4, -3)
    lib.evaluate(lazy.zip(keys[:0], values[:0]), out=lazy.zip_out(k[:0], v[:0]))
    read_only = np.zeros((2, 3))
    read_only.flags.writeable = False
    misuse: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: lazy.zip_out(), TypeError, "at least one array"),
        (lambda: lazy.zip_out(k, 3), TypeError, "array 2"),
        (lambda: lazy.zip_out(read_only), ValueError, "`array 1` is read-only"),
        (lambda: lazy.zip_out(k.T), ValueError, "`array 1`"),
        (
            lambda: lib.evaluate(pairs, out=lazy.zip_out(k)),
            ValueError,
            "the result has 2 fields, and `zip_out` 1 array",
        ),
        (lambda: lib.evaluate(pairs, out=lazy.zip_out(k, k)), TypeError, "array 2 must have dtype float64, not int64"),
        (
            lambda: lib.evaluate(pairs, out=lazy.zip_out(k, v[0])),
            ValueError,
            r"array 2 must have shape (2, 3), not (3,)",
        ),
        (
            lambda: lib.cumsum(v, out=lazy.zip_out(k, v)),
            TypeError,
            "the result is of float64, and `zip_out` is for structs",
        ),
    ]
    for call, error, text in misuse:
        with pytest.raises(error) as caught:
            call()
        assert text in str(caught.value), str(caught.value)


def test_plans_read_what_is_there_then() -> None:
    x, out = np.arange(5.0), np.zeros(5)
    again = lib.plan(lib.scan, lazy.of(x) * 2, out=out)
    x[:] = 1
    assert again() is out and out.tolist() == [2, 4, 6, 8, 10]
    pairs = lib.plan(lib.scan_by_key, np.array([0, 0, 1, 1, 1]), lazy.of(x) + 1)
    x[0] = 3
    assert pairs().tolist() == [4, 6, 2, 4, 6]


def test_structure_is_the_key_and_not_values() -> None:
    """The second call of a kind checks and compiles nothing, whatever numbers and arrays it is of."""
    from prism.host import call

    def make(step: int, value: float) -> Any:
        return lazy.take(lazy.of(numbers("float32")) + value, lazy.arange(0, 10 * step, step))

    lib.sum(make(1, 1.5))
    before = len(call._known)
    for step, value in ((2, 2.5), (3, 0.0)):
        found = make(step, value)
        assert lib.sum(found) == lib.evaluate(found).sum()
    assert len(call._known) <= before + 1  # that of `evaluate`


def test_its_facts() -> None:
    found = lazy.map(same, np.zeros((3, 4), np.int8))
    assert (found.shape, found.ndim, found.size, len(found), found.dtype) == ((3, 4), 2, 12, 3, np.dtype("int8"))
    assert repr(found) == "<lazy array of int8, shape (3, 4)>"


def test_structs_that_kernels_do_not_move_are_refused() -> None:
    """Of 12 bytes, also where they lie at no multiple of 12: none is copied again and again to make it one."""
    room = np.zeros(124, np.uint8)
    for shift in (0, 4):
        start = -room.__array_interface__["data"][0] % 12 + shift
        x = room[start : start + 96].view([("a", "i4"), ("b", "i4"), ("c", "i4")])
        for each in (x, lazy.of(x), lazy.flip(x)):
            with pytest.raises(TypeError, match="structs are of 1, 2, 4, 8 or 16 bytes here"):
                lib.evaluate(each)
