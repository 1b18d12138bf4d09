"""The kinds of expressions of the typed tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.keep.bases import node
from prism.lang.tree.nodes import Expr, Function, Symbol
from prism.lang.types.perspective import GRID, Perspective

__all__ = [
    "AnyExpr", "Apply", "Binary", "Call", "Cast", "Component", "Const", "Count", "Element", "Id", "Item", "Place",
    "Select", "Unary", "Var",
]  # fmt: skip


@node
class Const(Expr):
    """A literal or constexpr value; lives at grid[1]."""

    value: bool | int | float
    perspective: Perspective = GRID


@node
class Var(Expr):
    """A symbol's value; for arrays, the array itself (by reference); for pointers, the pointer."""

    symbol: Symbol


@node
class Unary(Expr):
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expr


@node
class Binary(Expr):
    """`op` is one of `+ - * / % << >> & | ^ == != < <= > >= and or`; both operands have the same type, but for shifts.

    Integer `/` and `%` are C's (truncating). Comparisons, `and`, `or` give bool.
    """

    op: str
    left: Expr
    right: Expr


@node
class Select(Expr):
    """`then if condition else otherwise`; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


@node
class Cast(Expr):
    """A conversion between scalars, as C converts."""

    operand: Expr


@node
class Item(Expr):
    """An element of a local array, or of a thread's part of a fragment (one index, below its type's `size`)."""

    symbol: Symbol
    indices: tuple[Expr, ...]


@node
class Element(Expr):
    """An element of memory, through a pointer, a shared object or a view. Indices are as written: views map them.

    Of a tensor map: the tile that begins there, the operand of a tensor copy. As a `tile` operand of an intrinsic: what
    begins there in its tile.
    """

    symbol: Symbol
    indices: tuple[Expr, ...]


@node
class Component(Expr):
    """`vector[index]`; `vector` is a Var or Item of Vector type (any vector expression where it is read)."""

    vector: Expr
    index: Expr


@node
class Id(Expr):
    """The index of unit `unit` inside the current unit of the code's perspective `code`."""

    unit: Perspective
    code: Perspective


@node
class Count(Expr):
    """How many units `unit` the current unit of the code's perspective `code` has."""

    unit: Perspective
    code: Perspective


@node
class Place(Expr):
    """Row (`axis` 0) or column (1) of element `index` of this thread's part of a fragment.

    With t the thread's index inside the fragment's unit, lane = t % 32, and strip the elements that it keeps of each 64 rows:
    row = index / strip * 64 + t / 32 * 16 + lane / 4 + index / 2 % 2 * 8, column = index % strip / 4 * 8 + lane % 4 * 2 +
    index % 2. (A warp's fragment has 16 rows: index / strip is 0.)
    """

    symbol: Symbol
    index: Expr
    axis: int


@node
class Call(Expr):
    """A device function called; every `function.bound.code` unit inside the current one runs it."""

    function: Function
    arguments: tuple[Expr, ...]
    code: Perspective


@node
class Apply(Expr):
    """An intrinsic applied. `statics` are its compile-time arguments."""

    intrinsic: Intrinsic
    arguments: tuple[Expr, ...]
    statics: Mapping[str, object] = field(default_factory=dict)
    code: Perspective


AnyExpr = Const | Var | Unary | Binary | Select | Cast | Item | Element | Component | Id | Count | Place | Call | Apply
"""All kinds: what a `match` must know."""
