"""Sorts by keys of elements, by some bits, and by comparators, on NumPy arrays: structs, axes, sizes, and the errors.

Tests of prism/lib/algorithms/sort: orders, merging, fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism.lang
from prism.lang import float32, int32, requires, struct, thread, uint32, uint64
from prism.lang import prism as device_function
from prism.lang.diagnostics import CompileError
from prism.lib import argsort, lazy, sort, sort_by_key
from prism.lib.algorithms.sort import merging, orders
from tests.lib.algorithms.sort_rows.test_api import hard
from tests.rarely import rarely

LONG = 5_000  # rows of large elements are sorted by blocks up to 4096
SIZES = (0, 1, 2, 77, LONG)


@struct
class Day:
    year: int32
    number: uint32


@struct
class Place:
    x: int32
    y: int32
    z: int32
    name: int32


@device_function("device")
@requires(thread[1])
def day_key(day: Day @ thread[1]) -> uint64 @ thread[1]:
    """Years rise, those before 0 too, and in a year numbers fall."""
    return uint64(uint32(day.year) ^ 0x80000000) << 32 | uint64(~day.number)


@device_function("device")
@requires(thread[1])
def earlier(a: Day @ thread[1], b: Day @ thread[1]) -> bool @ thread[1]:
    return a.year < b.year or (a.year == b.year and a.number > b.number)


def days(n: int, seed: int = 0) -> Any:
    random, found = np.random.default_rng(seed), np.zeros(n, Day)
    found["year"], found["number"] = random.integers(-5, 5, n), random.integers(0, 1 << 32, n) // 3 * 3
    return found


def order_of_days(x: Any) -> Any:
    return np.lexsort((-x["number"].astype(np.int64), x["year"]))


def places(n: int) -> Any:
    found = np.zeros(n, Place)
    found["x"], found["name"] = np.random.default_rng(2).integers(0, 50, n), np.arange(n)
    return found


# -- Keys -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", rarely(SIZES, but=SIZES[:-1]))
def test_structs_by_two_fields(n: int) -> None:
    x, values = days(n), np.arange(n, dtype=np.int16)
    order = order_of_days(x)
    assert np.array_equal(sort(x, key=day_key), x[order])
    assert np.array_equal(argsort(x, key=day_key), order)
    keys, moved = sort_by_key(x, values, key=day_key)
    assert np.array_equal(keys, x[order]) and np.array_equal(moved, values[order])
    down = np.lexsort((x["number"], -x["year"]))
    assert np.array_equal(argsort(x, key=day_key, descending=True), down)
    assert np.array_equal(sort(x, key=day_key, descending=True), x[down])
    assert sort(x, key=day_key, out=x) is x and np.array_equal(x, days(n)[order])


def test_keys_of_eight_bytes_are_sorted_by_their_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """In long rows: the lower one first, and in place where that is asked for."""
    found: list[str] = []
    made = orders.rows
    monkeypatch.setattr(
        orders, "rows", lambda kind, *given, **more: found.append(kind.scalar) or made(kind, *given, **more)
    )
    x, out = np.random.default_rng(0).integers(0, 1 << 62, LONG), np.zeros(LONG, np.int64)
    for target in (None, out, x):
        y = sort(x, key=lambda a: uint64(a), out=target)
        assert np.array_equal(y, np.sort(x)) and (target is None or y is target)
    assert found == ["uint32"] * 6
    found.clear()
    x = np.random.default_rng(0).integers(0, 1 << 62, LONG)
    order = np.argsort(x >> 3 & (1 << 36) - 1, kind="stable")
    assert np.array_equal(sort(x, key=lambda a: uint64(a), bits=(3, 39)), x[order])
    assert found == ["uint32", "uint8"]
    found.clear()
    assert np.array_equal(
        sort(x, key=lambda a: uint64(a), bits=(3, 30), descending=True)[:5],
        x[np.argsort(-(x >> 3 & (1 << 27) - 1), kind="stable")][:5],
    )
    sort(x[:4000], key=lambda a: uint64(a))
    assert found == ["uint32", "uint64"]


@pytest.mark.parametrize("n", [100, LONG])
def test_structs_that_are_taken_by_their_positions(n: int) -> None:
    x = places(n)
    order = np.argsort(x["x"], kind="stable")
    by_x = lambda one: uint32(one.x)
    assert np.array_equal(sort(x, key=by_x), x[order])
    keys, values = sort_by_key(x, np.arange(n) * 1j, key=by_x)
    assert np.array_equal(keys, x[order]) and np.array_equal(values, 1j * order)
    assert np.array_equal(sort(x.reshape(2, -1), 1, key=by_x)["name"][0], np.argsort(x["x"][: n // 2], kind="stable"))


@pytest.mark.parametrize("scalar", ["bool", "uint8", "uint16", "uint32", "uint64"])
def test_keys_of_all_sizes(scalar: str) -> None:
    x = np.random.default_rng(1).integers(-100, 100, 300)
    to = getattr(prism.lang, scalar) if scalar != "bool" else None
    key = (lambda a: a % 3 == 0) if to is None else (lambda a: to(a * a))
    wanted = np.argsort(x % 3 == 0 if to is None else (x * x).astype(scalar), kind="stable")
    assert np.array_equal(argsort(x, key=key), wanted) and np.array_equal(sort(x, key=key), x[wanted])


def test_a_lambda_names_numbers_outside() -> None:
    x = np.arange(50)
    for modulus in (7, 9):
        assert np.array_equal(sort(x, key=lambda a: uint64(a % modulus)), x[np.argsort(x % modulus, kind="stable")])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_keys_along_axes(axis: int | None) -> None:
    x = np.random.default_rng(4).integers(0, 1000, (30, 40), dtype=np.int32)
    for view in (x, x.T, x[::-2, 1::3]):
        order = np.argsort(view % 10, axis=axis, kind="stable")
        wanted = np.take_along_axis(view.reshape(-1) if axis is None else view, order, -1 if axis is None else axis)
        key = lambda a: uint32(a % 10)
        assert np.array_equal(argsort(view, axis, key=key), order)
        assert np.array_equal(sort(view, axis, key=key), wanted)
        out = np.zeros((2, *wanted.shape), np.int32).swapaxes(0, -1)[..., 0]
        target = out if out.shape == wanted.shape else np.zeros_like(wanted)
        assert sort(view, axis, key=key, out=target) is target and np.array_equal(target, wanted)


def test_lazy_arrays_and_lists() -> None:
    x = np.array([31, 14, 15, 92])
    assert sort(lazy.of(x) + 1, key=lambda a: uint32(a % 10)).tolist() == [32, 93, 15, 16]
    assert sort([31, 14, 15, 92], key=lambda a: uint32(a % 10)).tolist() == [31, 92, 14, 15]
    assert sort(lazy.of(x.reshape(2, 2)) + 1, axis=None).tolist() == [15, 16, 32, 93]
    y = np.zeros(4, np.float32)
    assert sort(x, key=lambda a: uint32(a % 10), out=lazy.map_out(lambda a: a / 2.0, y)) is not y
    assert y.tolist() == [15.5, 46, 7, 7.5]


# -- Bits -----------------------------------------------------------------------------------------------------------------


BITS = [("uint8", (2, 5)), ("uint16", (0, 16)), ("uint32", (5, 21)), ("uint64", (40, 64))]


@pytest.mark.parametrize(
    ("scalar", "bits", "n"),
    rarely(
        [(*one, n) for one in BITS for n in (500, 17_000)],  # the longer ones by digits of the numbers themselves
        but=[*((*one, 500) for one in BITS), ("uint32", (5, 21), 17_000)],
    ),
)
def test_some_bits(scalar: str, bits: tuple[int, int], n: int) -> None:
    x = np.random.default_rng(0).integers(0, 1 << np.dtype(scalar).itemsize * 8, n, dtype=scalar)
    field = (x >> np.dtype(scalar).type(bits[0])) & ((1 << (bits[1] - bits[0])) - 1)
    order = np.argsort(field, kind="stable")
    assert np.array_equal(argsort(x, bits=bits), order) and np.array_equal(sort(x, bits=bits), x[order])
    for dtype in (np.int32, np.complex128):
        keys, values = sort_by_key(x, np.arange(n).astype(dtype), bits=bits)
        assert np.array_equal(keys, x[order]) and np.array_equal(values, order.astype(dtype))


def test_few_bits_take_fewer_passes() -> None:
    x = np.arange(20, dtype=np.uint32)
    order = orders.order_of(None, (4, 13), None, False)
    assert orders.keys_of(x, order, "a", "sort", None).dtype == np.uint16
    assert orders.keys_of(x, orders.order_of(None, (4, 12), None, False), "a", "sort", None).dtype == np.uint8


def test_bits_of_keys() -> None:
    x = days(700)
    wanted = np.lexsort((np.arange(700), -(x["number"].astype(np.int64) & 0xFF)))
    assert np.array_equal(argsort(x, key=day_key, bits=(0, 8)), wanted)


# -- Comparators ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_structs_by_a_comparator(n: int) -> None:
    x, values = days(n), np.arange(n, dtype=np.complex128)
    order = order_of_days(x)
    assert np.array_equal(sort(x, less=earlier), x[order]) and np.array_equal(argsort(x, less=earlier), order)
    keys, moved = sort_by_key(x, values, less=earlier)
    assert np.array_equal(keys, x[order]) and np.array_equal(moved, values[order])


@pytest.mark.parametrize("n", rarely([0, 1, 900, LONG], but=[0, 1, 900]))
def test_structs_by_their_fields(n: int) -> None:
    x, random = np.zeros(n, "f4,u2,?,i1"), np.random.default_rng(n)
    for name, high in (("f0", 3), ("f1", 9), ("f2", 2), ("f3", 9)):
        x[name] = random.integers(0, high, n) - (5 if name == "f3" else 0)
    x["f0"][::7], x["f0"][::11] = np.nan, -0.0
    for order in (None, "f3", ["f2", "f1"], ("f0",)):
        wanted = np.argsort(x, order=order, kind="stable")
        assert np.array_equal(argsort(x, order=order), wanted) and sort(x, order=order).tobytes() == x[wanted].tobytes()
    keys, values = sort_by_key(x, np.arange(n))
    wanted = np.argsort(x, kind="stable")
    assert np.array_equal(values, wanted) and keys.tobytes() == x[wanted].tobytes()
    falling = argsort(x[["f1", "f2"]].astype("u2,u2"), descending=True)
    assert np.array_equal(falling, np.lexsort((-x["f2"].astype(int), -x["f1"].astype(int))))
    assert np.array_equal(np.isnan(sort(x, descending=True)["f0"]), np.arange(n) >= n - np.isnan(x["f0"]).sum())


def test_fields_along_axes() -> None:
    x = days(1200).reshape(30, 40)
    for axis in (0, 1, None):
        assert np.array_equal(sort(x, axis), np.sort(x, axis))
        assert np.array_equal(sort(x.T, axis, order="number"), np.sort(x.T, axis, order="number"))


@pytest.mark.parametrize("kind", ["int32", "float32", "uint8"])
def test_numbers_by_their_own_order_are_not_merged(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is `<` or `>` is sorted as without `less`."""
    for name in ("sort_merged", "argsort_merged", "sort_pairs_merged"):
        monkeypatch.setattr(merging, name, None)
    x = np.random.default_rng(5).integers(0, 200, LONG).astype(kind)
    for less, falls in ((lambda a, b: a < b, False), (lambda a, b: a > b, True)):
        order = argsort(x, descending=falls)
        assert np.array_equal(argsort(x, less=less), order) and np.array_equal(sort(x, less=less), x[order])
        keys, moved = sort_by_key(x, order, less=less)
        assert np.array_equal(keys, x[order]) and np.array_equal(moved, order[order])
        rows = x.reshape(50, -1)
        assert np.array_equal(sort(rows, 0, less=less), sort(rows, 0, descending=falls))


def test_comparators_of_keys_are_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lambda that compares what it makes of each alone is an order by that key: signed, of floats, falling, of structs."""
    for name in ("sort_merged", "argsort_merged", "sort_pairs_merged"):
        monkeypatch.setattr(merging, name, None)
    x, shift = np.random.default_rng(6).integers(-99, 99, LONG, dtype=np.int32), 7
    halves = x.astype(np.float32) / 2
    halves[::9] = -0.0
    some = np.zeros(LONG, Place)
    some["x"], some["z"], some["name"] = x % 5, -x, np.arange(LONG)
    cases: list[tuple[Any, Any, Any]] = [
        (x, lambda a, b: a + shift < b + shift, x), (x, lambda a, b: a % 10 > b % 10, -np.fmod(x, 10)),
        (x, lambda a, b: float32(b) * -2 < float32(a) * -2, 2 * x), (halves, lambda a, b: -a < -b, -halves),
        (some, lambda a, b: a.z < b.z, some["z"]), (some, lambda a, b: b.x < a.x, -some["x"]),
    ]  # fmt: skip
    for given, less, key in cases:
        order = np.argsort(key, kind="stable")
        assert np.array_equal(argsort(given, less=less), order) and np.array_equal(sort(given, less=less), given[order])
        keys, moved = sort_by_key(given, np.arange(LONG), less=less)
        assert np.array_equal(keys, given[order]) and np.array_equal(moved, order)
    rows, less = x.reshape(50, -1), lambda a, b: a % 10 < b % 10
    order = np.argsort(np.fmod(rows, 10), 0, kind="stable")
    assert np.array_equal(argsort(rows, 0, less=less), order) and np.array_equal(
        sort(rows, 0, less=less), np.take_along_axis(rows, order, 0)
    )


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_comparators_along_axes(axis: int | None) -> None:
    x = np.random.default_rng(4).integers(0, 1000, (30, 40), dtype=np.int32)
    less = lambda a, b: not b % 10 <= a % 10  # which is no key's order at sight
    for view in (x, x.T, x[::-2, 1::3], x[:1], x[:, :1], x[:0]):
        order = np.argsort(view % 10, axis=axis, kind="stable")
        flat, last = (view.reshape(-1), -1) if axis is None else (view, axis)
        wanted = np.take_along_axis(flat, order, last)
        assert np.array_equal(argsort(view, axis, less=less), order) and np.array_equal(
            sort(view, axis, less=less), wanted
        )
        narrow = np.zeros(order.shape, np.int32)
        assert argsort(view, axis, less=less, dtype="int32", out=narrow) is narrow and np.array_equal(narrow, order)
        target = np.zeros_like(wanted)
        assert sort(view, axis, less=less, out=target) is target and np.array_equal(target, wanted)
        keys, values = sort_by_key(flat, flat.astype(np.float64), last, less=less)
        assert np.array_equal(keys, wanted) and np.array_equal(values, wanted)


@pytest.mark.parametrize(
    ("kind", "shape"),
    rarely(
        [
            (kind, shape)
            for kind in ("complex64", "complex128")
            for shape in ((0,), (300,), (3, 50), (5000,), (2, 4200))
        ],
        but=[("complex64", (0,)), ("complex64", (300,)), ("complex128", (3, 50)), ("complex64", (5000,))],
    ),
    ids=str,
)
def test_complex_numbers(kind: str, shape: tuple[int, ...]) -> None:
    x = hard(kind, int(np.prod(shape))).reshape(shape)
    order = np.argsort(x, kind="stable")
    wanted = np.take_along_axis(x, order, -1)
    assert np.array_equal(argsort(x), order) and np.array_equal(sort(x), wanted, equal_nan=True)
    keys, values = sort_by_key(x, x.real.copy())
    assert np.array_equal(keys, wanted, equal_nan=True) and np.array_equal(values, wanted.real, equal_nan=True)
    numbers = np.where(np.isnan(x.real) | np.isnan(x.imag), 0, x)
    down = np.take_along_axis(numbers, np.lexsort((-numbers.imag, -numbers.real)), -1)
    assert np.array_equal(sort(numbers, descending=True), down)
    assert sort(x, out=x) is x and np.array_equal(x, wanted, equal_nan=True)


# -- Errors ---------------------------------------------------------------------------------------------------------------


def test_errors() -> None:
    x, unsigned = np.arange(5), np.arange(5, dtype=np.uint16)
    by, less = (lambda a: uint32(a)), (lambda a, b: a < b)  # fmt: skip
    for name, given in (("key", by), ("bits", (0, 4)), ("descending", True)):
        with pytest.raises(TypeError, match=f"`less` is an order already: it goes without `{name}`"):
            sort(x, less=less, **{name: given})
    with pytest.raises(TypeError, match="`key` gives int64, and keys are unsigned integers"):
        argsort(x, key=lambda a: a + 1)
    with pytest.raises(TypeError, match="`key` must be a device function"):
        sort(x, key=3)
    with pytest.raises(TypeError, match="`less` must be a Prism device function or a lambda, not int"):
        sort_by_key(x, x, less=3)
    with pytest.raises(TypeError, match=r"`test_errors` is a function of Python\'s: mark it @prism\.device"):
        sort(x, key=test_errors)
    with pytest.raises(CompileError):
        sort(x, key=lambda a, b: uint32(a))
    with pytest.raises(CompileError):
        sort(x, key=lambda a: uint32(a.year))
    with pytest.raises(CompileError):
        sort(x, less=lambda a, b: a - b)
    with pytest.raises(TypeError, match="`bits` is of unsigned integers, and `a` has dtype int64: pass a `key`"):
        sort(x, bits=(0, 8))
    with pytest.raises(TypeError, match="`bits` is of unsigned integers, and `keys` has dtype float64"):
        sort_by_key(x / 2, x, bits=(0, 8))
    with pytest.raises(TypeError, match="`bits` must be two integers"):
        sort(unsigned, bits=8)
    with pytest.raises(TypeError, match="`bits` must be two integers"):
        sort(unsigned, bits=(0.0, 8))
    for bits in ((-1, 8), (8, 8), (9, 3)):
        with pytest.raises(ValueError, match="0 <= low < high"):
            sort(unsigned, bits=bits)
    with pytest.raises(ValueError, match=r"`bits` is \(0, 17\), and keys are uint16, of 16 bits"):
        sort(unsigned, bits=(0, 17))
    with pytest.raises(TypeError, match="structs are of 1, 2, 4, 8 or 16 bytes"):
        sort(np.zeros(3, "u4,u4,u4"), key=lambda one: one.f0)
    with pytest.raises(TypeError, match="structs are of 1, 2, 4, 8 or 16 bytes"):
        sort(np.zeros(3, "u4,u4,u4"))
    with pytest.raises(ValueError, match="`order` is of structs, and `a` has dtype int64, without fields"):
        sort(x, order="year")
    with pytest.raises(ValueError, match="`order`: a has no field 'month', but year, number"):
        argsort(days(3), order=["year", "month"])
    with pytest.raises(ValueError, match="`order` names 'year' twice"):
        sort(days(3), order=["year", "year"])
    with pytest.raises(ValueError, match="`order` must be a field's name, or a sequence of names, not 3"):
        sort(days(3), order=3)
    with pytest.raises(TypeError, match="`order` is that of fields: it goes without `key`"):
        sort(days(3), order="year", key=day_key)
    with pytest.raises(ValueError, match="one shape"):
        sort_by_key(x, x[:3], key=by)
    with pytest.raises(np.exceptions.AxisError):
        sort(x, 1, key=by)
    with pytest.raises(np.exceptions.AxisError):
        argsort(x, 1, less=less)
    with pytest.raises(TypeError, match="`out`"):
        sort(x, key=by, out=np.zeros(5, np.int32))
    with pytest.raises(ValueError, match="`out`"):
        sort(x, less=less, out=np.zeros(4, np.int64))
    with pytest.raises(TypeError, match="`dtype` must be int32 or int64"):
        argsort(x, less=less, dtype="uint8")
