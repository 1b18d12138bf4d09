"""Which kernels of segments ship: sums, of the dtypes that are most used."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from prism.host.plan import Machine
from prism.kernels.scan import BITS, mark
from prism.lib import operators
from prism.lib.algorithms.scan import plan
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.algorithms.scan.ships import COMMON, kernel_of
from prism.lib.algorithms.segments.api import MEDIUM, NARROW, THREADS, way_of
from prism.runtime.instance import Instance, instance

_MANY = 1 << 16  # segments; of few, a block takes each, as of long ones


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for offsets in ("int32", "int64"):
        yield instance(mark, (("TI", offsets), ("THREADS", THREADS)))
    for dtype in COMMON:
        task = Task(operators.add, dtype, dtype)
        yield kernel_of(plan.segments(task, Shape(1, 1 << 20, 1, True), BITS, 0, "uint32"))
        task = replace(task, exclusive=True)
        for each, offsets in itertools.product((1, NARROW, MEDIUM, MEDIUM + 1), ("int32", "int64")):
            kernel, template, _ = way_of(task, _MANY * each, _MANY, 1)
            yield instance(kernel, tuple({**template, "O": offsets}.items()))
