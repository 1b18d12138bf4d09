"""Attention for decoding (bfloat16, 32 heads of 128 elements) beside torch's cuDNN and flash back ends. Lower is better.

A shape is sequences x heads of keys x keys; r: sequences have any lengths up to that.
"""

from __future__ import annotations

from typing import Any

from benchmarks import raw

SHAPES = [
    "1x8x1024", "1x8x4096", "1x8x16384", "1x8x65536", "1x4x16384", "1x2x32768", "1x1x65536", "4x8x4096", "8x8x4096", "8x8x16384",
    "16x8x8192", "16x4x8192", "16x1x16384", "32x8x2048", "32x8x8192", "64x8x1024", "64x4x4096", "64x2x8192", "128x8x1024",
    "128x1x4096",
]  # fmt: skip
HELD_OUT = [
    "2x8x6000", "3x4x10000", "6x2x20000", "7x8x2500", "12x1x30000", "18x4x5000", "40x8x3072", "50x2x6144", "90x1x3000",
    "120x8x1536", "24x8x8000r", "100x4x3000r",
]  # fmt: skip
"""Shapes that nothing was chosen by."""
PEERS = ("cudnn", "flash")


def _row(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("attention_decode"), shape=shape, fault="")


class Time:
    """Microseconds on the device, calls back to back."""

    params = (["prism", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("us", "2")
    def track_us(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["us"], impl)


class Alone:
    """Microseconds of one call after another library's kernel."""

    params = (["prism", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("us")
    def track_us(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["alone"], impl)


class Speed:
    """Keys and values read, in GB/s."""

    params = (["prism", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("GB/s")
    def track_gbs(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["gbs"], impl)


class Ratio:
    """The time by cuDNN's: 1 is parity, less is faster."""

    params = ([*SHAPES, *HELD_OUT],)
    param_names = ("shape",)

    @raw.tracked("x (prism/cudnn)", "2")
    def track_vs_cudnn(self, shape: str) -> float:
        return 1.0 / raw.number(_row(shape)["ratio"], "cudnn")
