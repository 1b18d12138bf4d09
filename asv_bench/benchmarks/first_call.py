"""The first call of a function of each algorithm in a new process, in which CUDA has begun already."""

from __future__ import annotations

from benchmarks import raw
from prism.lib.cases import usual_cases


class FirstCall:
    """Milliseconds of the call, and of importing Prism and the function before it."""

    params = ([str(case) for case in usual_cases()], ["artifacts", "compiled", "cached"])
    param_names = ("call", "way")

    @raw.tracked("ms")
    def track_call_ms(self, call: str, way: str) -> float:
        return raw.number(raw.read("first_call").get(call, {}).get(way, {}), "call_ms")

    @raw.tracked("ms")
    def track_import_ms(self, call: str, way: str) -> float:
        return raw.number(raw.read("first_call").get(call, {}).get(way, {}), "import_ms")
