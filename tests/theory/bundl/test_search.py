"""The search for minimal programs finds those that the tables show, and none that is smaller."""

from __future__ import annotations

import pytest

from theory.bundl import step, typing
from theory.bundl.fault import Fault, forms
from theory.bundl.faults import FAULTS
from theory.bundl.judgement import GRID_CODE, Checker
from theory.bundl.observe import observe
from theory.bundl.perspectives import Shape
from theory.bundl.search import ALL_FORMS, Grammar, add_budget, bodies, fresh, shows, shrunk, smallest
from theory.bundl.syntax import Program, Seq, length, walk
from theory.bundl.text import parse, show

SEARCHED = [fault for fault in FAULTS.values() if fault.grammar is not None and fault.smallest]
AT_LEAST = 20
SECONDS = 8.0  # for the slowest, on one core; most take less than a tenth of one


@pytest.mark.parametrize("fault", SEARCHED, ids=lambda fault: fault.name)
def test_the_program_shown_is_the_smallest(fault: Fault) -> None:
    assert fault.grammar is not None
    found = smallest(
        fault.printed, fault.version, fault.grammar, fault.shape, seconds=10 * SECONDS, uniform=fault.uniform
    )
    assert found.program is not None
    assert found.size == length(parse(fault.text).body), show(found.program)


def test_enough_are_found() -> None:
    assert len(SEARCHED) >= AT_LEAST


@pytest.mark.fuzz
@pytest.mark.parametrize(
    "fault", [f for f in FAULTS.values() if f.grammar is not None and not f.smallest], ids=lambda fault: fault.name
)
def test_no_smaller_program_in_two_minutes(fault: Fault) -> None:
    assert fault.grammar is not None
    size = length(parse(fault.text).body) - 1
    found = smallest(
        fault.printed, fault.version, fault.grammar, fault.shape, seconds=120, limit=size, uniform=fault.uniform
    )
    assert found.program is None, show(found.program)


@pytest.mark.fuzz
@pytest.mark.parametrize("shape", [Shape(1, 1), Shape(1, 2), Shape(2, 1)], ids=str)
def test_the_corrected_rules_have_no_stuck_program(shape: Shape) -> None:
    grammar = Grammar(forms("lower partition claim split group destruct seq store let id read if alloc"))
    tried = 0
    for size in range(1, 7):
        for body in bodies(typing.corrected, grammar, shape, size):
            program = add_budget(fresh(Program(body, (), grammar.inputs)), typing.corrected, shape)
            seen = observe(program, shape, limit=200_000)
            assert seen.ends <= {"done", "bounds"}, show(program)
            tried += 1
    assert tried > 5_000


def test_all_small_bodies_have_a_type_and_their_size() -> None:
    grammar = Grammar(forms=ALL_FORMS)
    g = typing.root_context(Program(parse("skip").body, (), grammar.inputs))
    checker = Checker(typing.corrected, Shape(1, 2))
    for size in range(1, 6):
        found = bodies(typing.corrected, grammar, Shape(1, 2), size)
        assert len(set(found)) == len(found)
        for body in found:
            assert length(body) == size
            checker.stmt(g, GRID_CODE, body)
        assert found


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    found = smallest("stuck", FAULTS["S-Claim"].version, Grammar(forms("destruct group")), Shape(4, 1), limit=4)
    assert found.program is None and found.tried > 0
    assert smallest("stuck", FAULTS["S-Claim"].version, Grammar(), Shape(1, 2), seconds=0.0).program is None


def test_psi_are_made_fresh() -> None:
    program = fresh(parse("input a : int = [0] lower p: a as b { skip }; lower p: a as b { skip }"))
    assert isinstance(program.body, Seq)
    assert len({s.psi for s in walk(program) if hasattr(s, "psi")}) == 2


def test_shrinking() -> None:
    fault = FAULTS["T-Memcpy"]
    large = parse(
        fault.text.replace("memcpy a", "let x : int @ grid[1] = 0 { if x == 0 { skip } else { skip } }; memcpy a")
    )

    def keep(program: Program) -> bool:
        return shows(program, fault.printed, fault.version, fault.shape)

    assert keep(large)
    assert shrunk(large, keep) == parse(fault.text)
    assert step.corrected.name == "corrected"
