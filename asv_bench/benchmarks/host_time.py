"""The host's time of a warm call with `out=`, of every function that takes it, with arrays of CuPy and torch."""

from __future__ import annotations

from benchmarks import raw
from prism.lib.cases import cases

CALLS = [str(case) for case in cases() if case.out]
LOGS = [10, 14, 20]


class WarmCall:
    """Microseconds of a call that came before, the GPU idle before a batch of them; goal: 6."""

    params = (["cupy", "torch"], CALLS, LOGS)
    param_names = ("library", "call", "log2 of the elements")

    @raw.tracked("us")
    def track_us(self, library: str, call: str, log: int) -> float:
        rows = raw.read("host_time")["host_time"]
        return raw.number(raw.row(rows, library=library, call=f"{call} (out=)", log2=log), "us")
