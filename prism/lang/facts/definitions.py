"""What a function's text says of its names: definitions of those that never change, loops, and what a loop renews."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prism.lang.facts.bounds import fits
from prism.lang.facts.budget import MOST_THREADS, most_threads
from prism.lang.keep.once import kept
from prism.lang.tree import (
    Async,
    Const,
    Declare,
    Expr,
    For,
    Function,
    Partition,
    Scalar,
    Stmt,
    Symbol,
    Var,
    While,
)  # fmt: skip
from prism.lang.tree.walk import assigned, renewed, statements, subexpressions

Span = tuple[int, int]
"""The least and the greatest value, both included."""


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """What a function's text says of its names: definitions of those that never change, and what a loop renews."""

    function: Function
    definitions: Mapping[Symbol, Expr]
    changed: frozenset[Symbol]
    ranges: Mapping[Symbol, Span]
    renewed: Mapping[Stmt, frozenset[Symbol]] = field(default_factory=dict)
    same: frozenset[Symbol] = frozenset()
    """Names that `async_` opened, and aliases: the same bytes as their sources, for the same owners."""
    loops: Mapping[Symbol, For] = field(default_factory=dict)
    trips: Mapping[Symbol, int] = field(default_factory=dict)
    """By index: the loop, and how many trips it makes, where its bounds are constants."""
    threads: int = MOST_THREADS
    """The most that a block has."""
    found: dict[Any, Any] = field(default_factory=dict)
    """What digits, addresses, disjoint, overlap and touches (the modules) have found out so far."""


def facts(function: Function, threads: int | None = None) -> Facts:
    """Return the facts of a function; `threads`: the most that a block has, where its callers say so."""
    return _facts(function, most_threads(function) if threads is None else threads)


@kept
def _facts(function: Function, threads: int) -> Facts:
    definitions: dict[Symbol, Expr] = {}
    changed = set(assigned(function.body))
    ranges: dict[Symbol, Span] = {}
    renewed: dict[Stmt, frozenset[Symbol]] = {}
    same: set[Symbol] = set()
    loops: dict[Symbol, For] = {}
    trips: dict[Symbol, int] = {}
    for statement in statements(function.body):
        match statement:
            case Async(view=view):
                same.add(view)
            case Partition(view=view) if view.view is not None and view.view.alias:
                same.add(view)
            case Declare(symbol=symbol, value=value) if value is not None:
                definitions[symbol] = value
            case Declare(symbol=symbol):
                changed.add(symbol)
            case Partition(view=view) if view.view is not None and view.view.offset is not None:
                definitions[view.view.offset[0]] = view.view.offset[1]
            case For() | While():
                renewed[statement] = frozenset(_renewed(statement))
                if isinstance(statement, For):
                    loops[statement.symbol] = statement
                    _loop_facts(statement, ranges, trips)
            case _:
                pass
    return Facts(function, definitions, frozenset(changed), ranges, renewed, frozenset(same), loops, trips, threads)


def _renewed(loop: For | While) -> Iterator[Symbol]:
    if isinstance(loop, For):
        yield loop.symbol
    yield from renewed(loop.body)


def _loop_facts(loop: For, ranges: dict[Symbol, Span], number: dict[Symbol, int]) -> None:
    if isinstance(loop.step, Const) and int(loop.step.value) != 0:
        step = int(loop.step.value)
        if isinstance(loop.start, Const) and isinstance(loop.stop, Const):
            trips = range(int(loop.start.value), int(loop.stop.value), step)
            if trips and isinstance(loop.symbol.type, Scalar) and not fits((trips[-1] + step,) * 2, loop.symbol.type):
                return  # the index wraps, or overflows, instead of ending the loop
            number[loop.symbol] = len(trips)
            if trips:
                ranges[loop.symbol] = (min(trips[0], trips[-1]), max(trips[0], trips[-1]))


def surely_entered(loop: For) -> bool:
    """Whether a loop's bounds are constants that give at least one trip."""
    if not all(isinstance(e, Const) for e in (loop.start, loop.stop, loop.step)):
        return False
    start, stop, step = (int(e.value) for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const))
    return step != 0 and len(range(start, stop, step)) > 0


def read_first(known: Facts, symbol: Symbol, done: Container[Symbol]) -> list[Symbol]:
    """Return the names that a name is defined by, each behind those that it is defined by itself, and the name last.

    Long chains of definitions are read in this order, without a call inside a call for each; names in `done` were read before.
    """
    found: dict[Symbol, None] = {}
    left = [(symbol, False)]
    while left:
        name, seen = left.pop()
        if seen:
            found[name] = None
        elif name not in found and name not in done and name not in known.changed:
            left.append((name, True))
            definition, loop = known.definitions.get(name), known.loops.get(name)
            inside = (loop.start, loop.step, loop.stop) if loop is not None else (definition,)
            parts = (part for e in inside if e is not None for part in subexpressions(e))
            left += [(part.symbol, False) for part in parts if isinstance(part, Var) and part.symbol is not name]
    return list(found)


__all__ = ["Facts", "Span", "facts", "read_first", "surely_entered"]
