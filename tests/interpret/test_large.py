"""Checked launches of many threads: all blocks are checked, their results are complete, and what has ended takes no room.

Tests of prism/interpret/machine.py.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import gc
import importlib

import numpy as np
import pytest

from prism.interpret import SCHEDULES, DeadlockError, RaceError, UninitialisedError
from prism.interpret import machine as machines
from prism.interpret.clocks import LIMIT, Clocks
from prism.interpret.homes import Home
from prism.lang import (
    atomic_add,
    block,
    bulk_load,
    claim,
    const,
    count,
    grid,
    group,
    id,
    int32,
    load_acquire,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    store_release,
    thread,
    warp,
)

BLOCKS = 300  # of 256 threads: 76,800


@prism("global")
@requires(grid[1], block[1], thread[256])
def turn(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], far: int32 @ grid[1]):
    """Turn each block's elements; the last block writes one of its neighbour's, where `far` is 1."""
    g: int32 @ block[1] = 256 * id()
    with partition(y, block[1], g, races="allow") as part, group(block[1]):
        s: shared(int32[256])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[g + t]
        with partition(part, thread[1], t - far, races="allow") as mine, group(thread[1]):
            mine[0 if g == 256 * 299 else far] = s[255 - t]


@pytest.mark.parametrize("schedule", ["round-robin", "reversed"])
def test_all_blocks_of_a_large_launch_are_run_and_checked(schedule: str) -> None:
    x, y = np.arange(256 * BLOCKS, dtype=np.int32), np.zeros(256 * BLOCKS, np.int32)
    turn[BLOCKS, 256](x, y, 0, check=True, schedule=schedule)
    assert np.array_equal(y, x.reshape(-1, 256)[:, ::-1].ravel())
    with pytest.raises(RaceError) as caught:  # one element of 76,800, of two blocks
        turn[BLOCKS, 256](x, y, 1, check=True, schedule=schedule)
    assert "block 298" in str(caught.value) and "block 299" in str(caught.value)


@prism("global")
@requires(grid[1], block[1], thread[256])
def reads_on(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """The last block reads an element of shared memory that nobody wrote."""
    b: int32 @ block[1] = id()
    with partition(y, block[1], 256 * b) as part, group(block[1]):
        s: shared(int32[257])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with partition(part, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[t + 1] if b == 299 else s[t]


def test_a_fault_of_the_last_block_is_found() -> None:
    with pytest.raises(UninitialisedError) as caught:
        reads_on[BLOCKS, 256](np.zeros(1, np.int32), np.zeros(256 * BLOCKS, np.int32), check=True)
    assert caught.value.block == 299 and caught.value.thread == 255


@prism("global")
@requires(grid[1], block[1], thread[256])
def last_adds(
    x: ptr(const(int32)) @ grid[1], sums: ptr(int32) @ grid[1], tickets: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]
):
    """Each block leaves a sum; the last one to take a ticket adds them all: its atomic acquires what theirs released."""
    b: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(sums, block[1], races="allow") as s, partition(y, block[1], races="allow") as out, group(block[1]):
        last: shared(int32[1])
        with claim(last, thread[1]) as flag, claim(s, thread[1]) as mine, claim(out, thread[1]) as result, one(thread):
            total: int32 = 0
            for k in range(4):
                total += x[4 * b + k]
            mine[b] = total
            flag[0] = 1 if atomic_add(tickets[0], 1, order="acq_rel") == blocks - 1 else 0
            if flag[0] == 1:
                all: int32 = 0
                for k in range(blocks):
                    all += mine[k]
                result[0] = all


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
def test_words_order_across_many_blocks(schedule: str) -> None:
    x, y = np.arange(4 * BLOCKS, dtype=np.int32), np.zeros(1, np.int32)
    last_adds[BLOCKS, 256](x, np.zeros(BLOCKS, np.int32), np.zeros(1, np.int32), y, check=True, schedule=schedule)
    assert y[0] == x.sum()


@prism("global")
@requires(grid[1], block[1], thread[256], cooperative=True)
def neighbours(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Twice: each thread takes its right neighbour's number, of the grid's memory."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(thread[1]):
        mine[0] = i
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = x[(i + 1) % n]
    with partition(x, thread[1], i) as mine, group(thread[1]):
        mine[0] = y[(i + 1) % n]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_cooperative_launch_of_many_blocks(schedule: str) -> None:
    n = 66 * 256 + 256  # all at once, and more than run at once of another
    assert n > machines.RESIDENT
    x, y = np.zeros(n, np.int32), np.zeros(n, np.int32)
    neighbours[n // 256, 256](x, y, n, check=True, schedule=schedule)
    assert np.array_equal(x, (np.arange(n) + 2) % n)


@prism("global")
@requires(grid[1], block[1], warp[2])
def piped(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], rounds: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], 32 * b) as part, group(block[1]):
        row: shared(int32[32], ring=2)
        adders, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        for k in range(rounds):
            with claim(row, loader) as coming, one(thread):
                bulk_load(coming, x[32 * k])
            with claim(row, adders) as here, group(thread[1]):
                total += here[t]
        with partition(part, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = total


def test_no_more_run_at_once_than_a_gpu_would_have(alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads apart, and copies under way, in more blocks than run at once; homes of ended ones are gone."""
    alive: list[int] = []
    make = machines.Clocks.leave_home

    def leave(self: Clocks, block: int) -> None:
        alive.append(len(self._homes))
        make(self, block)

    monkeypatch.setattr(machines, "RESIDENT", 512)
    monkeypatch.setattr(machines.Clocks, "leave_home", leave)
    x, y = np.arange(3 * 32, dtype=np.int32), np.zeros(40 * 32, np.int32)
    piped[40, 64](x, y, 3, check=True)
    assert np.array_equal(y, np.tile(x.reshape(3, 32).sum(axis=0), 40))
    assert len(alive) == 40 and max(alive) <= 8 and alive[-1] == 1
    gc.collect()
    assert not [found for found in gc.get_objects() if type(found) is Home], "nothing is kept of a launch"


@prism("global")
@requires(grid[1], thread[1])
def backwards(flags: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1], blocks: int32 @ grid[1]):
    """Each waits for the next one: only where all run at once does it end."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        if i + 1 < blocks:
            while load_acquire(flags[i + 1]) == 0:
                pass
        mine[0] = i
        store_release(flags[i], 1)


def test_a_launch_that_needs_all_its_blocks_at_once_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    backwards[8, 1](np.zeros(8, np.int32), np.zeros(8, np.int32), 8, check=True)
    monkeypatch.setattr(machines, "RESIDENT", 4)
    monkeypatch.setattr(importlib.import_module("prism.interpret.schedules"), "PATIENCE", 50)
    with pytest.raises(DeadlockError, match="have not begun: only 4 run at once"):
        backwards[8, 1](np.zeros(8, np.int32), np.zeros(8, np.int32), 8, check=True)


def test_numbers_of_threads_end_somewhere() -> None:
    with pytest.raises(ValueError, match="launches of at most 1073741824 threads"):
        Clocks(LIMIT // 256 + 1, 256)
