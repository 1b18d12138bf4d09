"""Whether a loop's statements can be executed some trips early: where all that they read is a function of the loop's index.

The values of a trip that they need, and that are such functions too, are computed with them. Memory that they read must not
change meanwhile: the loop does not write it, nor wait for what others write. All that they write are the copies of rings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.walk_access import pointer_of
from prism.lang.barriers.walk_context import Context
from prism.lang.keep.bases import Frozen
from prism.lang.rings.stations import is_ring
from prism.lang.tree.plan import Barrier
from prism.lang.tree.walk import statements, subexpressions

COPIES = ("cp_async", "load")
"""The asynchronous intrinsics that fill a copy."""
OTHERS = (tree.Assert, tree.Batch, tree.Print, tree.Return, tree.SharedDeclare, tree.Unsafe, tree.While)
"""Statements that nothing but a fill's own visit may execute."""


class Held(Exception):
    """Why statements cannot be executed early, in words that follow `because`."""


class Early(Frozen):
    """Statements of a loop that are to be executed early, and the lists that lead to them from the loop's body, in part.

    `before`: the statements of these lists that come before; `around`: the scopes that open these lists.
    """

    context: Context
    loop: tree.For
    around: tuple[tree.Stmt, ...]
    fills: tuple[tree.Stmt, ...]
    before: tuple[tree.Stmt, ...]


def needs(early: Early, barriers: Sequence[Barrier]) -> tuple[tree.Declare, ...]:
    """Return the declarations of the trip that the statements need, in the order of the text. Raises Held."""
    # A fill `by` trips early gives what it would give in its trip, if all that it reads is the same then:
    #     row = x + 64 * k       computed from k alone: declared again, with k' for k
    #     s = s + 1; x[s]        s of trip k' is not known before trip k' - 1 has ended: Held
    # Invariant: what is in `left` is executed early; each name in it is memory, the loop's index, or the fill's own, is outside
    # the loop and unchanged there, or its declaration is in `found` and will be looked at too.
    loop, inner = early.loop, tuple(statements(early.fills))
    changed = frozenset(symbol for s in statements(loop.body) for symbol in assigned_variables(s))
    made = frozenset(symbol for s in statements(loop.body) for symbol in declared_names(s))
    if loop.symbol in changed:
        raise Held(f"the loop changes its index `{loop.symbol.name}`")
    own = frozenset(symbol for s in (*inner, *early.around) for symbol in declared_names(s))
    for s in inner:
        check_effect(early.context, s, own)
    visible = {s.symbol: s for s in early.before if isinstance(s, tree.Declare)}
    found: dict[tree.Symbol, tree.Declare] = {}
    left: list[tree.Stmt] = [*early.around, *inner]
    while left:
        s = left.pop()
        for symbol in mentioned_names(s):
            if symbol in own or symbol is loop.symbol or symbol in found or _memory(symbol, made):
                continue
            if symbol in changed:
                raise Held(f"it needs `{symbol.name}`, which the loop changes")
            if symbol in made:
                found[symbol] = _declaration(symbol, visible)
                left.append(found[symbol])
    needed = tuple(s for s in early.before if isinstance(s, tree.Declare) and found.get(s.symbol) is s)
    check_memory(early, (*inner, *needed), barriers)
    return needed


def _memory(symbol: tree.Symbol, made: frozenset[tree.Symbol]) -> bool:
    """Whether a name is memory, of which only what it holds can change: not a pointer that the trip declares."""
    return isinstance(symbol.type, tree.Pointer | tree.TensorMap) and (symbol not in made or is_ring(symbol))


def _declaration(symbol: tree.Symbol, visible: dict[tree.Symbol, tree.Declare]) -> tree.Declare:
    """Return the declaration of a value that the trip computes before the statements."""
    found = visible.get(symbol)
    if found is None or found.value is None or not all(map(_computes, subexpressions(found.value))):
        raise Held(f"it needs `{symbol.name}`, which the trip computes otherwise than from the loop's index")
    return found


def _computes(e: tree.Expr) -> bool:
    """Whether it does not matter when, and how often, an expression is evaluated, but for the memory that it reads."""
    match e:
        case tree.Apply(intrinsic=intrinsic):
            quiet = not (intrinsic.blocking or intrinsic.orders or intrinsic.asynchronous)
            plain = all(p.effect == "read" and not p.atomic and not p.mailbox for p in intrinsic.parameters)
            return intrinsic.elementwise or (quiet and plain and intrinsic.touches_memory)
        case tree.Call(function=function):
            return function.pure
        case _:
            return True


# -- what statements do ---------------------------------------------------------------------------------------------------


def declared_names(s: tree.Stmt) -> Iterator[tree.Symbol]:
    """Yield the names that a statement makes: a variable, an object, a view with its offset and its lambda's indices."""
    match s:
        case tree.Declare() | tree.SharedDeclare() | tree.For():
            yield s.symbol
        case _:
            view = getattr(s, "view", None)
            if view is not None and view.view is not None:
                yield from (view, *view.view.params, *((view.view.offset[0],) if view.view.offset is not None else ()))


def assigned_variables(s: tree.Stmt) -> Iterator[tree.Symbol]:
    """Yield the variables that a statement may change after their declaration."""
    match s:
        case tree.Assign(target=target):
            while isinstance(target, tree.Component):
                target = target.vector
            if isinstance(target, tree.Var | tree.Item):
                yield target.symbol
        case tree.Unsafe(writes=writes):
            yield from writes
        case _:
            pass
    for part in (part for e in tree.expressions(s) for part in subexpressions(e)):
        if isinstance(part, tree.Call):
            yield from (
                a.symbol
                for a in part.arguments
                if isinstance(a, tree.Var) and isinstance(a.type, tree.Array | tree.Fragment)
            )
        elif isinstance(part, tree.Apply):
            given = [p for p in part.intrinsic.parameters if p.kind != "static"]
            for parameter, a in zip(given, part.arguments, strict=False):
                if parameter.kind in ("array", "fragment") and parameter.effect != "read" and isinstance(a, tree.Var):
                    yield a.symbol


def mentioned_names(s: tree.Stmt) -> Iterator[tree.Symbol]:
    """Yield the names in a statement's own expressions; of a view, what it is of, down to the object."""
    for part in (part for e in tree.expressions(s) for part in subexpressions(e)):
        symbol = getattr(part, "symbol", None)
        while symbol is not None:
            yield symbol
            symbol = symbol.view.source if symbol.view is not None else None


def check_effect(context: Context, s: tree.Stmt, own: frozenset[tree.Symbol]) -> None:
    """Raise Held for a statement that does more than fill a ring from what it reads."""
    if isinstance(s, OTHERS):
        raise Held("it does more than fill them")
    for symbol in assigned_variables(s):
        if symbol not in own:
            raise Held(f"it changes `{symbol.name}`")
    for part in (part for e in tree.expressions(s) for part in subexpressions(e)):
        if isinstance(part, tree.Call):
            check_callee(context, part.function)
        elif isinstance(part, tree.Apply) and part.intrinsic.asynchronous not in COPIES and not _computes(part):
            raise Held(f"it calls `{part.intrinsic.name}`")
    check_touches(context, s)


def check_touches(context: Context, s: tree.Stmt) -> None:
    """Raise Held where a statement reads a ring, or writes anything else."""
    for root, kind in touched_memory(context, s):
        if root is None or isinstance(root.type, tree.Fragment):
            raise Held("it uses more than memory and variables")
        if kind == "read" and is_ring(root):
            raise Held(f"it reads `{root.name}`")
        if kind != "read" and not is_ring(root):
            raise Held(f"it writes `{root.name}`")


def check_callee(context: Context, function: tree.Function) -> None:
    """Raise Held for a function that does more than read, and write what it is given."""
    if function.pure:
        return
    if any(unit is not None for unit in context.summaries[function].clears) or orders(function.body):
        raise Held(f"it calls `{function.name}`")
    for s in statements(function.body):
        for part in (part for e in tree.expressions(s) for part in subexpressions(e)):
            if isinstance(part, tree.Call):
                check_callee(context, part.function)
        if isinstance(s, tree.Assert | tree.Print):
            raise Held(f"it calls `{function.name}`")


def touched_memory(context: Context, s: tree.Stmt) -> Iterator[tuple[tree.Symbol | None, str]]:
    """Yield the memory that a statement itself, and what it calls, touches, each with `read`, `write` or `atomic`.

    None stands for what a pointer that is computed may point to.
    """
    for use in flow.uses(s):
        e = use.expression
        if not isinstance(e, tree.Call):
            yield flow.resolve(e.symbol, ())[0], use.kind
            continue
        summary = context.summaries[e.function]
        for exposed in (*summary.entry, *summary.exit):
            if exposed.root is None:
                yield context.objects.frames[e], exposed.kind
                continue
            argument = pointer_of(e.arguments[e.function.parameters.index(exposed.root)])
            yield (None if argument is None else flow.resolve(argument, ())[0]), exposed.kind


def orders(body: Iterable[tree.Stmt]) -> bool:
    """Whether statements wait for other threads by themselves, or may: what others wrote can be seen after them."""
    for s in statements(tuple(body)):
        if isinstance(s, tree.Unsafe):
            return True
        for part in (part for e in tree.expressions(s) for part in subexpressions(e)):
            if isinstance(part, tree.Apply):
                i = part.intrinsic
                if i.orders or i.blocking or any(p.atomic or p.mailbox for p in i.parameters):
                    return True
            elif isinstance(part, tree.Call) and not part.function.pure and orders(part.function.body):
                return True
    return False


# -- memory ---------------------------------------------------------------------------------------------------------------


def check_memory(early: Early, moved: Sequence[tree.Stmt], barriers: Sequence[Barrier]) -> None:
    """Raise Held for memory that the moved statements read, and that may have another value in their own trip."""
    # Three ways for memory to be another in the fill's own trip: others write it and are waited for in the loop; the loop writes
    # it itself; or the kernel does anywhere, and a barrier in the loop is where that is seen.
    context, loop = early.context, early.loop
    early_ones, trip = set(moved), set(statements(loop.body))
    inside = [s for s in statements(loop.body) if s not in early_ones]
    everywhere = [s for s in statements(context.function.body) if s not in early_ones]
    waits = any(barrier.before in trip for barrier in barriers)
    for root in dict.fromkeys(
        r for s in moved for r, kind in touched_memory(context, s) if kind == "read" and r is not None
    ):
        if _constant(context.function, root):
            continue
        if orders(inside):
            raise Held(f"it reads `{root.name}`, and the loop waits for what others write")
        if writes(context, inside, root):
            raise Held(f"it reads `{root.name}`, which the loop may write")
        if waits and writes(context, everywhere, root):
            raise Held(f"it reads `{root.name}`, which the kernel may write, and barriers stand in the loop")
    if any(barrier.before in early_ones for barrier in barriers):
        raise Held("a barrier stands in it")


def writes(context: Context, body: Iterable[tree.Stmt], read: tree.Symbol) -> bool:
    """Whether statements may write memory that is read elsewhere."""
    return any(_same(context, read, root) for s in body for root, kind in touched_memory(context, s) if kind != "read")


def _constant(function: tree.Function, root: tree.Symbol) -> bool:
    """Whether nothing in a kernel writes what a parameter points to."""
    const = root.const or (isinstance(root.type, tree.Pointer) and root.type.const)
    return const and root.parameter and function.kind == "global" and not function.may_alias


def _same(context: Context, read: tree.Symbol, written: tree.Symbol | None) -> bool:
    """Whether two names may stand for the same memory."""
    if written is None:
        return True
    if isinstance(written.type, tree.Fragment):
        return False
    if read is written or context.objects.overlap(read, written) is not None:
        return True
    return not is_ring(written) and (_pointer(context, read) or _pointer(context, written))


def _pointer(context: Context, symbol: tree.Symbol) -> bool:
    """Whether a name is a pointer variable, which may point to anything."""
    return isinstance(symbol.type, tree.Pointer) and not symbol.parameter and symbol not in context.objects.live
