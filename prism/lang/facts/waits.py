"""Waits for other threads: whether they end depends on what these do, which nothing here proves.

A wait is a call of an intrinsic that asks for a word until it has come, `receive`, or a `while` whose end depends on atomic
accesses, or on a text that is unsafe, of which nothing is known. A loop that counts by `atomic_add` of a constant is none: it
goes on by what it does itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prism.lang import tree
from prism.lang.diagnostics import Span
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import children, expressions, operands, statements, subexpressions, terms
from prism.lang.types import Array, Pointer


def waits(function: tree.Function) -> Iterator[tuple[Span, str]]:
    """Yield where a function waits for other threads, without its callees, and what stands there."""
    for s in statements(function.body):
        for part in terms(s):
            if isinstance(part, tree.Apply) and _asks_again(part):
                yield part.span, part.intrinsic.name
        if isinstance(s, tree.While) and _waits(s, _pointees(function)):
            yield s.span, "while"


def publications(function: tree.Function) -> Iterator[tuple[Span, str]]:
    """Yield where a function publishes words, without its callees, and of which mailboxes."""
    for s in statements(function.body):
        for part in terms(s):
            if isinstance(part, tree.Apply):
                for p, given in zip(part.intrinsic.parameters, part.arguments, strict=False):
                    if p.mailbox and p.effect != "read" and isinstance(given, tree.Element):
                        yield part.span, given.symbol.root().name


def _asks_again(part: tree.Expr) -> bool:
    return (
        isinstance(part, tree.Apply) and part.intrinsic.blocking and any(p.mailbox for p in part.intrinsic.parameters)
    )


def _waits(loop: tree.While, alike: Mapping[tree.Symbol, frozenset[tree.Symbol]]) -> bool:
    """Whether the end of a loop depends on an atomic access that it makes: by values, by branches or through memory.

    `alike`: the names of memory that pointers lead to, by each of them. Of a text that is unsafe nothing is known: it may wait.
    """
    deciding: list[tree.Expr | tree.Unsafe] = [loop.condition, *_conditions(loop.body)]
    changes: dict[tree.Symbol, list[tree.Expr | tree.Unsafe]] = {}
    for symbol, parts in _changes(loop.body, ()):
        for one in alike.get(symbol, (symbol,)):
            changes.setdefault(one, []).extend(parts)
    while deciding:
        part = deciding.pop()
        if isinstance(part, tree.Unsafe) or _reads_atomically(part):
            return True
        if isinstance(part, tree.Var | tree.Item | tree.Element):
            deciding += changes.pop(part.symbol.root(), [])
        address = isinstance(part, tree.Apply) and any(p.atomic for p in part.intrinsic.parameters)
        deciding += [one for one in operands(part) if not (address and isinstance(one, tree.Element))]
    return False


def _changes(
    body: tree.Body, under: tuple[tree.Expr, ...]
) -> Iterator[tuple[tree.Symbol, tuple[tree.Expr | tree.Unsafe, ...]]]:
    """Yield the names and the memory that get values in a body, with what these depend on: also the conditions `under` which."""
    for s in body:
        match s:
            case tree.Assign():
                yield from ((symbol, (s.value, s.target, *under)) for symbol in _named(s.target))
            case tree.Declare(symbol=symbol, value=tree.Expr() as value):
                yield symbol.root(), (value, *under)
            case tree.For(symbol=symbol):
                yield symbol.root(), (*expressions(s), *under)
            case tree.Unsafe():
                for symbol in (*s.writes, *(element.symbol for element, effect in s.accesses if effect != "read")):
                    yield symbol.root(), (s,)
            case _:
                pass
        for part in terms(s):
            if isinstance(part, tree.Call | tree.Apply):
                yield from ((symbol, (part, *under)) for symbol in _filled(part))
        more = (*under, *expressions(s)) if isinstance(s, tree.If | tree.For | tree.While) else under
        for inner in children(s):
            yield from _changes(inner, more)


def _named(target: tree.Expr) -> Iterator[tree.Symbol]:
    """Yield the name, or the memory, that an assignment changes: all of it, or a part."""
    while isinstance(target, tree.Component):
        target = target.vector
    if isinstance(target, tree.Var | tree.Item | tree.Element):
        yield target.symbol.root()


def _filled(part: tree.Call | tree.Apply) -> Iterator[tree.Symbol]:
    """Yield what a call may write, of what it is given."""
    if isinstance(part, tree.Apply):
        given = [one for p, one in zip(part.intrinsic.parameters, part.arguments, strict=False) if p.effect != "read"]
    else:
        given = [one for one in part.arguments if isinstance(one.type, Pointer | Array)]
    for one in given:
        yield from _named(one)


@memoize
def _pointees(function: tree.Function) -> Mapping[tree.Symbol, frozenset[tree.Symbol]]:
    """Return the names that may be one memory, by each of them: pointers, and what is assigned to them."""
    found: dict[tree.Symbol, frozenset[tree.Symbol]] = {}
    for s in statements(function.body):
        match s:
            case tree.Declare(symbol=symbol, value=tree.Expr() as value):
                to = [symbol.root()]
            case tree.Assign(value=value):
                to = list(_named(s.target))
            case _:
                continue
        if isinstance(value.type, Pointer):
            names = {*to, *(name for part in subexpressions(value) for name in _named(part))}
            joined = frozenset(names).union(*(found.get(name, frozenset()) for name in names))
            found |= dict.fromkeys(joined, joined)
    return found


def _conditions(body: tree.Body, breaks: bool = True) -> Iterator[tree.Expr]:
    """Yield what decides whether a loop with this body is left by a jump; a `break` counts outside of inner loops."""
    for s in body:
        if isinstance(s, tree.If) and (_leaves(s.then, breaks) or _leaves(s.otherwise, breaks)):
            yield s.condition
        for inner in children(s):
            yield from _conditions(inner, breaks and not isinstance(s, tree.For | tree.While))


def _leaves(body: tree.Body, breaks: bool) -> bool:
    for s in body:
        own = breaks and not isinstance(s, tree.For | tree.While)
        if isinstance(s, tree.Return) or (breaks and isinstance(s, tree.Break)):
            return True
        if any(_leaves(inner, own) for inner in children(s)):
            return True
    return False


def _reads_atomically(part: tree.Expr) -> bool:
    if isinstance(part, tree.Call):
        return _has_atomic_reads(part.function)
    if not isinstance(part, tree.Apply) or not any(p.atomic for p in part.intrinsic.parameters):
        return False
    return part.intrinsic.name != "atomic_add" or not _moves_on(part.arguments[1])


def _moves_on(step: tree.Expr) -> bool:
    while isinstance(step, tree.Cast):
        step = step.operand
    return isinstance(step, tree.Const) and step.value != 0


@memoize
def _has_atomic_reads(function: tree.Function) -> bool:
    """Whether a function reads atomically, or by a text of which nothing is known."""
    if any(isinstance(s, tree.Unsafe) for s in statements(function.body)):
        return True
    return any(_reads_atomically(part) for s in statements(function.body) for part in terms(s))
