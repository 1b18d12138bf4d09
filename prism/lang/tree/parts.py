"""Parts of tiles that partitions name, as operands: the tile around one, and where in it an element of the part is."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang.tree import Binary, Cast, Const, Element, Expr, Symbol, Var
from prism.lang.types import Pointer


def tile_around(symbol: Symbol) -> Symbol:
    """Return the tile that a name is a part of: the first on the way to the object that has a shape; itself, if it has one."""
    while symbol.view is not None and isinstance(symbol.type, Pointer) and symbol.type.shape is None:
        symbol = symbol.view.source
    return symbol


def start_in_tile(element: Element) -> tuple[int | None, ...]:
    """Return the indices of an element in the tile around it, None for those that are not constant."""
    symbol, tile = element.symbol, tile_around(element.symbol)
    found = tuple(_value(index, {}) for index in element.indices)
    while symbol is not tile and symbol.view is not None:
        values = dict(zip(symbol.view.params, found, strict=True))
        found = tuple(_value(index, values) for index in symbol.view.index)
        symbol = symbol.view.source
    return found


def _value(e: Expr, values: Mapping[Symbol, int | None]) -> int | None:
    """Return an index's value, where it is constant, or moves a constant by one."""
    match e:
        case Const(value=value):
            return int(value)
        case Var(symbol=symbol):
            return values.get(symbol)
        case Cast(operand=operand):
            return _value(operand, values)
        case Binary(op="+" | "-" as op, left=left, right=right):
            one, other = _value(left, values), _value(right, values)
            return None if one is None or other is None else one + other if op == "+" else one - other
        case _:
            return None
