"""What is kept, put into an array of the caller's, which may be the one that it was kept of; and conditions of other lengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prism.host import arguments, memory
from prism.host.lazies import LazyArray
from prism.lib.algorithms.reduce.api import any as any_of
from prism.lib.algorithms.select.calls import Mode, mode_of
from prism.runtime.arrays import ArrayInfo, is_array, require_axes
from prism.runtime.streams import choose_stream


def fits_along(condition: Any, x: Any, axis: Any) -> bool:
    """Whether it is seen at once that a condition is for an axis of an array: facts of both would cost more than the calls."""
    axes = getattr(x, "ndim", 0)
    return (
        type(axis) is int
        and -axes <= axis < axes
        and getattr(condition, "ndim", 0) == 1
        and condition.shape[0] <= x.shape[axis]
    )


def given_array(value: Any, name: str) -> Any:
    """Return NumPy's array of a list, a tuple or a number; any other array as it is.

    Raises:
        TypeError: it is none; `name` is what the call calls it.
    """
    number = isinstance(value, bool | int | float | complex | np.generic)
    found = np.asarray(value) if number else arguments.array_of(value)
    if not hasattr(found, "shape"):
        arguments.facts_of(found, name)  # which says what is wrong
    return found


def condition_along(condition: Any, x: Any, along: int, stream: Any) -> Any:
    """Return a condition for an axis of an array, at most as long.

    Raises:
        ValueError: it is longer, and true there, or has more axes.
    """
    shape, marks = arguments.facts_of(x, "x").shape, arguments.facts_of(condition, "condition")
    require_axes(marks, "condition", 1)
    condition = fitting(arguments.array_of(condition), shape[along], mode_of(False, None, 0), stream)
    if condition.shape[0] > shape[along]:
        raise ValueError(f"`condition` has {condition.shape[0]} elements, and axis {along} of `x` has {shape[along]}")
    return condition


def put_exactly(found: Any, out: Any, stream: Any) -> Any:
    """Copy a result into an array of its shape and dtype, and return that.

    Raises:
        TypeError: it is of another dtype.
        ValueError: it has another shape.
    """
    made, room = arguments.facts_of(found, "x"), arguments.facts_of(out, "out")
    arguments.require_scalar(room, made.scalar)
    arguments.require_shape(room, made.shape)
    _copy(found, out, made, stream)
    return out


def put_first(found: Any, out: Any, most: int, mode: Mode, stream: Any) -> Any:
    """Copy a selection to the beginning of an array that has room for `most`; return it as the mode says.

    Raises:
        TypeError: the array is none, or of another dtype or library.
        ValueError: it has fewer elements; or several axes, and they are not in C order.
    """
    kept = found[0] if mode.count else found
    made, room = arguments.facts_of(kept, "x"), _room(out, most)
    arguments.require_library(room, "out", "x", made)
    arguments.require_scalar(room, made.scalar)
    first = (out if len(room.shape) == 1 else out.reshape(-1))[: made.shape[0]]
    _copy(kept, first, made, stream)
    if mode.count:
        return out, found[1]
    return first if mode.cut or room.size != most else out


def _room(out: Any, most: int) -> ArrayInfo:
    if not is_array(out):
        raise TypeError(f"`out` must be an array, not {type(out).__name__}")
    room = arguments.facts_of(out, "out")
    if room.size < most:
        raise ValueError(f"`out` has {room.size} elements, and {most} may be kept")
    if len(room.shape) != 1 and not room.contiguous:
        raise ValueError("`out` of several axes must be in C order")
    return room


def _copy(found: Any, out: Any, made: ArrayInfo, stream: Any) -> None:
    with memory.working(made, None if stream is None or made.device is None else choose_stream(stream, (made,))):
        out[...] = found


def most_kept(shape: tuple[int, ...], mode: Mode) -> int:
    """Return how many elements a result of a selection from an array of a shape may have."""
    return math.prod(shape) if mode.size is None else mode.size


def fitting(condition: Any, many: int, mode: Mode, stream: Any) -> Any:
    """Return a condition without what is behind the `many` elements that it is for, which must be false, as NumPy has it.

    That is looked at where the call waits anyway, or the host has it.

    Raises:
        IndexError: something behind them is true.
    """
    if math.prod(condition.shape) <= many or isinstance(condition, LazyArray):
        return condition
    if not (mode.cut or isinstance(condition, np.ndarray)):
        return condition
    flat = condition.reshape(-1)
    if bool(any_of(flat[many:], stream=stream)):
        raise IndexError(f"`condition` is true behind the {many} elements that there are")
    return flat[:many]
