"""A barrier of n threads is executed by whole units of n; one that is not is none, for the machine and for the compiler."""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, BarrierError, DeadlockError, MachineError, run
from prism.lang import (
    atomic_add,
    attr,
    block,
    bulk_load,
    claim,
    const,
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
    warpgroup,
)  # fmt: skip
from prism.lang.barriers.whole_units import check, whole
from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.lower.skew import skew
from prism.lang.lower.specialise import specialise
from prism.lang.tree import For, Role, Specialise, Stmt
from prism.lang.tree.plan import Barrier, Plan, Program
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, GRID, Level, Perspective
from prism.runtime.build import entry_of
from tests.lang.plans import entry_plan

CONSUMERS = Perspective(Level.THREAD, 256)


@prism("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def ringed(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    """256 of 384 threads share `s` round a loop, in which a loader's ring is visited too."""
    with partition(y, block[1], 256 * id()) as out, group(block[1]):
        s: shared(float32[256])
        r: shared(float32[64], ring=2)
        t: int32 @ thread[1] = id()
        consumers, loader = roles(warp, 8, 1)
        total: float32 @ thread[1] = 0
        for tile in range(0, n):
            with claim(s, consumers) as s_in, partition(s_in, thread[1], lambda e: t) as mine, group(thread[1]):
                mine[0] = x[256 * tile + t]
            for j in range(0, 2):
                with claim(r, loader) as r_in, one(thread):
                    bulk_load(r_in, x[64 * j])
                with claim(r, consumers) as r_now, claim(s, consumers) as s_now, group(thread[1]):
                    total += s_now[255 - t] * r_now[t % 64]
        with partition(out, thread[1], t) as mine, consumers, group(thread[1]):
            mine[0] = total


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], thread[96])
def plain(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """64 of 96 threads, and no ring."""
    with partition(y, block[1], 96 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        some, rest = roles(thread, 64, 32)
        for i in range(0, n):
            with claim(s, some) as m, partition(m, thread[1], t) as mine, group(thread[1]):
                mine[0] = t + i
            for j in range(0, 2):
                with claim(s, some) as m, group(thread[1]):
                    total += m[(t + j) % 64]
        with partition(out, thread[1], t) as mine, some, group(thread[1]):
            mine[0] = total


def inputs() -> tuple[np.ndarray, np.ndarray, int]:
    return np.arange(1024, dtype=np.float32), np.zeros(256, np.float32), 3


def expected() -> np.ndarray:
    x = np.arange(1024, dtype=np.float32)
    rows = x[:64][np.arange(256) % 64] + x[64:128][np.arange(256) % 64]
    return sum(x[256 * i : 256 * i + 256][::-1] * rows for i in range(3))


def loops(plan: Plan) -> list[Stmt]:
    return [s for s in statements(plan.function.body) if isinstance(s, For)]


def moved(program: Program, plan: Plan, to: Stmt) -> Program:
    """The program with each barrier of 256 threads before another statement, as an earlier compiler placed them."""
    barriers = tuple(replace(b, before=to) if b.unit == CONSUMERS else b for b in plan.barriers)
    return program.with_plan(replace(plan, barriers=barriers, skewed=None))


# -- the rule -------------------------------------------------------------------------------------------------------------


def test_who_comes_in_whole_units() -> None:
    three = entry_plan(ringed)[1].function  # a multiple of 384 threads
    for size, fits in (
        (1, True),
        (32, True),
        (96, True),
        (128, True),
        (384, True),
        (64, True),
        (256, False),
        (768, False),
    ):
        assert whole(Perspective(Level.THREAD, size), BLOCK, three) is fits
        assert whole(Perspective(Level.THREAD, size), GRID, three) is fits
    arm = Perspective(Level.THREAD, 256)
    assert whole(arm, arm, three) and whole(Perspective(Level.THREAD, 64), arm, three)
    assert not whole(Perspective(Level.THREAD, 96), arm, three) and not whole(BLOCK, arm, three)
    assert whole(BLOCK, BLOCK, three) and whole(BLOCK, GRID, three) and not whole(GRID, BLOCK, three)


# -- the machine ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check_", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_machine_refuses_a_barrier_of_threads_that_are_not_there(schedule: str, check_: bool) -> None:
    program, plan = entry_plan(ringed)
    outer, inner = loops(plan)
    for to in (outer, inner):
        hangs = moved(program, plan, to)
        for seed in (
            (1, 2) if check_ or schedule in ("random", "starved") else ()
        ):  # 1: as it is written; 2: a body a role
            with pytest.raises(BarrierError, match="the block ends before thread 511") as found:
                run(hangs, 1, 384, inputs(), check=check_, schedule=schedule, seed=seed)
            assert found.value.thread >= 256 and "threads 384 to 511, which the block does not have" in str(found.value)


def test_a_named_barrier_counts_threads_that_have_ended() -> None:
    """Those of no role have ended when the others come to a barrier of all four warps, which is left out of their text."""
    program, plan = entry_plan(ringed)
    parted = specialise(skew(program))
    apart = parted.plans[parted.entry]
    for barrier in [b for b in apart.barriers if b.unit == CONSUMERS]:
        wide = replace(barrier, unit=Perspective(Level.THREAD, 384))
        with pytest.raises(DeadlockError, match=r"missing threads 288 to 383|missing threads 256 to 383"):
            run(parted.with_plan(apart_with(apart, barrier, wide)), 1, 384, inputs(), check=True)


def apart_with(plan: Plan, old: Barrier, new: Barrier) -> Plan:
    return replace(plan, barriers=tuple(new if b is old else b for b in plan.barriers))


def test_a_barrier_of_some_of_the_units_is_one_of_each() -> None:
    """64 of 128 threads may be a whole unit: so may the other 64."""
    program, plan = entry_plan(plain)
    one_ = next(b for b in plan.barriers if b.unit.size == 64)
    y = np.zeros(192, np.int32)
    with pytest.raises(BarrierError, match="never opens"):
        run(
            program.with_plan(replace(plan, barriers=(replace(one_, before=loops(plan)[0]),))),
            2,
            96,
            (y, 2),
            check=True,
        )
    whole_ = replace(one_, before=loops(plan)[0], unit=Perspective(Level.THREAD, 32))
    run(program.with_plan(replace(plan, barriers=(*plan.barriers, whole_))), 2, 96, (y, 2), check=True)


# -- the compiler ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_of_a_role_stands_in_its_own_text(schedule: str) -> None:
    program, plan = entry_plan(ringed)
    named = [b for b in plan.barriers if b.kind == "named"]
    assert {b.unit for b in named} == {CONSUMERS} and not {b.before for b in named} & set(loops(plan))
    for seed in range(4):
        x, y, n = inputs()
        run(program, 1, 384, (x, y, n), check=True, schedule=schedule, seed=seed)
        assert np.allclose(y, expected())


def test_each_is_needed() -> None:
    program, plan = entry_plan(ringed)
    for barrier in plan.barriers:
        with pytest.raises(MachineError):
            run(program.with_plan(plan.drop_step(barrier)), 1, 384, inputs(), check=True)


def test_only_the_role_that_counts_has_it_in_its_text() -> None:
    parted = specialise(skew(prism.check(ringed)))
    found = parted.plans[parted.entry].barriers
    assert found and all(b.unit != CONSUMERS or b.met is None for b in found)
    named = [b for b in found if b.unit == CONSUMERS]
    bodies = {role.first: set(statements(role.body)) for s in statements(parted.entry.body) for role in roles_of(s)}
    assert named and sorted(bodies) == [0, 256]
    assert [first for first, inside in bodies.items() for b in named if b.before in inside] == [0] * len(named)


def roles_of(statement: Stmt) -> tuple[Role, ...]:
    return statement.roles if isinstance(statement, Specialise) else ()


def test_without_rings_too() -> None:
    program, plan = entry_plan(plain)
    assert {b.unit.size for b in plan.barriers} == {64} and not {b.before for b in plan.barriers} & set(loops(plan))
    for schedule in SCHEDULES:
        y = np.zeros(192, np.int32)
        run(program, 2, 96, (y, 2), check=True, schedule=schedule)
        t = np.arange(64)
        want = sum((t + j) % 64 + i for i in range(2) for j in range(2))
        assert np.array_equal(y.reshape(2, 96)[:, :64], np.stack([want, want]))


@prism("device")
@requires(block[1], thread[32])
def halves(s: ptr(int32) @ thread[64], y: ptr(int32) @ block[1]):
    """Callers may have 32 threads, or 96."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as mine, group(thread[1]):
        mine[0] = s[63 - t % 64]
    with group(thread[1]):
        atomic_add(s[t % 64], 1)


def test_in_code_of_no_whole_units_the_block_has_a_barrier() -> None:
    _, plan = entry_plan(halves)
    assert [(b.kind, b.unit) for b in plan.barriers] == [("block", BLOCK)]


# -- the check of what is placed --------------------------------------------------------------------------------------------


def test_a_barrier_that_is_placed_wrongly_is_no_program() -> None:
    program, plan = entry_plan(ringed)
    check(program)
    for to in loops(plan):
        with pytest.raises(InternalError, match=r"a barrier of thread\[256\] where not all its threads come"):
            check(moved(program, plan, to))
        with pytest.raises(InternalError, match=r"where not all its threads come"):
            entry_of(moved(program, plan, to), "sm_90a")


def test_so_is_one_that_a_role_lacks() -> None:
    parted = specialise(skew(prism.check(ringed)))
    check(parted)
    plan = parted.plans[parted.entry]
    for unit in (BLOCK, Perspective(Level.THREAD, 384), Perspective(Level.THREAD, 512)):
        for barrier in plan.barriers:
            with pytest.raises(InternalError):
                check(parted.with_plan(apart_with(plan, barrier, replace(barrier, unit=unit))))


# -- clusters -------------------------------------------------------------------------------------------------------------


@prism("device")
@requires(block[2], thread[32])
def turned(s: ptr(int32) @ block[2], y: ptr(int32) @ block[2]):
    t: int32 @ thread[1] = id()
    with partition(s, thread[1], t) as mine, group(thread[1]):
        mine[0] = t
    with partition(y, thread[1], t) as mine, group(thread[1]):
        mine[0] = s[63 - t]


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[2], thread[32])
def pairs(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    with partition(y, block[2], 64 * id()) as a, partition(z, block[2], 64 * id()) as b, group(block[2]):
        turned(a, b)


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[4], thread[32])
def fours(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    with partition(y, block[2], 64 * id()) as a, partition(z, block[2], 64 * id()) as b, group(block[2]):
        turned(a, b)


def test_a_cluster_has_one_barrier_of_all_its_blocks() -> None:
    y, z = np.zeros(128, np.int32), np.zeros(128, np.int32)
    pairs[4, 32](y, z, check=True)
    assert np.array_equal(z, np.tile(np.arange(64)[::-1], 2))
    with pytest.raises(CompileError, match=r"the clusters of `fours` have 4 blocks") as found:
        prism.check(fours)
    assert found.value.code == "race"


# -- units that have no barrier -------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[64])
def odd(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        some, rest = roles(thread, 48, 16)
        with claim(s, some) as m:
            with partition(m, thread[1], t) as mine, group(thread[1]):
                mine[0] = t
            with group(thread[1]):
                t = m[47 - t]
        with partition(out, thread[1], id(thread[1])) as mine, group(thread[1]):
            mine[0] = t


@prism("global")
@requires(grid[1], block[1], thread[64])
def reopened(y: ptr(int32) @ grid[1]):
    """The same, as the message says."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        some, rest = roles(thread, 48, 16)
        with claim(s, some) as m, partition(m, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with claim(s, some) as m, group(thread[1]):
            t = m[47 - t]
        with partition(out, thread[1], id(thread[1])) as mine, group(thread[1]):
            mine[0] = t


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[4], thread[32])
def halved(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    with partition(y, block[2], 64 * id()) as a, partition(z, block[2], 64 * id()) as b, group(block[2]):
        t: int32 @ thread[1] = id()
        with partition(a, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with partition(b, thread[1], t) as mine, group(thread[1]):
            mine[0] = a[63 - t]


def test_48_of_64_threads_have_no_barrier() -> None:
    with pytest.raises(CompileError) as found:
        prism.check(odd)
    text = str(found.value)
    assert found.value.code == "race" and "there is no barrier of thread[48]" in text
    assert "a barrier joins whole warps, 32 threads each" in text and "let these be 32 or 64 threads" in text
    assert "needs code at" not in text
    _, plan = entry_plan(reopened)
    assert [b.unit for b in plan.barriers] == [BLOCK]
    y = np.zeros(64, np.int32)
    reopened[1, 64](y, check=True)
    assert np.array_equal(y, [*range(47, -1, -1), *range(48, 64)])


def test_2_of_4_blocks_have_no_barrier() -> None:
    with pytest.raises(CompileError, match=r"there is no barrier of block\[2\]") as found:
        prism.check(halved)
    assert "a barrier for all blocks of a cluster, and none for some of them" in str(found.value)
