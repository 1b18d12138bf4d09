"""Which tiles suit products whose rows are gathered by an index, and when rows are gathered in the product."""

from __future__ import annotations

import functools
from math import ceil

from prism.kernels.hgemm.configuration import Configuration

TILES = (
    Configuration(128, 256, 4, ahead=0, slabs=1),
    Configuration(128, 192, 5, ahead=0),
    Configuration(128, 128, 6, ahead=0),
    Configuration(64, 256, 5, 1, ahead=0),
    Configuration(64, 128, 6, 1, ahead=0),
)
"""None has more than 128 rows: two warps gather no more as fast as they are multiplied."""
HOST = Configuration(64, 64, 3, 1, ahead=0, slabs=1)
STEP = {1: (330, 1.9), 2: (455, 3.55)}
"""Clocks of a step of 64 of K, by how many warpgroups multiply, and of each column."""
BEGIN, STORE = 3000, 0.12
"""Clocks of a launch, and of each element of a tile that is stored."""
FEW = 512
"""Rows below which they are copied first: a product that gathers few has few tiles, and waits for each step's rows."""


@functools.lru_cache(maxsize=4096)
def choose_gathered(m: int, n: int, k: int, processors: int) -> Configuration:
    """Return the tiles that suit a product of m gathered rows."""

    def clocks(found: Configuration) -> float:
        down, across = found.tiles(m, n)
        begin, each = STEP[found.consumers]
        rounds = ceil(down * across / processors)
        return rounds * (ceil(k / found.bk) * (begin + each * found.bn) + STORE * found.bm * found.bn) + BEGIN

    return min(TILES, key=clocks)


__all__ = ["FEW", "HOST", "TILES", "choose_gathered"]
