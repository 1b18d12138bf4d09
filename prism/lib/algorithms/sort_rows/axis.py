"""Arrays sorted along an axis of many rows: what `sort` and its kin call where there is more than one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.axes import normal_axis
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Buffer, Machine
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.sort.plan import by_digits, may_be_in_place, rows
from prism.lib.algorithms.sort_rows import plan as plans
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from prism.lib.algorithms.transform.api import evaluate
from prism.runtime.arrays import ArrayInfo

_CALLED = {"x": "a"}


def sort_along(
    x: Any, axis: int = -1, *, descending: bool = False, bits: tuple[int, int] | None = None, out: Any = None,
    stream: Any = None, function: str = "sort",
) -> Any:  # fmt: skip
    """Return an array whose rows along `axis` are sorted: stable, NaN last whatever its sign, -0.0 equal to 0.0.

    `bits`: those that decide, of rows that are sorted by digits.

    Raises:
        TypeError: `x` is of a dtype without an order, or `out` of another.
        ValueError: `x` has no such axis (`AxisError`), or no axis at all; `out` has another shape.
    """
    view = move_last(x, axis)
    if out is not None:
        sort_last(view, (function, descending, bits), move_last(out, axis), stream, itself=out is x)
        return out
    return move_last(sort_last(view, (function, descending, bits), None, stream), axis, undo=True)


def sort_last(x: Any, how: tuple[str, bool, Any], out: Any, stream: Any, *, itself: bool = False) -> Any:
    """Return an array sorted along its last axis; `itself`: the result is the array."""
    function, descending, bits = how
    asked = ("rows", *how, itself)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        kind = Kind(require_order(given, "a", function), descending, bits=bits)
        if result is not None:
            arguments.require_scalar(result, given.scalar)
            arguments.require_shape(result, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result(given.shape, dtype_of(given.scalar, given)),)
        if not given.size:
            return Decision(results)
        beside = result is not None and not (result.contiguous and result.natural)
        aligned = plans.is_aligned(given, None if beside else result)
        columns = require_columns(given, "a", kind, machine)
        many = given.size // columns
        in_place = itself and not beside and may_be_in_place(kind, many, columns, machine)
        plan = rows(kind, many, columns, machine, aligned=aligned, in_place=in_place)
        return Decision(results, plan=plan, beside=beside, in_place=("x",) if in_place else ())

    return call(function, asked, {"x": x}, decide, out, stream, called=_CALLED)


def argsort_along(
    x: Any, axis: int = -1, *, descending: bool = False, dtype: Any = np.int64, out: Any = None, stream: Any = None,
    function: str = "argsort",
) -> Any:  # fmt: skip
    """Return the positions along `axis` that sort an array: of equal elements the one that comes first stands first.

    Raises:
        TypeError: `x` is of a dtype without an order; `dtype`, or that of `out`, is neither int32 nor int64.
        ValueError: `x` has no such axis (`AxisError`), or no axis at all; `out` has another shape.
    """
    wanted = position_type(dtype)
    view = move_last(x, axis)
    asked = (function, "rows", descending, wanted)
    target = None if out is None else move_last(out, axis)
    if stream is None and (known := repeat.run(asked, view, target)) is not None:
        return out if out is not None else move_last(known, axis, undo=True)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        kind = Kind(require_order(given, "a", function), descending, elements=False, places=wanted)
        if result is not None:
            arguments.require_scalar(result, wanted)
            arguments.require_shape(result, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result(given.shape, np.dtype(wanted)),)
        if not given.size:
            return Decision(results)
        beside = result is not None and not (result.contiguous and result.natural)
        aligned = plans.is_aligned(given, None if beside else result)
        columns, names = require_columns(given, "a", kind, machine), Names(places=Buffer(OUT))
        plan = rows(kind, given.size // columns, columns, machine, aligned=aligned, names=names)
        return Decision(results, plan=plan, beside=beside)

    found = call(function, asked, {"x": view}, decide, target, stream, called=_CALLED)
    return out if out is not None else move_last(found, axis, undo=True)


def position_type(dtype: Any) -> str:
    """Return the type that positions are written as.

    Raises:
        TypeError: it is neither int32 nor int64.
    """
    if dtype is np.int64:  # as it mostly is: to name a dtype takes microseconds
        return "int64"
    found = arguments.scalar_of(dtype)
    if found not in ("int32", "int64"):
        raise TypeError(f"`dtype` must be int32 or int64, not {found}")
    return found


def require_columns(given: ArrayInfo, name: str, kind: Kind, machine: Machine) -> int:
    """Return how long the rows of an array with elements are. Rows that are sorted by digits may be of any length.

    Raises:
        ValueError: longer than can be merged.
    """
    columns = given.shape[-1]
    if columns > plans.LONGEST and not by_digits(kind, given.size // columns, columns, machine):
        raise ValueError(f"`{name}` has {columns} elements along the axis, and {plans.LONGEST} are the most")
    return columns


def require_order(given: ArrayInfo, name: str, function: str) -> str:
    """Return the type of elements that are sorted.

    Raises:
        TypeError: they have no order here.
    """
    if given.scalar not in plans.SUPPORTED:
        raise TypeError(f"`{name}` has dtype {given.dtype}, which {function} does not support")
    return given.scalar


def move_last(x: Any, axis: int, undo: bool = False) -> Any:
    """Return a view in which `axis` is the last one; `undo`: in which the last one is `axis`. A lazy array has that axis alone.

    Raises:
        AxisError: there is no such axis.
    """
    shape = x.shape if hasattr(x, "shape") else np.shape(x)
    place = normal_axis(axis, len(shape))
    if place == len(shape) - 1:
        return x
    if isinstance(x, LazyArray):
        x = evaluate(x)
    source, target = (-1, place) if undo else (place, -1)
    if hasattr(x, "movedim"):  # torch
        return x.movedim(source, target)
    order = [k for k in range(len(shape)) if k != source % len(shape)]
    order.insert(target % len(shape), source % len(shape))
    return x.transpose(order) if hasattr(x, "transpose") else np.transpose(x, order)


__all__ = ["argsort_along", "move_last", "position_type", "require_columns", "require_order", "sort_along"]
