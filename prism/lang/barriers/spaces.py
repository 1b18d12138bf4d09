"""Memory that an instruction takes in one space alone: other memory is refused there, also by way of functions.

The source of a bulk copy or of a `cp_async`, the destination of a bulk store, and what is loaded or stored past the L1 are in
global memory. The destination of a `cp_async`, and the rows of `ldmatrix` and `stmatrix`, are in shared memory. A device
function's pointer may be given either memory: where the function needs one, its callers are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prism.lang import tree
from prism.lang.barriers.scopes import names_in, pointer_sources
from prism.lang.diagnostics import CompileError, Error, Label, Span
from prism.lang.errors.calls import OtherArgument, OtherElement
from prism.lang.keep.bases import Value
from prism.lang.tree.bind import operands_of
from prism.lang.tree.walk import statements, terms
from prism.lang.types import Pointer

Asked = frozenset[tuple[tree.Symbol, str]]
"""Parameters of a function, each with the space that its memory must be in."""


class _Use(Value):
    """A name whose memory must be in a space: of an intrinsic, or of a function that it is passed to."""

    symbol: tree.Symbol
    space: str
    kind: type[OtherElement | OtherArgument]
    name: str
    parameter: str
    span: Span

    def refuse(self, root: tree.Symbol) -> Error:
        """Return the error for an object that lies elsewhere."""
        labels = (Label(root.span, f"`{root.name}` is declared here"),)
        return self.kind(
            span=self.span, name=self.name, parameter=self.parameter, memory=root.name, space=self.space, labels=labels
        )


def check_spaces(function: tree.Function, needs: Mapping[tree.Function, Asked]) -> Asked:
    """Refuse memory that lies in another space than it must; return the parameters of which callers have to look."""
    sources = pointer_sources(function)
    errors: list[Error] = []
    asked: set[tuple[tree.Symbol, str]] = set()
    for use in _uses(function, needs):
        for root in _roots(use.symbol, sources, frozenset()):
            space = _space_of(root, function)
            if not space:
                asked.add((root, use.space))
            elif space != use.space:
                errors.append(use.refuse(root))
    if errors:
        raise CompileError(*errors)
    return frozenset(asked)


def _space_of(root: tree.Symbol, function: tree.Function) -> str:
    """Return where an object is: empty for what a device function's caller gives."""
    assert isinstance(root.type, Pointer)
    if root.parameter and function.kind != "global" and root.type.shape is None:
        return ""
    return root.type.space


def _uses(function: tree.Function, needs: Mapping[tree.Function, Asked]) -> Iterator[_Use]:
    for statement in statements(function.body):
        for part in terms(statement):
            if isinstance(part, tree.Apply):
                for p, e in operands_of(part):
                    if isinstance(e, tree.Element) and (space := p.needed_space(part.statics)):
                        yield _Use(e.symbol, space, OtherElement, part.intrinsic.name, p.name, e.span)
            elif isinstance(part, tree.Call):
                callee, asked = part.function, needs.get(part.function, frozenset())
                for formal, passed in zip(callee.parameters, part.arguments, strict=False):
                    for space in (space for symbol, space in asked if symbol is formal):
                        for symbol in names_in(passed):
                            yield _Use(symbol, space, OtherArgument, callee.name, formal.name, passed.span)


def _roots(
    symbol: tree.Symbol, sources: Mapping[tree.Symbol, frozenset[tree.Symbol]], seen: frozenset[tree.Symbol]
) -> Iterator[tree.Symbol]:
    """Yield the objects that a name may be of; a pointer variable is none."""
    root = symbol.root()
    if root in seen or not isinstance(root.type, Pointer):
        return
    if root.parameter or root.type.shape is not None:
        yield root
    for source in sources.get(root, ()):
        yield from _roots(source, sources, seen | {root})
