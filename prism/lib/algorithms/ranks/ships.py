"""Which kernels of ranks ship: medians and elements of a rank, of usual types."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from prism.host.axes import Collapsed
from prism.host.plan import Machine, Scratch, Step
from prism.lib.algorithms.ranks.plan import Rows, Wanted, find
from prism.lib.algorithms.ranks.quantiles import median_of
from prism.lib.algorithms.topk.plan import Task
from prism.lib.algorithms.topk.ships import UnaskedGpu
from prism.runtime.instance import Instance

_TYPES = ("int32", "int64", "float32", "float64")
_SIZES = (1 << 10, 1 << 20, 1 << 28)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    found: dict[Instance, None] = {}
    machine = UnaskedGpu(gpu)
    for scalar in _TYPES:
        for n in _SIZES:
            rows = Rows(Task(scalar), Collapsed(1, n, 1, 0, 1, 0, 1, 1), 0)
            for wanted in (Wanted(n // 2, n // 2), median_of(n, np.dtype(scalar))):
                for step in find(rows, wanted, machine, Scratch()):
                    assert isinstance(step, Step)
                    found[step.instance] = None
    yield from found


__all__ = ["instances"]
