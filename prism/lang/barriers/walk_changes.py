"""What a step does to pending accesses, found out once for each access of a function.

Walks go over the same statements again and again, and most steps leave most accesses as they are. So each step knows which it
leaves, and sets of them are taken apart and joined as sets, which costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from prism.lang.facts.touches import Pending

One = Callable[[Pending], Pending | None]
_UNKNOWN: Any = object()


@dataclass(eq=False, slots=True)
class Change:
    """A step: `one` is what it makes of an access, None where it settles it; `same` those that it is known to leave.

    `sets`: what it made of all that were pending together: walks that try other barriers are alike for the most part.
    """

    one: One
    sets: dict[frozenset[Pending], frozenset[Pending]] = field(default_factory=dict)
    same: set[Pending] = field(default_factory=set)
    moved: dict[Pending, Pending | None] = field(default_factory=dict)

    def __call__(self, pending: frozenset[Pending]) -> frozenset[Pending]:
        """Return pending accesses after the step; the same object where nothing changes."""
        known = self.sets.get(pending)
        if known is None:
            known = self.sets[pending] = self._changed(pending)
        return known

    def _changed(self, pending: frozenset[Pending]) -> frozenset[Pending]:
        rest = pending - self.same
        if not rest:
            return pending
        fresh = {found for p in rest if (found := self._after(p)) is not None}
        kept = pending - rest
        return pending if fresh == rest else kept | fresh

    def _after(self, pending: Pending) -> Pending | None:
        found: Pending | None = self.moved.get(pending, _UNKNOWN)
        if found is not _UNKNOWN:
            return found
        found = self.one(pending)
        if found == pending:
            self.same.add(pending)
        else:
            self.moved[pending] = found
        return found


@dataclass(eq=False, slots=True)
class Changes:
    """The steps of a function: by a key that says all that decides what a step does. `thin`: what joins made of sets."""

    found: dict[Hashable, Change] = field(default_factory=dict)
    thin: dict[frozenset[Pending], frozenset[Pending]] = field(default_factory=dict)

    def of(self, key: Hashable, one: One) -> Change:
        """Return the step of a key."""
        change = self.found.get(key)
        if change is None:
            change = self.found[key] = Change(one)
        return change
