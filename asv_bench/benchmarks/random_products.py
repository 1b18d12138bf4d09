"""Products of random shapes beside cuBLAS, which no choice was fitted to. Lower is better."""

from __future__ import annotations

import math
import statistics

from benchmarks import raw

KINDS = ["bfloat16", "float32", "float8"]
GROUPS = [
    "all", "16 rows or fewer", "128 rows or columns or fewer", "K of 256 or less", "few tiles, long K", "other, odd rows",
    "other",
]  # fmt: skip


def _times(kind: str, group: str = "all") -> list[float]:
    rows = [row for row in raw.read("random_products")[kind] if group in ("all", row["group"])]
    if not rows:
        raise NotImplementedError(f"no {kind} of {group}")
    return sorted(1 / row["ratio"] for row in rows)


class Mean:
    """Prism's time by cuBLAS's, the geometric mean: 1 is parity, less is faster."""

    params = (KINDS, GROUPS)
    param_names = ("kind", "shapes")

    @raw.tracked("x (prism/cuBLAS)")
    def track_vs_cublas(self, kind: str, shapes: str) -> float:
        return math.exp(statistics.fmean(map(math.log, _times(kind, shapes))))


class Tail:
    """The same at 19 of 20, and at the slowest."""

    params = (KINDS, ["19 of 20", "all"])
    param_names = ("kind", "at")

    @raw.tracked("x (prism/cuBLAS)")
    def track_vs_cublas(self, kind: str, at: str) -> float:
        times = _times(kind)
        return times[-1] if at == "all" else statistics.quantiles(times, n=20, method="inclusive")[-1]
