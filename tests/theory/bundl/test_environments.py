"""Environment typing: V-*, G-*, and what `state_faults` finds in states that no well-typed program reaches."""

from __future__ import annotations

import pytest

from theory.bundl import environments as env
from theory.bundl import step, syntax, typing
from theory.bundl.judgement import Context
from theory.bundl.perspectives import ONE_BLOCK, ONE_THREAD, Shape
from theory.bundl.step import Machine
from theory.bundl.text import parse, parse_statement
from theory.bundl.values import EMPTY, Array, Bound, Closure, InFlight, State, Thread, Value

INTS = syntax.ArrayOf(syntax.Base.INT, syntax.Kind.SHARED)
PLACE = ("s", 0, (1, 1, 0))
WHOLE = Array(PLACE, 0, 1, 2, syntax.Base.INT, syntax.Kind.SHARED)
CELLS = EMPTY.put((PLACE, 0), 5).put((PLACE, 1), 6)
HERE = env.Env(EMPTY.put("s", Bound(ONE_THREAD, WHOLE)), CELLS, EMPTY)
F = syntax.Function("f", (), ONE_THREAD, 0, parse_statement("skip"))


@pytest.mark.parametrize(
    ("value", "type_", "printed", "corrected"),
    [
        (1, syntax.Base.INT, True, True),
        (True, syntax.Base.INT, False, False),
        (True, syntax.Base.BOOL, True, True),
        (1.0, syntax.Base.FLOAT, True, True),
        (1, syntax.Base.FLOAT, False, False),
        (WHOLE, INTS, True, True),
        (WHOLE, syntax.ArrayOf(syntax.Base.BOOL, syntax.Kind.SHARED), False, False),
        (WHOLE, syntax.ArrayOf(syntax.Base.INT, syntax.Kind.GLOBAL), True, False),  # V-Array looks at cells only
        (WHOLE._replace(length=3), INTS, False, False),
        (WHOLE._replace(base=1), INTS, False, False),
        (WHOLE._replace(base=1, view=True), INTS, False, True),  # a view that reaches out
        (WHOLE._replace(length=3, view=True), INTS, False, True),
        (Closure(F), F.type, True, True),
        (InFlight("q", "s"), syntax.Async(INTS, "q"), False, True),
        (InFlight("q", "s"), syntax.Async(INTS, "r"), False, False),
    ],
)
def test_values(value: Value, type_: syntax.Type, printed: bool, corrected: bool) -> None:
    assert (env.printed.value(HERE, value, type_), env.corrected.value(HERE, value, type_)) == (printed, corrected)


def test_printed_rules_look_at_the_last_entry_only() -> None:
    g = Context().bind("lost", ONE_THREAD, syntax.Base.INT).bind("s", ONE_THREAD, INTS)
    apart = HERE._replace(sigma=CELLS.put("s", Bound(ONE_THREAD, WHOLE)))
    assert env.printed.faults(g, apart) == []
    assert env.corrected.faults(g, HERE) == ["G: lost is not bound"]


def test_perspectives_are_compared() -> None:
    (fault,) = env.corrected.faults(Context().bind("s", ONE_BLOCK, INTS), HERE)
    assert "not block[1]" in fault


def test_a_context_can_be_read_off() -> None:
    assert dict(env.context_of(HERE).names()).keys() == {"s"}


PROGRAM = parse("input a : int = [0] destruct { destruct { let v : int @ thread[1] = 1 { v = 2 } } }")


def test_states_out_of_reach() -> None:
    machine = Machine(step.corrected, PROGRAM, Shape(1, 1))
    good = machine.steps(machine.start())[0].state
    assert env.state_faults(machine, typing.corrected, good) == []
    (thread,) = good.threads

    def faults(changed: Thread, deferred: object = None) -> list[str]:
        phi = EMPTY.put(("q", 0, 0), frozenset([syntax.Memcpy("a", "a")])) if deferred else good.deferred
        state = State((changed,), good.shared, good.world, good.sync, phi)
        return env.state_faults(machine, typing.corrected, state)

    assert "V: v is True" in faults(Thread(thread.body, EMPTY.put("v", Bound(ONE_THREAD, True))))[0]
    assert "G: v is not bound" in faults(Thread(thread.body, EMPTY))[0]
    assert "holds 4 bytes" in faults(Thread(thread.body, thread.eta, 4))[0]
    assert "1 calls kept aside" in faults(Thread(thread.body, thread.eta, 0, (EMPTY,)))[0]
    assert "T-Assn" in faults(Thread(parse_statement("v = 1"), thread.eta))[0]
    assert "q is not open" in faults(thread, deferred=True)[0]


def test_walking_terms() -> None:
    assert [type(part).__name__ for part in syntax.parts(PROGRAM)] == ["Destruct", "Input"]
    assert sum(1 for _ in syntax.walk(PROGRAM)) == 8
