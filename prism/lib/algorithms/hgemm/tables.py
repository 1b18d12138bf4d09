"""Which tiles products of measured shapes take: what `prism tune hgemm` measures."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host.machine import Ready
from prism.host.plan import OUT
from prism.kernels.hgemm.candidates import candidates, near_best, parse_shape, parse_size
from prism.kernels.hgemm.configurations import MEASURED, PROCESSORS
from prism.kernels.hgemm.singles import choose_single
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.tune import Table, Unusable
from prism.lib.tune_device import L2, Timer, matrix
from prism.runtime.compile import MachineCodeError
from prism.runtime.driver import DeviceError


def _measure(timer: Timer, shape: str, choice: Any) -> Mapping[str, float]:
    (m, n, k), outside = parse_shape(shape)
    x = np.random.default_rng(0).integers(-2, 3, 1 << 20).astype(np.float16)
    sizes = (2 * m * k, 2 * k * n, 2 * m * n)
    copies = max(2, -(-2 * L2 // sum(sizes)))
    with contextlib.ExitStack() as held:
        a, b, y = (held.enter_context(timer.memory(copies * size, x)) for size in sizes)

        try:
            shapes = zip((a, b, y), ((m, k), (k, n), (m, n)), (outside[0], not outside[1], False), strict=True)
            left, right, out = (
                matrix(address, *shape, timer.device.ordinal, transposed) for address, shape, transposed in shapes
            )
            plan = decide_hgemm({"a": left, "b": right}, out, timer.gpu, cut=choice).plan
            assert plan is not None
            ready = Ready(plan, ("a", "b", OUT), left)

            def launch(i: int) -> None:
                places = zip((a, b, y), sizes, strict=True)
                ready(tuple(address + i % copies * size for address, size in places), timer.stream)

            launch(0)
            return {"": timer.seconds(launch)}
        except (MachineCodeError, DeviceError, ValueError) as error:
            raise Unusable(str(error).splitlines()[0]) from error


def _every(shape: str) -> list[Any]:
    """Return what is tried for any shape and layout: the library's choice, and all that the model has near the best."""
    size, layout = parse_shape(shape)
    present = choose_single(*size, PROCESSORS, layout)
    return list(dict.fromkeys([present, *near_best(*size, PROCESSORS, layout)]))


TABLE = Table(
    "MEASURED",
    "kernels/hgemm/configurations.py",
    MEASURED,
    lambda shape: candidates(*parse_size(shape)),
    _measure,
    every=_every,
)
