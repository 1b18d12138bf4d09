"""grid.look_back_together: how often each digit occurs before blocks' first tiles, in every schedule and launch.

Tests of prism/lib/grid: look_back_digits.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, run
from prism.lang import (
    assume,
    block,
    const,
    constexpr,
    count,
    distinct,
    dtype,
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
    shared,
    template,
    thread,
    uint32,
    uint64,
)


@prism.kernel
@template(T=dtype, EACH=constexpr(int), FAN=constexpr(int))
@requires(grid[1], block[1], thread[32])
def starts(
    x: ptr(const(int32)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], words: ptr(mailbox(T)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """`y[tile, d]`: how many elements before the tile are `d`. Two elements a thread."""
    DIGITS: constexpr(int) = 32 * EACH
    tiles: int32 @ grid[1] = (n + 63) // 64
    blocks: int32 @ grid[1] = count(block[1])
    together: int32 @ grid[1] = min(blocks, tiles)
    with partition(y, block[1]) as whole, group(block[1]):
        launch: grid.Ticket @ block[1] = grid.tiles(control)
        tile: int32 @ block[1] = launch.tile
        while tile < tiles:
            items: int32[2] @ thread[1]
            with partition(x, block[1], offset=tile * 64) as source:
                block.load_striped(source, items, n - tile * 64, -1)
            counts: shared(uint32[DIGITS])
            block.fill(counts, 0, DIGITS)
            block.histogram(items, counts, DIGITS)
            t: int32 @ thread[1] = id() % 32
            numbers: uint32[EACH] @ thread[1]
            with group(thread[1]):
                for k in range(EACH):
                    numbers[k] = counts[t + 32 * k]
            grid.publish_more_digits(words, tile, numbers, launch.epoch, THREADS=32)
            before: T[EACH] @ thread[1]
            if tile < together:
                grid.look_back_together(
                    words, int64(tiles) * DIGITS, together, tile, numbers, launch.epoch, before, THREADS=32, FAN=FAN
                )
            else:
                grid.look_back_more_digits(words, tile, numbers, launch.epoch, before, THREADS=32, WORDS=1)
            here: int32 @ block[1] = tile
            assume(distinct(here))
            with partition(whole, thread[1], offset=here * DIGITS + t, races="none") as start, group(thread[1]):
                for k in range(EACH):
                    start[32 * k] = before[k]
            ticket: uint64 @ thread[1] = grid.draw(control)
            tile = grid.next_tile(ticket)
        if tile == tiles + blocks - 1:
            used: int32 @ block[1] = (tiles + together * grid.rows_together(together, FAN=FAN)) * DIGITS
            grid.count_launch(control, words, capacity, used, launch.epoch, 0)


def check(kind: str, each: int, fan: int, launches: list[tuple[int, int]], schedule: str) -> None:
    one = package.check(starts, {"T": kind, "EACH": each, "FAN": fan})
    many, room = each * 32, 90
    mailboxes, control = np.zeros(room * many * (1 if kind == "uint32" else 2), np.uint64), np.zeros(1, np.uint64)
    for seed, (blocks, size) in enumerate(launches):
        x = np.random.default_rng(seed).integers(0, many, size, dtype=np.int32)
        tiles = -(-size // 64)
        y = np.full((tiles, many), 7, kind)
        given = (x, y.reshape(-1), size, mailboxes, room * many, control)
        run(one, blocks, 32, given, check=True, schedule=schedule, seed=seed)
        parts = [np.bincount(x[64 * k : 64 * (k + 1)], minlength=many) for k in range(tiles)]
        assert np.array_equal(y, np.cumsum([np.zeros(many, int), *parts], axis=0)[:-1])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("kind", "each", "fan"), [("uint32", 2, 2), ("uint64", 1, 3), ("uint32", 1, 12)])
def test_sums_before_each_tile(kind: str, each: int, fan: int, schedule: str) -> None:
    """Of one block, of as many as there are tiles, of more, and of fewer; in launches behind each other's words."""
    check(kind, each, fan, [(1, 100), (9, 64 * 9), (14, 300), (5, 1999), (17, 64 * 17 + 3)], schedule)
