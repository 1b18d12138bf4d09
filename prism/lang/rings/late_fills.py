"""Late fills: copies by `cp_async` that are told of some rounds after they were issued, so that many are under way at once.

    for k in range(n):
        with claim(r, fillers, in_flight=1) as c, async_(c) as coming: cp_async(coming, x[k])
                                              ends the copies of k - 1, makes them visible to engines, and arrives for k - 1
        with claim(r, users) as c: wgmma(sums, c, ...)

Only where an engine reads them: then their threads have to wait, and fence. Where threads read them the hardware arrives by
itself when they are in, and nobody waits.

Who uses round k waits for what the fillers do in trip k + d. So nobody may hold them back before. Rule *behind*: in the trips of
the loop the fillers wait for none but those who have given back rings' copies before; and they meet nobody else. Then there
is always a schedule: the fillers' trip k + d, then trip k of all others. Behind the loop they arrive for the rounds left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prism.lang import tree
from prism.lang.barriers.walk_context import Place
from prism.lang.barriers.walk_state import narrow_path
from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.rings import Behind
from prism.lang.rings.cycles import jumps
from prism.lang.rings.stations import inner_places, members
from prism.lang.rings.visits import GROUPED_READS, Edge, Lap, Round, Visit, read_delay
from prism.lang.tree.plan import Arrive, Barrier, Path, Plan
from prism.lang.tree.walk import calls, statements
from prism.lang.types.perspective import WARP, Level

Fault = tuple[str, str, tuple[Label, ...]]
"""What is wrong, what would mend it, and where."""


def fill_delay(visit: Visit) -> int:
    """Return how many rounds later a visit's copies by `cp_async` are waited for: what all their rings allow."""
    if not visit.rounds or not visit.rounds[0].loops or any(touch.how in GROUPED_READS for touch in visit.touches()):
        return 0
    # A thread waits for groups, and what it copied into several rings in a visit is one: none is told of before the other.
    found = [s.in_flight for s in visit.stations if any(touch.how == "cp_async" for touch in s.touches)]
    return min(found, default=0)


def groups_a_round(visit: Visit, lap: Lap, landed: Sequence[Visit]) -> int:
    """Return how many groups of copies a visit's threads surely commit in each round: for this visit, and others of its cycle."""
    own = [one for one in lap.visits if one in landed and one.spot.path == visit.spot.path]
    return sum(any(touch.how == "cp_async" for touch in one.touches()) for one in own)


def check_fills(function: tree.Function, laps: Sequence[Lap], edges: Sequence[Edge], late: Sequence[Visit]) -> None:
    """Rule *behind*, of rings; `late` are the visits that are told of later. Raises CompileError."""
    for lap in laps:
        for visit in lap.visits if late else ():
            if visit in late and (fault := next(_faults(function, lap, visit, edges), None)) is not None:
                raise _error(visit, fault)


def check_meetings(function: tree.Function, laps: Sequence[Lap], plan: Plan) -> None:
    """Rule *behind*, of barriers, turns and calls, once barriers are placed. Raises CompileError."""
    late = {op.at for op in plan.operations if isinstance(op, Arrive) and op.delay and not op.drain}
    for lap in laps if late else ():
        for visit in lap.visits:
            if visit.last_use in late and fill_delay(visit):
                fault = next(_meetings(function, lap.rounds[0].loops[0], visit, plan.barriers), None)
                if fault is not None:
                    raise _error(visit, fault)


def _error(visit: Visit, fault: Fault) -> CompileError:
    what, change, labels = fault
    station = next(s for s in visit.stations if s.in_flight)
    span, name = station.opening.span, station.ring.name
    return CompileError(Behind(span=span, labels=labels, name=name, delay=station.in_flight, fault=what, change=change))


def _faults(function: tree.Function, lap: Lap, visit: Visit, edges: Sequence[Edge]) -> Iterator[Fault]:
    """Yield where a visit's threads would wait for those who wait for them."""
    own, delay, loop = members(function, visit.spot.path), fill_delay(visit), lap.rounds[0].loops[0]
    assert isinstance(loop, tree.For | tree.While)
    inside = frozenset(statements((loop,)))
    if not visit.crowd.whole:
        yield "its threads are no whole warps, which could run ahead", "let whole warps fill it: `roles(warp, ...)`", ()
    for edge in edges:
        later = edge.later
        if later.stations[0].opening not in inside or not own & members(function, later.spot.path):
            continue
        labels = (Label(edge.second.access.span, f"they wait for `{edge.ring.name}` here"),)
        if not all(_is_every_trip(one, loop) for one in (*later.rounds, *lap.rounds)):
            change = "let each trip make one round of each"
            yield "its threads make visits in some trips alone, or several times", change, labels
        elif not edge.lap:
            yield (
                "its threads wait for a copy of the same round",
                "leave out `in_flight`, or let another role fill it",
                labels,
            )
        # With `delay` rounds untold, and `read_delay` read but not given back, one copy more must be free, or both would wait.
        elif (least := delay + read_delay(edge.earlier) + 1) > later.cycle.copies:
            change = f"declare `{edge.ring.name}` with `ring={least}` or more"
            yield f"of `{edge.ring.name}` all {later.cycle.copies} copies may be waited for", change, labels
    ends = {one for one in jumps(loop.body, 0, len(loop.body)) if isinstance(one, tree.Continue)}
    for statement in inside:
        if isinstance(statement, tree.Return) or statement in ends:
            labels = (Label(statement.span, "leaves the rest untold of"),)
            yield "a trip may be cut short", "let the loop end, with `break`", labels
        elif isinstance(statement, tree.While) and statement is not loop and _comers(function, statement) & own:
            labels = (Label(statement.span, "may wait for others"),)
            yield "its threads run a `while` in the loop", "count the trips: `for`", labels


def _is_every_trip(found: Round, loop: tree.Stmt) -> bool:
    """Whether each trip of a loop makes one round, unless it is the last."""
    around = [body[index] for body, index in found.trail[:-1]]
    inside = around[around.index(loop) + 1 :] if loop in around else [loop]
    return not any(isinstance(s, tree.If | tree.For | tree.While | tree.Split) for s in inside)


def _meetings(function: tree.Function, loop: tree.Stmt, visit: Visit, barriers: Sequence[Barrier]) -> Iterator[Fault]:
    """Yield where a visit's threads would meet others in the loop."""
    own, inside = members(function, visit.spot.path), frozenset(statements((loop,)))
    change = "leave out `in_flight`, or let the fillers have no part in it"
    for barrier in barriers:
        comers = _comers(function, barrier.before) if barrier.before in inside else own
        # Lanes of a warp meet in one instruction: nobody of another warp is waited for.
        small = barrier.unit.level == Level.THREAD and WARP % barrier.unit.size == 0 and visit.crowd.whole
        if own & comers and not comers <= own and not small:
            yield (
                "its threads meet others at a barrier in the loop",
                change,
                (Label(barrier.before.span, "before this"),),
            )
    for statement in inside:
        if isinstance(statement, tree.Turns):
            comers = frozenset(range(statement.first, statement.first + statement.size))
        elif any(True for _ in calls(statement)):
            comers = _comers(function, statement)
        else:
            continue
        if own & comers and not comers <= own:
            yield (
                "its threads and others go through a passage or a function together",
                change,
                (Label(statement.span, "here"),),
            )


def _comers(function: tree.Function, statement: tree.Stmt) -> frozenset[int]:
    """Return the threads that come to a statement."""
    path = _path_to(statement, function.body, Place(function.bound.code))
    return frozenset() if path is None else members(function, path)


def _path_to(statement: tree.Stmt, body: tree.Body, place: Place) -> Path | None:
    for one in body:
        if one is statement:
            return narrow_path(place.path)
        for inner, part in inner_places(one, place):
            found = _path_to(statement, part, inner)
            if found is not None:
                return found
    return None
