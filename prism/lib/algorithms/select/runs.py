"""Runs of equal elements, with which of them each element is in, and how many each has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prism.host import arguments
from prism.host.lazies import LazyArray
from prism.lib.algorithms.cumulative.api import cumsum
from prism.lib.algorithms.select import calls
from prism.lib.lazy.array import at, of, of_number
from prism.lib.lazy.places import choose, positions
from prism.runtime.arrays import is_array


def unique_runs(x: Any, inverse: bool, counts: bool, mode: calls.Mode, stream: Any) -> tuple[Any, ...]:
    """Return the first element of each run; which run each element is in; how many there are in each; how many runs there are.

    The second and third where they are asked for, the last one as the mode says.

    Raises:
        TypeError: elements are neither bools nor numbers.
    """
    x = arguments.array_of(x)
    x = x if is_array(x) or isinstance(x, LazyArray) else np.asarray(x)
    which = (_inverse(x, stream),) if inverse else ()
    if not counts:
        found = calls.unique(x, mode, stream)
        values, *number = found if mode.count else (found,)
        return (values, *which, *number)
    values, lengths, *number = calls.encode(_flat(x), mode, stream)
    return (values, *which, lengths, *number)


def _inverse(x: Any, stream: Any) -> Any:
    """Return which run each element is in: how many begin behind the first element, up to it."""
    given = of(x)
    shape = given.shape
    begins = choose(positions(shape) == 0, of_number(False, None, shape), given != at(given, positions(shape, -1)))
    found = cumsum(begins, dtype="int64", stream=stream)
    return found.reshape(shape)


def _flat(x: Any) -> Any:
    """Return elements in C order, along one axis."""
    if len(x.shape) == 1:
        return x
    return at(of(x), positions((math.prod(x.shape),))) if isinstance(x, LazyArray) else x.reshape(-1)


__all__ = ["unique_runs"]
