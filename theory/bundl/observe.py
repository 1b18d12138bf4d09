"""What the runs of a small program come to, over all schedules: the printed rules and the corrected ones are told apart by it.

`observe` visits every reachable state, or with `reduce` enough of them: a step that no other thread can see is taken alone.
`misdeed(seen, reference)` says how what was seen is bad, in one word of `KINDS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from theory.bundl import environments, step, typing
from theory.bundl.environments import Environments, state_faults
from theory.bundl.judgement import Rules
from theory.bundl.perspectives import BLOCK, GRID, Shape
from theory.bundl.step import Machine
from theory.bundl.syntax import Program
from theory.bundl.values import Array, State
from theory.bundl.work import OutOfBounds, Steps

KINDS = ("ill-typed", "stuck", "bounds", "deadlock", "not uniform", "wrong value", "preservation")


class Version(NamedTuple):
    """A type system, a semantics and an environment typing, each printed, corrected or mixed."""

    rules: Rules = typing.corrected
    steps: Steps = step.corrected
    tables: Environments = environments.corrected


CORRECTED = Version()


class TooMany(Exception):
    """The program has more states than were to be visited."""


@dataclass(frozen=True)
class Seen:
    """How the runs of a program end, over all schedules, and what was wrong on the way.

    `ends` has "ill-typed", or some of "done", "stuck", "bounds", "deadlock"; it is empty where no run ends. `why` says which
    rule refused the program or which premise failed.
    """

    ends: frozenset[str]
    why: frozenset[str] = frozenset()
    outcomes: frozenset[tuple[object, ...]] = frozenset()
    uneven: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    states: int = 0

    @property
    def good(self) -> bool:
        """Whether every run ends, in one result, with nothing wrong on the way."""
        return self.ends == {"done"} and not self.uneven and not self.faults and len(self.outcomes) == 1


class _Walk:
    """The states of one program, as they are met."""

    def __init__(self, program: Program, shape: Shape, version: Version, reduce: bool, limit: int) -> None:
        self.machine = Machine(version.steps, program, shape)
        self.reduce, self.limit = reduce, limit
        self.ends: set[str] = set()
        self.why: set[str] = set()
        self.outcomes: set[tuple[object, ...]] = set()
        self.states = 0

    def __iter__(self) -> Iterator[State]:
        start = self.machine.start()
        seen, work = {start}, [start]
        while work:
            state = work.pop()
            self.states += 1
            yield state
            moves, stuck = self.machine.successors(state)
            if stuck:
                bounds = all(isinstance(error, OutOfBounds) for _, error in stuck)
                self.ends.add("bounds" if bounds else "stuck")
                self.why.update(str(error) for _, error in stuck)
            elif not moves:
                self.ends.add("done")
                self.outcomes.add(tuple(self.machine.outcome(state).values()))
            elif all(move.spins for move in moves):
                self.ends.add("deadlock")
            alone = None
            if self.reduce:
                alone = next((move for move in moves if move.private and move.state not in seen), None)
            for move in moves if alone is None else [alone]:
                if move.state not in seen:
                    seen.add(move.state)
                    work.append(move.state)
            if len(seen) > self.limit:
                raise TooMany


def uneven_names(state: State, shape: Shape) -> Iterator[str]:
    """Yield the names bound at q whose values differ within a unit of q, among threads with the same left to do.

    For programs without loops, where the same left to do means the same point at the same time.
    """
    values: dict[tuple[object, ...], object] = {}
    for t, thread in enumerate(state.threads):
        block, place = divmod(t, shape.threads)
        for name, bound in thread.eta.names().items():
            q = bound.at
            if q.level == GRID:
                unit: tuple[int, ...] = ()
            else:
                unit = (block // q.size,) if q.level == BLOCK else (block, place // q.size)
            value = bound.value
            if isinstance(value, Array) and value.kind.value == "local":
                continue
            if values.setdefault((name, q, unit, thread.body), value) != value:
                yield f"{name} at {q}"


def observe(
    program: Program,
    shape: Shape,
    version: Version = CORRECTED,
    *,
    typed: bool = True,
    reduce: bool = True,
    uniform: bool = False,
    invariants: bool = False,
    until: str = "",
    limit: int = 30_000,
) -> Seen:
    """Run a program on every schedule, if it has a type (`typed=False`: even if not), and say what was seen.

    `until` is what need only be seen once: an end of a run, or "not uniform". `uniform` looks for names that differ within
    their unit, in all states; `invariants` checks that each state is well typed.
    """
    refused = typing.why_not(version.rules, program, shape) if typed else None
    if refused is not None:
        return Seen(frozenset(["ill-typed"]), frozenset([f"{refused[0]}: {refused[1]}"]))
    walk = _Walk(program, shape, version, reduce and not uniform, limit)
    differ: set[str] = set()
    faults: set[str] = set()
    for state in walk:
        if uniform:
            differ.update(uneven_names(state, shape))
        if invariants:
            faults.update(state_faults(walk.machine, version.rules, state, version.tables))
        if until in walk.ends or (until == "not uniform" and differ):
            break
    frozen = frozenset(walk.ends), frozenset(walk.why), frozenset(walk.outcomes), frozenset(differ), frozenset(faults)
    return Seen(*frozen, walk.states)


def misdeeds(seen: Seen, reference: Seen) -> frozenset[str]:
    """Return what is bad about `seen`, in words of KINDS; `reference` is what the corrected rules give."""
    found = set(seen.ends - {"done"})
    if not seen.ends:
        found.add("wrong value")  # no run ends: some test came out the other way
    if seen.uneven:
        found.add("not uniform")
    if seen.faults:
        found.add("preservation")
    expected = reference.outcomes
    if len(seen.outcomes) > 1 or (expected and seen.outcomes - expected):
        found.add("wrong value")
    return frozenset(found)
