"""Rings, asynchronous copies and wgmma: one result on every schedule, for any number of copies and of trips.

Tests of prism/interpret: flights, tensors, wgmma.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run, schedules
from prism.lang.lower.specialise import specialise
from prism.lang.tree.plan import Program
from tests.examples import asynchronous as examples
from tests.interpret.async_kernels import CASES, RINGS, Case, loaded, nested, product, stations


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


def test_schedules_are_listed() -> None:
    assert schedules(3) == [(name, 0) for name in SCHEDULES[:3]]
    many = schedules(40)
    assert len(set(many)) == len(many) == 40
    assert {name for name, _ in many} == set(SCHEDULES)
