"""Arrays with axes, `array(T, 2)`: their shapes and strides, and where an array of any strides cannot stand (R15)."""

from __future__ import annotations

from typing import NoReturn

from prism.lang import tree
from prism.lang.check.env import Env, declaration_label, fail
from prism.lang.diagnostics import Fields, Span
from prism.lang.errors import axes as errors
from prism.lang.intrinsics.declaration import Intrinsic, Parameter
from prism.lang.parse import syntax as s
from prism.lang.types import INT64, Pointer

NUMBERS = ("shape", "strides")


def array_of(env: Env, e: s.Expr) -> tree.Symbol | None:
    """Return the array that a name stands for, or a part of one; also of one that goes by another name here."""
    symbol = env.names.get(e.name) if isinstance(e, s.Name) else None
    return symbol if isinstance(symbol, tree.Symbol) and symbol.root().axes else None


def array_number(env: Env, e: s.Subscript) -> tree.Expr | None:
    """`x.shape[0]`, `x.strides[1]`: a number of the launch, which the grid agrees on; None of anything else."""
    named = e.base
    if not isinstance(named, s.Attribute) or named.name not in NUMBERS:
        return None
    symbol = array_of(env, named.base)
    if symbol is None:
        return None
    whole = require_whole(symbol, named)
    axis = e.indices[0] if len(e.indices) == 1 else None
    if not isinstance(axis, s.Literal) or type(axis.value) is not int or not 0 <= axis.value < len(whole.axes):
        fail(errors.ArrayExtents(span=e.span, name=whole.name, what=named.name, axes=len(whole.axes)))
    number = whole.axes[axis.value][NUMBERS.index(named.name)]
    return tree.Var(symbol=number, type=INT64, perspective=number.perspective, span=e.span)


def array_attribute(env: Env, e: s.Attribute) -> tree.Expr | None:
    """`x.ndim`; `x.shape` as a whole is refused; None of anything else."""
    symbol = array_of(env, e.base)
    if symbol is None or e.name not in (*NUMBERS, "ndim"):
        return None
    whole = require_whole(symbol, e)
    if e.name == "ndim":
        return tree.Const(value=len(whole.axes), type=INT64, span=e.span)
    fail(errors.ArrayExtents(span=e.span, name=whole.name, what=e.name, axes=len(whole.axes)))


def require_whole(symbol: tree.Symbol, e: s.Attribute) -> tree.Symbol:
    """Return the array itself; a part of one has no shape of its own."""
    whole = symbol.itself()
    if whole.view is not None:
        fail(errors.ArrayView(span=e.span, name=symbol.name, source=whole.root().name, what=e.name))
    return whole


def refuse_run(intrinsic: Intrinsic, p: Parameter, symbol: tree.Symbol, span: Span) -> None:
    """Elements that follow one another are those of a pointer: an array's may lie anywhere."""
    root = symbol.root()
    if root.axes and not p.exact:
        assert isinstance(root.type, Pointer)
        facts: Fields = {"name": intrinsic.name, "memory": root.name, "element": const_text(root.type)}
        fail(errors.ArrayRun(span=span, labels=(declaration_label(root),), **facts))


def refuse_pointer(name: str, formal: tree.Symbol, symbol: tree.Symbol, span: Span) -> NoReturn:
    """R15: a pointer's elements lie side by side."""
    root = symbol.root()
    assert isinstance(root.type, Pointer)
    axes = len(symbol.view.params) if symbol.view is not None else root.type.axes
    facts: Fields = {"parameter": formal.name, "actual": symbol.name, "element": const_text(root.type), "axes": axes}
    fail(errors.ArrayPointer(span=span, name=name, labels=(declaration_label(root),), **facts))


def const_text(type_: Pointer) -> str:
    """Return how an array's elements are written in its type."""
    return f"const({type_.element})" if type_.const else str(type_.element)
