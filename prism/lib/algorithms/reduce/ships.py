"""Which kernels of reductions ship: of all dtypes, by every operator that has a name; along axes, by NumPy's functions.

Of both extremes at once those of whole arrays ship, and so do products of integers, which soon pass 2^64 along an axis. What asks
whether elements are true, along an axis, ships for bools: of other types it is rare.
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
from prism.runtime.arrays import BFLOAT16
from prism.runtime.instance import Instance

DTYPES = (*(np.dtype(name) for name in (*NATIVE, "float16", "bool")), BFLOAT16)


def ships_along(what: Reduction, dtype: np.dtype[Any]) -> bool:
    """Whether the kernels of a reduction along an axis ship for a dtype."""
    return dtype.kind == "b" if what.truth else what.name != "prod" or dtype.kind not in "biu"


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for what, dtype in itertools.product((*NAMED, *OPERATORS), DTYPES):
        if (work := work_of(what, dtype)) is not None:
            yield from all_whole(work, gpu)
            if what in NAMED and ships_along(what, dtype):
                yield from all_along(work)
    for largest, dtype in itertools.product((True, False), DTYPES):
        yield from all_searches(search := search_of(largest, dtype))
        yield seeker(search)
    for dtype in DTYPES:
        yield seeker_of_both(search_of(False, dtype), search_of(True, dtype))
        if (both := work_of(EXTREMES, dtype)) is not None and dtype.name in ("int32", "int64", "float32", "float64"):
            yield from all_whole(both, gpu)
