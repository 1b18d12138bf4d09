"""block.reduce_all, block.reduce_cluster and warp.reduce_near: all get what all have come to.

Tests of prism/lib/block: reduce; prism/lib/warp: reduce.
"""

# ruff: noqa: F821 - kernels declare registers without a value

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    block,
    const,
    constexpr,
    grid,
    group,
    id,
    int16,
    int32,
    partition,
    ptr,
    requires,
    template,
    thread,
    warp,
)
from prism.lang import prism as mark
from prism.lib.thread import operators
from tests.mutation import without_barriers


@mark("global")
@requires(grid[1], thread[32])
def near(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], lanes: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    value: int32 @ thread[1] = warp.reduce_near(x[i], lanes, OP=operators.add)
    with partition(y, thread[1], offset=i) as own, group(thread[1]):
        own[0] = value


@mark("global")
@template(BLOCKS=constexpr(int))
@requires(grid[1], block[BLOCKS], thread[32])
def twice(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    """The sum and the largest of each cluster: two reductions, one after the other."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as sums, partition(z, thread[1], offset=i) as most, group(block[BLOCKS]):
        value: int32 @ thread[1] = x[i]
        total: int32 @ thread[1] = 0
        largest: int32 @ thread[1] = 0
        if BLOCKS == 1:
            total = block.reduce_all(value, 0, OP=operators.add)
            largest = block.reduce_all(value, -(2**31), OP=operators.maximum)
        else:
            total = block.reduce_cluster(value, 0, OP=operators.add, BLOCKS=BLOCKS)
            largest = block.reduce_cluster(value, -(2**31), OP=operators.maximum, BLOCKS=BLOCKS)
        with group(thread[1]):
            sums[0] = total
            most[0] = largest


def numbers(size: int) -> np.ndarray:
    return np.random.default_rng(size).integers(-(2**20), 2**20, size, dtype=np.int32)


@pytest.mark.parametrize("lanes", range(6))
def test_lanes_that_follow_one_another(lanes: int) -> None:
    x, y = numbers(64), np.zeros(64, np.int32)
    near[2, 32](x, y, lanes, check=True)
    assert np.array_equal(y.reshape(-1, 1 << lanes)[:, 0], x.reshape(-1, 1 << lanes).sum(axis=1))
    assert np.array_equal(y, np.repeat(y[:: 1 << lanes], 1 << lanes))


@pytest.mark.parametrize(
    ("blocks", "threads"), [(1, 32), (1, 96), (1, 1024), (2, 32), (2, 160), (4, 64), (8, 32), (8, 64)]
)
def test_all_threads_get_it(blocks: int, threads: int) -> None:
    x = numbers(2 * blocks * threads)
    for schedule in SCHEDULES[:2] if threads == 1024 else SCHEDULES:
        y, z = np.zeros_like(x), np.zeros_like(x)
        program = prism.check(twice, {"BLOCKS": blocks})
        run(program, 2 * blocks, threads, (x, y, z), check=True, schedule=schedule, seed=3)
        each = x.reshape(2, -1)
        assert np.array_equal(y.reshape(2, -1), np.broadcast_to(each.sum(axis=1, keepdims=True), each.shape))
        assert np.array_equal(z.reshape(2, -1), np.broadcast_to(each.max(axis=1, keepdims=True), each.shape))


def test_no_barrier_can_be_left_out() -> None:
    x = numbers(2 * 64)
    mutants = list(without_barriers(prism.check(twice, {"BLOCKS": 1})))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises(MachineError):
            for schedule in SCHEDULES:
                arrays = (x, np.zeros_like(x), np.zeros_like(x))
                run(mutant, 2, 64, arrays, check=True, schedule=schedule, seed=1)


def test_blocks_of_a_cluster_begin_together_and_never_meet() -> None:
    """They gather: that of 4 bytes or more, for which the blocks have begun, and after which they end as they like."""
    program = prism.check(twice, {"BLOCKS": 2})
    assert not any(plan.barriers for plan in program.plans.values())
    text = prism.compile(twice, {"BLOCKS": 2}, "sm_90").cuda
    kernel = text[text.index("__global__") :]
    assert (
        kernel.count("px_cluster_arrive();") == 1 and "px_cluster_barrier" not in text and "px_cluster_meet" not in text
    )
    assert "cluster" not in prism.compile(twice, {"BLOCKS": 1}, "sm_90").cuda


@mark("global")
@template(BLOCKS=constexpr(int))
@requires(grid[1], block[BLOCKS], thread[32])
def shorts(x: ptr(const(int16)) @ grid[1], y: ptr(int16) @ grid[1]):
    """The sum of a cluster's values of 2 bytes, which do not go by gathers."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as own, group(block[BLOCKS]):
        total: int16 @ thread[1] = block.reduce_cluster(x[i], 0, OP=operators.add, BLOCKS=BLOCKS)
        with group(thread[1]):
            own[0] = total


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_values_of_two_bytes_meet(schedule: str) -> None:
    """They meet after all that they write into each other's memory, in the function: no other barrier is at the end."""
    x = np.arange(2 * 2 * 96, dtype=np.int16)
    y = np.zeros_like(x)
    run(prism.check(shorts, {"BLOCKS": 2}), 4, 96, (x, y), check=True, schedule=schedule, seed=2)
    assert np.array_equal(y.reshape(2, -1)[:, 0], x.reshape(2, -1).sum(axis=1, dtype=np.int16))
    text = prism.compile(shorts, {"BLOCKS": 2}, "sm_90").cuda
    kernel = text[text.index("__global__") :]
    first, last = "the blocks of the cluster have begun", "no block reaches into this one any more"
    assert (kernel.count(first), kernel.count(last)) == (1, 0) and "px_cluster_meet();" in text


@mark("global")
@template(BLOCKS=constexpr(int))
@requires(grid[1], block[BLOCKS], thread[32])
def gathered(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """What lane `l` of each warp gets of all warps: the sum of every 32nd, and of those that are not there."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as own, group(block[BLOCKS]):
        found: int32[BLOCKS] @ thread[1]
        value: int32 @ thread[1] = x[i // 32 * 32]
        block.gather_warps(value, 1000, found, BLOCKS=BLOCKS)
        with group(thread[1]):
            total: int32 = 0
            for k in range(BLOCKS):
                total += found[k]
            own[0] = total


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (1, 128), (2, 64), (4, 512)])
def test_what_all_warps_have_goes_to_the_lanes_of_each(blocks: int, threads: int) -> None:
    x = numbers(blocks * threads)
    warps = np.full(32 * blocks, 1000)
    warps[: blocks * threads // 32] = x[::32]
    for schedule in SCHEDULES[:3]:
        y = np.zeros_like(x)
        run(prism.check(gathered, {"BLOCKS": blocks}), blocks, threads, (x, y), check=True, schedule=schedule, seed=2)
        assert np.array_equal(y.reshape(-1, 32), np.tile(warps.reshape(blocks, 32).sum(axis=0), (len(y) // 32, 1)))


@mark("global")
@template(BLOCKS=constexpr(int))
@requires(grid[1], block[BLOCKS], thread[32])
def gathered_twos(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """The same of two values at once, the second one weighed."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as own, group(block[BLOCKS]):
        values: int32[2] @ thread[1]
        found: int32[2, BLOCKS] @ thread[1]
        with group(thread[1]):
            values[0] = x[i // 32 * 32]
            values[1] = x[i // 32 * 32 + 1]
        block.gather_values(values, 1000, found, BLOCKS=BLOCKS)
        with group(thread[1]):
            total: int32 = 0
            for k in range(BLOCKS):
                total += found[0, k] + 7 * found[1, k]
            own[0] = total


@pytest.mark.parametrize(("blocks", "threads"), [(1, 96), (2, 64), (4, 512)])
def test_several_values_go_at_once(blocks: int, threads: int) -> None:
    x = numbers(blocks * threads)
    one, two = np.full((2, 32 * blocks), 1000)
    one[: blocks * threads // 32], two[: blocks * threads // 32] = x[::32], x[1::32]
    wanted = (one + 7 * two).reshape(blocks, 32).sum(axis=0)
    for schedule in SCHEDULES[:3]:
        y = np.zeros_like(x)
        run(
            prism.check(gathered_twos, {"BLOCKS": blocks}),
            blocks,
            threads,
            (x, y),
            check=True,
            schedule=schedule,
            seed=2,
        )
        assert np.array_equal(y.reshape(-1, 32), np.tile(wanted, (len(y) // 32, 1)))
