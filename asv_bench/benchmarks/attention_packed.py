"""Attention of packed sequences (bfloat16, heads times elements 2048) beside torch's flash kernel. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

LENGTHS = {
    "equal8192": [8192] * 2, "equal2048": [2048] * 8, "equal512": [512] * 32, "equal128": [128] * 128,
    "skewed": [8192, 4096, 2048, 1024, 512, 256, 128, 128],  # each half as long as the one before
    "rising": [128, 128, 256, 512, 1024, 2048, 4096, 8192], "one_long": [6144] + [160] * 64,
    "uneven": [61 + 131 * (i * 7 % 31) for i in range(8)],
}  # fmt: skip
"""Of 16,384 tokens or so."""
DIMS = (128, 64)
MASKS = ("full", "causal")


def _row(lengths: str, dim: int, mask: str) -> dict[str, Any]:
    return raw.row(raw.read("attention_packed"), lengths=lengths, dim=dim, causal=mask == "causal", fault="")


class Time:
    """Microseconds on the device. `batch`: Prism's, of the same arrays with four axes, where lengths are equal."""

    params = (["prism", "torch", "batch"], list(LENGTHS), list(DIMS), list(MASKS))
    param_names = ("impl", "lengths", "dim", "mask")

    @raw.tracked("us")
    def track_us(self, impl: str, lengths: str, dim: int, mask: str) -> float:
        return raw.number(_row(lengths, dim, mask)["us"], impl)


class Ratio:
    """The time by torch's: 1 is parity, less is faster."""

    params = (list(LENGTHS), list(DIMS), list(MASKS))
    param_names = ("lengths", "dim", "mask")

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, lengths: str, dim: int, mask: str) -> float:
        return 1.0 / raw.number(_row(lengths, dim, mask)["ratio"], "torch")
