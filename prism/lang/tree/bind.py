"""What an intrinsic's application binds: the scalar for T, the statics, the lengths. Emitter and machine ask here."""

from __future__ import annotations

from dataclasses import replace

from prism.lang.intrinsics.declaration import Binding, Parameter
from prism.lang.tree import Apply, Const, Element, Expr, Var
from prism.lang.tree.parts import start_in_tile, tile_around
from prism.lang.types import Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector


def binding_of(apply: Apply) -> Binding:
    """Return the binding of one application; `lengths` has the sizes of its array and vector operands by name."""
    scalar: Scalar | None = None
    lengths: dict[str, int] = {}
    const: set[str] = set()
    tiles: dict[str, Pointer] = {}
    maps: dict[str, TensorMap] = {}
    fragments: dict[str, Fragment] = {}
    starts: dict[str, tuple[int | None, ...]] = {}
    for parameter, argument in operands_of(apply):
        if isinstance(argument.type, Array):
            lengths[parameter.name] = argument.type.size
        elif isinstance(argument.type, Vector):
            lengths[parameter.name] = argument.type.length
        if isinstance(argument, Element) and isinstance(argument.symbol.type, Pointer) and argument.symbol.type.const:
            const.add(parameter.name)
        if isinstance(argument, Element | Var):
            match parameter.kind, argument.symbol.type:
                case "tile", Pointer() as tile:
                    wgmma = apply.intrinsic.asynchronous == "wgmma"
                    tiles[parameter.name], starts[parameter.name] = _tile(argument, tile, wgmma)
                case "tensor" | "map", TensorMap() as tensor:
                    maps[parameter.name] = tensor
                case "tile" | "fragment", Fragment() as fragment:
                    fragments[parameter.name] = fragment
        if parameter.type == "T" and scalar is None:
            scalar = _scalar(argument)
    whole = frozenset(p.name for p, argument in operands_of(apply) if p.kind == "tile" and isinstance(argument, Var))
    given = frozenset(parameter.name for parameter, _ in operands_of(apply) if parameter.optional)
    return Binding(scalar, apply.statics, lengths, frozenset(const), tiles, maps, fragments, starts, given, whole)


def operands_of(apply: Apply) -> list[tuple[Parameter, Expr]]:
    """Return the parameters that are given at run time, each with its argument; optional ones at the end may be missing."""
    given = [p for p in apply.intrinsic.parameters if p.kind != "static"]
    required = sum(not p.optional for p in given)
    return list(zip(given[: max(required, len(apply.arguments))], apply.arguments, strict=True))


def _tile(argument: Element | Var, tile: Pointer, wgmma: bool) -> tuple[Pointer, tuple[int | None, ...]]:
    """Return the tile of an operand, and the indices where it begins, None for one that is not constant.

    To a wgmma a part that a lambda names is the tile around it, from the part's element on.
    """
    root = argument.symbol.root().type  # a part that a lambda names lies as its object does
    tile = replace(tile, swizzle=root.swizzle) if isinstance(root, Pointer) else tile
    if isinstance(argument, Var):
        return tile, (0,) * len(tile.shape or (0,))
    around = tile_around(argument.symbol).type
    if wgmma and isinstance(around, Pointer):
        return replace(tile, shape=around.shape), start_in_tile(argument)
    return tile, tuple(int(index.value) if isinstance(index, Const) else None for index in argument.indices)


def _scalar(argument: Expr) -> Scalar | None:
    """Return the scalar inside an operand's type."""
    type_: Type | Mailbox = argument.type
    if isinstance(argument, Element):
        root = argument.symbol.root().type
        type_ = root.element if isinstance(root, Pointer | TensorMap) else type_
    while isinstance(type_, (Vector, Array, Mailbox, Pointer, TensorMap, Fragment)):
        type_ = type_.element
    return type_ if isinstance(type_, Scalar) else None
