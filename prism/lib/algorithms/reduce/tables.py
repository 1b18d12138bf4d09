"""How reductions of long whole arrays are cut up, by the bytes of an element: what `prism tune reduce` measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host.axes import collapse
from prism.host.plan import Plan
from prism.kernels.reduce import configurations
from prism.lib import operators
from prism.lib.algorithms.reduce.plan import plan_reduction
from prism.lib.algorithms.reduce.steps import Work
from prism.lib.algorithms.scan.plan import number_of
from prism.lib.tune import DTYPES, Table
from prism.lib.tune_device import Timer, by_bytes, sums, values


def _seconds(timer: Timer, size: int, choice: Any, nbytes: int) -> float:
    kind, n = DTYPES[size], nbytes // size
    given = np.dtype(kind)
    wide = np.dtype("uint64") if given.kind == "u" else given

    def make() -> Plan:
        zero = number_of(operators.add.identity_of(wide))
        stage = collapse((n,), (1,), (0,))
        assert stage is not None
        work = Work(operators.add, kind, wide.name, wide.name, zero, zero)
        return plan_reduction(work, [stage], 0, timer.gpu)

    x = values(kind)
    total = np.sum(sums(x.astype(wide), n))
    return timer.time(TABLE, size, choice, make, (x, nbytes), (wide.itemsize, wide, 0, total))


TABLE = Table(
    "DEVICE", "kernels/reduce/configurations.py", configurations.DEVICE, configurations.candidates, by_bytes(_seconds)
)
