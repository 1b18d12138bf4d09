"""One walk over a function with some barriers in place: which conflicts they leave, and what callers see.

A forward analysis over the structured tree. Its state is every access that may have happened, with the broadest barrier that
surely came after it: immediate predecessors are not enough. Before a statement that makes an access in conflict with a
pending one stands a barrier of the unit whose threads the conflict concerns (`flow.related`), in the innermost statement
list whose code is at least as broad, and run by whole units: all threads of each unit meet it together. There too a thread
waits for what it has under way, and makes its proxy fence: before it meets the others. What the statement itself or its own
threads alone need stands directly before it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.conditions import bare, forget, in_order, split_state
from prism.lang.barriers.walk_access import check_end, summarise, touch_all
from prism.lang.barriers.walk_context import DEEP, Concurrent, Conflict, Context, Exits, Place, Restart, Walk
from prism.lang.barriers.walk_state import (
    Fence,
    Landing,
    Mark,
    Registers,
    State,
    add_marks,
    apply_join,
    apply_mark,
    change_pending,
    close_view,
    comes_along,
    drop_touches,
    leave_loop,
    left_station,
    narrow_path,
    next_trip,
    order,
    space_of,
    union,
)
from prism.lang.barriers.whole_units import whole
from prism.lang.facts.definitions import surely_entered
from prism.lang.facts.equivalence import PENDING, Alike
from prism.lang.facts.touches import GROUPED, Pending
from prism.lang.tree.plan import Commit, Op, Path, ProxyFence, Wait, WaitGroup
from prism.lang.tree.trail import Trail
from prism.lang.types.perspective import BLOCK, GRID, THREAD, WARP, WARP1, Level, Perspective


def walk_body(walk: Walk, place: Place, body: tree.Body, state: State) -> State:
    """Walk a statement list; an empty state means that its end is not reached."""
    if walk.trail is not None and len(body) > 1 and id(body) not in walk.trail.escaping:
        return walk_along(walk, walk.trail, place, body, state)
    for statement in body:
        if not state:
            break
        state = walk_statement(walk, place, statement, state)
    return state


def walk_along(walk: Walk, trail: Trail, place: Place, body: tree.Body, state: State) -> State:
    """Walk a statement list where it may differ from an earlier walk."""
    known, changed = trail.find(body, state), trail.dirty.get(id(body), [])
    at, states = 0, [state]
    while at < len(body):
        # From the same state, the same statements with the same barriers lead to the same states: up to the next statement whose
        # barriers differ, what was recorded is what a walk would find.
        if known is not None and (at == 0 or states[-1] == known[at]):
            ahead = next((index for index in changed if index >= at), len(body))
            states += known[at + 1 : ahead + 1]
            at = ahead
            if at == len(body):
                break
        states.append(walk_statement(walk, place, body[at], states[-1]) if states[-1] else {})
        at += 1
    if known is None or changed:
        trail.note(body, states)
    return states[-1]


def walk_statement(walk: Walk, place: Place, statement: tree.Stmt, state: State) -> State:
    """Walk one statement, behind its marks; where a conflict asks for one and it may stand here, place it and try again."""
    if statement in walk.context.inert:
        return state
    walk.context.work.add(walk.context.function, state)
    while True:
        marks = walk.placed.get(statement, ()) if stands(place) else ()
        entered = state
        for mark in marks:
            # A barrier that not all of its unit's threads come to orders nothing: it is walked over as if it were not there.
            if not isinstance(mark, Perspective) or meets(place, mark, walk.context.function):
                entered = apply_mark(walk.context.changes, entered, mark, statement, walk.keep)
        for op in walk.context.before.get(statement, ()):
            entered = apply_op(walk.context, entered, op)
        try:
            found = transfer(walk, place, statement, entered)
        except Conflict as conflict:
            wanted = remedy(walk, place, conflict, state) if walk.grow else ()
            more = add_marks(marks, wanted)
            if more == marks:
                raise  # to the statement around it: each try adds a mark, or goes one statement out, so this ends
            walk.placed[statement] = more
            walk.why[statement] = conflict.with_traceback(None)  # its frames hold this walk: all of it would live on
            # A head's state may hold what the new barrier settles: with it the walk would ask for barriers that nothing needs.
            walk.heads.clear()
            continue
        for op in walk.context.after.get(statement, ()):
            found = apply_op(walk.context, found, op)
        for one in walk.context.news.get(statement, ()):
            found = apply_join(walk.context.changes, found, one)
        return forget(found, walk.context.conditions.changed.get(statement, frozenset()))


def apply_op(context: Context, state: State, op: Op) -> State:
    """Return the state after one of the plan's operations."""
    loads = context.loaded.get(op.barrier, frozenset()) if isinstance(op, Wait) else frozenset()

    def change(pending: Pending) -> Pending:
        touch = pending.touch
        if touch is None or not comes_along(op.path, touch):
            return pending
        match op:
            case Commit(kind=kind) if touch.how == kind:
                return pending.commit()
            case WaitGroup(kind=kind, pending=most, read=read) if Landing(kind, most, read).lands(pending):
                return pending.land()
            case Wait() if touch.by in loads:
                return pending.land()._replace(synced=(BLOCK, "the wait for the copy", None, None))
            case _:
                return pending

    if isinstance(op, ProxyFence):
        fence = Fence(op.space)
        if not op.path:
            return change_pending(state, context.changes.of(fence, lambda p: p.fence_proxy() if fence.covers(p) else p))
        return change_pending(state, context.changes.of(op, partial(_fence_along, op.path, fence)))
    if not isinstance(op, Commit | WaitGroup | Wait):
        return state
    return change_pending(state, context.changes.of((op, loads), change))


def _fence_along(path: Path, fence: Fence, pending: Pending) -> Pending:
    touch = pending.touch
    own = touch is not None and comes_along(path, touch) and fence.covers(pending)
    return pending.fence_proxy() if own else pending


# -- what a conflict asks for -----------------------------------------------------------------------------------------------


def remedy(walk: Walk, place: Place, conflict: Conflict, state: State) -> tuple[Mark, ...]:
    """Return what before a statement settles a conflict inside it, or nothing where that may not stand here.

    `state` is the one before all marks of the statement.
    """
    first, relation = conflict.first, conflict.relation
    assert first.touch is not None and relation.unit is not None
    if place.batch or not stands(place):
        return ()
    if relation.registers:
        return (Registers(),) if warps(place) else ()
    if relation.behind and first.synced is not None and first.synced[2] in walk.placed:
        walk.placed[first.synced[2]] = add_marks(walk.placed[first.synced[2]], (Fence(space_of(first.touch.root)),))
        walk.why[first.synced[2]] = conflict.with_traceback(None)
        raise Restart
    unit = realise(relation.unit, place.code, walk.context.function)
    if unit is None or (relation.unit != THREAD and not meets(place, unit, walk.context.function)):
        return ()
    marks: list[Mark] = [] if relation.unit == THREAD else [unit]
    if relation.fence:
        marks.append(Fence(space_of(first.touch.root)))
    groups = [p.since for pending in state.values() for p in pending if p.touch is first.touch and p.since is not None]
    if groups:
        how, few = first.touch.how, min(groups)
        commit = how == "cp_async" and few < 0  # into a ring, or in one `async_`: a group of its own, ended here
        # A wait under a condition, for wgmmas issued before it, would be one of some ways: the assembler takes none such.
        unfit = how == "wgmma" and (first.touch in place.flying or not warps(place))
        if how not in GROUPED or (few < 0 and not commit) or unfit:
            return ()
        marks.append(Landing(how, max(few, 0), how == "bulk" and first.touch.kind == "read", commit))
    return tuple(marks)


def stands(place: Place) -> bool:
    """Whether anything may stand at a place: not in the block's code in a passage, which others than its role pass by."""
    return place.alone is None or place.code < BLOCK


def meets(place: Place, unit: Perspective, function: tree.Function) -> bool:
    """Whether all threads of a unit's barrier come to a place: not of several that take turns there."""
    return whole(unit, place.code, function) and (place.alone is None or unit <= place.alone)


def under_condition(place: Place, state: State) -> Place:
    """Return the place inside a condition, which is come to in a state."""
    own = (p for pending in state.values() for p in pending if p.since is not None)
    flying = frozenset(p.touch for p in own if p.touch is not None and p.touch.how == "wgmma")
    return replace(place, flying=place.flying | flying) if flying else place


def warps(place: Place) -> bool:
    """Whether what whole warps execute together may stand here."""
    return place.code >= WARP1


def realise(unit: Perspective, code: Perspective, function: tree.Function) -> Perspective | None:
    """Return the unit of the barrier that joins a unit's threads and may stand in a function's code at `code`, or None.

    Parts of a warp that divide it, and whole warps, have barriers of their own; other groups of threads take the block's. So do
    all in a block's code where its threads may be no whole units: 256 of the 384 of a block, say. A cluster has its own; other
    groups of blocks take the grid's, which is there only where all blocks surely run at once.
    """
    if unit.level == Level.THREAD and WARP % unit.size and unit.size % WARP:
        unit = BLOCK
    if unit > BLOCK and unit != Perspective(Level.BLOCK, function.bound.block or 1):
        if not function.cooperative:
            return None
        unit = GRID
    if unit < BLOCK <= code and not whole(unit, code, function):
        unit = BLOCK
    return unit if unit <= code else None


# -- statements -------------------------------------------------------------------------------------------------------------

_PLAIN = (tree.Declare, tree.Assign, tree.Evaluate)
"""Most statements: they have no bodies, and end nothing."""


def transfer(walk: Walk, place: Place, statement: tree.Stmt, state: State) -> State:  # noqa: C901
    """Return the state after a statement; raises the first conflict that nothing orders."""
    state = touch_all(walk, place, statement, state)
    if isinstance(statement, _PLAIN):
        return assign_pointer(statement, state)
    match statement:
        case tree.If():
            asked = walk.context.conditions.asked.get(statement)
            place = under_condition(place, state) if walk.grow else place
            cases = (state, state) if asked is None else split_state(state, *asked)
            return union(
                walk.context.changes,
                *(walk_body(walk, place, body, s) for body, s in zip(tree.children(statement), cases, strict=True)),
            )
        case tree.While() | tree.For():
            return walk_loop(walk, place, statement, state)
        case tree.Group():
            return walk_body(walk, place.enter(statement.unit, statement.unit), statement.body, state)
        case tree.Split():
            return walk_split(walk, place, statement, state)
        case tree.Partition() | tree.Claim():
            return walk_view(walk, place, statement, state)
        case tree.Async():
            return walk_body(walk, place, statement.body, state)
        case tree.Batch():
            return walk_body(walk, replace(place, batch=True), statement.body, state)
        case tree.Turns():
            return walk_body(walk, replace(place, alone=statement.unit), statement.body, state)
        case tree.Break():
            place.exits.breaks.append(state)
            return {}
        case tree.Continue():
            place.exits.continues.append(state)
            return {}
        case tree.Return():
            check_end(walk, place, statement, state)
            walk.returns.append(state)
            return {}
        case _:
            return assign_pointer(statement, state)


def walk_view(walk: Walk, place: Place, statement: tree.Partition | tree.Claim, state: State) -> State:
    """Walk a view's body. What happened to a ring's copy is settled with its scope: the ring's mbarriers see to the rest.

    What was loaded has been read from its source for those threads that waited for it inside.
    """
    view = statement.view
    inner = place.open(view, isinstance(statement, tree.Claim))
    changes = walk.context.changes
    after = close_view(changes, walk_body(walk, inner, statement.body, state), view)
    source = view.view.source if view.view is not None else view
    if not (isinstance(source.type, tree.Pointer) and source.type.ring):
        return after
    ended = walk.context.loaded.get(statement, frozenset())
    after = left_station(changes, after, source)
    if not ended:
        return after
    return change_pending(
        after, changes.of(ended, lambda p: p.land() if p.touch is not None and p.touch.by in ended else p)
    )


def walk_loop(walk: Walk, place: Place, loop: tree.While | tree.For, state: State) -> State:
    """Walk a loop until its head's state is stable; a loop that may make no trip is also left as it was entered.

    A loop deep in others is walked once each time that they come to it (`deep_head`), and the loop around them goes on until
    it is stable too.
    """
    gone = walk.context.conditions.changed.get(loop, frozenset())
    state = forget(state, gone)
    deep = place.depth >= DEEP
    head = deep_head(walk, loop, state) if deep else state
    again = partial(next_trip, walk.context.changes, walk.context.objects.known.renewed[loop])
    while True:
        exits = Exits()
        if not deep:
            walk.unsettled = False
        out = union(
            walk.context.changes,
            walk_body(walk, place.into(loop, exits), loop.body, head),
            *exits.continues,
        )
        # The head has what came in, and what any trip leaves: it only grows, over a finite set, so it becomes stable.
        #     for i in range(n):    first pass: nothing is pending here
        #         v += s[0]         second pass: the write below is; so this read needs a barrier before it
        #         s[t] = v
        if isinstance(loop, tree.For) and (loop.once or walk.context.objects.known.trips.get(loop.symbol) == 1):
            merged = head  # there is no second trip
        else:
            merged = union(walk.context.changes, head, again(forget(out, gone), loop))
        if deep:
            walk.unsettled = walk.unsettled or merged != head
            walk.heads[loop] = head = merged
            break
        if merged == head and not walk.unsettled:
            break
        head = merged
    match loop:
        case tree.While(condition=tree.Const(value=value)) if value:  # its condition never ends it
            after = union(walk.context.changes, *exits.breaks)
        case tree.For() if surely_entered(loop):  # so a barrier in its body was surely met
            after = union(walk.context.changes, out, *exits.breaks)
        case tree.For() if loop.once:  # its head has what came in alone
            after = union(walk.context.changes, head, out, *exits.breaks)
        case _:
            after = union(walk.context.changes, head, *exits.breaks)
    after = leave_loop(walk.context.changes, forget(after, gone), state)
    return after if walk.context.alike is None else after_loop(walk.context, walk.context.alike, place, loop, after)


def deep_head(walk: Walk, loop: tree.While | tree.For, state: State) -> State:
    """Return the state at the head of a loop deep in others: what comes to it now, and what was found there before.

    Where each loop is walked until it is stable each time that the one around it is walked, a nest of n takes 3^n walks of
    the innermost body. In one pass over all of them, each adds what it found to its head, and passes are made until nothing is
    added: some n of them. The states that come to a loop only grow from pass to pass, so what was found at its head is found
    there by the last pass too; and in that none of them changes, so it has seen what each head's state leads to. A barrier that
    is placed begins anew: what it settles may not come back.
    """
    known = walk.heads.get(loop)
    return state if known is None else union(walk.context.changes, known, state)


def after_loop(context: Context, alike: Alike, place: Place, loop: tree.While | tree.For, state: State) -> State:
    """Return the state behind a loop: of many accesses, those in its body are taken for ones around it."""
    if sum(map(len, state.values())) <= PENDING:
        return state
    renewed = context.objects.known.renewed[loop]
    return {
        env: frozenset(alike.leave_loop(p, loop, place.loop, place.path, renewed) for p in pending)
        for env, pending in state.items()
    }


def walk_split(walk: Walk, place: Place, split: tree.Split, state: State) -> State:
    """Walk the arms, which run at the same time; units that no arm names pass by with the state as it was.

    What is under way is its own thread's to commit and to wait for: it is as the arm that this thread runs leaves it.
    """
    outs: list[tuple[tree.Arm, State]] = []
    paths: list[Path] = []
    for arm in split.arms:
        inner = place.enter(Perspective(split.level, arm.size), (split.level, arm.first, arm.size))
        outs.append((arm, walk_body(walk, inner, arm.body, state)))
        paths.append(narrow_path(inner.path))
    # Arms start from one state, not one from the other's: they run at once, so no barrier can stand between their accesses.
    for index, one in enumerate(outs):
        for two in outs[index + 1 :]:
            _check_arms(walk, split, state, one, two)
    flying = {p.touch for pending in state.values() for p in pending if p.since is not None and p.touch is not None}
    if not flying:
        return union(walk.context.changes, state, *(out for _, out in outs))
    theirs = [{touch for touch in flying if path and comes_along(path, touch)} for path in paths]
    found = [drop_touches(state, set().union(*theirs))]
    for index, (_, out) in enumerate(outs):
        found.append(drop_touches(out, set().union(*(own for other, own in enumerate(theirs) if other != index))))
    return union(walk.context.changes, *found)


def _check_arms(
    walk: Walk, split: tree.Split, state: State, one: tuple[tree.Arm, State], two: tuple[tree.Arm, State]
) -> None:
    """Refuse a conflict of two arms through anything that they share."""
    outs = bare(one[1]), bare(two[1])
    known = {p.touch for pending in state.values() for p in pending}  # of an earlier trip, and looked at there
    for env, before in bare(state).items():
        fresh = [sorted(out.get(env, frozenset()) - before, key=order) for out in outs]
        for first in fresh[0]:
            for second in fresh[1]:
                if first.touch is None or second.touch is None or {first.touch, second.touch} & known:
                    continue
                if not flow.conflicting(first.touch.kind, second.touch.kind):
                    continue
                # A barrier that the first arm met is not between them: the other arm was not there.
                alone = first._replace(synced=None, asynced=None)
                relation = flow.relate(walk.context.objects, alone, second.touch)
                if relation is not None and relation.unit is not None and _meet(split, relation.unit, one[0], two[0]):
                    raise Concurrent(first.touch, second.touch)


def _meet(split: tree.Split, unit: Perspective, one: tree.Arm, two: tree.Arm) -> bool:
    """Whether one unit has threads of two arms: not where each has its own units, or they are in different ones."""
    if unit <= Perspective(split.level, one.size) and unit <= Perspective(split.level, two.size):
        return False
    if unit.level != split.level:
        return True
    mine, theirs = (range(arm.first // unit.size, (arm.first + arm.size - 1) // unit.size + 1) for arm in (one, two))
    return bool(set(mine) & set(theirs))


def assign_pointer(statement: tree.Stmt, state: State) -> State:
    """Return the state after an assignment of a pointer: one for each value that it may get."""
    change = flow.pointer_change(statement)
    if change is None:
        return state
    pointer, sources = change
    found: State = {}
    for env, pending in state.items():
        for source in sources or (pointer,):
            named = dict(env)
            named[pointer] = flow.target(source, env)
            key = tuple(sorted(named.items(), key=in_order))
            found[key] = found.get(key, frozenset()) | pending
    return found


# -- a whole function -------------------------------------------------------------------------------------------------------

START: State = {(): frozenset({Pending(None)})}
"""At a function's entry: whatever its caller did."""


def walk_function(
    context: Context, placed: dict[tree.Stmt, tuple[Mark, ...]], *, grow: bool = False, notes: bool = False,
    trail: Trail | None = None,
) -> Walk:  # fmt: skip
    """Walk a function once, with these marks in place. Raises the first conflict left."""
    why: dict[tree.Stmt, Conflict] = {}
    while True:
        walk = Walk(context, placed, grow, notes, trail=trail, why=why)
        place = Place(context.function.bound.code)
        try:
            end = walk_body(walk, place, context.function.body, START)
            if end:
                walk_statement(walk, place, context.end, end)
        except Restart:
            continue
        return walk


__all__ = ["START", "Concurrent", "Conflict", "Context", "Walk", "realise", "summarise", "walk_function"]
