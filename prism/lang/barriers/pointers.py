"""Which names an assignment gives a pointer the value of: calls and choices are looked into."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang.keep.memo import memoize
from prism.lang.tree import Assign, Call, Declare, Element, Expr, Function, Pointer, Return, Select, Stmt, Symbol, Var
from prism.lang.tree.walk import statements


def pointer_change(statement: Stmt) -> tuple[Symbol, tuple[Symbol, ...]] | None:
    """Return the pointer that a statement assigns and the names it may get the value of, or None."""
    match statement:
        case Declare(symbol=symbol, value=value) if isinstance(symbol.type, Pointer) and value is not None:
            return symbol, tuple(_pointers(value))
        case Assign(target=Var(symbol=symbol), value=value) if isinstance(symbol.type, Pointer):
            return symbol, tuple(_pointers(value))
        case _:
            return None


def _pointers(expression: Expr) -> Iterator[Symbol]:
    match expression:
        case Var(symbol=symbol) | Element(symbol=symbol):
            yield symbol
        case Select(then=then, otherwise=otherwise):
            yield from _pointers(then)
            yield from _pointers(otherwise)
        case Call(function=function, arguments=arguments):
            returned = _returned(function)
            for parameter, argument in zip(function.parameters, arguments, strict=False):
                if parameter in returned:
                    yield from _pointers(argument)
        case _:
            pass


@memoize
def _returned(function: Function) -> frozenset[Symbol]:
    """Return the parameters that a function's result may be, whatever the order of its assignments."""
    sources: dict[Symbol, set[Symbol]] = {}
    found: set[Symbol] = set()
    for statement in statements(function.body):
        change = pointer_change(statement)
        if change is not None:
            sources.setdefault(change[0], set()).update(change[1])
        if isinstance(statement, Return) and statement.value is not None and isinstance(statement.value.type, Pointer):
            found.update(_pointers(statement.value))
    while more := {root for symbol in found for root in (symbol.root(), *sources.get(symbol, ()))} - found:
        found |= more
    return frozenset(symbol for symbol in found if symbol.parameter)
