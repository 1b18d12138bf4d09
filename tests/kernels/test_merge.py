"""Merges and sorts of tiles on the reference machine, with all its checks; each barrier is needed. Kernels: kernels/merge.

Tests of kernels/merge: cuts, fours, keys, rows, runs, tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels import merge as kernels
from prism.lang import int32, requires, thread
from prism.lang import prism as mark
from prism.lib.thread import operators
from tests.lib.block.test_sort import tens
from tests.mutation import without_barriers

THREADS, ITEMS = 64, 3
TILE = THREADS * ITEMS


def tiles_of(n: int, width: int, tile: int = TILE) -> int:
    """How many tiles runs of `width` elements have when they are merged two and two; 0: two arrays."""
    if not width:
        return -(-n // tile)
    pairs, rest = divmod(n, 2 * width)
    return pairs * -(-2 * width // tile) + -(-rest // tile)


def cuts_of(a: Any, b: Any, width: int, middle: int, n: int, tile: int, less: Any, options: Any) -> Any:
    """Find where each tile begins: all at once, and some first, which is the same."""

    def cut(each: int, within: bool, known: Any, probes: int) -> Any:
        many = tiles_of(n, width, each)
        given = (a, b, known, found := np.zeros(many, np.int64), width, n, middle, many)
        template = {"T": a.dtype, "LESS": less, "TILE": each, "WITHIN": within, "THREADS": 32, "PROBES": probes}
        kernels.cut_runs[-(-many // 32), 32](*given, template=template, **options)
        return found

    nothing = np.zeros(1, np.int64)
    cuts, some = cut(tile, False, nothing, 7), cut(tile * kernels.GROUP, False, nothing, 1)
    assert np.array_equal(cut(tile, True, some, 1), cuts)
    return cuts


def merged(
    a: Any, b: Any, width: int, less: Any = operators.less, program: Any = None, **options: Any
) -> tuple[Any, Any]:
    """Merge by both kernels; return elements, and values: their numbers, those of `b` from where `a` ends."""
    n = a.size if width else a.size + b.size
    tiles, y, z = tiles_of(n, width), np.zeros(n, a.dtype), np.zeros(n, np.int32)
    names, options = np.arange(n, dtype=np.int32), {"check": True, **options}
    middle = 0 if width else a.size
    cuts = cuts_of(a, b, width, middle, n, TILE, less, options)
    template = {
        "T": a.dtype,
        "V": "int32",
        "LESS": less,
        "VALUES": True,
        "ITEMS": ITEMS,
        "THREADS": THREADS,
        "BLOCKS": 1,
    }
    beside = (names, names) if width else (names[: a.size].copy(), names[a.size :].copy())
    given = (a, b, y, *beside, z, cuts, width, n, middle, a.dtype.type(0), np.int32(0))
    run(program or prism.check(kernels.merge_tiles, template), tiles, THREADS, given, **options)
    return y, z


@pytest.mark.parametrize(
    ("one", "other"), [(0, 1), (1, 0), (TILE, TILE), (TILE - 1, 1), (2 * TILE + 5, 7), (7, 2 * TILE + 5)]
)
def test_two_arrays(one: int, other: int) -> None:
    random = np.random.default_rng(0)
    runs = [random.integers(0, 300, n, dtype=np.int32) for n in (one, other)]
    a, b = (each[np.argsort(each // 10, kind="stable")] for each in runs)
    both = np.concatenate([a, b])
    order = np.argsort(both // 10, kind="stable")
    y, z = merged(a, b, 0, tens)
    assert np.array_equal(y, both[order]) and np.array_equal(z, order)


@pytest.mark.parametrize("width", [1, 5, TILE // 2, TILE, TILE + 1, 3 * TILE])
@pytest.mark.parametrize("n", [1, TILE, 4 * TILE + 3])
def test_runs_side_by_side(width: int, n: int) -> None:
    x = np.random.default_rng(0).integers(0, 40, n).astype(np.float32)
    for k in range(0, n, width):
        x[k : k + width].sort()
    y, z = merged(x, x.copy(), width)
    for k in range(0, n, 2 * width):
        order = np.argsort(x[k : k + 2 * width], kind="stable")
        assert np.array_equal(y[k : k + 2 * width], x[k : k + 2 * width][order]) and np.array_equal(
            z[k : k + 2 * width], k + order
        )


@pytest.mark.parametrize("n", [1, TILE - 1, TILE, 2 * TILE + 1])
def test_tiles_are_sorted(n: int) -> None:
    """Stable; what fills up the last tile is behind all of it, also where elements of it are as large."""
    x = np.random.default_rng(0).integers(0, 100, n, dtype=np.int32)
    for values in (False, True):
        y, z = np.zeros_like(x), np.zeros(n, np.int32)
        template = {
            "T": "int32",
            "V": "int32",
            "LESS": tens,
            "VALUES": values,
            "ITEMS": ITEMS,
            "THREADS": THREADS,
            "BLOCKS": 1,
        }
        given = (x, y, np.arange(n, dtype=np.int32), z, n, np.int32(0))
        kernels.sort_tiles[-(-n // TILE), THREADS](*given, template=template, check=True)
        for k in range(0, n, TILE):
            order = np.argsort(x[k : k + TILE] // 10, kind="stable")
            assert np.array_equal(y[k : k + TILE], x[k : k + TILE][order])
            assert not values or np.array_equal(z[k : k + TILE], k + order)


KEYS = 64, 8  # threads and elements of each, of what merges keys alone


def merged_keys(a: Any, b: Any, program: Any = None, **options: Any) -> Any:
    """Merge two arrays of keys alone by both kernels."""
    threads, items = KEYS
    n, tile = a.size + b.size, threads * items
    y, options = np.zeros(n, a.dtype), {"check": True, **options}
    cuts = cuts_of(a, b, 0, a.size, n, tile, operators.less, options)
    given = (a, b, y, cuts, n, a.size, a.dtype.type(0))
    run(program or prism.check(kernels.merge_keys, of_keys(a.dtype)), -(-n // tile), threads, given, **options)
    return y


def of_keys(dtype: Any) -> dict[str, Any]:
    threads, items = KEYS
    return {"T": dtype, "LESS": operators.less, "ITEMS": items, "THREADS": threads, "BLOCKS": 1}


@pytest.mark.parametrize(
    "sizes", [(1, 0), (0, 1), (512, 512), (511, 1), (512, 1), (1029, 7), (7, 1029), (300, 700)], ids=str
)
def test_two_arrays_of_keys(sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(-300, 300, n, dtype=np.int64)) for n in sizes)
    assert np.array_equal(merged_keys(a, b), np.sort(np.concatenate([a, b])))
    high = np.full(sizes[0] + 3, np.iinfo(np.int64).max)  # nothing stands behind what fills the last tile up
    assert np.array_equal(merged_keys(high, b), np.sort(np.concatenate([high, b])))


@pytest.mark.parametrize("form", ["alike", "before", "behind", "in lumps", "equal"])
def test_cuts_are_found_wherever_they_are(form: str) -> None:
    """Near where even data have them, and far from there; by the kernel before, and by each block."""
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 1 << 20, n, dtype=np.int32)) for n in (9000, 7000))
    if form == "before":
        a = a - (1 << 21)
    elif form == "behind":
        a = a + (1 << 21)
    elif form == "in lumps":
        a, b = a // 7000 * 7000, np.sort(b % 3000 + b // 200_000 * 200_000)
    elif form == "equal":
        a, b = 0 * a, 0 * b
    assert np.array_equal(merged_keys(a, b), np.sort(np.concatenate([a, b])))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_keys_in_every_schedule(schedule: str) -> None:
    x = np.sort(np.random.default_rng(0).integers(0, 300, 1400, dtype=np.int32))
    assert np.array_equal(merged_keys(x[::3].copy(), x[1::3].copy(), schedule=schedule), np.sort([*x[::3], *x[1::3]]))


def test_each_barrier_of_keys_is_needed() -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 3000, n, dtype=np.int32)) for n in (600, 420))
    wanted = np.sort(np.concatenate([a, b]))
    found = list(without_barriers(prism.check(kernels.merge_keys, of_keys("int32"))))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merged_keys(a, b, mutant, schedule=schedule), wanted)


@pytest.mark.parametrize("size", [4, 8])
def test_kernels_do_not_spill(size: int) -> None:
    c = kernels.key_configuration(size, host=False)
    template = {"T": f"uint{8 * size}", "LESS": operators.less}
    assert prism.compile(kernels.merge_keys, {**template, **cut_by(c)}, arch="sm_90a").spills == 0
    for values in (False, True):
        found, more = (
            kernels.configurations(size, values=values, host=False),
            {"V": f"uint{8 * size}", "VALUES": values},
        )
        two, four = {**template, **more, **cut_by(found.two)}, {**template, **more, **cut_by(found.four), "N": "int32"}
        assert prism.compile(kernels.merge_tiles, two, arch="sm_90a").spills == 0
        assert prism.compile(kernels.merge_fours, four, arch="sm_90a").spills == 0


def cut_by(c: kernels.Configuration) -> dict[str, int]:
    return {"ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks}


def merged_fours(
    x: Any, width: int, less: Any, program: Any = None, *, values: bool = True, **options: Any
) -> tuple[Any, Any]:
    """Merge runs four at a time by both kernels; return elements, and values: their numbers."""
    n, tile = x.size, (THREADS - 1) * ITEMS
    groups, rest = divmod(n, 4 * width)
    tiles = groups * -(-4 * width // tile) + -(-rest // tile)
    cuts, y, z, options = (
        np.zeros(3 * tiles, np.int64),
        np.zeros_like(x),
        np.zeros(n, np.int32),
        {"check": True, **options},
    )
    template = {"T": x.dtype, "LESS": less, "TILE": tile, "THREADS": 32}
    kernels.cut_four_runs[-(-tiles * kernels.LANES // 32), 32](x, cuts, width, n, tiles, template=template, **options)
    given = (x, y, np.arange(n, dtype=np.int32), z, cuts, width, n, tiles, x.dtype.type(0))
    run(program or prism.check(kernels.merge_fours, of_fours(x.dtype, less, values)), tiles, THREADS, given, **options)
    return y, z


def of_fours(dtype: Any, less: Any, values: bool = True) -> dict[str, Any]:
    return {
        "T": dtype, "V": "int32", "N": "int32", "LESS": less, "VALUES": values, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1,
    }  # fmt: skip


def runs_of(n: int, width: int, high: int) -> Any:
    """Return integers in runs that are sorted by tens."""
    x = np.random.default_rng(n + width).integers(0, high, n, dtype=np.int32)
    for k in range(0, n, width):
        x[k : k + width] = x[k : k + width][np.argsort(x[k : k + width] // 10, kind="stable")]
    return x


def cuts_of_four(x: Any, width: int, tile: int, less: Any, **options: Any) -> tuple[Any, Any, Any]:
    """Return where each tile begins in its first three runs; where its four runs begin, and the tile in their merge."""
    share, n = -(-4 * width // tile), x.size
    tiles = sum(-(-min(4 * width, n - begin) // tile) for begin in range(0, n, 4 * width))
    cuts = np.full(3 * tiles, -1)
    template = {"T": x.dtype, "LESS": less, "TILE": tile, "THREADS": 32}
    kernels.cut_four_runs[-(-tiles * kernels.LANES // 32), 32](
        x, cuts, width, n, tiles, template=template, check=True, **options
    )
    number = np.arange(tiles)
    return cuts.reshape(3, tiles).T, number // share * 4 * width, number % share * tile


@pytest.mark.parametrize("kind", ["random", "few", "equal", "sorted", "reversed"])
@pytest.mark.parametrize(
    ("n", "width", "tile"), [(1, 1, 3), (150, 17, 16), (700, 300, 60), (4000, 1000, 93), (2001, 500, 60)]
)
def test_where_tiles_of_four_runs_begin(n: int, width: int, tile: int, kind: str) -> None:
    """As a stable sort has it, of runs of which the last may be shorter, or not there."""
    x = np.random.default_rng(n).integers(0, 4 if kind == "few" else 1 << 32, n, dtype=np.uint32)
    x = {"equal": np.zeros_like(x), "sorted": np.sort(x), "reversed": np.sort(x)[::-1]}.get(kind, x).copy()
    for begin in range(0, n, width):
        x[begin : begin + width].sort()
    for found, begin, diagonal in zip(*cuts_of_four(x, width, tile, operators.less), strict=True):
        first = np.argsort(x[begin : begin + 4 * width], kind="stable")[:diagonal] // width
        assert found.tolist() == np.bincount(first, minlength=4)[:3].tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_cuts_of_four_runs_in_every_schedule(schedule: str) -> None:
    x = np.sort(np.random.default_rng(0).integers(0, 90, (4, 100)), axis=1).ravel()
    found, _, diagonals = cuts_of_four(x, 100, 30, operators.less, schedule=schedule, seed=1)
    for one, diagonal in zip(found, diagonals, strict=True):
        assert np.bincount(np.argsort(x, kind="stable")[:diagonal] // 100, minlength=4)[:3].tolist() == one.tolist()


@pytest.mark.parametrize("always", [True, False])
def test_cuts_of_four_runs_by_no_order(always: bool) -> None:
    """The search ends, and says of no run more than it has."""

    @mark("device")
    @requires(thread[1])
    def less(a: int32 @ thread[1], b: int32 @ thread[1]) -> bool @ thread[1]:
        return always

    x = np.random.default_rng(0).integers(0, 1000, 350).astype(np.int32)  # not sorted either
    found, _, diagonals = cuts_of_four(x, 100, 30, less)
    rest = diagonals - found.sum(axis=1)
    assert (found >= 0).all() and (found <= 100).all() and (rest >= 0).all() and (rest <= 50).all()


@pytest.mark.parametrize("width", [50, TILE // 2, TILE, TILE + 1, 350])
@pytest.mark.parametrize("n", [1, TILE, 1500])
def test_four_runs_side_by_side(width: int, n: int) -> None:
    x = runs_of(n, width, 400)
    y, z = merged_fours(x, width, tens)
    alone, _ = merged_fours(x, width, tens, values=False)
    for k in range(0, n, 4 * width):
        order = np.argsort(x[k : k + 4 * width] // 10, kind="stable")
        assert np.array_equal(z[k : k + 4 * width], k + order)
        assert np.array_equal(y[k : k + 4 * width], x[k : k + 4 * width][order])
    assert np.array_equal(alone, y)


def test_four_runs_of_extreme_data() -> None:
    """Equal elements, runs one behind the other, and one that is shorter than the others would be."""
    width = 350
    rising = np.arange(4 * width, dtype=np.int32)
    for x in (0 * rising, rising, rising.reshape(4, width)[::-1].ravel(), rising[: width - 1], rising[: 2 * width + 1]):
        y, z = merged_fours(np.ascontiguousarray(x), width, operators.less)
        assert np.array_equal(y, np.sort(x)) and np.array_equal(z, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_four_runs_in_every_schedule(schedule: str) -> None:
    x = runs_of(900, 230, 300)
    assert np.array_equal(merged_fours(x, 230, tens, schedule=schedule)[1], np.argsort(x // 10, kind="stable"))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_sort_in_every_schedule(schedule: str) -> None:
    """Tiles, and then four of them, by what the library sorts numbers by."""
    n = 4 * TILE - 3
    x, given = np.random.default_rng(1).integers(0, 30, n, dtype=np.int32), np.arange(n, dtype=np.int32)
    y, z = np.zeros_like(x), np.zeros(n, np.int32)
    template = {
        "T": "int32", "V": "int32", "LESS": kernels.less, "VALUES": True, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1,
    }  # fmt: skip
    kernels.sort_tiles[-(-n // TILE), THREADS](
        x, y, given, z, n, np.int32(0), template=template, check=True, schedule=schedule
    )
    assert np.array_equal(z[:TILE], np.argsort(x[:TILE], kind="stable"))
    assert np.array_equal(merged_fours(y, TILE, kernels.less, schedule=schedule)[0], np.sort(x))


def test_each_barrier_of_four_runs_is_needed() -> None:
    x = runs_of(900, 230, 3000)
    wanted = np.argsort(x // 10, kind="stable")
    found = list(without_barriers(prism.check(kernels.merge_fours, of_fours("int32", tens))))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merged_fours(x, 230, tens, mutant, schedule=schedule)[1], wanted)


def test_each_inferred_barrier_is_needed() -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 300, n, dtype=np.int32)) for n in (300, 200))
    wanted = np.sort(np.concatenate([a, b]))
    template = {
        "T": "int32",
        "V": "int32",
        "LESS": operators.less,
        "VALUES": True,
        "ITEMS": ITEMS,
        "THREADS": THREADS,
        "BLOCKS": 1,
    }
    found = list(without_barriers(prism.check(kernels.merge_tiles, template)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merged(a, b, 0, program=mutant, schedule=schedule)[0], wanted)
