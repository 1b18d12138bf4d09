"""Activations, rotary positions, cross-entropy and quantisation beside torch's and a copy, kernels alone."""

from __future__ import annotations

from typing import Any

from benchmarks import raw


def _named(*calls: tuple[str, str, int, int]) -> dict[str, tuple[str, str, int, int]]:
    return {f"{what} {dtype} {rows} x {n}": (what, dtype, rows, n) for what, dtype, rows, n in calls}


CALLS = _named(
    *((f"swiglu{what}", "bfloat16", 16_384, 8192) for what in ("", " of halves", "_backward")),
    *((f"gelu{what}", "bfloat16", 16_384, 8192) for what in ("", "_backward")),
    ("gelu", "float32", 16_384, 4096), ("swiglu", "float32", 16_384, 4096), ("swiglu of halves", "bfloat16", 5000, 22_016),
    ("cross_entropy", "bfloat16", 4096, 32_768), ("cross_entropy_backward", "bfloat16", 4096, 32_768),
    ("cross_entropy", "bfloat16", 2048, 131_072), ("cross_entropy_backward", "bfloat16", 2048, 131_072),
    ("cross_entropy", "bfloat16", 4096, 50_257), ("cross_entropy_backward", "bfloat16", 4096, 50_257),
    ("cross_entropy", "float32", 4096, 32_768), ("cross_entropy", "bfloat16", 65_536, 1024),
    ("cross_entropy", "bfloat16", 128, 1 << 20),
    ("rope", "bfloat16", 16_384, 4096), ("rope", "float32", 16_384, 4096),
    *((f"quantize {what}", "bfloat16", 16_384, 8192) for what in ("rows", "groups of 128", "a tensor")),
    ("quantize rows", "bfloat16", 30_000, 1536),
)  # fmt: skip
HELD_OUT = _named(
    ("swiglu", "bfloat16", 9000, 13_824), ("swiglu_backward", "bfloat16", 9000, 27_648), ("gelu", "float16", 20_000, 5120),
    ("cross_entropy", "bfloat16", 3000, 151_936), ("cross_entropy_backward", "bfloat16", 3000, 151_936),
    ("cross_entropy", "bfloat16", 10_000, 32_000), ("cross_entropy", "float16", 5000, 49_152), ("rope", "bfloat16", 10_240, 5120),
    ("quantize rows", "bfloat16", 20_000, 5120), ("quantize groups of 128", "bfloat16", 20_000, 7168),
    ("quantize rows", "float16", 9000, 14_336),
)  # fmt: skip
"""By name: the call, elements, rows and their length; and those that nothing was chosen by."""


def _row(call: str) -> dict[str, Any]:
    return raw.row(raw.read("layers")["layers"], call=call)


class Speed:
    """TB/s of what must be read and written. Higher is better."""

    params = (["prism", "torch", "compiled", "copy"], [*CALLS, *HELD_OUT])
    param_names = ("impl", "call")

    @raw.tracked("TB/s")
    def track_speed(self, impl: str, call: str) -> float:
        return raw.number(_row(call), impl)


class Ratio:
    """The time by torch's: 1 is parity, less is faster."""

    params = ([*CALLS, *HELD_OUT],)
    param_names = ("call",)

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, call: str) -> float:
        found = _row(call)
        return raw.number(found, "torch") / raw.number(found, "prism")
