"""What waits: arms of a split, sides of a branch, blocks with few resident, device functions.

Tests of prism/interpret: barriers, calls, schedules, statements.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import DeadlockError, run, schedules
from prism.interpret.schedules import HOW
from prism.lang import (
    block,
    count,
    device,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    publish,
    receive,
    requires,
    split,
    thread,
    uint32,
)

SCHEDULES = ["round-robin", "random", "reversed"]


@device
@requires(thread[1])
def fetch(boxes: ptr(mailbox(int32)) @ grid[1], at: int32 @ thread[1], epoch: uint32 @ thread[1]) -> int32 @ thread[1]:
    got: int32[1] @ thread[1]
    receive(boxes[at], got, 1, 1, 0, epoch)
    return got[0]


@prism("global")
@requires(grid[1], block[1], thread[64])
def ping_pong(y: ptr(int32) @ grid[1], boxes: ptr(mailbox(int32)) @ grid[1], rounds: int32 @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(block[1]):
            match split(thread):
                case 32:
                    a: int32 @ thread[1] = id()
                    with group(thread[1]):
                        v: int32 @ thread[1] = a
                        for k in range(rounds):
                            publish(boxes[a], v, uint32(2 * k + 1))
                            v = fetch(boxes, a + 32, uint32(2 * k + 2)) + 1
                        out[0] = v
                case 32:
                    b: int32 @ thread[1] = id()
                    with group(thread[1]):
                        w: int32 @ thread[1] = 0
                        for k in range(rounds):
                            w = fetch(boxes, b, uint32(2 * k + 1)) * 2
                            publish(boxes[b + 32], w, uint32(2 * k + 2))
                        out[0] = w


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("check", [False, True])
def test_arms_wait_for_each_other(program, schedule, check):
    y = np.zeros(64, np.int32)
    run(program(ping_pong), 1, 64, [y, np.zeros(64, np.uint64), 3], check=check, schedule=schedule)
    for lane in range(32):
        v = lane
        for _ in range(3):
            w = v * 2
            v = w + 1
        assert (y[lane], y[lane + 32]) == (v, w)


@prism("global")
@requires(grid[1], block[1], thread[64])
def sides(y: ptr(int32) @ grid[1], boxes: ptr(mailbox(int32)) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            if g < 32:
                out[0] = fetch(boxes, g, uint32(1))
            else:
                publish(boxes[g - 32], g * 3, uint32(1))
                out[0] = 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sides_of_a_branch_go_side_by_side(program, schedule):
    y = np.zeros(64, np.int32)
    run(program(sides), 1, 64, [y, np.zeros(32, np.uint64)], check=True, schedule=schedule)
    assert y.tolist() == [*[3 * (g + 32) for g in range(32)], *[1] * 32]


@prism("global")
@requires(grid[1], block[1], thread[32])
def chain(y: ptr(int32) @ grid[1], boxes: ptr(mailbox(int32)) @ grid[1]):
    b: int32 @ block[1] = id()
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            got: int32 @ thread[1] = 0
            if b > 0:
                got = fetch(boxes, b - 1, uint32(9))
            out[0] = got
            if g % 32 == 0:
                publish(boxes[b], got + 5, uint32(9))


@pytest.mark.parametrize("resident", [None, 1, 3])
def test_a_chain_of_blocks(program, resident):
    y = np.zeros(32 * 6, np.int32)
    run(program(chain), 6, 32, [y, np.zeros(6, np.uint64)], check=True, resident=resident)
    assert y.reshape(6, 32).tolist() == [[5 * b] * 32 for b in range(6)]


def test_a_chain_in_the_wrong_order_needs_all_blocks(program):
    arguments = [np.zeros(32 * 6, np.int32), np.zeros(6, np.uint64)]
    run(program(chain), 6, 32, arguments, check=True, schedule="reversed")
    arguments[1][:] = 0
    with pytest.raises(DeadlockError) as caught:
        run(program(chain), 6, 32, arguments, check=True, schedule="reversed", resident=3)
    assert "3 resident blocks" in caught.value.what


@prism("global")
@requires(grid[1], block[1], thread[32])
def backwards(y: ptr(int32) @ grid[1], boxes: ptr(mailbox(int32)) @ grid[1]):
    b: int32 @ block[1] = id()
    last: int32 @ block[1] = count(block[1]) - 1
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            got: int32 @ thread[1] = 0
            if b < last:
                got = fetch(boxes, b + 1, uint32(9))
            out[0] = got
            if g % 32 == 0:
                publish(boxes[b], got + 5, uint32(9))


def test_blocks_that_wait_for_later_ones_need_all_at_once(program):
    """No other schedule of these finds it: they let all blocks run."""
    for schedule, seed in schedules(len(HOW)):
        arguments = [np.zeros(32 * 4, np.int32), np.zeros(4, np.uint64)]
        if schedule == "few":
            with pytest.raises(DeadlockError) as caught:
                run(program(backwards), 4, 32, arguments, check=True, schedule=schedule, seed=seed)
        else:
            run(program(backwards), 4, 32, arguments, check=True, schedule=schedule, seed=seed)
    assert caught.value.block == 0
    text = str(caught.value)
    assert "the resident block waits" in text
    assert "thread 0 of block 0 waits at line 41 for `boxes[1]`" in text
    assert "blocks 1 to 3 have not begun: only one runs at once, and they begin when another has ended" in text


def test_few_blocks_at_once_are_enough_for_a_chain(program):
    for seed in range(4):
        y = np.zeros(32 * 6, np.int32)
        run(program(chain), 6, 32, [y, np.zeros(6, np.uint64)], check=True, schedule="few", seed=seed)
        assert y.reshape(6, 32).tolist() == [[5 * b] * 32 for b in range(6)]
