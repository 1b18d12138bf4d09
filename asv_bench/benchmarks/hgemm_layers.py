"""Products of language models' layers (bfloat16, weights n x k) beside cuBLAS's, by rows: the library's choice."""

from __future__ import annotations

from benchmarks import raw

LAYERS = [
    "6144x4096", "4096x4096", "28672x4096", "4096x14336", "10240x8192", "8192x8192", "57344x8192", "8192x28672",
    "1280x8192", "8192x1024", "7168x8192", "8192x3584", "4608x3584", "3584x3584", "37888x3584", "3584x18944",
]  # fmt: skip
ROWS = [1, 8, 16, 32, 64, 128, 256, 512, 1024]


class Ratio:
    """The time by cuBLAS's: 1 is parity, less is faster. A layer is n x k."""

    params = (LAYERS, ROWS)
    param_names = ("layer", "rows")

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, layer: str, rows: int) -> float:
        found = raw.row(raw.read("hgemm_layers")["products"], layer=layer, m=rows, fault="")
        return 1.0 / raw.number(found, "ratio")
