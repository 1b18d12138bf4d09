"""What the tests of Bundl share: every reachable state of a small program, summed up."""

from __future__ import annotations

from dataclasses import dataclass, field

from theory.bundl import step, typing
from theory.bundl.environments import state_faults
from theory.bundl.judgement import Rules
from theory.bundl.perspectives import Shape
from theory.bundl.step import Machine
from theory.bundl.syntax import Program
from theory.bundl.text import parse
from theory.bundl.work import Steps


@dataclass
class Summary:
    """How the runs of a program end, over all schedules."""

    states: int = 0
    ends: set[str] = field(default_factory=set)
    outcomes: set[tuple[object, ...]] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)  # rule: why
    faults: set[str] = field(default_factory=set)  # of preservation
    most_used: int = 0


def explore(
    program: Program | str,
    shape: Shape,
    steps: Steps = step.corrected,
    rules: Rules | None = None,
    limit: int = 30_000,
) -> Summary:
    """Visit every state; with `rules`, check that each is well typed."""
    machine = Machine(steps, parse(program) if isinstance(program, str) else program, shape)
    start = machine.start()
    seen, work = {start}, [start]
    result = Summary()
    while work:
        state = work.pop()
        result.states += 1
        moves, stuck = machine.successors(state)
        result.most_used = max(result.most_used, *[thread.used for thread in state.threads])
        if rules is not None:
            result.faults.update(state_faults(machine, rules, state))
        if stuck:
            result.stuck.update(str(error) for _, error in stuck)
            result.ends.add("stuck")
        elif not moves:
            result.ends.add("done")
            result.outcomes.add(tuple(machine.outcome(state).values()))
        elif all(move.spins for move in moves):
            result.ends.add("deadlock")
        # A step that no other thread can see goes first, and alone, unless that would go round in a circle.
        alone = next((move for move in moves if move.private and move.state not in seen), None)
        for move in [alone] if alone is not None else moves:
            if move.state not in seen:
                seen.add(move.state)
                work.append(move.state)
        assert len(seen) <= limit, "too many states for a test"
    return result


def fine(program: str, shape: Shape) -> Summary:
    """Check that a program types with the corrected rules and that all of its runs are well typed and end."""
    assert typing.why_not(typing.corrected, parse(program), shape) is None
    result = explore(program, shape, rules=typing.corrected)
    assert result.faults == set() and result.stuck == set()
    assert result.ends == {"done"}
    return result
