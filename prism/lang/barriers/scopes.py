"""Whether all who may access a word are of an atomic access's scope: `scope="block"` orders the threads of one block alone.

Memory that blocks share, by its owner or because partitions of it say `races="allow"`, needs a broader scope. What a device
function does with a pointer counts where it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prism.lang import tree
from prism.lang.barriers.flow import pointer_change
from prism.lang.diagnostics import CompileError, Error
from prism.lang.errors.sync import ScopeNarrow
from prism.lang.keep.bases import Frozen
from prism.lang.tree.bind import operands_of
from prism.lang.tree.walk import statements, subexpressions
from prism.lang.types.perspective import BLOCK, Perspective

Needs = Mapping[tree.Function, frozenset[tree.Symbol]]
"""By function, the pointer parameters that it accesses with the scope of a block."""


class Use(Frozen):
    """A name's use with the scope of a block: itself, or by the function that it is passed to."""

    symbol: tree.Symbol
    expression: tree.Expr


def check_scopes(function: tree.Function, needs: Needs) -> frozenset[tree.Symbol]:
    """Refuse accesses whose scope leaves out some who may access the memory; return what callers have to look at."""
    sources = pointer_sources(function)
    errors: list[Error] = []
    asked: set[tree.Symbol] = set()
    for use in _uses(function, needs):
        owner, root = _owner(use.symbol, sources, frozenset())
        if not owner <= BLOCK:
            errors.append(ScopeNarrow(span=use.expression.span, name=use.symbol.name, owner=owner))
        asked.update(symbol for symbol in root if symbol.parameter and symbol.perspective <= BLOCK)
    if errors:
        raise CompileError(*errors)
    return frozenset(asked)


def _uses(function: tree.Function, needs: Needs) -> Iterator[Use]:
    for statement in statements(function.body):
        for expression in tree.expressions(statement):
            for part in subexpressions(expression):
                match part:
                    case tree.Apply() if part.statics.get("scope") == "block":
                        for parameter, argument in operands_of(part):
                            if parameter.atomic and isinstance(argument, tree.Element):
                                yield Use(argument.symbol, argument)
                    case tree.Call(function=callee, arguments=arguments):
                        for formal, passed in zip(callee.parameters, arguments, strict=False):
                            if formal in needs.get(callee, ()):
                                yield from (Use(symbol, passed) for symbol in names_in(passed))


def pointer_sources(function: tree.Function) -> Mapping[tree.Symbol, frozenset[tree.Symbol]]:
    """Return what each pointer variable may name."""
    found: dict[tree.Symbol, frozenset[tree.Symbol]] = {}
    for statement in statements(function.body):
        change = pointer_change(statement)
        if change is not None:
            found[change[0]] = found.get(change[0], frozenset()) | frozenset(change[1])
    return found


def names_in(expression: tree.Expr) -> Iterator[tree.Symbol]:
    """Yield the names that a pointer's value may be of."""
    match expression:
        case tree.Var(symbol=symbol) | tree.Element(symbol=symbol):
            yield symbol
        case tree.Select(then=then, otherwise=otherwise):
            yield from names_in(then)
            yield from names_in(otherwise)
        case tree.Call(arguments=arguments):
            for argument in arguments:
                yield from names_in(argument)
        case _:
            pass


def _owner(
    symbol: tree.Symbol, sources: Mapping[tree.Symbol, frozenset[tree.Symbol]], seen: frozenset[tree.Symbol]
) -> tuple[Perspective, frozenset[tree.Symbol]]:
    """Return the unit whose threads may access what a name stands for, and the objects that it may be.

    A partition whose parts may overlap leaves its source's owner.
    """
    if symbol in seen:
        return symbol.perspective, frozenset()
    seen |= {symbol}
    if symbol.view is not None:
        owner, roots = _owner(symbol.view.source, sources, seen)
        if symbol.view.alias or symbol.view.races == "allow":
            return owner, roots
        return symbol.perspective, roots
    broadest, roots = symbol.perspective, frozenset({symbol})
    for source in sources.get(symbol, ()):
        owner, found = _owner(source, sources, seen)
        broadest, roots = (owner if broadest <= owner else broadest), roots | found
    return broadest, roots
