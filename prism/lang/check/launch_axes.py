"""`id(axis)` and `count(unit, axis)`: indices and numbers along the axes of a launch, `kernel[(x, y), (32, 8)]` (R12).

Blocks and threads are numbered in one row, the first axis innermost. A kernel that asks for an index or a number along an axis
takes the numbers of blocks and of threads along each as more parameters, and computes an index from the index in the row; the
last axis takes what is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import surface, tree
from prism.lang.check.elements import construct_of
from prism.lang.check.env import Env, fail
from prism.lang.diagnostics import Span, source_text
from prism.lang.errors import perspective as errors
from prism.lang.parse import syntax as s
from prism.lang.types import INT32
from prism.lang.types.perspective import BLOCK, GRID, THREAD, Perspective, meet

MOST_AXES = 3


def axis_of(e: s.Expr) -> int | None:
    """Return the axis that `id(0)`, `id(unit, 0)` or `count(unit, 0)` names; None of any other call."""
    last = e.arguments[-1] if isinstance(e, s.Call) and len(e.arguments) in (1, 2) and not e.keywords else None
    return last.value if isinstance(last, s.Literal) and type(last.value) is int else None


def axes_named(function: s.Function) -> int:
    """Return of how many axes a function's text names an index or a number: one more than the last."""
    found = [axis_of(e) for e in _calls(function.body) if construct_of(e) in (surface.id, surface.count)]
    return max((axis + 1 for axis in found if axis is not None and 0 <= axis < MOST_AXES), default=0)


def _calls(part: object) -> Iterator[s.Call]:
    if isinstance(part, tuple):
        for inner in part:
            yield from _calls(inner)
    elif isinstance(part, s.Node):
        if isinstance(part, s.Call):
            yield part
        for one in type(part)._fields:
            yield from _calls(getattr(part, one.name))


def launch_parameters(axes: int, span: Span) -> tuple[tree.Symbol, ...]:
    """Return the numbers of blocks, then of threads, along each axis: parameters that a launch computes."""
    along = [(what, axis, axes) for what in ("blocks", "threads") for axis in range(axes)]
    return tuple(
        tree.Symbol(f"{one[0]}[{one[1]}]", INT32, GRID, span, parameter=True, const=True, along=one) for one in along
    )


def axis_index(env: Env, target: Perspective, axis: int, span: Span) -> tree.Expr:
    """R12: the index along an axis: of the block in the grid, of the thread in its block or in the grid."""
    blocks, threads = _numbers(env, f"id({axis})", axis, span)
    if (target, env.code) == (BLOCK, GRID):
        return _digit(_id(BLOCK, GRID, span), blocks, axis, span)
    if (target, env.code) == (THREAD, BLOCK):
        return _digit(_id(THREAD, BLOCK, span), threads, axis, span)
    if (target, env.code) == (THREAD, GRID):
        block = _digit(_id(BLOCK, GRID, span), blocks, axis, span)
        first = _binary("*", block, _number(threads[axis], span), span)
        return _binary("+", first, _digit(_id(THREAD, BLOCK, span), threads, axis, span), span)
    fail(errors.IdAxisUnit(span=span, unit=target, code_perspective=env.code))


def axis_count(env: Env, unit: Perspective, axis: int, span: Span) -> tree.Expr:
    """R12: the number along an axis: of blocks in the grid, of threads in a block or in the grid."""
    blocks, threads = _numbers(env, source_text(span), axis, span)
    if (unit, env.code) == (BLOCK, GRID):
        return _number(blocks[axis], span)
    if (unit, env.code) == (THREAD, BLOCK):
        return _number(threads[axis], span)
    if (unit, env.code) == (THREAD, GRID):
        return _binary("*", _number(blocks[axis], span), _number(threads[axis], span), span)
    fail(errors.CountAxisUnit(span=span, unit=unit, axis=axis, code_perspective=env.code))


def _numbers(env: Env, text: str, axis: int, span: Span) -> tuple[tuple[tree.Symbol, ...], tuple[tree.Symbol, ...]]:
    """Return the numbers of blocks, and of threads, along each axis, of which `axis` must be one."""
    numbers = env.context.launch
    axes = len(numbers) // 2
    if not numbers or not 0 <= axis < axes:
        kernel = env.context.kernel.kind == "global"
        fail(errors.IdAxis(span=span, text=text, most=MOST_AXES - 1, kernel=kernel))
    return numbers[:axes], numbers[axes:]


def _digit(index: tree.Expr, numbers: tuple[tree.Symbol, ...], axis: int, span: Span) -> tree.Expr:
    for number in numbers[:axis]:
        index = _binary("/", index, _number(number, span), span)
    return index if axis == len(numbers) - 1 else _binary("%", index, _number(numbers[axis], span), span)


def _id(unit: Perspective, code: Perspective, span: Span) -> tree.Expr:
    return tree.Id(unit=unit, code=code, type=INT32, perspective=unit, span=span)


def _number(symbol: tree.Symbol, span: Span) -> tree.Expr:
    return tree.Var(symbol=symbol, type=INT32, perspective=GRID, span=span)


def _binary(op: str, left: tree.Expr, right: tree.Expr, span: Span) -> tree.Expr:
    perspective = meet(left.perspective, right.perspective)
    return tree.Binary(op=op, left=left, right=right, type=INT32, perspective=perspective, span=span)
