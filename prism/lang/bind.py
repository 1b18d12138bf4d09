"""What an intrinsic's application binds: the scalar for T, the statics, the lengths. Emitter and machine ask here."""

from __future__ import annotations

from prism.lang.intrinsics.declaration import Binding, Parameter
from prism.lang.tree import Apply, Element, Expr
from prism.lang.types import Array, Mailbox, Pointer, Scalar, Type, Vector


def binding_of(apply: Apply) -> Binding:
    """Return the binding of one application; `lengths` has the sizes of its array and vector operands by name."""
    scalar: Scalar | None = None
    lengths: dict[str, int] = {}
    const: set[str] = set()
    for parameter, argument in operands_of(apply):
        if isinstance(argument.type, Array):
            lengths[parameter.name] = argument.type.size
        elif isinstance(argument.type, Vector):
            lengths[parameter.name] = argument.type.length
        if isinstance(argument, Element) and isinstance(argument.symbol.type, Pointer) and argument.symbol.type.const:
            const.add(parameter.name)
        if parameter.type == "T" and scalar is None:
            scalar = _scalar(argument)
    return Binding(scalar, apply.statics, lengths, frozenset(const))


def operands_of(apply: Apply) -> list[tuple[Parameter, Expr]]:
    """Return the parameters that are given at run time, each with its argument."""
    given = [p for p in apply.intrinsic.parameters if p.kind != "static"]
    return list(zip(given, apply.arguments, strict=True))


def _scalar(argument: Expr) -> Scalar | None:
    """Return the scalar inside an operand's type."""
    type_: Type | Mailbox = argument.type
    if isinstance(argument, Element):
        root = argument.symbol.root().type
        type_ = root.element if isinstance(root, Pointer) else type_
    while isinstance(type_, (Vector, Array, Mailbox, Pointer)):
        type_ = type_.element
    return type_ if isinstance(type_, Scalar) else None
