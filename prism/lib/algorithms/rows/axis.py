"""Rows along any axis: seen along the last one, and given back as they lay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.host import arguments, memory
from prism.host.axes import normal_axis
from prism.host.lazies import LazyArray
from prism.lib.algorithms.topk.calls import copy_to
from prism.lib.algorithms.transform.api import evaluate


def along_last(
    function: str, arrays: tuple[Any, ...], axis: Any, make: Callable[..., Any], out: Any, stream: Any
) -> Any:
    """Return what `make(*arrays, out)` does along the last axis, of arrays of one shape whose rows are along `axis`.

    Raises:
        ValueError: the first array has no such axis (`AxisError`).
    """
    first = arrays[0]
    shape = first.shape if isinstance(first, LazyArray) else arguments.facts_of(first, "x").shape
    if not shape:
        raise ValueError("there are no rows: the array has no axes")
    along = normal_axis(axis, len(shape))
    if along == len(shape) - 1:
        return make(*arrays, out)
    order = (*(k for k in range(len(shape)) if k != along), along)
    views = [_turn(x, order, stream) for x in arrays]
    found = make(*views, None)
    back = memory.transpose(arguments.facts_of(found, "x"), found, tuple(int(k) for k in np.argsort(order)))
    return back if out is None else copy_to(function, (back,), (out,), stream)[0]


def _turn(x: Any, order: tuple[int, ...], stream: Any) -> Any:
    """Return a view of an array with its axes in another order; of one that has not as many, itself."""
    given = arguments.facts_of(evaluate(x, stream=stream) if isinstance(x, LazyArray) else x, "x")
    return memory.transpose(given, given.owner, order) if len(given.shape) == len(order) else given.owner


__all__ = ["along_last"]
