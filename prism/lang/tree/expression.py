"""Names in force, and expressions of the typed tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from prism.lang.diagnostics import Span
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.keep.bases import Frozen, Node
from prism.lang.types import Type
from prism.lang.types.perspective import GRID, Perspective

if TYPE_CHECKING:
    from prism.lang.tree.statement import Function


class View(Frozen):
    """What a partition's or claim's name means: `new[i]` is `source[index]`, `index` an expression over `params`.

    `offset` is evaluated once, on entry, into a symbol of its own (perspective: the unit's); a lambda has none. A view of a
    ring (`source.type.ring`) names the copy of the present visit; `in_flight`: how many visits later asynchronous readers of
    the copy are waited for. `ahead`, made by skew.py only: it names the copy that is filled ahead. `alias`: a parameter of a
    function that is compiled in here; it is the source itself, by another name.
    """

    source: Symbol
    unit: Perspective
    params: tuple[Symbol, ...]
    index: tuple[Expr, ...]
    offset: tuple[Symbol, Expr] | None = None
    races: str = "check"
    in_flight: int = 0
    ahead: bool = False
    alias: bool = False


class Symbol(Frozen):
    """A name in force: a parameter, a local, a shared object, a loop's index, a view."""

    name: str
    type: Type
    perspective: Perspective
    span: Span
    view: View | None = None
    parameter: bool = False
    const: bool = False
    default: bool | int | float | None = None
    """What a parameter is where a call leaves it out."""

    def itself(self) -> Symbol:
        """Return what an alias is another name of; any other symbol as it is."""
        symbol = self
        while symbol.view is not None and symbol.view.alias:
            symbol = symbol.view.source
        return symbol

    def root(self) -> Symbol:
        """Return the object behind a chain of views."""
        symbol = self
        while symbol.view is not None:
            symbol = symbol.view.source
        return symbol


class Expression(Node):
    """What all expressions have."""

    type: Type
    perspective: Perspective
    span: Span


class Const(Expression):
    """A literal or constexpr value; lives at grid[1]."""

    value: bool | int | float
    perspective: Perspective = GRID


class Var(Expression):
    """A symbol's value; for arrays, the array itself (by reference); for pointers, the pointer."""

    symbol: Symbol


class Unary(Expression):
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expr


class Binary(Expression):
    """`op` is one of `+ - * / % << >> & | ^ == != < <= > >= and or`; both operands have the same type, but for shifts.

    Integer `/` and `%` are C's (truncating). Comparisons, `and`, `or` give bool.
    """

    op: str
    left: Expr
    right: Expr


class Select(Expression):
    """`then if condition else otherwise`; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


class Cast(Expression):
    """A conversion between scalars, as C converts."""

    operand: Expr


class Item(Expression):
    """An element of a local array, or of a thread's part of a fragment (one index, below its type's `size`)."""

    symbol: Symbol
    indices: tuple[Expr, ...]


class Element(Expression):
    """An element of memory, through a pointer, a shared object or a view. Indices are as written: views map them.

    Of a tensor map: the tile that begins there, the operand of a tensor copy. As a `tile` operand of an intrinsic: what
    begins there in its tile.
    """

    symbol: Symbol
    indices: tuple[Expr, ...]


class Component(Expression):
    """`vector[index]`; `vector` is a Var or Item of Vector type (any vector expression where it is read)."""

    vector: Expr
    index: Expr


class Id(Expression):
    """The index of unit `unit` inside the current unit of the code's perspective `code`."""

    unit: Perspective
    code: Perspective


class Count(Expression):
    """How many units `unit` the current unit of the code's perspective `code` has."""

    unit: Perspective
    code: Perspective


class Place(Expression):
    """Row (`axis` 0) or column (1) of element `index` of this thread's part of a fragment.

    With t the thread's index inside the fragment's unit, lane = t % 32, and strip the elements that it keeps of each 64 rows:
    row = index / strip * 64 + t / 32 * 16 + lane / 4 + index / 2 % 2 * 8, column = index % strip / 4 * 8 + lane % 4 * 2 +
    index % 2. (A warp's fragment has 16 rows: index / strip is 0.)
    """

    symbol: Symbol
    index: Expr
    axis: int


class Call(Expression):
    """A device function called; every `function.bound.code` unit inside the current one runs it."""

    function: Function
    arguments: tuple[Expr, ...]
    code: Perspective


class Apply(Expression):
    """An intrinsic applied. `statics` are its compile-time arguments."""

    intrinsic: Intrinsic
    arguments: tuple[Expr, ...]
    statics: Mapping[str, object] = field(default_factory=dict)
    code: Perspective


Expr = Const | Var | Unary | Binary | Select | Cast | Item | Element | Component | Id | Count | Place | Call | Apply


def operands(expression: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions of an expression, in evaluation order."""
    of = _OPERANDS.get(type(expression))
    return () if of is None else of(expression)


# By class, as no `match` is as fast: what looks through a program asks this of all its expressions.
_OPERANDS: Mapping[type, Callable[[Any], tuple[Expr, ...]]] = {
    Unary: lambda e: (e.operand,),
    Cast: lambda e: (e.operand,),
    Binary: attrgetter("left", "right"),
    Select: attrgetter("condition", "then", "otherwise"),
    Item: attrgetter("indices"),
    Element: attrgetter("indices"),
    Component: attrgetter("vector", "index"),
    Place: lambda e: (e.index,),
    Call: attrgetter("arguments"),
    Apply: attrgetter("arguments"),
}
