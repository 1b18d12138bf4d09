"""Tiles: how intrinsics take shared ones, tensor maps and fragments as operands; elements.py has how they are declared."""

from __future__ import annotations

from typing import NoReturn

from prism.lang import tree
from prism.lang.check.asynchronous import WARPGROUP1, copies_alone
from prism.lang.check.env import Env, declaration_label, fail, refuse_const, refuse_write
from prism.lang.check.expressions import check_index, element, flatten, must_agree, rank, tile_type, visible
from prism.lang.check.fragments import find_fragment
from prism.lang.check.pieces import in_whole, moves
from prism.lang.check.rings import into_ring
from prism.lang.diagnostics import Fields, Label, Span
from prism.lang.errors import calls as call_errors
from prism.lang.errors import tiles as errors
from prism.lang.errors import types as type_errors
from prism.lang.intrinsics.declaration import Intrinsic, Parameter
from prism.lang.parse import syntax as s
from prism.lang.tree.parts import tile_around
from prism.lang.types import INT32, Fragment, Pointer, Scalar, TensorMap, Vector
from prism.lang.types.perspective import GRID, THREAD, WARP1, Perspective, meet


def check_map_parameter(name: str, place: Perspective, span: Span) -> None:
    """A tensor map is one for the whole grid."""
    if place != GRID:
        fail(errors.MapPlace(span=span, name=name, what=f"declared @ {place}"))


# -- Operands ---------------------------------------------------------------------------------------------------------


def tile_operand(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr) -> tree.Expr:
    """A shared tile by its name, or what begins at an element of it (R17, R18, R19; a load goes to a copy of a ring).

    Where the parameter says so, a fragment by its name.
    """
    if p.registers and find_fragment(env, e) is not None:
        return fragment_operand(env, intrinsic, p, e)
    base, indices = flatten(e)
    use = ("load" if intrinsic.asynchronous == "load" else "copy") if p.effect != "read" else ""
    symbol = visible(env, base.name, base.span, use) if isinstance(base, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Pointer) or global_memory(env, symbol):
        change = "name a shared object, a view of one, or an element of either"
        refuse(intrinsic, p, e, "a tile in shared memory", symbol, change)
    if p.effect != "read" and intrinsic.asynchronous == "load" and not indices and symbol.root().parameter:
        into_ring(env, intrinsic.name, symbol, e.span)
    given = operand_start(env, intrinsic, p, e, symbol, indices)
    found: tree.Expr = tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=e.span)
    if symbol in env.context.pieces:
        given = in_whole(symbol, given, e.span)
        symbol = given.symbol
        assert isinstance(symbol.type, Pointer)
    if given is not None:
        found = given
        for index in given.indices:
            must_agree(env, index, p.unit, f"index of `{symbol.name}`")
    if p.effect != "read":
        check_fill(env, intrinsic, symbol, e.span)
    elif not p.unit <= symbol.perspective:
        facts: Fields = {"name": intrinsic.name, "actual": symbol.name, "needed": p.unit, "has": symbol.perspective}
        change = f"read it through memory of {p.unit} or broader, before it is partitioned"
        fail(call_errors.MatrixNarrow(span=e.span, labels=(declaration_label(symbol),), change=change, **facts))
    return found


def operand_start(
    env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr, symbol: tree.Symbol, indices: tuple[s.Expr, ...]
) -> tree.Element | None:
    """Return the element where a tile operand begins; None where a tile is named whole.

    A part that a partition's lambda names is an operand of wgmma: it lies as its tile does, and begins at its first element.
    """
    part = intrinsic.asynchronous == "wgmma" and symbol not in env.context.pieces and is_part(env, symbol)
    if part and not moves(symbol):
        change = "let each index of the partition's lambda be a row, or a column, and what is added to it"
        refuse(intrinsic, p, e, "a tile, or a part that lies as its tile does", symbol, change)
    if indices:
        return element(env, symbol, indices, e.span, p.unit)
    if part:
        return first_element(symbol, e.span)
    if tile_type(env, symbol).shape is None:
        change = f"say where it begins, `{symbol.name}[0]`, or name an object, or a view without an offset"
        refuse(intrinsic, p, e, "a tile of a known shape", symbol, change)
    return None


def is_part(env: Env, symbol: tree.Symbol) -> bool:
    """Whether a partition's lambda made a name for part of a shared tile."""
    tile = tile_around(symbol).type
    return tile_type(env, symbol).shape is None and isinstance(tile, Pointer) and tile.shape is not None


def first_element(symbol: tree.Symbol, span: Span) -> tree.Element:
    """Return where a part begins: its element of no row and no column."""
    assert isinstance(symbol.type, Pointer) and isinstance(symbol.type.element, Scalar | Vector)
    zeros = tuple(tree.Const(value=0, type=INT32, span=span) for _ in range(rank(symbol)))
    kind, perspective = symbol.type.element, symbol.perspective
    return tree.Element(symbol=symbol, indices=zeros, type=kind, perspective=perspective, span=span)


def check_fill(env: Env, intrinsic: Intrinsic, symbol: tree.Symbol, span: Span) -> None:
    """R17 CONST, R18 PTR-WRITE of what one thread fills for the owner; a load's end is known to a ring only."""
    assert isinstance(symbol.type, Pointer)
    if symbol.type.const:
        refuse_write(symbol, span, str(symbol.type))
    copies_alone(env, symbol, span)
    if intrinsic.asynchronous == "load":
        into_ring(env, intrinsic.name, symbol, span)


def global_memory(env: Env, symbol: tree.Symbol) -> bool:
    """Whether a name surely stands for global memory: a kernel's parameter, or a part of one."""
    root = symbol.root()
    space = root.type.space if isinstance(root.type, Pointer) else ""
    return space == "global" and root.parameter and env.context.host.kind == "global"


def tensor_operand(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr) -> tree.Expr:
    """The tile that begins at an element of a tensor map; the first of it may lie outside the matrix."""
    base, indices = flatten(e)
    symbol = visible(env, base.name, base.span) if isinstance(base, s.Name) else None
    change = "name the tile that begins at an element of a tensor map: `map[i, j]`"
    if symbol is None or not isinstance(symbol.type, TensorMap) or not indices:
        refuse(intrinsic, p, e, "a tile of a tensor map", symbol, change)
    if len(indices) != (wanted := len(symbol.type.box)):
        labels = (declaration_label(symbol),)
        fail(type_errors.Indices(span=e.span, name=symbol.name, wanted=wanted, given=len(indices), labels=labels))
    if p.effect != "read":
        refuse_const(env, symbol, e.span)
    typed = tuple(check_index(env, index, THREAD) for index in indices)
    perspective = meet(symbol.perspective, *(index.perspective for index in typed))
    return tree.Element(symbol=symbol, indices=typed, type=symbol.type.element, perspective=perspective, span=e.span)


def map_operand(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr) -> tree.Expr:
    """A tensor map by its name."""
    symbol = visible(env, e.name, e.span) if isinstance(e, s.Name) else None
    if symbol is None or not isinstance(symbol.type, TensorMap):
        refuse(intrinsic, p, e, "a tensor map", symbol, "pass the parameter's name, without an index")
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=e.span)


def fragment_operand(env: Env, intrinsic: Intrinsic, p: Parameter, e: s.Expr) -> tree.Expr:
    """A fragment by its name, of the unit that applies the intrinsic."""
    symbol = visible(env, e.name, e.span) if isinstance(e, s.Name) else None
    if symbol is None or not isinstance(symbol.type, Fragment):
        change = f"declare one: `acc: fragment(float, 64, 128) @ {spell_unit(intrinsic.requires)}`"
        refuse(intrinsic, p, e, "a fragment", symbol, change)
    if symbol.perspective != intrinsic.requires:
        unit = spell_unit(intrinsic.requires)
        refuse(intrinsic, p, e, f"a fragment of {unit}", symbol, f"declare `{symbol.name}` @ {unit}")
    if p.effect != "read":
        refuse_const(env, symbol, e.span)
    return tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=e.span)


def refuse_one_twice(intrinsic: Intrinsic, typed: dict[str, tree.Expr], span: Span) -> None:
    """Fail for one fragment as two operands: what is read would change meanwhile."""
    named = [(name, e.symbol) for name, e in typed.items() if isinstance(e, tree.Var) and isinstance(e.type, Fragment)]
    if len(named) > 1 and named[0][1] is named[1][1]:
        (first, symbol), (second, _) = named
        problem = f"`{symbol.name}` is both `{first}` and `{second}`: what is read would change meanwhile"
        labels = (declaration_label(symbol),)
        fail(call_errors.IntrinsicProblem(span=span, name=intrinsic.name, problem=problem, labels=labels))


def spell_unit(unit: Perspective) -> str:
    """Return how a kernel would write the unit of a fragment."""
    return {WARPGROUP1: "warpgroup[1]", WARP1: "warp[1]"}.get(unit, str(unit))


def refuse(
    intrinsic: Intrinsic, p: Parameter, e: s.Expr, wanted: str, symbol: tree.Symbol | None, change: str
) -> NoReturn:
    """Fail: an operand of another kind."""
    found = "an expression" if symbol is None else f"{symbol.type} @ {symbol.perspective}"
    labels = () if symbol is None else (declaration_label(symbol),)
    facts: Fields = {"parameter": p.name, "name": intrinsic.name, "wanted": wanted, "found": found, "change": change}
    fail(errors.Operand(span=e.span, labels=labels, **facts))


def scalar_of(e: tree.Expr) -> Scalar | None:
    """Return the scalar that an operand holds."""
    kind: object = e.type
    while not isinstance(kind, Scalar) and hasattr(kind, "element"):
        kind = kind.element
    return kind if isinstance(kind, Scalar) else None


def same_elements(intrinsic: Intrinsic, operands: list[Parameter], typed: dict[str, tree.Expr]) -> None:
    """Operands of memory that are declared with the type T hold the same elements."""
    memory = [p for p in operands if p.type == "T" and p.kind in ("element", "tile", "tensor")]
    for p in memory[1:]:
        first, other = typed[memory[0].name], typed[p.name]
        wanted, found = scalar_of(first), scalar_of(other)
        if wanted is not None and found is not None and wanted != found:
            facts: Fields = {"name": intrinsic.name, "parameter": p.name, "found": str(found)}
            facts |= {"other": memory[0].name, "wanted": str(wanted)}
            fail(errors.OperandElement(span=other.span, labels=origins((first, other)), **facts))


def origins(arguments: tuple[tree.Expr, ...]) -> tuple[Label, ...]:
    """Return labels for where tiles, maps and fragments that an application takes are declared."""
    found = []
    for e in arguments:
        if isinstance(e, tree.Var | tree.Element):
            root = e.symbol.root()
            if isinstance(root.type, Fragment | TensorMap | Pointer):
                found.append(Label(root.span, f"`{root.name}` is {root.type}"))
    return tuple(dict.fromkeys(found))
