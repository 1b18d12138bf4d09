"""Merges and sorts of tiles on the reference machine, with all its checks; each barrier is needed. Kernels: kernels/merge.

Tests of kernels/merge: keys, rows, runs, tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels import merge as kernels
from prism.lib.thread import operators
from tests.lib.block.test_sort import tens
from tests.mutation import without_barriers

THREADS, ITEMS = 64, 3
TILE = THREADS * ITEMS


def tiles_of(n: int, width: int) -> int:
    """How many tiles runs of `width` elements have when they are merged two and two; 0: two arrays."""
    if not width:
        return -(-n // TILE)
    pairs, rest = divmod(n, 2 * width)
    return pairs * -(-2 * width // TILE) + -(-rest // TILE)


def merged(
    a: Any, b: Any, width: int, less: Any = operators.less, program: Any = None, **options: Any
) -> tuple[Any, Any]:
    """Merge by both kernels; return elements, and values: their numbers, those of `b` from where `a` ends."""
    n = a.size if width else a.size + b.size
    tiles, y, z = tiles_of(n, width), np.zeros(n, a.dtype), np.zeros(n, np.int32)
    cuts, names = np.zeros(tiles, np.int64), np.arange(n, dtype=np.int32)
    options = {"check": True, **options}
    template = {"T": a.dtype, "LESS": less, "TILE": TILE, "THREADS": 32}
    middle = 0 if width else a.size
    kernels.cut_runs[-(-tiles // 32), 32](a, b, cuts, width, n, middle, tiles, template=template, **options)
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
    given = (a, b, y, *beside, z, cuts, width, n, middle, tiles, a.dtype.type(0), np.int32(0))
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


KEYS = 64, 8  # threads and elements of each, of what merges and sorts keys alone


def merged_keys(a: Any, b: Any, width: int, ways: int, program: Any = None, **options: Any) -> Any:
    """Merge keys alone by both kernels: `ways` runs of `width` elements at a time, or two arrays."""
    threads, items = KEYS
    n, tile = a.size if width else a.size + b.size, threads * items - (items if ways == 4 else 0)
    tiles, middle = -(-n // tile), 0 if width else a.size
    if width:
        groups, rest = divmod(n, ways * width)
        tiles = groups * -(-ways * width // tile) + -(-rest // tile)
    cuts, y, options = np.zeros((ways - 1) * tiles, np.int64), np.zeros(n, a.dtype), {"check": True, **options}
    template = {"T": a.dtype, "LESS": operators.less, "TILE": tile, "THREADS": 32}
    if ways == 4:
        kernels.cut_four_runs[-(-tiles // 32), 32](a, cuts, width, n, tiles, template=template, **options)
    else:
        kernels.cut_runs[-(-tiles // 32), 32](a, b, cuts, width, n, middle, tiles, template=template, **options)
    template = {
        "T": a.dtype, "N": "int32", "LESS": operators.less, "WAYS": ways, "ITEMS": items, "THREADS": threads, "BLOCKS": 1,
    }  # fmt: skip
    given = (a, b, y, cuts, width, n, middle, tiles, a.dtype.type(0))
    run(program or prism.check(kernels.merge_keys, template), tiles, threads, given, **options)
    return y


@pytest.mark.parametrize("ways", [2, 4])
@pytest.mark.parametrize("width", [1, 5, 256, 512, 513, 700])
@pytest.mark.parametrize("n", [1, 512, 2100])
def test_keys_side_by_side(width: int, n: int, ways: int) -> None:
    n = min(n, 40 * width)  # a tile has at least a pair of runs
    x = np.random.default_rng(0).integers(0, 40, n).astype(np.uint32)
    for k in range(0, n, width):
        x[k : k + width].sort()
    y = merged_keys(x, x, width, ways)
    for k in range(0, n, ways * width):
        assert np.array_equal(y[k : k + ways * width], np.sort(x[k : k + ways * width]))


@pytest.mark.parametrize("sizes", [(1, 0), (0, 1), (512, 512), (511, 1), (1029, 7), (7, 1029), (300, 700)], ids=str)
def test_two_arrays_of_keys(sizes: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(-300, 300, n, dtype=np.int64)) for n in sizes)
    assert np.array_equal(merged_keys(a, b, 0, 2), np.sort(np.concatenate([a, b])))


def test_four_runs_of_extreme_data() -> None:
    """Equal elements, runs one behind the other, and one that is shorter than the others would be."""
    width = 700
    rising = np.arange(4 * width, dtype=np.int32)
    for x in (0 * rising, rising, rising.reshape(4, width)[::-1].ravel(), rising[: width - 1], rising[: 2 * width + 1]):
        assert np.array_equal(merged_keys(x, x, width, 4), np.sort(x))


@pytest.mark.parametrize("n", [1, 511, 512, 1025])
@pytest.mark.parametrize("falls", [False, True])
def test_tiles_of_keys_are_sorted(n: int, falls: bool) -> None:
    threads, items = KEYS
    x = np.random.default_rng(0).integers(-100, 100, n, dtype=np.int32)
    y, less = np.zeros_like(x), operators.greater if falls else operators.less
    template = {"T": "int32", "LESS": less, "ITEMS": items, "THREADS": threads, "BLOCKS": 1}
    kernels.sort_keys[-(-n // 512), threads](x, y, n, template=template, check=True)
    for k in range(0, n, 512):
        assert np.array_equal(y[k : k + 512], np.sort(x[k : k + 512])[:: -1 if falls else 1])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_keys_in_every_schedule(schedule: str) -> None:
    x = np.random.default_rng(0).integers(0, 300, 1400, dtype=np.int32)
    threads, items = KEYS
    template = {"T": "int32", "LESS": operators.less, "ITEMS": items, "THREADS": threads, "BLOCKS": 1}
    y = np.zeros_like(x)
    kernels.sort_keys[3, threads](x, y, x.size, template=template, check=True, schedule=schedule)
    for ways in (4, 2):
        assert np.array_equal(merged_keys(y[:1024], y[:1024], 512, ways, schedule=schedule), np.sort(x[:1024]))


def test_each_barrier_of_keys_is_needed() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 3000, 1400, dtype=np.int32)
    for k in range(0, 1400, 350):
        x[k : k + 350].sort()
    threads, items = KEYS
    template = {
        "T": "int32", "N": "int32", "LESS": operators.less, "WAYS": 4, "ITEMS": items, "THREADS": threads, "BLOCKS": 1,
    }  # fmt: skip
    found = list(without_barriers(prism.check(kernels.merge_keys, template)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merged_keys(x, x, 350, 4, mutant, schedule=schedule), np.sort(x))


@pytest.mark.parametrize("size", [4, 8])
def test_kernels_of_keys_do_not_spill(size: int) -> None:
    """But for a few bytes of what sorts tiles: without a bound of registers half as many blocks are on a multiprocessor."""
    found = kernels.key_configurations(size, host=False)
    for ways, c in ((2, found.two), (4, found.four)):
        template = {
            "T": f"uint{8 * size}", "N": "int32", "LESS": operators.less, "WAYS": ways, "ITEMS": c.items, "THREADS": c.threads,
            "BLOCKS": c.blocks,
        }  # fmt: skip
        assert prism.compile(kernels.merge_keys, template, arch="sm_90a").spills == 0
    c = found.tiles
    template = {
        "T": f"uint{8 * size}",
        "LESS": operators.less,
        "ITEMS": c.items,
        "THREADS": c.threads,
        "BLOCKS": c.blocks,
    }
    assert prism.compile(kernels.sort_keys, template, arch="sm_90a").spills <= 80


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
