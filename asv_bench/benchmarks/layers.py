"""Activations, rotary positions, cross-entropy and quantisation beside torch and a device copy. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

CALLS: dict[str, tuple[str, str, int, int]] = {
    f"{what} {dtype} {rows} x {n}": (what, dtype, rows, n)
    for what, dtype, rows, n in (
        *((f"swiglu{what}", "bfloat16", 16_384, 8192) for what in ("", " of halves", "_backward")),
        *((f"gelu{what}", "bfloat16", 16_384, 8192) for what in ("", "_backward")),
        ("gelu", "float32", 16_384, 4096), ("swiglu", "float32", 16_384, 4096), ("swiglu of halves", "bfloat16", 5000, 22_016),
        ("cross_entropy", "bfloat16", 4096, 32_768), ("cross_entropy_backward", "bfloat16", 4096, 32_768),
        ("cross_entropy", "bfloat16", 2048, 131_072), ("cross_entropy_backward", "bfloat16", 2048, 131_072),
        ("cross_entropy", "bfloat16", 4096, 50_257), ("cross_entropy_backward", "bfloat16", 4096, 50_257),
        ("cross_entropy", "float32", 4096, 32_768), ("cross_entropy", "bfloat16", 65_536, 1024),
        ("cross_entropy", "bfloat16", 8, 1 << 20),
        ("rope", "bfloat16", 16_384, 4096), ("rope", "float32", 16_384, 4096),
        *((f"quantize {what}", "bfloat16", 16_384, 8192) for what in ("rows", "groups of 128", "a tensor")),
        ("quantize rows", "bfloat16", 30_000, 1536),
    )
}  # fmt: skip
"""By name: the call, elements, rows and their length."""


def _row(call: str) -> dict[str, Any]:
    return raw.row(raw.read("layers")["layers"], call=call)


class Share:
    """Prism's time by a device copy's of as many bytes as must be moved: 1 is a copy's speed."""

    params = (list(CALLS),)
    param_names = ("call",)

    @raw.tracked("x (prism/copy)")
    def track_vs_copy(self, call: str) -> float:
        return raw.number(_row(call), "prism") / raw.number(_row(call), "copy")


class Ratio:
    """Prism's time by torch's: 1 is parity, less is faster."""

    params = (list(CALLS),)
    param_names = ("call",)

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, call: str) -> float:
        return raw.number(_row(call), "prism") / raw.number(_row(call), "torch")
