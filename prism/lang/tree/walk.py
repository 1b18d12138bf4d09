"""Walks over the tree: the statements of a body, the parts of an expression, calls, and the objects that are named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from prism.lang.keep.memo import memoize
from prism.lang.tree import expr, nodes, stmt


def operands(expression: nodes.Expr) -> tuple[nodes.Expr, ...]:
    """Return the direct subexpressions of an expression, in evaluation order."""
    of = _OPERANDS.get(type(expression))
    return () if of is None else of(expression)


def children(statement: nodes.Stmt) -> tuple[nodes.Body, ...]:
    """Return the statement lists inside a statement, in program order."""
    of = _CHILDREN.get(type(statement))
    return () if of is None else of(statement)


def expressions(statement: nodes.Stmt) -> tuple[nodes.Expr, ...]:
    """Return the expressions that a statement itself evaluates, in order (not those of statements inside it)."""
    of = _EXPRESSIONS.get(type(statement))
    return () if of is None else of(statement)


def _value(statement: stmt.Declare | stmt.Return) -> tuple[nodes.Expr, ...]:
    return () if statement.value is None else (statement.value,)


def _offset(statement: stmt.Partition | stmt.Claim) -> tuple[nodes.Expr, ...]:
    view = statement.view.view
    return () if view is None or view.offset is None else (view.offset[1],)


# By class, as no `match` is as fast: what looks through a program asks this of all its expressions and statements.
_OPERANDS: Mapping[type, Callable[[Any], tuple[nodes.Expr, ...]]] = {
    expr.Unary: lambda e: (e.operand,),
    expr.Cast: lambda e: (e.operand,),
    expr.Binary: attrgetter("left", "right"),
    expr.Select: attrgetter("condition", "then", "otherwise"),
    expr.Item: attrgetter("indices"),
    expr.Element: attrgetter("indices"),
    expr.Component: attrgetter("vector", "index"),
    expr.Place: lambda e: (e.index,),
    expr.Call: attrgetter("arguments"),
    expr.Apply: attrgetter("arguments"),
}
_CHILDREN: Mapping[type, Callable[[Any], tuple[nodes.Body, ...]]] = {
    stmt.If: attrgetter("then", "otherwise"),
    **dict.fromkeys(
        (stmt.While, stmt.For, stmt.Group, stmt.Partition, stmt.Claim, stmt.Async, stmt.Batch, stmt.Turns),
        lambda s: (s.body,),
    ),
    stmt.Specialise: lambda s: tuple(role.body for role in s.roles),
    stmt.Split: lambda s: tuple(arm.body for arm in s.arms),
}
_EXPRESSIONS: Mapping[type, Callable[[Any], tuple[nodes.Expr, ...]]] = {
    stmt.Declare: _value,
    stmt.SharedDeclare: lambda s: () if s.length is None else (s.length,),
    stmt.Return: _value,
    stmt.Assign: attrgetter("value", "target"),
    stmt.Evaluate: lambda s: (s.value,),
    **dict.fromkeys((stmt.If, stmt.While, stmt.Assert, stmt.Assume), lambda s: (s.condition,)),
    **dict.fromkeys((stmt.Print, stmt.Breakpoint, stmt.Distinct), attrgetter("values")),
    stmt.For: attrgetter("start", "stop", "step"),
    stmt.Partition: _offset,
    stmt.Claim: _offset,
}

_NAMED = (expr.Var, expr.Item, expr.Element, expr.Place)


def statements(body: nodes.Body) -> Iterator[nodes.Stmt]:
    """Yield all statements, outer before inner, in program order."""
    return iter(_statements(body))


@functools.lru_cache(maxsize=1024)
def _statements(body: nodes.Body) -> tuple[nodes.Stmt, ...]:
    found: list[nodes.Stmt] = []
    _gather(body, found)
    return tuple(found)


def _gather(body: nodes.Body, found: list[nodes.Stmt]) -> None:
    for statement in body:
        found.append(statement)
        for inner in children(statement):
            _gather(inner, found)


def has_jump(body: nodes.Body) -> bool:
    """Whether a `break`, `continue` or `return` stands anywhere in a body."""
    return any(isinstance(one, stmt.Break | stmt.Continue | stmt.Return) for one in statements(body))


def assigned_names(body: nodes.Body) -> Iterator[nodes.Symbol]:
    """Yield the names that are changed inside a body, after they are declared."""
    for statement in statements(body):
        match statement:
            case stmt.Unsafe(writes=writes):
                yield from writes
            case stmt.Assign(target=expr.Var(symbol=symbol) | expr.Item(symbol=symbol)):
                yield symbol
            case _:
                pass


def renewed_names(body: nodes.Body) -> Iterator[nodes.Symbol]:
    """Yield the names that get their values inside a body."""
    for statement in statements(body):
        match statement:
            case stmt.Declare(symbol=symbol) | stmt.For(symbol=symbol):
                yield symbol
            case stmt.Partition(view=view) if view.view is not None and view.view.offset is not None:
                yield view.view.offset[0]
            case _:
                pass


def calls(statement: nodes.Stmt) -> Iterator[expr.Call]:
    """Yield the calls of device functions that a statement itself evaluates, arguments before the call."""
    return (part for part in _terms(statement) if isinstance(part, expr.Call))


def terms(statement: nodes.Stmt) -> Iterator[nodes.Expr]:
    """Yield the expressions that a statement itself evaluates and all their parts, operands first."""
    return iter(_terms(statement))


@functools.lru_cache(maxsize=4096)
def _terms(statement: nodes.Stmt) -> tuple[nodes.Expr, ...]:
    return tuple(part for expression in expressions(statement) for part in _parts(expression))


def subexpressions(expression: nodes.Expr) -> Iterator[nodes.Expr]:
    """Yield an expression's parts, operands first, and the expression itself.

    What an element's views add to its indices is included once for each view of the chain.
    """
    return iter(_parts(expression))


@functools.lru_cache(maxsize=4096)
def _parts(expression: nodes.Expr) -> tuple[nodes.Expr, ...]:
    found: list[nodes.Expr] = []
    _gather_parts(expression, found)
    return tuple(found)


def _gather_parts(expression: nodes.Expr, found: list[nodes.Expr]) -> None:
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
def used_objects(function: nodes.Function) -> frozenset[nodes.Symbol]:
    """Return the objects that a function's expressions name, by any of their names."""
    return frozenset(
        part.symbol.root()
        for statement in statements(function.body)
        for part in terms(statement)
        if isinstance(part, _NAMED)
    )
