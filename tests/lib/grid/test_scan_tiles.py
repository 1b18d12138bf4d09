"""grid.scan_tiles and grid.tile_loop: tiles loaded, scanned over all blocks and stored by functions that the kernel has in it.

Tests of prism/lib/grid/scan_tiles.py; tests/kernels/test_scan.py and others have more, as scans are made of them.
"""

import numpy as np
import pytest

from prism.interpret import SCHEDULES
from prism.lang import (
    block,
    const,
    constexpr,
    count,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    requires,
    struct,
    template,
    thread,
    uint32,
    uint64,
)  # fmt: skip
from prism.lib.thread import operators

THREADS = 32


@struct
class Line:
    """`y = a * x + b`, of numbers that wrap: of lines, one after the other, the order matters."""

    a: uint32
    b: uint32


@prism("device")
@requires(thread[1])
def after(first: Line @ thread[1], second: Line @ thread[1]) -> Line @ thread[1]:
    return Line(second.a * first.a, second.a * first.b + second.b)


@prism("global")
@template(STABLE=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def lines(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1], first: int32 @ grid[1],
    words: ptr(mailbox(Line)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """Tile `t` is the line `3 * x + x[t]`: `y[t]` is what the lines before it make of `first`."""
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], races="none") as out, group(block[1]):
        held: int32 @ block[1] = 0
        ahead: int32 @ block[1] = 0

        @requires(block[1], thread[THREADS])
        def load(tile: int32 @ block[1]) -> Line @ block[1]:
            nonlocal ahead
            ahead = x[tile]
            return Line(3, uint32(ahead))

        @requires(block[1], thread[THREADS])
        def keep():
            nonlocal held
            held = ahead

        @requires(block[1], thread[THREADS])
        def store(tile: int32 @ block[1], prefix: Line @ block[1]):
            t: int32 @ thread[1] = id()
            with partition(out, thread[1], 2 * tile + t, races="none") as mine, group(thread[1]):
                if t < 2:
                    mine[0] = int32(prefix.b) if t == 0 else held

        grid.scan_tiles(
            words, capacity, control, blocks, tiles, Line(1, 0), Line(1, uint32(first)), OP=after, LOAD=load, KEEP=keep,
            STORE=store, THREADS=THREADS, STABLE=STABLE,  # noqa: F821
        )  # fmt: skip


def expected(x: np.ndarray, first: int) -> np.ndarray:
    found, value = [], first
    for each in x.tolist():
        found += [value, each]
        value = (3 * value + each + 2**31) % 2**32 - 2**31
    return np.array(found, np.int32)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_launches_follow_each_other(schedule: str, stable: bool) -> None:
    """Of any number of blocks and of tiles, none too; each finds words and the counter as the one before did."""
    words, control = np.zeros(2 * 80, np.uint64), np.zeros(1, np.uint64)  # 16 bytes a word
    random = np.random.default_rng(0)
    for launch, (tiles, blocks) in enumerate([(7, 3), (70, 2), (1, 4), (0, 2), (5, 1)], start=1):
        x, y = random.integers(-9, 9, tiles).astype(np.int32), np.zeros(2 * tiles, np.int32)
        lines[blocks, THREADS](
            x,
            y,
            tiles,
            launch,
            words,
            80,
            control,
            template={"STABLE": stable},
            check=True,
            schedule=schedule,
            seed=launch,
        )
        assert np.array_equal(y, expected(x, launch)) and control[0] == launch << 32


@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def two_results(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], tiles: int32 @ grid[1], sums: ptr(mailbox(int32)) @ grid[1],
    tops: ptr(mailbox(int32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """`y[t]` is the sum of `x[: t + 1]` and its maximum, each of words of its own."""
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], races="none") as out, group(block[1]):
        sum: int32 @ block[1] = 0
        top: int32 @ block[1] = -100
        done: int32 @ block[1] = 0
        held: int32 @ block[1] = 0
        ahead: int32 @ block[1] = 0

        @requires(block[1], thread[THREADS])
        def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
            nonlocal ahead
            ahead = x[tile]
            grid.publish(sums, tile, ahead, epoch)
            grid.publish(tops, tile, ahead, epoch)

        @requires(block[1], thread[THREADS])
        def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
            nonlocal sum, top, done
            sum += grid.look_back(sums, done, tile, 0, epoch, OP=operators.add, THREADS=THREADS, WORDS=1)
            more: int32 @ block[1] = grid.look_back(
                tops, done, tile, -100, epoch, OP=operators.maximum, THREADS=THREADS, WORDS=1
            )
            top = max(top, more)
            done = max(tile, 0)

        @requires(block[1], thread[THREADS])
        def store(tile: int32 @ block[1]):
            t: int32 @ thread[1] = id()
            with partition(out, thread[1], 2 * tile + t, races="none") as mine, group(thread[1]):
                if t < 2:
                    mine[0] = sum + held if t == 0 else max(top, held)

        @requires(block[1], thread[THREADS])
        def keep():
            nonlocal held
            held = ahead

        last: grid.Ticket @ block[1] = grid.tile_loop(
            control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS,
        )  # fmt: skip
        if last.tile == tiles + blocks - 1:
            grid.count_launch(control, sums, capacity, tiles, last.epoch, 0)
            grid.count_launch(control, tops, capacity, tiles, last.epoch, 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loop_with_several_results(schedule: str) -> None:
    """Each look-back is the kernel's own, and the block of the last ticket of all counts the launch."""
    sums, tops, control = np.zeros(80, np.uint64), np.zeros(80, np.uint64), np.zeros(1, np.uint64)
    random = np.random.default_rng(1)
    for launch, (tiles, blocks) in enumerate([(9, 4), (40, 3), (0, 2), (1, 3)], start=1):
        x, y = random.integers(-9, 9, tiles).astype(np.int32), np.zeros((tiles, 2), np.int32)
        two_results[blocks, THREADS](
            x, y.ravel(), tiles, sums, tops, 80, control, check=True, schedule=schedule, seed=launch
        )
        assert np.array_equal(y[:, 0], np.cumsum(x)) and np.array_equal(y[:, 1], np.maximum.accumulate(x))
        assert control[0] == launch << 32
