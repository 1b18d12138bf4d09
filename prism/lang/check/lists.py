"""Arrays whose elements are listed, `v: float32[2] = [a, b]` and `v = [b, a]`: each element becomes an assignment."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.check.conversion import coerce
from prism.lang.check.env import Env, fail
from prism.lang.check.expressions import check_value
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import types as errors
from prism.lang.facts.contiguous import mentions
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Array

Given = tuple[tuple[int, ...], tree.Expr]
"""The indices of an element, and its value."""


def list_elements(env: Env, symbol: tree.Symbol, value: s.Listed) -> tuple[Given, ...]:
    """Return the elements that a list gives an array, each as its type takes it, in the order of the text."""
    type_ = symbol.type
    assert isinstance(type_, Array)
    return tuple(_give(env, symbol, type_, value, ()))


def _give(env: Env, symbol: tree.Symbol, type_: Array, e: s.Expr, indices: tuple[int, ...]) -> Iterator[Given]:
    depth = len(indices)
    if depth < len(type_.shape):
        extent = type_.shape[depth]
        if not isinstance(e, s.Listed):
            fail(errors.ListDepth(span=e.span, name=symbol.name, type=str(type_), extent=extent))
        if len(e.items) != extent:
            facts: Fields = {"name": symbol.name, "type": str(type_), "extent": extent, "given": len(e.items)}
            fail(errors.ListLength(span=e.span, **facts))
        for number, item in enumerate(e.items):
            yield from _give(env, symbol, type_, item, (*indices, number))
        return
    found = check_value(env, e, symbol.perspective, type_.element)
    yield indices, coerce(found, type_.element, e.span)


def declared_list(symbol: tree.Symbol, given: tuple[Given, ...], span: Span) -> tuple[tree.Stmt, ...]:
    """Return the declaration of an array, and its elements' assignments."""
    assignments = (tree.Assign(target=item(symbol, at, span), value=value, span=span) for at, value in given)
    return (tree.Declare(symbol=symbol, value=None, span=span), *assignments)


def assigned_list(symbol: tree.Symbol, given: tuple[Given, ...], span: Span) -> tuple[tree.Stmt, ...]:
    """Return the assignments of all elements: where one's value is of the array itself, all values come first."""
    if not any(mentions(value, symbol) for _, value in given):
        return tuple(tree.Assign(target=item(symbol, at, span), value=value, span=span) for at, value in given)
    values: list[tree.Stmt] = []
    assignments: list[tree.Stmt] = []
    for at, value in given:
        name = f"new {symbol.name} {' '.join(map(str, at))}"  # no name of the user's has a space
        kept = tree.Symbol(name, value.type, symbol.perspective, value.span)
        values.append(tree.Declare(symbol=kept, value=value, span=span))
        read = tree.Var(symbol=kept, type=kept.type, perspective=kept.perspective, span=value.span)
        assignments.append(tree.Assign(target=item(symbol, at, span), value=read, span=span))
    return (*values, *assignments)


def item(symbol: tree.Symbol, at: tuple[int, ...], span: Span) -> tree.Item:
    """Return the element of an array at constant indices."""
    type_ = symbol.type
    assert isinstance(type_, Array)
    indices = tuple(tree.Const(value=index, type=INT32, span=span) for index in at)
    return tree.Item(symbol=symbol, indices=indices, type=type_.element, perspective=symbol.perspective, span=span)
