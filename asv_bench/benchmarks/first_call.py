"""The first call of a function of the library in a new process, in which CUDA has begun already."""

from __future__ import annotations

from benchmarks import raw


class FirstCall:
    """Milliseconds of the call, and of importing Prism and the function before it."""

    params = (["sum", "scan", "max axis", "sgemm", "hgemm"], ["artifacts", "compiled", "cached"])
    param_names = ("call", "way")

    @raw.tracked("ms")
    def track_call_ms(self, call: str, way: str) -> float:
        return raw.number(raw.read("first_call").get(call, {}).get(way, {}), "call_ms")

    @raw.tracked("ms")
    def track_import_ms(self, call: str, way: str) -> float:
        return raw.number(raw.read("first_call").get(call, {}).get(way, {}), "import_ms")
