"""Rings that are visited in several places, one after the other: their phases go on, and every wait is needed and enough."""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.lang import (
    attr,
    block,
    bulk_load,
    bulk_store,
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
)  # fmt: skip
from prism.lang.diagnostics import CompileError
from prism.lang.tree.plan import Advance, Arrive, Wait
from prism.runtime.build import entry_of
from tests.generated.programs import loaded
from tests.lang.plans import entry_plan
from tests.mutation import mutants


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def rest(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], whole: int32 @ grid[1]):
    """A main loop, and one for the rest, whose rows count twice."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        row: shared(float32[64], ring=2)
        adders, loader = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for k in range(whole):
            with claim(row, loader) as coming, one(thread):
                bulk_load(coming, x[64 * k])
            with claim(row, adders) as here, group(thread[1]):
                total += here[t]
        for k in range(whole, n):
            with claim(row, loader) as coming, one(thread):
                bulk_load(coming, x[64 * k])
            with claim(row, adders) as here, group(thread[1]):
                total += 2 * here[t]
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = total


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def tiles(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], whole: int32 @ grid[1]):
    """The same in each trip of a loop around; a part by a condition; in the last place for each round a copy of its own kind."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        row: shared(float32[64], ring=3)
        adders, loader = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for again in range(3):
            if again != 1:
                for k in range(whole):
                    with claim(row, loader) as coming, one(thread):
                        bulk_load(coming, x[64 * k])
                    with claim(row, adders) as here, group(thread[1]):
                        total += here[t]
            with claim(row, loader) as coming, one(thread):
                bulk_load(coming, x[64 * again])
            with claim(row, adders) as here, group(thread[1]):
                total += 3 * here[63 - t]
            for k in range(whole, n):
                with claim(row, loader) as coming, one(thread):
                    bulk_load(coming, x[64 * k])
                with claim(row, adders) as here, group(thread[1]):
                    total += 2 * here[t]
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = total


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def together(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], whole: int32 @ grid[1]):
    """All threads fill and use; two rings, of which one is visited in the main loop alone."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        row: shared(float32[64], ring=2)
        other: shared(float32[64], ring=2)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for k in range(whole):
            with partition(row, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[64 * k + t]
            with partition(other, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[64 * k + t] + 1
            with partition(row, thread[64], 0) as here, partition(other, thread[64], 0) as there, group(thread[1]):
                total += here[63 - t] * there[(t + 1) % 64]
        for k in range(whole, n):
            with partition(row, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[64 * k + t]
            with partition(row, thread[64], 0) as here, group(thread[1]):
                total += 2 * here[63 - t]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = total


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def stored(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], whole: int32 @ grid[1]):
    """Stores that go on for a visit more; those of the second loop while the first one's last have ended."""
    with partition(y, block[1], 0) as out, group(block[1]):
        row: shared(float32[64], ring=2)
        makers, storer = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        for k in range(whole):
            with claim(row, makers) as made, partition(made, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[64 * k + t] + 1
            with claim(row, storer, in_flight=1) as done, claim(out, storer) as there, one(thread):
                bulk_store(there[64 * k], done)
        for k in range(whole, n):
            with claim(row, makers) as made, partition(made, thread[1], t) as mine, group(thread[1]):
                mine[0] = 2 * x[64 * k + t]
            with claim(row, storer, in_flight=1) as done, claim(out, storer) as there, one(thread):
                bulk_store(there[64 * k], done)


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def late(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1], whole: int32 @ grid[1]):
    """Stores that go on beyond the end of the place that issued them, which stands in the loop around the other one."""
    with partition(y, block[1], 0) as out, group(block[1]):
        row: shared(float32[64], ring=2)
        makers, storer = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        for again in range(n):
            if again < whole:
                with claim(row, makers) as made, partition(made, thread[1], t) as mine, group(thread[1]):
                    mine[0] = x[64 * again + t] + 1
                with claim(row, storer, in_flight=1) as done, claim(out, storer) as there, one(thread):
                    bulk_store(there[64 * again], done)
            for k in range(whole, n):
                if again == 0:
                    with claim(row, makers) as made, partition(made, thread[1], t) as mine, group(thread[1]):
                        mine[0] = 2 * x[64 * k + t]
                    with claim(row, storer, in_flight=1) as done, claim(out, storer) as there, one(thread):
                        bulk_store(there[64 * k], done)


X = np.arange(64 * 8, dtype=np.float32).reshape(8, 64) % 37


def of_rest(n: int, whole: int) -> Any:
    return X[:whole].sum(0) + 2 * X[whole:n].sum(0)


def of_tiles(n: int, whole: int) -> Any:
    ends = 3 * (2 * X[whole:n].sum(0)) + 3 * sum(X[k][::-1] for k in range(3))
    return 2 * X[:whole].sum(0) + ends


def of_together(n: int, whole: int) -> Any:
    first = sum((X[k][::-1] * np.roll(X[k] + 1, -1) for k in range(whole)), np.zeros(64, np.float32))
    return first + 2 * X[whole:n, ::-1].sum(0)


def of_stored(n: int, whole: int) -> Any:
    return np.concatenate([X[:whole] + 1, 2 * X[whole:n], np.zeros((8 - n, 64), np.float32)]).ravel()


KERNELS = {
    "rest": (rest, of_rest), "tiles": (tiles, of_tiles), "together": (together, of_together), "stored": (stored, of_stored),
    "late": (late, of_stored),
}  # fmt: skip
STORES = ("stored", "late")


def threads_of(name: str) -> int:
    return 64 if name == "together" else 96


@pytest.mark.parametrize("trips", [(5, 3), (4, 4), (3, 0), (0, 0), (6, 1), (2, 1)])
@pytest.mark.parametrize("name", KERNELS)
def test_the_phases_go_on(name: str, trips: tuple[int, int]) -> None:
    kernel, wanted = KERNELS[name]
    program = prism.check(kernel)
    for number, schedule in enumerate(SCHEDULES):
        y = np.zeros(512 if name in STORES else 64, np.float32)
        run(program, 1, threads_of(name), (X.ravel(), y, *trips), check=True, schedule=schedule, seed=2 * number)
        assert np.array_equal(y, wanted(*trips)), schedule


@pytest.mark.parametrize("name", KERNELS)
def test_one_count_of_rounds(name: str) -> None:
    _, plan = entry_plan(KERNELS[name][0])
    places = 3 if name == "tiles" else 2
    cycle = next(c for c in plan.cycles if c.name == "row")
    assert sum(isinstance(op, Advance) and op.cycle is cycle for op in plan.operations) == places
    for barrier in [b for b in plan.mbarriers if b.cycle is cycle]:
        assert sum(isinstance(op, Wait) and op.barrier is barrier for op in plan.operations) == places
    assert len({b.name for b in plan.mbarriers}) == len(plan.mbarriers)
    assert entry_of(prism.check(KERNELS[name][0]), "sm_90a").source.count("mbarrier.init") >= 1


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "late"])  # there, drains arrive for what is left
def test_each_wait_and_arrival_is_needed(name: str) -> None:
    """Without it, or with another count, the machine finds a fault in some schedule.

    Where all threads fill and use two rings, each wait brings news of the other ring too.
    """
    kernel, wanted = KERNELS[name]
    program, plan = entry_plan(kernel)
    unseen = [m.name for m in mutants(plan) if isinstance(m.step, Wait | Arrive | Advance) and not m.harmless
              and not caught(program.with_plan(m.plan), name, wanted)]  # fmt: skip
    assert [n for n in unseen if not (name == "together" and "Wait(" in n)] == []


def caught(program: Any, name: str, wanted: Any) -> bool:
    for schedule in SCHEDULES:
        for trips in ((7, 3), (6, 4)):
            y = np.zeros(512 if name in STORES else 64, np.float32)
            try:
                run(program, 1, threads_of(name), (X.ravel(), y, *trips), check=True, schedule=schedule, seed=4)
            except prism.interpret.MachineError:
                return True
            if not np.array_equal(y, wanted(*trips)):
                return True
    return False


# -- what is refused ------------------------------------------------------------------------------------------------------

HEAD = """\
from prism.lang import *
from prism.lang import prism


@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def kernel(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        row: shared(float32[64], ring=2)
        a, b, c = roles(warp, 1, 1, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for k in range(n):
            with claim(row, a) as to, one(thread):
                bulk_load(to, x[64 * k])
            with claim(row, b) as here, group(thread[1]):
                total += here[t]
"""
LOAD = "            with claim(row, a) as to, one(thread):\n                bulk_load(to, x[64 * k])\n"
OTHER = LOAD.replace("row, a", "row, c")
USE = "            with claim(row, b) as here, group(thread[1]):\n                total += 2 * here[t]\n"
CHANGE = (
    "            with claim(row, b) as to, partition(to, thread[1], t - 32) as mine, group(thread[1]):\n"
    "                mine[0] += t\n"
)
LOOP = "        for k in range(n):\n"


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        (LOOP + OTHER + USE, "it is not the same threads that make a visit"),
        (LOOP + LOAD + USE.replace("row, b", "row, c"), "it is not the same threads that make a visit"),
        (LOOP + LOAD + CHANGE, "what is done in a visit is not of the same kind"),
        (LOOP + LOAD + USE + USE.replace("row, b", "row, c"), "a round there has 2 visits, and here 3"),
        (LOOP + USE, "in a loop of its own"),
        (LOOP + LOAD, "a round there has 2 visits, and here 1"),
        (LOOP + LOAD + USE, ""),
    ],
)
def test_places_must_visit_alike(rest: str, found: str) -> None:
    assert refusal(HEAD + rest) == found or found in refusal(HEAD + rest) != ""


def refusal(text: str) -> str:
    with loaded(text) as names:
        try:
            prism.check(names["kernel"])
        except CompileError as error:
            assert error.code == "ring"
            return str(error)
    return ""


def test_a_round_has_no_other_place_s_visit_between_its_own() -> None:
    inner = (LOOP + LOAD + USE).replace("\n    ", "\n        ").replace("        for", "            for", 1)
    nested = HEAD + LOOP + LOAD + inner + USE
    assert "in a loop of its own" in refusal(nested), nested
