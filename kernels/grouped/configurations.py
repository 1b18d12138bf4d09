"""How grouped products are cut into tiles: by how many rows groups have on average.

How rows are spread over groups the host does not know.
"""

from __future__ import annotations

from math import ceil

from prism.kernels.hgemm.configuration import Configuration
from prism.kernels.hgemm.cut import Cut

HOST = Configuration(64, 64, 3, 1, slabs=1)
# Of few rows weights are what is read: tiles of 64 rows leave the most room for them in flight.
FEW = (Configuration(64, 192, 6, 1), Configuration(64, 256, 5, 1))
SOME = Configuration(128, 256, 3, ahead=0, slabs=4)
MANY = Configuration(128, 256, 4, ahead=0, slabs=1)
WIDE = Configuration(256, 192, 3, ahead=0, slabs=3, span=64, straight=True)
DEEP = Configuration(128, 256, 2, ahead=0, bk=128)
ALONG_K = Configuration(128, 256, 3, ahead=0, slabs=4)
DOWN = 8


def choose(groups: int, m: int, n: int, k: int, *, along_k: bool = False, deep: bool = True) -> Configuration:
    """Return the tiles that suit groups of m rows in all; `deep`: steps of 256 bytes of K may be taken."""
    rows = m / groups
    if along_k:
        return ALONG_K
    if rows <= 16:
        narrow, wide = (ceil(n / one.bn) * one.bn for one in FEW)
        return FEW[narrow > 1.01 * wide]
    if rows <= 64:
        return SOME
    if rows < 256:
        return MANY
    return WIDE if rows < 768 or not deep else DEEP


def down(tile: Cut, m: int, n: int, k: int) -> int:
    """Return how many tiles down are made before those at the right of them."""
    return DOWN
