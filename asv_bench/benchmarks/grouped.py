"""Products of groups of rows (bfloat16, weights n x k) beside torch's, and beside cuBLAS for each group: times, and rates.

A case is MODEL:ROWS:WAY, the first or the second product of a mixture of experts, or a gradient; `skewed`: groups are of any
lengths.
"""

from __future__ import annotations

from benchmarks import raw

CASES = [
    "deepseek:256:up", "deepseek:256:down", "qwen3:256:up", "mixtral:256:up", "gpt-oss:256:up", "deepseek:4096:up",
    "deepseek:4096:up:skewed", "deepseek:4096:down", "qwen3:4096:up", "qwen3:4096:up:skewed", "mixtral:4096:up",
    "mixtral:4096:up:skewed", "gpt-oss:4096:up", "deepseek:32768:up", "deepseek:32768:up:skewed", "qwen3:32768:up",
    "qwen3:32768:up:skewed", "mixtral:32768:up", "deepseek:4096:gathered", "deepseek:4096:swiglu",
    "deepseek:32768:wgrad",
]  # fmt: skip


def _row(case: str) -> dict[str, object]:
    return raw.row(raw.read("grouped"), case=case, fault="")


class Ratio:
    """The time by torch's, and by that of a product for each group: less is faster."""

    params = CASES
    param_names = ("case",)

    @raw.tracked("x (prism/torch)")
    def track_vs_torch(self, case: str) -> float:
        found = _row(case)
        return raw.number(found, "prism") / raw.number(found, "torch")

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, case: str) -> float:
        found = _row(case)
        return raw.number(found, "prism") / raw.number(found, "cublas")


class Rate:
    """What was reached: of products, and of weights that are read once."""

    params = CASES
    param_names = ("case",)

    @raw.tracked("TFLOP/s")
    def track_products(self, case: str) -> float:
        found = _row(case)
        return raw.number(found, "flops", 1e-12) / raw.number(found, "prism")

    @raw.tracked("TB/s")
    def track_weights(self, case: str) -> float:
        found = _row(case)
        return raw.number(found, "weights", 1e-12) / raw.number(found, "prism")
