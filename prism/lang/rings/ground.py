"""The ground on which order is looked at: the points that every trip comes to, who comes there, and what has to be known where.

happens.py goes over it, with a plan. Nothing is here that some trip with a round might miss: what stands under a condition, in a
loop inside, or behind a jump.

    for k in range(n):
        with claim(r, fillers) as c: ...       points before and after it, and inside it before and after each statement
        if k > 3:                              points before and after it, and none inside
            continue
        with claim(s, users) as d: ...         none: a trip may have been cut short
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from prism.lang import tree
from prism.lang.barriers.walk_context import Place
from prism.lang.barriers.walk_state import narrow_path
from prism.lang.facts.budget import most_threads
from prism.lang.facts.touches import Touch
from prism.lang.keep.bases import Frozen
from prism.lang.rings.cycles import jumps
from prism.lang.rings.late_fills import fill_delay
from prism.lang.rings.stations import Trail, crowd, inner_places, members
from prism.lang.rings.visits import GROUPED_READS, Edge, Lap, Unseen, Visit
from prism.lang.tree.plan import Path
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import WARP, WARP1

ALWAYS = tree.Group | tree.Split | tree.Partition | tree.Claim | tree.Async | tree.Batch | tree.Turns
"""What is entered each time that its list is executed, by the threads of its path."""
POINT, WIDE, MANY = 10, 4096, 16
"""What it costs to come to a point, in units of `Spare`; so many bits are handed on, by so many threads, for about the same."""


class Point(Frozen):
    """A place before or after a statement of a trip, and who comes there: the threads that stand for all."""

    at: tree.Stmt
    side: str
    threads: tuple[int, ...]
    number: int
    """How many threads those are in a block."""
    whole: bool
    """Whether they are whole warps, which may meet there."""


class Part(Frozen):
    """An access of a visit's threads, as bits: one for each of `threads`, from `first` on.

    It is made in the trip's statement `at`; `inside`: in a condition or a loop there.
    """

    visit: Visit
    touch: Touch
    threads: tuple[int, ...]
    first: int
    at: tree.Stmt
    inside: bool
    of_thread: dict[int, int] = field(init=False)
    """The bit of each thread's."""

    def __post_init__(self) -> None:
        places = {thread: 1 << (self.first + place) for place, thread in enumerate(self.threads)}
        object.__setattr__(self, "of_thread", places)

    @property
    def how(self) -> str:
        """What makes it."""
        return self.touch.how

    @property
    def kind(self) -> str:
        """Read, write or atomic."""
        return self.touch.kind

    @property
    def bits(self) -> int:
        """All of them."""
        return ((1 << len(self.threads)) - 1) << self.first

    def of(self, thread: int) -> int:
        """The bit of one thread's, or none."""
        return self.of_thread.get(thread, 0)


class Asked(Frozen):
    """What `threads` have to know before the statement `at`, so many trips after the visits: `fenced`, with a proxy fence."""

    bits: int
    threads: tuple[int, ...]
    at: tree.Stmt
    trips: int
    fenced: bool = False


@dataclass(eq=False, slots=True)
class Ground:
    """The trips of cycles that make their rounds together: their points in order, and what has to be known where."""

    function: tree.Function
    laps: Sequence[Lap]
    points: tuple[Point, ...]
    numbers: tuple[int, ...]
    warps: tuple[int, ...]
    parts: tuple[Part, ...]
    asked: list[Asked] = field(default_factory=list)
    whole: bool = True
    """Whether no trip is cut short where the rounds are made, not even the last one."""
    places: dict[tuple[tree.Stmt, str], Point] = field(init=False)
    """The points, by their statements and sides."""
    made_at: dict[tree.Stmt, list[Part]] = field(init=False)
    of_visits: dict[Visit, list[Part]] = field(init=False)
    made_by: dict[str, list[Part]] = field(init=False)
    """The accesses by where they are made, by their visits, and by what makes them."""
    plain: list[int] = field(init=False)
    late: list[int] = field(init=False)
    """For each thread, the bits of its own accesses: those that its proxy fence is for, and those of late readers."""
    narrowed: dict[tuple[Point, Path], Point] = field(init=False)
    """Points as those come to them who come along a path."""

    def __post_init__(self) -> None:
        self.places = {(point.at, point.side): point for point in reversed(self.points)}
        self.made_at, self.of_visits, self.made_by, self.narrowed = {}, {}, {}, {}
        self.plain, self.late = [0] * len(self.numbers), [0] * len(self.numbers)
        for part in self.parts:
            self.made_at.setdefault(part.at, []).append(part)
            self.of_visits.setdefault(part.visit, []).append(part)
            self.made_by.setdefault(part.how, []).append(part)
            for thread, bit in part.of_thread.items():
                self.plain[thread] |= bit if part.how in ("", "cp_async") else 0
                self.late[thread] |= bit if part.how in GROUPED_READS or (part.how and fill_delay(part.visit)) else 0

    @property
    def visits(self) -> tuple[Visit, ...]:
        """All visits of its cycles."""
        return tuple(visit for lap in self.laps for visit in lap.visits)

    def cost(self, trips: int) -> int:
        """Return what it costs to go over so many trips, in units of `Spare`."""
        bits = sum(len(part.threads) for part in self.parts)
        return POINT * len(self.points) * trips * (1 + bits // WIDE + len(self.numbers) // MANY)

    def threads_at(self, at: tree.Stmt, side: str, path: Path = ()) -> tuple[int, ...] | None:
        """Return who comes to a point, along a path; or None where it is none that every trip comes to."""
        point = self.places.get((at, side))
        return None if point is None else self.narrow(point, path).threads

    def narrow(self, point: Point, path: Path) -> Point:
        """Return a point as those come to it who would come along a path too."""
        if not path:
            return point
        key = (point, path)
        if key not in self.narrowed:
            own = members(self.function, path)
            threads = tuple(thread for thread in point.threads if self.numbers[thread] in own)
            number = min(point.number, len(own))
            self.narrowed[key] = replace(point, threads=threads, number=number)
        return self.narrowed[key]

    def warps_come(self, statement: tree.Stmt) -> tree.Stmt | None:
        """Return the innermost statement around one, or itself, before which whole warps meet; None where there is none."""
        found = None
        for point in self.points:
            if point.side == "before" and point.whole and statement in statements((point.at,)):
                found = point.at
        return found

    def comes_along(self, part: Part, path: Path) -> bool:
        """Whether all threads that make some accesses come along a path."""
        own = members(self.function, path)
        return all(self.numbers[thread] in own for thread in part.threads)


def ground(function: tree.Function, laps: Sequence[Lap]) -> Ground | None:
    """Return the trips of some cycles, with nothing asked; None where not all their threads come to their place alike.

    It is kept with the first of the cycles.
    """
    key = tuple(laps)
    if key not in laps[0].grounds:
        laps[0].grounds[key] = _ground(function, laps)
    found: Ground | None = laps[0].grounds[key]
    return None if found is None else replace(found, asked=[])


def _ground(function: tree.Function, laps: Sequence[Lap]) -> Ground | None:
    home, trail = laps[0].home, laps[0].rounds[0].trail
    first, last = min(lap.range[0] for lap in laps), max(lap.range[1] for lap in laps)
    place = _place(function, trail)
    if place is None:
        return None
    # What stands behind the rounds counts as far as each trip comes there, or no trip comes after it:
    #     rounds; if c: return; barrier     a trip without the barrier is the last, and nobody asks what it did
    #     rounds; if c: continue; barrier   a later trip may ask for what the barrier would have told: the points end before it
    outermost = len(laps[0].rounds[0].loops) == 1
    end = last + 1
    final = tree.Return | tree.Break if outermost else tree.Return
    while end < len(home) and all(isinstance(jump, final) for jump in jumps(home, last + 1, end)):
        end += 1
    found = list(_points(home[:end], place))
    visits = list(dict.fromkeys(visit for lap in laps for visit in lap.visits))
    paths = list(dict.fromkeys(narrow_path(where.path) for _, _, where in found))
    paths += [path for path in dict.fromkeys(visit.spot.own_path for visit in visits) if path and path not in paths]
    sets = {path: members(function, path) for path in paths}
    made = [tuple(thread in own for own in sets.values()) for thread in range(most_threads(function))]
    kept, warps = standing_for(made)
    threads = {path: tuple(k for k, thread in enumerate(kept) if thread in own) for path, own in sets.items()}
    points: list[Point] = []
    for at, side, where in found:
        path = narrow_path(where.path)
        whole = where.code >= WARP1 and crowd(function, path).whole
        points.append(Point(at, side, threads[path], len(sets[path]), whole))
    who_comes = {point.at: point.threads for point in reversed(points) if point.side == "before"}
    # An access under a condition or in a loop is made somewhere between the points around that: it is over behind it. Points come
    # outermost first, so that the last one that has a statement is the innermost.
    inner = {s: point.at for point in points if point.side == "before" for s in statements((point.at,))}
    parts: list[Part] = []
    start = 0
    for visit in visits:
        used = [used for station in visit.stations for used in station.used]
        if any(one.inside[-1] not in inner for one in used):
            return None
        for one in used:
            at = inner[one.inside[-1]]
            who = who_comes[at]
            if visit.spot.held:
                who = tuple(thread for thread in who if thread in threads[visit.spot.path])
            parts.append(Part(visit, one.touch, who, start, at, at is not one.inside[-1]))
            start += len(who)
    whole_trips = not jumps(home, first, last)
    return Ground(function, laps, tuple(points), kept, warps, tuple(parts), whole=whole_trips)


def _place(function: tree.Function, trail: Trail) -> Place | None:
    """Return where the last list of a trail stands."""
    place: Place | None = Place(function.bound.code)
    for (body, index), (inner, _) in pairwise(trail):
        if place is not None:
            place = next((there for there, part in inner_places(body[index], place) if part is inner), None)
    return place


def _points(body: tree.Body, place: Place) -> Iterator[tuple[tree.Stmt, str, Place]]:
    """Yield the points that every execution of a list comes to, in the order of the text."""
    for statement in body:
        yield statement, "before", place
        if isinstance(statement, ALWAYS):
            for inside, part in inner_places(statement, place):
                yield from _points(part, inside)
        yield statement, "after", place


def standing_for(made: Sequence[tuple[bool, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return threads that stand for all, and the warp of each; `made` has, for each of a block, to which places it comes.

    Threads that come to the same places, of warps that are alike, may change places and nothing else changes. So what one of
    them knows of another depends on whether it is the same, of the same warp, or of another: two of a kind in a warp, and two
    warps of a kind, show each of these. 1,024 threads in two roles become eight.
    """
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


# -- what has to be known -----------------------------------------------------------------------------------------------------


def ask(ground: Ground, edge: Edge) -> None:
    """Ask that an access of one visit has ended where another one is made.

    Of all its threads, where all who make the other one come: which thread meets which is not looked at here.
    """
    bits = next(part.bits for part in ground.of_visits[edge.earlier] if part.touch is edge.first)
    later = next(part for part in ground.of_visits[edge.later] if part.touch is edge.second)
    ground.asked.append(Asked(bits, later.threads, later.at, edge.lap * edge.earlier.cycle.copies))


def ask_fence(ground: Ground, pair: Unseen) -> None:
    """Ask that an engine's access sees a visit's plain ones to the copy."""
    # All plain ones, though one conflict is the witness: a fence is needed for each of them, and serves all at once.
    own = [part for part in ground.of_visits[pair.earlier] if part.touch.root is pair.ring]
    bits = sum(part.bits for part in own if part.how in ("", "cp_async"))
    engine = next(part for part in ground.of_visits[pair.engine] if part.touch is pair.second)
    trips = pair.lap * pair.earlier.cycle.copies
    ground.asked.append(Asked(bits, engine.threads, engine.at, trips, fenced=True))


def end_of(ground: Ground, edge: Edge) -> Asked:
    """Return what a wait for an edge sees to: the earlier visit, with all its accesses, has ended where the later one waits."""
    # A wait is for the visit, not for the access that is its witness: others may rely on what it brings besides.
    bits = sum(part.bits for part in ground.of_visits.get(edge.earlier, ()))
    at = edge.later.spot.body[edge.later.first_index([edge.ring])]
    threads = ground.threads_at(at, "before", edge.later.spot.own_path)
    assert threads is not None
    return Asked(bits, threads, at, edge.lap * edge.earlier.cycle.copies)
