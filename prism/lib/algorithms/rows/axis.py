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
    function: str, x: Any, axis: Any, make: Callable[[Any, Any], Any], out: Any, stream: Any
) -> Any:
    """Return what `make(x, out)` does along the last axis, of an array whose rows are along `axis`.

    Raises:
        ValueError: the array has no such axis (`AxisError`).
    """
    shape = x.shape if isinstance(x, LazyArray) else arguments.facts_of(x, "x").shape
    if not shape:
        raise ValueError("`x` has no axes: there are no rows")
    along = normal_axis(axis, len(shape))
    if along == len(shape) - 1:
        return make(x, out)
    taken = evaluate(x, stream=stream) if isinstance(x, LazyArray) else x
    order = (*(k for k in range(len(shape)) if k != along), along)
    given = arguments.facts_of(taken, "x")
    found = make(memory.transpose(given, given.owner, order), None)
    back = memory.transpose(given, found, tuple(int(k) for k in np.argsort(order)))
    return back if out is None else copy_to(function, (back,), (out,), stream)[0]


__all__ = ["along_last"]
