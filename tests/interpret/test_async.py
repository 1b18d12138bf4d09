"""Rings, asynchronous copies and wgmma: one result on every schedule, for any number of copies and of trips.

Tests of prism/interpret: flights, tensors, wgmma.
"""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run, schedules
from prism.lang.lower.specialise import specialise
from prism.lang.tree.plan import Program, Wait
from tests.examples import asynchronous as examples
from tests.interpret.async_kernels import CASES, RINGS, Case, loaded, loads_for_some, nested, product, stations


@functools.cache
def program(name: str) -> Program:
    """Return a case's program; made once."""
    case = next(case for case in CASES if str(case) == name)
    return prism.check(case.kernel, case.template)


def compared(case: Case, built: Program, trips: int, **options: Any) -> Any:
    """Run a case, and compare with what it computes."""
    arguments, place, wanted = case.arguments(trips)
    run(built, case.blocks, case.threads, arguments, **options)
    assert np.array_equal(arguments[place], wanted)
    return arguments[place]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_schedule(case: Case, schedule: str) -> None:
    k = case.template.get("K", 2)
    for trips, check in [*((trips, True) for trips in sorted({0, 1, k - 1, k, k + 1})), (k + 1, False)]:
        compared(case, program(str(case)), trips, schedule=schedule, seed=trips, check=check)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_roles_change_nothing(case: Case) -> None:
    built = program(str(case))
    made = specialise(built)
    for schedule in SCHEDULES:
        compared(case, made, 5, schedule=schedule, check=True)
        compared(case, made, 5, schedule=schedule)
    one_warp = case.kernel.__name__ in ("grouped", "swapped")
    assert (made is built) == one_warp


@pytest.mark.parametrize("kernel", [loaded, stations, nested, product], ids=lambda kernel: kernel.__name__)
def test_the_number_of_copies_means_nothing(kernel: Any) -> None:
    found = [compared(case, program(str(case)), 9) for case in CASES if case.kernel is kernel]
    assert len(found) >= len(RINGS)
    assert all(np.array_equal(found[0], other) for other in found)


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES, ids=str)
def test_many_schedules(case: Case) -> None:
    for (schedule, seed), trips in itertools.product(schedules(60), (0, 3, 11)):
        compared(case, program(str(case)), trips, schedule=schedule, seed=seed, check=True)


@pytest.mark.fuzz
@pytest.mark.parametrize(("kernel", "threads", "copies"), [(examples.piped, 160, 3), (examples.in_turn, 128, 4)])
def test_a_million_trips(kernel: Any, threads: int, copies: int) -> None:
    """What a trip leaves of the ones before it depends on their order; not checked, for the time it would take."""
    trips, tile = 1_000_000, examples.TILE
    x = np.random.default_rng(0).integers(0, 2**32, trips * tile, dtype=np.uint32)
    y, wanted = np.zeros(tile, np.int32), np.ones(tile, np.uint32)
    kernel[1, threads](x.view(np.int32), y, np.int32(trips), template={"COPIES": copies})
    for row in x.reshape(trips, tile):
        wanted = np.uint32(3) * wanted + row[::-1]
    assert np.array_equal(y.view(np.uint32), wanted)


@pytest.fixture
def garbage(alone: None) -> Iterator[Callable[[], int]]:
    """Return a function that says how many objects have become garbage that only a search for cycles finds."""
    gc.collect()
    gc.disable()
    yield gc.collect
    gc.enable()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_nothing_of_a_launch_is_left(schedule: str, garbage: Callable[[], int]) -> None:
    """What the detector keeps, megabytes a launch, goes as the launch ends, and not when the process looks for cycles."""
    for case in (CASES[0], next(case for case in CASES if case.kernel is product)):
        for seed in (0, 2):
            compared(case, program(str(case)), 2, schedule=schedule, seed=seed, check=True)
            garbage()  # the program's own: it is made, and prepared, with its first launch
            compared(case, program(str(case)), 2, schedule=schedule, seed=seed, check=True)
            assert garbage() == 0, (str(case), seed)


def test_nothing_is_left_of_a_launch_that_failed(garbage: Callable[[], int]) -> None:
    case, built = CASES[0], program(str(CASES[0]))
    plan = built.plans[built.entry]
    mutant = built.with_plan(plan.drop_step(next(op for op in plan.operations if isinstance(op, Wait))))
    garbage()
    with pytest.raises(MachineError) as caught:
        compared(case, mutant, 5, check=True)
    caught.value.__traceback__ = None  # pytest's frames
    del caught
    assert garbage() < 50  # pytest's own


def test_schedules_are_listed() -> None:
    assert schedules(3) == [(name, 0) for name in SCHEDULES[:3]]
    many = schedules(40)
    assert len(set(many)) == len(many) == 40
    assert {name for name, _ in many} == set(SCHEDULES)


@pytest.mark.parametrize("mask", range(2, 16, 2))
def test_who_loads_for_others_alone_is_refused(mask: int) -> None:
    """Who brings the next copy would not wait for the readers of the block's own: the machine found arrivals in wrong rounds."""
    with pytest.raises(prism.CompileError, match="without the block itself"):
        prism.check(loads_for_some, {"K": 2, "MASK": mask})
