"""Which waits of a ring's visits are implied by others: the rest is what is needed.

Cycles that go round together, one round of each a trip of their loop, are looked at together. To see whether a visit's end is
known where it has to be, the trips between are gone through in order, with what each thread knows: a thread knows its own
accesses after it has made them; with an arrival for a whole warp the warp's threads tell one another; and who waits for a visit
learns what all its threads knew when it ended. Every schedule has at least this order, whatever runs ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism.lang.facts.budget import most_threads
from prism.lang.rings.cycles import jumps
from prism.lang.rings.visits import Edge, Lap, Visit, late
from prism.lang.tree import Break, Function, Return
from prism.lang.tree.plan import Path
from prism.lang.types.perspective import WARP, Perspective


def together(laps: Sequence[Lap]) -> list[list[Lap]]:
    """Return cycles grouped into those that make their rounds in the same trips."""
    groups: list[list[Lap]] = []
    for lap in laps:
        for group in groups:
            if group[0].home is lap.home and _in_step([*group, lap]):
                group.append(lap)
                break
        else:
            groups.append([lap])
    return groups


def _in_step(laps: Sequence[Lap]) -> bool:
    """Whether a trip that makes a round of one cycle makes one of each, or is the loop's last ever."""
    first, last = min(lap.range[0] for lap in laps), max(lap.range[1] for lap in laps)
    outermost = len(laps[0].rounds[0].loops) == 1
    found = jumps(laps[0].home, first, last)
    return all(isinstance(jump, Return) or (isinstance(jump, Break) and outermost) for jump in found)


@dataclass(frozen=True, eq=False, slots=True)
class Parade:
    """The visits of cycles that go together, in the order of the text, with the threads of each.

    Threads that make the same visits, of warps that do, know the same of others: two of each stand for all. `warps` has the
    warp of each one that is left.
    """

    visits: tuple[Visit, ...]
    threads: tuple[tuple[int, ...], ...]
    warps: tuple[int, ...]

    def implied(self, edge: Edge, needed: Sequence[Edge]) -> bool:
        """Whether the waits for `needed` alone see to it that `edge` holds."""
        begin, end = self.visits.index(edge.earlier), self.visits.index(edge.later)
        knows = _Knowledge(self, edge.earlier, needed)
        trips = edge.lap * edge.earlier.cycle.copies
        for trip in range(trips + 1):
            for place in range(begin if trip == 0 else 0, len(self.visits)):
                if (trip, place) == (trips, end):
                    knows.wait(trip, place, before=edge.later.first_index([edge.ring]))
                    return knows.all_know(place)
                knows.visit(trip, place)
        return False


def parade(function: Function, laps: Sequence[Lap]) -> Parade:
    """Return the visits of some cycles in the order of the text."""
    visits = sorted((visit for lap in laps for visit in lap.visits), key=lambda visit: visit.order)
    sets = [members(function, visit.spot.path) for visit in visits]
    made = [tuple(thread in own for own in sets) for thread in range(most_threads(function))]
    kept, warps = standing_for(made)
    threads = tuple(tuple(k for k, thread in enumerate(kept) if thread in own) for own in sets)
    return Parade(tuple(visits), threads, warps)


def standing_for(made: Sequence[tuple[bool, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return threads that stand for all, and the warp of each; `made` has, for each of a block, to which places it comes."""
    kept: list[int] = []
    warps: list[int] = []
    alike: dict[tuple[tuple[bool, ...], ...], int] = {}
    for warp in range(0, len(made), WARP):
        kind = tuple(made[warp : warp + WARP])
        alike[kind] = alike.get(kind, 0) + 1
        if alike[kind] <= 2:
            for lane, own in enumerate(kind):
                if any(own) and kind[:lane].count(own) < 2:
                    kept.append(warp + lane)
                    warps.append(warp)
    return tuple(kept), tuple(warps)


def members(function: Function, path: Path) -> frozenset[int]:
    """Return the threads that come along a path from the block, of as many as a block may have."""
    found = []
    for thread in range(most_threads(function)):
        at, inside = thread, True
        for entry in path:
            if isinstance(entry, Perspective):
                at %= entry.size
            else:
                inside = inside and entry[1] <= at < entry[1] + entry[2]
                at -= entry[1]
        found += [thread] if inside else []
    return frozenset(found)


class _Knowledge:
    """What each thread knows of one visit's end, trip after trip: which threads' part in it is over."""

    def __init__(self, parade: Parade, earlier: Visit, needed: Sequence[Edge]) -> None:
        self.parade, self.needed = parade, needed
        self.place = parade.visits.index(earlier)
        self.target = frozenset(parade.threads[self.place])
        self.known: list[frozenset[int]] = [frozenset()] * len(parade.warps)
        self.ended: dict[tuple[int, int], frozenset[int]] = {}
        self.after = late(earlier)
        self.asynchronous = any(touch.how in ("load", "remote", "cp_async") for touch in earlier.touches())

    def wait(self, trip: int, place: int, before: int | None = None) -> None:
        """Go through the waits of a visit, those that stand before the statement `before` of its list at the latest."""
        visit = self.parade.visits[place]
        for edge in self.needed:
            if edge.later is not visit or (before is not None and visit.first_index([edge.ring]) > before):
                continue
            at = self.parade.visits.index(edge.earlier)
            told = self.ended.get((trip - edge.lap * edge.earlier.cycle.copies, at), frozenset())
            for thread in self.parade.threads[place]:
                self.known[thread] |= told

    def visit(self, trip: int, place: int) -> None:
        """Go through a visit: the waits before it, and its end."""
        self.wait(trip, place)
        threads, visit = self.parade.threads[place], self.parade.visits[place]
        if (trip, place) == (self.after, self.place) and not self.asynchronous:
            for thread in threads:
                self.known[thread] |= {thread}
        copied = any(touch.how == "cp_async" for touch in visit.touches())  # such arrivals are made thread by thread
        if visit.crowd.whole and not copied and any(edge.earlier is visit for edge in self.needed):
            for thread in threads:
                mates = (other for other in threads if self.parade.warps[other] == self.parade.warps[thread])
                self.known[thread] = frozenset().union(*(self.known[other] for other in mates))
        told = frozenset().union(*(self.known[thread] for thread in threads))
        self.ended[trip, place] = self.target if (trip, place) == (0, self.place) else told

    def all_know(self, place: int) -> bool:
        """Whether all threads of a visit know of the end."""
        return all(self.known[thread] >= self.target for thread in self.parade.threads[place])
