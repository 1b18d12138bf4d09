"""Sections: a ring that is visited in several places, one after the other, as by a main loop and by one for the rest.

Stations stand in the block's code, so all threads come to the places in one order, and a ring's rounds are counted through all
of them: its mbarriers' phases go on. A section is one place, with whole rounds of its own. In each the same threads make the
same visits in the same order, with accesses of the same kinds; so each visit ends with as many arrivals, whichever section made
it, and who waits for a visit of the lap before need not know where that was.

What follows from the order of one place's trips alone is not concluded of sections: every wait, and every fence, is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.rings import Uneven
from prism.lang.rings.loads import multicast_of
from prism.lang.rings.stations import Station, Trail
from prism.lang.rings.visits import Lap, Visit
from prism.lang.tree import Async, Body, Claim, Group, Partition, Turns

ONCE = Claim | Partition | Group | Async | Turns
"""What is executed as often as the list that it stands in, and by all its threads."""


def split_by_place(stations: Sequence[Station]) -> list[list[Station]]:
    """Return a ring's stations by the places that they stand in, in program order."""
    found: dict[int, list[Station]] = {}
    for station in stations:
        found.setdefault(id(_place(station.trail)), []).append(station)
    return list(found.values())


def _place(trail: Trail) -> Body:
    """Return the outermost list that is executed as often as the one in which a trail ends."""
    depth = len(trail) - 1
    while depth and isinstance(trail[depth - 1][0][trail[depth - 1][1]], ONCE):
        depth -= 1
    return trail[depth][0]


def check_alike(laps: Sequence[Lap]) -> None:
    """Refuse sections of one cycle whose visits are not alike."""
    first = laps[0]
    for lap in laps[1:]:
        if (fault := next(_faults(first, lap), None)) is not None:
            one, two = first.rounds[0].stations[0].opening.span, lap.rounds[0].stations[0].opening.span
            labels = (Label(one, "the first visit of the other place"),)
            raise CompileError(Uneven(span=two, labels=labels, name=lap.rounds[0].ring.name, fault=fault))


def _faults(first: Lap, lap: Lap) -> Iterator[str]:
    """Yield how the visits of two sections differ."""
    if len(first.visits) != len(lap.visits):
        yield f"a round there has {len(first.visits)} visits, and here {len(lap.visits)}"
        return
    for one, two in zip(first.visits, lap.visits, strict=True):
        if one.spot.path != two.spot.path:
            yield "it is not the same threads that make a visit"
        elif one.rings != two.rings or _kinds(one) != _kinds(two):
            yield "what is done in a visit is not of the same kind"
        elif [s.in_flight for s in one.stations] != [s.in_flight for s in two.stations]:
            yield "`in_flight` is not the same"
        elif bool(first.rounds[0].loops) != bool(lap.rounds[0].loops) and any(s.in_flight for s in one.stations):
            yield "`in_flight` needs a loop around both"
        elif any(touch.how == "remote" or multicast_of(two) for touch in two.touches()):
            yield "copies to other blocks of a cluster are for a ring that is visited in one place"


def _kinds(visit: Visit) -> set[tuple[object, str, str]]:
    return {(ring, touch.kind, touch.how) for ring in visit.rings for touch in visit.touches(ring)}
