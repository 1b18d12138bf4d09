"""What surely happens before what, in the trips that visit rings, with a plan's barriers, waits and fences in place.

implied.py looks at the waits of rings alone. Here all that a plan has for a list of statements is gone through, trip after trip,
with what each thread knows to be over: its own accesses when it has made them, or has waited for them; and what those knew whom
it met at a barrier, or for whose visit it waited. Every schedule has at least this order, whatever runs ahead.

Nothing is counted that some trip with a round might miss: what stands under a condition, in a loop inside, or behind a jump.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from prism.lang.barriers.walk_context import Place
from prism.lang.barriers.walk_state import Known, Passed, narrow_path
from prism.lang.facts.budget import most_threads
from prism.lang.facts.touches import Touch
from prism.lang.rings.cycles import jumps
from prism.lang.rings.implied import members, standing_for
from prism.lang.rings.stations import Trail, crowd, inner_places
from prism.lang.rings.visits import GROUPED_READS, Edge, Lap, Visit
from prism.lang.rings.waits import Unseen
from prism.lang.tree import Async, Batch, Body, Break, Claim, Function, Group, Partition, Return, Split, Stmt
from prism.lang.tree.plan import Arrive, Barrier, Commit, Mbarrier, Op, Path, Plan, ProxyFence, Wait, WaitGroup
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, WARP, WARP1, Perspective

ALWAYS = Group | Split | Partition | Claim | Async | Batch
"""What is entered each time that its list is executed, by the threads of its path."""


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """A place before or after a statement of a trip, and who comes there: the threads that stand for all."""

    at: Stmt
    side: str
    threads: tuple[int, ...]
    number: int
    """How many threads those are in a block."""
    whole: bool
    """Whether they are whole warps, which may meet there."""


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """An access of a visit's threads, as bits: one for each of `threads`, from `first` on.

    It is made in the trip's statement `at`; `inside`: in a condition or a loop there.
    """

    visit: Visit
    touch: Touch
    threads: tuple[int, ...]
    first: int
    at: Stmt
    inside: bool

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
        return 1 << (self.first + self.threads.index(thread)) if thread in self.threads else 0


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """What `threads` have to know before the statement `at`, so many trips after the visits: `fenced`, with a proxy fence."""

    bits: int
    threads: tuple[int, ...]
    at: Stmt
    side: str
    trips: int
    fenced: bool = False


@dataclass(eq=False, slots=True)
class Ground:
    """The trips of cycles that make their rounds together: their points in order, and what has to be known where."""

    function: Function
    laps: Sequence[Lap]
    points: tuple[Point, ...]
    numbers: tuple[int, ...]
    warps: tuple[int, ...]
    parts: tuple[Part, ...]
    asked: list[Asked] = field(default_factory=list)
    whole: bool = True
    """Whether no trip is cut short where the rounds are made, not even the last one."""

    def holds(self, plan: Plan) -> bool:
        """Whether all that has to be known is, with this plan's barriers and operations."""
        return _Trips(self, plan).hold()

    def threads_at(self, at: Stmt, side: str) -> tuple[int, ...] | None:
        """Return who comes to a point, or None where it is none that every trip comes to."""
        return next((point.threads for point in self.points if point.at is at and point.side == side), None)

    def warps_come(self, statement: Stmt) -> Stmt | None:
        """Return the innermost statement around one, or itself, before which whole warps meet; None where there is none."""
        found = None
        for point in self.points:
            if point.side == "before" and point.whole and statement in statements((point.at,)):
                found = point.at
        return found

    def along(self, part: Part, path: Path) -> bool:
        """Whether all threads that make some accesses come along a path."""
        own = members(self.function, path)
        return all(self.numbers[thread] in own for thread in part.threads)


def ground(function: Function, laps: Sequence[Lap]) -> Ground | None:
    """Return the trips of some cycles; None where their place is not one that all their threads come to alike."""
    home, trail = laps[0].home, laps[0].rounds[0].trail
    first, last = min(lap.range[0] for lap in laps), max(lap.range[1] for lap in laps)
    place = _place(function, trail)
    if place is None:
        return None
    outermost = len(laps[0].rounds[0].loops) == 1
    end = last + 1
    while end < len(home) and all(_final(jump, outermost) for jump in jumps(home, last + 1, end)):
        end += 1
    found = list(_points(home[:end], place))
    paths = list(dict.fromkeys(narrow_path(where.path) for _, _, where in found))
    sets = {path: members(function, path) for path in paths}
    made = [tuple(thread in own for own in sets.values()) for thread in range(most_threads(function))]
    kept, warps = standing_for(made)
    threads = {path: tuple(k for k, thread in enumerate(kept) if thread in own) for path, own in sets.items()}
    points: list[Point] = []
    for at, side, where in found:
        path = narrow_path(where.path)
        whole = where.code >= WARP1 and crowd(function, path).whole
        points.append(Point(at, side, threads[path], len(sets[path]), whole))
    result = Ground(function, laps, tuple(points), kept, warps, (), whole=not jumps(home, first, last))
    places = {(point.at, point.side): number for number, point in enumerate(points)}
    inner = {s: point.at for point in points if point.side == "before" for s in statements((point.at,))}
    parts: list[Part] = []
    for visit in dict.fromkeys(visit for lap in laps for visit in lap.visits):
        used = [used for station in visit.stations for used in station.used]
        if any(one.inside[-1] not in inner for one in used):
            return None
        for one in used:
            start, last_one = sum(len(part.threads) for part in parts), one.inside[-1]
            at = inner[last_one]
            who = points[places[at, "before"]].threads
            parts.append(Part(visit, one.touch, who, start, at, at is not last_one))
    result.parts = tuple(parts)
    return result


def _final(jump: Stmt, outermost: bool) -> bool:
    """Whether no trip comes after one that is left by a jump."""
    return isinstance(jump, Return) or (isinstance(jump, Break) and outermost)


def _place(function: Function, trail: Trail) -> Place | None:
    """Return where the last list of a trail stands."""
    place: Place | None = Place(function.bound.code)
    for (body, index), (inner, _) in pairwise(trail):
        if place is not None:
            place = next((there for there, part in inner_places(body[index], place) if part is inner), None)
    return place


def _points(body: Body, place: Place) -> Iterator[tuple[Stmt, str, Place]]:
    """Yield the points that every execution of a list comes to, in the order of the text."""
    for statement in body:
        yield statement, "before", place
        if isinstance(statement, ALWAYS):
            for inside, part in inner_places(statement, place):
                yield from _points(part, inside)
        yield statement, "after", place


# -- what has to be known -----------------------------------------------------------------------------------------------------


def ask(ground: Ground, edge: Edge) -> None:
    """Ask that an access of one visit has ended where another one is made."""
    bits = next(part.bits for part in ground.parts if part.visit is edge.earlier and part.touch is edge.first)
    later = next(part for part in ground.parts if part.visit is edge.later and part.touch is edge.second)
    ground.asked.append(Asked(bits, later.threads, later.at, "before", edge.lap * edge.earlier.cycle.copies))


def ask_fence(ground: Ground, pair: Unseen) -> None:
    """Ask that an engine's access sees a visit's plain ones to the copy."""
    own = [part for part in ground.parts if part.visit is pair.earlier and part.touch.root is pair.ring]
    bits = sum(part.bits for part in own if part.how in ("", "cp_async"))
    engine = next(part for part in ground.parts if part.visit is pair.engine and part.touch is pair.second)
    trips = pair.lap * pair.earlier.cycle.copies
    ground.asked.append(Asked(bits, engine.threads, engine.at, "before", trips, fenced=True))


# -- what is known ------------------------------------------------------------------------------------------------------------


class _Trips:
    """Goes through the trips, of which the first has the visits that are asked for."""

    def __init__(self, ground: Ground, plan: Plan) -> None:
        self.ground, self.plan = ground, plan
        self.known = [0] * len(ground.warps)
        self.fenced = [0] * len(ground.warps)
        self.ended: dict[tuple[Mbarrier, int], tuple[int, int]] = {}
        self.since: dict[int, int] = {}  # of a bit that is under way: groups committed after its own

    def hold(self) -> bool:
        """Whether everything is known where it has to be, and nothing is under way when the loop has ended."""
        last = self.ground.laps[0].home[max(lap.range[1] for lap in self.ground.laps)]
        asked: dict[tuple[int, Stmt, str], list[Asked]] = {}
        for one in self.ground.asked:
            asked.setdefault((one.trips, one.at, one.side), []).append(one)
        for trip, point in self.go(max((one.trips for one in self.ground.asked), default=0)):
            if not all(map(self.answer, asked.get((trip, point.at, point.side), ()))):
                return False
            if trip == 0 and point.at is last and point.side == "after" and not self.ends():
                return False
        return True

    def go(self, trips: int) -> Iterator[tuple[int, Point]]:
        """Go through the first trip and so many more; stop behind each point."""
        before, after = self.plan.before(), self.plan.after()
        for trip in range(trips + 1):
            for point in self.ground.points:
                if point.side == "before":
                    self.issue(trip, point.at, inside=False)
                    steps: Sequence[Barrier | Op] = before.get(point.at, ())
                else:
                    self.make(trip, point.at)
                    steps = after.get(point.at, ())
                for step in steps:
                    self.step(trip, point, step)
                yield trip, point

    def ends(self) -> bool:
        """Whether what was under way has ended at the end of its trip, or is waited for behind the loop.

        Of what comes in, somebody of the block has to know it: the block may end then.
        """
        anyone = self.together(self.known, range(len(self.known)))
        if any(part.bits & ~anyone for part in self.ground.parts if part.how in ("cp_async", "load")):
            return False
        loops = self.ground.laps[0].rounds[0].loops
        drains = [op for op in self.plan.operations if isinstance(op, WaitGroup) and loops and op.at is loops[0]]
        for part in self.ground.parts:
            if part.how in GROUPED_READS:
                own = [
                    op for op in drains if op.kind == part.how and not op.pending and self.ground.along(part, op.path)
                ]
                landed = any(op.side == "after" and (part.kind == "read" or not op.read) for op in own)
                for thread in part.threads:
                    closed = self.since.get(part.of(thread), -1) >= 0
                    if not self.known[thread] & part.of(thread) and not (landed and closed):
                        return False
        return True

    def answer(self, asked: Asked) -> bool:
        """Whether all who have to know something do."""
        known = self.fenced if asked.fenced else self.known
        return all(known[thread] & asked.bits == asked.bits for thread in asked.threads)

    # -- accesses -----------------------------------------------------------------------------------------------------

    def issue(self, trip: int, at: Stmt, inside: bool) -> None:
        """Begin what goes on after its statement."""
        for part in self.ground.parts if trip == 0 else ():
            if part.at is at and part.inside is inside and part.how in ("cp_async", "bulk", "wgmma"):
                # Inside a condition or a loop, the group is closed there too, or by what stands behind it.
                commits = [op for op in self.plan.operations if isinstance(op, Commit) and op.kind == part.how]
                closed = inside and any(op.at is not at and op.at in _all(at) for op in commits)
                self.since |= {part.of(thread): 0 if closed else -1 for thread in part.threads}

    def make(self, trip: int, at: Stmt) -> None:
        """Make the accesses of a statement, the visits' last ones of their kind."""
        self.issue(trip, at, inside=True)
        for part in self.ground.parts if trip == 0 else ():
            if part.at is not at:
                continue
            if part.how == "":
                for thread in part.threads:
                    self.known[thread] |= part.of(thread)
            elif part.how in ("load", "remote"):
                for apply, barrier in self.plan.completes.items():
                    if part.touch.by is apply:
                        self.tell(barrier, trip, part.bits, 0)

    def land(self, part: Part, thread: int) -> None:
        """End what a thread has under way: it has waited for it."""
        self.since.pop(part.of(thread), None)
        self.known[thread] |= part.of(thread)

    def tell(self, barrier: Mbarrier, round_: int, known: int, fenced: int) -> None:
        """Hand something to those who wait for a round at an mbarrier."""
        one, two = self.ended.get((barrier.itself, round_), (0, 0))
        self.ended[barrier.itself, round_] = one | known, two | fenced

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, trip: int, point: Point, step: Barrier | Op) -> None:
        """Go through a barrier or an operation."""
        match step:
            case Barrier(unit=unit):
                self.meet(point, unit)
            case Wait(barrier=barrier, lap=lap):
                self.learn(point, *self.ended.get((barrier.itself, trip - lap * barrier.cycle.copies), (0, 0)))
            case Arrive(drain=False):
                self.arrive(trip, point, step)
            case Commit(kind=kind):
                for part, thread in self.flying(kind, point.threads):
                    self.since[part.of(thread)] += 1
            case WaitGroup(kind=kind, pending=most, read=read):
                for part, thread in self.flying(kind, point.threads):
                    if self.since[part.of(thread)] >= most and (part.kind == "read" or not read):
                        self.land(part, thread)
            case ProxyFence(space=space) if space != "global":
                self.fence(point)
            case _:
                pass

    def fence(self, point: Point) -> None:
        """Show engines what those who come to a point have done themselves, as threads do."""
        for part in self.ground.parts:
            for thread in point.threads if part.how in ("", "cp_async") else ():
                self.fenced[thread] |= self.known[thread] & part.of(thread)

    def learn(self, point: Point, known: int, fenced: int) -> None:
        """Let those who come to a point know more."""
        for thread in point.threads:
            self.known[thread] |= known
            self.fenced[thread] |= fenced

    def arrive(self, trip: int, point: Point, op: Arrive) -> None:
        """Let those who come to a point say what they know, and where the arrivals wait for copies, that these have ended."""
        if op.every == WARP:
            self.meet(point, WARP1)
        known, fenced = (self.together(knowing, point.threads) for knowing in (self.known, self.fenced))
        if op.copies:
            for part, thread in self.flying("cp_async", point.threads):
                known |= part.of(thread)
        # Where the loop ends with this trip, the arrival comes behind it, and knows no more than this.
        self.tell(op.barrier, trip, known, fenced)
        if op.delay:
            late = sum(
                part.of(thread) for part in self.ground.parts if part.how in GROUPED_READS for thread in point.threads
            )
            self.tell(op.barrier, trip - op.delay, known & late, 0)

    def flying(self, kind: str, threads: Sequence[int]) -> list[tuple[Part, int]]:
        """Return what some threads have under way."""
        own = [part for part in self.ground.parts if part.how == kind]
        return [(part, thread) for part in own for thread in threads if part.of(thread) in self.since]

    def meet(self, point: Point, unit: Perspective) -> None:
        """Let the threads of the block, of each warp, or all who come here, know the same; other units are left out."""
        threads, warps = point.threads, self.ground.warps
        if unit >= BLOCK:
            groups = [list(range(len(self.known)))]
        elif unit == WARP1:
            groups = [[t for t in threads if warps[t] == warp] for warp in dict.fromkeys(warps[t] for t in threads)]
        elif unit.size == point.number:
            groups = [list(threads)]
        else:
            return
        for group in groups:
            for knowing in (self.known, self.fenced):
                told = self.together(knowing, group)
                for thread in group:
                    knowing[thread] = told

    @staticmethod
    def together(knowing: Sequence[int], threads: Sequence[int]) -> int:
        """Return what some threads know between them."""
        found = 0
        for thread in threads:
            found |= knowing[thread]
        return found


# -- what waits do for others -------------------------------------------------------------------------------------------------


def news(ground: Ground, plan: Plan, number: int) -> Iterator[tuple[Stmt, Passed | Known]]:
    """Yield where, by the waits of rings, all threads of the block know that all have passed a place of the trip, or of the last.

    Each pair has a number, from `number` on. It stands behind a statement of the list: first what is known, then what is passed.
    """
    first, last = min(lap.range[0] for lap in ground.laps), max(lap.range[1] for lap in ground.laps)
    first = max(first - 1, 0)  # a trip that comes to the end of the statement before makes its round
    places = {s: index for index, s in enumerate(ground.laps[0].home) if first <= index <= last}
    whole = next(point for point in ground.points if point.at in places)
    if whole.number != most_threads(ground.function):
        return
    width, trips = len(ground.numbers), _Trips(replace(ground, parts=(), asked=[]), plan)
    passed: dict[int, int] = {}
    best: dict[tuple[int, int], int] = {}
    for trip, point in trips.go(1):
        if point.side != "after" or point.at not in places:
            continue
        index = places[point.at]
        everyone = trips.known[0]
        for known in trips.known:
            everyone &= known
        best[trip, index] = max((i for i, bits in passed.items() if everyone & bits == bits), default=-1)
        if trip == 0:
            passed[index] = ((1 << width) - 1) << (index * width)
            for thread in range(width):
                trips.known[thread] |= 1 << (index * width + thread)
    pairs: list[tuple[int, int]] = []
    for trip in (0, 1):
        before = best[0, last] if trip else -1
        for index in range(first, last + 1):
            at = best[trip, index]
            if at > before and (trip == 0 or (at >= index and best[0, index] < 0)):
                pairs.append((at, index))
            before = max(before, at)
    home = ground.laps[0].home
    yield from ((home[index], Known(number + n)) for n, (_, index) in enumerate(pairs))
    yield from ((home[at], Passed(number + n)) for n, (at, _) in enumerate(pairs))


def _all(statement: Stmt) -> frozenset[Stmt]:
    return frozenset(statements((statement,)))
