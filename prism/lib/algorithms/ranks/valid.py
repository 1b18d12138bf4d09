"""How many elements of rows are no NaN: what ranks are counted of by the functions that leave NaN out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from prism.host.lazies import LazyInfo
from prism.host.plan import Machine, Plan
from prism.runtime.arrays import ArrayInfo, describe


def counts_valid(info: ArrayInfo) -> bool:
    """Whether `valid_plan` takes an array: it has no gaps, in C order, and is none that is computed."""
    return info.contiguous and info.natural and not isinstance(info, LazyInfo)


def valid_plan(info: ArrayInfo, axis: Any, machine: Machine) -> Plan:
    """Return the plan that counts the elements of an array, or along axes, that are no NaN: of what `counts_valid` takes."""
    from prism.lib.algorithms.reduce.api import COUNT
    from prism.lib.algorithms.reduce.calls import decide_reduction
    from prism.lib.algorithms.transform.calls import bind_steps, stand_in
    from prism.lib.lazy.array import of

    placed = {"x": stand_in(info, 0)}
    lazy = of(placed["x"], "a")
    view = describe(lazy == lazy)
    assert isinstance(view, LazyInfo)
    found = decide_reduction(COUNT, view, axis, False, None, None, None, "a", machine).plan
    assert found is not None
    return replace(found, steps=bind_steps(found.steps, {"x": view}, placed, machine.arch))


def count_valid(a: Any, axis: Any, stream: Any) -> Any:
    """Return how many elements of any array, or along axes, are no NaN, as an array."""
    from prism.lib.algorithms.reduce.api import count_nonzero
    from prism.lib.lazy.array import of

    lazy = of(np.asarray(a) if isinstance(a, list | tuple | np.generic) else a, "a")
    found = count_nonzero(lazy == lazy, axis=axis, stream=stream)
    return np.asarray(found) if isinstance(found, np.generic | int) else found


__all__ = ["count_valid", "counts_valid", "valid_plan"]
