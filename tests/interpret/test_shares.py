"""`races="allow"` on the reference machine: units may store one value to one element; all else is a race as anywhere."""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import MachineError, RaceError, run
from prism.lang import (
    block,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    store_vector,
    thread,
    vector,
    warp,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[32])
def pairs(y: ptr(int32) @ grid[1], more: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i // 2, races="allow") as m, group(thread[1]):
        m[0] = 7 + more * i


@prism("global")
@requires(grid[1], block[1], thread[32])
def pairs_of_zeros(y: ptr(float32) @ grid[1], sign: float32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i // 2, races="allow") as m, group(thread[1]):
        m[0] = 0.0 if i % 2 == 0 else sign * 0.0


@prism("global")
@requires(grid[1], block[1], thread[32])
def one_for_all(y: ptr(int32) @ grid[1], later: int32 @ grid[1]):
    """All threads of all blocks, one after the other under most schedules."""
    with partition(y, thread[1], races="allow") as m, group(thread[1]):
        i: int32 @ thread[1] = 5
        m[0] = i
        m[1 + later] = i


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_block(y: ptr(int32) @ grid[1], together: int32 @ grid[1]):
    """The blocks' parts overlap, and may; those of a block's threads may not."""
    with partition(y, block[1], races="allow") as part, group(block[1]):
        t: int32 @ thread[1] = id()
        with partition(part, thread[1], t // together) as m, group(thread[1]):
            m[0] = 7


@prism("global")
@requires(grid[1], block[1], thread[64])
def by_warp(y: ptr(int32) @ grid[1], together: int32 @ grid[1]):
    """The warps' parts overlap, and may: not one warp's own threads' accesses."""
    i: int32 @ thread[1] = id()
    with partition(y, warp[1], races="allow") as part, group(warp[1]):
        t: int32 @ thread[1] = id()
        with partition(part, thread[1], t // together) as m, group(thread[1]):
            m[0] = 7


@prism("device")
@requires(thread[1])
def put(p: ptr(int32) @ thread[1], value: int32 @ thread[1]):
    p[0] = value


@prism("global")
@requires(grid[1], block[1], thread[32])
def called(y: ptr(int32) @ grid[1], more: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i // 2, races="allow") as m, group(thread[1]):
        put(m, 7 + more * i)


@prism("global")
@requires(grid[1], block[1], thread[32])
def vectors(y: ptr(int32) @ grid[1], more: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 2 * (i // 2), races="allow") as m, group(thread[1]):
        v: vector(int32, 2)
        v[0] = 1
        v[1] = more * i
        store_vector(m[0], v)


@prism("global")
@requires(grid[1], block[1], thread[32])
def in_shared_memory(y: ptr(int32) @ grid[1], more: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        s: shared(int32[1])
        with partition(s, thread[1], races="allow") as m, group(thread[1]):
            m[0] = 3 + more * i
        with group(thread[1]):
            mine[0] = s[0]


KERNELS = {
    pairs: 0, called: 0, vectors: 0, in_shared_memory: 0, one_for_all: 0, by_block: 1, by_warp: 1, pairs_of_zeros: 1,
}  # fmt: skip
RACES = {pairs: 1, called: 1, vectors: 1, in_shared_memory: 1, by_block: 2, by_warp: 2, pairs_of_zeros: -1}
SCHEDULES = ("round-robin", "reversed", "random", "ahead")


def launched(kernel: Any, given: int, schedule: str) -> Any:
    y = np.full(128, -1, np.float32 if kernel is pairs_of_zeros else np.int32)
    kernel[2, 64 if kernel is by_warp else 32](y, given, check=True, schedule=schedule, seed=1)
    return y


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_one_value_is_no_race(kernel: Any, schedule: str) -> None:
    y = launched(kernel, KERNELS[kernel], schedule)
    assert y[0] in (7, 1, 3, 5, 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", RACES, ids=lambda kernel: kernel.__name__)
def test_two_values_or_one_units_own_threads_race(kernel: Any, schedule: str) -> None:
    with pytest.raises(RaceError, match="here the values differ, or both stores are of one unit's threads"):
        launched(kernel, RACES[kernel], schedule)


@prism("global")
@requires(grid[1], block[1], thread[32])
def read_beside(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], races="allow") as m, partition(z, thread[1], i) as out, group(thread[1]):
        m[0] = 7
        out[0] = m[0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def without_it(y: ptr(int32) @ grid[1], place: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * place) as m, group(thread[1]):
        m[0] = 7


def test_reads_beside_stores_race_and_so_do_stores_that_nothing_allows() -> None:
    with pytest.raises(RaceError):
        read_beside[1, 32](np.zeros(4, np.int32), np.zeros(32, np.int32), check=True)
    with pytest.raises(RaceError):
        without_it[1, 32](np.zeros(4, np.int32), 0, check=True)
    without_it[1, 32](np.zeros(32, np.int32), 1, check=True)


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def overwritten(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    """All store 7, meet, one stores 8; all meet, and read."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], races="allow") as m, group(thread[1]):
        m[0] = 7
    with partition(y, thread[1], i) as m, group(thread[1]):
        m[0] += 1
    with partition(z, thread[1], i) as out, group(thread[1]):
        out[0] = y[0]


def test_every_store_of_the_value_is_before_what_comes_after() -> None:
    program = prism.check(overwritten)
    plan = program.plans[program.entry]
    assert [b.kind for b in plan.barriers] == ["grid", "grid"]
    y, z = np.zeros(64, np.int32), np.zeros(64, np.int32)
    run(program, 2, 32, (y, z), check=True)
    assert (z == 8).all()
    for barrier in plan.barriers:
        for schedule in SCHEDULES:
            with pytest.raises(MachineError):
                run(program.with_plan(plan.drop_step(barrier)), 2, 32, (y, z), check=True, schedule=schedule)
