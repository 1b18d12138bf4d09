"""Products with a function of the result (bfloat16, weights n x k) beside torch's, compiled, and the product alone: times."""

from __future__ import annotations

from benchmarks import raw

SHAPES = ["8192x14336x4096", "8192x4096x14336", "4096x4096x4096", "2048x8192x4096", "512x14336x4096"]
EPILOGUES = [
    "bias", "bias, gelu", "bias, gelu tanh", "bias, gelu fast", "bias, silu", "relu squared", "residual",
    "bias, gelu, residual", "swiglu", "swiglu, residual, row squares", "gelu, and before it",
]  # fmt: skip


def _ratio(shape: str, epilogue: str, peer: str) -> float:
    found = raw.row(raw.read("epilogues"), shape=shape, epilogue=epilogue, fault="")
    return raw.number(found, "prism") / raw.number(found, peer)


class Ratio:
    """The time by torch.compile's, by eager torch's, and by that of the product alone: less is faster. A shape is m x n x k."""

    params = (SHAPES, EPILOGUES)
    param_names = ("shape", "epilogue")

    @raw.tracked("x (prism/compile)")
    def track_vs_compile(self, shape: str, epilogue: str) -> float:
        return _ratio(shape, epilogue, "compile")

    @raw.tracked("x (prism/eager)")
    def track_vs_eager(self, shape: str, epilogue: str) -> float:
        return _ratio(shape, epilogue, "eager")

    @raw.tracked("x (prism/product alone)")
    def track_vs_bare(self, shape: str, epilogue: str) -> float:
        return _ratio(shape, epilogue, "bare")
