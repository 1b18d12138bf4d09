"""Scopes of atomic accesses and fences: of a block, only where one block alone may come; the machine looks at each word."""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import MachineError, RaceError
from prism.lang import (
    CompileError,
    Kernel,
    atomic_add,
    block,
    constexpr,
    fence,
    grid,
    group,
    id,
    int32,
    load_acquire,
    load_relaxed,
    partition,
    ptr,
    requires,
    shared,
    store_relaxed,
    store_release,
    template,
    thread,
)  # fmt: skip
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.safety import safety

SCHEDULES = ("round-robin", "reversed", "random", "late", "ahead")


def kinds(kernel: Kernel) -> list[str]:
    return [b.kind for plan in prism.check(kernel).plans.values() for b in plan.barriers]


# -- accepted -------------------------------------------------------------------------------------------------------------


@prism("device")
@requires(thread[1])
def counted(bins: ptr(int32) @ block[1], at: int32 @ thread[1]):
    atomic_add(bins[at], 1, scope="block")


@prism("global")
@requires(grid[1], block[1], thread[64])
def one_block_s_own(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 8 * id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        s: shared(int32[8])
        with partition(s, thread[1], t) as own, group(thread[1]):
            if t < 8:
                own[0] = 0
        now: ptr(int32) @ block[1] = s
        with group(thread[1]):
            atomic_add(s[t % 8], 1, scope="block")
            counted(s, t % 8)
            counted(now, t % 8)
            atomic_add(mine[t % 8], 1, scope="block")
            counted(mine, t % 8)
        with partition(mine, thread[1], t) as own, group(thread[1]):
            if t < 8:
                own[0] += s[t]


def test_of_one_block_s_own_memory() -> None:
    assert kinds(one_block_s_own) == ["block", "block"]
    assert "atomicAdd_block" in emit(lower(prism.check(one_block_s_own))).source
    for schedule in SCHEDULES:
        y = np.zeros(24, np.int32)
        one_block_s_own[3, 64](y, check=True, schedule=schedule)
        assert (y == 5 * 8).all()


# -- refused, and ordered -------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def then_by_all(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 2 * id()) as part, group(thread[1]):
        atomic_add(part[0], 1, scope="block")
    with group(thread[1]):
        atomic_add(y[0], 1)


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def then_by_all_together(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 2 * id()) as part, group(thread[1]):
        atomic_add(part[0], 1, scope="block")
    with group(thread[1]):
        atomic_add(y[0], 1)


@prism("global")
@requires(grid[1], block[1], thread[32])
def in_other_trips(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    for k in range(n):
        with partition(y, block[1], b + k) as part, group(thread[1]):
            atomic_add(part[0], 1, scope="block")


@pytest.mark.parametrize("kernel", [then_by_all, in_other_trips])
def test_another_block_s_atomics_are_plain_to_it(kernel: Kernel) -> None:
    with pytest.raises(CompileError) as caught:
        prism.check(kernel)
    assert caught.value.code == "grid-sync"


def test_a_barrier_of_the_grid_orders_them() -> None:
    program = prism.check(then_by_all_together)
    plan = program.plans[program.entry]
    assert [b.kind for b in plan.barriers] == ["grid"]
    y = np.zeros(8, np.int32)
    then_by_all_together[3, 32](y, check=True)
    assert y.tolist() == [32 * 4, 0, 32, 0, 32, 0, 0, 0]
    with pytest.raises(RaceError, match="scope"):
        prism.interpret.run(program.with_plan(plan.drop_step(plan.barriers[0])), 3, 32, (y,), check=True)


# -- not proved: the machine looks ----------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def parts(y: ptr(int32) @ grid[1], apart: int32 @ grid[1]):
    with partition(y, block[1], apart * id()) as part, group(thread[1]):
        atomic_add(part[0], 1, scope="block")


@prism("global")
@requires(grid[1], block[1], thread[32])
def polled(y: ptr(int32) @ grid[1], apart: int32 @ grid[1]):
    """One block writes, and the other reads: who has the narrow scope does not matter."""
    with partition(y, block[1], apart * id()) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            if t == 0:
                store_relaxed(part[0], 1)
            seen: int32 = load_relaxed(part[0], scope="block")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kernel", [parts, polled], ids=lambda kernel: kernel.__name__)
def test_two_blocks_that_meet_at_a_word(kernel: Any, schedule: str) -> None:
    (left,) = [one for one in safety(prism.check(kernel))["verdicts"]["not proved"] if one["kind"] == "partition"]
    assert "part" in left["what"]
    kernel[2, 32](np.zeros(8, np.int32), 1, check=True, schedule=schedule)
    with pytest.raises(RaceError) as caught:
        kernel[2, 32](np.zeros(8, np.int32), 0, check=True, schedule=schedule)
    assert '`scope="block"` is for the threads of one block' in str(caught.value)


# -- what is handed over --------------------------------------------------------------------------------------------------


@prism("global")
@template(NEAR=constexpr(int), RELEASE=constexpr(int))
@requires(grid[1], block[1], thread[1])
def handed(x: ptr(int32) @ grid[1], flags: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """The first block writes and says so; the second one waits for that, and reads. The words' own scope is the GPU."""
    b: int32 @ thread[1] = id()
    with partition(x, thread[1], b, races="allow") as mine, partition(y, thread[1], b) as out, group(thread[1]):
        if b == 0:
            mine[0] = 7
            if RELEASE == 1:
                store_release(flags[0], 1)
            else:
                if NEAR == 1:
                    fence(scope="block")
                else:
                    fence()
                store_relaxed(flags[0], 1)
        else:
            seen: int32 = 0
            while seen == 0:
                if RELEASE == 1:
                    seen = load_acquire(flags[0])
                else:
                    seen = load_relaxed(flags[0])
            if NEAR == 1:
                fence(scope="block")
            else:
                fence()
            out[0] = mine[-1]


def give(near: bool, release: bool, schedule: str) -> int:
    x, flags, y = np.zeros(2, np.int32), np.zeros(1, np.int32), np.zeros(2, np.int32)
    handed[2, 1](x, flags, y, template={"NEAR": int(near), "RELEASE": int(release)}, check=True, schedule=schedule)
    return int(y[1])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_fence_for_a_block_hands_nothing_to_another(schedule: str) -> None:
    assert give(False, False, schedule) == give(False, True, schedule) == give(True, True, schedule) == 7
    with pytest.raises(MachineError) as caught:
        give(True, False, schedule)
    assert caught.value.code == "machine-race"


@prism("global")
@template(NEAR=constexpr(int))
@requires(grid[1], block[1], thread[2])
def handed_inside(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """The same from one thread of a block to the other one."""
    with partition(x, block[1], id()) as mine, partition(y, block[1], id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        flag: shared(int32[1])
        with partition(flag, thread[1], races="allow") as own, group(thread[1]):
            own[0] = 0
        with (
            partition(mine, thread[1], races="allow") as own,
            partition(out, thread[1], races="allow") as to,
            group(thread[1]),
        ):
            if t == 0:
                own[0] = 7
                if NEAR == 1:
                    fence(scope="block")
                else:
                    fence()
                if NEAR == 1:
                    store_relaxed(flag[0], 1, scope="block")
                else:
                    store_relaxed(flag[0], 1)
            else:
                seen: int32 = 0
                while seen == 0:
                    if NEAR == 1:
                        seen = load_relaxed(flag[0], scope="block")
                    else:
                        seen = load_relaxed(flag[0])
                if NEAR == 1:
                    fence(scope="block")
                else:
                    fence()
                to[0] = own[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("near", [0, 1])
def test_it_does_to_its_own(schedule: str, near: int) -> None:
    y = np.zeros(3, np.int32)
    handed_inside[3, 2](np.zeros(3, np.int32), y, template={"NEAR": near}, check=True, schedule=schedule)
    assert (y == 7).all()
