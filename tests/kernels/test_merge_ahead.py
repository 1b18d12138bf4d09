"""Long merges of integers, whose later tiles are cut while the first ones are merged, on the reference machine.

Tests of kernels/merge: ahead, rows, runs, spots.
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
MORE = 96  # threads of a block that merges pairs: fewer don't read lines
TILE = THREADS * ITEMS


def cut(a: Any, b: Any, early: int, tile: int, threads: int, less: Any, options: Any) -> tuple[Any, ...]:
    """Cut the first tiles; return what both kernels take of cuts. Words hold anything before."""
    n = a.size + b.size
    tiles = -(-n // tile)
    some, early = -(-tiles // kernels.SPAN), min(early, tiles)
    known, words = np.zeros(some, np.int64), np.full(2 * tiles, 1 << 32 | 1, np.uint64)
    template = {"T": a.dtype, "LESS": less, "TILE": tile, "LANES": 8, "THREADS": 32}
    given = (a, b, known, words, n, a.size, tiles, early, some)
    kernels.cut_first[-(-(early + some) // 4), 32](*given, template=template, **options)
    return known, words, n, a.size, tiles, early, -(-(tiles - early) // threads)


def merged(a: Any, b: Any, early: int, program: Any = None, **options: Any) -> Any:
    """Merge keys."""
    y, options = np.zeros(a.size + b.size, a.dtype), {"check": True, **options}
    cuts = cut(a, b, early, TILE, THREADS, operators.less, options)
    given = (a, b, y, *cuts, a.dtype.type(0))
    run(
        program or prism.check(kernels.merge_keys_ahead, of_keys(a.dtype)),
        cuts[-1] + cuts[4],
        THREADS,
        given,
        **options,
    )
    return y


def of_keys(kind: Any) -> dict[str, Any]:
    return {"T": kind, "LESS": operators.less, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1}


def of_pairs(kind: Any, less: Any) -> dict[str, Any]:
    return {**of_keys(kind), "LESS": less, "V": "int16", "VALUES": True, "ITEMS": 3, "THREADS": MORE}


def merged_pairs(a: Any, b: Any, early: int, less: Any, program: Any = None, **options: Any) -> tuple[Any, Any]:
    """Merge keys, and their places beside them."""
    n, options = a.size + b.size, {"check": True, **options}
    places, y, z = np.arange(n, dtype=np.int16), np.zeros(n, a.dtype), np.zeros(n, np.int16)
    cuts = cut(a, b, early, 3 * MORE, MORE, less, options)
    given = (a, b, y, places[: a.size].copy(), places[a.size :].copy(), z, *cuts, a.dtype.type(0), np.int16(0))
    run(
        program or prism.check(kernels.merge_ahead, of_pairs(a.dtype, less)),
        cuts[-1] + cuts[4],
        MORE,
        given,
        **options,
    )
    return y, z


CASES = [
    (1, 0, 1),
    (0, 5, 3),
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
