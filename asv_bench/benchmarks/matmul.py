"""Products in float64 and of complex numbers beside cuBLAS's: prism.lib.matmul. Lower is better."""

from __future__ import annotations

from benchmarks import raw

COMPLEX = ("512", "1024", "2048", "4096", "4096TN", "16x4096x4096")
SHAPES = [
    "512",
    "1024",
    "2048",
    "3000",
    "4096",
    "8192",
    "4096NT",
    "4096TN",
    "4096TT",
    "8192x1024x8192",
    "256x4096x4096",
    *(f"{kind}:{size}" for kind in ("complex64", "complex128") for size in COMPLEX),
]


class Ratio:
    """The time by cuBLAS's: 1 is parity, less is faster. Shapes are M x N x K, or the side of a square, and a layout."""

    params = (SHAPES,)
    param_names = ("shape",)

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, shape: str) -> float:
        table = raw.row(raw.read("matmul"), shape=shape)
        return 1.0 / raw.number(raw.row(table["rows"], name="matmul"), "ratio")
