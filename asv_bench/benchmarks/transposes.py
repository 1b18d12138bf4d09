"""Transposes and permutations beside torch's and a device copy. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

Call = tuple[str, tuple[int, ...], tuple[int, ...]]
CALLS: dict[str, Call] = {
    f"{dtype} {' x '.join(str(extent) for extent in shape)} to {''.join(map(str, axes))}": (dtype, shape, axes)
    for dtype, shape, axes in (
        ("float32", (8192, 8192), (1, 0)), ("bfloat16", (16384, 8192), (1, 0)), ("uint8", (16384, 16384), (1, 0)),
        ("float64", (8192, 4096), (1, 0)), ("complex128", (4096, 4096), (1, 0)), ("float32", (1000, 1000), (1, 0)),
        ("bfloat16", (5120, 13824), (1, 0)), ("float32", (8191, 8193), (1, 0)), ("bfloat16", (8191, 8193), (1, 0)),
        ("uint8", (8191, 8193), (1, 0)), ("float32", (64, 256, 56, 56), (0, 2, 3, 1)),
        ("bfloat16", (64, 56, 56, 256), (0, 3, 1, 2)),
        ("uint8", (32, 1080, 1920, 3), (0, 3, 1, 2)), ("bfloat16", (8, 2048, 32, 128), (0, 2, 1, 3)),
        ("float32", (64, 96, 96, 96), (3, 2, 1, 0)), ("float32", (32, 32, 32, 32, 32), (4, 3, 2, 1, 0)),
        ("float32", (16_777_216, 2), (1, 0)), ("float32", (16_777_216, 3), (1, 0)), ("bfloat16", (16_777_216, 3), (1, 0)),
        ("float32", (4, 16_777_216), (1, 0)), ("uint8", (3, 33_554_432), (1, 0)), ("float64", (8_388_608, 2), (1, 0)),
        ("float32", (2_097_152, 3, 3), (0, 2, 1)), ("float32", (65_536, 33, 17), (0, 2, 1)),
        ("bfloat16", (65_536, 33, 17), (0, 2, 1)),
        ("float32", (1_048_576, 33), (1, 0)),
    )
}  # fmt: skip
"""By name: elements, the shape, and which axis each of the result's is."""
SMALL: dict[str, Call] = {
    f"{dtype} {' x '.join(str(extent) for extent in shape)} to 10": (dtype, shape, (1, 0))
    for dtype, shape in (
        ("float32", (256, 256)), ("bfloat16", (256, 256)), ("float32", (512, 512)), ("bfloat16", (1024, 1024)),
        ("float32", (1024, 1024)),
    )
}  # fmt: skip


def _row(call: str) -> dict[str, Any]:
    return raw.row(raw.read("transposes")["transposes"], call=call)


class Share:
    """Prism's time by a device copy's of as many bytes: 1 is a copy's speed."""

    params = ([*CALLS, *SMALL],)
    param_names = ("call",)

    @raw.tracked("x (prism/copy)")
    def track_vs_copy(self, call: str) -> float:
        return raw.number(_row(call), "prism") / raw.number(_row(call), "copy")


class Ratio:
    """Prism's time by torch's: 1 is parity, less is faster."""

    params = ([*CALLS, *SMALL],)
    param_names = ("call",)

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, call: str) -> float:
        return raw.number(_row(call), "prism") / raw.number(_row(call), "torch")


class Whole:
    """The same of a whole call that makes its result, with the host's time."""

    params = (list(SMALL),)
    param_names = ("call",)

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, call: str) -> float:
        return raw.number(_row(call), "whole prism") / raw.number(_row(call), "whole torch")


class Time:
    """Microseconds of a permutation, on the device."""

    params = (["prism", "torch", "copy"], [*CALLS, *SMALL])
    param_names = ("impl", "call")

    @raw.tracked("us")
    def track_us(self, impl: str, call: str) -> float:
        return raw.number(_row(call), impl, 1e6)
