"""grid.dynamic_tiles: every tile once, by whichever block comes first; all roles agree; the counter is 0 again.

Tests of prism/lib/grid: tiles.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, count, float32, fragment, grid, group, half, id, int32, one, partition, ptr,
    requires, roles, row, shared, thread, tma_load, uint32, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.tree.plan import Program, Wait
from tests.mutation import caught


@mark("global")
@attr("__launch_bounds__(96, 1)")
@requires(grid[1], block[1], warp[3])
def owned(y: ptr(int32) @ grid[1], counter: ptr(uint32) @ grid[1], tiles: int32 @ grid[1]):
    """y[2 * tile + r]: how many times a tile was role r's, and 256 times its block."""
    me: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, thread[1], lambda i: i, races="allow") as mine, group(block[1]):
        left, right, scheduler = roles(warp, 1, 1, 1)

        @requires(block[1], thread[96])
        def do(tile: int32 @ block[1]):
            with left, one(thread):
                mine[2 * tile] = mine[2 * tile] + 256 * me + 1
            with right, one(thread):
                mine[2 * tile + 1] = mine[2 * tile + 1] + 256 * me + 1

        grid.dynamic_tiles(counter, me, blocks, tiles, scheduler, TILE=do, THREADS=96)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("tiles", "blocks"), [(0, 2), (1, 1), (1, 3), (7, 1), (9, 3), (4, 4)])
def test_every_tile_is_one_blocks(tiles: int, blocks: int, schedule: str) -> None:
    counter = np.zeros(1, np.uint32)
    for seed in range(2):  # the second launch finds what the first one left
        y = np.zeros(2 * tiles + 2, np.int32)
        owned[blocks, 96](y, counter, tiles, check=True, schedule=schedule, seed=seed)
        assert (y[: 2 * tiles] % 256 == 1).all() and not y[2 * tiles :].any()
        assert np.array_equal(y[0::2], y[1::2])  # both roles were of one block
        assert counter[0] == 0


@mark("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def products(
    a: const(CUtensorMap(half, 128, 64, swizzle=128)) @ grid[1], b: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1],
    c: ptr(float32) @ grid[1], counter: ptr(uint32) @ grid[1], tiles: int32 @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    """c[tile] = a[tile] @ b.T over the first `k * (tile % 3)` columns: 128 x 64 each, of tiles that cost differently."""
    me: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(c, block[1], lambda i, j: 64 * i + j, races="allow") as out, group(block[1]):
        a_tile: shared(half[128, 64], ring=2, swizzle=128)
        b_tile: shared(half[64, 64], ring=2, swizzle=128)
        sums: fragment(float32, 64, 64) @ warpgroup[1]
        consumers, producer = roles(warpgroup, 2, 1)
        readers, loader, rest = roles(warp, 8, 1, 3)
        w: int32 @ warpgroup[1] = id()

        @requires(block[1], thread[384])
        def multiply(tile: int32 @ block[1]):
            with consumers, group(thread[1]):
                for i in range(count(sums)):
                    sums[i] = 0
            for j in range(tile % 3 * k):
                with claim(a_tile, loader) as a_in, claim(b_tile, loader) as b_in, one(thread):
                    tma_load(a_in, a[128 * tile, 64 * j])
                    tma_load(b_in, b[0, 64 * j])
                with claim(a_tile, consumers, in_flight=1) as a_now, claim(b_tile, consumers, in_flight=1) as b_now:
                    with group(warpgroup[1]):
                        wgmma(sums, a_now[64 * w, 0], b_now)
            with partition(out, thread[1], lambda i, j: (i, j), races="allow") as mine, consumers, group(thread[1]):
                for i in range(count(sums)):
                    mine[128 * tile + 64 * w + row(sums, i), column(sums, i)] = sums[i]

        grid.dynamic_tiles(counter, me, blocks, tiles, loader, TILE=multiply, THREADS=384)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_roles_with_rings_run_ahead(schedule: str) -> None:
    """Tiles of 0, 1 and 2 steps: the loader is at a later one than those who multiply."""
    random = np.random.default_rng(5)
    a, b = (random.integers(-3, 4, (rows, 128)).astype(np.float16) for rows in (128 * 5, 64))
    counter, c = np.zeros(1, np.uint32), np.full((128 * 5, 64), -1, np.float32)
    products[2, 384](a, b, c, counter, 5, 1, check=True, schedule=schedule, seed=3)
    for tile in range(5):
        rows, k = slice(128 * tile, 128 * tile + 128), 64 * (tile % 3)
        assert np.array_equal(c[rows], np.float32(a[rows, :k]) @ np.float32(b[:, :k]).T)
    assert counter[0] == 0


def test_no_barrier_stands_between_tiles() -> None:
    program = prism.check(products)
    assert not program.plans[program.entry].barriers


def test_the_waits_for_numbers_are_missed() -> None:
    """Without the wait for a number a role does a wrong tile, or none; without that for its readers one is overwritten."""
    program = prism.check(owned)
    plan = program.plans[program.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait)]
    assert sorted(op.lap for op in waits) == [0, 1]

    def right(mutant: Program, **options: object) -> bool:
        y, counter = np.zeros(18, np.int32), np.zeros(1, np.uint32)
        run(mutant, 2, 96, (y, counter, 9), **options)
        return bool((y % 256 == 1).all()) and np.array_equal(y[0::2], y[1::2])

    assert right(program, check=True)
    for wait in waits:
        assert caught(program.with_plan(plan.drop_step(wait)), right)


def test_one_thread_of_the_loader_draws_waits_and_arrives() -> None:
    """All that the loader's warp does is its first thread's: the others go through no loop, and meet at no arrival."""
    source = emit(lower(prism.check(products))).source
    loader = source[source.index("threads 256 to 287") : source.index("threads 288 to 383")]
    assert "if (threadIdx.x == 256u) {" in loader
    assert "px_mbarrier_arrive(px_bar_following_read" in loader and "px_arrive_warp" not in loader
    # The counter is asked before the tile's loads, and its answer is used behind them.
    assert loader.index("px_atomic_increment") < loader.index("px_tma_load") < loader.index("ticket_;")
