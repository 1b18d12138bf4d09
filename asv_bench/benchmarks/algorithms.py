"""Every algorithm beside CuPy and torch: the cases of the manifest that have peers. Lower is better."""

from __future__ import annotations

from benchmarks import raw
from prism.lib.cases import cases

CALLS = [str(case) for case in cases() if case.peers]
LOGS = [20, 24, 28]


class Latency:
    """Microseconds of one call that makes its result, one after the other."""

    params = (["prism", "cupy", "torch"], CALLS, LOGS)
    param_names = ("impl", "call", "log2 size")

    @raw.tracked("us")
    def track_us(self, impl: str, call: str, log2: int) -> float:
        return raw.number(raw.row(raw.read("algorithms")["algorithms"], case=call, log2=log2), impl, 1e6)
