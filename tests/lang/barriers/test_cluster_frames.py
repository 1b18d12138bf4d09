"""Bytes of a cluster's objects that a function leaves are used again behind a barrier of the cluster.

Tests of prism/lang/barriers: objects.
"""

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.lang import block, grid, group, id, int32, partition, ptr, requires, shared, thread
from prism.lang import prism as mark
from tests.lib.oracles import SCHEDULES


@mark("device")
@requires(block[2], thread[64])
def other(x: int32 @ thread[1]) -> int32 @ thread[1]:
    """What the same thread of the other block has."""
    box: shared(int32[2, 64])
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % 64
    with partition(box, block[1], lambda i: (b, i)) as mine, group(block[1]):  # noqa: F821
        with partition(mine, thread[1], offset=t) as own, group(thread[1]):
            own[0] = x
    found: int32 @ thread[1] = 0
    with group(thread[1]):
        found = box[1 - b, t]  # noqa: F821
    return found


@mark("device")
@requires(block[1], thread[64])
def reversed_block(x: int32 @ thread[1]) -> int32 @ thread[1]:
    """What the thread has that is as far from the end."""
    desk: shared(int32[5000])
    t: int32 @ thread[1] = id()
    with partition(desk, thread[1], offset=t) as own, group(thread[1]):  # noqa: F821
        own[0] = x
    return desk[63 - t]  # noqa: F821


@mark("global")
@requires(grid[1], block[2], thread[64])
def both(x: ptr(int32) @ grid[1]):
    with partition(x, block[2], offset=128 * id()) as pair, group(block[2]):
        there: int32 @ thread[1] = id() % 64
        b: int32 @ block[1] = id()
        value: int32 @ thread[1] = other(128 * b + there)
        with partition(pair, block[1], offset=64 * b) as row, group(block[1]):
            value = reversed_block(value)
            with partition(row, thread[1], offset=there) as own, group(thread[1]):
                own[0] = value


@mark("global")
@requires(grid[1], block[2], thread[64])
def often(x: ptr(int32) @ grid[1]):
    with partition(x, block[2], offset=128 * id()) as pair, group(block[2]):
        there: int32 @ thread[1] = id() % 64
        b: int32 @ block[1] = id()
        value: int32 @ thread[1] = 128 * b + there
        for _ in range(3):
            value = other(value) + 1
        with partition(pair, block[1], offset=64 * b) as row, group(block[1]):
            with partition(row, thread[1], offset=there) as own, group(thread[1]):
                own[0] = value


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_a_callee_in_a_loop(schedule: str, seed: int) -> None:
    x = np.zeros(256, np.int32)
    run(prism.check(often, {}), 4, 64, (x,), check=True, schedule=schedule, seed=seed)
    rows = np.concatenate([np.arange(128, 192), np.arange(64)]) + 3
    assert np.array_equal(x, np.concatenate([rows, rows]))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_a_callee_with_an_object_of_the_cluster(schedule: str, seed: int) -> None:
    program = prism.check(both, {})
    frames = program.layouts[program.entry].frame
    assert list(frames.values()) == [0, 0]  # one over the other
    x = np.zeros(256, np.int32)
    run(program, 4, 64, (x,), check=True, schedule=schedule, seed=seed)
    rows = np.concatenate([np.arange(191, 127, -1), np.arange(63, -1, -1)])
    assert np.array_equal(x, np.concatenate([rows, rows]))


@mark("global")
@requires(grid[1], block[2], thread[64])
def one_block_first(x: ptr(int32) @ grid[1]):
    with partition(x, block[2], offset=128 * id()) as pair, group(block[2]):
        there: int32 @ thread[1] = id() % 64
        b: int32 @ block[1] = id()
        value: int32 @ thread[1] = 128 * b + there
        with group(block[1]):
            value = reversed_block(value)
        with group(block[2]):
            box: shared(int32[2, 2500])
            with partition(box, block[1], lambda i: (b, i)) as mine, group(block[1]):  # noqa: F821
                with partition(mine, thread[1], offset=there) as own, group(thread[1]):
                    own[0] = value
            with group(thread[1]):
                value = box[1 - b, there]  # noqa: F821
        with partition(pair, block[1], offset=64 * b) as row, group(block[1]):
            with partition(row, thread[1], offset=there) as own, group(thread[1]):
                own[0] = value


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_an_object_of_the_cluster_where_a_block_s_was(schedule: str, seed: int) -> None:
    """A barrier of the block was tried inside code of the block, where one of the cluster is needed before it."""
    program = prism.check(one_block_first, {})
    x = np.zeros(256, np.int32)
    run(program, 4, 64, (x,), check=True, schedule=schedule, seed=seed)
    rows = np.concatenate([np.arange(191, 127, -1), np.arange(63, -1, -1)])
    assert np.array_equal(x, np.concatenate([rows, rows]))
