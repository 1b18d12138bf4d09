"""The steps, one by one: what a thread does at a state, and what the machine makes of it."""

from __future__ import annotations

import pytest

from tests.theory.bundl.helpers import explore, fine
from theory.bundl import step
from theory.bundl.perspectives import Shape
from theory.bundl.spine import spine
from theory.bundl.step import Machine, Step
from theory.bundl.syntax import Program, Stmt
from theory.bundl.text import parse, parse_statement
from theory.bundl.values import Array, State

ONE = Shape(1, 1)


def run(machine: Machine, state: State, order: list[int]) -> State:
    """Let threads take steps in this order."""
    for thread in order:
        state = machine.thread_steps(state, thread)[0].state
    return state


def finish(text: str, shape: Shape = ONE, steps: step.Steps = step.corrected) -> tuple[list[Step], State]:
    """Run thread after thread to its end, and return the steps and the last state."""
    machine = Machine(steps, parse(text), shape)
    state, trace = machine.start(), []
    for _ in range(10_000):
        moves = [move for move in machine.steps(state) if not move.spins]
        if not moves:
            break
        trace.append(moves[0])
        state = moves[0].state
    assert machine.status(state) == "done"
    return trace, state


# What stands alone in a thread, and the rules that take it to skip.
RULES = [
    ("skip; skip", ["S-Seq-Done"]),
    ("let v : int @ thread[1] = 1 { v = 2 }", ["S-Decl", "S-Assn", "S-Scope-Done"]),
    ("split(1, 0) { skip; skip } { skip }", ["S-Seq-Done", "S-Split-Left-Done"]),
    ("group 1 { skip }", ["S-Group-Done"]),
    ("if 1 == 1 { skip } else { skip; skip }", ["S-If-True"]),
    ("if 1 != 1 { skip } else { skip; skip }", ["S-If-False", "S-Seq-Done"]),
    (
        "let v : int @ thread[1] = 0 { while v < 1 { v = 1 } }",
        ["S-Decl", "S-While", "S-If-True", "S-Assn", "S-Seq-Done", "S-While", "S-If-False", "S-Scope-Done"],
    ),
    ("alloc x : int[1] local { x[0] = 1 }", ["S-Alloc-Local", "S-Arr-Assn", "S-Scope-Done", "S-Seq-Done", "S-Leave"]),
    ("f(3)", ["S-Function-Call", "S-Assn", "S-Frame-Done"]),
    ("arm 0 of 1 { skip; skip }", ["S-Seq-Done", "S-Arm-Done"]),
    ("init p; dec p; wait p", ["S-Sync-Init", "S-Seq-Done", "S-Arrive", "S-Seq-Done", "S-Sync-Wait-Done"]),
    (
        "alloc x : int[1] local { alloc y : int[1] local { async f: x as z { async_memcpy f: z from y } } }",
        ["S-Alloc-Local", "S-Alloc-Local", "S-Async-Memcpy", "S-Async-Partition-Unwind", "S-Memcpy", "S-Seq-Done"]
        + ["S-Async-Partition-Done", "S-Scope-Done", "S-Seq-Done", "S-Leave"] * 1
        + ["S-Scope-Done", "S-Seq-Done", "S-Leave"],
    ),
]


@pytest.mark.parametrize(("text", "rules"), RULES)
def test_rules_of_one_thread(text: str, rules: list[str]) -> None:
    program = f"fun f(k : int @ thread[1]) @ thread[1] uses 0 {{ k = 4 }} destruct {{ destruct {{ {text} }} }}"
    trace, state = finish(program)
    assert [move.rule for move in trace] == [*rules, "S-Destruct-Done", "S-Destruct-Done"]
    assert trace[0].via[-2:] == ("S-Destruct-Block", "S-Destruct-Grid")
    assert not state.threads[0].eta and not state.threads[0].frames and not state.deferred


def at_threads(body: str, cells: str) -> str:
    return f"input a : int = [{cells}] lower g: a as b {{ destruct {{ lower h: b as c {{ destruct {{ {body} }} }} }} }}"


def test_partition_gives_each_part_its_elements() -> None:
    body = "let i : int @ thread[1] = id { partition p: c as d by 2 { group 2 { d[0] = i + 1; d[1] = 9 } } }"
    assert fine(at_threads(body, "0, 0, 0, 0"), Shape(1, 2)).outcomes == {((1, 9, 2, 9),)}


def test_partition_with_a_view() -> None:
    body = "let i : int @ thread[1] = id { partition p: c as d by 2 at (i, 2, 2) { group 2 { d[0] = i; d[1] = 9 } } }"
    assert fine(at_threads(body, "0, 0, 0, 0"), Shape(1, 2)).outcomes == {((0, 1, 9, 9),)}


def test_claim_is_one_arms() -> None:
    assert fine(at_threads("claim p: c as d at 1 arm 1 { d[0] = 7 }", "0, 0"), Shape(1, 2)).outcomes == {((7, 0),)}


def test_arrays_narrower_than_the_code() -> None:
    body = "let i : int @ thread[1] = id { alloc x : int[2] local @ thread[1] { x[i] = i + 1; WRITE } }"
    write = "partition p: c as d by 2 { group 2 { d[0] = x[0]; d[1] = x[1] } }"
    result = fine(at_threads(body.replace("WRITE", write), "0, 0, 0, 0"), Shape(1, 2))
    assert result.outcomes == {((1, 0, 0, 2),)}
    broader = explore("destruct { destruct { alloc x : int[1] local @ block[1] { skip } } }", ONE)
    assert broader.stuck == {"S-Alloc: block[1] in thread[1]"}


def test_blocks_have_shared_memory_of_their_own() -> None:
    program = """budget 4
    input a : int = [0, 0]
    lower g: a as b { destruct { partition q: b as c by 2 { let k : int @ block[1] = id { group 2 {
        alloc s : int[1] shared {
            lower h: s as u { destruct { u[0] = k } };
            lower m: c as d { destruct { d[0] = s[0] + 1 } } } } } } } }
    """
    result = fine(program, Shape(2, 1))
    assert result.outcomes == {((1, 2),)} and result.most_used == 4


def test_positions_after_split_and_group() -> None:
    program = at_threads(
        "let i : int @ thread[1] = id { partition p: c as d by 4 { split(2, 2) {"
        " let j : int @ thread[1] = id { group 2 { d[0] = j } } } { let j : int @ thread[1] = id {"
        " group 2 { let n : int @ thread[1] = id { d[0] = 10 * i + 100 * j + n } } } } } }",
        "5, 5, 5, 5",
    )
    _, state = finish(program, Shape(1, 4))
    assert Machine(step.corrected, parse(program), Shape(1, 4)).outcome(state) == {"a": (0, 1, 20, 130)}


def test_a_call_enters_its_units() -> None:
    program = at_threads(
        "partition p: c as d by 4 { let i : int @ thread[1] = id { f(i); group 4 { g(d, i) } } }", "0, 0, 0, 0"
    )
    functions = (
        "fun f(i : int @ thread[1]) @ thread[2] uses 0 { let k : int @ thread[1] = id { i = k } }"
        "fun g(v : int[]global @ thread[1], i : int @ thread[1]) @ thread[1] uses 0 { v[0] = i }"
    )
    trace, state = finish(functions + program, Shape(1, 4))
    assert Machine(step.corrected, parse(functions + program), Shape(1, 4)).outcome(state) == {"a": (0, 1, 2, 3)}
    inner = [move.state.threads[move.thread].eta["i"].value for move in trace if move.rule == "S-Assn"]
    assert inner == [0, 1, 0, 1]


def test_deadlock_is_not_stuck() -> None:
    program = at_threads("let i : int @ thread[1] = id { group 2 { if i == 0 { dec p; wait p } else { skip } } }", "0")
    assert fine(program.replace("dec p; wait p", "skip"), Shape(1, 2)).ends == {"done"}
    alone = at_threads("split(1, 1) { dec p } { dec p; wait p }; dec q; wait q", "0")
    assert explore(alone, Shape(1, 2)).ends == {"done"}
    parted = at_threads(
        "split(1, 1) { skip } { skip }; split(2, 0) { split(1, 1) { dec p } { skip }; wait p } { skip }", "0"
    )
    assert "stuck" in explore(parted, Shape(1, 2)).ends  # who has not arrived cannot wait


def test_a_spin_changes_nothing() -> None:
    machine = Machine(step.corrected, parse("dec p; wait p"), Shape(1, 2))
    state = run(machine, machine.start(), [0, 0])
    (move,) = machine.thread_steps(state, 0)
    assert move.spins and move.state is state
    assert machine.status(state) == "running"
    assert [status(machine, run(machine, state, [1, 1, 1])), status(machine, run(machine, state, [1, 0, 1, 1]))] == [
        "running",
        "done",
    ]


def status(machine: Machine, state: State) -> str:
    return machine.status(state)


def test_private_steps_touch_no_shared_memory() -> None:
    program = at_threads(
        "partition p: c as d by 2 { group 2 { let v : int @ thread[1] = d[0] { v = 1; d[0] = v } } }", "0, 0"
    )
    trace, _ = finish(program, Shape(1, 2))
    private = {move.rule for move in trace if move.private}
    public = {move.rule for move in trace if not move.private}
    assert private & public == {"S-Seq-Done"} & public
    assert public == {"S-Arrive", "S-Sync-Wait-Done", "S-Arr-Assn", "S-Decl"}


def test_out_of_bounds_is_not_stuck() -> None:
    program = "destruct { destruct { alloc x : int[1] local { x[1] = 1 } } }"
    machine = Machine(step.corrected, parse(program), ONE)
    state = run(machine, machine.start(), [0])
    assert machine.status(state) == "bounds"


def test_states_are_keys() -> None:
    machine = Machine(step.corrected, parse("let v : int @ grid[1] = 1 { v = 2; v = 1 }"), Shape(1, 2))
    one = run(machine, machine.start(), [0, 0, 1])
    other = run(machine, machine.start(), [1, 0, 0])
    assert one == other and hash(one) == hash(other) and len({one, other, machine.start()}) == 2


def test_printed_rules_that_work() -> None:
    text = "lower g: a as b { destruct { skip } }; let v : int @ grid[1] = a[0] { while v < 3 { v = v + 1 } }"
    _, state = finish(f"input a : int = [1] {text}", Shape(1, 2), step.printed)
    assert state.threads[1].eta["v"].value == 3  # there are no scopes: the name stays


def test_printed_partition_substitutes() -> None:
    program: Program = parse(at_threads("partition p: c as d by 2 { group 2 { d[0] = 1 } }", "0, 0"))
    machine = Machine(step.mix(step.corrected, step.printed, "S-Partition", "Fence"), program, Shape(1, 2))
    state = machine.start()
    while True:
        (move,) = machine.thread_steps(state, 0)
        if move.spins:
            state = machine.thread_steps(state, 1)[0].state
            continue
        state = move.state
        if move.rule == "S-Partition":
            break
    body: Stmt = parse_statement("init p; group 2 { (d + 0)[0] = 1 }; dec p; wait p")
    assert body in [spot.statement for spot in spine(state.threads[0].body, 0, Shape(1, 2))]
    assert isinstance(state.world["a"].value, Array)
