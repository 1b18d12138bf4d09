"""Products of integers, of scales of blocks, and symmetric ones, beside cuBLAS's: the library's choice. Lower is better."""

from __future__ import annotations

from benchmarks import raw

SHAPES = {
    "int8": "1024,2048,3072,4096,8192,8192x1024x8192,4096x14336x4096,64x8192x8192",
    "blocks": "64x7168x2048,128x4096x7168,16x7168x4096,4096,4096x2112x7168,4096x24576x1536,4096x7168x16384,4096x4096x7168,8192",
    "rows": "64x7168x2048,128x4096x7168,4096,4096x7168x16384,8192",
    "symmetric": "1024,2048,4096,8192,4096x4096x16384,16384",
}
CALLS = [f"{kind} {shape}" for kind, shapes in SHAPES.items() for shape in shapes.split(",")]


class Ratio:
    """The time by cuBLAS's: 1 is parity, less is faster. Shapes are M x N x K, or the side of a square."""

    params = (CALLS,)
    param_names = ("call",)

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, call: str) -> float:
        kind, shape = call.split(" ")
        table = raw.row(raw.read("hgemm_kinds"), kind=kind, shape=shape)
        return 1.0 / raw.number(raw.row(table["rows"], name="library"), "ratio")
