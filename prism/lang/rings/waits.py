"""Rings: what makes a ring's stations wait for one another, and for nothing else.

A station waits for the last one before it that wrote the copy, and, if it writes itself, for those that have read it since:
they have waited for the writer. The last lap's stations are before this lap's. So, whatever the number of copies, each
thread's visits are in the order of the program, the sequential run is one of the schedules, and some thread can always go on.

Named rules, each with what makes it legal:
- *own*: a thread's accesses to its own part, both times, are in program order; unless the copy comes in asynchronously.
- *implied*: what the other waits see to already, whatever the schedule (implied.py), nobody waits for.
- *overwritten*: of what was accessed before a visit that writes the whole copy, engines see only what that visit made of it.
- *late*: an asynchronous reader arrives d rounds later, where only the next lap waits for it, and d is less than the copies.
- *unread*: copies for which no later visit of the round waits, who issued them waits for: the block may end before the next lap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from fractions import Fraction
from functools import partial

from prism.lang.barriers import flow
from prism.lang.barriers.flow import Objects
from prism.lang.barriers.groups import least
from prism.lang.barriers.walk_context import Context
from prism.lang.bases import Frozen
from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.rings import Idle, Late
from prism.lang.facts.touches import LOADS, Pending, Touch
from prism.lang.rings.covers import covers
from prism.lang.rings.cycles import laps
from prism.lang.rings.implication import find_implied, group_laps
from prism.lang.rings.loads import bytes_of_load, check_multicast, loads, multicast_of
from prism.lang.rings.stations import stations
from prism.lang.rings.visits import GROUPED_READS, Edge, Lap, Unseen, Visit, read_delay
from prism.lang.tree import Apply, Function, Stmt, Symbol
from prism.lang.tree.plan import (
    Access,
    Advance,
    Arrive,
    Commit,
    Cycle,
    Elided,
    Expect,
    Mbarrier,
    Op,
    Path,
    Plan,
    ProxyFence,
    Wait,
    WaitGroup,
)
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import WARP, Perspective

OWN = "the same thread makes both"


class Rings(Frozen):
    """What the rings of a function need: see `Plan`."""

    cycles: tuple[Cycle, ...] = ()
    mbarriers: tuple[Mbarrier, ...] = ()
    operations: tuple[Op, ...] = ()
    completes: Mapping[Apply, Mbarrier] = field(default_factory=dict)
    elided: tuple[Elided, ...] = ()
    loaded: Mapping[Mbarrier | Stmt, frozenset[Apply]] = field(default_factory=dict)
    laps: tuple[Lap, ...] = ()
    edges: tuple[Edge, ...] = ()

    def into(self, context: Context, own: Sequence[Op]) -> Context:
        """Return what is known of the function, with these operations in place."""
        before: dict[Stmt, tuple[Op, ...]] = {}
        after: dict[Stmt, tuple[Op, ...]] = {}
        for op in (*own, *self.operations):
            side = before if op.side == "before" else after
            side[op.at] = (*side.get(op.at, ()), op)
        return replace(context, before=before, after=after, loaded=self.loaded, touches={})


class Ahead(Frozen):
    """Fills some rounds ahead: `lead` counts them, one more after `last`. `met`: a barrier sees to them, no mbarrier."""

    visits: tuple[Visit, ...]
    lead: Cycle
    last: Stmt
    met: bool


def rings(context: Context, own: Sequence[Commit]) -> Rings:
    """Return what the rings of a function need; `own` has the groups that are committed. Raises CompileError."""
    found = stations(context)
    return plan_cycles(context, own, laps(context.function, found), {}) if found else Rings()


def plan_cycles(context: Context, own: Sequence[Commit], cycles: Sequence[Lap], ahead: Mapping[Lap, Ahead]) -> Rings:
    """Return what cycles need, where those `ahead` are filled so.

    What moves to another trip implies nothing for others, and is implied by nothing.
    """
    every = [edge for lap in cycles for edge in edges(lap)]
    moved = {visit: one for one in ahead.values() for visit in one.visits}
    seen = fences(context.objects, cycles)
    plan_of = partial(waits_alone, context, own, cycles, every, seen, moved)
    stays = [edge for edge in every if not {edge.earlier, edge.later} & moved.keys()]
    needed, elided = reduce_edges(context, cycles, stays, plan_of)
    for edge in [edge for edge in every if {edge.earlier, edge.later} & moved.keys()]:
        if any(moved[visit].met for visit in (edge.earlier, edge.later) if visit in moved):
            elided.append(Elided(edge.first.access, edge.second.access, "the barrier before a trip's fills"))
        elif by_itself(context.objects, edge):
            elided.append(Elided(edge.first.access, edge.second.access, OWN))
        else:
            needed.append(edge)
    unseen = {visit: pair for visit, pair in seen.items() if visit not in moved or not moved[visit].met}
    return _gather(context, own, cycles, every, needed, elided, unseen, ahead)


def waits_alone(
    context: Context, own: Sequence[Commit], cycles: Sequence[Lap], every: Sequence[Edge], unseen: Fences,
    moved: Iterable[Visit], needed: Sequence[Edge],
) -> Plan:  # fmt: skip
    """Return a plan with the waits for some edges, what ends visits, and nothing else: no barrier stands in it.

    Nor does what moves to another trip: at the end of a loop there are trips without it, so that nobody may count on it.
    """
    found = _gather(context, own, cycles, every, needed, (), unseen, {})
    away = frozenset(statements(tuple(station.opening for visit in moved for station in visit.stations)))
    operations = tuple(op for op in (*own, *found.operations) if op.at not in away)
    return Plan(context.function, (), operations=operations, completes=found.completes)


def drop_edges(context: Context, own: Sequence[Commit], found: Rings, gone: Sequence[Edge], why: str) -> Rings:
    """Return what cycles need where something else sees to it that some edges hold."""
    every = [edge for lap in found.laps for edge in edges(lap)]
    needed = [edge for edge in found.edges if edge not in gone]
    elided = [*found.elided, *(Elided(edge.first.access, edge.second.access, why) for edge in gone)]
    return _gather(context, own, found.laps, every, needed, elided, fences(context.objects, found.laps), {})


def _gather(
    context: Context, own: Sequence[Commit], cycles: Sequence[Lap], every: Sequence[Edge], needed: Sequence[Edge],
    elided: Sequence[Elided], unseen: Fences, ahead: Mapping[Lap, Ahead],
) -> Rings:  # fmt: skip
    """Return what all cycles need together."""
    made = {commit.at: commit.kind for commit in own}
    barriers: dict[Visit, Mbarrier] = {}
    # Threads wait for their own copies where a fence has to come after these, or where nobody else waits before the block ends.
    landed = {visit for lap in cycles for visit in lap.visits if visit in unseen or not is_followed(visit, every)}
    for lap in cycles:
        if lap.sections[:1] in ((), (lap,)):
            own_ones = mbarriers(context.function, lap, needed, landed)
            barriers |= {twin: barrier for visit, barrier in own_ones.items() for twin in lap.twins(visit)}
    parts = [_lap(context, lap, barriers, every, needed, unseen, made, ahead.get(lap)) for lap in cycles]
    loaded: dict[Mbarrier | Stmt, frozenset[Apply]] = {}
    for part in parts:
        loaded |= {key: ended | loaded.get(key, frozenset()) for key, ended in part.loaded.items()}
    return Rings(
        tuple(dict.fromkeys(cycle for part in parts for cycle in part.cycles)),
        tuple(dict.fromkeys(barrier for part in parts for barrier in part.mbarriers)),
        tuple(op for part in parts for op in part.operations),
        {apply: barrier for part in parts for apply, barrier in part.completes.items()},
        tuple(elided),
        loaded,
        tuple(cycles),
        tuple(needed),
    )


def _lap(
    context: Context, lap: Lap, all_barriers: Mapping[Visit, Mbarrier], every: Sequence[Edge], needed: Sequence[Edge],
    unseen: Fences, made: Mapping[Stmt, str], ahead: Ahead | None,
) -> Rings:  # fmt: skip
    """Return what one cycle needs, in one place."""
    barriers = {visit: all_barriers[visit] for visit in lap.visits if visit in all_barriers}
    counted = {b: replace(b, cycle=ahead.lead, of=b) for b in barriers.values()} if ahead is not None else {}
    operations: list[Op] = []
    completes: dict[Apply, Mbarrier] = {}
    for visit in lap.visits:
        check_late(visit, [edge for edge in every if edge.earlier is visit])
        barrier = barriers.get(visit)
        found = list(waits(visit, lap, needed, barriers))
        early = ahead is not None and visit in ahead.visits
        for statement, apply in loads(visit):
            assert barrier is not None
            completes[apply] = counted[barrier] if early else barrier
            found.append(Expect(at=statement, barrier=barrier, copy=apply, bytes=bytes_of_load(apply)))
        found += endings(visit, lap, barrier, every, unseen, made)
        found += unread(context, visit, barrier, every)
        operations += (_shift_rounds(op, counted) for op in found) if early else found
    if ahead is not None:
        operations.append(Advance(at=ahead.last, side="after", cycle=ahead.lead))
    operations.append(Advance(at=lap.home[lap.range[1]], side="after", cycle=lap.cycle))
    cycles = (lap.cycle,) if ahead is None else (lap.cycle, ahead.lead)
    loaded: dict[Mbarrier | Stmt, frozenset[Apply]] = {}
    for visit in lap.visits:
        if visit in barriers:
            barrier = barriers[visit]
            loaded |= {one: ended_loads(lap, visit) for one in (barrier, counted.get(barrier, barrier))}
        waited = [edge.earlier for edge in needed if edge.later is visit]
        loaded |= {s.opening: frozenset().union(*(ended_loads(lap, one) for one in waited)) for s in visit.stations}
    return Rings(cycles, tuple(barriers.values()), tuple(operations), completes, loaded=loaded)


def ended_loads(lap: Lap, visit: Visit) -> frozenset[Apply]:
    """Return the loads that have ended when a visit has: its own, and those of the copies that it used."""
    before = [other for other in lap.visits if other.order <= visit.order and set(other.rings) & set(visit.rings)]
    return frozenset(apply for other in before for _, apply in loads(other))


def _shift_rounds(op: Op, by: Mapping[Mbarrier, Mbarrier]) -> Op:
    """Return an operation of a fill ahead: its rounds are the lead's."""
    return replace(op, barrier=by[op.barrier]) if isinstance(op, Wait | Arrive | Expect) else op


# -- who waits for whom -------------------------------------------------------------------------------------------------------


def edges(lap: Lap) -> Iterator[Edge]:
    """Yield which visits wait for which, ring by ring."""
    for one in lap.rounds:
        ring = one.ring
        visits = [visit for visit in lap.visits if ring in visit.rings]
        for place, later in enumerate(visits):
            for earlier, behind in _before(visits, ring, place):
                first, second = next(clashes(earlier.touches(ring), later.touches(ring)))
                yield Edge(earlier, later, behind, ring, first, second)


def _before(visits: Sequence[Visit], ring: Symbol, place: int) -> list[tuple[Visit, int]]:
    """Return the visits that one waits for, each with how many laps before: the last writer, or the readers since.

    Where visits make nothing but atomic accesses, these are to one another what reads are.
    """
    found: list[tuple[Visit, int]] = []
    for back in range(1, len(visits) + 1):
        at = place - back
        # fill, use, use: the second use waits for the fill alone, as two reads never conflict; the fill of the next lap for
        # both. They have waited for what conflicts with them: the fill before, and that for all that came before it.
        if any(clash(visits[at], visit, ring) for visit, _ in found):
            break
        if clash(visits[at], visits[place], ring):
            found.append((visits[at], int(at < 0)))
    return found


def clash(one: Visit, two: Visit, ring: Symbol) -> bool:
    """Whether accesses of two visits conflict; of one with itself: whether it waits for every visit before it."""
    return next(clashes(one.touches(ring), two.touches(ring)), None) is not None


def clashes(first: Sequence[Touch], second: Sequence[Touch]) -> Iterator[tuple[Touch, Touch]]:
    """Yield accesses that conflict."""
    return ((a, b) for a in first for b in second if flow.conflicting(a.kind, b.kind))


def reduce_edges(
    context: Context, cycles: Sequence[Lap], every: Sequence[Edge], plan_of: Callable[[Sequence[Edge]], Plan]
) -> tuple[list[Edge], list[Elided]]:
    """Return the edges for which somebody has to wait; and those for which nobody has, with the reason."""
    elided: list[Elided] = []
    needed: list[Edge] = []
    parted = {visit for lap in cycles if lap.sections for visit in lap.visits}
    for edge in every:
        if edge.later not in parted and by_itself(context.objects, edge):
            elided.append(Elided(edge.first.access, edge.second.access, OWN))
        else:
            needed.append(edge)
    for group in group_laps([lap for lap in cycles if not lap.sections]):
        for edge in find_implied(context.function, group, needed, plan_of):
            # What was found implied was so by the edges that stay: `find_implied` asks for all that are gone at each step.
            needed.remove(edge)
            why = "the other waits for the ring's visits see to it"
            elided.append(Elided(edge.first.access, edge.second.access, why))
    return needed, elided


def by_itself(objects: Objects, edge: Edge) -> bool:
    """Rule *own*."""
    earlier, later = edge.earlier, edge.later
    if any(touch.how in ("load", "remote", "cp_async") for touch in earlier.touches()) or multicast_of(later):
        return False
    if not same_threads(earlier, later):
        return False
    # A copy that comes in asynchronously is not in its thread's order; what one thread does itself is, in any round.
    pairs = clashes(earlier.touches(edge.ring), later.touches(edge.ring))
    return earlier.crowd.single or all(by_one(objects, edge, one, two) for one, two in pairs)


def same_threads(one: Visit, two: Visit) -> bool:
    """Whether the same threads make two visits: behind the last arm, groups leave nobody out."""

    def arms(path: Path) -> Path:
        return arms(path[:-1]) if path and isinstance(path[-1], Perspective) else path

    return arms(one.spot.path) == arms(two.spot.path)


def by_one(objects: Objects, edge: Edge, one: Touch, two: Touch) -> bool:
    """Whether two accesses of an edge's visits, by the same threads, meet only where one thread makes both, by itself."""
    relations = [flow.relate(objects, pending, two) for pending in pending_ways(edge, one)]
    return all(found is not None and found.unit is None for found in relations) and not one.how and not two.how


def pending_ways(edge: Edge, touch: Touch) -> list[Pending]:
    """Return an access of an edge's earlier visit as it may be pending at the later one: in the same round, or a lap later.

    Some loop around has gone round since then, but not each: in the next trip of one, those inside it may be in any trip.
    """
    if not edge.lap:
        return [Pending(touch, fenced=True)]
    # Of the loops that have gone round one is around all others. That is what a proof asks for: each may be it.
    ways = [frozenset({loop}) for loop in edge.earlier.rounds[0].loops] or [frozenset[Stmt]()]
    return [Pending(touch, aged=aged, loop=True, fenced=True) for aged in ways]


# -- mbarriers --------------------------------------------------------------------------------------------------------------


def mbarriers(function: Function, lap: Lap, needed: Sequence[Edge], landed: Set[Visit]) -> dict[Visit, Mbarrier]:
    """Return the mbarriers of the visits for whose end somebody waits, or that are loaded; `landed`: see `arrivals`."""
    found: dict[Visit, Mbarrier] = {}
    names: set[str] = set()
    for visit in lap.visits:
        check_multicast(function, lap, visit)
        waiting = [edge.later for edge in needed if edge.earlier is visit]
        if not waiting and not any(True for _ in loads(visit)):
            continue
        filled = any(touch.kind != "read" for touch in visit.touches())
        stem = "_".join(ring.name for ring in visit.rings) + ("_filled" if filled else "_read")
        name = next(n for n in (stem, *(f"{stem}_{k}" for k in range(2, 99))) if n not in names)
        names.add(name)
        blocks = 0
        for later in waiting:
            blocks |= multicast_of(later, function.bound.block or 1)
        stores = any(touch.how == "remote" for other in (visit, *waiting) for touch in other.touches())
        number = sum(arrivals(visit, visit in landed).values()) * max(1, blocks.bit_count())
        count, per = (number.numerator, number.denominator) if visit.crowd.share else (int(number), 0)
        found[visit] = Mbarrier(name, lap.cycle, count, per, blocks, stores=stores)
    return found


def arrivals(visit: Visit, landed: bool) -> dict[str, Fraction]:
    """Return how many arrivals end a visit: `plain` ones of threads or warps, and of `copies`, when a thread's have come in.

    `landed`: each thread has waited for its own copies before.
    """
    found: dict[str, Fraction] = {}
    touches = visit.touches()
    if not landed and any(touch.how == "cp_async" for touch in touches):
        found["copies"] = visit.crowd.number
    # Each arrival is counted once: a thread that copies and stores too arrives twice, and the mbarrier counts both.
    if landed or any(touch.how != "cp_async" for touch in touches):
        found["plain"] = visit.crowd.number / (WARP if visit.crowd.whole else 1)
    return found


Fences = Mapping[Visit, tuple[Touch, Touch]]
"""The visits whose threads make a proxy fence at the end: a plain access, and the one by an engine that has to see it."""


def fences(objects: Objects, cycles: Sequence[Lap]) -> Fences:
    """Return where engines that come later, in this round or the next lap, have to see plain accesses."""
    found: dict[Visit, tuple[Touch, Touch]] = {}
    for lap in cycles:
        between: dict[tuple[Visit, Symbol], list[Visit]] = {}
        for pair in unseen_accesses(objects, lap):
            others = between.setdefault((pair.engine, pair.ring), [])
            if not any(_among(pair.earlier, other) for other in others):
                others.append(pair.earlier)
                for twin in lap.twins(pair.earlier):
                    found.setdefault(twin, (pair.first, pair.second))
    return found


def unseen_accesses(objects: Objects, lap: Lap) -> Iterator[Unseen]:
    """Yield the plain accesses of visits that engines have to see, for each engine's visit the latest first.

    Rule *overwritten*: those before a visit whose threads write every element of the copy again need not be: that one has to.
    """
    for one in lap.rounds:
        visits = [visit for visit in lap.visits if one.ring in visit.rings]
        for place, engine in enumerate(visits):
            for back in range(1, len(visits) + 1):
                earlier = visits[place - back]
                pair = _find_unseen(earlier, engine, one.ring)
                if pair is not None:
                    yield Unseen(earlier, engine, int(back > place), one.ring, *pair)
                # The engine sees what this visit wrote, by its own fence; of what was there before, nothing is left to be seen.
                if not lap.sections and covers(objects, earlier, one.ring):
                    break


def _among(visit: Visit, other: Visit) -> bool:
    """Whether the threads of a visit make another one too."""
    return visit is not other and visit.spot.path[: len(other.spot.path)] == other.spot.path


def _find_unseen(earlier: Visit, engine: Visit, ring: Symbol) -> tuple[Touch, Touch] | None:
    """Return a plain access of a visit and one by an engine in a later visit that conflict.

    None where an engine surely uses what was accessed in the same visit already: the walk puts a fence between.
    """
    # `c[t] = v; wgmma(c)` in one visit: the fence before the wgmma is made by the same threads, and serves later engines.
    sure = [touch for touch in earlier.surely(ring) if touch.engine]
    for one in earlier.touches(ring):
        if one.engine or any(one.serial < then.serial and flow.conflicting(one.kind, then.kind) for then in sure):
            continue
        for two in engine.touches(ring):
            if two.engine and flow.conflicting(one.kind, two.kind):
                return one, two
    return None


# -- operations -------------------------------------------------------------------------------------------------------------


def waits(visit: Visit, lap: Lap, needed: Sequence[Edge], barriers: Mapping[Visit, Mbarrier]) -> Iterator[Op]:
    """Yield what a visit waits for: each thing once, before the first use of a copy that needs it."""
    seen: dict[tuple[Visit, int], list[Edge]] = {}
    for edge in needed:
        if edge.later is visit:
            seen.setdefault((edge.earlier, edge.lap), []).append(edge)
    for (earlier, behind), own in sorted(seen.items(), key=lambda item: (-item[0][1], lap.visits.index(item[0][0]))):
        at = visit.spot.body[visit.first_index([edge.ring for edge in own])]
        first, second = own[0].first.access, own[0].second.access
        yield Wait(at=at, barrier=barriers[earlier], lap=behind, first=first, second=second)


def endings(
    visit: Visit, lap: Lap, barrier: Mbarrier | None, everything: Sequence[Edge], unseen: Fences,
    made: Mapping[Stmt, str],
) -> Iterator[Op]:  # fmt: skip
    """Yield what ends a visit: the wait for what its threads have under way, the fence for engines after it, the arrival."""
    at, delay, loops = visit.last_use, read_delay(visit), lap.rounds[0].loops
    ranges = [(one.home, *one.range) for one in lap.sections or (lap,)]
    behind: list[Op] = []
    for kind in GROUPED_READS:
        flying = [touch for touch in visit.touches() if touch.how == kind]
        if flying:
            again = min(
                least(home[first : last + 1], kind, made, touch.path)
                for touch in flying
                for home, first, last in ranges
            )
            one, two = _witness(flying, visit, everything)
            read = kind == "bulk"
            yield WaitGroup(at=at, side="after", kind=kind, pending=delay * again, first=one, second=two, read=read)
            drain = WaitGroup(
                at=at, side="after", kind=kind, pending=0, first=one, second=two, read=read, path=visit.spot.path
            )
            behind += [replace(drain, at=loops[0])] if delay else []
    fence = unseen.get(visit)
    copied = [touch for touch in visit.touches() if touch.how == "cp_async"]
    landed = fence is not None or not is_followed(visit, everything)
    if copied and landed:
        one, two = _witness(copied, visit, everything)
        yield Commit(at=at, side="after", kind="cp_async")
        yield WaitGroup(at=at, side="after", kind="cp_async", pending=0, first=one, second=two)
    if fence is not None:
        yield ProxyFence(at=at, side="after", first=fence[0].access, second=fence[1].access)
    if barrier is not None:
        every = WARP if visit.crowd.whole else 1
        kinds = arrivals(visit, landed)
        if "copies" in kinds:
            yield Arrive(at=at, side="after", barrier=barrier, copies=True)
        if "plain" in kinds:
            yield Arrive(at=at, side="after", barrier=barrier, every=every, delay=delay)
        if delay:
            path = visit.spot.path
            behind.append(
                Arrive(at=loops[0], side="after", path=path, barrier=barrier, every=every, delay=delay, drain=True)
            )
    yield from behind


def is_followed(visit: Visit, everything: Sequence[Edge]) -> bool:
    """Whether a later visit of the same round waits for one."""
    return any(edge.earlier is visit and edge.lap == 0 for edge in everything)


def unread(context: Context, visit: Visit, barrier: Mbarrier | None, everything: Sequence[Edge]) -> Iterator[Op]:
    """Yield the wait of those who issue loads for which no later visit of the round waits, though the block may end then."""
    brought = [touch for touch in visit.touches() if touch.how in LOADS]
    if brought and barrier is not None and not is_followed(visit, everything):
        first = brought[0].access
        end = replace(first, span=context.end.span, text=f"the end of `{context.function.name}`")
        # Bytes that come in after the block's end would fall into another block's shared memory.
        yield Wait(at=visit.last_use, side="after", barrier=barrier, lap=0, first=first, second=end)


def _witness(flying: Sequence[Touch], visit: Visit, everything: Sequence[Edge]) -> tuple[Access, Access]:
    """Return an access under way and the one that has to come after it."""
    for edge in everything:
        if edge.earlier is visit:
            for one in flying:
                for two in edge.later.touches(edge.ring):
                    if one.root is edge.ring and flow.conflicting(one.kind, two.kind):
                        return one.access, two.access
    return flying[0].access, flying[0].access


def check_late(visit: Visit, own: Sequence[Edge]) -> None:
    """Rule *late*: refuse `in_flight` where nothing is in flight, or where a visit of the same round waits for this one."""
    for station in visit.stations:
        span, name, delay = station.opening.span, station.ring.name, station.in_flight
        if delay and not any(touch.how in GROUPED_READS for touch in station.touches):
            raise CompileError(Idle(span=span, name=name, delay=delay))
        soon = [edge for edge in own if edge.lap == 0 and edge.ring is station.ring]
        if delay and soon:
            labels = (Label(soon[0].second.access.span, f"the {soon[0].second.kind} that comes after"),)
            raise CompileError(Late(span=span, labels=labels, name=name, delay=delay))
