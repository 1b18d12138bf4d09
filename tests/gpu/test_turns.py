"""Units that take turns on a GPU: their order in every round, also where some units are much slower than others."""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import pytest

from prism.lang import (
    atomic_add, attr, block, constexpr, grid, group, id, int32, one, partition, ptr, requires, roles, template, thread, turns,
    uint32, warp,
)  # fmt: skip
from prism.lang import prism as mark
from tests.lang.check.test_turns import products

cupy = pytest.importorskip("cupy")


@mark("global")
@template(WARPS=constexpr(int))
@attr("__launch_bounds__(512, 1)")
@requires(grid[1], block[1], warp[16])
def warps(y: ptr(int32) @ grid[1], came: ptr(int32) @ grid[1], n: int32 @ grid[1], slow: int32 @ grid[1]):
    """y[WARPS * k + w] of a block: as which of all warp w came in round k. Warp w is busy `slow` steps, or less, before."""
    b: int32 @ block[1] = id()
    with partition(y, block[1], lambda i: b * WARPS * n + i, races="allow") as mine, group(block[1]):
        with partition(mine, thread[1], lambda i: i, races="allow") as own:
            workers, rest = roles(warp, WARPS, 1)
            busy: uint32 @ thread[1] = 1
            for k in range(n):
                with workers:
                    w: int32 @ warp[1] = id()
                    with group(warp[1]):
                        for i in range((w * 7 + k * 3) % 5 * slow):
                            busy = busy * 3 + uint32(i)
                with turns(workers), workers:
                    v: int32 @ warp[1] = id()
                    with group(warp[1]), one(thread):
                        if busy != 12345:
                            own[WARPS * k + v] = atomic_add(came[b], 1)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 14])
@pytest.mark.parametrize("slow", [0, 300])
def test_warps_come_in_their_order(size: int, slow: int) -> None:
    blocks, rounds = 200, 50
    y, came = cupy.full((blocks, rounds * size), -1, cupy.int32), cupy.zeros(blocks, cupy.int32)
    for _ in range(3):  # the arrival that is left over at a block's end is nobody else's
        came[:] = 0
        warps[blocks, 512](y, came, rounds, slow, template={"WARPS": size})
        assert (y == cupy.arange(rounds * size)).all()


def test_products_in_turns() -> None:
    """Wgmmas that are in flight when the next unit comes in."""
    q, k, v = (cupy.random.randint(-3, 4, (rows, 64)).astype(cupy.float16) for rows in (128, 6400, 6400))
    c = cupy.zeros((128, 64), cupy.float32)
    products[1, 384](q, k, v, c, 100)
    parts = [q.astype(cupy.float32) @ x.reshape(100, 64, 64).astype(cupy.float32).sum(axis=0).T for x in (k, v)]
    assert (c == parts[0] + parts[1]).all()
