"""Arrays sorted along an axis of many rows: what `sort` and its kin call where there is more than one row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.axes import normal_axis
from prism.host.call import Decision, Result, call
from prism.host.chain import Chain
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Buffer, Machine, Plan, X, Y
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.sort.plan import by_digits, may_be_in_place, rows
from prism.lib.algorithms.sort_rows import plan as plans
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from prism.lib.algorithms.transform.api import evaluate
from prism.lib.algorithms.transform.transposes import exchange
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
    if isinstance(x, LazyArray):
        x = rows_in_memory(x, axis)
    itself = out is x
    asked = ("rows", function, descending, bits, axis, type(axis), itself)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    return _sort_along_anew(asked, x, axis, descending, bits, out, stream, function, itself)


def _sort_along_anew(
    asked: tuple[Any, ...],
    x: Any,
    axis: int,
    descending: bool,
    bits: tuple[int, int] | None,
    out: Any,
    stream: Any,
    function: str,
    itself: Any,
) -> Any:
    """Do what `sort_along` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        kind = Kind(require_order(arrays["x"], "a", function), descending, bits=bits)
        return decide_along(arrays["x"], axis, result, machine, work_of(kind, machine), itself=itself)

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
    if isinstance(x, LazyArray):
        x = rows_in_memory(x, axis)
    asked = (function, "rows", descending, wanted, axis, type(axis))
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    return _argsort_along_anew(asked, x, axis, descending, out, stream, function, wanted)


def _argsort_along_anew(
    asked: tuple[Any, ...], x: Any, axis: int, descending: bool, out: Any, stream: Any, function: str, wanted: Any
) -> Any:
    """Do what `argsort_along` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        kind = Kind(require_order(arrays["x"], "a", function), descending, elements=False, places=wanted)
        return decide_along(arrays["x"], axis, result, machine, work_of(kind, machine))

    return call(function, asked, {"x": x}, decide, out, stream, called=_CALLED)


def rows_in_memory(x: Any, axis: int) -> Any:
    """Return a lazy array; one of which the rows lie along another axis than the last one, made now."""
    if normal_axis(axis, len(x.shape)) != len(x.shape) - 1:
        return evaluate(x)
    return x


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with rows that lie side by side: their elements' type, that of the results, the plan.

    `plan(many, columns, source, target, in_place)` is of `x` and `OUT`. `source` and `target` say where these are; None: where
    vectors may begin. `in_place(many, columns)`: whether they may be the same memory.
    """

    read: str
    made: str
    plan: Callable[[int, int, ArrayInfo | None, ArrayInfo | None, bool], Plan]
    in_place: Callable[[int, int], bool] = lambda many, columns: False


def work_of(kind: Kind, machine: Machine) -> Work:
    """Return what is done to sort rows, or to find the positions that sort them."""
    names = Names() if kind.elements else Names(places=Buffer(OUT))

    def plan(many: int, columns: int, source: ArrayInfo | None, target: ArrayInfo | None, in_place: bool) -> Plan:
        require_columns(many, columns, "a", kind, machine)
        aligned = plans.is_aligned(source, target)
        return rows(kind, many, columns, machine, aligned=aligned, names=names, in_place=in_place)

    made = kind.read if kind.elements else kind.places
    return Work(kind.read, made, plan, lambda many, columns: may_be_in_place(kind, many, columns, machine))


def decide_along(
    given: ArrayInfo, axis: int, result: ArrayInfo | None, machine: Machine, work: Work, *, itself: bool = False
) -> Decision:
    """Return how something is done with the rows of an array along an axis; `itself`: the result is the array.

    Rows that do not lie side by side are brought there, and their results back, by steps of the same plan.

    Raises:
        TypeError, ValueError: `out` is of another dtype or shape; there is no such axis (`AxisError`).
    """
    place = normal_axis(axis, len(given.shape))
    scalar = given.scalar if work.made == work.read else work.made
    if result is not None:
        arguments.require_scalar(result, scalar)
        arguments.require_shape(result, given.shape)
    lie = matrices_of(given, place)
    if lie is None or not given.natural:
        return Decision(copied=("x",))
    put = lie if result is None else matrices_of(result, place)
    beside = put is None or (result is not None and not result.natural)
    if put is None or beside:
        put = lie
    results = (_result(given, dtype_of(scalar, given), place, back=bool(put)),)
    if not given.size:
        return Decision(results)
    columns = given.shape[place]
    many = given.size // columns
    in_place = (bool(lie and put) or (itself and not beside)) and work.in_place(many, columns)
    plan = work.plan(many, columns, None if lie else given, None if put or beside else result, in_place)
    if not (lie or put):
        return Decision(results, plan=plan, beside=beside, in_place=("x",) if in_place else ())
    chain, x, y = Chain(), X, Y
    if lie:
        x = chain.take(work.read, given.size)
        chain.add(exchange(work.read, *lie), {OUT: x})
    if put:
        y = x if in_place else chain.take(work.made, given.size)
    chain.add(plan, {"x": x, OUT: y})
    if put:
        outer, n, inner = put
        chain.add(exchange(work.made, outer, inner, n), {"x": y})
    return Decision(results, plan=chain.plan(), beside=beside, in_place=("x",) if lie and put else ())


def matrices_of(info: ArrayInfo, place: int) -> tuple[int, ...] | None:
    """Return an array as matrices with an axis down their columns: how many, and their shape.

    () where what runs along the axis lies side by side; None where it is neither.
    """
    axes = (*(k for k in range(len(info.shape)) if k != place), place)
    if replace(info, shape=tuple(info.shape[k] for k in axes), strides=tuple(info.strides[k] for k in axes)).contiguous:
        return ()
    if not info.contiguous:
        return None
    return math.prod(info.shape[:place]), info.shape[place], math.prod(info.shape[place + 1 :])


def _result(given: ArrayInfo, dtype: np.dtype[Any], place: int, back: bool) -> Result:
    """Return a result in C order; or, unless it is brought `back` from where its rows lie side by side, the view of those."""
    last = len(given.shape) - 1
    if back or place == last:
        return Result(given.shape, dtype)
    shape = (*given.shape[:place], *given.shape[place + 1 :], given.shape[place])
    return Result(shape, dtype, tuple(last if k == place else k - (k > place) for k in range(last + 1)))


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


def require_columns(many: int, columns: int, name: str, kind: Kind, machine: Machine) -> None:
    """Check how long the rows of an array with elements are. Rows that are sorted by digits may be of any length.

    Raises:
        ValueError: longer than can be merged.
    """
    if columns > plans.LONGEST and not by_digits(kind, many, columns, machine):
        raise ValueError(f"`{name}` has {columns} elements along the axis, and {plans.LONGEST} are the most")


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


__all__ = [
    "Work", "argsort_along", "decide_along", "move_last", "position_type", "require_columns", "require_order", "sort_along",
    "work_of",
]  # fmt: skip
