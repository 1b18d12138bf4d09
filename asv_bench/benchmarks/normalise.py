"""Softmax, norms and their gradients beside torch's, eager and compiled, and a copy: matrices of 256 MiB, kernels alone."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

CALLS = [
    "softmax", "log_softmax", "rms_norm", "layer_norm", "rms_norm_residual", "softmax_backward", "rms_norm_backward",
    "layer_norm_backward",
]  # fmt: skip
DTYPES = ["bfloat16", "float32"]
WIDTHS = [256, 1024, 4096, 16_384, 65_536, 262_144]
HELD_OUT = [320, 1000, 3072, 5120, 12_288, 50_264, 128_000]
"""Widths that nothing was chosen by."""


def _row(call: str, dtype: str, width: int) -> dict[str, Any]:
    return raw.row(raw.read("normalise")["normalise"], call=call, dtype=dtype, n=width)


class Speed:
    """TB/s of what must be read and written. Higher is better."""

    params = (["prism", "torch", "compiled", "copy"], CALLS, DTYPES, [*WIDTHS, *HELD_OUT])
    param_names = ("impl", "call", "dtype", "width")

    @raw.tracked("TB/s")
    def track_speed(self, impl: str, call: str, dtype: str, width: int) -> float:
        return raw.number(_row(call, dtype, width), impl)


class Ratio:
    """The time by torch's: 1 is parity, less is faster."""

    params = (CALLS, DTYPES, [*WIDTHS, *HELD_OUT])
    param_names = ("call", "dtype", "width")

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, call: str, dtype: str, width: int) -> float:
        found = _row(call, dtype, width)
        return raw.number(found, "torch") / raw.number(found, "prism")


class Error:
    """The root of the mean square of errors against float64, by torch's: above 1 is less exact."""

    params = (CALLS, DTYPES, [*WIDTHS, *HELD_OUT])
    param_names = ("call", "dtype", "width")

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, call: str, dtype: str, width: int) -> float:
        found = _row(call, dtype, width)
        if "errors" not in found:
            raise NotImplementedError("not measured: errors")
        return float(found["errors"][0] / found["errors"][1])
