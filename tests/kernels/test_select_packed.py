"""Bytes of a tile that are kept, put close together four at a time: whole and partial tiles, results at any alignment.

Tests of kernels/select: packed.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.packed import store_flagged_bytes
from prism.lang import (
    block,
    const,
    constexpr,
    grid,
    group,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    uint8,
    uint32,
)  # fmt: skip
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers

TEMPLATE = {"WORDS": 4, "WIDTH": 8, "THREADS": 64}
TILE = 64 * 16


@prism("global")
@template(WORDS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def keep_odd(x: ptr(const(uint8)) @ grid[1], y: ptr(uint8) @ grid[1], n: int32 @ grid[1], skew: int32 @ grid[1]):
    """The odd bytes of a tile, twice: a second call has the same shared memory."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        items: uint8[WORDS * 4] @ thread[1]
        block.load(x, items, n, 0, WIDTH=WIDTH, VECTORIZED=False)
        at: int32 @ thread[1] = block.place(ITEMS=WORDS * 4, WIDTH=WIDTH)
        words: uint32[WORDS] @ thread[1]
        flags: uint32 @ thread[1] = 0
        before: int32[1] @ thread[32]
        before[0] = 0
        with group(thread[1]):
            for w in range(WORDS):
                words[w] = 0
                for k in range(4):
                    words[w] = words[w] | uint32(items[w * 4 + k]) << (8 * k)
                    flags = flags | uint32(items[w * 4 + k] & 1) << (w * 4 + k)
            flags = flags & bits_within(n - at, ITEMS=WORDS * 4, WIDTH=WIDTH)
        for _ in range(2):
            total: int32 @ block[1] = block.count_flags(flags, before, THREADS=THREADS)
            store_flagged_bytes(out, words, flags, before[0], total, skew, WIDTH=WIDTH, THREADS=THREADS)


def keep(n: int, past: int, mutant=None, *, share: float = 0.5, **how) -> None:
    random = np.random.default_rng(n)
    x = random.integers(0, 128, TILE, dtype=np.uint8) * 2 + (random.random(TILE) < share)
    y = np.full(TILE + 32, 7, np.uint8)
    skew = past % 16 if past >= 0 else -1
    program = mutant or package.check(keep_odd, TEMPLATE)
    run(program, 1, 64, (x, y[max(past, 0) :], n, skew), check=True, **how)
    wanted = x[:n][x[:n] % 2 == 1]
    found = y[max(past, 0) :]
    assert np.array_equal(found[: len(wanted)], wanted), (n, past)
    assert (found[len(wanted) :] == 7).all() and (y[: max(past, 0)] == 7).all()


def test_what_is_kept() -> None:
    for n in (0, 1, 3, 17, 511, 512, 513, TILE - 1, TILE):
        for past in (-1, 0, 1, 5, 15):
            keep(n, past)
    for share in (0, 0.02, 1):
        keep(TILE, 3, share=share)


def test_each_inferred_barrier_is_needed() -> None:
    found = list(without_barriers(package.check(keep_odd, TEMPLATE)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                keep(TILE, 5, mutant, schedule=schedule, seed=seed)
