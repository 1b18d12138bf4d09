"""Operands of wgmmas that are held in registers over a loop: ptxas 13.0 gives them registers that others are written to.

    for k in range(n):
        wgmma(scores, held, tile)       reads `held` in every trip, and nothing in the loop writes it
        if k > last: ...                a branch
        weights[i] = half(scores[i])    of as many registers as `held`
        wgmma(sums, weights, tile)

The PTX has registers of their own for both. The assembler takes one's life for ended, says nothing, and every trip but the first
is wrong: seen in SASS, with NVRTC 13.0.88, for all sizes that are equal, and for none that are not. 13.1.115, 13.2, 13.3 and 13.5
are right. So the text says what it needs, and older compilers are refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.cuda.names import NEEDS, comment
from prism.lang.keep.memo import memoize
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import assigned_names, calls, statements, terms

RIGHT = 13, 1


def compiler_needed(program: Program) -> list[str]:
    """Return the line that names the compilers which are right, where others are not."""
    if not any(isinstance(s, tree.Batch) for function in program.functions for s in statements(function.body)):
        return []
    for function in program.functions:
        for loop in statements(function.body):
            if isinstance(loop, tree.For | tree.While):
                for held, other in _pairs(loop.body):
                    why = (
                        f"a wgmma's operand `{held}` is held in registers over a loop that writes `{other}`, another's"
                    )
                    return [NEEDS.format(*RIGHT) + comment(why)]
    return []


def _pairs(body: tree.Body) -> Iterator[tuple[str, str]]:
    """Yield the operands that a loop's body holds, each with one of as many registers that it writes."""
    written = set(_written(body))
    operands = dict.fromkeys(symbol for statement in statements(body) for symbol in _operands(statement))
    for held in (symbol for symbol in operands if symbol not in written):
        yield from ((held.name, other.name) for other in operands if other in written and _words(other) == _words(held))


def _operands(statement: tree.Stmt) -> Iterator[tree.Symbol]:
    """Yield the fragments that a statement's wgmmas read, and those of functions that it calls: their own, or lent to them."""
    for e in terms(statement):
        if isinstance(e, tree.Apply) and e.intrinsic.asynchronous == "wgmma":
            # The second argument: the first is the accumulator.
            yield from _fragments(e.arguments[1:2])
    for call in calls(statement):
        lent = dict(zip(call.function.parameters, call.arguments, strict=False))
        for symbol in _operands_of(call.function):
            yield from _fragments((lent[symbol],)) if symbol in lent else (symbol,)


@memoize
def _operands_of(function: tree.Function) -> tuple[tree.Symbol, ...]:
    return tuple(dict.fromkeys(symbol for statement in statements(function.body) for symbol in _operands(statement)))


def _written(body: tree.Body) -> Iterator[tree.Symbol]:
    """Yield the fragments that statements write; a function's own are written in it."""
    yield from assigned_names(body)
    for statement in statements(body):
        if isinstance(statement, tree.Declare):
            yield statement.symbol
        for call in calls(statement):
            yield from _written_of(call)


def _written_of(call: tree.Call) -> Iterator[tree.Symbol]:
    lent = dict(zip(call.function.parameters, call.arguments, strict=False))
    for symbol in _written_in(call.function):
        yield from _fragments((lent[symbol],)) if symbol in lent else (symbol,)


@memoize
def _written_in(function: tree.Function) -> tuple[tree.Symbol, ...]:
    return tuple(dict.fromkeys(_written(function.body)))


def _fragments(arguments: tuple[tree.Expr, ...]) -> Iterator[tree.Symbol]:
    return (
        e.symbol for e in arguments if isinstance(e, tree.Var | tree.Item) and isinstance(e.symbol.type, tree.Fragment)
    )


def _words(symbol: tree.Symbol) -> int:
    """Return how many registers of a thread a fragment has."""
    assert isinstance(symbol.type, tree.Fragment)
    return symbol.type.size * symbol.type.element.bytes // 4
