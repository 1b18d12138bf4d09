"""Which kernels of reductions ship: of whole arrays, by every operator that has a name; along axes, by NumPy's functions.

Of whole arrays, and sums along an axis, for all dtypes. Along an axis also extremes, and searches for them, for those that most
arrays have, images among them; products, which soon pass what a type holds, for float32 and float64; what asks whether elements
are true, for bools. Of both extremes at once those of whole arrays ship. All others are compiled when they are first asked for,
which takes some 0.3 s, once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from prism.host.plan import Machine
from prism.lib.algorithms.reduce.api import EXTREMES, NAMED, OPERATORS
from prism.lib.algorithms.reduce.axis_plan import all_along, all_searches
from prism.lib.algorithms.reduce.calls import Reduction, search_of, work_of
from prism.lib.algorithms.reduce.plan import all_whole, seeker, seeker_of_both
from prism.lib.algorithms.scan.api import NATIVE
from prism.lib.algorithms.scan.ships import USUAL
from prism.runtime.arrays import BFLOAT16
from prism.runtime.instance import Instance

DTYPES = (*(np.dtype(name) for name in (*NATIVE, "float16", "bool")), BFLOAT16)
_ORDERED = (*USUAL, "uint8", "bool")
"""The dtypes whose extremes along an axis ship, with their positions."""


def ships_along(what: Reduction, dtype: np.dtype[Any]) -> bool:
    """Whether the kernels of a reduction along an axis ship for a dtype."""
    if what.truth:
        return dtype.kind == "b"
    if what.name == "prod":
        return dtype.name in ("float32", "float64")
    return what.name == "sum" or ships_search_along(dtype)


def ships_search_along(dtype: np.dtype[Any]) -> bool:
    """Whether those that find extremes along an axis do."""
    return dtype == BFLOAT16 or dtype.name in _ORDERED


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for what, dtype in itertools.product((*NAMED, *OPERATORS), DTYPES):
        if (work := work_of(what, dtype)) is not None:
            yield from all_whole(work, gpu)
            if what in NAMED and ships_along(what, dtype):
                yield from all_along(work)
    for largest, dtype in itertools.product((True, False), DTYPES):
        search = search_of(largest, dtype)
        yield seeker(search)
        if ships_search_along(dtype):
            yield from all_searches(search)
    for dtype in DTYPES:
        yield seeker_of_both(search_of(False, dtype), search_of(True, dtype))
        if (both := work_of(EXTREMES, dtype)) is not None and dtype.name in ("int32", "int64", "float32", "float64"):
            yield from all_whole(both, gpu)
