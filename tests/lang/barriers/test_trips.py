"""Parts that a loop opens anew, in the grid's code: ordered in cooperative kernels; in others refused, proved, or listed.

The reference machine's race detector judges: with the barriers there is no race, and without any one of them there is.

Tests of prism/lang/barriers/meetings.py.
"""

# ruff: noqa: B007 -- kernels: loops that only count, names that they declare
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import MachineError, run, schedules
from prism.lang import (
    CompileError,
    Kernel,
    atomic_add,
    block,
    const,
    count,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    thread,
)  # fmt: skip
from prism.lang.tree.plan import Program
from prism.lib.block import broadcast
from tests.examples import trips as t
from tests.examples.programs import Launch
from tests.mutation import caught, without_barriers

LAUNCHES: dict[str, Callable[[], Launch]] = {
    "odd_even": lambda: t.sorted_pairs(2, 3),
    **{kernel.__name__: lambda kernel=kernel: t.moved(kernel, 2, 3) for kernel in t.KERNELS},  # type: ignore[misc]
}


def program_of(launch: Launch) -> Program:
    return prism.check(launch.kernel, launch.template)


def right(launch: Launch) -> Callable[..., bool]:
    """Return what runs a program on the launch's arguments, and compares."""

    def go(program: Program, **options: Any) -> bool:
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.arguments]
        run(program, *launch.shape, given, **options)
        return all(np.array_equal(given[place], expected) for place, expected in launch.results.items())

    return go


def barriers(program: Program) -> list[str]:
    return [f"{b.kind}{' round the loop' * b.loop}" for p in program.plans.values() for b in p.barriers]


def unproved(kernel: Kernel) -> list[str]:
    program = prism.check(kernel)
    return [e.reason for plan in program.plans.values() for e in plan.elided if e.vague]


# -- cooperative ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_barrier_of_the_grid_between_the_trips(name: str) -> None:
    launch = LAUNCHES[name]()
    program = program_of(launch)
    wanted = {"two_views": 3}.get(name, 1)
    assert [b.split()[0] for b in barriers(program)] == ["grid"] * wanted
    assert not unproved(launch.kernel)
    tried = [("round-robin", 0), ("reversed", 0), ("random", 1), ("late", 0)]
    assert all(right(launch)(program, check=True, schedule=s, seed=seed) for s, seed in tried)


@pytest.mark.parametrize("name", LAUNCHES)
def test_without_it_the_machine_finds_a_race(name: str) -> None:
    launch = LAUNCHES[name]()
    for _, mutant in without_barriers(program_of(launch)):
        assert caught(mutant, right(launch), tuple(schedules(3))) == "machine-race"


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def apart(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], i + k * count(thread[1])) as m, group(thread[1]):
            m[0] += 1
    for k in range(n):
        with partition(y, thread[1], i) as m, group(thread[1]):
            m[0] += 1


def test_none_where_trips_or_units_are_proved_apart() -> None:
    """Between the loops, too: where they meet, it is in the first trip, and there each thread meets itself."""
    assert barriers(prism.check(apart)) == []


# -- not cooperative: refused as it would be without the loop -----------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_one(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], i + k) as m, group(thread[1]):
            m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def pairs(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], 2 * i + k % 2) as m, group(thread[1]):
            m[0] += m[1]


@prism("global")
@requires(grid[1], block[1], thread[32])
def blocks_in_turn(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    for k in range(n):
        with partition(y, block[1], 32 * ((b + k) % count(block[1]))) as part, group(block[1]):
            own: int32 @ thread[1] = id()
            with partition(part, thread[1], own) as m, group(thread[1]):
                m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def shifted_by_a_number(y: ptr(int32) @ grid[1], n: int32 @ grid[1], first: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for j in range(n):
        for k in range(4):
            with partition(y, thread[1], first + i + 2 * k + j) as m, group(thread[1]):
                if first + i + k < n:
                    m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def written_and_read(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], i + k) as m, partition(z, thread[1], i) as out, group(thread[1]):
            if k == 0:
                m[0] = i
            out[0] += m[0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def counted_up(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    k: int32 @ grid[1] = 0
    while k < n:
        with partition(y, thread[1], i + k) as m, group(thread[1]):
            m[0] += 1
        k += 1


@pytest.mark.parametrize("kernel", [counted_up, by_one, pairs, blocks_in_turn, shifted_by_a_number, written_and_read])
def test_refused_where_units_are_seen_to_meet(kernel: Kernel) -> None:
    with pytest.raises(CompileError) as caught:
        prism.check(kernel)
    assert caught.value.code == "grid-sync" and "in another trip of the loop" in str(caught.value)


# -- not cooperative: said to be believed ---------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_a_stride(y: ptr(int32) @ grid[1], n: int32 @ grid[1], stride: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], i + k * stride) as m, group(thread[1]):
            m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_a_width(y: ptr(int32) @ grid[1], n: int32 @ grid[1], width: int32 @ grid[1]):
    """A thread's own trips are apart; of two threads' nothing is known."""
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], width * i + k) as m, group(thread[1]):
            m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_steps(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """How far a trip goes is not a number of the text."""
    i: int32 @ thread[1] = id()
    first: int32 @ grid[1] = 0
    while first < n:
        with partition(y, thread[1], first + i) as m, group(thread[1]):
            m[0] += 1
        first += count(thread[1])


@prism("global")
@requires(grid[1], block[1], thread[32])
def from_memory(y: ptr(int32) @ grid[1], places: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], lambda j: places[i + k * count(thread[1])] + j) as m, group(thread[1]):
            m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def drawn(y: ptr(int32) @ grid[1], tickets: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Each block draws the number of its next part; its own threads are ordered from part to part."""
    for k in range(n):
        place: int32 @ block[1] = 0
        with group(block[1]):
            own: int32 @ thread[1] = id()
            got: int32 @ thread[1] = 0
            with group(thread[1]):
                if own == 0:
                    got = atomic_add(tickets[0], 1)
            place = broadcast(got, 0)
        with partition(y, block[1], 32 * place) as part, group(block[1]):
            own: int32 @ thread[1] = id()
            with partition(part, thread[1], (own + k) % 32) as m, group(thread[1]):
                m[0] += 1


@pytest.mark.parametrize("kernel", [by_a_stride, by_a_width, by_steps, from_memory, drawn])
def test_said_where_nothing_is_known(kernel: Kernel) -> None:
    found = unproved(kernel)
    assert found and all("in another trip" in reason for reason in found)
    assert "in another trip" in prism.explain(kernel)


def test_a_drawn_number() -> None:
    """Two blocks never have one part: the machine agrees. A block's own threads are ordered from part to part."""
    y, tickets = np.zeros(32 * 8, np.int32), np.zeros(1, np.int32)
    drawn[2, 32](y, tickets, 4, check=True, schedule="random", seed=3)
    assert np.array_equal(y, np.ones(32 * 8)) and tickets[0] == 8
    assert set(barriers(prism.check(drawn))) == {"block", "block round the loop"}


def test_the_machine_finds_what_was_not_proved() -> None:
    by_a_stride[2, 32](np.zeros(256, np.int32), 3, 64, check=True)
    with pytest.raises(MachineError) as caught:
        by_a_stride[2, 32](np.zeros(256, np.int32), 3, 32, check=True)
    assert caught.value.code == "machine-race"
    by_a_width[2, 32](np.zeros(256, np.int32), 3, 3, check=True)
    with pytest.raises(MachineError):
        by_a_width[2, 32](np.zeros(256, np.int32), 3, 2, check=True)


# -- not cooperative: proved ----------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_the_grid(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], i + k * count(thread[1])) as m, group(thread[1]):
            m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def the_same_each_trip(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(y, thread[1], i) as m, group(thread[1]):
            m[0] += k


@prism("global")
@requires(grid[1], block[1], thread[32])
def one_trip(y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(1):
        with partition(y, thread[1], i + k) as m, group(thread[1]):
            m[0] += k


@pytest.mark.parametrize("kernel", [by_the_grid, the_same_each_trip, one_trip])
def test_nothing_to_say_where_it_is_proved(kernel: Kernel) -> None:
    assert unproved(kernel) == [] and barriers(prism.check(kernel)) == []


@prism("global")
@requires(grid[1], block[1], thread[64])
def of_one_block(y: ptr(int32) @ grid[1], places: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    for k in range(n):
        with partition(y, block[1], lambda j: 64 * places[b] + j) as part, group(block[1]):
            own: int32 @ thread[1] = id()
            with partition(part, thread[1], own ^ k) as m, group(thread[1]):
                m[0] += 1


def test_a_units_own_threads_are_ordered_all_the_same() -> None:
    """That blocks do not meet is believed; the threads of one do, and its barrier is inferred."""
    program = prism.check(of_one_block)
    assert barriers(program) == ["block round the loop"] and unproved(of_one_block)
    y = np.zeros(128, np.int32)
    run(program, 2, 64, (y, np.array([1, 0], np.int32), 4), check=True)
    assert np.array_equal(y, np.full(128, 4))
    without = program.with_plan(program.plans[program.entry].drop_step(program.plans[program.entry].barriers[0]))
    with pytest.raises(MachineError):
        run(without, 2, 64, (y, np.array([1, 0], np.int32), 4), check=True)


# -- races="allow" --------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def allowed_and_read(z: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(z, thread[1], i // 2, races="allow") as mine, group(thread[1]):
        mine[0] = 1
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] += z[i + 1]


@prism("global")
@requires(grid[1], block[1], thread[32])
def read_and_allowed(z: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] += z[i + 1]
    with partition(z, thread[1], i // 2, races="allow") as mine, group(thread[1]):
        mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def allowed_and_parted(z: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(z, thread[1], i // 2, races="allow") as mine, group(thread[1]):
        mine[0] = 1
    with partition(z, thread[1], i) as mine, group(thread[1]):
        mine[0] += 1


@pytest.mark.parametrize("kernel", [allowed_and_read, read_and_allowed, allowed_and_parted])
def test_an_overlap_is_allowed_to_no_other_name(kernel: Kernel) -> None:
    with pytest.raises(CompileError) as caught:
        prism.check(kernel)
    assert caught.value.code == "grid-sync"


@prism("device")
@requires(grid[1], block[1], thread[32])
def marks(z: ptr(int32) @ grid[1], i: int32 @ thread[1]):
    with partition(z, thread[1], i // 2, races="allow") as mine, group(thread[1]):
        mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def allowed_twice(z: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    marks(z, i)
    with partition(z, thread[1], i // 4, races="allow") as mine, group(thread[1]):
        mine[0] = 1
    marks(z, i + 1)


@prism("global")
@requires(grid[1], block[1], thread[32])
def allowed_and_read_after_a_call(z: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    marks(z, i)
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] += z[i + 1]


@prism("global")
@requires(grid[1], block[1], thread[32])
def allowed_in_trips(z: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(z, thread[1], (i + 2 * k) // 2, races="allow") as mine, group(thread[1]):
            mine[0] = k


def test_what_is_believed_of_trips_is_said() -> None:
    """Though a thread's own trips are proved apart."""
    plan = prism.check(allowed_in_trips).plans
    assert {e.unproved for p in plan.values() for e in p.elided} == {"overlap"}


def test_partitions_that_allow_it_may_overlap_each_other() -> None:
    program = prism.check(allowed_twice)
    assert barriers(program) == []
    assert {e.unproved for e in program.plans[program.entry].elided} == {"overlap"}
    z = np.zeros(64, np.int32)
    allowed_twice[2, 32](z, check=True)
    assert np.array_equal(z, np.arange(64) < 33)
    with pytest.raises(CompileError, match="grid-sync"):
        prism.check(allowed_and_read_after_a_call)
