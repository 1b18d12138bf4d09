"""How a function uses the memory that it is passed, and which elements of it are reached, where that is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.facts.addresses import address, callee_address
from prism.lang.facts.definitions import Facts, Span, facts
from prism.lang.facts.digits import reader
from prism.lang.facts.touches import Address, uses_of
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import statements

Footprints = Mapping[tree.Symbol, tuple[frozenset[str], Span | None]]
"""By pointer parameter: how a function uses its memory, and the first and the last element that it reaches."""
NEVER: tuple[frozenset[str], Span | None] = (frozenset(), (0, 0))
_EMPTY = (2**63, -(2**63))


@memoize
def footprints(function: tree.Function, threads: int) -> Footprints:
    """Return what a function does with the memory that it is passed, in blocks of at most so many threads."""
    known = facts(function, threads)
    found: dict[tree.Symbol, tuple[frozenset[str], Span | None]] = {}

    def note(root: tree.Symbol, kind: str, where: Address | None) -> None:
        if root.parameter:
            kinds, span = found.get(root, (frozenset[str](), _EMPTY))
            more = None if where is None else _span(known, where)
            both = None if span is None or more is None else (min(span[0], more[0]), max(span[1], more[1]))
            found[root] = (kinds | {kind}, both)

    for statement in statements(function.body):
        for source in pointer_copies(statement):
            note(flow.resolve(source, ())[0], "write", None)
        for use in uses_of(known, statement):
            if not isinstance(use.expression, tree.Call):
                note(flow.resolve(use.expression.symbol, ())[0], use.kind, address(known, use))
                continue
            for parameter, argument in zip(use.expression.function.parameters, use.expression.arguments, strict=False):
                kinds, where = bound_accesses(known, use.expression.function, parameter, argument)
                for kind in kinds:
                    assert isinstance(argument, tree.Var | tree.Element)
                    note(flow.resolve(argument.symbol, ())[0], kind, where)
    return found


def bound_accesses(
    known: Facts, function: tree.Function, parameter: tree.Symbol, argument: tree.Expr
) -> tuple[frozenset[str], Address | None]:
    """Return how a callee uses what it is passed, and where; no uses of what is no memory."""
    if not isinstance(argument, tree.Var | tree.Element):
        return frozenset(), None
    kinds, span = footprints(function, known.threads).get(parameter, NEVER)
    return kinds, None if span is None else callee_address(known, argument, span)


def pointer_copies(statement: tree.Stmt) -> tuple[tree.Symbol, ...]:
    """Return what a statement makes another pointer to."""
    change = flow.pointer_change(statement)
    return () if change is None else change[1]


def _span(known: Facts, where: Address) -> Span | None:
    """Return the elements that an access can reach, in an object of one dimension."""
    if len(where.indices) != 1:
        return None
    low, high = reader(known).range.form(where.indices[0])
    return None if low == -inf or high == inf else (int(low), int(high) + where.width - 1)
