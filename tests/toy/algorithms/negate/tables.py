"""How many threads negate: what `prism tune negate` measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.kernels.negate import DEVICE, Configuration
from prism.lib.algorithms.negate.plan import plan
from prism.lib.tune import DTYPES, Table
from prism.lib.tune_device import Timer, values


def _measure(timer: Timer, size: int, choice: Any) -> Mapping[str, float]:
    x = values(DTYPES[size])
    target = (1 << 26, x.dtype, 0, -x[0])
    return {"": timer.time(TABLE, size, choice, lambda: plan(DTYPES[size], (1 << 26) // size), (x, 1 << 26), target)}


TABLE = Table(
    "DEVICE",
    "kernels/negate/__init__.py",
    DEVICE,
    lambda size: [DEVICE[size], *(Configuration(threads) for threads in (32, 64, 128, 512, 1024))],
    _measure,
)
