"""Merges by blocks that stay, on the reference machine with all its checks; each barrier is needed.

Tests of kernels/merge: streams.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels import merge as kernels
from prism.lib.thread import operators
from tests.mutation import without_barriers

THREADS, ITEMS = 64, 8
TILE = THREADS * ITEMS


def template(dtype: Any, less: Any = operators.less) -> dict[str, Any]:
    return {"T": dtype, "LESS": less, "ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1}


def merged(a: Any, b: Any, tiles: int, less: Any = operators.less, program: Any = None, **options: Any) -> Any:
    """Merge two arrays, in stretches of so many tiles."""
    n, share = a.size + b.size, tiles * TILE
    y = np.zeros(n, a.dtype)
    given = (a, b, y, n, a.size, share, a.dtype.type(0))
    program = program or prism.check(kernels.merge_streams, template(a.dtype, less))
    run(program, -(-n // share), THREADS, given, **{"check": True, **options})
    return y


def both(a: Any, b: Any) -> Any:
    return np.sort(np.concatenate([a, b]))


@pytest.mark.parametrize("tiles", [1, 2, 5])
@pytest.mark.parametrize(
    "sizes", [(1, 0), (0, 1), (TILE, TILE), (TILE - 1, 1), (TILE, 1), (1029, 7), (7, 1029), (2300, 2700)], ids=str
)
def test_two_arrays(sizes: tuple[int, int], tiles: int) -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(-300, 300, n, dtype=np.int64)) for n in sizes)
    assert np.array_equal(merged(a, b, tiles), both(a, b))
    high = np.full(sizes[0] + 3, np.iinfo(np.int64).max)  # nothing stands behind what fills a window up
    assert np.array_equal(merged(high, b, tiles), both(high, b))


@pytest.mark.parametrize("form", ["alike", "before", "behind", "in lumps", "equal", "in turn"])
def test_cuts_are_found_wherever_they_are(form: str) -> None:
    """Near where even data have them, and far from there; a window is empty for a while, or taken from alone."""
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 1 << 20, n, dtype=np.uint32)) for n in (9000, 7000))
    if form == "before":
        b = b + np.uint32(1 << 21)
    elif form == "behind":
        a = a + np.uint32(1 << 21)
    elif form == "in lumps":
        a, b = a // 7000 * 7000, np.sort(b % 3000 + b // 200_000 * 200_000)
    elif form == "equal":
        a, b = 0 * a, 0 * b
    elif form == "in turn":
        a, b = (np.arange(9000, dtype=np.uint32) * 2 + k for k in range(2))
    assert np.array_equal(merged(a, b, 4), both(a, b))


def test_descending() -> None:
    a, b = (np.sort(np.random.default_rng(k).integers(0, 999, 1500, dtype=np.int32))[::-1].copy() for k in range(2))
    assert np.array_equal(merged(a, b, 3, kernels.greater), both(a, b)[::-1])


def test_what_is_not_sorted_touches_nothing_else() -> None:
    """Each place is written, from elements that are there: the machine refuses all else."""
    a, b = (np.random.default_rng(k).integers(1, 999, 1700, dtype=np.int32) for k in range(2))
    assert np.isin(merged(a, b, 2), np.concatenate([a, b])).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule(schedule: str) -> None:
    a, b = (np.sort(np.random.default_rng(k).integers(0, 300, 1400, dtype=np.int32)) for k in range(2))
    assert np.array_equal(merged(a, b, 3, schedule=schedule), both(a, b))


def test_each_inferred_barrier_is_needed() -> None:
    a, b = (np.sort(np.random.default_rng(k).integers(0, 3000, 900, dtype=np.int32)) for k in range(2))
    found = list(without_barriers(prism.check(kernels.merge_streams, template("int32"))))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merged(a, b, 4, program=mutant, schedule=schedule), both(a, b))


@pytest.mark.parametrize("size", [4, 8])
def test_it_does_not_spill(size: int) -> None:
    c = kernels.stream_configuration(size, host=False)
    shape = {"ITEMS": c.items, "THREADS": c.threads, "BLOCKS": c.blocks}
    made = prism.compile(kernels.merge_streams, {**template(f"uint{8 * size}"), **shape}, arch="sm_90a")
    assert made.spills == 0
