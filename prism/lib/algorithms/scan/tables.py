"""How long scans of one dimension are cut into tiles, by the bytes of an element: what `prism tune scan` measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host.plan import Plan
from prism.kernels.scan import configurations
from prism.lib import operators
from prism.lib.algorithms.scan import plan
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.tune import DTYPES, Table
from prism.lib.tune_device import Timer, by_bytes, sums, values


def _seconds(timer: Timer, size: int, choice: Any, nbytes: int) -> float:
    kind, n = DTYPES[size], nbytes // size
    task = Task(operators.add, kind, kind)

    def make() -> Plan:
        return plan.plan(plan.many_tiles(task, Shape(1, n, 1, True)), task, task.identity(), timer.gpu)

    x = values(kind)
    total = np.cumsum(np.resize(x, n) if n < 1 << 16 else sums(x, n), dtype=x.dtype)[-1]
    return timer.time(TABLE, size, choice, make, (x, nbytes), (nbytes, x.dtype, n - 1, total))


TABLE = Table(
    "DEVICE", "kernels/scan/configurations.py", configurations.DEVICE, configurations.candidates, by_bytes(_seconds)
)
