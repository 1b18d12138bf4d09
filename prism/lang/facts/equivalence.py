"""Accesses that stand for others: what a long function does to one object is compared once for each place, not for each line.

A function with few accesses keeps them all apart, so that each can be told. In one with more than `MANY`, an access to the same
elements as one before it is the same access made again: what it may meet, and what orders it, is decided by where it is and by
what has happened since, which a walk keeps with each pending access. So it is known twice only where it has two histories.
That holds for two accesses

- to one object, of one kind, through the same views, by the same threads, under the same conditions: an equal answer to each
  question that the walk asks of either;
- in one loop's body, or both in none: a walk asks whether an access went round a loop by what it is;
- outside of splits: arms are compared by which accesses are new in them;
- by threads themselves: a copy under way is one of its own.

Where `PLACES` different places of an object are accessed so, all others together are one access of which it is not known where
it is: then nothing is proved of it. It is ordered, refused or reported as not proved. Behind a loop, its accesses are taken for
ones of the code around it once `PENDING` are pending; of an index that the loop renews nothing is known there.

    m[0] = c; m[1] = m[0]; m[0] = m[1]      # two writes and two reads are compared; however often the lines are repeated
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from prism.lang.facts.definitions import Facts
from prism.lang.facts.touches import Pending, Touch, uses_of
from prism.lang.tree import Fragment, Pointer, SharedDeclare, Stmt, Symbol
from prism.lang.tree.walk import statements

MANY = 256
"""Accesses of a function that are all kept apart."""
PLACES = 64
"""Places of one object, in one loop's body and by the same threads, that are kept apart."""
PENDING = 64
"""Pending accesses above which those of a loop are taken for ones of the code around it, once it is left."""

Group = tuple[object, ...]


@dataclass(eq=False, slots=True)
class Alike:
    """Which access stands for which, in one function."""

    stand: dict[tuple[object, ...], Touch] = field(default_factory=dict)
    groups: dict[Group, int] = field(default_factory=dict)
    loops: dict[Touch, Stmt | None] = field(default_factory=dict)
    """The loop in whose body an access stands for others."""

    def of(self, touch: Touch, loop: Stmt | None, inside: tuple[object, ...]) -> Touch:
        """Return the access that stands for one in the body of a loop; `inside`: the way there, groups and arms."""
        arms = any(isinstance(entry, tuple) for entry in inside)
        if (
            arms
            or touch.how
            or touch.by is not None
            or touch.lands is not None
            or isinstance(touch.root.type, Fragment)
        ):
            return touch
        return self._of(touch, loop, inside)

    def _of(self, touch: Touch, loop: Stmt | None, inside: tuple[object, ...]) -> Touch:
        views = tuple((step.view, step.who) for step in touch.steps)
        group = (loop, inside, touch.root, touch.kind, views, touch.code, touch.path, touch.allowed)
        key = group if touch.where is None else (*group, touch.where.key)
        if key not in self.stand:
            number = self.groups[group] = self.groups.get(group, 0) + 1
            if number > PLACES:  # one stands for all others of the group, wherever they are
                key, touch = group, replace(touch, where=None, use=None)
        if key not in self.stand:
            self.stand[key], self.loops[touch] = touch, loop
        return self.stand[key]

    def leave_loop(
        self, pending: Pending, loop: Stmt, around: Stmt | None, inside: tuple[object, ...], renewed: frozenset[Symbol]
    ) -> Pending:
        """Return an access that stands in a loop's body as one of the code around the loop, which was left."""
        touch = pending.touch
        if touch is None or touch not in self.loops or self.loops[touch] is not loop:
            return pending
        if not touch.varies.isdisjoint(renewed):
            touch = replace(touch, where=None, use=None)
        return pending._replace(touch=self._of(touch, around, inside), aged=pending.aged - {loop})


def find_alike(known: Facts) -> Alike | None:
    """Return what a function with many accesses takes for the same; None for any other, and where there are rings.

    Visits of a ring are looked at one by one (rings.py).
    """
    every = list(statements(known.function.body))
    if sum(len(uses_of(known, statement)) for statement in every) <= MANY:
        return None
    rings = (s.symbol.type for s in every if isinstance(s, SharedDeclare))
    return None if any(isinstance(type_, Pointer) and type_.ring for type_ in rings) else Alike()
