"""Which kernels of runs of equal keys ship: sums, of the dtypes that are most used, by integers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.scan import KEYS
from prism.lib import operators
from prism.lib.algorithms.scan import plan
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.algorithms.scan.ships import COMMON, kernel_of
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for dtype, key in itertools.product(COMMON, ("uint32", "uint64")):  # signs of keys don't matter
        task = Task(operators.add, dtype, dtype)
        yield kernel_of(plan.segments(task, Shape(1, 1 << 20, 1, True), KEYS, 0, key, keys_aligned=True))
        yield kernel_of(plan.runs(task, 1 << 20, True, key, keys_aligned=True))
