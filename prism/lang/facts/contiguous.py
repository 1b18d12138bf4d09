"""Which parts of memory lie side by side, so that a pointer can stand for them."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.tree.walk import subexpressions
from prism.lang.types import Pointer, Scalar
from prism.lang.types.perspective import Level


def shifts(symbol: tree.Symbol) -> bool:
    """Whether a name's elements lie side by side in memory: it is all of an object, or has one index, which runs along a row."""
    view = symbol.view
    if symbol.root().axes:
        return False  # an array's elements lie as its strides say
    if view is None or (isinstance(symbol.type, Pointer) and symbol.type.shape is not None):
        return True
    if view.alias and len(view.params) < len(view.index):
        return shifts(view.source)  # a pointer to all of it, row by row
    return len(view.params) == 1 and runs(symbol)


def runs(symbol: tree.Symbol) -> bool:
    """Whether elements whose last index differs by one are neighbours in memory: `offset + i`, behind indices without i.

    Of an object of a cluster the first index is a block: its rows are in the memory of several.
    """
    view = symbol.view
    if view is None or (isinstance(symbol.type, Pointer) and symbol.type.shape is not None):
        return True
    param, (*rows, column) = view.params[-1], view.index
    owner = symbol.root().perspective
    if any(mentions(row, param) for row in rows) or (rows and owner.level == Level.BLOCK and owner.size > 1):
        return False
    return shift(column, param) and runs(view.source)


def shift(e: tree.Expr, param: tree.Symbol) -> bool:
    """Whether an index is its parameter plus something that does not depend on it."""
    match e:
        case tree.Var():
            return e.symbol is param
        case tree.Cast(type=Scalar() as type_) if type_.bits >= 32:  # fewer bits count round and round
            return shift(e.operand, param)
        case tree.Binary() if e.op == "+":
            return (shift(e.left, param) and not mentions(e.right, param)) or (
                shift(e.right, param) and not mentions(e.left, param)
            )
        case tree.Binary() if e.op == "-":
            return shift(e.left, param) and not mentions(e.right, param)
        case _:
            return False


def mentions(e: tree.Expr, symbol: tree.Symbol) -> bool:
    """Whether an expression uses a symbol."""
    return any(isinstance(part, tree.Var | tree.Item) and part.symbol is symbol for part in subexpressions(e))
