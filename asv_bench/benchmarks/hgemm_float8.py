"""Products of 8-bit floats (float8_e4m3fn, bfloat16 results) beside cuBLASLt's: the library's choice. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

SQUARES = [512, 1024, 2048, 2560, 3072, 4096, 5120, 8192, 16384]
OTHERS = ["8192x1024x8192", "256x4096x4096", "64x8192x8192"]
NAMES = {"prism": "library", "cublas": "cuBLASLt"}
SCALED = {"prism": "library, scales", "cublas": "torch, scales"}


def _row(shape: str, name: str) -> dict[str, Any]:
    return raw.row(raw.row(raw.read("hgemm_float8"), shape=shape)["rows"], name=name)


class Square:
    """Microseconds on the device of products of square matrices as prism.lib.hgemm chooses; and cuBLASLt's, in turns."""

    params = (["prism", "cublas"], SQUARES)
    param_names = ("impl", "n")

    @raw.tracked("us")
    def track_us(self, impl: str, n: int) -> float:
        return raw.number(_row(str(n), NAMES[impl]), "us")


class Scaled:
    """The same with a scale for each row and column; and what torch takes for it."""

    params = (["prism", "cublas"], SQUARES)
    param_names = ("impl", "n")

    @raw.tracked("us")
    def track_us(self, impl: str, n: int) -> float:
        return raw.number(_row(str(n), SCALED[impl]), "us")


class Ratio:
    """The time by cuBLASLt's: 1 is parity, less is faster. Shapes are M x N x K, or the side of a square."""

    params = ([*map(str, SQUARES), *OTHERS],)
    param_names = ("shape",)

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, shape: str) -> float:
        return 1.0 / raw.number(_row(shape, NAMES["prism"]), "ratio")
