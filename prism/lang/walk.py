"""One walk over a function with some barriers in place: which conflicts they leave, and what callers see.

A forward analysis over the structured tree. Its state is every access that may have happened, with the broadest barrier that
surely came after it: immediate predecessors are not enough. Before a statement that makes an access in conflict with a
pending one stands a barrier of the unit whose threads the conflict concerns (`flow.related`), in the innermost statement
list whose code is at least as broad: all threads of each unit meet it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from prism.lang import flow, races
from prism.lang.diagnostics import CompileError
from prism.lang.errors.sync import SameArgument
from prism.lang.flow import Env, Exposed, Path, Pending, Summary, Touch, Use
from prism.lang.perspective import BLOCK, WARP, Level, Perspective
from prism.lang.plan import Access, Elided
from prism.lang.trail import Trail
from prism.lang.tree import (
    Body,
    Break,
    Call,
    Claim,
    Const,
    Continue,
    Element,
    Expr,
    For,
    Function,
    Group,
    If,
    Partition,
    Pointer,
    Return,
    Split,
    Stmt,
    Symbol,
    Var,
    While,
    children,
)

State = dict[Env, frozenset[Pending]]
NOTED = 64
"""Settled accesses that are kept to note why they need no barrier of their own."""


@dataclass(eq=False)
class Conflict(Exception):
    """A conflict that the barriers placed so far do not order."""

    first: Pending
    second: Touch
    unit: Perspective


@dataclass(eq=False)
class Concurrent(Exception):
    """A conflict between two arms of a split: nothing can order it."""

    first: Touch
    second: Touch


@dataclass(frozen=True, eq=False, slots=True)
class Exits:
    """The states in which the enclosing loop is left or continued."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where the walk stands: the code's perspective, the path to it, and the open views."""

    code: Perspective
    path: Path = ()
    opened: Mapping[Symbol, tuple[int, bool]] = field(default_factory=dict)
    exits: Exits = field(default_factory=Exits)

    def enter(self, code: Perspective, entry: Perspective | tuple[Level, int, int]) -> Place:
        """Return the place inside a group or an arm."""
        return replace(self, code=code, path=(*self.path, entry))

    def open(self, view: Symbol, claim: bool) -> Place:
        """Return the place inside a view's body."""
        return replace(self, opened={**self.opened, view: (len(self.path), claim)})


@dataclass(frozen=True, eq=False, slots=True)
class Context:
    """What is known of one function and of its callees, and the accesses made once for each use."""

    function: Function
    objects: flow.Objects
    summaries: Mapping[Function, Summary]
    touches: dict[tuple[object, ...], Touch] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Walk:
    """One walk: the barriers in place (`grow`: more may be placed), and what is found on the way (`notes`: elided too)."""

    context: Context
    placed: dict[Stmt, tuple[Perspective, ...]]
    grow: bool
    notes: bool = False
    elided: dict[tuple[int, int], Elided] = field(default_factory=dict)
    entry: dict[tuple[Symbol | None, str, Perspective | None], Exposed] = field(default_factory=dict)
    returns: list[State] = field(default_factory=list)
    trail: Trail | None = None


# -- states ---------------------------------------------------------------------------------------------------------------


def union(*states: State) -> State:
    """Return what may have happened on any of several ways here."""
    found: State = {}
    for state in states:
        for env, pending in state.items():
            found[env] = found.get(env, frozenset()) | pending
    return found


def barriers(walk: Walk, state: State, units: Iterable[Perspective | None], label: str) -> State:
    """Return the state after barriers, one after the other."""
    for unit in units:
        state = {env: synced(walk, pending, unit, label) for env, pending in state.items()}
    return state


def synced(walk: Walk, pending: frozenset[Pending], unit: Perspective | None, label: str) -> frozenset[Pending]:
    """Return pending accesses after a barrier; what it settles for good is kept only where notes are taken."""
    if unit is None:
        return pending
    if walk.notes and len(pending) < NOTED:
        return frozenset(p.after(unit, label) for p in pending)
    return frozenset(p.after(unit, "") for p in pending if not p.settled(unit))


def closed(state: State, view: Symbol) -> State:
    """Return the state after a view's end: its accesses are accesses of its source."""

    def close(pending: Pending) -> Pending:
        if pending.touch is None:
            return pending
        for place, step in enumerate(pending.touch.steps[: pending.open]):
            if step.view is view:
                return replace(pending, open=place)
        return pending

    return {env: frozenset(map(close, pending)) for env, pending in state.items()}


def aged(context: Context, state: State, loop: Stmt) -> State:
    """Return the state after a loop's back-edge: names that the loop renews may have other values now."""
    renewed = context.objects.known.renewed[loop]

    def age(pending: Pending) -> Pending:
        if pending.touch is None:
            return pending
        moved = any(s.offset is not None and races.names(s.offset) & renewed for s in pending.touch.steps)
        return replace(pending, aged=pending.aged | {loop} if moved else pending.aged, loop=True)

    return {env: frozenset(map(age, pending)) for env, pending in state.items()}


def order(pending: Pending) -> tuple[int, int, bool, int, str]:
    """The order in which conflicts are looked for: the text's, so that plans are the same every time."""
    serial = -1 if pending.touch is None else pending.touch.serial
    return (serial, pending.open, pending.loop, len(pending.aged), str(pending.synced))


def left(state: State, entered: State) -> State:
    """Return the state after a loop's end: what went round it did so inside, and is not in another trip of what follows."""

    def leave(pending: Pending, before: frozenset[Touch | None]) -> Pending:
        return replace(pending, loop=False) if pending.loop and pending.touch not in before else pending

    found: State = {}
    for env, pending in state.items():
        before = frozenset(p.touch for p in entered.get(env, ()) if p.loop)
        found[env] = frozenset(leave(p, before) for p in pending)
    return found


# -- the walk -------------------------------------------------------------------------------------------------------------


def walk_body(walk: Walk, place: Place, body: Body, state: State) -> State:
    """Walk a statement list; an empty state means that its end is not reached."""
    if walk.trail is not None and len(body) > 1 and id(body) not in walk.trail.escaping:
        return walk_along(walk, walk.trail, place, body, state)
    for statement in body:
        if not state:
            break
        state = walk_statement(walk, place, statement, state)
    return state


def walk_along(walk: Walk, trail: Trail, place: Place, body: Body, state: State) -> State:
    """Walk a statement list where it may differ from an earlier walk."""
    known, changed = trail.find(body, state), trail.dirty.get(id(body), [])
    at, states = 0, [state]
    while at < len(body):
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


def walk_statement(walk: Walk, place: Place, statement: Stmt, state: State) -> State:
    """Walk one statement, behind its barriers; where a conflict asks for one and it may stand here, place it and try again."""
    while True:
        units = walk.placed.get(statement, ())
        try:
            label = f"the barrier before line {statement.span.line}"
            return transfer(walk, place, statement, barriers(walk, state, units, label))
        except Conflict as conflict:
            unit = realise(conflict.unit, place.code)
            if not walk.grow or unit is None or any(unit <= other for other in units):
                raise
            walk.placed[statement] = (*(other for other in units if not other <= unit), unit)


def realise(unit: Perspective, code: Perspective) -> Perspective | None:
    """Return the unit of the barrier that joins a unit's threads and may stand in code at `code`, or None.

    Parts of a warp that divide it, and whole warps, have barriers of their own; other groups of threads take the block's.
    """
    if unit.level == Level.THREAD and WARP % unit.size and unit.size % WARP:
        unit = BLOCK
    if Perspective(Level.BLOCK, 1) < unit:
        return None
    return unit if unit <= code else None


def transfer(walk: Walk, place: Place, statement: Stmt, state: State) -> State:
    """Return the state after a statement; raises the first conflict that no barrier orders."""
    state = touch_all(walk, place, statement, state)
    match statement:
        case If():
            return union(*(walk_body(walk, place, body, state) for body in children(statement)))
        case While() | For():
            return walk_loop(walk, place, statement, state)
        case Group():
            return walk_body(walk, place.enter(statement.unit, statement.unit), statement.body, state)
        case Split():
            return walk_split(walk, place, statement, state)
        case Partition() | Claim():
            inner = place.open(statement.view, isinstance(statement, Claim))
            return closed(walk_body(walk, inner, statement.body, state), statement.view)
        case Break():
            place.exits.breaks.append(state)
            return {}
        case Continue():
            place.exits.continues.append(state)
            return {}
        case Return():
            walk.returns.append(state)
            return {}
        case _:
            return repointed(statement, state)


def walk_loop(walk: Walk, place: Place, loop: While | For, state: State) -> State:
    """Walk a loop until its head's state is stable; a loop that may make no trip is also left as it was entered."""
    head = state
    while True:
        exits = Exits()
        out = union(walk_body(walk, replace(place, exits=exits), loop.body, head), *exits.continues)
        merged = union(head, aged(walk.context, out, loop))
        if merged == head:
            break
        head = merged
    match loop:
        case While(condition=Const(value=value)) if value:
            after = union(*exits.breaks)
        case For() if races.surely_entered(loop):
            after = union(out, *exits.breaks)
        case _:
            after = union(head, *exits.breaks)
    return left(after, state)


def walk_split(walk: Walk, place: Place, split: Split, state: State) -> State:
    """Walk the arms, which run at the same time; units that no arm names pass by with the state as it was."""
    outs: list[tuple[Perspective, State]] = []
    for arm in split.arms:
        code = Perspective(split.level, arm.size)
        inner = place.enter(code, (split.level, arm.first, arm.size))
        outs.append((code, walk_body(walk, inner, arm.body, state)))
    for index, (code, left) in enumerate(outs):
        for other, right in outs[index + 1 :]:
            _check_arms(walk, state, (code, left), (other, right))
    return union(state, *(out for _, out in outs))


def _check_arms(walk: Walk, state: State, one: tuple[Perspective, State], two: tuple[Perspective, State]) -> None:
    """Refuse a conflict of two arms through anything that they share."""
    for env, before in state.items():
        fresh = [sorted(arm[1].get(env, frozenset()) - before, key=order) for arm in (one, two)]
        known = {p.touch for p in before}
        for first in fresh[0]:
            for second in fresh[1]:
                if first.touch is None or second.touch is None or {first.touch, second.touch} & known:
                    continue
                if not flow.conflicting(first.touch.kind, second.touch.kind):
                    continue
                relation = flow.related(walk.context.objects, replace(first, synced=None), second.touch)
                unit = None if relation is None else relation.unit
                if unit is not None and not (unit <= one[0] and unit <= two[0]):
                    raise Concurrent(first.touch, second.touch)


def repointed(statement: Stmt, state: State) -> State:
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
            key = tuple(sorted(named.items(), key=lambda item: (item[0].name, item[0].span.line, item[0].span.column)))
            found[key] = found.get(key, frozenset()) | pending
    return found


# -- accesses -------------------------------------------------------------------------------------------------------------


def touch_all(walk: Walk, place: Place, statement: Stmt, state: State) -> State:
    """Return the state after the accesses that a statement makes itself."""
    uses = tuple(flow.uses(statement))
    if not uses:
        return state
    found: State = {}
    for env, pending in state.items():
        before, fresh = pending, frozenset[Pending]()
        for use in uses:
            if isinstance(use.expression, Call):
                before, fresh = _call(walk, place, env, use, before, fresh)
            else:
                touch = make_touch(walk.context, place, env, use)
                check(walk, touch, before | fresh, None)
                if not harmless(walk.context.function, touch):
                    fresh |= {Pending(touch, len(touch.steps))}
        found[env] = before | fresh
    return found


def harmless(function: Function, touch: Touch) -> bool:
    """Whether nothing after an access can conflict with it: a kernel's read of what nobody writes."""
    kind = touch.root.type
    const = touch.root.parameter and isinstance(kind, Pointer) and kind.const
    return const and function.kind == "global" and not function.may_alias


def check(walk: Walk, touch: Touch, pending: frozenset[Pending], guard: Perspective | None) -> None:
    """Raise the first conflict of an access with the pending ones; note those that need no barrier, and why."""
    left: list[tuple[Pending, Perspective]] = []
    for earlier in pending:
        if earlier.touch is None:
            _expose(walk, touch, earlier)
            continue
        relation = flow.related(walk.context.objects, earlier, touch)
        if relation is None or (relation.unit is not None and guard is not None and relation.unit <= guard):
            continue
        if relation.unit is not None:
            left.append((earlier, relation.unit))
        elif walk.notes:
            key = (earlier.touch.serial, touch.serial)
            reason = min(relation.reason, walk.elided[key].reason) if key in walk.elided else relation.reason
            walk.elided[key] = Elided(earlier.touch.access, touch.access, reason)
    if left:
        first, unit = min(left, key=lambda pair: order(pair[0]))
        raise Conflict(first, touch, unit)


def _expose(walk: Walk, touch: Touch, token: Pending, guard: Perspective | None = None) -> None:
    """Note an access that the function makes before a barrier of `guard` or broader, for its callers."""
    seen = token.synced[0] if token.synced is not None else guard
    root = touch.root if touch.root.parameter else None
    key = (root, touch.kind, seen)
    walk.entry.setdefault(key, Exposed(root, touch.kind, touch.access, seen))


def make_touch(context: Context, place: Place, env: Env, use: Use) -> Touch:
    """Return the access that a use makes: one object for each use and each meaning of its pointer."""
    expression = use.expression
    assert isinstance(expression, Element)
    root, views = flow.resolve(expression.symbol, env)
    key = (use.expression, use.kind, root, views)
    if key not in context.touches:
        known = context.objects.known
        chain = flow.steps(known, views, flow.index_span(known, use), place.path, place.opened)
        access = Access(root, use.kind, expression.span, flow.spelled(expression), place.code)
        context.touches[key] = Touch(root, use.kind, chain, access, len(context.touches), place.code)
    return context.touches[key]


def _call(
    walk: Walk, place: Place, env: Env, use: Use, before: frozenset[Pending], fresh: frozenset[Pending]
) -> tuple[frozenset[Pending], frozenset[Pending]]:
    """A call: its exposed accesses, then the barriers that all its paths meet, then what it leaves pending."""
    call = use.expression
    assert isinstance(call, Call)
    summary = walk.context.summaries[call.function]
    check_arguments(walk.context, env, call, summary)
    for place_in_summary, exposed in enumerate(summary.entry):
        touch = call_touch(walk.context, place, env, call, exposed, ("entry", place_in_summary))
        if touch is not None:
            for earlier in sorted(before | fresh, key=order):
                if earlier.touch is None:
                    _expose(walk, touch, earlier, exposed.guard)
            check(walk, touch, frozenset(p for p in before | fresh if p.touch is not None), exposed.guard)
    clears = (None, *summary.clears) if use.conditional else summary.clears or (None,)
    label = f"the barriers inside `{call.function.name}`, called on line {call.span.line}"
    before, fresh = (
        frozenset().union(*(synced(walk, group, unit, label) for unit in clears)) for group in (before, fresh)
    )
    for place_in_summary, exposed in enumerate(summary.exit):
        touch = call_touch(walk.context, place, env, call, exposed, ("exit", place_in_summary))
        if touch is not None and not harmless(walk.context.function, touch):
            since = None if exposed.guard is None else (exposed.guard, label)
            fresh |= {Pending(touch, len(touch.steps), since)}
    return before, fresh


def call_touch(
    context: Context, place: Place, env: Env, call: Call, exposed: Exposed, which: tuple[str, int]
) -> Touch | None:
    """Return a callee's access as the caller sees it: to the argument, or to the callee's frame."""
    if exposed.root is None:
        root, views = context.objects.frames[call], tuple[Symbol, ...]()
    else:
        argument = call.arguments[call.function.parameters.index(exposed.root)]
        symbol = pointer_of(argument)
        if symbol is None:
            return None
        root, views = flow.resolve(symbol, env)
    key = (call, which, root, views)
    if key not in context.touches:
        chain = flow.steps(context.objects.known, views, None, place.path, place.opened)
        kind = "write" if exposed.root is None and exposed.kind == "atomic" else exposed.kind
        text = (
            f"{call.function.name}(...)" if exposed.root is None else f"{call.function.name}({exposed.root.name}=...)"
        )
        access = Access(root, kind, call.span, text, call.function.bound.code)
        context.touches[key] = Touch(root, kind, chain, access, len(context.touches), call.function.bound.code)
    return context.touches[key]


def pointer_of(argument: Expr) -> Symbol | None:
    """Return the pointer, view or shared object that an argument passes."""
    return argument.symbol if isinstance(argument, Var | Element) else None


def check_arguments(context: Context, env: Env, call: Call, summary: Summary) -> None:
    """Refuse one object passed as two parameters that the callee takes for different objects, where they would conflict."""
    seen: list[tuple[Symbol, Symbol]] = []
    for parameter, argument in zip(call.function.parameters, call.arguments, strict=False):
        symbol = pointer_of(argument) if isinstance(parameter.type, Pointer) else None
        if symbol is None:
            continue
        root, _ = flow.resolve(symbol, env)
        for other, earlier in seen:
            told = any({other.name, parameter.name} <= names for names in call.function.may_alias)
            kinds = [(a, b) for a in summary.kinds.get(other, ()) for b in summary.kinds.get(parameter, ())]
            shared = root is earlier or context.objects.overlap(root, earlier) == "alias"
            if shared and not told and any(flow.conflicting(a, b) for a, b in kinds):
                raise CompileError(
                    SameArgument(
                        span=argument.span,
                        name=root.name,
                        function=call.function.name,
                        one=other.name,
                        other=parameter.name,
                    )
                )
        seen.append((parameter, root))


START: State = {(): frozenset({Pending(None)})}
"""At a function's entry: whatever its caller did."""


def walked(
    context: Context, placed: dict[Stmt, tuple[Perspective, ...]], *, grow: bool = False, notes: bool = False,
    trail: Trail | None = None,
) -> Walk:  # fmt: skip
    """Walk a function once, with these barriers in place. Raises the first conflict left."""
    walk = Walk(context, placed, grow, notes, trail=trail)
    end = walk_body(walk, Place(context.function.bound.code), context.function.body, START)
    walk.returns.append(end)
    return walk


def summarise(context: Context, walk: Walk) -> Summary:
    """Return what callers need to know of a function, from its last walk."""
    exits: dict[tuple[Symbol | None, str, Perspective | None], Exposed] = {}
    clears: list[Perspective | None] = []
    final = sorted({p for state in walk.returns for pending in state.values() for p in pending}, key=order)
    for pending in final:
        unit = None if pending.synced is None else pending.synced[0]
        if pending.touch is None:
            clears.append(unit)
            continue
        root = pending.touch.root if pending.touch.root.parameter else None
        if root is None and unit is not None and unit >= BLOCK:
            continue
        exits.setdefault(
            (root, pending.touch.kind, unit), Exposed(root, pending.touch.kind, pending.touch.access, unit)
        )
    kinds: dict[Symbol, frozenset[str]] = {}
    for exposed in walk.entry.values():
        if exposed.root is not None:
            kinds[exposed.root] = kinds.get(exposed.root, frozenset()) | {exposed.kind}
    return Summary(tuple(walk.entry.values()), tuple(exits.values()), tuple(dict.fromkeys(clears)), kinds)
