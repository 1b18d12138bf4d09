"""What surely happens before what, in the trips that visit rings, with a plan's barriers, waits and fences in place.

This is the one engine for that question. It goes over the ground (ground.py) trip after trip, with what each thread knows to be
over: its own accesses when it has made them, or has waited for them; and what those knew whom it met at a barrier, or for whose
visit it waited. Every schedule has at least this order, whatever runs ahead.

    for k in range(n):                            what is known, of trip 0
        load(row)                                 filled, round 0: {load}
        adders: wait filled; use row; arrive      adders: {load}, then {load, use}; read, round 0: {load, use}
    two trips later, with two copies:
        loader: wait read, of 2 trips ago         loader: {load, use}: it may fill the copy again

implied.py asks with a ring's waits alone; joint.py with all that stands in a plan; `news` what a plan's waits join.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field, replace

from prism.lang.barriers.walk_state import Known, Passed
from prism.lang.facts.budget import most_threads
from prism.lang.keep.bases import Frozen
from prism.lang.rings.cycles import jumps
from prism.lang.rings.ground import Asked, Ground, Part, Point
from prism.lang.rings.late_fills import fill_delay
from prism.lang.rings.stations import members
from prism.lang.rings.visits import GROUPED_READS
from prism.lang.tree import Stmt
from prism.lang.tree.plan import Arrive, Barrier, Commit, Mbarrier, Op, Operation, Plan, ProxyFence, Wait, WaitGroup
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, WARP, WARP1, Perspective


class Standing(Frozen):
    """A plan, with what stands where. It is made once for all grounds that it is looked at on."""

    plan: Plan
    before: Mapping[Stmt, Sequence[Barrier | Op]] = field(init=False)
    after: Mapping[Stmt, Sequence[Op]] = field(init=False)
    commits: Mapping[str, Sequence[Commit]] = field(init=False)

    def __post_init__(self) -> None:
        commits: dict[str, list[Commit]] = {}
        for op in self.plan.operations:
            if isinstance(op, Commit):
                commits.setdefault(op.kind, []).append(op)
        for name, value in (("before", self.plan.before()), ("after", self.plan.after()), ("commits", commits)):
            object.__setattr__(self, name, value)


def holds(ground: Ground, plan: Standing) -> bool:
    """Whether all that was asked of the ground is known, with a plan's barriers and operations; and nothing is left under way."""
    home, last = ground.laps[0].home, max(lap.range[1] for lap in ground.laps)
    # What is under way when the rounds are made may be waited for behind them, if no trip is cut short there.
    end = home[last] if jumps(home, last, len(home) - 1) else home[-1]
    return _Knowledge(ground, plan).answers(ground.asked, end)


def is_known(ground: Ground, plan: Standing, asked: Sequence[Asked]) -> bool:
    """Whether something is known where it has to be, with a plan's barriers and operations."""
    return _Knowledge(ground, plan).answers(asked)


def where_ended(ground: Ground, plan: Standing, parts: Sequence[Part]) -> Point | None:
    """Return the first point of a trip behind which those who make some accesses know that their own are over; or None."""
    knowledge = _Knowledge(ground, plan)
    for _, point in knowledge.go(0):
        if all(knowledge.known[thread] & part.of(thread) for part in parts for thread in part.threads):
            return point
    return None


def is_ended(ground: Ground, plan: Standing, parts: Sequence[Part], by: Arrive) -> bool:
    """Whether those who make some accesses know that their own are over when they come to an arrival of the same trip."""
    knowledge = _Knowledge(ground, plan)
    knowledge.watched = by
    for _ in knowledge.go(0):
        if knowledge.seen:
            return all(knowledge.seen[thread] & part.of(thread) for part in parts for thread in part.threads)
    return False


def leading(ground: Ground, plan: Standing) -> tuple[int, frozenset[int]]:
    """Return how many trips those go ahead who tell of their fills late, and who they are."""
    lag, leaders = 0, frozenset[int]()
    for visit in ground.visits:
        late = [op.delay for op in plan.after.get(visit.last_use, ()) if isinstance(op, Arrive) and not op.drain]
        if fill_delay(visit) and any(late):
            own = members(ground.function, visit.spot.path)
            lag, leaders = max(lag, *late), leaders | {k for k, number in enumerate(ground.numbers) if number in own}
    return lag, leaders


# -- what is known ------------------------------------------------------------------------------------------------------------


class _Knowledge:
    """What each thread knows, trip after trip; the first one has the accesses that are asked for.

    Invariant: where a thread has a bit, the access has ended in every schedule before the thread does what comes next. Steps keep
    it, because a thread gets a bit by its own program order, by its own wait, or from threads that had it before they arrived
    where this one waits. To forget or to leave out a bit is always right: then something stays that was not needed.

    All trips are alike, so the accesses of one are enough. Those before it could only tell more.
    """

    def __init__(self, ground: Ground, plan: Standing) -> None:
        self.ground, self.plan = ground, plan
        self.known = [0] * len(ground.warps)
        self.fenced = [0] * len(ground.warps)
        self.ended: dict[tuple[Mbarrier, int], tuple[int, int]] = {}
        self.since: dict[int, int] = {}  # of a bit that is under way: groups committed after its own
        self.copying = [0] * len(ground.warps)  # the `cp.async`s that each thread has under way
        self.lag, self.leaders = leading(ground, plan)
        self.leads = False  # whether it is the leaders' trip that is gone through
        self.watched: Arrive | None = None
        self.seen: tuple[int, ...] = ()  # what threads know when they come to what is watched

    def answers(self, asked: Sequence[Asked], last: Stmt | None = None) -> bool:
        """Whether all is known where it has to be; and nothing is under way where the loop ends, behind the statement `last`."""
        here: dict[tuple[int, Stmt], list[Asked]] = {}
        for one in asked:
            here.setdefault((one.trips, one.at), []).append(one)
        asking = {at for _, at in here} | ({last} if last is not None else set())
        for trip, point in self.go(max((one.trips for one in asked), default=0), asking):
            # `go` has stopped behind what stands before the statement: a wait there counts, the statement itself does not.
            if point.side == "before" and not all(map(self.answer, here.get((trip, point.at), ()))):
                return False
            if trip == 0 and point.at is last and point.side == "after" and not self.ends():
                return False
        return True

    def go(self, trips: int, asking: Set[Stmt] | None = None) -> Iterator[tuple[int, Point]]:
        """Go through the first trip and so many more; stop behind each point, or, where that is less, behind those that count.

        They are those of the statements `asking`, and those where somebody may come to know more.
        """
        points = self.ground.points
        if asking is not None:
            points = tuple(point for point in points if self.counts(point, asking))
        # The order of the text is one schedule, in which nobody waits for what comes later. Others differ in what runs at once,
        # but not in who has arrived where a wait ends: so what is handed on here is handed on in all of them.
        if not self.lag:
            for trip in range(trips + 1):
                for point in points:
                    yield from self.come_to(trip, point)
            return
        # Where fills are told of late that is no schedule. The fillers' trips so many ahead of the others' are one.
        for ahead in range(trips + self.lag + 1):
            for leads, trip in ((True, ahead), (False, ahead - self.lag)):
                self.leads = leads
                for point in points if trip >= 0 else ():
                    threads = tuple(thread for thread in point.threads if (thread in self.leaders) is leads)
                    alone = threads == point.threads
                    if threads:
                        yield from self.come_to(trip, point if alone else replace(point, threads=threads, number=0))

    def counts(self, point: Point, asking: Set[Stmt]) -> bool:
        """Whether a point is one of some statements, or something is made there, or stands there."""
        standing = self.plan.before if point.side == "before" else self.plan.after
        return point.at in asking or point.at in standing or point.at in self.ground.made_at

    def come_to(self, trip: int, point: Point) -> Iterator[tuple[int, Point]]:
        """Come to a point: go through what stands there, and stop behind it."""
        if point.side == "before":
            self.issue(trip, point.at, inside=False)
            steps: Sequence[Barrier | Op] = self.plan.before.get(point.at, ())
        else:
            self.make(trip, point.at)
            steps = self.plan.after.get(point.at, ())
        for step in steps:
            if step is self.watched:
                self.seen = tuple(self.known)
            self.step(trip, self.ground.narrow(point, step.path if isinstance(step, Operation) else ()), step)
        yield trip, point

    def own(self, parts: Sequence[Part]) -> list[Part]:
        """Return the accesses that are made now: the leaders' in their trips, and the others in those that follow."""
        return [part for part in parts if not self.lag or (self.leaders >= set(part.threads)) is self.leads]

    def ends(self) -> bool:
        """Whether what was under way has ended at the end of its trip, or is waited for behind the loop.

        Of what comes in, somebody of the block has to know it: the block may end then.
        """
        # A block may end behind its last trip, and its shared memory is another's then. It ends when all its threads have, so
        # that one thread which has waited for a copy is enough.
        anyone = self.join(self.known, range(len(self.known)))
        come = (part for part in self.ground.parts if part.how in ("cp_async", "load") and not self.leads)
        if any(part.bits & ~anyone for part in come):
            return False
        loops = self.ground.laps[0].rounds[0].loops
        behind = self.plan.after.get(loops[0], ()) if loops else ()
        drains = [op for op in behind if isinstance(op, WaitGroup)]
        # Groups are a thread's own: nobody else can wait for them. With `in_flight` the trips' waits leave some under way, and
        # the wait behind the loop ends those, if their groups were closed. So it is with fills that are told of late.
        for part in self.own(self.ground.parts):
            if part.how in GROUPED_READS or (part.how == "cp_async" and self.leads):
                own = [
                    op
                    for op in drains
                    if op.kind == part.how and not op.pending and self.ground.comes_along(part, op.path)
                ]
                landed = any(part.kind == "read" or not op.read for op in own) and self.is_seen(part, behind)
                for thread in part.threads:
                    closed = self.since.get(part.of(thread), -1) >= 0
                    if not self.known[thread] & part.of(thread) and not (landed and closed):
                        return False
        return True

    def is_seen(self, part: Part, behind: Sequence[Op]) -> bool:
        """Whether engines that have to see an access do, by a fence behind the loop, if it is waited for there."""
        if not any(asked.fenced and asked.bits & part.bits for asked in self.ground.asked):
            return True
        waits = [at for at, op in enumerate(behind) if isinstance(op, WaitGroup) and op.kind == part.how]
        later = behind[waits[-1] + 1 :] if waits else ()
        return any(isinstance(op, ProxyFence) and self.ground.comes_along(part, op.path) for op in later)

    def answer(self, asked: Asked) -> bool:
        """Whether all who have to know something do."""
        known = self.fenced if asked.fenced else self.known
        here = [thread for thread in asked.threads if not self.lag or (thread in self.leaders) is self.leads]
        return all(known[thread] & asked.bits == asked.bits for thread in here)

    # -- accesses -----------------------------------------------------------------------------------------------------

    def issue(self, trip: int, at: Stmt, inside: bool) -> None:
        """Begin what goes on after its statement.

        -1 says that its group is still open: a wait for groups does not see it. The commit behind it makes it 0.
        """
        for part in self.own(self.ground.made_at.get(at, ())) if trip == 0 else ():
            if part.inside is inside and part.how in ("cp_async", "bulk", "wgmma"):
                # Inside a condition or a loop, the group is closed there too, or by what stands behind it.
                commits = self.plan.commits.get(part.how, ())
                closed = inside and any(op.at is not at and op.at in _all(at) for op in commits)
                for thread in part.threads:
                    self.since[part.of(thread)] = 0 if closed else -1
                    self.copying[thread] |= part.of(thread) if part.how == "cp_async" else 0

    def make(self, trip: int, at: Stmt) -> None:
        """Make the accesses of a statement, the visits' last ones of their kind."""
        self.issue(trip, at, inside=True)
        for part in self.own(self.ground.made_at.get(at, ())) if trip == 0 else ():
            if part.how == "":  # over when the statement is: a thread's own order
                for thread in part.threads:
                    self.known[thread] |= part.of(thread)
            elif part.how in ("load", "remote"):
                # Bytes are told of by the mbarrier, not by who issued the copy: that thread goes on and knows nothing of them.
                barrier = None if part.touch.by is None else self.plan.plan.completes.get(part.touch.by)
                if barrier is not None:
                    self.tell(barrier, trip, part.bits, 0)

    def land(self, part: Part, thread: int) -> None:
        """End what a thread has under way: it has waited for it."""
        self.since.pop(part.of(thread), None)
        self.copying[thread] &= ~part.of(thread)
        self.known[thread] |= part.of(thread)

    def tell(self, barrier: Mbarrier, round_: int, known: int, fenced: int) -> None:
        """Hand something to those who wait for a round at an mbarrier.

        A phase completes when all its arrivals are there, and its bytes. So who waits for it learns what each of them brought.
        """
        one, two = self.ended.get((barrier.itself, round_), (0, 0))
        self.ended[barrier.itself, round_] = one | known, two | fenced

    # -- steps --------------------------------------------------------------------------------------------------------

    def step(self, trip: int, point: Point, step: Barrier | Op) -> None:
        """Go through a barrier or an operation."""
        match step:
            case Barrier(unit=unit):
                self.meet(point, unit)
            case Wait(barrier=barrier, lap=lap):
                # The first rounds wait for nobody: of rounds before the first one nothing is known, which is what (0, 0) says.
                self.learn(point, *self.ended.get((barrier.itself, trip - lap * barrier.cycle.copies), (0, 0)))
            case Arrive(drain=False):
                self.arrive(trip, point, step)
            case Commit(kind=kind):  # closes a group, or is one more behind it
                for part, thread in self.flying(kind, point.threads):
                    self.since[part.of(thread)] += 1
            case WaitGroup(kind=kind, pending=most, read=read):
                # It leaves the `most` newest groups: one with so many after it is over. `read` says so of stores' sources alone.
                for part, thread in self.flying(kind, point.threads):
                    if self.since[part.of(thread)] >= most and (part.kind == "read" or not read):
                        self.land(part, thread)
            case ProxyFence(space=space) if space != "global":
                self.fence(point)
            case _:
                pass

    def fence(self, point: Point) -> None:
        """Show engines what those who come to a point have done themselves, as threads do.

        Only their own: a proxy fence is for the accesses of its thread, so what others told it is not among them.
        """
        for thread in point.threads:
            self.fenced[thread] |= self.known[thread] & self.ground.plain[thread]

    def learn(self, point: Point, known: int, fenced: int) -> None:
        """Let those who come to a point know more."""
        for thread in point.threads:
            self.known[thread] |= known
            self.fenced[thread] |= fenced

    def arrive(self, trip: int, point: Point, op: Arrive) -> None:
        """Let those who come to a point say what they know, and where the arrivals wait for copies, that these have ended."""
        if op.every == WARP:  # the warp's threads meet before one of them arrives for all
            self.meet(point, WARP1)
        known, fenced = (self.join(knowing, point.threads) for knowing in (self.known, self.fenced))
        if op.copies:  # the arrival counts when all `cp.async`s of its thread have ended, whatever ring they fill
            known |= self.join(self.copying, point.threads)
        # With a delay the arrival for this round comes that many trips later, with what is known then of the late readers.
        # Where the loop ends before, it comes behind the loop, and knows no more than what is known now: that is told first.
        self.tell(op.barrier, trip, known, fenced)
        # Nobody is told of a round before the first one: this may be the loop's first trip, and who asks then waits for nobody.
        if 0 < op.delay <= trip:
            late = sum(self.ground.late[thread] for thread in point.threads)
            self.tell(op.barrier, trip - op.delay, known & late, fenced & late)

    def flying(self, kind: str, threads: Sequence[int]) -> list[tuple[Part, int]]:
        """Return what some threads have under way."""
        own = self.ground.made_by.get(kind, ()) if self.since else ()
        return [(part, thread) for part in own for thread in threads if part.of(thread) in self.since]

    def meet(self, point: Point, unit: Perspective) -> None:
        """Let the threads of the block, of each warp, or all who come here, know the same; other units are left out."""
        threads, warps = point.threads, self.ground.warps
        if unit >= BLOCK:
            groups = [] if self.lag else [list(range(len(self.known)))]
        elif unit == WARP1:
            groups = [[t for t in threads if warps[t] == warp] for warp in dict.fromkeys(warps[t] for t in threads)]
        elif unit.size == point.number:
            groups = [list(threads)]
        else:
            return  # groups of a part of those who come: who is with whom is not known here
        for group in groups:
            for knowing in (self.known, self.fenced):
                told = self.join(knowing, group)
                for thread in group:
                    knowing[thread] = told

    @staticmethod
    def join(knowing: Sequence[int], threads: Sequence[int]) -> int:
        """Return what some threads know between them."""
        found = 0
        for thread in threads:
            found |= knowing[thread]
        return found


# -- what waits do for others -------------------------------------------------------------------------------------------------


def news(ground: Ground, plan: Standing, number: int) -> Iterator[tuple[Stmt, Passed | Known]]:
    """Yield where, by the waits of rings, all threads of the block know that all have passed a place of the trip, or of the last.

    Each pair has a number, from `number` on. It stands behind a statement of the list: first what is known, then what is passed.
    """
    first, last = min(lap.range[0] for lap in ground.laps), max(lap.range[1] for lap in ground.laps)
    first = max(first - 1, 0)  # a trip that comes to the end of the statement before makes its round
    places = {s: index for index, s in enumerate(ground.laps[0].home) if first <= index <= last}
    whole = next(point for point in ground.points if point.at in places)
    if whole.number != most_threads(ground.function) or leading(ground, plan)[0]:
        return
    # A place is passed as an access is made: its bits are the threads that have been there. One engine answers for both.
    width, trips = len(ground.numbers), _Knowledge(replace(ground, parts=(), asked=[]), plan)
    passed: dict[int, int] = {}
    best: dict[tuple[int, int], int] = {}
    for trip, point in trips.go(1):
        if point.side != "after" or point.at not in places:
            continue
        index = places[point.at]
        # Asked before this place's own bits are set in the first trip: that a place is passed where it stands is no news.
        everyone = trips.known[0]
        for known in trips.known:
            everyone &= known
        best[trip, index] = max((i for i, bits in passed.items() if everyone & bits == bits), default=-1)
        if trip == 0:
            passed[index] = ((1 << width) - 1) << (index * width)
            for thread in range(width):
                trips.known[thread] |= 1 << (index * width + thread)
    # Only what is new is said: of places that all know passed, the latest; and of the trip before what the first one did not say.
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
