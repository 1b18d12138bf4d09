"""Attention's backward (16,384 tokens, heads times elements 2048) beside torch's cuDNN and flash back ends. Lower is better.

What a shape says: attention.py. A call is all launches of Prism's, or of torch's.
"""

from __future__ import annotations

from typing import Any

from benchmarks import raw
from benchmarks.attention import PEERS, best

SHAPES = [
    "128x16384", "128x16384c", "64x16384", "64x16384c", "128x4096", "128x4096c", "128x2048", "128x2048c",
    "64x4096", "64x4096c", "64x2048", "64x2048c", "256x16384", "256x16384c",
]  # fmt: skip
HELD_OUT = [
    "128x12000", "128x12000c", "128x12000h", "128x6000", "128x6000c", "128x6000ch", "128x3000", "128x3000c", "64x12000",
    "64x12000h", "64x6000c", "64x6000ch", "64x3000", "64x3000c", "128x6000c/4", "128x3000/8", "64x6000/4", "96x6000c",
    "96x6000h", "192x6000", "192x6000ch", "256x6000h",
]  # fmt: skip
"""Shapes that nothing was chosen by."""


def _row(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("attention_backward"), shape=shape, fault="")


class Time:
    """Microseconds on the device, of all launches, calls back to back; `again`: Prism's with the same bits each time."""

    params = (["prism", "again", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("us")
    def track_us(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["us"], impl)


class Alone:
    """Microseconds of one call after another library's kernel."""

    params = (["prism", "again", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("us")
    def track_us(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["alone"], impl)


class Error:
    """The error of the gradient that is furthest off, by its norm, against float64."""

    params = (["prism", "again", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("of the norm")
    def track_error(self, impl: str, shape: str) -> float:
        return raw.number(_row(shape)["error"], impl)


class Ratio:
    """The time by the fastest peer's: 1 is parity, less is faster."""

    params = ([*SHAPES, *HELD_OUT],)
    param_names = ("shape",)

    @raw.tracked("x (prism/best)")
    def track_vs_best(self, shape: str) -> float:
        return best(_row(shape)["us"])

    @raw.tracked("x (prism/best)")
    def track_alone_vs_best(self, shape: str) -> float:
        return best(_row(shape)["alone"])
