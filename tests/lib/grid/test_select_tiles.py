"""grid.select_tiles: what is kept of tiles, close together, by functions that the kernel has in it.

Tests of prism/lib/grid/scan_tiles.py; tests/kernels/test_select.py has more, as all selections are made of it.
"""

import numpy as np
import pytest

from prism.interpret import SCHEDULES
from prism.lang import (
    block,
    const,
    count,
    grid,
    group,
    id,
    int32,
    int64,
    mailbox,
    partition,
    prism,
    ptr,
    requires,
    thread,
    uint32,
    uint64,
)  # fmt: skip

THREADS = 64


@prism("device")
@requires(thread[1])
def doubled(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return x + x


@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def odd_ones(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], kept: ptr(int64) @ grid[1], tiles: int32 @ grid[1],
    words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """An element a thread: `y` becomes twice the odd ones of `x`, `kept[0]` their number."""
    blocks: int32 @ grid[1] = count(block[1])
    with (
        partition(y, block[1], races="none") as out,
        partition(kept, block[1], 0, races="none") as number,
        group(block[1]),
    ):
        held: int32[1] @ thread[1] = {0}
        ahead: int32[1] @ thread[1] = {0}

        @requires(block[1], thread[THREADS])
        def load(tile: int32 @ block[1]) -> int32 @ thread[1]:
            t: int32 @ thread[1] = id()
            ahead[0] = x[tile * THREADS + t]
            return ahead[0] & 1

        @requires(block[1], thread[THREADS])
        def keep():
            held[0] = ahead[0]

        @requires(block[1], thread[THREADS])
        def store(tile: int32 @ block[1], prefix: int64 @ block[1], before: int32 @ thread[32], many: int32 @ block[1]):
            block.fill(number, prefix + many, 1 if tile == tiles - 1 else 0)
            with partition(out, block[1], prefix, races="none") as target:
                block.store_flagged(
                    target, held, uint32(held[0] & 1), before, many, int32(prefix % 4), AS=doubled, WIDTH=1, THREADS=THREADS,
                    VECTOR=4,
                )  # fmt: skip

        grid.select_tiles(words, capacity, control, blocks, tiles, LOAD=load, STORE=store, KEEP=keep, THREADS=THREADS)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_launches_follow_each_other(schedule: str) -> None:
    """Of any number of blocks and of tiles; each finds words and the counter as the one before did."""
    words, control = np.zeros(80, np.uint64), np.zeros(1, np.uint64)
    random = np.random.default_rng(0)
    for launch, (tiles, blocks) in enumerate([(7, 3), (70, 2), (1, 4), (5, 1)], start=1):
        x = random.integers(-9, 9, tiles * THREADS).astype(np.int32)
        y, kept = np.zeros_like(x), np.full(1, -1)
        odd_ones[blocks, THREADS](x, y, kept, tiles, words, 80, control, check=True, schedule=schedule, seed=launch)
        wanted = 2 * x[x % 2 != 0]
        assert kept[0] == wanted.size and np.array_equal(y[: wanted.size], wanted) and not y[wanted.size :].any()
        assert control[0] == launch << 32


def test_all_are_kept_and_none() -> None:
    words, control = np.zeros(8, np.uint64), np.zeros(1, np.uint64)
    for value in (1, 0):
        x, y, kept = np.full(4 * THREADS, value, np.int32), np.zeros(4 * THREADS, np.int32), np.full(1, -1)
        odd_ones[2, THREADS](x, y, kept, 4, words, 8, control, check=True)
        assert kept[0] == value * x.size and np.array_equal(y, 2 * x)
