"""Long merges, whose later tiles are cut while the first ones are merged, on the reference machine.

Tests of kernels/merge/ahead.py.
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

THREADS, ITEMS = 32, 8
TILE, PAIRS = THREADS * ITEMS, THREADS * 3
"""Elements of a tile of keys alone, and of pairs."""


def cut(a: Any, b: Any, early: int, tile: int, less: Any, options: Any) -> tuple[Any, ...]:
    """Cut the first tiles; return what the first kernel takes of cuts."""
    n = a.size + b.size
    tiles = -(-n // tile)
    some, early = -(-tiles // kernels.SPAN), min(early, tiles - 1)
    known, firsts = np.zeros(some, np.int64), np.zeros(early + 1, np.int64)
    template = {"T": a.dtype, "LESS": less, "TILE": tile, "LANES": 8, "THREADS": 32}
    given = (a, b, known, firsts, n, a.size, early + 1, some)
    kernels.cut_first[-(-(early + 1 + some) // 4), 32](*given, template=template, **options)
    return known, firsts, np.zeros(tiles, np.int64), n, a.size, tiles, early, -(-(tiles - early) // THREADS)


def merged(a: Any, b: Any, early: int, program: Any = None, **options: Any) -> Any:
    """Merge keys."""
    y, options = np.zeros(a.size + b.size, a.dtype), {"check": True, **options}
    cuts = cut(a, b, early, TILE, operators.less, options)
    *_, n, middle, tiles, early, cutters = cuts
    given, program = (
        (a, b, y, *cuts, a.dtype.type(0)),
        program or prism.check(kernels.merge_keys_ahead, of_keys(a.dtype)),
    )
    run(program, cutters + early, THREADS, given, **options)
    given = (a, b, y, cuts[2], n, middle, early, a.dtype.type(0))
    kernels.merge_keys[tiles - early, THREADS](*given, template=of_keys(a.dtype), **options)
    return y


def of_keys(kind: Any) -> dict[str, Any]:
    return {"T": kind, "LESS": operators.less, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1}


def of_pairs(kind: Any, less: Any) -> dict[str, Any]:
    return {**of_keys(kind), "LESS": less, "V": "int16", "VALUES": True, "ITEMS": 3}


def merged_pairs(a: Any, b: Any, early: int, less: Any, program: Any = None, **options: Any) -> tuple[Any, Any]:
    """Merge keys, and their places beside them."""
    n, options = a.size + b.size, {"check": True, **options}
    places, y, z = np.arange(n, dtype=np.int16), np.zeros(n, a.dtype), np.zeros(n, np.int16)
    cuts = cut(a, b, early, PAIRS, less, options)
    *_, n, middle, tiles, early, cutters = cuts
    arrays, none = (a, b, y, places[: a.size].copy(), places[a.size :].copy(), z), (a.dtype.type(0), np.int16(0))
    program = program or prism.check(kernels.merge_ahead, of_pairs(a.dtype, less))
    run(program, cutters + early, THREADS, (*arrays, *cuts, *none), **options)
    given = (*arrays, cuts[2], 0, n, middle, early, *none)
    kernels.merge_tiles[tiles - early, THREADS](*given, template=of_pairs(a.dtype, less), **options)
    return y, z


CASES = [
    (TILE + 1, 0, 1),
    (0, 3 * TILE, 3),
    (TILE, TILE, 1),
    (40 * TILE + 5, 30 * TILE - 9, 5),
    (3, 70 * TILE, 7),
    (70 * TILE, 1, 200),
]


@pytest.mark.parametrize(("one", "other", "early"), CASES)
def test_two_arrays(one: int, other: int, early: int) -> None:
    random = np.random.default_rng(one)
    a, b = (np.sort(random.integers(-(1 << 31), 1 << 31, n).astype(np.int32)) for n in (one, other))
    assert np.array_equal(merged(a, b, early), np.sort(np.concatenate([a, b])))


@pytest.mark.parametrize("skew", ["equal", "apart", "behind"])
def test_skew(skew: str) -> None:
    """The cuts are nowhere near where even data have them."""
    a, b = np.arange(35 * TILE + 1, dtype=np.uint32), np.arange(35 * TILE, dtype=np.uint32)
    a, b = {"equal": (a // a.size, b // a.size), "apart": (a, b + np.uint32(a.size)), "behind": (a * 3 + 5, b // 7)}[
        skew
    ]
    assert np.array_equal(merged(a, b, 2), np.sort(np.concatenate([a, b])))


def test_what_is_not_sorted_touches_nothing_else() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 1 << 31, 34 * TILE).astype(np.int32) for _ in range(2))
    assert merged(a, b, 3).size == 68 * TILE  # with all checks of memory


@pytest.mark.parametrize(("one", "other", "early"), CASES)
def test_equal_ones_keep_their_order(one: int, other: int, early: int) -> None:
    random = np.random.default_rng(other)
    runs = [random.integers(0, 300, min(n, 9000), dtype=np.int32) for n in (one, other)]
    a, b = (each[np.argsort(each // 10, kind="stable")] for each in runs)
    both = np.concatenate([a, b])
    order = np.argsort(both // 10, kind="stable")
    keys, places = merged_pairs(a, b, early, tens)
    assert np.array_equal(places, order) and np.array_equal(keys, both[order])


def test_nan_is_last() -> None:
    random = np.random.default_rng(0)
    a, b = (random.normal(size=n).astype(np.float32).round(1) for n in (3000, 2000))
    a[::7], b[::5], b[3] = np.nan, -np.nan, -0.0
    a, b = np.sort(a), np.sort(b)
    both = np.concatenate([a, b])
    keys, places = merged_pairs(a, b, 3, kernels.less)
    assert np.array_equal(places, np.argsort(both, kind="stable")) and np.array_equal(
        keys, np.sort(both), equal_nan=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [False, True])
def test_each_barrier_is_needed(pairs: bool) -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 300, n, dtype=np.int32)) for n in (3 * TILE + 5, 2 * TILE))
    wanted = np.sort(np.concatenate([a, b]))
    kernel, template = (
        (kernels.merge_ahead, of_pairs("int32", operators.less))
        if pairs
        else (kernels.merge_keys_ahead, of_keys("int32"))
    )

    def merge(mutant: Any, schedule: Any) -> Any:
        if pairs:
            return merged_pairs(a, b, 2, operators.less, mutant, schedule=schedule)[0]
        return merged(a, b, 2, mutant, schedule=schedule)

    found = list(without_barriers(prism.check(kernel, template)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merge(mutant, schedule), wanted)


@pytest.mark.parametrize("size", [4, 8])
def test_kernels_do_not_spill(size: int) -> None:
    c, template = kernels.key_configuration(size, host=False), {"T": f"uint{8 * size}", "LESS": operators.less}
    cut = {"ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks}
    assert prism.compile(kernels.merge_keys_ahead, {**template, **cut}, arch="sm_90a").spills == 0
    for values in (False, True):
        c = kernels.configurations(size, values=values, host=False).two
        cut = {"ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks, "V": f"uint{8 * size}", "VALUES": values}
        assert prism.compile(kernels.merge_ahead, {**template, **cut}, arch="sm_90a").spills == 0
