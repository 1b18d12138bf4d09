"""Waits for other threads: whether they end depends on what these do, which nothing here proves.

A wait is a call of an intrinsic that asks for a word until it has come, `receive`, or a `while` whose end depends on atomic
accesses. A loop that counts by `atomic_add` of a constant is none: it goes on by what it does itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.diagnostics import Span
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import children, expressions, operands, statements, terms


def waits(function: tree.Function) -> Iterator[tuple[Span, str]]:
    """Yield where a function waits for other threads, without its callees, and what stands there."""
    for s in statements(function.body):
        for part in terms(s):
            if isinstance(part, tree.Apply) and _asks_again(part):
                yield part.span, part.intrinsic.name
        if isinstance(s, tree.While) and _waits(s):
            yield s.span, "while"


def _asks_again(part: tree.Expr) -> bool:
    return (
        isinstance(part, tree.Apply) and part.intrinsic.blocking and any(p.mailbox for p in part.intrinsic.parameters)
    )


def _waits(loop: tree.While) -> bool:
    """Whether the end of a loop depends on an atomic access that it makes: by values, by branches or through memory."""
    deciding = [loop.condition, *_conditions(loop.body)]
    changes: dict[tree.Symbol, list[tree.Expr]] = {}
    for symbol, parts in _changes(loop.body, ()):
        changes.setdefault(symbol, []).extend(parts)
    while deciding:
        part = deciding.pop()
        if _reads_atomically(part):
            return True
        if isinstance(part, tree.Var | tree.Item | tree.Element):
            deciding += changes.pop(part.symbol.root(), [])
        address = isinstance(part, tree.Apply) and any(p.atomic for p in part.intrinsic.parameters)
        deciding += [one for one in operands(part) if not (address and isinstance(one, tree.Element))]
    return False


def _changes(body: tree.Body, under: tuple[tree.Expr, ...]) -> Iterator[tuple[tree.Symbol, tuple[tree.Expr, ...]]]:
    """Yield the names and the memory that get values in a body, with what these depend on: also the conditions `under` which."""
    for s in body:
        match s:
            case tree.Assign(target=tree.Var(symbol=symbol) | tree.Item(symbol=symbol) | tree.Element(symbol=symbol)):
                yield symbol.root(), (s.value, *under)
            case tree.Declare(symbol=symbol, value=tree.Expr() as value):
                yield symbol.root(), (value, *under)
            case tree.For(symbol=symbol):
                yield symbol.root(), (*expressions(s), *under)
            case _:
                pass
        more = (*under, *expressions(s)) if isinstance(s, tree.If | tree.For | tree.While) else under
        for inner in children(s):
            yield from _changes(inner, more)


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
    return any(_reads_atomically(part) for s in statements(function.body) for part in terms(s))
