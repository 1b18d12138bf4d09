"""prism/lang/rings/late_fills.py: rows gathered by `cp_async` go on while the next are issued, and engines see them when told."""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import re

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang import (
    CUtensorMap,
    async_,
    attr,
    block,
    claim,
    const,
    constexpr,
    count,
    cp_async,
    fragment,
    grid,
    group,
    half,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.diagnostics import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.tree.plan import Arrive, Commit, ProxyFence, WaitGroup
from tests.lang.plans import words


@prism("global")
@attr("__launch_bounds__(256)")
@requires(grid[1], block[1], warpgroup[2])
@template(COPIES=constexpr(int), LATE=constexpr(int), TWICE=constexpr(bool), READ=constexpr(int))
def gathered(
    x: ptr(const(half)) @ grid[1], rows: ptr(const(int)) @ grid[1], b: const(CUtensorMap(half, 16, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1], k: int @ grid[1], tiles: int @ grid[1],
):  # fmt: skip
    """The product of rows of `x`, by their numbers, with a matrix: the rows come by `cp_async`, the matrix by TMA."""
    with partition(c, block[1]) as out, group(block[1]):
        left: shared(half[64, 64], ring=COPIES, swizzle=128)
        more: shared(half[64, 64], ring=COPIES, swizzle=128)
        right: shared(half[16, 64], ring=COPIES, swizzle=128)
        acc: fragment(float, 64, 16) @ warpgroup[1]
        acc = 0.0
        consumers, producers = roles(warpgroup, 1, 1)
        for _ in range(tiles):
            for step in range(0, k, 64):
                with claim(left, producers, in_flight=LATE) as own:
                    t: int @ thread[1] = id()
                    with (
                        partition(own, thread[1], lambda i: (t // 2, t % 2 * 32 + 8 * i)) as mine,
                        async_(mine) as coming,
                        group(thread[1]),
                    ):
                        for i in range(4):
                            cp_async(coming[i], x[rows[t // 2] * k + step + t % 2 * 32 + 8 * i], 16)
                if TWICE:
                    with claim(more, producers, in_flight=LATE) as own:
                        t: int @ thread[1] = id()
                        with (
                            partition(own, thread[1], lambda i: (t // 2, t % 2 * 32 + 8 * i)) as mine,
                            async_(mine) as coming,
                            group(thread[1]),
                        ):
                            for i in range(4):
                                cp_async(coming[i], x[rows[63 - t // 2] * k + step + t % 2 * 32 + 8 * i], 16)
                with claim(right, producers) as own, one(thread):
                    tma_load(own, b[0, step])
                with (
                    claim(left, consumers, in_flight=READ) as a,
                    claim(right, consumers, in_flight=READ) as w,
                    group(warpgroup[1]),
                ):
                    wgmma(acc, a, w)
                if TWICE:
                    with claim(more, consumers) as a, claim(right, consumers) as w, group(warpgroup[1]):
                        wgmma(acc, a, w)
        t: int @ thread[1] = id()
        with partition(out, thread[1], offset=t * 8) as mine, consumers, group(thread[1]):
            for i in range(count(acc)):
                mine[i] = acc[i]


def arguments_of(steps, tiles):
    random = np.random.default_rng(steps)
    x, w = (random.integers(-4, 5, (rows, 64 * max(steps, 1))).astype(np.float16) for rows in (90, 16))
    return [x, random.integers(0, 90, 64).astype(np.int32), w, np.zeros(1024, np.float32), 64 * steps, tiles]


def wanted(arguments, twice):
    x, rows, w, _, k, tiles = arguments
    left = np.float32(x[rows]) + (np.float32(x[rows[::-1]]) if twice else 0)
    made = tiles * (k > 0) * (left @ np.float32(w).T)
    t, i = np.meshgrid(np.arange(128), np.arange(8), indexing="ij")
    return made[t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + t % 4 * 2 + i % 2].reshape(-1)


@pytest.mark.parametrize(("copies", "late", "twice"), [(2, 1, False), (3, 2, False), (3, 1, True), (1, 0, False)])
def test_copies_go_on_while_the_next_are_issued(copies, late, twice):
    program = build(gathered, {"COPIES": copies, "LATE": late, "TWICE": twice, "READ": 0})
    plan = program.plans[program.entry]
    pending = [op.pending for op in plan.operations if isinstance(op, WaitGroup) and op.kind == "cp_async"]
    # Of two rings that are gathered each round has two groups, and those of the last `late` rounds go on.
    assert sorted(set(pending)) == sorted({0, late * (1 + twice)} if late else {0})
    for steps, tiles in ((0, 1), (1, 2), (5, 2)):
        for schedule, seed in schedules(8):
            arguments = arguments_of(steps, tiles)
            run(program, 1, 256, arguments, check=True, schedule=schedule, seed=seed)
            np.testing.assert_array_equal(arguments[3], wanted(arguments, twice), f"{steps}, {schedule} {seed}")


def test_readers_that_go_on_need_a_copy_more():
    facts = {"LATE": 1, "TWICE": False, "READ": 1}
    with pytest.raises(CompileError, match="declare `left` with `ring=3` or more"):
        build(gathered, {"COPIES": 2, **facts})
    program = build(gathered, {"COPIES": 3, **facts})
    for schedule, seed in schedules(8):
        arguments = arguments_of(5, 2)
        run(program, 1, 256, arguments, check=True, schedule=schedule, seed=seed)
        np.testing.assert_array_equal(arguments[3], wanted(arguments, False), f"{schedule} {seed}")


def test_the_text_waits_for_the_groups_before_fences_and_arrives_late():
    source = emit(lower(build(gathered, {"COPIES": 3, "LATE": 1, "TWICE": False, "READ": 0}))).source
    body = source[source.index("// threads 128 to 255") :]
    found = re.findall(r"wait_group \d|fence\.proxy\.async\.shared|px_arrive_warp\(px_bar_left_filled", body)
    each = ["wait_group {}", "fence.proxy.async.shared", "px_arrive_warp(px_bar_left_filled"]
    assert found == [word.format(n) for n in (1, 0) for word in each]


def test_each_step_of_a_late_fill_is_needed():
    program = build(gathered, {"COPIES": 2, "LATE": 1, "TWICE": False, "READ": 0})
    plan = program.plans[program.entry]
    ends = (Arrive, Commit, ProxyFence, WaitGroup)
    steps = [op for op in plan.operations if isinstance(op, ends) and "coming" in str(getattr(op, "first", "coming"))]
    survivors = [words(op) for op in steps if not is_found(program, plan.drop_step(op))]
    assert survivors == []


def is_found(program, plan):
    try:
        for schedule, seed in schedules(10):
            run(program.with_plan(plan), 1, 256, arguments_of(5, 2), check=True, schedule=schedule, seed=seed)
    except MachineError:
        return True
    return False
