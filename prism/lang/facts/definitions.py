"""What a function's text says of its names: definitions of those that never change, loops, and what a loop renews."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import field
from typing import Any

from prism.lang import tree  # fmt: skip
from prism.lang.facts.bounds import fits
from prism.lang.facts.budget import MOST_THREADS, most_threads
from prism.lang.keep.bases import Frozen
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import assigned_names, renewed_names, statements, subexpressions

Span = tuple[int, int]
"""The least and the greatest value, both included."""


class Facts(Frozen):
    """What a function's text says of its names: definitions of those that never change, and what a loop renews."""

    function: tree.Function
    definitions: Mapping[tree.Symbol, tree.Expr]
    changed: frozenset[tree.Symbol]
    ranges: Mapping[tree.Symbol, Span]
    renewed: Mapping[tree.Stmt, frozenset[tree.Symbol]] = field(default_factory=dict)
    same: frozenset[tree.Symbol] = frozenset()
    """Names that `async_` opened, and aliases: the same bytes as their sources, for the same owners."""
    loops: Mapping[tree.Symbol, tree.For] = field(default_factory=dict)
    trips: Mapping[tree.Symbol, int] = field(default_factory=dict)
    """By index: the loop, and how many trips it makes, where its bounds are constants."""
    threads: int = MOST_THREADS
    """The most that a block has."""
    found: dict[Any, Any] = field(default_factory=dict)
    """What digits, addresses, disjoint, overlap and touches (the modules) have found out so far."""

    @property
    def whole(self) -> int | None:
        """How many threads a block has, where it is a kernel that says so."""
        return self.function.bound.thread if self.function.kind == "global" else None

    def span_of(self, symbol: tree.Symbol) -> Span | None:
        """Return the least and the greatest value of a loop's index, where its bounds are constants."""
        return self.ranges.get(symbol)

    def trips_of(self, symbol: tree.Symbol) -> int | None:
        """Return how many trips a loop makes, where its bounds are constants."""
        return self.trips.get(symbol)


def facts(function: tree.Function, threads: int | None = None) -> Facts:
    """Return the facts of a function; `threads`: the most that a block has, where its callers say so."""
    return _facts(function, most_threads(function) if threads is None else threads)


@memoize
def _facts(function: tree.Function, threads: int) -> Facts:
    definitions: dict[tree.Symbol, tree.Expr] = {}
    changed = set(assigned_names(function.body))
    ranges: dict[tree.Symbol, Span] = {}
    renewed: dict[tree.Stmt, frozenset[tree.Symbol]] = {}
    same: set[tree.Symbol] = set()
    loops: dict[tree.Symbol, tree.For] = {}
    trips: dict[tree.Symbol, int] = {}
    for statement in statements(function.body):
        match statement:
            case tree.Async(view=view):
                same.add(view)
            case tree.Partition(view=view) if view.view is not None and view.view.alias:
                same.add(view)
            case tree.Declare(symbol=symbol, value=value) if value is not None:
                definitions[symbol] = value
            # Its first value is an assignment, and so nobody's definition: it may be declared once, and mean two values.
            case tree.Declare(symbol=symbol):
                changed.add(symbol)
            case tree.Partition(view=view) if view.view is not None and view.view.offset is not None:
                definitions[view.view.offset[0]] = view.view.offset[1]
            case tree.For() | tree.While():
                renewed[statement] = frozenset(renewed_names((statement,)))
                if isinstance(statement, tree.For):
                    loops[statement.symbol] = statement
                    _loop_facts(statement, ranges, trips)
            case _:
                pass
    return Facts(function, definitions, frozenset(changed), ranges, renewed, frozenset(same), loops, trips, threads)


def _loop_facts(loop: tree.For, ranges: dict[tree.Symbol, Span], number: dict[tree.Symbol, int]) -> None:
    if isinstance(loop.step, tree.Const) and int(loop.step.value) != 0:
        step = int(loop.step.value)
        if isinstance(loop.start, tree.Const) and isinstance(loop.stop, tree.Const):
            trips = range(int(loop.start.value), int(loop.stop.value), step)
            # range(0, 250, 100) of a uint8: behind 200 comes 44, not 300, and the loop goes on. So no number of trips is
            # claimed.
            if (
                trips
                and isinstance(loop.symbol.type, tree.Scalar)
                and not fits((trips[-1] + step,) * 2, loop.symbol.type)
            ):
                return  # the index wraps, or overflows, instead of ending the loop
            number[loop.symbol] = len(trips)
            if trips:
                ranges[loop.symbol] = (min(trips[0], trips[-1]), max(trips[0], trips[-1]))


def surely_entered(loop: tree.For) -> bool:
    """Whether a loop's bounds are constants that give at least one trip."""
    if not all(isinstance(e, tree.Const) for e in (loop.start, loop.stop, loop.step)):
        return False
    start, stop, step = (int(e.value) for e in (loop.start, loop.stop, loop.step) if isinstance(e, tree.Const))
    return step != 0 and len(range(start, stop, step)) > 0


def read_first(known: Facts, symbol: tree.Symbol, done: Container[tree.Symbol]) -> list[tree.Symbol]:
    """Return the names that a name is defined by, each behind those that it is defined by itself, and the name last.

    Long chains of definitions are read in this order, without a call inside a call for each; names in `done` were read before.
    """
    found: dict[tree.Symbol, None] = {}
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
            left += [(part.symbol, False) for part in parts if isinstance(part, tree.Var) and part.symbol is not name]
    return list(found)
