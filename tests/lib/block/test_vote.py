"""block.any, block.all and block.count: no thread, one, all, any.

Tests of prism/lib/block/vote.py.
"""

import numpy as np
import pytest

import prism as package
from prism.lang import block, const, grid, group, id, int32, partition, prism, ptr, requires, thread
from tests.lib.oracles import SCHEDULES


@prism("global")
@requires(grid[1], block[1], thread[32])
def votes(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as own, group(block[1]):
        holds: bool @ thread[1] = x[i] != 0
        some: bool @ block[1] = block.any(holds)
        every: bool @ block[1] = block.all(holds)
        count: int32 @ block[1] = block.count(holds)
        if every:  # the block agrees: it may decide together
            count += 1000
        with group(thread[1]):
            own[0] = -count if some else count


@pytest.mark.parametrize("threads", [32, 96, 256])
@pytest.mark.parametrize("which", ["none", "first", "last", "random", "all but one", "all"])
def test_votes(threads: int, which: str) -> None:
    x = np.zeros((2, threads), np.int32)
    x[1] = 1
    match which:
        case "first":
            x[0, 0] = 1
        case "last":
            x[0, -1] = 1
        case "random":
            x[0] = np.random.default_rng(0).integers(0, 2, threads)
        case "all but one":
            x[0, :-1] = 1
        case "all":
            x[0] = 1
    for schedule, seed in SCHEDULES:
        y = np.zeros((2, threads), np.int32)
        votes[2, threads](x.ravel(), y.reshape(-1), check=True, schedule=schedule, seed=seed)
        for row, found in zip(x, y, strict=True):
            count = int(row.sum()) + 1000 * bool(row.all())
            assert (found == (-count if row.any() else count)).all()


def test_they_compile() -> None:
    assert package.compile(votes).cubin
