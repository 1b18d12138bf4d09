"""Every barrier, wait, arrival, fence, count and number of bytes of a plan is needed: each fault in it is reported."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.lang.plan import Program
from tests.interpret.async_kernels import CASES, Case
from tests.mutation import LATER, THOROUGH, TRIED, UNAWAITED, caught, harmless, program_mutants

SMALL = ("written", "loaded", "stations", "copied", "grouped", "boxes", "swapped")
TRIPS = 9
SHARE = 0.99
"""Of the mutants that are wrong, at least so many are caught."""


@functools.cache
def program(name: str) -> Program:
    """Return a case's program; made once."""
    case = next(case for case in CASES if str(case) == name)
    return prism.check(case.kernel, case.template)


def survivors(case: Case, tried: tuple[tuple[str, int], ...]) -> tuple[int, list[str]]:
    """Return how many wrong mutants there are, and those that nothing reports; all others must be known to be right."""
    built = program(str(case))

    def right(mutant: Program, **options: Any) -> bool:
        arguments, place, wanted = case.arguments(TRIPS)
        run(mutant, case.blocks, case.threads, arguments, **options)
        return np.array_equal(arguments[place], wanted)

    assert all(right(built, schedule=schedule, seed=seed, check=True) for schedule, seed in tried)
    wrong, left = 0, []
    for name, mutant, reason in program_mutants(built):
        report = caught(mutant, right, tried)
        if reason:
            assert not report, f"{case}: {name} is said to be right ({reason}), and gives {report}"
            continue
        wrong += 1
        left += [] if report else [name]
    return wrong, left


@pytest.mark.parametrize("case", [c for c in CASES if c.kernel.__name__ in SMALL], ids=str)
def test_small_plans(case: Case) -> None:
    wrong, left = survivors(case, TRIED)
    assert wrong and not left


@pytest.mark.fuzz
def test_all_plans() -> None:
    total, survived = 0, []
    for case in CASES:
        wrong, left = survivors(case, THOROUGH)
        total += wrong
        survived += [f"{case}: {name}" for name in left]
    print(f"{total - len(survived)} of {total} mutants are caught")
    assert len(survived) <= (1 - SHARE) * total, survived


def test_which_are_right_after_all() -> None:
    """A copy that is given back a round later, and the arrivals after the last round: nobody waits for either."""
    built = program("product-K4-D2")
    found = {name: reason for name, _, reason in program_mutants(built) if reason}
    assert set(found.values()) == {LATER, UNAWAITED}
    assert all("Arrive(ta_tb_read)" in name for name in found)
    assert not any(reason for _, _, reason in program_mutants(program("loaded-K1")))
    assert harmless(built.plans[built.entry], built.plans[built.entry].operations[0], "") == ""
