"""Parts of tiles as arguments: `f(s[64, 0])`, and a part that a partition names, for a parameter `shared(T[n, m])` (R15).

A part is a view of the tile around it, moved by an offset in each dimension: elements lie where the whole tile has them, so
swizzles and rings stay what they are. What takes a tile as a whole is given the whole one, from the part's first element on.
"""

from __future__ import annotations

from dataclasses import replace

from prism.lang import tree
from prism.lang.check.arguments import check_owners
from prism.lang.check.data import agree
from prism.lang.check.env import Env, declaration_label, fail
from prism.lang.check.expressions import check_index, flatten, rank, tile_type, visible
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import inlined as errors
from prism.lang.errors import ownership
from prism.lang.facts.contiguous import mentions, shift
from prism.lang.keep.bases import Frozen
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Pointer


class Piece(Frozen):
    """A part of a tile that a parameter stands for: what it is a part of, and where in that it begins.

    `before`: the declarations of what is computed for that, once.
    """

    source: tree.Symbol
    offsets: tuple[tree.Expr, ...]
    before: tuple[tree.Declare, ...]


def tile_of(env: Env, e: s.Expr) -> tree.Symbol | None:
    """Return the shared tile whose part begins at an element, `s[i, j]`; None for any other expression."""
    base, _ = flatten(e)
    symbol = env.names.get(base.name) if isinstance(base, s.Name) and base is not e else None
    if not isinstance(symbol, tree.Symbol) or not isinstance(symbol.type, Pointer):
        return None
    root = symbol.root().type
    return symbol if isinstance(root, Pointer) and root.shape is not None and root.space == "shared" else None


def check_piece(env: Env, name: str, formal: tree.Symbol, actual: s.Expr) -> Piece:
    """R15 CALL-PTR: what begins at an element of a tile, or what a partition names, of this element, rank and swizzle."""
    base, indices = flatten(actual)
    assert isinstance(base, s.Name)
    symbol, wanted = visible(env, base.name, base.span, "open"), formal.type
    assert isinstance(wanted, Pointer)
    typed = tuple(check_index(env, index, formal.perspective) for index in indices)
    fault = find_kind_fault(symbol, wanted, len(indices)) or find_end_fault(tile_type(env, symbol), wanted, typed)
    if fault:
        facts: Fields = {
            "parameter": formal.name,
            "name": name,
            "actual": symbol.name,
            "wanted": wanted,
            "fault": fault,
        }
        fail(errors.CallPiece(span=actual.span, labels=(declaration_label(symbol),), **facts))
    check_owners(name, formal, symbol, actual.span)
    offsets: list[tree.Expr] = []
    before: list[tree.Declare] = []
    for number, index in enumerate(typed):
        agree(index, formal.perspective, ownership.PartitionOffset)
        if not isinstance(index, tree.Const):
            at = tree.Symbol(f"{formal.name}_at_{number}", index.type, formal.perspective, index.span, const=True)
            before.append(tree.Declare(symbol=at, value=index, span=actual.span))
            index = tree.Var(symbol=at, type=index.type, perspective=formal.perspective, span=index.span)
        offsets.append(index)
    return Piece(symbol, tuple(offsets), tuple(before))


def find_kind_fault(symbol: tree.Symbol, wanted: Pointer, indices: int) -> str:
    """Return in words why a name is no tile, or part of one, that lies as the parameter says; nothing where it is."""
    root = symbol.root().type
    if wanted.ring:
        return "no ring"
    if not isinstance(root, Pointer) or root.space != "shared" or root.shape is None:
        return "no part of a tile"
    if root.element != wanted.element:
        return f"it holds {root.element}"
    if root.swizzle != wanted.swizzle:
        return f"swizzled in spans of {root.swizzle} bytes" if root.swizzle else "not swizzled"
    if rank(symbol) != len(wanted.shape or ()) or indices not in (0, rank(symbol)):
        return f"of {rank(symbol)} dimension{'' if rank(symbol) == 1 else 's'}"
    return "" if moves(symbol) else "not laid out as its tile is"


def find_end_fault(tile: Pointer, wanted: Pointer, indices: tuple[tree.Expr, ...]) -> str:
    """Return in words that a part is more than there is; nothing where that is not known."""
    for index, extent, most in zip(indices, wanted.shape or (), tile.shape or (), strict=False):
        first = int(index.value) if isinstance(index, tree.Const) else 0
        if first < 0 or first + extent > most:
            return f"{extent} from {first} on, of a tile of {' x '.join(map(str, tile.shape or ()))}"
    return ""


def moves(symbol: tree.Symbol) -> bool:
    """Whether each index of a part is one of its tile's, but for an offset: its rows and columns are rows and columns there."""
    view = symbol.view
    if view is None:
        return True
    if len(view.params) != len(view.index):
        return False
    for param, index in zip(view.params, view.index, strict=True):
        if not shift(index, param) or any(mentions(index, other) for other in view.params if other is not param):
            return False
    return moves(view.source)


def piece_view(formal: tree.Symbol, piece: Piece) -> tree.Symbol:
    """Return what a parameter's name means in the body: the tile around it, by another name, from the part's start on."""
    unit, source = formal.perspective, piece.source
    assert isinstance(formal.type, Pointer)
    names = [f"i{k}" for k in range(rank(source))]
    params = tuple(tree.Symbol(name, INT32, unit, formal.span, parameter=True) for name in names)
    used = tuple(tree.Var(symbol=p, type=INT32, perspective=unit, span=p.span) for p in params)
    index = tuple(sum_of(offset, p) for offset, p in zip(piece.offsets, used, strict=True)) if piece.offsets else used
    view = tree.View(source, unit, params, index, alias=True)
    type_ = Pointer(formal.type.element, formal.type.const, "shared")
    return replace(formal, type=type_, parameter=False, view=view)


def sum_of(offset: tree.Expr, index: tree.Expr) -> tree.Expr:
    """Return the sum of two indices."""
    for one, other in ((offset, index), (index, offset)):
        if isinstance(one, tree.Const) and one.value == 0:
            return other
    if isinstance(index, tree.Const) and isinstance(offset, tree.Const):
        return replace(offset, value=int(offset.value) + int(index.value))
    if index.type != offset.type:
        index = tree.Cast(operand=index, type=offset.type, perspective=index.perspective, span=index.span)
    perspective = offset.perspective if offset.perspective <= index.perspective else index.perspective
    return tree.Binary(op="+", left=offset, right=index, type=offset.type, perspective=perspective, span=index.span)


def in_whole(symbol: tree.Symbol, given: tree.Element | None, span: Span) -> tree.Element:
    """Return the element of the whole tile that an element of a part is, or the part's first."""
    zeros = tuple(tree.Const(value=0, type=INT32, span=span) for _ in range(rank(symbol)))
    indices: tuple[tree.Expr, ...] = zeros if given is None else given.indices
    while (view := symbol.view) is not None and isinstance(symbol.type, Pointer) and symbol.type.shape is None:
        values = dict(zip(view.params, indices, strict=True))
        indices, symbol = tuple(put(index, values) for index in view.index), view.source
    assert isinstance(symbol.type, Pointer) and not isinstance(symbol.type.element, tree.Pointer)
    perspective = symbol.perspective
    for index in indices:
        perspective = perspective if perspective <= index.perspective else index.perspective
    return tree.Element(symbol=symbol, indices=indices, type=symbol.type.element, perspective=perspective, span=span)  # type: ignore[arg-type]


def put(e: tree.Expr, values: dict[tree.Symbol, tree.Expr]) -> tree.Expr:
    """Return an index, of which it is known that it moves its parameter, with a value for that."""
    match e:
        case tree.Var(symbol=symbol):
            return values.get(symbol, e)
        case tree.Cast():
            inner = put(e.operand, values)
            return inner if isinstance(inner, tree.Const) else replace(e, operand=inner)
        case tree.Binary(op="+"):
            return sum_of(put(e.left, values), put(e.right, values))
        case tree.Binary():
            return replace(e, left=put(e.left, values), right=put(e.right, values))
        case _:
            return e
