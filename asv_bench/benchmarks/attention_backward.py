"""Attention's backward (bfloat16, 16,384 tokens, hidden 2048) beside torch's cuDNN and flash back ends. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

SHAPES = [
    "128x16384", "128x16384c", "64x16384", "64x16384c", "128x4096", "128x4096c", "128x2048", "128x2048c",
    "64x4096", "64x4096c", "64x2048", "64x2048c", "256x16384", "256x16384c",
]  # fmt: skip


def _row(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("attention_backward"), shape=shape, fault="")


class Time:
    """Microseconds on the device, of all launches; `again`: Prism's with the same bits each time."""

    params = (["prism", "again", "cudnn", "flash"], SHAPES)
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
