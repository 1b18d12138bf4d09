"""Rings in loops that the whole grid goes round, cooperative kernels' among them: their rounds go on from trip to trip."""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import run, schedules
from prism.lang import (
    attr,
    block,
    bulk_load,
    claim,
    const,
    count,
    cp_async,
    float32,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    roles,
    shared,
    thread,
    warp,
)  # fmt: skip
from prism.lang.tree import For, SharedDeclare
from prism.lang.tree.plan import Advance
from tests.lang.plans import entry_plan


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3], cooperative=True)
def rounds(x: ptr(float32) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Each step all blocks add up the rows of x, and then write them anew: a ring in a loop of the whole grid."""
    for step in range(steps):
        with partition(y, block[1], 64 * id()) as out, group(block[1]):
            row: shared(float32[64], ring=2)
            adders, loader = roles(warp, 2, 1)
            t: int32 @ thread[1] = id()
            total: float32 @ thread[1] = 0
            for r in range(n):
                with claim(row, loader) as coming, one(thread):
                    bulk_load(coming, x[64 * r])
                with claim(row, adders) as here, group(thread[1]):
                    total += here[t]
            with partition(out, thread[1], t) as mine, adders, group(thread[1]):
                mine[0] = total
        with partition(x, block[1], 64 * id()) as out, group(block[1]):
            t: int32 @ thread[1] = id()
            adders, loader = roles(warp, 2, 1)
            with partition(out, thread[1], t) as mine, adders, group(thread[1]):
                mine[0] = y[t] - 2 * step


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def ahead(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """The ring is declared in a block's loop inside a loop of the grid, and filled ahead."""
    for step in range(steps):
        with partition(y, block[1], 64 * id() + 64 * count(block[1]) * step) as out, group(block[1]):
            t: int32 @ thread[1] = id()
            total: float32 @ thread[1] = 0
            for r in range(n):
                row: shared(float32[64], ring=3)
                with partition(row, thread[1], t) as coming, group(thread[1]):
                    cp_async(coming[0], x[64 * (r + step) + t], 4)
                with partition(row, thread[64], 0) as here, group(thread[1]):
                    total += here[63 - t]
            with partition(out, thread[1], t) as mine, group(thread[1]):
                mine[0] = total


ROWS = np.arange(64 * 8, dtype=np.float32) % 7


def of_rounds(blocks: int, n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = ROWS.reshape(-1, 64).copy(), np.zeros((blocks, 64), np.float32)
    for step in range(steps):
        y[:] = x[:n].sum(0)
        x[:blocks] = y[0] - 2 * step
    return x.ravel(), y.ravel()


def of_ahead(blocks: int, n: int, steps: int) -> np.ndarray:
    x = ROWS.reshape(-1, 64)
    return np.concatenate([np.tile(x[step : step + n].sum(0)[::-1], blocks) for step in range(steps)])


@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 1, 4), (1, 3, 1)])
def test_a_ring_in_a_loop_of_the_grid(shape: tuple[int, int, int]) -> None:
    blocks, n, steps = shape
    for schedule, seed in schedules(4):
        x, y = ROWS.copy(), np.zeros(64 * blocks, np.float32)
        run(prism.check(rounds), blocks, 96, (x, y, n, steps), check=True, schedule=schedule, seed=seed)
        assert all(map(np.array_equal, (x, y), of_rounds(*shape))), (schedule, seed)
        y = np.zeros(64 * blocks * steps, np.float32)
        run(prism.check(ahead), blocks, 64, (ROWS, y, n, steps), check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, of_ahead(*shape)), (schedule, seed)


def test_what_the_plan_has() -> None:
    """The grid's barriers stand in each role's text; fills go ahead, with the declaration before all loops."""
    _, plan = entry_plan(rounds)
    assert sorted(b.kind for b in plan.barriers) == ["grid", "grid"]
    assert sum(isinstance(op, Advance) for op in plan.operations) == 1
    program, plan = entry_plan(ahead)
    assert plan.skewed is not None and any("filled 2 visits ahead" in note.text for note in plan.notes)
    assert [type(s) for s in program.entry.body] == [SharedDeclare, For]
