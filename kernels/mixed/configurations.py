"""Which tiles suit products with weights of 4 or 8 bits."""

from __future__ import annotations

import functools
from math import ceil

from prism.kernels.hgemm.configuration import Configuration
from prism.kernels.mixed.few import FewCut
from prism.kernels.mixed.words import DEEP, STRIP

FEW = 32
"""Rows up to which weights go from memory to registers, on a GPU that has wgmma."""
HOST_FEW = 16
MOST_TILES = 4  # of 8 rows, that a block has
STRIPS = (4, 2, 1)
ENOUGH = 1.5  # blocks of few rows for each multiprocessor

TILES = (
    Configuration(128, 256, 4, ahead=0),
    Configuration(128, 192, 5, ahead=0),
    Configuration(128, 128, 6, ahead=0),
    Configuration(128, 64, 8, ahead=0),
    Configuration(64, 128, 6, 1, ahead=0),
    Configuration(64, 64, 8, 1, ahead=0),
)
"""Tiles of the transpose: columns of the weights by rows of `x`, each warpgroup has 64 of the former."""
HOST = Configuration(128, 64, 3, ahead=0)
EXPAND = 260
"""Clocks in which a warpgroup makes its operand of a step and begins its product."""
READ = 24
"""Bytes a clock that a multiprocessor gets."""
BEGIN, STORE = 3000, 0.12
"""Clocks of a launch, and of each element of a tile that is stored."""


def few_cut(bits: int, m: int, n: int, processors: int) -> FewCut:
    """Return how blocks divide a product of few rows: as many columns each as leave enough of them."""
    tiles = next((count for count in (1, 2) if m <= 8 * count), MOST_TILES)
    down = ceil(m / (8 * tiles))
    most = STRIPS if tiles * bits <= 8 else STRIPS[1:]
    strips = next((count for count in most if down * ceil(n / (STRIP * count)) >= ENOUGH * processors), 1)
    return FewCut(bits, tiles, strips, ahead=2 if strips * tiles * bits <= 16 else 1)


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, bits: int, processors: int) -> Configuration:
    """Return the tiles that suit a product of many rows."""

    def clocks(found: Configuration) -> float:
        down, across = found.tiles(n, m)
        product = 2 * found.bn  # of a warpgroup's 64 columns and 64 of K
        step = max(
            product * found.consumers,
            product + EXPAND,
            (found.bm * DEEP * bits // 8 + found.bn * DEEP * 2) / READ,
        )
        return ceil(down * across / processors) * (ceil(k / DEEP) * step + STORE * found.bm * found.bn) + BEGIN

    return min(TILES, key=clocks)


__all__ = ["FEW", "HOST", "HOST_FEW", "TILES", "choose", "few_cut"]
