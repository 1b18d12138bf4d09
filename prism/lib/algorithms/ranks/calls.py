"""Calls of functions of ranks: along which axes, into what result, and what each comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from prism.host import arguments, memory, repeat
from prism.host.axes import Collapsed, collapse, drop_axes, normal_axes, normal_axis
from prism.host.call import Decision, Result, call
from prism.host.chain import Chain
from prism.host.lazies import LazyInfo
from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch, Step, move_steps
from prism.lib.algorithms.ranks.plan import Rows, Wanted, find, part
from prism.lib.algorithms.ranks.quantiles import is_float
from prism.lib.algorithms.ranks.valid import count_valid, counts_valid, valid_plan
from prism.lib.algorithms.scan.api import past
from prism.lib.algorithms.topk.calls import copy_to, flat_axis, is_dense, rows_along
from prism.lib.algorithms.topk.long import top_rows
from prism.lib.algorithms.topk.plan import INDICES, Task, is_ordered
from prism.runtime.arrays import ArrayInfo

Choose: TypeAlias = Callable[[int, "np.dtype[Any]", bool], tuple[list[Wanted], "np.dtype[Any]"]]
"""Of how many elements a row has, their dtype, and whether NaN is left out: what is wanted of it, and the results' dtype."""


def values_of(
    name: str, x: Any, axis: Any, keepdims: bool, asked: tuple[Any, ...], leading: tuple[int, ...], choose: Choose, out: Any,
    stream: Any, *, skip: bool = False, empty: Any = None,
) -> Any:  # fmt: skip
    """Return what is computed of elements along axes: an array of the shape `leading`, and that of `x` less the axes.

    `skip`: NaN is left out: how many others there are is counted first. `empty`: what becomes of rows without elements; None:
    they are an error.

    Raises:
        TypeError, ValueError: as `call`; elements have no order; `out` is of another shape, or of a dtype of another kind.
        AxisError: there is no such axis.
        IndexError: rows have no elements.
    """
    if isinstance(axis, tuple) and len(axis) != 1:  # along none, each element is a row
        return _of_several(name, x, axis, keepdims, asked, leading, choose, out, stream, skip=skip, empty=empty)
    key = (name, axis, type(axis), keepdims, asked)
    if stream is None and (known := repeat.run(key, x, out)) is not None:
        return known
    given = {"x": x}
    return _values_of_anew(name, x, axis, keepdims, leading, choose, out, stream, skip, empty, key, given)


def _values_of_anew(
    name: str,
    x: Any,
    axis: Any,
    keepdims: bool,
    leading: tuple[int, ...],
    choose: Choose,
    out: Any,
    stream: Any,
    skip: bool,
    empty: Any,
    key: Any,
    given: dict[str, Any],
) -> Any:
    """Do what `values_of` does where no earlier call was like it."""
    if skip and _is_counted_before(x):
        given["valid"] = count_valid(x, axis, stream)
        if stream is None and (known := repeat.run(key, x, out, given["valid"])) is not None:
            return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        info = arrays["x"]
        require_order(info)
        axes = normal_axes(axis, len(info.shape))
        n = math.prod(info.shape[k] for k in axes)
        left_out = skip and is_float(native(info))
        wanted, dtype = choose(n, native(info), left_out)
        if not n and empty is not None and not is_float(dtype):
            dtype = np.dtype(np.float64)  # of nothing comes NaN, which no integer is
        shape = (*leading, *drop_axes(info.shape, axes, bool(keepdims)))
        if result is not None:
            _require_result(result, dtype, shape)
        beside = result is not None and not (result.dtype == dtype and result.contiguous and result.natural)
        made = (Result(shape, dtype),)
        if not n or 0 in shape:
            return Decision(made, fill=_of_nothing(name, empty, shape), beside=beside)
        if (view := _view(info, axes, machine)) is None:
            return Decision(copied=("x",))
        valid = valid_plan(info, axis, machine) if left_out and "valid" not in arrays else None
        return Decision(made, plan=_find_all(info, view, wanted, valid, machine), beside=beside)

    return call(name, key, given, decide, out, stream, called={"x": "a"})


def _of_nothing(name: str, empty: Any, shape: tuple[int, ...]) -> Any:
    """Return what rows without elements come to; None where there are none. Raises IndexError where that is nothing."""
    if 0 in shape:
        return None
    if empty is None:
        raise IndexError(f"`{name}` of an axis without elements")
    return empty


def _is_counted_before(x: Any) -> bool:
    """Whether the elements of an array that are no NaN are counted by a call of their own: the plan can't."""
    info = arguments.facts_of(x, "a")
    require_order(info)
    return is_float(native(info)) and not counts_valid(info)


def _find_all(info: ArrayInfo, view: Collapsed, wanted: list[Wanted], valid: Plan | None, machine: Machine) -> Plan:
    """Return the plan that finds what is wanted of rows; behind that which counts their `valid` elements, if it does."""
    rows, scratch, steps = Rows(Task(info.scalar), view, max(past(info), 0)), Scratch(), list[Step]()
    for number, one in enumerate(wanted):
        steps += find(rows, one, machine, scratch, start=number * view.results)
    plan = Plan(tuple(steps), scratch=scratch.used)
    if valid is None:
        return plan
    chain = Chain()
    room = chain.take("int64", view.results)
    chain.add(valid, {OUT: room})
    chain.add(plan, {"valid": room})
    return chain.plan()


def _of_several(
    name: str, x: Any, axis: tuple[Any, ...], keepdims: bool, asked: tuple[Any, ...], leading: tuple[int, ...],
    choose: Choose, out: Any, stream: Any, *, skip: bool, empty: Any,
) -> Any:  # fmt: skip
    """Return the same along several axes, or none: they are put last, and are one."""
    info = arguments.facts_of(x, "a")
    axes = normal_axes(axis, len(info.shape))
    kept = tuple(k for k in range(len(info.shape)) if k not in axes)
    shape = (*leading, *drop_axes(info.shape, axes, bool(keepdims)))
    if isinstance(info, LazyInfo):
        from prism.lib.algorithms.transform.api import evaluate

        info = arguments.facts_of(evaluate(x, stream=stream), "a")
    moved = memory.transpose(info, info.owner, (*kept, *axes))
    length = math.prod(info.shape[k] for k in axes)
    rows = tuple(info.shape[k] for k in kept)
    flat = moved.reshape((*rows, length))  # a copy, where axes don't lie one behind the other
    found = values_of(name, flat, -1, False, asked, leading, choose, None, stream, skip=skip, empty=empty)
    if isinstance(found, np.generic):
        found = np.asarray(found)
    found = found.reshape(shape)
    if out is None:
        return found if shape or info.library != "numpy" else found[()]
    _require_result(arguments.facts_of(out, "out"), native(arguments.facts_of(found, "out")), shape)
    memory.assign(out, found)
    return out


def _view(info: ArrayInfo, axes: tuple[int, ...], machine: Machine) -> Collapsed | None:
    """Return an array as rows along axes; None where it must be copied first. Of all axes its elements are in any order."""
    if len(axes) == len(info.shape) and not isinstance(info, LazyInfo) and info.natural and is_dense(info):
        return collapse((info.size,), (1,), (0,))
    if len(axes) == 1:
        return rows_along(info, info.shape, axes[0], machine)
    shape, along = flat_axis(info)
    return rows_along(info, shape, along, machine)


def _require_result(result: ArrayInfo, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    arguments.require_shape(result, shape)
    if result.dtype != dtype and not np.can_cast(dtype, result.dtype, "same_kind"):
        raise TypeError(f"`out` is of {result.dtype}, to which {dtype}, the result's dtype, is not cast")


# -- Elements and their places --------------------------------------------------------------------------------------------


def kth(name: str, x: Any, k: int, axis: Any, keepdims: bool, out: Any, stream: Any) -> Any:
    """Return the element of rank `k - 1` along an axis, and its place."""
    asked = (name, k, axis, type(axis), bool(keepdims))
    if stream is None and out is None and (known := repeat.run(asked, x)) is not None:
        return known
    return _kth_anew(asked, name, x, k, axis, keepdims, out, stream)


def _kth_anew(
    asked: tuple[Any, ...], name: str, x: Any, k: int, axis: Any, keepdims: bool, out: Any, stream: Any
) -> Any:
    """Do what `kth` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        require_order(given, "x")
        shape, along = (given.shape, normal_axis(axis, len(given.shape))) if axis is not None else flat_axis(given)
        if not 1 <= k <= shape[along]:
            raise ValueError(f"`k` must be between 1 and {shape[along]}, the size of axis {along}, not {k}")
        left = drop_axes(shape, (along,), bool(keepdims))
        results = Result(left, native(given)), Result(left, np.dtype(np.int64))
        if 0 in left:
            return Decision(results, (OUT, INDICES))
        if (view := rows_along(given, shape, along, machine)) is None:
            return Decision(copied=("x",))
        scratch = Scratch()
        steps = find(Rows(Task(given.scalar), view, max(past(given), 0)), Wanted(k - 1, k - 1), machine, scratch)
        return Decision(results, (OUT, INDICES), Plan(tuple(steps), scratch=scratch.used))

    found = call(name, asked, {"x": x}, decide, None, stream)
    return found if out is None else copy_to(name, found, tuple(out), stream)


def part_at(name: str, x: Any, rank: int, axis: Any, stream: Any) -> Any:
    """Return an array whose rows along an axis are cut at their element of a rank; or, of argpartition, the places."""
    places = name == "argpartition"
    asked = (name, rank, axis, type(axis))
    if stream is None and (known := repeat.run(asked, x, None)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        shape, along = (given.shape, normal_axis(axis, len(given.shape))) if axis is not None else flat_axis(given)
        made = (Result(shape, np.dtype(np.int64) if places else native(given)),)
        if 0 in shape:
            return Decision(made)
        if (view := rows_along(given, shape, along, machine)) is None:
            return Decision(copied=("x",))
        behind, n = math.prod(shape[along + 1 :]), shape[along]
        rows, scratch = Rows(Task(given.scalar), view, max(past(given), 0)), Scratch()
        if n <= sorted_up_to(given):
            return Decision(
                made, plan=_sorted(top_rows(rows.task, view, behind, n, rows.skew, machine), given, places=places)
            )
        target = scratch.take(rows.task.bits, view.results), scratch.take("int64", view.results)
        steps = find(rows, Wanted(rank, rank), machine, scratch, target=target)
        steps += part(rows, rank, target, Buffer(OUT), behind, machine, scratch, places=places)
        return Decision(made, plan=Plan(tuple(steps), scratch=scratch.used))

    return call(name, asked, {"x": x}, decide, None, stream, called={"x": "a"})


def sorted_up_to(info: ArrayInfo) -> int:
    """Return how many elements rows have that are sorted where they are to be cut at a rank."""
    return 2048 if info.dtype.itemsize == 8 else 4096


def _sorted(plan: Plan, given: ArrayInfo, *, places: bool) -> Plan:
    """Return the plan of a sort of which one result is wanted: the places, or the elements."""
    scratch = Scratch()
    scratch.used = plan.scratch
    other = scratch.take(Task(given.scalar).bits if places else "int64", given.size)
    named = {Buffer(OUT): other, Buffer(INDICES): Buffer(OUT)} if places else {Buffer(INDICES): other}

    steps = move_steps(plan.steps, lambda buffer: named.get(buffer, buffer))
    return Plan(steps, scratch=scratch.used)


def require_order(info: ArrayInfo, name: str = "a") -> None:
    """Check that elements can be put in order.

    Raises:
        TypeError: they can't.
    """
    if info.scalar.startswith("complex") and name == "a":
        raise TypeError("`a` must be an array of real numbers")
    if not is_ordered(info.scalar):
        raise TypeError(f"`{name}` has dtype {info.dtype}, whose elements have no order here")


def native(info: ArrayInfo) -> np.dtype[Any]:
    """Return an array's dtype, in the machine's byte order."""
    return info.dtype if info.dtype.names else info.dtype.newbyteorder("=")


__all__ = ["kth", "native", "part_at", "require_order", "sorted_up_to", "values_of"]
