"""Visits of rings: a ring's rounds, the visits that a round is made of, and the laps of the rings that go in step.

What they are; cycles.py finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prism.lang.facts.touches import Touch
from prism.lang.keep.bases import Frozen
from prism.lang.rings.stations import Crowd, Spot, Station, Trail
from prism.lang.tree import Apply, Body, For, If, Pointer, Stmt, Symbol, While
from prism.lang.tree.plan import Cycle


@dataclass(eq=False, slots=True)
class Round:
    """One ring's stations: in `home[first]` to `home[last]`, inside `loop` (None: in no loop), the way there in `trail`."""

    ring: Symbol
    stations: tuple[Station, ...]
    home: Body
    first: int
    last: int
    trail: Trail

    @property
    def copies(self) -> int:
        """How many copies the ring has."""
        assert isinstance(self.ring.type, Pointer)
        return self.ring.type.ring

    @property
    def loops(self) -> list[Stmt]:
        """The loops around, innermost first."""
        around = [body[index] for body, index in reversed(self.trail[:-1])]
        return [statement for statement in around if isinstance(statement, For | While)]


Sections = tuple[Round, ...]
"""One ring's rounds, of each place that visits it: mostly one."""


@dataclass(eq=False, slots=True)
class Visit:
    """Stations of one cycle in one place: its threads make their uses of all the copies between one wait and one arrival."""

    stations: tuple[Station, ...]
    spot: Spot
    crowd: Crowd
    cycle: Cycle
    rounds: tuple[Round, ...] = ()
    rings: tuple[Symbol, ...] = field(init=False)
    """The rings whose copies it uses."""
    order: tuple[int, ...] = field(init=False)
    """Where it comes in the text."""
    made: dict[Symbol | None, list[Touch]] = field(init=False)
    """Its accesses to each ring; under None, all of them."""

    def __post_init__(self) -> None:
        self.rings = tuple(station.ring for station in self.stations)
        self.order = min(map(textual, self.stations))
        self.made = {None: [touch for station in self.stations for touch in station.touches]}
        for station in self.stations:
            self.made.setdefault(station.ring, []).extend(station.touches)

    def touches(self, ring: Symbol | None = None) -> Sequence[Touch]:
        """Return its accesses, to one ring or to all."""
        return self.made.get(ring, ())

    def surely(self, ring: Symbol) -> list[Touch]:
        """Return its accesses to one ring that are under no condition and in no loop."""
        used = [used for station in self.stations if station.ring is ring for used in station.used]
        return [one.touch for one in used if not any(isinstance(s, If | For | While) for s in one.inside)]

    def of(self, ring: Symbol) -> Station:
        """Return its station of a ring."""
        return next(station for station in self.stations if station.ring is ring)

    def first_index(self, rings: Sequence[Symbol]) -> int:
        """Return the first statement of its list that uses a copy of one of these rings."""
        return min(s.spot.first for s in self.stations if s.ring in rings and s.spot is not None)

    @property
    def last_use(self) -> Stmt:
        """The last statement of its list that uses a copy."""
        return self.spot.body[max(s.spot.last for s in self.stations if s.spot is not None)]


@dataclass(eq=False, slots=True)
class Lap:
    """A cycle with its rings' rounds and its visits, in program order.

    `sections`: all laps of the cycle, where its rings are visited in several places (sections.py); else empty.
    """

    cycle: Cycle
    rounds: tuple[Round, ...]
    visits: list[Visit] = field(default_factory=list)
    sections: tuple[Lap, ...] = ()
    range: tuple[int, int] = field(init=False)
    """The first and the last statement of the list that holds stations."""
    places: dict[Visit, int] = field(init=False)
    """Of each visit, the how manieth it is."""
    of_rings: dict[Symbol, list[Visit]] = field(init=False)
    """The visits of each ring, in program order."""
    ended: dict[Visit, frozenset[Apply]] = field(default_factory=dict)
    """Of each visit, the loads that have ended when it has, once somebody asked."""
    grounds: dict[tuple[Lap, ...], Any] = field(default_factory=dict)
    """What was found of its trips, with those of other cycles (ground.py)."""

    def __post_init__(self) -> None:
        self.range = min(r.first for r in self.rounds), max(r.last for r in self.rounds)
        self.places = {visit: place for place, visit in enumerate(self.visits)}
        self.of_rings = {one.ring: [] for one in self.rounds}
        for visit in self.visits:
            for ring in dict.fromkeys(visit.rings):
                self.of_rings[ring].append(visit)

    def twins(self, visit: Visit) -> list[Visit]:
        """Return what a visit is in each section, itself among them."""
        place = self.places[visit]
        return [lap.visits[place] for lap in self.sections or (self,)]

    @property
    def home(self) -> Body:
        """The list that holds all stations."""
        return self.rounds[0].home


class Edge(Frozen):
    """`later` may not begin before `earlier` has ended, of the round `lap` laps before: two accesses to a copy of `ring`."""

    earlier: Visit
    later: Visit
    lap: int
    ring: Symbol
    first: Touch
    second: Touch


class Unseen(Frozen):
    """A visit's plain access, and one by an engine in a later visit of the same copy, so many laps later: it has to see that."""

    earlier: Visit
    engine: Visit
    lap: int
    ring: Symbol
    first: Touch
    second: Touch


GROUPED_READS = ("wgmma", "bulk")
"""What may read a copy after its visit's last statement."""


def read_delay(visit: Visit) -> int:
    """Return how many rounds later a visit's asynchronous readers are waited for: what all their rings allow."""
    if not visit.rounds or not visit.rounds[0].loops:
        return 0
    found = [s.in_flight for s in visit.stations if any(touch.how in GROUPED_READS for touch in s.touches)]
    return min(found, default=0)


def textual(station: Station) -> tuple[int, ...]:
    """The order of stations in the text."""
    return tuple(index for _, index in station.trail)
