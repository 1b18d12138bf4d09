"""Fragments on the reference machine: a matrix of a warpgroup or a warp, each thread's part in its own column.

A thread's element is an item of its part. For the tensor cores the parts of a unit are gathered into the matrix, and scattered
back, by the formula of `tree.Place`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.errors import FlightError
from prism.interpret.flights import flights_of
from prism.interpret.frame import Frame, Local
from prism.interpret.lanes import anywhere
from prism.interpret.scope import Eval, Scope
from prism.lang.diagnostics import Span
from prism.lang.tree import Fragment, Place, Symbol


@functools.lru_cache(maxsize=64)
def places(fragment: Fragment) -> tuple[Any, Any]:
    """Return row and column of each element of each thread's part: arrays of shape (threads, size)."""
    t, index = np.arange(fragment.threads)[:, None], np.arange(fragment.size)[None, :]
    return place_of(fragment, 0, index, t), place_of(fragment, 1, index, t)


def place_of(fragment: Fragment, axis: int, index: Any, t: Any) -> Any:
    """Return the row (`axis` 0) or the column (1) of an element of the part of thread `t` of the fragment's unit."""
    lane, strip = t % 32, fragment.strip
    if fragment.operand:  # words of 4 elements: of a row and of that 8 rows below it, by 16 columns
        if axis:
            return index % strip // 8 * 16 + lane % 4 * 4 + index % 4
        return index // strip * 64 + t // 32 * 16 + lane // 4 + index // 4 % 2 * 8
    if axis:
        return index % strip // 4 * 8 + lane % 4 * 2 + index % 2
    return index // strip * 64 + t // 32 * 16 + lane // 4 + index // 2 % 2 * 8


def gather(local: Local, fragment: Fragment, lanes: Any) -> Any:
    """Return the matrices of whole units of threads, of shape (units, rows, columns)."""
    rows, columns = places(fragment)
    parts = local.data[:, lanes].T.reshape(-1, fragment.threads, fragment.size)
    found = np.empty((len(parts), fragment.rows, fragment.columns), local.data.dtype)
    found[:, rows, columns] = parts
    return found


def scatter(local: Local, fragment: Fragment, lanes: Any, matrices: Any) -> None:
    """Give whole units of threads their parts of matrices."""
    rows, columns = places(fragment)
    local.data[:, lanes] = matrices[:, rows, columns].reshape(len(lanes), fragment.size).T
    if local.initialised is not None:
        local.initialised[:, lanes] = True


def compile_place(scope: Scope, node: Place) -> Eval:
    """Row or column of an element of this thread's part."""
    fragment = node.symbol.type
    assert isinstance(fragment, Fragment)
    index = scope.evaluate(node.index)
    made: dict[tuple[int, int], Any] = {}  # by element and threads, where all of them ask for one

    def place(frame: Frame) -> Any:
        at, everyone = index(frame), frame.block.machine.everyone
        found = made.get((at, len(everyone))) if type(at) is int else None
        if found is None:
            found = place_of(fragment, node.axis, at, everyone % fragment.threads).astype(np.int32)
            if type(at) is int:
                made[at, len(everyone)] = found
        return found

    return place


Touch = Callable[[Frame, Local], None]


def toucher(scope: Scope, symbol: Symbol, span: Span, *, write: bool) -> Touch | None:
    """Return the check that no wgmma writes a fragment that is accessed plainly, or reads one that is written.

    None where there is nothing to check.
    """
    if not scope.check or not isinstance(symbol.type, Fragment):
        return None

    def touch(frame: Frame, local: Local) -> None:
        flights, lanes = flights_of(frame.block), frame.active()
        ended = flights.ended["wgmma"][lanes]
        flying, reading = local.last[lanes] >= ended, write & (local.read[lanes] >= ended)
        if anywhere(flying) or anywhere(reading):
            sums = anywhere(flying)
            flying = flying if sums else reading
            raise FlightError(
                f"`{symbol.name}` is accessed while a wgmma that writes it is under way"
                if sums
                else f"`{symbol.name}` is written while a wgmma that reads it is under way",
                span,
                here="accessed here" if sums else "written here",
                other=symbol.span,
                there="the accumulator" if sums else "the operand",
                perspective=symbol.perspective,
                thread=int(lanes[int(flying.argmax())]),
                block=frame.block.number,
                barrier="wait for its group, WaitGroup('wgmma', 0), before this",
            )
        local.touched[lanes] = flights.fences[lanes]
        if write:
            local.stored[lanes] = flights.fences[lanes]

    return touch
