"""Which fills of rings can be issued ahead, and the plan for it; or why not.

Where the same threads fill and use a ring, the plain loop `for k: fill(k); use(k)` overlaps nothing: nobody asks for the next
copy before the last use. All copies but the one in use may be under way, less those that asynchronous readers still hold: so
many visits ahead the fills can be issued, if all that they read is a function of the loop's index (releases.py). skew.py does it.

What the fills then need, cheapest first:
- *met*: all threads of the block fill, by `cp.async` and plain stores. A trip begins with what orders both ways at once: each
  thread waits for its own copies of this visit, then the threads meet: the others' copies are in as well, and the copy that the
  trip will fill has been used. Commit groups count the visits, one each trip, the last of them empty.
- *mbarriers* for all else (loads by one thread, the threads of a role): as without skew, with rounds that the fills count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from prism.lang.barriers import flow
from prism.lang.barriers.walk_context import Context
from prism.lang.barriers.whole_units import whole
from prism.lang.keep.bases import Frozen
from prism.lang.rings.cycles import jumps
from prism.lang.rings.edges import clashes, edges, pending_ways
from prism.lang.rings.fences import Fences, fences
from prism.lang.rings.hoisting import Early, Held, needs
from prism.lang.rings.loads import multicast_of
from prism.lang.rings.stations import members, ring_of
from prism.lang.rings.visits import Edge, Lap, Visit, read_delay
from prism.lang.rings.waits import Ahead, Rings, plan_cycles
from prism.lang.tree import Claim, Const, For, Group, Partition, Scalar, Stmt
from prism.lang.tree.plan import Barrier, Commit, Cycle, Note, Op, Plan, ProxyFence, Skew, WaitGroup
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, THREAD, WARP, Level, Perspective

MOST_BITS = 31
"""Of how far ahead an index may be: no index of 32 bits is a step of more away from another."""


SEVERAL = "nothing overlaps, because it is visited in several places"


class Fills(Frozen):
    """A cycle's visits that fill its copies, and those that use them; `loop`, `around` and `at` are as in `Skew`."""

    lap: Lap
    visits: tuple[Visit, ...]
    users: tuple[Visit, ...]
    loop: For
    around: tuple[Stmt, ...]
    at: tuple[Stmt, ...]
    by: int
    met: bool


def with_skews(
    context: Context, own: Sequence[Commit], found: Rings, plan: Plan, made: Callable[[Rings], Plan]
) -> Plan:
    """Return a function's plan with that for fills ahead, and with notes; `made` gives the plan that has other rings."""
    notes: list[Note] = []
    fills: dict[Lap, tuple[Fills, Skew]] = {}
    unseen = fences(context, found.laps)
    for lap in found.laps:
        if not has_mixed_threads(context, lap):
            continue
        names, span = ", ".join(f"`{ring.name}`" for ring in lap.cycle.rings), lap.cycle.rings[0].span
        if lap.sections:
            if lap is lap.sections[0]:
                notes.append(Note(span, f"{names}: {SEVERAL}"))
            continue
        if stored := stores(lap):
            notes.append(Note(span, f"{names}: {stored}"))
            continue
        try:
            one = fills_of(context, lap, unseen)
            fills[lap] = one, skew_of(context, found, plan, one, unseen)
            visits = f"{one.by} visit{'s' * (one.by > 1)}"
            notes.append(
                Note(span, f"{names}: filled {visits} ahead, so that the copies come in while others are used")
            )
        except Held as why:
            notes.append(Note(span, f"{names}: nothing overlaps, because {why}"))
    plan = replace(plan, notes=tuple(notes))
    if not fills:
        return plan
    skews = tuple(skew for _, skew in fills.values())
    ahead = {lap: Ahead(one.visits, skew.lead, one.at[-1], one.met) for lap, (one, skew) in fills.items()}
    other = made(plan_cycles(context, own, found.laps, ahead))
    steps = [step for skew in skews for step in (*skew.opens, *skew.closes)]
    skewed = replace(
        other,
        barriers=(*other.barriers, *(step for step in steps if isinstance(step, Barrier))),
        operations=(*other.operations, *(step for step in steps if not isinstance(step, Barrier))),
        notes=plan.notes,
        skews=skews,
    )
    return replace(plan, skews=skews, skewed=skewed)


def has_mixed_threads(context: Context, lap: Lap) -> bool:
    """Whether some thread both fills copies in a loop and uses them: others run ahead by themselves."""
    filling, using = split_visits(lap)
    if not lap.rounds[0].loops or not filling or not using:
        return False
    fillers = frozenset().union(*(members(context.function, visit.spot.path) for visit in filling))
    return any(fillers & members(context.function, visit.spot.path) for visit in using)


def stores(lap: Lap) -> str:
    """Return what is to be said of a ring that threads write and asynchronous stores read; nothing of any other."""
    filling, using = split_visits(lap)
    if any(touch.how for visit in filling for touch in visit.touches()):
        return ""
    if any(touch.how != "bulk" for visit in using for touch in visit.touches()):
        return ""
    if held := max(read_delay(visit) for visit in using):
        return f"a store goes on for {held} visit{'s' * (held > 1)} more, while the next copies are written"
    more = "" if lap.cycle.copies > 1 else "`ring=2`, and "
    return f"each store is waited for in its trip: with {more}`in_flight=1` in the claim around it, it goes on during the next"


def split_visits(lap: Lap) -> tuple[tuple[Visit, ...], tuple[Visit, ...]]:
    """Return a cycle's visits that are the first of all their rings, and the others."""
    first = {ring: next(visit for visit in lap.visits if ring in visit.rings) for v in lap.visits for ring in v.rings}
    filling = tuple(visit for visit in lap.visits if all(first[ring] is visit for ring in visit.rings))
    return filling, tuple(visit for visit in lap.visits if visit not in filling)


# -- whether they can be ------------------------------------------------------------------------------------------------------


def fills_of(context: Context, lap: Lap, unseen: Fences) -> Fills:
    """Return the fills of a cycle, with where they stand. Raises Held."""
    filling, using = split_visits(lap)
    loop = lap.rounds[0].loops[0]
    # Of the copies one is in use and `held` are still read by what is in flight; the others may be filled. With ring=4 and
    # in_flight=1: trip k uses copy k, copy k - 1 is still read, and what is filled is k + 1 and k + 2.
    held = max(read_delay(visit) for visit in using)
    by = lap.cycle.copies - 1 - held
    if by < 1:
        raise Held(
            f"{'all copies are' if held else 'the copy is'} in use: with `ring={held + 2}` or more one could be filled"
        )
    check_loop(loop, by)
    assert isinstance(loop, For)
    around, at = place_fills(lap, loop, filling)
    everything = frozenset(members(context.function, ()))
    # One barrier a trip does for both ways where all threads fill and all use: cheaper than mbarriers for each copy.
    everyone = all(members(context.function, visit.spot.path) == everything for visit in filling)
    touches = [touch for visit in filling for touch in visit.touches()]
    code = getattr((*around, *at)[0], "code", THREAD)
    met = everyone and code >= BLOCK and all(touch.how in ("", "cp_async") for touch in touches)
    if all(touch.how == "" for touch in touches):
        raise Held("the threads wait for what they load before they store it: with `cp_async` they would not")
    if any(multicast_of(visit) for visit in filling):
        raise Held("it is filled by copies to several blocks")
    if not met and any(v in unseen and any(t.how == "cp_async" for t in v.touches()) for v in filling):
        raise Held("its threads are not the block's, and wait for their `cp_async` at once: another unit reads it")
    return Fills(lap, filling, using, loop, around, at, by, met)


def check_loop(loop: Stmt, by: int) -> None:
    """Raise Held for a loop whose trips to come are not known."""
    if not isinstance(loop, For):
        raise Held("the loop is a `while`: whether there is another trip is not known before")
    if not isinstance(loop.step, Const) or not loop.step.value:
        raise Held("the loop's step is not a constant")
    assert isinstance(loop.symbol.type, Scalar)
    if loop.symbol.type.bits < MOST_BITS or abs(int(loop.step.value)) * by >> MOST_BITS:
        raise Held("the loop's index may not reach so far ahead")
    if jumps(loop.body, 0, len(loop.body)):
        raise Held("the loop may be left, or a trip cut short")


def place_fills(lap: Lap, loop: For, filling: Sequence[Visit]) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """Return the scopes between the loop and the list with the stations, and the fills there. Raises Held."""
    trail = lap.rounds[0].trail
    start = next(n for n, (body, index) in enumerate(trail) if body[index] is loop)
    around = tuple(body[index] for body, index in trail[start + 1 : -1])
    if any(ring_of(s) is not None for s in around):
        raise Held("its stations stand inside another ring's")
    if not all(isinstance(s, Partition | Claim | Group) for s in around):
        raise Held("its stations stand under a condition in the loop")
    depth = len(trail) - 1
    where = {visit: {station.trail[depth][1] for station in visit.stations} for visit in lap.visits}
    early = set().union(*(where[visit] for visit in filling))
    if any(early & where[visit] for visit in lap.visits if visit not in filling):
        raise Held("it is filled and used inside one scope")
    if lap.range[1] in early:  # the round ends after the last station, which must not be issued ahead
        raise Held("its last station fills a ring that nobody reads after it")
    return around, tuple(lap.home[index] for index in sorted(early))


# -- what they need ---------------------------------------------------------------------------------------------------------


def skew_of(context: Context, found: Rings, plan: Plan, fills: Fills, unseen: Fences) -> Skew:
    """Return the fills as they are issued ahead. Raises Held."""
    lap, rings = fills.lap, frozenset(found.operations)
    for visit in fills.visits:
        if any(touch.kind != "write" for touch in visit.touches()):
            raise Held("it reads what it fills")
    lists = [fills.loop.body, *(inner for s in fills.around for inner in [getattr(s, "body", ())])]
    steps = (*fills.around, fills.at[0])
    before = tuple(s for body, step in zip(lists, steps, strict=True) for s in body[: body.index(step)])
    # Statements between two fills may declare what the second one needs.
    between = lap.home[lap.home.index(fills.at[0]) : lap.home.index(fills.at[-1])]
    before += tuple(s for s in between if s not in fills.at)
    declared = needs(Early(context, fills.loop, fills.around, fills.at, before), plan.barriers)
    moved = frozenset(statements((*fills.at, *declared)))
    if any(op.at in moved and op not in rings for op in plan.operations):
        raise Held("something else is waited for in it")
    lead = Cycle(f"{lap.cycle.name}_ahead", lap.cycle.copies, lap.cycle.rings, lap.cycle)
    opens, closes = meeting(context, fills, unseen) if fills.met else ((), ())
    return Skew(lead, fills.loop, fills.around, fills.at, declared, fills.by, opens, closes)


def meeting(context: Context, fills: Fills, unseen: Fences) -> tuple[tuple[Barrier | Op, ...], tuple[Op, ...]]:
    """Return what stands before and after a trip's fills where all threads fill and use."""
    every = [edge for edge in edges(fills.lap) if {edge.earlier, edge.later} & set(fills.visits)]
    filled = [edge for edge in every if edge.earlier in fills.visits]
    at, last = fills.at[0], fills.at[-1]
    # In this order, because the barrier tells others what was known before it:
    #     cp.async.wait_group by - 1    my copies of this trip are in; those of the trips after it go on
    #     fence                         engines see them
    #     barrier                       so are the others', and all have used the copy that this trip fills
    #     fill, `by` trips ahead; commit
    # The commit stands in each trip, also where there is nothing left to fill: groups count trips then, up to the last.
    opens: list[Barrier | Op] = []
    copies = [e for e in filled for touch in e.earlier.touches(e.ring) if touch.how == "cp_async"]
    first, second = (copies or filled)[0].first.access, (copies or filled)[0].second.access
    if copies:
        opens.append(WaitGroup(at=at, kind="cp_async", pending=fills.by - 1, first=first, second=second))
    for one, two in [unseen[visit] for visit in fills.visits if visit in unseen][:1]:
        opens.append(ProxyFence(at=at, first=one.access, second=two.access))
    unit = common_unit(context, every)
    if unit is not None:
        opens.append(Barrier(kind_of(unit), unit, at, first, second, loop=True))
    return tuple(opens), (Commit(at=last, side="after", kind="cp_async"),) if copies else ()


def common_unit(context: Context, every: Sequence[Edge]) -> Perspective | None:
    """Return the unit whose threads these conflicts concern; None where each is one thread's own."""
    units: set[Perspective] = set()
    for edge in every:
        for one, two in clashes(edge.earlier.touches(edge.ring), edge.later.touches(edge.ring)):
            for pending in pending_ways(edge, one):
                relation = flow.relate(context.objects, pending, two)
                if relation is not None and relation.unit not in (None, THREAD):
                    units.add(relation.unit)
    if not units:
        return None
    function = context.function
    # Only parts that divide a warp, and of which all threads come, have a barrier of their own; else it is the block's.
    small = all(unit.level == Level.THREAD and WARP % unit.size == 0 and whole(unit, BLOCK, function) for unit in units)
    return max(units, key=lambda unit: unit.size) if small else BLOCK


def kind_of(unit: Perspective) -> str:
    """Name the hardware's barrier for a block, or a part of a warp."""
    return "block" if unit.level == Level.BLOCK else "warp"
