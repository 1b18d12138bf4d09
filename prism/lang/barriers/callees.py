"""What a callee does with the memory that it is passed, access by access, in the terms of its caller.

The callee's text is read with the caller's arguments in place of its parameters. Its own names stay as they are: of two calls
they may be different, so they are never taken for the same (`foreign`). What can't be read so, footprints.py bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.footprints import bound_accesses, pointer_copies
from prism.lang.facts.addresses import address, caller_address
from prism.lang.facts.definitions import Facts, facts
from prism.lang.facts.digits import enter_callee
from prism.lang.facts.touches import Address, uses_of
from prism.lang.tree.walk import renewed_names, statements

MOST = 64
"""Accesses of one callee that are looked at one by one."""
Reached = tuple[str, Address | None]
"""The kind of an access, and where it is, if that is known."""


def callee_accesses(known: Facts, call: tree.Call, parameter: tree.Symbol, argument: tree.Expr) -> tuple[Reached, ...]:
    """Return what a callee does with one of its parameters: each access by itself, or else the span of all."""
    memo: dict[tuple[tree.Call, tree.Symbol], tuple[Reached, ...]] = known.found.setdefault("behind", {})
    if (call, parameter) not in memo:
        memo[call, parameter] = _callee_accesses(known, call, parameter, argument)
    return memo[call, parameter]


def _callee_accesses(known: Facts, call: tree.Call, parameter: tree.Symbol, argument: tree.Expr) -> tuple[Reached, ...]:
    if isinstance(argument, tree.Var | tree.Element):
        found = []
        for kind, where in _accesses(known, call, parameter):
            found.append((kind, None if where is None else caller_address(known, argument, call, where)))
            if found[-1][1] is None or len(found) > MOST:
                break
        else:
            return tuple(dict.fromkeys(found))
    kinds, span = bound_accesses(known, call.function, parameter, argument)
    return tuple((kind, span) for kind in sorted(kinds))


def _accesses(known: Facts, call: tree.Call, parameter: tree.Symbol) -> Iterator[Reached]:
    """Yield what a callee does with a parameter, in the elements that it points to."""
    inside = enter_callee(known, call)
    for statement in statements(call.function.body):
        for source in pointer_copies(statement):
            if flow.resolve(source, ())[0] is parameter:
                yield "write", None
        for use in uses_of(inside, statement):
            if not isinstance(use.expression, tree.Call):
                if flow.resolve(use.expression.symbol, ())[0] is parameter:
                    yield use.kind, address(inside, use)
                continue
            for given, argument in zip(use.expression.function.parameters, use.expression.arguments, strict=False):
                if isinstance(argument, tree.Var | tree.Element) and flow.resolve(argument.symbol, ())[0] is parameter:
                    yield from callee_accesses(inside, use.expression, given, argument)


def foreign(function: tree.Function) -> frozenset[tree.Symbol]:
    """Return the names of all functions that a function calls, and of those that they call."""
    found: set[tree.Symbol] = set()
    for callee in _callees(function, set()):
        found |= {*callee.parameters, *renewed_names(callee.body)}
    return frozenset(found)


def join_callees(known: Facts) -> Facts:
    """Return the facts of a function with what is known of its callees' loops."""
    if "joined" not in known.found:
        trips, ranges = dict(known.trips), dict(known.ranges)
        for callee in _callees(known.function, set()):
            own = facts(callee, known.threads)
            trips, ranges = {**trips, **own.trips}, {**ranges, **own.ranges}
        known.found["joined"] = replace(known, trips=trips, ranges=ranges)
    found: Facts = known.found["joined"]
    return found


def _callees(function: tree.Function, seen: set[tree.Function]) -> Iterator[tree.Function]:
    for call in flow.callees(function):
        if call.function not in seen:
            seen.add(call.function)
            yield call.function
            yield from _callees(call.function, seen)
