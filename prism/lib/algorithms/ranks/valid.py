"""How many elements of rows are no NaN: what ranks are counted of by the functions that leave NaN out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, call
from prism.host.lazies import LazyInfo
from prism.host.plan import Machine
from prism.lib.algorithms.ranks.calls import native, require_order
from prism.lib.algorithms.ranks.quantiles import is_float
from prism.runtime.arrays import ArrayInfo, describe


def count_valid(a: Any, axis: Any, stream: Any) -> Any:
    """Return how many elements of an array, or along axes, are no NaN; None where none can be one.

    Raises:
        TypeError: it is no array, or of elements without an order.
        AxisError: there is no such axis.
    """
    asked = ("elements that are no NaN", axis, type(axis))
    if stream is None and (known := repeat.run(asked, a)) is not None:
        return known
    from prism.lib.algorithms.reduce.api import COUNT, count_nonzero
    from prism.lib.algorithms.reduce.calls import decide_reduction
    from prism.lib.algorithms.transform.calls import bind_steps, stand_in
    from prism.lib.lazy.array import of

    info = arguments.facts_of(a, "a")
    require_order(info)
    if not is_float(native(info)):
        return None
    given = np.asarray(a) if isinstance(a, list | tuple | np.generic) else a
    if isinstance(info, LazyInfo) or not (info.contiguous and info.natural):
        lazy = of(given, "a")
        return _as_array(count_nonzero(lazy == lazy, axis=axis, stream=stream))

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        placed = {"x": stand_in(arrays["x"], 0)}
        lazy = of(placed["x"], "a")
        view = describe(lazy == lazy)
        assert isinstance(view, LazyInfo)
        found = decide_reduction(COUNT, view, axis, False, None, None, result, "a", machine)
        if found.plan is None:
            return found
        return replace(
            found, plan=replace(found.plan, steps=bind_steps(found.plan.steps, {"x": view}, placed, machine.arch))
        )

    return _as_array(call("count_nonzero", asked, {"x": given}, decide, None, stream, called={"x": "a"}))


def _as_array(found: Any) -> Any:
    return np.asarray(found) if isinstance(found, np.generic | int) else found


__all__ = ["count_valid"]
