"""grid.count_done and grid.wait_for_done: work of several steps in one launch, each step after the one before it.

Tests of prism/lib/grid: completion.
"""

from typing import Any

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, DeadlockError, MachineError, run
from prism.lang import (
    CompileError,
    attr,
    block,
    grid,
    group,
    id,
    int32,
    int64,
    partition,
    prism,
    ptr,
    requires,
    thread,
    uint64,
)
from tests.mutation import without_barriers


@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def shifted(x: ptr(int32) @ grid[1], steps: int32 @ grid[1], parts: int32 @ grid[1], control: ptr(uint64) @ grid[1]):
    """Step `s` writes row `s + 1` of `x`: each element is the sum of its place's and of the opposite one in row `s`."""
    with partition(x, thread[1], offset=lambda i: i, races="allow") as cells, group(block[1]):
        t: int32 @ thread[1] = id()
        ticket: uint64 @ thread[1] = grid.draw(control)
        piece: int32 @ block[1] = grid.next_tile(ticket)
        while piece < steps * parts:
            step: int32 @ block[1] = piece // parts
            grid.wait_for_done(control, int64(step * parts), 1)
            with group(thread[1]):
                here: int32 = piece % parts * 64 + t
                there: int32 = parts * 64 - 1 - here
                size: int32 = parts * 64
                cells[(step + 1) * size + here] = cells[step * size + here] + cells[step * size + there]
            grid.count_done(control, 1)
            ticket = grid.draw(control)
            piece = grid.next_tile(ticket)


def launch(steps: int, parts: int, blocks: int, schedule: str, program: Any = None) -> None:
    x = np.zeros((steps + 1, parts * 64), np.int32)
    x[0] = np.random.default_rng(0).integers(0, 100, x.shape[1])
    control = np.zeros(2, np.uint64)
    run(
        program or package.check(shifted), blocks, 64, (x, steps, parts, control), check=True, schedule=schedule, seed=3
    )
    for step in range(steps):
        assert (x[step + 1] == x[step] + x[step, ::-1]).all()
    assert control[1] == steps * parts and control[0] == steps * parts + blocks


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("steps", "parts", "blocks"), [(1, 1, 1), (3, 1, 2), (3, 4, 3), (2, 2, 6)])
def test_each_step_finds_what_the_one_before_it_wrote(steps: int, parts: int, blocks: int, schedule: str) -> None:
    launch(steps, parts, blocks, schedule)


def test_each_inferred_barrier_is_needed() -> None:
    """What tells the machine is a wrong sum, or a race in shared memory: `races="allow"` leaves those in memory alone."""
    found = list(without_barriers(package.check(shifted)))
    assert found
    for _, mutant in found:
        with pytest.raises((MachineError, AssertionError)):
            for schedule in SCHEDULES:
                launch(3, 4, 3, schedule, mutant)


@prism("global")
@requires(grid[1], block[1], thread[32])
def wait_for_more(control: ptr(uint64) @ grid[1]):
    with group(block[1]):
        grid.count_done(control)
        grid.wait_for_done(control, 3)


def test_who_waits_for_more_than_is_ever_done_is_told() -> None:
    with pytest.raises(DeadlockError):
        wait_for_more[1, 32](np.zeros(1, np.uint64), check=True)


@prism("global")
@requires(grid[1], thread[32])
def by_a_warp(control: ptr(uint64) @ grid[1]):
    with group(thread[32]):
        grid.count_done(control)


def test_a_whole_block_calls_them() -> None:
    with pytest.raises(CompileError, match=r"`count_done` must be run by block\[1\] together"):
        package.check(by_a_warp)


def test_they_compile() -> None:
    text = package.compile(shifted)
    assert text.cubin and "release" in text.cuda and "acquire" in text.cuda
