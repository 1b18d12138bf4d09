"""Shared memory: where each object of a function stands in the function's frame.

A frame is a stack: an object lives from its declaration to the end of the statement list that it stands in, and a callee's
frame stands above what lives at the call. Bytes that are used again cost barriers between their users, so dead space is
reused only where the frame would otherwise be large. Limits are the driver's to check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prism.lang.plan import Layout
from prism.lang.tree import Body, Call, Expr, Function, SharedDeclare, Stmt, Symbol, children, expressions, operands
from prism.lang.types import Array, Pointer

_Layouts = Mapping[Function, Layout]
SPREAD = 16 * 1024
"""Bytes that a frame may have before dead space in it is used again."""


def place(function: Function, layouts_of_callees: _Layouts) -> Layout:
    """Return the layout of one function, given those of all that it calls.

    `frame` is keyed by `id(call)`: the byte offset, in this function's frame, at which the callee's frame starts.
    """
    most = SPREAD if function.shared_limit is None else min(SPREAD, function.shared_limit)
    for reuse in (False, True):
        offsets: dict[Symbol, int] = {}
        frames: dict[int, int] = {}
        high = _place_body(function.body, 0, layouts_of_callees, offsets, frames, reuse=reuse)
        if high <= most:
            break
    return Layout(offsets, high, frames)


def shared_bytes(symbol: Symbol) -> int:
    """Return the size of a shared object."""
    pointer = symbol.type
    if not isinstance(pointer, Pointer) or pointer.shape is None:
        raise ValueError(f"`{symbol.name}` is no shared object")
    count = 1
    for extent in pointer.shape:
        count *= extent
    return pointer.element.bytes * count


def alignment(function: Function) -> int:
    """Return the alignment that a function's frame needs: that of its objects, and of its callees' frames."""
    most = 1
    for statement in statements(function.body):
        if isinstance(statement, SharedDeclare):
            most = max(most, _align(statement))
        for call in calls(statement):
            most = max(most, alignment(call.function))
    return most


def statements(body: Body) -> Iterator[Stmt]:
    """Yield all statements, outer before inner, in program order."""
    for statement in body:
        yield statement
        for inner in children(statement):
            yield from statements(inner)


def calls(statement: Stmt) -> Iterator[Call]:
    """Yield the calls of device functions that a statement itself evaluates, arguments before the call."""
    for expression in expressions(statement):
        for part in subexpressions(expression):
            if isinstance(part, Call):
                yield part


def subexpressions(expression: Expr) -> Iterator[Expr]:
    """Yield an expression's parts, operands first, and the expression itself.

    What an element's views add to its indices is included once for each view of the chain.
    """
    for operand in operands(expression):
        yield from subexpressions(operand)
    symbol = getattr(expression, "symbol", None)
    while symbol is not None and symbol.view is not None:
        for index in symbol.view.index:
            yield from subexpressions(index)
        symbol = symbol.view.source
    yield expression


def _align(statement: SharedDeclare) -> int:
    pointer = statement.symbol.type
    assert isinstance(pointer, Pointer) and not isinstance(pointer.element, Array)
    return max(statement.align, pointer.element.bytes)


def _up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _place_body(
    body: Body, live: int, layouts: _Layouts, offsets: dict[Symbol, int], frames: dict[int, int], *, reuse: bool
) -> int:
    """Place a statement list above `live` bytes; return its high-water mark. Without `reuse` nothing is laid over another."""
    high = live
    for statement in body:
        for call in calls(statement):
            if layouts[call.function].bytes:
                frames[id(call)] = _up(live if reuse else high, alignment(call.function))
                high = max(high, frames[id(call)] + layouts[call.function].bytes)
            else:
                frames[id(call)] = live
        if isinstance(statement, SharedDeclare):
            start = _up(live if reuse else high, _align(statement))
            offsets[statement.symbol] = start
            live = start + shared_bytes(statement.symbol)
            high = max(high, live)
        for inner in children(statement):
            high = max(high, _place_body(inner, live if reuse else high, layouts, offsets, frames, reuse=reuse))
    return high
