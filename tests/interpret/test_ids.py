"""T5: `id()` and `count()` by enumeration, at every perspective.

Tests of prism/interpret/lanes.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import run
from prism.lang import (
    block,
    claim,
    count,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    split,
    thread,
    warp,
)


@prism("global")
@requires(grid[1], block[1], thread[64])
def ids(out: ptr(int32) @ grid[1]):
    b: int32 @ block[1] = id()
    n: int32 @ grid[1] = count(thread[1])
    g: int32 @ thread[1] = id()
    with partition(out, thread[1], offset=g * 8) as mine:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            w: int32 @ thread[32] = id()
            s: int32 @ block[1] = count(warp[1])
            with group(thread[32]):
                lane: int32 @ thread[1] = id()
                with group(thread[4]):
                    quad: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[0] = b
                        mine[1] = n
                        mine[2] = t
                        mine[3] = w
                        mine[4] = s
                        mine[5] = lane
                        mine[6] = quad


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 64), (3, 128), (4, 64)])
def test_ids(program, blocks, threads, check):
    out = np.zeros((blocks, threads, 8), np.int32)
    run(program(ids), blocks, threads, [out], check=check)
    for b in range(blocks):
        for t in range(threads):
            assert list(out[b, t]) == [b, blocks * threads, t, t // 32, threads // 32, t % 32, t % 4, 0]


@prism("global")
@requires(grid[1], block[1], thread[64])
def arms_of_the_grid(out: ptr(int32) @ grid[1]):
    with claim(out, warp[1]) as all:
        match split(warp):
            case 1:
                with one(thread):
                    pass
            case 1:
                a: int32 @ thread[1] = id()
                with partition(all, thread[1], offset=a) as mine, group(thread[1]):
                    mine[0] += 100 + a


@pytest.mark.parametrize("check", [False, True])
def test_arms_of_the_grid_are_in_its_first_block(program, check):
    """As in the emitted code, whose test is of the thread's number in the grid."""
    out = np.zeros(64, np.int32)
    run(program(arms_of_the_grid), 3, 64, [out], check=check)
    assert out.tolist() == [*range(100, 132), *[0] * 32]


@prism("global")
@requires(grid[1], block[1], thread[64])
def arms(out: ptr(int32) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(out, thread[1], offset=g) as mine:
        with group(block[1]):
            match split(thread):
                case 32:
                    a: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[0] = 100 + a
                case 16:
                    c: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[0] = 200 + c


@pytest.mark.parametrize("schedule", ["round-robin", "random", "reversed"])
def test_arms(program, schedule):
    out = np.zeros((2, 64), np.int32)
    run(program(arms), 2, 64, [out], check=True, schedule=schedule)
    expected = [*range(100, 132), *range(200, 216), *[0] * 16]
    assert out.tolist() == [expected, expected]
