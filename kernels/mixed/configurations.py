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
ENOUGH = 0.75  # blocks of few rows for each multiprocessor

TILES = (
    Configuration(192, 192, 4, 3, ahead=0),
    Configuration(128, 256, 4, ahead=0),
    Configuration(128, 192, 5, ahead=0),
    Configuration(128, 128, 6, ahead=0),
    Configuration(128, 64, 8, ahead=0),
    Configuration(64, 128, 6, 1, ahead=0),
    Configuration(64, 64, 8, 1, ahead=0),
)
"""Tiles of the transpose: columns of the weights by rows of `x`, each warpgroup has 64 of the former."""
HOST = Configuration(128, 64, 3, ahead=0)
STEP = {1: (330, 1.9), 2: (455, 3.55), 3: (500, 4.0)}
"""Clocks of a step of 64 of K, by how many warpgroups multiply, and of each of its rows of `x`: measured."""
BEGIN, STORE = 3000, 0.12
"""Clocks of a launch, and of each element of a tile that is stored."""


def few_cut(bits: int, m: int, n: int, processors: int, *, zeros: bool = False) -> FewCut:
    """Return how blocks divide a product of few rows: as many columns each as leave enough of them, and fit into registers."""
    tiles = next((count for count in (1, 2) if m <= 8 * count), MOST_TILES)
    down = ceil(m / (8 * tiles))
    wide = (4, 2, 1) if bits == 4 and (tiles > 1 or not zeros) else (2, 1)
    strips = next((count for count in wide if down * ceil(n / (STRIP * count)) >= ENOUGH * processors), 1)
    if strips == 4 and tiles == 1:
        return FewCut(bits, tiles, strips, 16, ahead=1, blocks=1)
    return FewCut(bits, tiles, strips, ahead=1 if tiles == MOST_TILES else 2, blocks=1)


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, processors: int) -> Configuration:
    """Return the tiles that suit a product of many rows."""

    def clocks(found: Configuration) -> float:
        down, across = found.tiles(n, m)
        begin, each = STEP[found.consumers]
        step = begin + each * found.bn
        return ceil(down * across / processors) * (ceil(k / DEEP) * step + STORE * found.bm * found.bn) + BEGIN

    return min(TILES, key=clocks)


__all__ = ["FEW", "HOST", "HOST_FEW", "TILES", "choose", "few_cut"]
