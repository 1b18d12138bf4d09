"""Edges: which visits of a ring wait for which, and which accesses have to come after which.

A visit waits for the last one before it that wrote the copy, and, if it writes itself, for those that have read it since. Where
the same threads make both, each to its own part alone, their own order is enough; whether that is so is a proof for each two
accesses, so it is not looked for beyond `Spare`: then somebody waits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field

from prism.lang.barriers import flow
from prism.lang.barriers.walk_context import Context
from prism.lang.facts.touches import Pending, Touch
from prism.lang.keep.bases import Frozen
from prism.lang.rings.covers import PROOF
from prism.lang.rings.loads import multicast_of
from prism.lang.rings.visits import Edge, Lap, Visit
from prism.lang.tree import Stmt, Symbol
from prism.lang.tree.plan import Path
from prism.lang.types.perspective import Perspective

PAIR = 10
"""What it costs to come to two accesses that conflict."""

Proved = dict[Hashable, bool]
"""Whether accesses meet only where one thread makes both, by what they are."""


class Edges(Frozen):
    """Edges of a function; for each visit those that begin and end there."""

    every: Sequence[Edge]
    begin: dict[Visit, list[Edge]] = field(init=False, default_factory=dict)
    end: dict[Visit, list[Edge]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for edge in self.every:
            self.begin.setdefault(edge.earlier, []).append(edge)
            self.end.setdefault(edge.later, []).append(edge)

    def is_followed(self, visit: Visit) -> bool:
        """Whether a later visit of the same round waits for one."""
        return any(edge.lap == 0 for edge in self.begin.get(visit, ()))


def edges(lap: Lap) -> Iterator[Edge]:
    """Yield which visits wait for which, ring by ring."""
    for ring, visits in lap.of_rings.items():
        for place, later in enumerate(visits):
            for earlier, behind in _before(visits, ring, place):
                first, second = next(clashes(earlier.touches(ring), later.touches(ring)))
                yield Edge(earlier, later, behind, ring, first, second)


def _before(visits: Sequence[Visit], ring: Symbol, place: int) -> list[tuple[Visit, int]]:
    """Return the visits that one waits for, each with how many laps before: the last writer, or the readers since.

    Where visits make nothing but atomic accesses, these are to one another what reads are.
    """
    found: list[tuple[Visit, int]] = []
    for back in range(1, len(visits) + 1):
        at = place - back
        # fill, use, use: the second use waits for the fill alone, as two reads never conflict; the fill of the next lap for
        # both. They have waited for what conflicts with them: the fill before, and that for all that came before it.
        if any(clash(visits[at], visit, ring) for visit, _ in found):
            break
        if clash(visits[at], visits[place], ring):
            found.append((visits[at], int(at < 0)))
    return found


def clash(one: Visit, two: Visit, ring: Symbol) -> bool:
    """Whether accesses of two visits conflict; of one with itself: whether it waits for every visit before it."""
    return next(clashes(one.touches(ring), two.touches(ring)), None) is not None


def conflicts(lap: Lap) -> Iterator[Edge]:
    """Yield which accesses have to come after which: of all visits back to the last writer, those that conflict."""
    for ring, visits in lap.of_rings.items():
        for place, later in enumerate(visits):
            for back in range(1, len(visits) + 1):
                earlier = visits[place - back]
                for first, second in clashes(earlier.touches(ring), later.touches(ring)):
                    yield Edge(earlier, later, int(back > place), ring, first, second)
                # Who wrote the copy has waited for all before it, as this function asks of that visit too. Not so who made atomic
                # accesses alone: others may have made such before it.
                if clash(earlier, earlier, ring):
                    break


def clashes(first: Sequence[Touch], second: Sequence[Touch]) -> Iterator[tuple[Touch, Touch]]:
    """Yield accesses that conflict."""
    kinds = {touch.kind for touch in second}
    for one in first:
        if any(flow.conflicting(one.kind, kind) for kind in kinds):
            yield from ((one, two) for two in second if flow.conflicting(one.kind, two.kind))


# -- whose own order is enough ------------------------------------------------------------------------------------------------


def by_itself(context: Context, edge: Edge) -> bool:
    """Rule *own*."""
    earlier, later = edge.earlier, edge.later
    if any(touch.how in ("load", "remote", "cp_async") for touch in earlier.touches()) or multicast_of(later):
        return False
    if not same_threads(earlier, later):
        return False
    # A copy that comes in asynchronously is not in its thread's order; what one thread does itself is, in any round.
    pairs, proved = clashes(earlier.touches(edge.ring), later.touches(edge.ring)), Proved()
    return earlier.crowd.single or all(by_one(context, edge, one, two, proved) for one, two in pairs)


def each_by_itself(context: Context, edge: Edge, proved: Proved) -> bool:
    """Whether the same threads make both accesses, each to its own part alone: their own order is enough."""
    same = same_threads(edge.earlier, edge.later) and not edge.earlier.crowd.single
    return same and by_one(context, edge, edge.first, edge.second, proved)


def same_threads(one: Visit, two: Visit) -> bool:
    """Whether the same threads make two visits: behind the last arm, groups leave nobody out."""
    return _arms(one.spot.path) == _arms(two.spot.path)


def _arms(path: Path) -> Path:
    return _arms(path[:-1]) if path and isinstance(path[-1], Perspective) else path


def by_one(context: Context, edge: Edge, one: Touch, two: Touch, proved: Proved) -> bool:
    """Whether two accesses of an edge's visits, by the same threads, meet only where one thread makes both, by itself.

    `proved`: what was found of accesses of these two visits before.
    """
    if one.how or two.how:
        return False
    key = (edge.earlier, edge.later, edge.lap, one.likeness, two.likeness)
    if key not in proved:
        proved[key] = all(_is_one_threads(context, pending, two) for pending in pending_ways(edge, one))
    return context.spare.spend(PAIR) and proved[key]


def _is_one_threads(context: Context, pending: Pending, two: Touch) -> bool:
    relation = flow.relate(context.objects, pending, two) if context.spare.spend(PROOF) else None
    return relation is not None and relation.unit is None


def pending_ways(edge: Edge, touch: Touch) -> list[Pending]:
    """Return an access of an edge's earlier visit as it may be pending at the later one: in the same round, or a lap later.

    Some loop around has gone round since then, but not each: in the next trip of one, those inside it may be in any trip.
    """
    if not edge.lap:
        return [Pending(touch, fenced=True)]
    # Of the loops that have gone round one is around all others. That is what a proof asks for: each may be it.
    ways = [frozenset({loop}) for loop in edge.earlier.rounds[0].loops] or [frozenset[Stmt]()]
    return [Pending(touch, aged=aged, loop=True, fenced=True) for aged in ways]
