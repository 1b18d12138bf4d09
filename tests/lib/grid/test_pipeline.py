"""grid.pipeline: what is used is what was filled, whoever fills; its waits are those of a loop that has it all.

Tests of prism/lib/grid: pipeline.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.lang import (
    async_, attr, block, bulk_load, claim, const, constexpr, cp_async, grid, group, id, int32, one, partition, ptr, requires,
    roles, shared, template, thread, warp,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.diagnostics import CompileError
from prism.lang.tree.plan import Program, Wait
from tests.mutation import caught


@mark("global")
@attr("__launch_bounds__(96, 1)")
@template(STAGES=constexpr(int), BY_THREADS=constexpr(bool), STEP=constexpr(int))
@requires(grid[1], block[1], warp[3])
def dots(
    x: ptr(const(int32)) @ grid[1], y: ptr(const(int32)) @ grid[1], out: ptr(int32) @ grid[1], start: int32 @ grid[1],
    stop: int32 @ grid[1],
):  # fmt: skip
    """out[t] = the sum of x[step, t] * y[step, 31 - t], of every `STEP`-th row; y's come by threads' copies, or like x's."""
    with partition(out, thread[1], id()) as mine, group(block[1]):
        a: shared(int32[1, 32], ring=STAGES)
        b: shared(int32[1, 32], ring=STAGES)
        adder, loader, copier = roles(warp, 1, 1, 1)
        lane: int32 @ thread[1] = id() % 32
        total: int32 @ thread[1] = 0

        @requires(block[1], thread[96])
        def fill(step: int32 @ block[1]):
            with claim(a, loader) as to_a, one(thread):
                bulk_load(to_a, x[32 * step])
            if BY_THREADS:
                with (
                    claim(b, copier) as to_b, partition(to_b, thread[1], lambda i, j: (i, lane + j)) as own, async_(own) as to,
                    group(thread[1]),
                ):  # fmt: skip
                    cp_async(to[0, 0], y[32 * step + lane], 4)
            else:
                with claim(b, loader) as to_b, one(thread):
                    bulk_load(to_b, y[32 * step])

        @requires(warp[1])
        def use(of_a: shared(int32[1, 32]) @ warp[1], of_b: shared(int32[1, 32]) @ warp[1], step: int32 @ warp[1]):
            nonlocal total
            with group(thread[1]):
                total += of_a[0, lane] * of_b[0, 31 - lane]

        grid.pipeline(a, b, adder, start, stop, THREADS=96, STEP=STEP, FILL=fill, USE=use)
        with adder, group(thread[1]):
            mine[0] = total


@mark("global")
@attr("__launch_bounds__(96, 1)")
@template(STAGES=constexpr(int))
@requires(grid[1], block[1], warp[3])
def scaled_dots(
    x: ptr(const(int32)) @ grid[1], y: ptr(const(int32)) @ grid[1], z: ptr(const(int32)) @ grid[1], out: ptr(int32) @ grid[1],
    stop: int32 @ grid[1],
):  # fmt: skip
    """out[t] = the sum of z[step] * x[step, t] * y[step, 31 - t]; a third role brings what each step is multiplied with."""
    with partition(out, thread[1], id()) as mine, group(block[1]):
        a: shared(int32[1, 32], ring=STAGES)
        b: shared(int32[1, 32], ring=STAGES)
        c: shared(int32[32], ring=STAGES)
        adder, loader, copier = roles(warp, 1, 1, 1)
        lane: int32 @ thread[1] = id() % 32
        total: int32 @ thread[1] = 0

        @requires(block[1], thread[96])
        def fill(step: int32 @ block[1]):
            with claim(a, loader) as to_a, claim(b, loader) as to_b, one(thread):
                bulk_load(to_a, x[32 * step])
                bulk_load(to_b, y[32 * step])
            with claim(c, copier) as to_c, partition(to_c, thread[1], lane) as own, async_(own) as to, group(thread[1]):
                cp_async(to[0], z[step], 4)

        @requires(warp[1])
        def use(
            of_a: shared(int32[1, 32]) @ warp[1], of_b: shared(int32[1, 32]) @ warp[1], of_c: shared(int32[32]) @ warp[1],
            step: int32 @ warp[1],
        ):  # fmt: skip
            nonlocal total
            with group(thread[1]):
                total += of_c[lane] * of_a[0, lane] * of_b[0, 31 - lane]

        grid.pipeline_of_three(a, b, c, adder, 0, stop, THREADS=96, STEP=1, FILL=fill, USE=use)
        with adder, group(thread[1]):
            mine[0] = total


X, Y = (np.random.default_rng(seed).integers(-99, 99, (11, 32), np.int32) for seed in (0, 1))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("by_threads", [False, True])
def test_what_is_used_is_what_was_filled(by_threads: bool, schedule: str) -> None:
    for stages, step, start, stop in ((1, 1, 0, 11), (2, 3, 1, 11), (3, 1, 4, 5), (2, 1, 3, 3)):
        out = np.zeros(96, np.int32)
        template = {"STAGES": stages, "BY_THREADS": by_threads, "STEP": step}
        dots[1, 96](X, Y, out, start, stop, template=template, check=True, schedule=schedule)
        assert np.array_equal(out[:32], (X * Y[:, ::-1])[start:stop:step].sum(axis=0))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_third_ring_comes_with_the_tiles(schedule: str) -> None:
    scales = np.arange(11, dtype=np.int32)
    for stages in (1, 3):
        out = np.zeros(96, np.int32)
        scaled_dots[1, 96](X, Y, scales, out, 11, template={"STAGES": stages}, check=True, schedule=schedule)
        assert np.array_equal(out[:32], (scales[:, None] * X * Y[:, ::-1]).sum(axis=0))


def test_each_wait_of_three_rings_is_needed() -> None:
    scales = np.arange(1, 12, dtype=np.int32)

    def right(program: Program, **how: object) -> bool:
        out = np.zeros(96, np.int32)
        run(program, 1, 96, [X, Y, scales, out, 11], **how)
        return np.array_equal(out[:32], (scales[:, None] * X * Y[:, ::-1]).sum(axis=0))

    program = prism.check(scaled_dots, {"STAGES": 2})
    plan = program.plans[program.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait)]
    assert len(waits) >= 3 and right(program, check=True)
    for op in waits:
        assert caught(program.with_plan(plan.drop_step(op)), right)


def test_the_waits_are_those_of_one_loop() -> None:
    plan = (program := prism.check(dots, {"STAGES": 2, "BY_THREADS": False, "STEP": 1})).plans[program.entry]
    waits = [op.barrier.name for op in plan.operations if isinstance(op, Wait)]
    assert sorted(waits) == ["a_b_read", "a_filled", "b_filled"]
    assert not plan.barriers, "nobody meets in the loop, nor behind it"


@pytest.mark.parametrize("by_threads", [False, True])
def test_each_wait_is_needed(by_threads: bool) -> None:
    def right(program: Program, **how: object) -> bool:
        out = np.zeros(96, np.int32)
        run(program, 1, 96, [X, Y, out, 0, 11], **how)
        return np.array_equal(out[:32], (X * Y[:, ::-1]).sum(axis=0))

    program = prism.check(dots, {"STAGES": 2, "BY_THREADS": by_threads, "STEP": 1})
    plan = program.plans[program.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait)]
    assert waits and right(program, check=True)
    for op in waits:
        assert caught(program.with_plan(plan.drop_step(op)), right)


def test_who_fills_one_ring_alone_is_refused() -> None:
    @mark("global")
    @requires(grid[1], block[1], warp[2])
    def half_filled(x: ptr(const(int32)) @ grid[1], stop: int32 @ grid[1]):
        with group(block[1]):
            a: shared(int32[1, 32], ring=2)
            b: shared(int32[1, 32], ring=2)
            adder, loader = roles(warp, 1, 1)
            total: int32 @ thread[1] = 0

            @requires(block[1], thread[64])
            def fill(step: int32 @ block[1]):
                with claim(a, loader) as to_a, one(thread):
                    bulk_load(to_a, x[32 * step])

            @requires(warp[1])
            def use(of_a: shared(int32[1, 32]) @ warp[1], of_b: shared(int32[1, 32]) @ warp[1], step: int32 @ warp[1]):
                nonlocal total
                with group(thread[1]):
                    total += of_a[0, 0] + of_b[0, 0]

            grid.pipeline(a, b, adder, 0, stop, THREADS=64, STEP=1, FILL=fill, USE=use)

    with pytest.raises(CompileError, match="of_b"):
        prism.check(half_filled)
