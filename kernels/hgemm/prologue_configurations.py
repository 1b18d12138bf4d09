"""Which tiles suit products with a prologue: each warpgroup has 64 rows, of an operand that it makes in registers."""

from __future__ import annotations

import functools
from dataclasses import replace
from math import ceil

from prism.kernels.hgemm.configuration import ROOM, Configuration

TILES = (
    Configuration(192, 192, 4, 3, ahead=0),
    Configuration(128, 256, 4, ahead=0),
    Configuration(128, 192, 5, ahead=0),
    Configuration(128, 128, 6, ahead=0),
    Configuration(128, 64, 8, ahead=0),
    Configuration(64, 256, 5, 1, ahead=0),
    Configuration(64, 128, 6, 1, ahead=0),
    Configuration(64, 64, 8, 1, ahead=0),
)
HOST = Configuration(64, 64, 3, 1, ahead=0, slabs=1)
STEP = {1: (330, 1.9), 2: (455, 3.55), 3: (500, 4.0)}
"""Clocks of a step of 64 of K, by how many warpgroups multiply, and of each column: those of packed weights (kernels/mixed)."""
BEGIN, STORE = 3000, 0.12
"""Clocks of a launch, and of each element of a tile that is stored."""
FOR_SLABS = 34 * 1024
"""Bytes of shared memory that are left for slabs of the result."""
MOST_GATHERED = 256
"""Bytes of a column of a tile of A, in which two warps gather its rows as fast as they are multiplied."""


def fit(found: Configuration, size: int) -> Configuration:
    """Return tiles with as many stages as there is room for, where an element of A has so many bytes."""
    step = (found.bm * size + found.bn * 2) * found.bk
    return replace(found, stages=max(2, min(found.stages, (ROOM - FOR_SLABS) // step)))


@functools.lru_cache(maxsize=4096)
def choose_made(m: int, n: int, k: int, processors: int, size: int, *, gathered: bool) -> Configuration:
    """Return the tiles that suit a product of A of elements of so many bytes, whose rows are `gathered`."""

    def clocks(found: Configuration) -> float:
        down, across = found.tiles(m, n)
        begin, each = STEP[found.consumers]
        rounds = ceil(down * across / processors)
        return rounds * (ceil(k / found.bk) * (begin + each * found.bn) + STORE * found.bm * found.bn) + BEGIN

    some = [one for one in TILES if not gathered or one.bm * size <= MOST_GATHERED]
    return fit(min(some, key=clocks), size)


__all__ = ["HOST", "TILES", "choose_made", "fit"]
