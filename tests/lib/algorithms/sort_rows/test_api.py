"""Segments sorted, on NumPy arrays: of every length about those that classes end at, all dtypes, hard data, and the errors.

Tests of prism/lib/algorithms/sort_rows: api, plan, cases, ships; kernels/sort_rows: bins, runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.host.machine import HOST, run_on_host
from prism.host.plan import OUT, Buffer
from prism.interpret import SCHEDULES
from prism.kernels import sort_rows as kernels
from prism.lang.lower.limits import SHARED_LIMITS
from prism.lib import segmented_argsort, segmented_sort, segmented_sort_by_key, sort
from prism.lib.algorithms.sort_rows import plan as plans
from prism.lib.algorithms.sort_rows.plan import PLACES, SUPPORTED, Kind, Names
from prism.runtime.arrays import describe
from tests.kernels.test_sort_rows import order_of
from tests.rarely import rarely

KINDS = tuple(kind for kind in SUPPORTED if kind != "bfloat16")


def hard(kind: str, n: int, seed: int = 0) -> Any:
    """Return numbers of which many are equal, and, of floats, NaN with both signs and both zeros."""
    random = np.random.default_rng(seed)
    found = random.integers(-3 if np.dtype(kind).kind in "ifc" else 0, 4, n).astype(kind)
    if found.dtype.kind in "fc":
        found[::7], found[3::11] = np.nan, -0.0
        found[5::13] = -np.array(np.nan, kind)
    if found.dtype.kind == "c":
        found[1::5] += 2j
        found[2::9] = complex(1, np.nan)
    return found


def oracle(x: Any, offsets: Any, descending: bool = False) -> tuple[Any, Any]:
    """Return each segment sorted, and the positions that do so."""
    y, places = x.copy(), np.full(x.size, -1)
    for begin, end in zip(np.maximum(offsets[:-1], 0), np.minimum(offsets[1:], x.size), strict=True):
        if begin < end:
            places[begin:end] = order_of(x[None, begin:end], descending)[0]
            y[begin:end] = x[begin:end][places[begin:end]]
    return y, places


def agree(x: Any, offsets: Any, descending: bool = False) -> None:
    y, places = oracle(x, offsets, descending)
    found = segmented_sort(x, offsets, descending=descending)
    assert np.array_equal(segmented_argsort(x, offsets, descending=descending), places)
    assert np.array_equal(found, y, equal_nan=x.dtype.kind in "fc")
    if x.dtype.kind == "f":  # zeros of both signs in their order
        assert np.array_equal(np.signbit(found[~np.isnan(y)]), np.signbit(y[~np.isnan(y)]))


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "many"), [(3000, 100), (900, 300), (5000, 3)])
def test_segments_of_unequal_lengths(kind: str, n: int, many: int) -> None:
    offsets = np.sort(np.random.default_rng(1).integers(-2, n + 3, many + 1))
    agree(hard(kind, n), offsets)


@pytest.mark.parametrize("kind", ["float32", "int16", "uint64", "float64"])
def test_descending(kind: str) -> None:
    offsets = np.sort(np.random.default_rng(1).integers(0, 3001, 50))
    agree(hard(kind, 3000), offsets, descending=True)


@pytest.mark.parametrize("kind", rarely(["float32", "float64"], but=["float32"]))
def test_lengths_about_the_ends_of_classes(kind: str) -> None:
    """One short segment of most, so that lists take the others; and one that no block holds."""
    most = Kind(kind).most(HOST)
    lengths = [0, 1, 2, *(end + more for end in (32, 256, 512, 2048) for more in (-1, 0, 1)), *[3] * 4000, most + 1]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    agree(hard(kind, int(offsets[-1])), offsets)


@pytest.mark.parametrize(("most", "kind"), [(16, "int32"), (64, "float32"), (2048, "uint32"), (16, "float64")])
def test_segments_of_every_list(most: int, kind: str) -> None:
    """Of about the mean length, and about the ends of all lists that go by it."""
    size = 8 if kind == "float64" else 4
    lanes = plans._classes(most, kernels.LANES[size][-1].span, held=False)
    blocks = plans._classes_of_blocks(Kind(kind), most, kernels.most_of(size))
    ends = {end + more for end in (*lanes, blocks[0], most // 4, most) for more in (-1, 0, 1) if end + more > 0}
    lengths = np.array([*ends, *[most] * (20 if most > 64 else 3)])
    many = max(
        -(-int(lengths.sum()) // (most - most // 8)), len(lengths)
    )  # empty ones, so that this is the mean length
    lengths = np.random.default_rng(1).permutation(np.pad(lengths, (0, many - len(lengths))))
    n = int(lengths.sum())
    assert kernels.way_of(-(-n // many), size) == kernels.way_of(most, size)
    agree(hard(kind, n), np.concatenate(([0], np.cumsum(lengths))))


@pytest.mark.parametrize("kind", rarely(["complex64", "complex128"], but=["complex128"]))
def test_segments_that_no_block_holds(kind: str) -> None:
    most = Kind(kind).most(HOST)
    offsets = np.cumsum([1, 3, most + 1, 0, 200, 2 * most, 1])
    agree(hard(kind, int(offsets[-1]) + 2), offsets)


def long_rows(x: Any, running: Any = None, **options: Any) -> dict[str, Any]:
    """Return what `plan.long_rows` makes of rows that are long enough for it; `running`: how they are run."""
    kind = Kind(x.dtype.name, **options)
    made = {OUT: np.empty_like(x), PLACES: np.empty(x.shape, np.int64), "moved": np.empty(x.shape, np.int32)}
    wanted = [
        *([OUT] if kind.elements else []),
        *([PLACES] if kind.places else []),
        *(["moved"] if kind.values else []),
    ]
    values = np.arange(x.size, dtype=np.int32).reshape(x.shape)
    plan = plans.long_rows(kind, *x.shape, HOST, names=Names(places=Buffer(PLACES)))
    given = {"x": x, "values": values} | {name: made[name] for name in wanted}
    run_on_host(plan, {name: describe(array) for name, array in given.items()}, **(running or {}))
    return {name: made[name] for name in wanted}


LONG_ROWS = [
    (kind, columns) for kind in ("int32", "float32", "int16", "uint64", "complex128") for columns in (505, 2017)
]


@pytest.mark.parametrize(
    ("kind", "columns"), rarely(LONG_ROWS, but=[("int32", 505), ("float32", 2017), ("complex128", 505)])
)
def test_long_rows(kind: str, columns: int) -> None:
    """Of two tiles, and of so many that runs are merged twice; alone, with positions, and with values."""
    x = hard(kind, 3 * columns).reshape(3, columns)
    order = order_of(x, False)
    sorted_rows = np.take_along_axis(x, order, 1)
    assert np.array_equal(long_rows(x)[OUT], sorted_rows, equal_nan=x.dtype.kind in "fc")
    assert np.array_equal(long_rows(x, elements=False, places="int64")[PLACES], order)
    if columns == 2017:
        found = long_rows(x, values="int32")
        assert np.array_equal(found["moved"], order + columns * np.arange(3)[:, None])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_long_rows_in_any_order_of_threads(schedule: str) -> None:
    """Blocks wait for each other: none for one that waits for it, and what they wrote is seen."""
    x = hard("int32", 2017)[None]
    found = long_rows(x, {"check": True, "schedule": schedule})[OUT]
    assert np.array_equal(found, np.sort(x))


def test_complex_numbers_fall() -> None:
    """Those with NaN stand last all the same, in NumPy's order."""
    for kind in ("complex64", "complex128"):
        x = hard(kind, 200)
        keys = np.isnan(x.imag), np.isnan(x.real)
        real, imag = (np.where(np.isnan(part), 0, -part) for part in (x.real, x.imag))
        assert np.array_equal(sort(x, descending=True), x[np.lexsort((imag, real, *keys))], equal_nan=True)


@pytest.mark.parametrize("values", ["int32", "float64", "uint8", "complex128"])
@pytest.mark.parametrize("descending", [False, True])
def test_values_go_where_their_keys_go(values: str, descending: bool) -> None:
    random = np.random.default_rng(0)
    offsets = np.sort(random.integers(-2, 1003, 40))
    x, beside = hard("float32", 1000), random.integers(0, 250, 1000).astype(values)
    wanted, places = oracle(x, offsets, descending)
    moved = beside.copy()
    for begin, end in zip(np.maximum(offsets[:-1], 0), np.minimum(offsets[1:], x.size), strict=True):
        moved[begin:end] = beside[begin:end][places[begin:end]]
    found = segmented_sort_by_key(x, beside, offsets, descending=descending)
    assert np.array_equal(found[0], wanted, equal_nan=True) and np.array_equal(found[1], moved)


def test_values_of_no_segments() -> None:
    x, values = hard("int32", 10), np.arange(10)
    for given in (x, x[:0]):
        found = segmented_sort_by_key(given, values[: given.size], np.array([4]))
        assert np.array_equal(found[0], given) and np.array_equal(found[1], values[: given.size])


def test_nothing_to_sort() -> None:
    x = hard("float32", 10)
    assert np.array_equal(segmented_sort(x, np.array([4])), x, equal_nan=True)
    assert np.array_equal(segmented_argsort(x, np.array([4])), np.full(10, -1))
    assert segmented_sort(x[:0], np.array([0, 0])).size == 0
    assert np.array_equal(segmented_argsort(x, np.array([3, 3, 3])), np.full(10, -1))
    assert np.array_equal(segmented_sort(x, np.array([3, 3, 3])), x, equal_nan=True)


def test_int32_and_out() -> None:
    x, offsets = hard("int32", 100), np.array([0, 40, 100], np.int32)
    wanted, places = oracle(x, offsets)
    found = segmented_argsort(x, offsets, dtype="int32")
    assert found.dtype == np.int32 and np.array_equal(found, places)
    out = np.zeros(100, np.int64)
    assert segmented_argsort(x, offsets, out=out) is out and np.array_equal(out, places)
    assert segmented_sort(x, offsets, out=x) is x and np.array_equal(x, wanted)


def test_errors() -> None:
    x, offsets = np.zeros(10, np.float32), np.array([0, 5])
    with pytest.raises(TypeError, match="`x` has dtype"):
        segmented_sort(np.zeros(10, "f4,f4"), offsets)
    with pytest.raises(TypeError, match="`offsets` must be of int32 or int64"):
        segmented_sort(x, offsets.astype(float))
    with pytest.raises(ValueError, match="`offsets` must have one element more"):
        segmented_argsort(x, offsets[:0])
    with pytest.raises(ValueError, match="`x`"):
        segmented_argsort(x.reshape(2, 5), offsets)
    with pytest.raises(TypeError, match="`dtype` must be int32 or int64"):
        segmented_argsort(x, offsets, dtype="int16")
    with pytest.raises(TypeError, match="`out`"):
        segmented_sort(x, offsets, out=np.zeros(10))
    with pytest.raises(ValueError, match="`out`"):
        segmented_sort(x, offsets, out=np.zeros(9, np.float32))


def test_errors_of_values() -> None:
    x, offsets = np.zeros(10, np.float32), np.array([0, 5])
    with pytest.raises(ValueError, match="`keys` and `values` must have one shape"):
        segmented_sort_by_key(x, x[:9], offsets)
    with pytest.raises(TypeError, match="`values` has dtype"):
        segmented_sort_by_key(x, np.zeros(10, "V3"), offsets)
    with pytest.raises(TypeError, match="`keys` has dtype"):
        segmented_sort_by_key(np.zeros(10, "f4,f4"), x, offsets)
    with pytest.raises(ValueError, match="`keys`"):
        segmented_sort_by_key(x.reshape(2, 5), x.reshape(2, 5), offsets)


def test_a_block_holds_what_a_gpu_has_room_for() -> None:
    for size in (4, 8, 16, 24):
        for number, room in SHARED_LIMITS.items():
            assert kernels.ROOM.get(f"sm_{number}", 227 << 10) == room
            assert kernels.most_of(size, f"sm_{number}") * size <= room
        assert kernels.most_of(size) == kernels.BLOCKS[size][-1].span == kernels.most_of(size, "sm_90a")
    for size in kernels.LONG:  # a row that no block holds has more than a tile
        for arch in (f"sm_{number}" for number in SHARED_LIMITS):
            way = kernels.long_way(size, arch)
            assert way.span - way.items <= kernels.most_of(size, arch)
            assert 2 * way.threads * (way.items + 1) * size + (2 << 10) <= kernels.ROOM.get(arch, 227 << 10)
