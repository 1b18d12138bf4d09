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
from typing import Any

from prism.lang.barriers.groups import least
from prism.lang.barriers.walk_context import Context
from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.rings import Idle, Late, ManyVisits
from prism.lang.facts.touches import LOADS, Touch
from prism.lang.keep.bases import Frozen
from prism.lang.rings.cycles import laps
from prism.lang.rings.edges import Edges, by_itself, clashes, edges
from prism.lang.rings.fences import Fences, fences
from prism.lang.rings.implication import find_implied, group_laps
from prism.lang.rings.late_fills import check_fills, fill_delay, groups_a_round
from prism.lang.rings.loads import bytes_of_load, check_multicast, ended_loads, is_relative, loads, multicast_of
from prism.lang.rings.stations import ring_of, stations
from prism.lang.rings.turns import check_passages
from prism.lang.rings.visits import GROUPED_READS, Edge, Lap, Visit, read_delay
from prism.lang.tree import Apply, Function, Stmt
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
    Plan,
    ProxyFence,
    Wait,
    WaitGroup,
)
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import WARP

MOST_VISITS = 2048
"""Visits of rings in one function."""
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
    every: Edges | None = None
    unseen: Fences = field(default_factory=dict)

    def into(self, context: Context, own: Sequence[Op], **more: Any) -> Context:
        """Return what is known of the function, with these operations in place; `more` fields of it."""
        if not (own or self.operations or self.loaded or more or context.touches):
            return context  # as most functions are: without rings and copies
        before: dict[Stmt, tuple[Op, ...]] = {}
        after: dict[Stmt, tuple[Op, ...]] = {}
        for op in (*own, *self.operations):
            side = before if op.side == "before" else after
            side[op.at] = (*side.get(op.at, ()), op)
        return replace(context, before=before, after=after, loaded=self.loaded, **{"touches": {}, **more})


class Ahead(Frozen):
    """Fills some rounds ahead: `lead` counts them, one more after `last`. `met`: a barrier sees to them, no mbarrier."""

    visits: tuple[Visit, ...]
    lead: Cycle
    last: Stmt
    met: bool


def rings(context: Context, own: Sequence[Commit]) -> Rings:
    """Return what the rings of a function need; `own` has the groups that are committed. Raises CompileError."""
    visits = [s for s in statements(context.function.body) if ring_of(s) is not None]
    if len(visits) > MOST_VISITS:
        name, number = context.function.name, len(visits)
        raise CompileError(ManyVisits(span=visits[0].span, name=name, number=number, most=MOST_VISITS))
    found = stations(context)
    return plan_cycles(context, own, laps(context.function, found), {}) if found else Rings()


def plan_cycles(context: Context, own: Sequence[Commit], cycles: Sequence[Lap], ahead: Mapping[Lap, Ahead]) -> Rings:
    """Return what cycles need, where those `ahead` are filled so.

    What moves to another trip implies nothing for others, and is implied by nothing.
    """
    every = [edge for lap in cycles for edge in edges(lap)]
    check_passages(context, cycles, every)
    everything = Edges(every)
    moved = {visit: one for one in ahead.values() for visit in one.visits}
    seen = fences(context, cycles)
    late = [v for lap in cycles for v in lap.visits if fill_delay(v) and is_landed(v, everything, seen)]
    check_fills(context.function, cycles, every, late)
    plan_of = partial(waits_alone, context, own, cycles, everything, seen, moved)
    stays = [edge for edge in every if not {edge.earlier, edge.later} & moved.keys()]
    needed, elided = reduce_edges(context, cycles, stays, plan_of)
    for edge in [edge for edge in every if {edge.earlier, edge.later} & moved.keys()]:
        if any(moved[visit].met for visit in (edge.earlier, edge.later) if visit in moved):
            elided.append(Elided(edge.first.access, edge.second.access, "the barrier before a trip's fills"))
        elif by_itself(context, edge):
            elided.append(Elided(edge.first.access, edge.second.access, OWN))
        else:
            needed.append(edge)
    unseen = {visit: pair for visit, pair in seen.items() if visit not in moved or not moved[visit].met}
    return _gather(context, own, cycles, everything, needed, elided, unseen, ahead)


def waits_alone(
    context: Context, own: Sequence[Commit], cycles: Sequence[Lap], every: Edges, unseen: Fences,
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
    assert found.every is not None
    needed = [edge for edge in found.edges if edge not in gone]
    elided = [*found.elided, *(Elided(edge.first.access, edge.second.access, why) for edge in gone)]
    return _gather(context, own, found.laps, found.every, needed, elided, found.unseen, {})


def _gather(
    context: Context, own: Sequence[Commit], cycles: Sequence[Lap], every: Edges, needed: Sequence[Edge],
    elided: Sequence[Elided], unseen: Fences, ahead: Mapping[Lap, Ahead],
) -> Rings:  # fmt: skip
    """Return what all cycles need together."""
    made, left = {commit.at: commit.kind for commit in own}, Edges(needed)
    barriers: dict[Visit, Mbarrier] = {}
    landed = {visit for lap in cycles for visit in lap.visits if is_landed(visit, every, unseen)}
    for lap in cycles:
        if lap.sections[:1] in ((), (lap,)):
            own_ones = mbarriers(context.function, lap, left, landed)
            barriers |= {twin: barrier for visit, barrier in own_ones.items() for twin in lap.twins(visit)}
    parts = [_lap(context, lap, barriers, every, left, unseen, made, ahead.get(lap)) for lap in cycles]
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
        every,
        unseen,
    )


def _lap(
    context: Context, lap: Lap, all_barriers: Mapping[Visit, Mbarrier], every: Edges, needed: Edges,
    unseen: Fences, made: Mapping[Stmt, str], ahead: Ahead | None,
) -> Rings:  # fmt: skip
    """Return what one cycle needs, in one place."""
    barriers = {visit: all_barriers[visit] for visit in lap.visits if visit in all_barriers}
    counted = {b: replace(b, cycle=ahead.lead, of=b) for b in barriers.values()} if ahead is not None else {}
    operations: list[Op] = []
    completes: dict[Apply, Mbarrier] = {}
    for visit in lap.visits:
        check_late(visit, every.begin.get(visit, ()))
        barrier = barriers.get(visit)
        found = list(waits(visit, lap, needed, barriers))
        early = ahead is not None and visit in ahead.visits
        for statement, apply in loads(visit):
            assert barrier is not None
            completes[apply] = counted[barrier] if early else barrier
            found.append(Expect(at=statement, barrier=barrier, copy=apply, bytes=bytes_of_load(apply)))
        found += endings(visit, lap, barrier, every, unseen, made)
        found += unread(context, visit, barrier, every)
        if early:  # the rounds of a fill ahead are the lead's
            found = [
                replace(op, barrier=counted[op.barrier]) if isinstance(op, Wait | Arrive | Expect) else op
                for op in found
            ]
        operations += found
    if ahead is not None:
        operations.append(Advance(at=ahead.last, side="after", cycle=ahead.lead))
    operations.append(Advance(at=lap.home[lap.range[1]], side="after", cycle=lap.cycle))
    cycles = (lap.cycle,) if ahead is None else (lap.cycle, ahead.lead)
    loaded: dict[Mbarrier | Stmt, frozenset[Apply]] = {}
    ended = ended_loads(lap)
    for visit in lap.visits:
        if visit in barriers:
            barrier = barriers[visit]
            loaded |= {one: ended[visit] for one in (barrier, counted.get(barrier, barrier))}
        waited = frozenset[Apply]().union(*(ended[edge.earlier] for edge in needed.end.get(visit, ())))
        loaded |= {s.opening: waited for s in visit.stations}
    return Rings(cycles, tuple(barriers.values()), tuple(operations), completes, loaded=loaded)


# -- who waits for whom -------------------------------------------------------------------------------------------------------


def reduce_edges(
    context: Context, cycles: Sequence[Lap], every: Sequence[Edge], plan_of: Callable[[Sequence[Edge]], Plan]
) -> tuple[list[Edge], list[Elided]]:
    """Return the edges for which somebody has to wait; and those for which nobody has, with the reason."""
    elided: list[Elided] = []
    needed: list[Edge] = []
    parted = {visit for lap in cycles if lap.sections for visit in lap.visits}
    for edge in every:
        if edge.later not in parted and by_itself(context, edge):
            elided.append(Elided(edge.first.access, edge.second.access, OWN))
        else:
            needed.append(edge)
    for group in group_laps([lap for lap in cycles if not lap.sections]):
        gone = find_implied(context, group, needed, plan_of)
        # What was found implied was so by the edges that stay: `find_implied` asks for all that are gone at each step.
        why = "the other waits for the ring's visits see to it"
        elided += (Elided(edge.first.access, edge.second.access, why) for edge in gone)
        if gone:
            left = set(gone)
            needed = [edge for edge in needed if edge not in left]
    return needed, elided


# -- mbarriers --------------------------------------------------------------------------------------------------------------


def mbarriers(function: Function, lap: Lap, needed: Edges, landed: Set[Visit]) -> dict[Visit, Mbarrier]:
    """Return the mbarriers of the visits for whose end somebody waits, or that are loaded; `landed`: see `arrivals`."""
    found: dict[Visit, Mbarrier] = {}
    numbers: dict[str, int] = {}
    for visit in lap.visits:
        check_multicast(function, lap, visit)
        waiting = [edge.later for edge in needed.begin.get(visit, ())]
        if not waiting and not any(True for _ in loads(visit)):
            continue
        filled = any(touch.kind != "read" for touch in visit.touches())
        stem = "_".join(ring.name for ring in visit.rings) + ("_filled" if filled else "_read")
        number = numbers[stem] = numbers.get(stem, 0) + 1
        name = stem if number == 1 else f"{stem}_{number}"
        blocks = 0
        for later in waiting:
            blocks |= multicast_of(later, function.bound.block or 1)
        stores = any(touch.how == "remote" for other in (visit, *waiting) for touch in other.touches())
        all_ = sum(arrivals(visit, visit in landed).values()) * max(1, blocks.bit_count())
        count, per = (all_.numerator, all_.denominator) if visit.crowd.share else (int(all_), 0)
        relative = not stores and any(map(is_relative, waiting))  # what others store goes to all blocks
        found[visit] = Mbarrier(name, lap.cycle, count, per, blocks, stores=stores, relative=relative)
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


# -- operations -------------------------------------------------------------------------------------------------------------


def waits(visit: Visit, lap: Lap, needed: Edges, barriers: Mapping[Visit, Mbarrier]) -> Iterator[Op]:
    """Yield what a visit waits for: each thing once, before the first use of a copy that needs it."""
    seen: dict[tuple[Visit, int], list[Edge]] = {}
    for edge in needed.end.get(visit, ()):
        seen.setdefault((edge.earlier, edge.lap), []).append(edge)
    for (earlier, behind), own in sorted(seen.items(), key=lambda item: (-item[0][1], lap.places[item[0][0]])):
        at = visit.spot.body[visit.first_index([edge.ring for edge in own])]
        first, second = own[0].first.access, own[0].second.access
        yield Wait(at=at, path=visit.spot.own_path, barrier=barriers[earlier], lap=behind, first=first, second=second)


def endings(
    visit: Visit, lap: Lap, barrier: Mbarrier | None, everything: Edges, unseen: Fences,
    made: Mapping[Stmt, str],
) -> Iterator[Op]:  # fmt: skip
    """Yield what ends a visit: the wait for what its threads have under way, the fence for engines after it, the arrival."""
    at, along, delay, loops = visit.last_use, visit.spot.own_path, read_delay(visit), lap.rounds[0].loops
    behind: list[Op] = []
    for kind in GROUPED_READS:
        flying = [touch for touch in visit.touches() if touch.how == kind]
        if flying:
            again = _groups_a_trip(lap, kind, made, flying) if delay else 0
            one, two = _witness(flying, visit, everything)
            read = kind == "bulk"
            ended = WaitGroup(at=at, side="after", path=along, kind=kind, pending=0, first=one, second=two, read=read)
            yield replace(ended, pending=delay * again)
            behind += [replace(ended, at=loops[0], path=visit.spot.path)] if delay else []
    fence = unseen.get(visit)
    copied = [touch for touch in visit.touches() if touch.how == "cp_async"]
    landed = is_landed(visit, everything, unseen)
    late = fill_delay(visit) if landed else 0
    if copied and landed:
        one, two = _witness(copied, visit, everything)
        others = [other for other in lap.visits if is_landed(other, everything, unseen)]
        ended = WaitGroup(at=at, side="after", path=along, kind="cp_async", pending=0, first=one, second=two)
        yield Commit(at=at, side="after", path=along, kind="cp_async")
        yield replace(ended, pending=late * groups_a_round(visit, lap, others))
        behind += [replace(ended, at=loops[0], path=visit.spot.path)] if late else []
    if fence is not None:
        seen = ProxyFence(at=at, side="after", path=along, first=fence[0].access, second=fence[1].access)
        yield seen
        behind += [replace(seen, at=loops[0], path=visit.spot.path)] if late else []
    delay = delay or late
    if barrier is not None:
        every = WARP if visit.crowd.whole else 1
        kinds = arrivals(visit, landed)
        if "copies" in kinds:
            yield Arrive(at=at, side="after", path=along, barrier=barrier, copies=True)
        if "plain" in kinds:
            yield Arrive(at=at, side="after", path=along, barrier=barrier, every=every, delay=delay)
        if delay:
            path = visit.spot.path
            behind.append(
                Arrive(at=loops[0], side="after", path=path, barrier=barrier, every=every, delay=delay, drain=True)
            )
    yield from behind


def _groups_a_trip(lap: Lap, kind: str, made: Mapping[Stmt, str], flying: Sequence[Touch]) -> int:
    """Return how many groups of a kind those who make some accesses surely commit in a trip."""
    homes = [one.home[one.range[0] : one.range[1] + 1] for one in lap.sections or (lap,)]
    paths = dict.fromkeys(touch.path for touch in flying)
    return min(least(home, kind, made, path) for path in paths for home in homes)


def is_landed(visit: Visit, everything: Edges, unseen: Fences) -> bool:
    """Whether threads wait for their own copies: a fence has to come after these, or nobody else waits before the block ends."""
    return visit in unseen or not everything.is_followed(visit)


def unread(context: Context, visit: Visit, barrier: Mbarrier | None, everything: Edges) -> Iterator[Op]:
    """Yield the wait of those who issue loads for which no later visit of the round waits, though the block may end then."""
    brought = [touch for touch in visit.touches() if touch.how in LOADS]
    if brought and barrier is not None and not everything.is_followed(visit):
        first = brought[0].access
        end = replace(first, span=context.end.span, text=f"the end of `{context.function.name}`")
        # Bytes that come in after the block's end would fall into another block's shared memory.
        along = visit.spot.own_path
        yield Wait(at=visit.last_use, side="after", path=along, barrier=barrier, lap=0, first=first, second=end)


def _witness(flying: Sequence[Touch], visit: Visit, everything: Edges) -> tuple[Access, Access]:
    """Return an access under way and the one that has to come after it."""
    for edge in everything.begin.get(visit, ()):
        own = [touch for touch in flying if touch.root is edge.ring]
        for one, two in clashes(own, edge.later.touches(edge.ring)):
            return one.access, two.access
    return flying[0].access, flying[0].access


def check_late(visit: Visit, own: Sequence[Edge]) -> None:
    """Rule *late*: refuse `in_flight` where nothing is in flight, or where a visit of the same round waits for this one."""
    for station in visit.stations:
        span, name, delay = station.opening.span, station.ring.name, station.in_flight
        if delay and not any(touch.how in (*GROUPED_READS, "cp_async") for touch in station.touches):
            raise CompileError(Idle(span=span, name=name, delay=delay))
        if fill_delay(visit):
            continue
        soon = [edge for edge in own if edge.lap == 0 and edge.ring is station.ring]
        if delay and soon:
            labels = (Label(soon[0].second.access.span, f"the {soon[0].second.kind} that comes after"),)
            raise CompileError(Late(span=span, labels=labels, name=name, delay=delay))
