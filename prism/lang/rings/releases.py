"""Releases: a copy whose readers stay in flight is given back behind the wait of the same trip that ends them.

    with claim(k, users, in_flight=1) as c: wgmma(scores, c, ...)
    with claim(v, users, in_flight=1) as c: wgmma(sums, c, ...)
    use scores                                 the wait for `scores` has ended all that reads k's copy: here it is given back
    use sums                                   and here v's

Rule *early*: the late arrivals at an mbarrier become ones of their own rounds where, in every place that visits the ring and in
every trip, a wait of the visit's threads has ended all its readers before the next round begins. Each comes right behind that
wait, and the visit needs none of its own. A loop of one trip at most waits for them at its end: behind it they would be waited
for anyhow. Where another place has no such wait they stay late.

What an arrival tells is no less: it comes behind the visit, as the late one does, and its threads know more by then. In rounds
it comes before all of the next one, so that the order of the text is a schedule in which nobody waits for what comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from prism.lang.keep.bases import Frozen
from prism.lang.rings.cycles import jumps
from prism.lang.rings.ground import Ground, Part, Point, ground
from prism.lang.rings.happens import Standing, where_ended
from prism.lang.rings.late_fills import fill_delay
from prism.lang.rings.stations import members
from prism.lang.rings.visits import GROUPED_READS, Lap, Visit
from prism.lang.tree import For, Function
from prism.lang.tree.plan import Advance, Arrive, Mbarrier, Op, Path, Plan, WaitGroup
from prism.lang.tree.walk import statements


class Early(Frozen):
    """An arrival in place of a late one: the visit and its readers, on the ground of its trips; `waits`, made for it.

    `place`: where it is in the list of the round.
    """

    late: Arrive
    lap: Lap
    visit: Visit
    trips: Ground
    readers: tuple[Part, ...]
    arrival: Arrive
    place: int
    waits: tuple[WaitGroup, ...] = ()

    def late_waits(self, operations: Sequence[Op]) -> list[WaitGroup]:
        """Return the waits that were there for the late arrival: at the visit's end, and behind its loop."""
        ends = (self.visit.last_use, self.lap.rounds[0].loops[0])
        own = (op for op in operations if isinstance(op, WaitGroup) and op.first.root in self.visit.rings)
        return [op for op in own if op.side == "after" and op.at in ends and op.kind in GROUPED_READS]


def late_barriers(operations: Sequence[Op]) -> list[Mbarrier]:
    """Return the mbarriers that are arrived at some rounds late."""
    return list(dict.fromkeys(op.barrier for op in operations if isinstance(op, Arrive) and op.delay and not op.drain))


def find_early(function: Function, laps: Sequence[Lap], plan: Plan, barrier: Mbarrier) -> list[Early]:
    """Return the arrivals that come in place of all late ones at an mbarrier; none where one of them has to be late."""
    found: list[Early] = []
    standing = Standing(plan)
    for op in plan.operations:
        if isinstance(op, Arrive) and op.barrier is barrier and op.delay and not op.drain:
            visits = ((lap, visit) for lap in laps for visit in lap.visits if _ends(op, visit))
            one = _early(function, *next(visits), standing, op)
            if one is None:
                return []
            found.append(one)
    return found


def _ends(op: Arrive, visit: Visit) -> bool:
    """Whether an arrival is that at a visit's end."""
    return visit.cycle is op.barrier.cycle and visit.last_use is op.at and visit.spot.own_path == op.path


def find_again(function: Function, early: Sequence[Early], plan: Plan) -> list[Early] | None:
    """Return early arrivals where other waits stand than before; None where there is no place for one."""
    found: list[Early] = []
    standing = Standing(plan)
    for old in early:
        one = old if old.waits else _early(function, old.lap, old.visit, standing, old.late)
        if one is None or one.waits != old.waits:
            return None
        found.append(one)
    return found


def exchange(operations: Sequence[Op], early: Sequence[Early]) -> tuple[Op, ...]:
    """Return the rings' operations with early arrivals in place of late ones, and without the waits for these."""
    gone: set[object] = {op for one in early for op in (one.late, *one.late_waits(operations))}
    barriers = {one.arrival.barrier for one in early}
    gone |= {op for op in operations if isinstance(op, Arrive) and op.drain and op.barrier in barriers}
    found = [op for op in operations if op not in gone]
    for one in early:
        home = one.lap.home
        # It arrives for the round that is counted there: so the count goes on behind it.
        for at, op in enumerate(found):
            if isinstance(op, Advance) and op.cycle is one.lap.cycle and op.at in home[: one.place]:
                found[at] = replace(op, at=home[one.place])
        # Behind the waits that stand there, or before all else.
        here = [at for at, op in enumerate(found) if (op.at, op.side) == (one.arrival.at, one.arrival.side)]
        waits = [at for at in here if isinstance(found[at], WaitGroup)]
        at = waits[-1] + 1 if waits else min(here, default=len(found))
        found[at:at] = [*one.waits, one.arrival]
    return tuple(found)


def _early(function: Function, lap: Lap, visit: Visit, plan: Standing, late: Arrive) -> Early | None:
    """Return the arrival in place of a late one; None where no wait of the trip ends what it is for."""
    trips = ground(function, [lap])
    if trips is None or fill_delay(visit):
        return None
    readers = tuple(part for part in trips.of_visits[visit] if part.how in GROUPED_READS)
    point = where_ended(trips, plan, readers)
    path = None if point is None else _path_for(trips, point, visit, readers)
    waits: tuple[WaitGroup, ...] = ()
    if point is not None and path is not None:
        place = next(k for k, s in enumerate(lap.home) if point.at in statements((s,)))
        arrival = replace(late, at=point.at, side=point.side, path=path, delay=0)
    else:
        loop, place = lap.rounds[0].loops[0], len(lap.home) - 1
        if not (isinstance(loop, For) and loop.once and loop.body is lap.home):
            return None
        arrival = replace(late, at=lap.home[-1], path=visit.spot.path, delay=0)
        waits = tuple(_waits(plan, visit, arrival))
    # A trip that is cut short before the place would never arrive, and rounds would not be counted alike.
    cut_short = jumps(lap.home, lap.range[0], place)
    return None if cut_short else Early(late, lap, visit, trips, readers, arrival, place, waits)


def _waits(plan: Standing, visit: Visit, arrival: Arrive) -> Iterator[WaitGroup]:
    """Yield waits for all that reads a visit's copies, before an arrival."""
    for op in plan.after.get(visit.last_use, ()):
        if isinstance(op, WaitGroup) and op.kind in GROUPED_READS and op.first.root in visit.rings:
            yield replace(op, at=arrival.at, path=arrival.path, pending=0)


def _path_for(trips: Ground, point: Point, visit: Visit, readers: Sequence[Part]) -> Path | None:
    """Return the path of an arrival at a point by those who make a visit; None where others would come, or not all of them."""
    # The arrivals of a phase stay as many.
    for path in ((), visit.spot.path):
        here = trips.narrow(point, path)
        number = len(members(trips.function, visit.spot.path))
        if here.number == number and all(part.threads == here.threads for part in readers):
            return path
    return None
