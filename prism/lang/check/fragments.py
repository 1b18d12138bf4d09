"""Fragments: declared for a warpgroup or a warp, filled whole, and read and written a thread's element at a time."""

from __future__ import annotations

from prism.lang import surface, tree
from prism.lang.check.conversion import convert
from prism.lang.check.elements import construct_of
from prism.lang.check.env import Env, declaration_label, fail, why_here
from prism.lang.check.expressions import check_index, check_literal, in_range, visible
from prism.lang.diagnostics import Span
from prism.lang.errors import tiles as errors
from prism.lang.errors import types as type_errors
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Fragment
from prism.lang.types.perspective import GRID, THREAD, WARP, WARPGROUP, Level, Perspective, meet

ROWS = {WARPGROUP: 64, WARP: 16}
MOST_REGISTERS = 240


def require_place(type_: Fragment, name: str, place: Perspective, span: Span, place_span: Span) -> Fragment:
    """Return a fragment's type where it is declared: the tensor cores have those of a warpgroup and of a warp."""
    if place.level != Level.THREAD or place.size not in ROWS:
        fail(errors.FragmentPlace(span=place_span, name=name, place=place))
    rows, whole = ROWS[place.size], place.size == WARPGROUP
    registers = type_.rows * type_.columns // place.size * type_.element.bytes // 4
    fault = ""
    if type_.rows % rows if whole else type_.rows != rows:
        fault = f"one of a warpgroup has a multiple of {rows} rows" if whole else f"one of a warp has {rows} rows"
    elif type_.columns % 8 or type_.columns > 256:
        fault = "its columns are a multiple of 8, at most 256"
    elif registers > MOST_REGISTERS:
        fault = f"each thread would keep it in {registers} registers, and has at most {MOST_REGISTERS} for it"
    elif type_.operand and (type_.element.bytes != 1 or not whole or type_.columns % 32):
        fault = "an operand's own layout is for elements of 8 bits, of a warpgroup, in a multiple of 32 columns"
    if fault:
        fail(errors.FragmentShape(span=span, type=str(type_), fault=fault))
    return Fragment(type_.element, type_.rows, type_.columns, place.size, type_.operand)


def fill(symbol: tree.Symbol, value: s.Expr) -> tree.Expr:
    """Return what every element of a fragment becomes: `acc = 0`, or `{0}` as for arrays."""
    assert isinstance(symbol.type, Fragment)
    if isinstance(value, s.Braces) and len(value.items) == 1:
        value = value.items[0]
    if not (
        isinstance(value, s.Literal) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
    ):
        fail(errors.FragmentValue(span=value.span, name=symbol.name, labels=(declaration_label(symbol),)))
    return convert(check_literal(value, symbol.type.element), symbol.type.element)


def fragment_item(env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], span: Span) -> tree.Item:
    """`acc[i]`: element i of what this thread keeps."""
    index = own(env, symbol, indices, span)
    assert isinstance(symbol.type, Fragment)
    perspective = meet(THREAD, index.perspective)
    return tree.Item(symbol=symbol, indices=(index,), type=symbol.type.element, perspective=perspective, span=span)


def own(env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], span: Span) -> tree.Expr:
    """R7 READ-UP: a thread names elements of its own part, by one index."""
    assert isinstance(symbol.type, Fragment)
    if env.code != THREAD:
        labels = (declaration_label(symbol), *why_here(env))
        fail(errors.FragmentCode(span=span, name=symbol.name, code_perspective=env.code, labels=labels))
    if len(indices) != 1:
        fail(type_errors.Indices(span=span, name=symbol.name, wanted=1, given=len(indices)))
    index = check_index(env, indices[0], THREAD)
    in_range(index, symbol.type.size, symbol.name)
    return index


def find_fragment(env: Env, e: s.Expr) -> tree.Symbol | None:
    """Return the fragment that an argument names, or None."""
    if not isinstance(e, s.Name) or e.name not in env.names:
        return None
    symbol = visible(env, e.name, e.span)
    return symbol if isinstance(symbol.type, Fragment) else None


def fragment_size(env: Env, e: s.Call) -> tree.Expr | None:
    """`count(acc)`: how many elements each thread keeps; None where the argument is no fragment."""
    symbol = find_fragment(env, e.arguments[0])
    if symbol is None:
        return None
    assert isinstance(symbol.type, Fragment)
    return tree.Const(value=symbol.type.size, type=INT32, perspective=GRID, span=e.span)


def check_place(env: Env, e: s.Call) -> tree.Expr:
    """`row(acc, i)`, `column(acc, i)`: where in the matrix element i of this thread's part lies."""
    axis = 0 if construct_of(e) is surface.row else 1
    function = "column" if axis else "row"
    symbol = find_fragment(env, e.arguments[0]) if len(e.arguments) == 2 and not e.keywords else None
    if symbol is None:
        usage = f"{function}(acc, i)"
        fail(errors.FragmentName(span=e.span, function=function, more=" and the number of an element", usage=usage))
    index = own(env, symbol, e.arguments[1:], e.span)
    return tree.Place(symbol=symbol, index=index, axis=axis, type=INT32, perspective=THREAD, span=e.span)
