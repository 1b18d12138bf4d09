"""Early arrivals: a copy whose readers stay in flight is given back behind the wait of the same trip that ends them.

    with claim(k, users, in_flight=1) as c: wgmma(scores, c, ...)
    with claim(v, users, in_flight=1) as c: wgmma(sums, c, ...)
    use scores                                 the wait for `scores` has ended all that reads k's copy: here it is given back
    use sums                                   and here v's

Rule *early*: the late arrival of a visit becomes one of its own round where, in every trip, a wait of the visit's threads has
ended all its readers before the next round begins. It comes right behind that wait. Where there is none it stays late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism.lang.rings.cycles import jumps
from prism.lang.rings.ground import Ground, Part, Point
from prism.lang.rings.happens import Standing, where_ended
from prism.lang.rings.stations import members
from prism.lang.rings.visits import GROUPED_READS, Lap, Visit
from prism.lang.tree.plan import Advance, Arrive, Op, Path, Plan, WaitGroup
from prism.lang.tree.walk import statements


def late_arrivals(operations: Sequence[Op]) -> list[Arrive]:
    """Return the arrivals that come some rounds late, but for those behind the loop."""
    return [op for op in operations if isinstance(op, Arrive) and op.delay and not op.drain]


def arrive_early(ground: Ground, plan: Plan, operations: Sequence[Op], late: Arrive) -> tuple[Op, ...] | None:
    """Return the rings' operations with one late arrival in its own round; None where no wait of the trip ends what it is for."""
    found = _visit_of(ground, late)
    if found is None:
        return None
    lap, visit = found
    readers = [part for part in ground.of_visits[visit] if part.how in GROUPED_READS]
    point = where_ended(ground, Standing(plan), readers)
    path = None if point is None else _path_for(ground, point, visit, readers)
    if point is None or path is None:
        return None
    # A trip that is cut short before the place would never arrive, and rounds would not be counted alike.
    place = next(k for k, s in enumerate(lap.home) if point.at in statements((s,)))
    if jumps(lap.home, lap.range[0], place):
        return None
    early = Arrive(at=point.at, side=point.side, path=path, barrier=late.barrier, every=late.every)
    moved: list[Op] = []
    for op in operations:
        if op is late or (isinstance(op, Arrive) and op.drain and op.barrier is late.barrier):
            continue
        # It arrives for the round that is counted there: so the count goes on behind it.
        if isinstance(op, Advance) and op.cycle is lap.cycle and place > lap.home.index(op.at):
            op = replace(op, at=lap.home[place])
        moved.append(op)
    last = [k for k, op in enumerate(moved) if isinstance(op, WaitGroup) and (op.at, op.side) == (point.at, point.side)]
    moved.insert(last[-1] + 1 if last else len(moved), early)
    return tuple(moved)


def _visit_of(ground: Ground, late: Arrive) -> tuple[Lap, Visit] | None:
    """Return the visit that an arrival ends, with its cycle."""
    for lap in ground.laps:
        for visit in lap.visits if lap.cycle is late.barrier.cycle else ():
            if late.at is visit.last_use and visit in ground.of_visits:
                return lap, visit
    return None


def _path_for(ground: Ground, point: Point, visit: Visit, readers: Sequence[Part]) -> Path | None:
    """Return the path of an arrival at a point by those who make a visit; None where others would come, or not all of them."""
    # The arrivals of a phase stay as many.
    for path in ((), visit.spot.path):
        here = ground.along(point, path)
        if all(part.threads == here.threads for part in readers) and here.number == len(members(ground.function, visit.spot.path)):
            return path
    return None
