"""Attention (16,384 tokens, heads times elements 2048) beside cuDNN, flash and FlashAttention-4. Lower is better.

A shape: a head's elements, the length, c of what is causal, h of float16, not bfloat16, /4 where so many heads share one of keys
and values, b of 8-bit floats, which torch has no attention of: cuDNN's is of the same numbers in bfloat16.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from benchmarks import raw

SHAPES = [
    "128x16384", "128x16384c", "128x4096", "128x4096c", "128x2048", "128x2048c", "128x1024", "128x1024c", "128x512", "128x512c",
    "64x16384", "64x16384c", "64x2048", "64x2048c", "256x16384", "256x16384c", "256x4096", "256x4096c", "96x16384", "96x2048c",
    "192x16384", "192x2048c", "128x4096/4", "128x4096c/4", "128x2048c/16",
    "128x16384h", "128x16384ch", "128x16384b", "128x16384cb", "128x2048b", "64x16384b", "256x16384b",
]  # fmt: skip
HELD_OUT = [
    "128x12000", "128x12000h", "128x12000c", "128x6000h", "128x6000c", "128x3000", "128x3000c", "128x3000ch", "128x1500/8",
    "128x1500ch/2", "64x12000", "64x7000c", "64x3000h", "64x700c", "80x5000", "96x6000ch", "96x500h", "160x3500c", "192x6000h",
    "192x3000c", "256x6000", "256x3000ch", "112x6000b", "128x6000b", "128x3000cb",
]  # fmt: skip
"""Shapes that nothing was chosen by."""
PEERS = ("cudnn", "flash", "fa4")
"""torch's back ends; FlashAttention-4, where its package `flash-attn-4` is installed."""
TOKENS, HIDDEN = 16_384, 2048


@dataclass(frozen=True)
class Shape:
    """What is measured."""

    dim: int
    length: int
    causal: bool = False
    half: bool = False
    share: int = 1
    bytes: bool = False

    @property
    def batches(self) -> int:
        """Of so many tokens together as there are at most."""
        return TOKENS // self.length

    @property
    def heads(self) -> int:
        """Of so many elements together as there are at most; a multiple of those that share one."""
        return HIDDEN // self.dim // self.share * self.share

    @property
    def operations(self) -> float:
        """Of two products, of which a causal one needs half."""
        whole = 4.0 * self.batches * self.heads * self.length**2 * self.dim
        return whole / 2 if self.causal else whole


def parse_shape(text: str) -> Shape:
    """Return what a shape's name says."""
    found = re.fullmatch(r"(\d+)x(\d+)(c?)(h?)(b?)(?:/(\d+))?", text)
    if found is None:
        raise ValueError(f"no shape of attention: {text}")
    dim, length, causal, half, bytes_, share = found.groups()
    return Shape(int(dim), int(length), bool(causal), bool(half), int(share or 1), bool(bytes_))


def _row(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("attention"), shape=shape, fault="")


def best(times: dict[str, float]) -> float:
    """Return Prism's time by that of the fastest peer."""
    peers = [times[name] for name in PEERS if times.get(name) is not None]
    if not peers:
        raise NotImplementedError("no peer was measured")
    return raw.number(times, "prism") / min(peers)


class Time:
    """Microseconds on the device, Prism's and torch's, calls back to back."""

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


class Error:
    """The root of the mean square of errors, of sampled rows, against float64."""

    params = (["prism", *PEERS], [*SHAPES, *HELD_OUT])
    param_names = ("impl", "shape")

    @raw.tracked("rms")
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
