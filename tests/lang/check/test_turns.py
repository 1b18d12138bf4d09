"""Turns: units of a role go through a passage in their order, round after round; what is emitted, and what the machine does.

Tests of prism/lang/check/turns.py, prism/lang/rings/turns.py, prism/lang/lower/turns.py, prism/lang/emit/turns.py and
prism/interpret/turns.py.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import prism
from prism.explanation import explain
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    CUtensorMap, atomic_add, attr, block, claim, column, const, constexpr, count, float32, fragment, grid, group, half, id,
    int32, one, partition, ptr, requires, roles, row, shared, template, thread, tma_load, turns, warp, warpgroup, wgmma,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.emit import emit
from prism.lang.pipeline import as_emitted, lower
from prism.lang.tree import Group, Split, Turns
from prism.lang.tree.plan import Plan, Program, Wait, WaitGroup
from tests.mutation import caught


@mark("global")
@template(WARPS=constexpr(int))
@attr("__launch_bounds__(128, 1)")
@requires(grid[1], block[1], warp[4])
def warps(y: ptr(int32) @ grid[1], came: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """y[WARPS * k + w]: as which of all warp w came in round k."""
    with partition(y, thread[1], lambda i: i, races="allow") as mine, group(block[1]):
        workers, rest = roles(warp, WARPS, 1)
        for k in range(n):
            with turns(workers), workers:
                w: int32 @ warp[1] = id()
                with group(warp[1]), one(thread):
                    mine[WARPS * k + w] = atomic_add(came[0], 1)


@mark("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def in_the_roles_code(y: ptr(int32) @ grid[1], came: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The same for two warpgroups, in their role's code: a loop of its own, of trips that only they count."""
    with partition(y, thread[1], lambda i: i, races="allow") as mine, group(block[1]):
        workers, rest = roles(warpgroup, 2, 1)
        with workers:
            w: int32 @ warpgroup[1] = id()
            for k in range(n):
                with turns(workers):
                    with group(warpgroup[1]), one(thread):
                        mine[2 * k + w] = atomic_add(came[0], 1)


ROUNDS = 4


def order(program: Program, units: int, threads: int, schedule: str) -> np.ndarray:
    y, came = np.full(ROUNDS * units, -1, np.int32), np.zeros(1, np.int32)
    run(program, 1, threads, (y, came, ROUNDS), check=True, schedule=schedule, seed=1)
    return y


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_units_come_in_their_order_in_every_schedule(schedule: str) -> None:
    for size in (1, 2, 3):  # of one warp it is that warp's loop
        program = prism.check(warps, {"WARPS": size})
        assert np.array_equal(order(program, size, 128, schedule), np.arange(ROUNDS * size))
    assert np.array_equal(order(prism.check(in_the_roles_code), 2, 384, schedule), np.arange(ROUNDS * 2))
    assert np.array_equal(order(as_emitted(prism.check(in_the_roles_code)), 2, 384, schedule), np.arange(ROUNDS * 2))


def test_without_turns_the_order_is_the_schedules() -> None:
    """What the test above would see if a passage did nothing."""
    program = prism.check(warps, {"WARPS": 3})
    bare = without(program, Turns)
    assert not np.array_equal(order(bare, 3, 128, "reversed"), np.arange(ROUNDS * 3))


# -- what the machine finds -----------------------------------------------------------------------------------------------


def changed(program: Program, change) -> Program:
    """Return a program whose statements `change` gives anew, or leaves (None); its plan has nothing in it."""

    def again(body):
        made = []
        for s in body:
            found = change(s)
            if found is not None:
                made += found
                continue
            parts = {"body": again(s.body)} if hasattr(s, "body") else {}
            if isinstance(s, Split):
                parts = {"arms": tuple(replace(arm, body=again(arm.body)) for arm in s.arms)}
            made.append(replace(s, **parts) if parts else s)
        return tuple(made)

    entry = replace(program.entry, body=again(program.entry.body))
    assert not program.plans[program.entry].operations
    layout = program.layouts[program.entry]
    return Program(entry, (entry,), {entry: Plan(entry, ())}, {entry: layout})


def without(program: Program, kind: type) -> Program:
    return changed(program, lambda s: s.body if isinstance(s, kind) else None)


def test_rounds_that_differ_are_a_deadlock_in_every_schedule() -> None:
    """The checker refuses them: here the second unit is taken out of the role's code behind its back."""

    def shorten(s):
        if isinstance(s, Split) and s.arms[0].name == "workers":
            return (replace(s, arms=(replace(s.arms[0], size=128),)),)
        return None

    program = changed(prism.check(in_the_roles_code), shorten)
    for schedule in SCHEDULES:
        with pytest.raises(MachineError, match="deadlock") as caught:
            order(program, 2, 384, schedule)
        assert "the turn of unit 0 of `workers`: missing threads 128 to 255" in str(caught.value)


@mark("global")
@attr("__launch_bounds__(96, 1)")
@requires(grid[1], block[1], warp[3])
def told(y: ptr(int32) @ grid[1]):
    """What the first warp wrote in its turn is read by both after theirs."""
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(int32[64])
        workers, rest = roles(warp, 2, 1)
        with claim(s, workers) as own:
            t: int32 @ thread[1] = id()
            with turns(workers):
                with partition(own, thread[1], t) as slot, group(thread[1]):
                    slot[0] = t + 1
            with group(thread[1]):
                mine[0] = own[t % 32]


def test_a_turn_tells_nobody_what_was_done() -> None:
    """It is an order of time: a barrier is inferred all the same, outside of the passage, and missed where it is taken out."""
    program = prism.check(told)
    (barrier,) = program.plans[program.entry].barriers
    assert (barrier.kind, str(barrier.unit), type(barrier.before)) == ("named", "thread[64]", Group)
    mutant = program.with_plan(program.plans[program.entry].drop_step(barrier))
    for schedule in SCHEDULES:
        y = np.zeros(96, np.int32)
        run(program, 1, 96, (y,), check=True, schedule=schedule)
        assert np.array_equal(y[:64], np.tile(np.arange(1, 33), 2))
        with pytest.raises(MachineError, match="nothing orders them"):
            run(mutant, 1, 96, (y,), check=True, schedule=schedule)


@mark("global")
@attr("__launch_bounds__(96, 1)")
@requires(grid[1], block[1], warp[3])
def passed_by(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """What one warp reads in a trip is ordered before its write in the next: not by a barrier in another one's passage."""
    with partition(y, thread[1], id()) as mine, group(block[1]):
        one_: shared(int32[32])
        two: shared(int32[32])
        first, second, rest = roles(warp, 1, 1, 1)
        t: int32 @ thread[1] = id()
        for k in range(n):
            with claim(one_, first) as own, partition(own, thread[1], t) as slot, group(thread[1]):
                slot[0] = t + k
            with claim(one_, first) as own, group(thread[1]):
                mine[0] = own[31 - t]
            with claim(two, second) as own, group(thread[1]):
                mine[0] = own[t % 32] if k > 0 else 0
            with turns(second):
                for i in range(2):
                    with claim(two, second) as own, partition(own, thread[1], t - 32) as slot, group(thread[1]):
                        slot[0] = t + k + i - 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_who_takes_no_turns_passes_by(schedule: str) -> None:
    y = np.zeros(96, np.int32)
    run(prism.check(passed_by), 1, 96, (y, 3), check=True, schedule=schedule)
    assert np.array_equal(y[:32], 31 - np.arange(32) + 2) and np.array_equal(y[32:64], np.arange(32) + 33)


# -- what is emitted ------------------------------------------------------------------------------------------------------


def lines_of(kernel: object, **template: object) -> list[str]:
    source = emit(lower(prism.check(kernel, template or None))).source
    return [line.strip() for line in source[source.index('extern "C"') :].splitlines()]


def bars(lines: list[str]) -> list[str]:
    found = (re.search(r'"bar\.(sync|arrive) %0, %1;" :: "r"\((.*)\), "n"\((\d+)\)', line) for line in lines)
    return [" ".join(match.groups()) for match in found if match is not None]


def test_each_unit_has_a_named_barrier() -> None:
    """The last unit lets the first one in before any loop; a unit waits at its own barrier, and arrives at the next one's."""
    lines = lines_of(in_the_roles_code)
    assert bars(lines) == [
        "arrive 1u 256",
        "sync 1u + (threadIdx.x) / 128u 256",
        "arrive 1u + ((threadIdx.x) / 128u + 1u) % 2u 256",
    ]
    assert "the first turn" in lines[next(n for n, line in enumerate(lines) if "bar.arrive" in line) - 1]
    assert bars(lines_of(warps, WARPS=3))[1:] == [
        "sync 1u + (threadIdx.x) / 32u 64",
        "arrive 1u + ((threadIdx.x) / 32u + 1u) % 3u 64",
    ]
    assert bars(lines_of(warps, WARPS=1)) == []


def test_the_numbers_are_no_other_barriers() -> None:
    assert bars(lines_of(told)) == [
        "arrive 2u 64",
        "sync 2u + (threadIdx.x) / 32u 64",
        "arrive 2u + ((threadIdx.x) / 32u + 1u) % 2u 64",
        "sync 1u + threadIdx.x / 64u 64",
    ]


@mark("device")
@requires(block[1], warp[4])
def come(mine: ptr(int32) @ thread[1], came: ptr(int32) @ grid[1], k: int32 @ block[1]):
    """Three warps come once more. It has turns, so it is compiled into its callers."""
    workers, rest = roles(warp, 3, 1)
    with turns(workers), workers:
        w: int32 @ warp[1] = id()
        with group(warp[1]), one(thread):
            mine[3 * k + w] = atomic_add(came[0], 1)


@mark("global")
@attr("__launch_bounds__(128, 1)")
@requires(grid[1], block[1], warp[4])
def called_twice(y: ptr(int32) @ grid[1], came: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], lambda i: i, races="allow") as mine, group(block[1]):
        come(mine, came, 0)
        for k in range(1, n):
            come(mine, came, k)


def test_a_function_with_turns_has_one_passage_wherever_it_is_called() -> None:
    """Its rounds go on from call to call: the three barriers are one passage's, and the last warp begins it once."""
    lines = bars(lines_of(called_twice))
    assert [line.split()[0] for line in lines] == ["arrive", "sync", "arrive", "sync", "arrive"]
    assert lines[1:3] == lines[3:5]
    for schedule in SCHEDULES:
        assert np.array_equal(order(prism.check(called_twice), 3, 128, schedule), np.arange(ROUNDS * 3))


# -- beside rings ---------------------------------------------------------------------------------------------------------


@mark("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def products(
    q: ptr(const(half)) @ grid[1], k: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1], c: ptr(float32) @ grid[1], n: int32 @ grid[1],
):  # fmt: skip
    """c = q @ (sum of k's tiles).T + q @ (sum of v's).T: two warpgroups, each with 64 rows of q."""
    with partition(c, block[1], lambda i, j: 64 * i + j) as out, group(block[1]):
        q_tile: shared(half[128, 64], swizzle=128)
        k_tile: shared(half[64, 64], ring=2, swizzle=128)
        v_tile: shared(half[64, 64], ring=2, swizzle=128)
        one_: fragment(float32, 64, 64) @ warpgroup[1] = 0
        two: fragment(float32, 64, 64) @ warpgroup[1] = 0
        read: float32 @ thread[1] = 0
        w: int32 @ warpgroup[1] = id()
        t: int32 @ thread[1] = id()
        consumers, producer = roles(warpgroup, 2, 1)
        with partition(q_tile, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(t, 128 * 64, 384):
                mine[e] = q[e]
        for j in range(n):
            with claim(k_tile, producer) as k_in, one(thread):
                tma_load(k_in, k[64 * j, 0])
            with claim(v_tile, producer) as v_in, one(thread):
                tma_load(v_in, v[64 * j, 0])
            with turns(consumers):
                with claim(k_tile, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                    wgmma(one_, q_tile[64 * w, 0], k_now)
                with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                    wgmma(two, q_tile[64 * w, 0], v_now)
            with consumers:  # what the next passage adds to is waited for here, one after the other
                with group(thread[1]):
                    read += 0 * one_[0]
                with group(thread[1]):
                    read += 0 * two[0]
        with partition(out, thread[1], lambda i, j: (i, j), races="allow") as mine, consumers:
            u: int32 @ warpgroup[1] = id()
            with group(thread[1]):
                for i in range(count(one_)):
                    mine[64 * u + row(one_, i), column(one_, i)] = one_[i] + two[i] + read


def test_a_passage_is_left_before_its_wgmmas_have_ended() -> None:
    """In it stand waits for tiles, wgmmas and their groups; what waits for these stands behind."""
    lines = lines_of(products)
    start = next(n for n, line in enumerate(lines) if "// a turn of" in line)
    end = next(n for n, line in enumerate(lines) if "// the next turn of" in line)
    words = ("px_mbarrier_wait", "px_wgmma", "commit_group", "wait_group", "bar.", "px_arrive")
    inside = [word for line in lines[start + 1 : end] for word in words if word in line.partition("//")[0]]
    assert (
        inside == ["px_mbarrier_wait", "px_wgmma", "commit_group"] * 2
    )  # copies are given back where these are waited for
    waits = [line.partition("//")[0] for line in lines[end:] if "wgmma.wait_group" in line]
    assert ["aligned 1" in waits[0], "aligned 0" in waits[1]] == [True, True]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rings_in_a_passage_run_in_every_schedule(schedule: str) -> None:
    random = np.random.default_rng(3)
    q, k, v = (random.integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (128, 192, 192))
    c = np.zeros((128, 64), np.float32)
    run(prism.check(products), 1, 384, (q, k, v, c, 3), check=True, schedule=schedule, seed=2)
    parts = [np.float32(q) @ np.float32(sum(x[64 * j : 64 * j + 64] for j in range(3))).T for x in (k, v)]
    assert np.array_equal(c, sum(parts))


def test_waits_in_a_passage_are_missed() -> None:
    """The waits for tiles, which stand in it, and those for wgmmas, which stand behind it: each of them deleted is found."""
    q, k, v = (np.random.default_rng(4).integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (128, 192, 192))
    program = prism.check(products)
    wanted = np.zeros((128, 64), np.float32)
    run(program, 1, 384, (q, k, v, wanted, 3), check=True)

    def right(mutant: Program, **options: object) -> bool:
        c = np.zeros((128, 64), np.float32)
        run(mutant, 1, 384, (q, k, v, c, 3), **options)
        return np.array_equal(c, wanted)

    plan = program.plans[program.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait | WaitGroup)]
    steps = [op for op in waits if op.side == "before" and not getattr(op, "lap", 0)]
    assert [type(op) for op in steps] == [Wait, Wait, WaitGroup, WaitGroup]
    for op in steps:
        assert caught(program.with_plan(plan.drop_step(op)), right)


def test_the_turns_are_explained() -> None:
    text = explain(prism.check(in_the_roles_code))
    assert "+                 wait for its thread[128]'s turn  by each thread of workers (threads 0 to 255)" in text
    assert "let the next thread[128] in  by each thread of workers" in text
    assert "1 turn wait" in text
