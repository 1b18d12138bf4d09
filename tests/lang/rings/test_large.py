"""Functions with many rings and visits: what is too large is told, and what was not looked at stays.

Tests of prism/lang/rings: covers, edges, fences.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import run, schedules
from prism.lang import (
    CompileError,
    block,
    bulk_store,
    claim,
    const,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    thread,
    warp,
)
from prism.lang.barriers import walk_context
from prism.lang.pipeline import build
from prism.lang.rings import cycles
from prism.lang.rings import waits as rings_waits
from prism.lang.tree.plan import Plan, ProxyFence, Wait
from tests.generated.large import kernel_with
from tests.generated.programs import loaded
from tests.lang.plans import entry_plan


def plan_with(kind: str, number: int) -> Plan:
    """Return the plan of a kernel with so many of a kind."""
    with loaded(kernel_with(kind, number)) as names:
        program = package.check(names["kernel"])
    return program.plans[program.entry]


def waits(plan: Plan) -> set[tuple[str, int, int]]:
    """Return what a plan's stations wait for: the mbarrier, how many laps before, and on which line."""
    return {(op.barrier.name, op.lap, op.at.span.line) for op in plan.operations if isinstance(op, Wait)}


@pytest.mark.parametrize("kind", ["rings of one loop, used last", "visits of one ring", "loops with a ring"])
def test_what_there_was_no_time_for_stays_and_that_is_noted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_with(kind, 4)
    assert not any("looked at" in note.text for note in plan.notes)
    monkeypatch.setattr(walk_context, "MOST_SPARE", 0)
    long = plan_with(kind, 4)
    assert waits(plan) <= waits(long)
    assert "not all its waits, fences and barriers were looked at" in long.notes[-1].text


def test_a_part_of_what_may_go_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who fills the copy again need not wait for each of its users: they make their visits in order."""
    few = waits(plan_with("users of one ring", 12))
    monkeypatch.setattr(walk_context, "MOST_SPARE", 60_000)
    some = waits(plan_with("users of one ring", 12))
    monkeypatch.setattr(walk_context, "MOST_SPARE", 0)
    every = waits(plan_with("users of one ring", 12))
    assert few <= some <= every
    assert len(some) < len(every)


def test_a_ring_with_too_many_visits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "MOST_VISITS", 5)
    plan_with("visits of one ring", 2)
    with pytest.raises(CompileError, match="`s1` is too large: a round has 6 visits, and at most 5 are looked at"):
        plan_with("visits of one ring", 3)


def test_a_function_with_too_many_visits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings_waits, "MOST_VISITS", 6)
    plan_with("loops with a ring", 3)
    with pytest.raises(CompileError, match="`kernel` is too large: its rings are visited in 8 places, and at most 6"):
        plan_with("loops with a ring", 4)


def test_a_hundred_mbarriers_of_one_ring_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_context, "MOST_SPARE", 0)
    plan = plan_with("users of one ring", 110)
    assert len({barrier.name for barrier in plan.mbarriers}) == len(plan.mbarriers) == 111


# -- what a visit overwrites --------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], warp[2])
def backwards(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Each thread writes four elements, from the last of them back: 128 in all, the whole copy."""
    with partition(y, block[1], 128 * id()) as out, group(block[1]):
        s: shared(int32[128], ring=2)
        fillers, storer = roles(warp, 1, 1)
        for k in range(n):
            with claim(s, fillers) as w, partition(w, thread[1], lambda i: 4 * id() - i) as first, group(thread[1]):
                for i in range(0, 4):
                    first[i - 3] = x[k]
            with claim(s, fillers) as w, partition(w, thread[1], lambda i: 4 * id() - i) as again, group(thread[1]):
                for i in range(0, 4):
                    again[i - 3] = x[k] + i
            with claim(s, storer) as w, one(thread):
                bulk_store(out[0], w)


@prism("global")
@requires(grid[1], block[1], warp[2])
def halves(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The second visit writes two of each four elements: the others are those of the first."""
    with partition(y, block[1], 128 * id()) as out, group(block[1]):
        s: shared(int32[128], ring=2)
        fillers, storer = roles(warp, 1, 1)
        for k in range(n):
            with claim(s, fillers) as w, partition(w, thread[1], lambda i: 4 * id() - i) as first, group(thread[1]):
                for i in range(0, 4):
                    first[i - 3] = x[k]
            with claim(s, fillers) as w, partition(w, thread[1], lambda i: 4 * id() - i) as again, group(thread[1]):
                for i in range(0, 2):
                    again[i - 3] = x[k] + i
            with claim(s, storer) as w, one(thread):
                bulk_store(out[0], w)


@pytest.mark.parametrize(("kernel", "whole"), [(backwards, True), (halves, False)])
def test_what_is_written_from_the_last_element_back_is_the_whole_copy(kernel: object, whole: bool) -> None:
    program, plan = entry_plan(kernel)
    (lap,) = {op.barrier.cycle for op in plan.operations if isinstance(op, Wait)}
    assert lap.copies == 2
    assert any(isinstance(op, ProxyFence) for op in plan.operations)
    values = np.arange(8, dtype=np.int32)
    for schedule, seed in schedules(6):
        y = np.zeros(128, np.int32)
        run(program, 1, 64, [values, y, np.int32(5)], check=True, schedule=schedule, seed=seed)
        late = np.array([3, 2, 1, 0]) if whole else np.array([0, 0, 1, 0])
        assert (y == values[4] + np.tile(late, 32)).all()


def test_a_visit_that_covers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines see only what the visit that wrote all again made of a copy: nothing is asked of those before it."""
    from prism.lang.rings import fences

    found: list[bool] = []
    covers = fences.covers
    monkeypatch.setattr(fences, "covers", lambda *asked: found.append(covers(*asked)) or found[-1])
    build(backwards)
    assert found and all(found)
    found.clear()
    build(halves)
    assert False in found
