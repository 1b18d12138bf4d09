"""Long merges of integers, whose later tiles are cut while the first ones are merged, on the reference machine.

Tests of kernels/merge/ahead.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels import merge as kernels
from prism.lib.thread import operators
from tests.mutation import without_barriers

THREADS, ITEMS = 32, 8
TILE = THREADS * ITEMS


def merged(a: Any, b: Any, early: int, program: Any = None, less: Any = operators.less, **options: Any) -> Any:
    """Merge by both kernels, whose words hold anything before."""
    n = a.size + b.size
    tiles = -(-n // TILE)
    some, early, options = -(-tiles // kernels.SPAN), min(early, tiles), {"check": True, **options}
    known, words, y = np.zeros(some, np.int64), np.full(2 * tiles, 1 << 32 | 1, np.uint64), np.zeros(n, a.dtype)
    template = {"T": a.dtype, "LESS": less, "TILE": TILE, "LANES": 8, "THREADS": 32}
    given = (a, b, known, words, n, a.size, tiles, early, some)
    kernels.cut_first[-(-(early + some) // 4), 32](*given, template=template, **options)
    template = {"T": a.dtype, "LESS": less, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1}
    cutters = -(-(tiles - early) // THREADS)
    given = (a, b, y, known, words, n, a.size, tiles, early, cutters, a.dtype.type(0))
    run(program or prism.check(kernels.merge_keys_ahead, template), cutters + tiles, THREADS, given, **options)
    return y


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


@pytest.mark.slow
def test_each_barrier_is_needed() -> None:
    template = {"T": "int32", "LESS": operators.less, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1}
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 1 << 31, 2 * TILE).astype(np.int32)) for _ in range(2))
    for mutant in without_barriers(prism.check(kernels.merge_keys_ahead, template)):
        with pytest.raises(RaceError):
            merged(a, b, 2, mutant)
