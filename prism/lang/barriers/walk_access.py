"""The accesses of a walk: each is compared with those that are pending; calls have those of their callees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prism.lang.barriers import flow
from prism.lang.barriers.conditions import reaches_other_blocks
from prism.lang.barriers.flow import Env
from prism.lang.barriers.footprints import bound_accesses
from prism.lang.barriers.walk_context import PAIR, PROOF, SINCE, Conflict, Context, Place, Relations, Walk
from prism.lang.barriers.walk_state import State, apply_barrier, narrow_path, order
from prism.lang.diagnostics import CompileError, Fields
from prism.lang.errors.sync import SameArgument, SameFragment
from prism.lang.facts.addresses import address
from prism.lang.facts.definitions import Facts
from prism.lang.facts.destinations import destination
from prism.lang.facts.disjoint import count_proofs
from prism.lang.facts.touches import (
    ATOMIC,
    ENGINES,
    GROUPED,
    NEAR,
    Address,
    Exposed,
    Met,
    Pending,
    Summary,
    Touch,
    Use,
    declared_fragment,
    in_memory,
    spell,
    uses_of,
)
from prism.lang.tree import Call, Declare, Element, Expr, Fragment, Function, Item, Pointer, Stmt, Symbol, Var
from prism.lang.tree.plan import Access, Elided
from prism.lang.types.perspective import BLOCK, THREAD, Perspective

_UNKNOWN: Any = object()


def touch_all(walk: Walk, place: Place, statement: Stmt, state: State) -> State:
    """Return the state after the accesses that a statement makes itself."""
    uses, fragment = uses_of(walk.context.objects.known, statement), declared_fragment(statement)
    if not uses and fragment is None:
        return state
    found: State = {}
    apart = len(state) > 1 and bool(walk.context.conditions.asked)
    others = frozenset(p for pending in state.values() for p in pending if apart and reaches_other_blocks(p.touch))
    for env, pending in state.items():
        before, fresh = pending, frozenset[Pending]()
        for use in uses:
            if isinstance(use.expression, Call):
                before, fresh = _call(walk, place, env, use, before, fresh, others)
            elif walk.context.engines or not _in_registers(use):
                touch = make_touch(walk.context, place, env, use)
                check(walk, touch, (before, fresh, others), None)
                if not harmless(walk.context.function, touch):
                    fresh |= {_pending(touch)}
        if fragment is not None and walk.context.engines:
            fresh |= {_pending(declare_touch(walk.context, place, fragment, statement))}
        found[env] = before | fresh
    return found


def _in_registers(use: Use) -> bool:
    """Whether a thread itself uses a fragment: an element, or all of it."""
    return not use.how and not isinstance(use.expression, Call) and isinstance(use.expression.symbol.type, Fragment)


def _pending(touch: Touch) -> Pending:
    return Pending(touch, len(touch.steps), since=-1 if touch.how else None)


def harmless(function: Function, touch: Touch) -> bool:
    """Whether nothing after an access can conflict with it: a kernel's read of what nobody writes."""
    kind = touch.root.type
    const = touch.root.parameter and isinstance(kind, Pointer) and kind.const
    return const and function.kind == "global" and not function.may_alias


def check(walk: Walk, touch: Touch, pending: Iterable[frozenset[Pending]], guard: Perspective | None) -> None:
    """Raise the first conflict of an access with the pending ones; note those that need no barrier, and why."""
    known = walk.context.relations.get(touch)
    if known is None:
        known = walk.context.relations[touch] = Relations()
    # Whatever was found free once is free in each later walk: how two accesses stand is a fact of the two, and barriers that a
    # walk has met are in the pending one. So only what is new is looked at.
    if walk.notes and touch not in walk.told:
        walk.told[touch] = set(known.apart)  # there is nothing more to say of these
    passed = walk.told[touch] if walk.notes else known.free
    left: list[tuple[Pending, flow.Relation]] = []
    new = frozenset[Pending]().union(*(some - passed for some in pending))
    entries = sorted((earlier for earlier in new if earlier.touch is None), key=order)  # as they are told of to callers
    for earlier in (*entries, *new.difference(entries)):
        relation = _relate(walk, known, earlier, touch)
        if relation is None:
            passed.add(earlier)
            continue
        if walk.notes and earlier.touch is not None and (relation.believed or relation.unit is None):
            _note(walk, earlier.touch, touch, relation)
            if relation.unit is None:
                passed.add(earlier)
        if relation.unit is not None and (relation.land or guard is None or not relation.unit <= guard):
            left.append((earlier, relation))
    if left:
        first, relation = min(left, key=lambda pair: order(pair[0]))  # sets have no order, and plans are to be the same
        raise Conflict(first, touch, relation)


def _relate(walk: Walk, known: Relations, earlier: Pending, touch: Touch) -> flow.Relation | None:
    """Return how two accesses stand, which is found out once; the function's own entry is noted for its callers."""
    if earlier.touch is None:
        known.free.add(earlier)
        _expose(walk, touch, earlier)
        return None
    found = known.found.get(earlier)  # the hash of an access that has happened takes time: each is looked for once
    if found is not None:
        return found
    history, spend = flow.history(earlier), walk.context.work.spend
    spend(walk.context.function, SINCE)
    clash = known.clashes.get(history, _UNKNOWN)
    if clash is _UNKNOWN:
        objects = walk.context.objects
        tried = count_proofs(objects.known)
        clash = known.clashes[history] = flow.find_clash(objects, history, touch)
        spend(walk.context.function, PAIR + PROOF * (count_proofs(objects.known) - tried))
    relation = None if clash is None else flow.relate_after(clash, earlier, touch)
    if relation is None:
        known.apart.add(earlier)
        known.free.add(earlier)
        return None
    if relation.unit is None:
        known.free.add(earlier)
    known.found[earlier] = relation
    return relation


def _note(walk: Walk, earlier: Touch, touch: Touch, relation: flow.Relation) -> None:
    """Note why a conflict needs no barrier; what is not proved of two accesses hides behind no other reason."""
    key = (earlier.serial, touch.serial)
    reason, where = (relation.believed, None) if relation.believed else (relation.reason, relation.where)
    found = Elided(earlier.access, touch.access, reason, where, relation.unproved)
    before = walk.elided.get(key)
    if before is None or (not found.unproved, found.reason) < (not before.unproved, before.reason):
        walk.elided[key] = found


def _expose(walk: Walk, touch: Touch, token: Pending, guard: Perspective | None = None) -> None:
    """Note an access that the function makes before a barrier of `guard` or broader, for its callers."""
    met = token.asynced if touch.engine else token.synced
    seen = met[0] if met is not None else guard
    root = touch.root if touch.root.parameter else None
    key = (root, touch.kind, touch.how, seen, flow.overlap_unit(touch))
    walk.entry.setdefault(key, Exposed(root, touch.kind, touch.access, seen, touch.how, flow.overlap_unit(touch)))


# -- touches --------------------------------------------------------------------------------------------------------------


def make_touch(context: Context, place: Place, env: Env, use: Use) -> Touch:
    """Return the access that a use makes: one object for each use and each meaning of its pointer."""
    expression = use.expression
    assert isinstance(expression, Element | Var | Item)
    root, views = flow.resolve(expression.symbol, env)
    if isinstance(root.type, Fragment) and not use.how:
        return declare_touch(context, place, root, expression, use.kind)
    key = (use.expression, use.kind, root, views)
    if key not in context.touches:
        known = context.objects.known
        chain = flow.steps(known, views, place.path, place.opened)
        access = Access(root, use.kind, expression.span, spell(expression), place.code)
        where = locate(known, root, address(known, use))
        lands = locate(known, root, destination(known, use, root, where))
        found = Touch(
            root, use.kind, chain, access, len(context.touches), place.code, use.how, narrow_path(place.path), use.by,
            where, lands=lands, use=use,
        )  # fmt: skip
        context.touches[key] = standing(context, place, found)
    return context.touches[key]


def standing(context: Context, place: Place, touch: Touch) -> Touch:
    """Return the access that stands for one: itself, but in a function with many."""
    return touch if context.alike is None else context.alike.of(touch, place.loop, place.path)


def locate(known: Facts, root: Symbol, where: Address | None) -> Address | None:
    """Return where an access is, if that is counted from an object's first element, and not from a pointer's that changes."""
    fixed = root not in known.changed and root not in known.definitions
    return where if where is not None and where.root is root and fixed else None


def declare_touch(context: Context, place: Place, fragment: Symbol, at: Stmt | Expr, kind: str = "write") -> Touch:
    """Return the plain access to a fragment's registers: one object for each fragment and kind."""
    key = (fragment, kind)
    if key not in context.touches:
        text = fragment.name if isinstance(at, Declare) else f"{fragment.name}[...]"
        access = Access(fragment, kind, at.span, text, place.code)
        context.touches[key] = Touch(fragment, kind, (), access, len(context.touches), place.code)
    return context.touches[key]


# -- calls ----------------------------------------------------------------------------------------------------------------


def _call(
    walk: Walk,
    place: Place,
    env: Env,
    use: Use,
    before: frozenset[Pending],
    fresh: frozenset[Pending],
    others: frozenset[Pending],
) -> tuple[frozenset[Pending], frozenset[Pending]]:
    """A call: its exposed accesses, then the barriers that all its paths meet, then what it leaves pending."""
    call = use.expression
    assert isinstance(call, Call)
    summary = walk.context.summaries[call.function]
    check_arguments(walk.context, env, call, summary)
    groups = (before, fresh, others) if summary.entry else ()
    known = [frozenset(p for p in group if p.touch is not None) for group in groups]  # not what the caller did
    entries = sorted((p for p in before | fresh if p.touch is None), key=order)
    for place_in_summary, exposed in enumerate(summary.entry):
        touch = call_touch(walk.context, place, env, call, exposed, ("entry", place_in_summary))
        if touch is not None:
            for earlier in entries:
                _expose(walk, touch, earlier, exposed.guard)
            check(walk, touch, known, exposed.guard)
    # Each path through the callee may have been taken: what was pending is so as each of them leaves it. A call that may not be
    # made is one more, with no barrier.
    clears = (None, *summary.clears) if use.conditional else summary.clears or (None,)
    words = f"the barriers inside `{call.function.name}`, called on"
    before, fresh = (
        frozenset().union(
            *(apply_barrier(walk.context.changes, group, unit, words, call.span, None, walk.keep) for unit in clears)
        )
        for group in (before, fresh)
    )
    for place_in_summary, exposed in enumerate(summary.exit):
        touch = call_touch(walk.context, place, env, call, exposed, ("exit", place_in_summary))
        if touch is not None and not harmless(walk.context.function, touch):
            since: Met | None = None
            if exposed.guard is not None:
                since = exposed.guard, f"{words} line {call.span.line}", None, call.span
            fresh |= {Pending(touch, len(touch.steps), since, fenced=touch.engine and in_memory(touch.root))}
    return before, fresh


def call_touch(
    context: Context, place: Place, env: Env, call: Call, exposed: Exposed, which: tuple[str, int]
) -> Touch | None:
    """Return a callee's access as the caller sees it: to the argument, or to the callee's frame."""
    where: Address | None = None
    if exposed.root is None:
        root, views = context.objects.frames[call], tuple[Symbol, ...]()
    else:
        argument = call.arguments[call.function.parameters.index(exposed.root)]
        symbol = pointer_of(argument)
        if symbol is None:
            return None
        root, views = flow.resolve(symbol, env)
        known = context.objects.known
        where = locate(known, root, bound_accesses(known, call.function, exposed.root, argument)[1])
    key = (call, which, root, views)
    if key not in context.touches:
        chain = flow.steps(context.objects.known, views, place.path, place.opened)
        kind = "write" if exposed.root is None and exposed.kind in (ATOMIC, NEAR) else exposed.kind
        text = (
            f"{call.function.name}(...)" if exposed.root is None else f"{call.function.name}({exposed.root.name}=...)"
        )
        access = Access(root, kind, call.span, text, call.function.bound.code)
        found = Touch(
            root, kind, chain, access, len(context.touches), call.function.bound.code, exposed.how, narrow_path(place.path),
            where=where, allowed=exposed.allowed,
        )  # fmt: skip
        context.touches[key] = standing(context, place, found)
    return context.touches[key]


def pointer_of(argument: Expr) -> Symbol | None:
    """Return the pointer, view or shared object that an argument passes."""
    return argument.symbol if isinstance(argument, Var | Element) else None


def check_arguments(context: Context, env: Env, call: Call, summary: Summary) -> None:
    """Refuse one object passed as two parameters that the callee takes for different objects, where they would conflict."""
    _check_fragments(env, call, summary)
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
                facts: Fields = {"function": call.function.name, "one": other.name, "other": parameter.name}
                raise CompileError(SameArgument(span=argument.span, name=root.name, **facts))
        seen.append((parameter, root))


def _check_fragments(env: Env, call: Call, summary: Summary) -> None:
    lent: dict[Symbol, Symbol] = {}
    used = {exposed.root for exposed in summary.entry if exposed.how == "wgmma"}
    for parameter, argument in zip(call.function.parameters, call.arguments, strict=False):
        if not (isinstance(parameter.type, Fragment) and isinstance(argument, Var)):
            continue
        root, _ = flow.resolve(argument.symbol, env)
        other = lent.setdefault(root, parameter)
        if other is not parameter and {other, parameter} & used:
            facts: Fields = {"function": call.function.name, "one": other.name, "other": parameter.name}
            raise CompileError(SameFragment(span=argument.span, name=root.name, **facts))


# -- the function's end -----------------------------------------------------------------------------------------------------


def check_end(walk: Walk, place: Place, statement: Stmt, state: State) -> None:
    """Raise the first conflict of what follows a function with what is still under way there.

    A block's shared memory and its threads' registers are not their own any more when the kernel has ended; of a device
    function's accesses its caller knows nothing more. What a store writes elsewhere may come in later.
    """
    left = [p for pending in state.values() for p in pending if _outlives(walk.context.function, p)]
    if left:
        first = min(left, key=order)
        assert first.touch is not None
        key = (walk.context.end, first.touch.root)
        if key not in walk.context.touches:
            text = f"the end of `{walk.context.function.name}`"
            access = Access(first.touch.root, "write", statement.span, text, place.code)
            root, serial = first.touch.root, len(walk.context.touches)
            walk.context.touches[key] = Touch(root, "write", (), access, serial, place.code)
        raise Conflict(first, walk.context.touches[key], flow.Relation(THREAD, land=True))


def _outlives(function: Function, pending: Pending) -> bool:
    touch = pending.touch
    if touch is None or pending.since is None or touch.how not in GROUPED:
        return False
    if function.kind == "global":
        shared = isinstance(touch.root.type, Pointer) and touch.root.type.space == "shared"
        return touch.how == "wgmma" or (shared and touch.kind == ("read" if touch.how == "bulk" else "write"))
    return in_memory(touch.root) or touch.root.parameter


def summarise(context: Context, walk: Walk) -> Summary:
    """Return what callers need to know of a function, from its last walk."""
    exits: dict[tuple[Symbol | None, str, str, Perspective | None, Perspective | None], Exposed] = {}
    clears: list[Perspective | None] = []
    final = sorted({p for state in walk.returns for pending in state.values() for p in pending}, key=order)
    for pending in final:
        unit = None if pending.synced is None else pending.synced[0]
        touch = pending.touch
        if touch is None:
            clears.append(unit)
            continue
        root = touch.root if touch.root.parameter else None
        # A cluster's object is for all its blocks.
        owner = max(BLOCK, touch.root.perspective) if in_memory(touch.root) else BLOCK
        if root is None and ((unit is not None and unit >= owner) or not in_memory(touch.root)):
            continue
        how = touch.how if touch.how in ENGINES else ""
        key = (root, touch.kind, how, unit, flow.overlap_unit(touch))
        exits.setdefault(key, Exposed(root, touch.kind, touch.access, unit, how, flow.overlap_unit(touch)))
    kinds: dict[Symbol, frozenset[str]] = {}
    for exposed in walk.entry.values():
        if exposed.root is not None:
            kinds[exposed.root] = kinds.get(exposed.root, frozenset()) | {exposed.kind}
    return Summary(tuple(walk.entry.values()), tuple(exits.values()), tuple(dict.fromkeys(clears)), kinds)
