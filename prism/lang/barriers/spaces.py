"""Memory that an instruction takes in global memory alone: shared memory is refused there, also by way of functions.

The source of a bulk copy or of a `cp_async`, the destination of a bulk store, and what is loaded or stored past the L1. A device
function's pointer may be given either memory: where the function needs global memory, its callers are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prism.lang import tree
from prism.lang.barriers.scopes import Needs, names_in, pointer_sources
from prism.lang.diagnostics import CompileError, Error, Label
from prism.lang.errors.calls import SharedArgument, SharedElement
from prism.lang.tree.bind import operands_of
from prism.lang.tree.walk import statements, terms
from prism.lang.types import Pointer

PAST_L1 = "no_allocate"
"""The cache hint of loads and stores that is for global memory alone."""


def check_spaces(function: tree.Function, needs: Needs) -> frozenset[tree.Symbol]:
    """Refuse shared memory where global memory is needed; return the parameters of which callers have to look."""
    sources = pointer_sources(function)
    errors: list[Error] = []
    asked: set[tree.Symbol] = set()
    for symbol, error in _uses(function, needs):
        for root in _roots(symbol, sources, frozenset()):
            if isinstance(root.type, Pointer) and root.type.space == "shared":
                errors.append(error(root))
            elif root.parameter:
                asked.add(root)
    if errors:
        raise CompileError(*errors)
    return frozenset(asked)


def _uses(function: tree.Function, needs: Needs) -> Iterator[tuple[tree.Symbol, _Refusal]]:
    """Yield the names of what must be in global memory, each with the error for what is not."""
    for statement in statements(function.body):
        for part in terms(statement):
            if isinstance(part, tree.Apply):
                past = part.statics.get("cache") == PAST_L1
                for p, e in operands_of(part):
                    if isinstance(e, tree.Element) and p.kind == "element" and (p.space == "global" or past):
                        yield e.symbol, _Refusal(SharedElement, part.intrinsic.name, p.name, e)
            elif isinstance(part, tree.Call):
                for formal, passed in zip(part.function.parameters, part.arguments, strict=False):
                    if formal in needs.get(part.function, ()):
                        refusal = _Refusal(SharedArgument, part.function.name, formal.name, passed)
                        yield from ((symbol, refusal) for symbol in names_in(passed))


class _Refusal:
    """Makes the error of one use."""

    def __init__(
        self, kind: type[SharedElement | SharedArgument], name: str, parameter: str, expression: tree.Expr
    ) -> None:
        self.kind, self.name, self.parameter, self.span = kind, name, parameter, expression.span

    def __call__(self, root: tree.Symbol) -> Error:
        labels = (Label(root.span, f"`{root.name}` is declared here"),)
        return self.kind(span=self.span, name=self.name, parameter=self.parameter, memory=root.name, labels=labels)


def _roots(
    symbol: tree.Symbol, sources: Mapping[tree.Symbol, frozenset[tree.Symbol]], seen: frozenset[tree.Symbol]
) -> Iterator[tree.Symbol]:
    """Yield the objects that a name may be of."""
    root = symbol.root()
    if root in seen:
        return
    yield root
    for source in sources.get(root, ()):
        yield from _roots(source, sources, seen | {root})
