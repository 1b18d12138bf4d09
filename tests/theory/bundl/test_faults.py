"""Every row of the tables of faults: the printed rule, put back alone, does what the row says, and the corrected one does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prism.lang.types.perspective import Level, Perspective
from theory.bundl import environments, step, syntax, typing
from theory.bundl.environments import Env, state_faults, thread_faults
from theory.bundl.fault import Fault, printed_back
from theory.bundl.faults import FAULTS, run_fault
from theory.bundl.judgement import GRID_CODE, Checker, Code, Context, IllTyped
from theory.bundl.observe import CORRECTED, KINDS, TooMany, observe
from theory.bundl.perspectives import ONE_GRID, ONE_THREAD, Shape
from theory.bundl.search import shrunk
from theory.bundl.step import Machine, walk_states
from theory.bundl.substitute import substitute
from theory.bundl.text import parse, parse_statement, show
from theory.bundl.values import EMPTY, Array, Bound, InFlight, State, Thread

ROWS = [fault for fault in FAULTS.values() if fault.printed != "see test"]
LEMMAS = {fault.name: fault for fault in FAULTS.values() if fault.printed == "see test"}


@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.name)
def test_fault(fault: Fault) -> None:
    assert fault.printed in KINDS
    misdeeds, corrected = run_fault(fault)
    assert fault.printed in misdeeds
    assert corrected == fault.corrected


@pytest.mark.parametrize("fault", LEMMAS.values(), ids=lambda fault: fault.name)
def test_what_shows_a_lemmas_fault_is_good_itself(fault: Fault) -> None:
    assert observe(parse(fault.text), fault.shape, invariants=True).good


UNSEARCHED = [fault for fault in ROWS if fault.typed and not fault.smallest]  # the smallest cannot be shrunk


@pytest.mark.parametrize("fault", UNSEARCHED, ids=lambda fault: fault.name)
def test_nothing_can_be_left_out(fault: Fault) -> None:
    """No statement of the program can be replaced by skip, or by one of its own, with the fault still shown."""

    def shown(program: object) -> bool:
        try:
            misdeeds, corrected = run_fault(replace(fault, text=show(program)))  # type: ignore[arg-type]
        except TooMany:
            return False
        return fault.printed in misdeeds and corrected == fault.corrected

    program = parse(fault.text)
    small = shrunk(program, shown)
    assert syntax.length(small.body) == syntax.length(program.body), show(small)


def test_every_schedule_of_the_stuck_ones_is_stuck() -> None:
    # The main theorem holds of this program, with s' = s, and no run of it ends well.
    fault = FAULTS["theorem"]
    assert observe(parse(fault.text), fault.shape, fault.version).ends == {"stuck"}


# What no program's runs show by themselves. -------------------------------------------------------------------------

ZERO = Bound(ONE_GRID, 0)


def test_g_looks_at_the_last_entry_only() -> None:
    g = Context().bind("y", ONE_GRID, syntax.Base.INT).bind("x", ONE_GRID, syntax.Base.INT)
    only_x = Env(EMPTY.put("x", ZERO), EMPTY, EMPTY)
    s = parse_statement("y = 1")
    assert typing.check(typing.printed, g, GRID_CODE, s, Shape(1, 1)) == 0
    assert environments.printed.faults(g, only_x) == []
    assert environments.corrected.faults(g, only_x) == ["G: y is not bound"]
    machine = Machine(step.printed, parse("y = 1"), Shape(1, 1))
    state = State((Thread(s, only_x.eta),), (EMPTY,), EMPTY, EMPTY, EMPTY)
    assert [str(why) for _, why in machine.stuck_threads(state)] == ["S-Assn: y is bound nowhere"]


def test_no_value_is_async() -> None:
    fault = FAULTS["V-async"]
    type_ = syntax.Async(syntax.ArrayOf(syntax.Base.INT, syntax.Kind.LOCAL), "f")
    machine = Machine(step.corrected, parse(fault.text), fault.shape)
    met = 0
    for state in walk_states(machine, 1000):
        (thread,) = state.threads
        if "z" in thread.eta:
            met += 1
            env = Env(thread.eta, state.shared[0], state.world)
            assert thread.eta["z"].value == InFlight("f", "x")
            assert environments.corrected.value(env, thread.eta["z"].value, type_)
            assert not environments.printed.value(env, thread.eta["z"].value, type_)
    assert met


def test_what_is_deferred_has_no_type() -> None:
    local = syntax.ArrayOf(syntax.Base.INT, syntax.Kind.LOCAL)
    g = Context().bind("y", ONE_THREAD, local).bind("z", ONE_THREAD, syntax.Async(local, "f"))
    code = Code(ONE_THREAD, 1)
    with pytest.raises(IllTyped, match="T-Memcpy: z is not an array"):
        typing.check(typing.printed, g, code, parse_statement("memcpy z from y"), Shape(1, 1))
    fault = FAULTS["deferred"]
    printed = Machine(step.mix(step.corrected, step.printed, "S-Async-Memcpy"), parse(fault.text), fault.shape)
    corrected = Machine(step.corrected, parse(fault.text), fault.shape)
    assert {show(s) for s in deferred(printed)} == {"memcpy z from y"}
    assert {show(s) for s in deferred(corrected)} == {"memcpy x from y"}


def deferred(machine: Machine) -> set[object]:
    return {s for state in walk_states(machine, 1000) for waiting in state.deferred.values() for s in waiting}


def test_the_memory_lemmas_bound_is_passed() -> None:
    fault = FAULTS["memory"]
    machine = Machine(step.corrected, parse(fault.text), fault.shape)
    start = machine.start()
    assert typing.check_program(typing.printed, machine.program, fault.shape) == 8
    full = State((Thread(start.threads[0].body, EMPTY, 8),), start.shared, start.world, EMPTY, EMPTY)
    assert machine.steps(full)[0].state.threads[0].used == 16


def test_used_and_need_together_pass_the_budget() -> None:
    fault = FAULTS["used-plus-need"]
    steps = step.mix(step.corrected, step.printed, "S-Alloc")
    machine = Machine(steps, parse(fault.text), fault.shape)
    most = 0
    for state in walk_states(machine, 1000):
        (thread,) = state.threads
        g = environments.context_of(environments.env_of(state, 0, fault.shape))
        need = typing.check(typing.printed, g, GRID_CODE, thread.body, fault.shape)
        most = max(most, thread.used + need)
    assert most == 16 > machine.program.budget
    machine = Machine(step.corrected, parse(fault.text), fault.shape)
    assert not any(state_faults(machine, typing.corrected, state) for state in walk_states(machine, 1000))


def test_what_is_substituted_has_no_type() -> None:
    fault = FAULTS["substitution"]
    g = Context().bind("c", Perspective(Level.BLOCK, 1), syntax.ArrayOf(syntax.Base.INT, syntax.Kind.GLOBAL))
    code = Code(Perspective(Level.BLOCK, 2), 0)
    inside = parse_statement("let x : int @ thread[1] = c[0] { skip }")
    moved = substitute(inside, "c", syntax.Bop("+", syntax.Var("c"), syntax.Int(2)))
    for rules in (printed_back("T-Decl").rules, typing.corrected):
        with pytest.raises(IllTyped, match="T-Arr-Access: the expression is not an array"):
            typing.check(rules, g, code, moved, fault.shape)
    assert typing.check(typing.corrected, g, code, inside, fault.shape) == 0


def test_others_take_a_threads_type_away() -> None:
    # Each step leaves the thread that makes it well typed, and yet the state is not: the lemma holds, the theorem does not.
    fault = FAULTS["interference"]
    by_others = 0
    for version, expected in [(fault.version, True), (CORRECTED, False)]:
        machine = Machine(version.steps, parse(fault.text), fault.shape)
        checker, by_others = Checker(version.rules, fault.shape), 0
        for state in walk_states(machine, 10_000):
            well = [not thread_faults(machine, checker, state, t) for t in range(2)]
            for move in machine.steps(state):
                after = [not thread_faults(machine, checker, move.state, t) for t in range(2)]
                assert after[move.thread] or not well[move.thread]
                by_others += well[1 - move.thread] and not after[1 - move.thread]
        assert (by_others > 0) == expected


def test_views_of_a_place_are_arrays() -> None:
    # The printed sum of an array and a number has no value, moved or not; `e_bop_shift` is a reading of ours, for two rows.
    assert set(Array._fields) >= {"base", "step", "length"}
    assert "E-Bop" in str(observe(parse(FAULTS["S-Partition"].text), Shape(2, 1), FAULTS["S-Partition"].version).why)
