"""Products with weights of 4 and 8 bits, beside cuBLAS's in bfloat16. Lower is better."""

from __future__ import annotations

from benchmarks import raw

SHAPES = (
    "1x8192x8192,16x8192x8192,8x4096x4096,16x28672x4096,32x8192x8192,64x8192x8192,256x8192x8192,2048x8192x8192,8192"
)
CALLS = [f"{bits} {shape}" for bits in (4, 8) for shape in SHAPES.split(",")]


class Ratio:
    """The time by cuBLAS's in bfloat16: 1 is parity, less is faster. A call is bits and a shape, m x n x k."""

    params = (CALLS,)
    param_names = ("call",)

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, call: str) -> float:
        bits, shape = call.split(" ")
        table = raw.row(raw.read("mixed"), bits=int(bits), shape=shape)
        return 1.0 / raw.number(raw.row(table["rows"], name="library"), "ratio")
