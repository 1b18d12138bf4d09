"""Sorts by merging, along any axis: those by a comparator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.axes import normal_axis
from prism.host.lazies import LazyArray
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib.algorithms.merge.sort import argsort_by, sort_by, sort_pairs_by
from prism.lib.algorithms.sort_rows.axis import move_last, position_type
from prism.lib.algorithms.sort_rows.pairs import sort_by_key_along
from prism.lib.algorithms.take.api import take_along_axis
from prism.lib.algorithms.transform.api import evaluate
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import Lazy, convert
from prism.lib.lazy.closures import Applied
from prism.runtime.arrays import is_array


def sort_merged(x: Any, axis: int, less: Kernel | None, descending: bool, out: Any, stream: Any) -> Any:
    """Return an array sorted along an axis by merging."""
    shape = x.shape
    if len(shape) == 1:
        return sort_by(x, less, descending=descending, out=out, stream=stream)
    if math.prod(shape) == shape[axis] and out is None:
        found = sort_by(flatten(x, "a", stream), less, descending=descending, stream=stream)
        repeat.refuse_plan()  # it would give back the row
        return found.reshape(shape)
    places = argsort_merged(x, axis, less, descending, np.int64, None, stream, "sort")
    return take_along_axis(x, places, axis, out=out, stream=stream)


def argsort_merged(
    x: Any, axis: int, less: Kernel | None, descending: bool, dtype: Any, out: Any, stream: Any, function: str = "argsort"
) -> Any:  # fmt: skip
    """Return the positions along an axis that sort an array by merging.

    Of several rows all elements are sorted at once, and then by their rows, which keeps their order.

    Raises:
        TypeError: `dtype` is neither int32 nor int64; elements have no order.
    """
    wanted, shape = position_type(dtype), x.shape
    columns, rows = shape[axis], move_last(x, axis)
    found = argsort_by(flatten(rows, "a", stream), less, descending=descending, stream=stream, function=function)
    several = math.prod(shape) > columns > 0

    def row_of(arrays: Mapping[str, Lazy]) -> Lazy:
        return convert(Applied(lambda place: place // columns).map_over(arrays["places"]), SCALARS["uint32"])

    def in_row(arrays: Mapping[str, Lazy]) -> Lazy:
        return convert(Applied(lambda place: place % columns).map_over(arrays["places"]), SCALARS[wanted])

    if several:
        number = transform(function, ("rows of merges", columns), {"places": found}, row_of, None, stream)
        found = sort_by_key_along(number, found, stream=stream, function=function)[1]
        found = transform(function, ("places of merges", columns, wanted), {"places": found}, in_row, None, stream)
    found = move_last(found.reshape(rows.shape), axis, undo=True)
    if out is not None or not (several or wanted == "int64"):
        as_wanted = ("as wanted", wanted)
        found = transform(function, as_wanted, {"x": found}, lambda x: convert(x["x"], SCALARS[wanted]), out, stream)
    if len(shape) > 1:
        repeat.refuse_plan()
    return found


def sort_pairs_merged(
    keys: Any, values: Any, axis: int, less: Kernel | None, descending: bool, stream: Any
) -> tuple[Any, Any]:
    """Return keys sorted along an axis by merging, and values of their shape, each where its key goes."""
    shape = keys.shape
    if math.prod(shape) == shape[axis]:
        flat = flatten(keys, "keys", stream), flatten(values, "values", stream)
        one, other = sort_pairs_by(*flat, less, descending=descending, stream=stream)
        if len(shape) > 1:
            repeat.refuse_plan()
        return one.reshape(shape), other.reshape(shape)
    places = argsort_merged(keys, axis, less, descending, np.int64, None, stream, "sort_by_key")
    return take_along_axis(keys, places, axis, stream=stream), take_along_axis(values, places, axis, stream=stream)


def flatten(x: Any, name: str, stream: Any) -> Any:
    """Return an array as one dimension; with gaps, or in another order than C's, a copy."""
    x = arguments.array_of(x)
    if not arguments.facts_of(x, name).contiguous:
        x = evaluate(x, stream=stream)  # and not by its library, which would copy on its current stream
    return x.reshape(-1)


def array_along(x: Any, axis: int | None, name: str, stream: Any) -> tuple[Any, int]:
    """Return an array that holds its elements, and an axis of it; for None all its elements as one.

    Raises:
        TypeError: it is no array.
        AxisError: there is no such axis.
    """
    x = evaluate(x, stream=stream) if isinstance(x, LazyArray) else arguments.array_of(x)
    facts = arguments.facts_of(x, name)
    if not is_array(x):
        x = np.asarray(x)
    if axis is None:
        return flatten(x, name, stream), 0
    return x, normal_axis(axis, len(facts.shape))


__all__ = ["argsort_merged", "array_along", "flatten", "sort_merged", "sort_pairs_merged"]
