"""Attention for decoding (bfloat16, 32 heads of 128 elements) beside torch's cuDNN and flash back ends. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

SHAPES = [
    "1x8x1024", "1x8x4096", "1x8x16384", "1x8x65536", "1x4x16384", "1x2x32768", "1x1x65536", "4x8x4096", "8x8x4096", "8x8x16384",
    "16x8x8192", "16x4x8192", "16x1x16384", "32x8x2048", "32x8x8192", "64x8x1024", "64x4x4096", "64x2x8192", "128x8x1024",
    "128x1x4096",
]  # fmt: skip


def _row(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("attention_decode"), shape=shape, fault="")


class Time:
    """Microseconds on the device; a shape is sequences x heads of keys x keys."""

    params = (["prism", "cudnn", "flash"], SHAPES)
    param_names = ("impl", "shape")

    @raw.tracked("us")
    def track_us(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["us"], impl)


class Ratio:
    """The time by cuDNN's: 1 is parity, less is faster."""

    params = (SHAPES,)
    param_names = ("shape",)

    @raw.tracked("x (prism/cudnn)")
    def track_vs_cudnn(self, shape: str) -> float:
        return 1.0 / raw.number(_row(shape)["ratio"], "cudnn")
