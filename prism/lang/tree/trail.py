"""The states that a walk went through, so that a walk with one barrier more or less goes only where that matters.

A walk that tries other barriers starts at the first statement whose barriers differ, with the state recorded before it, and
jumps ahead where the state is again what was recorded. So the barriers of a long function are tried in time that grows with
its length, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prism.lang.tree import Body, Break, Continue, For, Return, Stmt, While, children

MOST = 8
"""Walks of one statement list that are remembered: a loop's body is walked in several states."""

State = Mapping[Any, Any]
States = list[Any]


@dataclass(eq=False, slots=True)
class Trail:
    """What is recorded: by statement list, the states before each statement and after the last.

    `escaping`: lists of which the walk is not all in these states: ways leave them, or lead to loops with `deep` around them,
    which know more at each visit.
    """

    deep: int

    places: dict[Stmt, tuple[Body, int, Stmt | None]] = field(default_factory=dict)
    escaping: set[int] = field(default_factory=set)
    known: dict[int, list[States]] = field(default_factory=dict)
    fresh: dict[int, list[States]] = field(default_factory=dict)
    dirty: dict[int, list[int]] = field(default_factory=dict)

    def add(self, body: Body, parent: Stmt | None = None, depth: int = 0) -> tuple[bool, bool, bool]:
        """Learn a statement list, which has so many loops around it.

        Return whether it is left by a jump of a loop outside, and by a return, and whether loops are in it.
        """
        jumps = returns = loops = False
        for index, statement in enumerate(body):
            self.places[statement] = (body, index, parent)
            loop = isinstance(statement, While | For)
            found = [self.add(part, statement, depth + loop) for part in children(statement)]
            own = isinstance(statement, Break | Continue)
            jumps |= own or (not loop and any(jump for jump, _, _ in found))
            returns |= isinstance(statement, Return) or any(end for _, end, _ in found)
            loops |= loop or any(inner for _, _, inner in found)
        if jumps or returns or (loops and depth >= self.deep):
            self.escaping.add(id(body))
        return jumps, returns, loops

    def change(self, statements: Iterable[Stmt]) -> None:
        """Say whose barriers the next walk has changed."""
        self.dirty, self.fresh = {}, {}
        for statement in statements:
            at: Stmt | None = statement
            while at is not None:
                body, index, at = self.places[at]
                indices = self.dirty.setdefault(id(body), [])
                if index not in indices:
                    indices.append(index)
                    indices.sort()

    def keep(self) -> None:
        """Take the last walk's barriers for good."""
        for body in self.dirty:
            self.known[body] = self.fresh.get(body, [])
        self.dirty, self.fresh = {}, {}

    def find(self, body: Body, state: State) -> States | None:
        """Return the states of an earlier walk of a statement list from this state."""
        for states in self.known.get(id(body), ()):
            if states[0] is state or states[0] == state:
                return states
        return None

    def note(self, body: Body, states: States) -> None:
        """Record a walk of a statement list."""
        into = (self.fresh if id(body) in self.dirty else self.known).setdefault(id(body), [])
        into.append(states)
        del into[:-MOST]
