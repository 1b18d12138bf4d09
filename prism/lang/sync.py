"""The synchronisation plan: which barriers, where, and the two accesses that force each.

Barriers are first placed wherever a conflict asks for one (walk.py); then each is dropped, or moved out of its loops, where
the walk without it finds no conflict. The conflict found otherwise is what the plan says forces it. The last walk is a check
with the barriers fixed: it finds no conflict, whatever placed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from prism.lang.barriers import overlap
from prism.lang.barriers.flow import Summary
from prism.lang.barriers.groups import commits, drop_unused_groups
from prism.lang.barriers.objects import objects
from prism.lang.barriers.walk import Concurrent, Conflict, Context, Walk, summarise, walk_function
from prism.lang.barriers.walk_context import DEEP, Spent, context_of
from prism.lang.barriers.walk_state import Fence, Landing, Mark, Registers, rank
from prism.lang.check import reuse
from prism.lang.diagnostics import CompileError, Fields, Label, Span, source_text
from prism.lang.errors import sync as errors
from prism.lang.errors.turns import TurnsBarrier
from prism.lang.facts.budget import most_threads
from prism.lang.facts.definitions import Facts, facts
from prism.lang.facts.destinations import between_blocks, brought_together, stored_by_all
from prism.lang.facts.touches import REDUCTION
from prism.lang.rings.fills_ahead import with_skews
from prism.lang.rings.joint import Joint, State, grounds, joins_of
from prism.lang.rings.late_fills import check_meetings
from prism.lang.rings.waits import Rings, rings
from prism.lang.tree import Body, Claim, For, Function, Group, Partition, Stmt, Turns, While, children
from prism.lang.tree.plan import Barrier, Commit, Elided, Layout, Note, Op, Plan, ProxyFence, WaitGroup, WgmmaFence
from prism.lang.tree.trail import Trail
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import BLOCK, THREAD, WARP, Level, Perspective

UNTRIED = (
    "`{}` is so long that not all its waits, fences and barriers were looked at: some may stand that nothing needs"
)
COPIED = 64
"""States that the trail copies for each try, about as many as marks, in the time that `Work` counts as one."""
Placed = dict[Stmt, tuple[Mark, ...]]
Needed = Mapping[tuple[Stmt, Mark], Conflict]


def failing(
    context: Context, placed: Placed, trail: Trail, changed: Iterable[Stmt], known: Conflict | None = None
) -> Conflict | None:
    """Return the first conflict that these marks leave, or None. They differ from what the trail holds at `changed`.

    `known` is returned where there is no time to find out.
    """
    trail.change(changed)
    try:
        with context.work.trying():
            context.work.spend(context.function, len(placed) // COPIED)
            walk_function(context, placed, trail=trail)
    except Conflict as conflict:
        return conflict.with_traceback(None)
    except Spent:
        return known
    return None


def minimal(context: Context, placed: Placed, why: Mapping[Stmt, Conflict]) -> dict[tuple[Stmt, Mark], Conflict]:
    """Drop each mark that is not needed, move it out of loops where that does; return the rest, with what forces each.

    `why`: of each statement, the conflict that asked for a mark there. It stands for what forces those that there was no time
    to try.
    """
    if not placed:
        return {}
    asked = dict(why)
    order_of = {s: n for n, s in enumerate([*statements(context.function.body), context.end])}
    loops = {**enclosing(context.function.body), context.end: ()}
    trail = Trail(DEEP)
    trail.add(context.function.body)
    trail.add((context.end,))
    current = dict(placed)
    failing(context, current, trail, ())
    changed = True
    needed: dict[tuple[Stmt, Mark], Conflict] = {}
    while changed:
        changed, before, needed = False, needed, {}
        marks = [(s, mark) for s, found in current.items() for mark in found]
        for statement, mark in sorted(marks, key=lambda m: (order_of[m[0]], *size_of(m[1]))):
            # Nothing was dropped since it was found to be needed, so it still is. The rounds end: each but the last makes the
            # marks fewer, or moves one out of a loop.
            if context.work.is_spent or (not changed and (statement, mark) in before):
                needed[statement, mark] = before.get((statement, mark)) or asked[statement]
                continue
            # The invariant: with `current` in place the walk finds no conflict. Only what keeps it so is kept.
            # It is changed in place: a copy of it for each mark would take time that grows with their square.
            whole = current[statement]
            current[statement] = tuple(m for m in whole if m != mark)
            conflict = failing(context, current, trail, (statement,), asked[statement])
            if conflict is None:
                trail.keep()
                changed, needed = True, {}
                continue
            # Outermost first: before a loop it is met once, and not in each trip.
            for loop in () if isinstance(mark, Registers) else loops[statement]:
                before_loop = current.get(loop, ())
                current[loop] = tuple(sorted((*(m for m in before_loop if m != mark), mark), key=rank))
                if failing(context, current, trail, (statement, loop), conflict) is None:
                    trail.keep()
                    asked.setdefault(loop, conflict)
                    changed, needed = True, {}
                    break
                current[loop] = before_loop
            else:
                current[statement] = whole
                needed[statement, mark] = conflict
    return needed


def hoist(context: Context, needed: Needed) -> Needed:
    """Return the marks with broad barriers moved out of loops, where in their place a trip needs no more than a narrower one.

    A barrier of the block in a loop may stand there for two things: what came before the loop, of which all threads learn in the
    first trip, and what a trip does, that concerns a few threads. Apart, they are one barrier of the block before the loop, and
    in each trip one of the few.
    """
    loops = {**enclosing(context.function.body), context.end: ()}
    placed = group_marks(needed)
    for (statement, mark), conflict in needed.items():
        if not (isinstance(mark, Perspective) and mark >= BLOCK):
            continue
        for loop in loops[statement]:
            if not parts_narrower(loop):
                continue
            moved = {**placed, statement: tuple(m for m in placed[statement] if m != mark)}
            moved[loop] = tuple(sorted({*moved.get(loop, ()), mark}, key=rank))
            try:
                with context.work.trying():
                    if wants_as_broad(context, moved, mark):
                        continue
                    walk = walk_function(context, dict(moved), grow=True)
                found = minimal(context, walk.placed, {loop: conflict, **conflicts_of(needed), **walk.why})
            except (Conflict, Concurrent):
                continue
            except Spent:
                return needed
            if context.work.is_spent:
                return needed  # not all of them were tried
            fresh = [m for s, m in found if isinstance(m, Perspective) and m not in moved.get(s, ())]
            # Worth it only if the trip pays less than before: at most one barrier instead of this one, and a narrower one.
            if len(fresh) <= 1 and all(m < mark for m in fresh):
                return hoist(context, found)
    return needed


def wants_as_broad(context: Context, moved: Placed, mark: Perspective) -> bool:
    """Whether the first conflict that is left then needs a barrier as broad as the one that was moved out: nothing is won.

    Whatever else is placed, one as broad stands between those two: so what that would be need not be found out.
    """
    try:
        walk_function(context, moved)
    except Conflict as conflict:
        unit = conflict.relation.unit
        return unit is not None and not unit < mark
    return False


def conflicts_of(needed: Needed) -> dict[Stmt, Conflict]:
    """Return, of each statement before which marks stand, a conflict that forces one."""
    return {statement: conflict for (statement, _), conflict in needed.items()}


def parts_narrower(statement: Stmt) -> bool:
    """Whether threads in parts of a block, of more than one thread, share something inside a statement."""
    for inner in (s for body in children(statement) for s in statements(body)):
        match inner:
            case Group(unit=unit):
                found = unit
            case Partition(view=view) | Claim(view=view):
                found = view.perspective
            case _:
                continue
        if THREAD < found < BLOCK:
            return True
    return False


def size_of(mark: Mark) -> tuple[int, int, int]:
    """The order in which marks of one statement are looked at: waits and fences first, then narrow barriers before broad ones."""
    return (rank(mark), mark.level, mark.size) if isinstance(mark, Perspective) else (rank(mark), 0, 0)


def group_marks(placed: Iterable[tuple[Stmt, Mark]]) -> Placed:
    """Return marks by the statement that they stand before."""
    found: Placed = {}
    for statement, mark in placed:
        found[statement] = tuple(sorted((*found.get(statement, ()), mark), key=rank))
    return found


def enclosing(body: Body, loops: tuple[Stmt, ...] = ()) -> dict[Stmt, tuple[Stmt, ...]]:
    """Return the loops around each statement, outermost first."""
    found: dict[Stmt, tuple[Stmt, ...]] = {}
    for statement in body:
        found[statement] = loops
        inner = (*loops, statement) if isinstance(statement, While | For) else loops
        for part in children(statement):
            found |= enclosing(part, inner)
    return found


def kind_of(unit: Perspective) -> str:
    """Name the hardware's barrier for a unit."""
    if unit.level == Level.GRID:
        return "grid"
    if unit.level == Level.BLOCK:
        return "block" if unit.size == 1 else "cluster"
    return "warp" if WARP % unit.size == 0 else "named"


def conflict_error(conflict: Conflict, function: Function) -> CompileError:
    """Return the error for a conflict in a function that no barrier can order."""
    first, second = conflict.first.touch, conflict.second
    assert first is not None
    round_ = ", in another trip of the loop" if conflict.first.loop else ""
    labels = (Label(first.access.span, f"the {first.kind}{round_}"),)
    name, span = second.root.name, second.access.span
    if conflict.first.since is not None and first.how == second.how == "load":
        return CompileError(errors.SameLoad(span=span, labels=(Label(first.access.span, "the other load"),), name=name))
    among_blocks = conflict.unit.level == Level.GRID and not function.cooperative
    if conflict.first.since is not None and not (among_blocks and REDUCTION in (first.kind, second.kind)):
        return CompileError(errors.InFlight(span=span, labels=labels, name=name, first=first.kind, second=second.kind))
    if among_blocks:
        return CompileError(
            errors.GridSync(
                span=span,
                labels=labels,
                name=name,
                unit=conflict.unit,
                first=first.kind,
                second=second.kind,
                read=source_text(first.access.span if first.kind == "read" else span),
            )
        )
    if (lacks := lacking(conflict.unit, function)) is not None:
        has, change = lacks
        facts: Fields = {"name": name, "unit": conflict.unit, "first": first.kind, "second": second.kind}
        return CompileError(errors.NoBarrier(span=span, labels=labels, has=has, change=change, **facts))
    if (turns := passage_of(second.access.span, conflict.unit, function)) is not None:
        facts = {"name": name, "needed": conflict.unit, "first": first.kind, "second": second.kind}
        return CompileError(TurnsBarrier(span=span, labels=labels, role=turns.name, unit=turns.unit, **facts))
    return CompileError(
        errors.NoPlace(
            span=span, labels=labels, name=name, unit=conflict.unit, first=first.kind, second=second.kind,
            code_at=second.code,
        )
    )  # fmt: skip


def passage_of(span: Span, unit: Perspective, function: Function) -> Turns | None:
    """Return the passage in which an access stands, and of whose units more than one would meet at a unit's barrier."""
    for turns in (s for s in statements(function.body) if isinstance(s, Turns) and not unit <= s.unit):
        if any(part.span == span for s in statements(turns.body) for part in terms(s)):
            return turns
    return None


def lacking(unit: Perspective, function: Function) -> tuple[str, str] | None:
    """Return why there is no barrier of a unit, and what to do instead; None where there is one."""
    if unit.level == Level.THREAD and WARP % unit.size and unit.size % WARP:
        below, above = unit.size // WARP * WARP or 1 << unit.size.bit_length() - 1, -(-unit.size // WARP) * WARP
        return (
            f"a barrier joins whole warps, {WARP} threads each, or a part of one that divides it: {unit.size} threads are "
            "neither",
            f"let these be {below} or {above} threads; or end the code of {unit} after the first access and open it again for "
            "the second: between them the block's barrier can stand",
        )
    if unit.level == Level.BLOCK and unit.size > 1 and unit.size != function.bound.block and not function.cooperative:
        return (
            "the hardware has a barrier for all blocks of a cluster, and none for some of them",
            f"let the clusters be of {unit}, or end the code of {unit} after the first access and open it again for the second: "
            "between them the cluster's barrier can stand",
        )
    return None


def plan_function(
    function: Function,
    summaries: Mapping[Function, Summary],
    layouts: Mapping[Function, Layout] | None = None,
    threads: int | None = None,
) -> tuple[Plan, Summary]:
    """Return one function's plan and its summary; its callees' summaries are given, and the most threads that a block has."""
    known = facts(function, threads)
    check_partitions(function, known)
    check_tiles(function, known)
    context = context_of(function, objects(known, layouts), summaries)
    own = commits(function)
    found = rings(context, own)
    context = found.into(context, own)
    try:
        first = walk_function(context, {}, grow=True)
        needed = hoist(context, minimal(context, first.placed, first.why))
        # The check: no mark may be added here, so what it finds does not depend on how the marks were chosen.
        last = walk_function(context, group_marks(needed), notes=True)
    except Conflict as conflict:
        raise conflict_error(conflict, function) from None
    except Concurrent as concurrent:
        one, two = concurrent.first, concurrent.second
        labels = (Label(one.access.span, f"the other arm's {one.kind}"),)
        error = errors.Arms(span=two.access.span, labels=labels, name=two.root.name, first=one.kind, second=two.kind)
        raise CompileError(error) from None
    elided = left_alone(last)
    planned = assemble_plan(context, found, own, needed, elided)
    other = partial(assemble_plan, context, own=own, needed=needed, elided=elided)
    planned = with_skews(context, own, found, planned, other)
    if planned.skewed is None and found.laps:
        planned = replace(jointly(context, found, own, needed, elided), notes=planned.notes)
    check_meetings(function, found.laps, planned)
    if context.spare.is_spent or context.work.is_spent:
        planned = replace(planned, notes=(*planned.notes, Note(function.span, UNTRIED.format(function.name))))
    return planned, summarise(context, last)


def jointly(
    context: Context,
    found: Rings,
    own: Sequence[Commit],
    needed: Mapping[tuple[Stmt, Mark], Conflict],
    elided: tuple[Elided, ...],
) -> Plan:
    """Return the plan of a function with rings, without what its steps see to between them."""

    trips, inside = grounds(context, found), tuple(statements(context.function.body))

    def aware(rings: Rings, groups: Sequence[Commit], **more: Any) -> Context:
        waits = assemble_plan(context, rings, groups, {}, ())
        return rings.into(context, groups, news=joins_of(context, trips, waits), **more)

    def marks_of(state: State) -> Needed:
        return needed if state.marks is None else state.marks

    def plan_of(state: State) -> Plan:
        plan = assemble_plan(context, state.rings, state.groups, marks_of(state), elided)
        return replace(plan, barriers=(*plan.barriers, *state.barriers))

    touches: dict[Any, Any] = {}  # the same in all walks that only tell yes or no: how two stand is found out once

    def walks(state: State) -> bool:
        try:
            with context.work.trying():
                joined = aware(state.rings, state.groups, touches=touches)
                walk_function(joined, group_marks(marks_of(state)))
        except (Conflict, Spent):
            return False
        return True

    def placed(state: State) -> State | None:
        joined, marks = aware(state.rings, state.groups), marks_of(state)
        try:
            with context.work.trying():
                walk = walk_function(joined, group_marks(marks), grow=True)
            return replace(state, marks=minimal(joined, walk.placed, {**conflicts_of(marks), **walk.why}))
        except (Conflict, Concurrent, Spent):
            return None

    if trips and any(isinstance(mark, Perspective) and mark >= BLOCK for _, mark in needed):
        joined = aware(found, own)
        if joined.news:
            needed = minimal(joined, group_marks(needed), conflicts_of(needed))
            elided = left_alone(walk_function(joined, group_marks(needed), notes=True))
    return plan_of(Joint(context, trips, plan_of, walks, placed, inside).reduce(found, own))


def elided_conflicts(walk: Walk) -> tuple[Elided, ...]:
    """Return the conflicts that needed no barrier: all of them, for what is not proved is among them."""
    return tuple(walk.elided[key] for key in sorted(walk.elided))


def left_alone(walk: Walk) -> tuple[Elided, ...]:
    """Return the conflicts of one block that needed no barrier, and those of several, between which none can stand."""
    own = elided_conflicts(walk)
    told = {(one.first, one.second) for one in own if one.unproved == "store"}
    known, touches = walk.context.objects.known, walk.context.touches.values()
    loads = list(brought_together(known, touches))
    if same := [touch for touch, found in loads if found is None]:
        cluster = Perspective(Level.BLOCK, known.function.bound.block or 1)
        raise CompileError(*(errors.SameMulticast(span=t.access.span, name=t.root.name, unit=cluster) for t in same))
    others = (*between_blocks(known, touches), *(found for _, found in loads if found is not None))
    return (*own, *(one for one in others if (one.first, one.second) not in told))


def assemble_plan(
    context: Context,
    found: Rings,
    own: Sequence[Op],
    needed: Mapping[tuple[Stmt, Mark], Conflict],
    elided: tuple[Elided, ...],
) -> Plan:
    """Return the plan: barriers and operations that conflicts ask for, and those of rings."""
    barriers: list[Barrier] = []
    operations: list[Op] = []
    for (statement, mark), witness in needed.items():
        assert witness.first.touch is not None
        pair = witness.first.touch.access, witness.second.access
        at, side = (statement, "before") if statement is not context.end else (context.function.body[-1], "after")
        match mark:
            case Perspective():
                barriers.append(Barrier(kind_of(mark), mark, statement, *pair, witness.first.loop))
            case Landing(kind=kind, pending=most, read=read, commit=commit):
                if commit:
                    operations.append(Commit(at=at, side=side, kind=kind))
                operations.append(
                    WaitGroup(at=at, side=side, kind=kind, pending=most, first=pair[0], second=pair[1], read=read)
                )
            case Fence(space=space):
                operations.append(ProxyFence(at=at, side=side, first=pair[0], second=pair[1], space=space))
            case Registers():
                operations.append(WgmmaFence(at=at, side=side))
    everything = drop_unused_groups((*own, *found.operations, *operations))
    return Plan(
        context.function,
        tuple(barriers),
        (*elided, *found.elided),
        everything,
        found.cycles,
        found.mbarriers,
        found.completes,
    )


def check_partitions(function: Function, known: Facts) -> None:
    """Refuse partitions whose units surely write the same element."""
    faults: list[errors.Overlap] = []
    for partition, verdict in overlap.verdicts(function, known):
        meaning = verdict.view.view
        found = verdict.collision
        if found is not None and meaning is not None and meaning.races != "allow":
            faults.append(
                errors.Overlap(
                    span=partition.span, labels=found.labels, view=verdict.view.name, unit=meaning.unit, who=found.who,
                    element=found.element,
                )
            )  # fmt: skip
    if faults:
        raise CompileError(*faults)


def check_tiles(function: Function, known: Facts) -> None:
    """Refuse tiles of a matrix that all blocks of a cluster surely store."""
    cluster = Perspective(Level.BLOCK, function.bound.block or 1)
    faults = [errors.SameTile(span=e.span, name=e.symbol.name, unit=cluster) for e in stored_by_all(known, cluster)]
    if faults:
        raise CompileError(*faults)


def plan(functions: Sequence[Function], layouts: Mapping[Function, Layout] | None = None) -> Mapping[Function, Plan]:
    """Return the plan of each function; `functions` lists callees before their callers.

    Without `layouts`, shared objects that are never live together are taken to reuse each other's bytes.
    """
    plans: dict[Function, Plan] = {}
    summaries: dict[Function, Summary] = {}
    threads = most_threads(functions[-1]) if functions else None
    for function in functions:
        memo = reuse.notes(function) if function.kind == "device" else {}
        key = ("plan", threads, layouts is None)
        if key not in memo:
            memo[key] = plan_function(function, summaries, layouts, threads)
        plans[function], summaries[function] = memo[key]
    return plans
