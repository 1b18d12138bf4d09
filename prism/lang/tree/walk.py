"""Walks over the tree: the statements of a body, the parts of an expression, calls, and the objects that are named."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from prism.lang.keep.memo import memoize
from prism.lang.tree.expression import Call, Element, Expr, Item, Place, Symbol, Var, operands
from prism.lang.tree.statement import (
    Assign,
    Body,
    Declare,
    For,
    Function,
    Partition,
    Stmt,
    Unsafe,
    children,
    expressions,
)

_NAMED = (Var, Item, Element, Place)


def statements(body: Body) -> Iterator[Stmt]:
    """Yield all statements, outer before inner, in program order."""
    return iter(_statements(body))


@functools.lru_cache(maxsize=1024)
def _statements(body: Body) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    _gather(body, found)
    return tuple(found)


def _gather(body: Body, found: list[Stmt]) -> None:
    for statement in body:
        found.append(statement)
        for inner in children(statement):
            _gather(inner, found)


def assigned_names(body: Body) -> Iterator[Symbol]:
    """Yield the names that are changed inside a body, after they are declared."""
    for statement in statements(body):
        match statement:
            case Unsafe(writes=writes):
                yield from writes
            case Assign(target=Var(symbol=symbol) | Item(symbol=symbol)):
                yield symbol
            case _:
                pass


def renewed_names(body: Body) -> Iterator[Symbol]:
    """Yield the names that get their values inside a body."""
    for statement in statements(body):
        match statement:
            case Declare(symbol=symbol) | For(symbol=symbol):
                yield symbol
            case Partition(view=view) if view.view is not None and view.view.offset is not None:
                yield view.view.offset[0]
            case _:
                pass


def calls(statement: Stmt) -> Iterator[Call]:
    """Yield the calls of device functions that a statement itself evaluates, arguments before the call."""
    for expression in expressions(statement):
        for part in subexpressions(expression):
            if isinstance(part, Call):
                yield part


def subexpressions(expression: Expr) -> Iterator[Expr]:
    """Yield an expression's parts, operands first, and the expression itself.

    What an element's views add to its indices is included once for each view of the chain.
    """
    return iter(_parts(expression))


@functools.lru_cache(maxsize=4096)
def _parts(expression: Expr) -> tuple[Expr, ...]:
    found: list[Expr] = []
    _gather_parts(expression, found)
    return tuple(found)


def _gather_parts(expression: Expr, found: list[Expr]) -> None:
    for operand in operands(expression):
        _gather_parts(operand, found)
    if isinstance(expression, _NAMED):
        symbol = expression.symbol
        while symbol.view is not None:
            for index in symbol.view.index:
                _gather_parts(index, found)
            symbol = symbol.view.source
    found.append(expression)


@memoize
def used_objects(function: Function) -> frozenset[Symbol]:
    """Return the objects that a function's expressions name, by any of their names."""
    return frozenset(
        part.symbol.root()
        for statement in statements(function.body)
        for expression in expressions(statement)
        for part in subexpressions(expression)
        if isinstance(part, _NAMED)
    )
