"""Products of matrices of float32, by the ordinary cores: five kernels, each a step from the one before, and their tiles.

A sixth, for Hopper, is in `ring`, how it cuts products up in `ring_configurations`, and copies for it in `pack`.
`split` is for products by the tensor cores.
"""

from prism.kernels.sgemm.configurations import HOST, LESSON, TILES, Configuration, Layout, choose, clocks
from prism.kernels.sgemm.elements import coalesced, naive
from prism.kernels.sgemm.tiles import tiled, vectorized
from prism.kernels.sgemm.warps import warps

VARIANTS = {"naive": naive, "coalesced": coalesced, "tiled": tiled, "vectorized": vectorized, "warps": warps}

__all__ = [
    "HOST", "LESSON", "TILES", "VARIANTS", "Configuration", "Layout", "choose", "clocks", "coalesced", "naive", "tiled",
    "vectorized", "warps",
]  # fmt: skip
