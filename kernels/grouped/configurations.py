"""How grouped products are cut into tiles."""

from __future__ import annotations

from prism.kernels.hgemm.configuration import Configuration
from prism.kernels.hgemm.cut import Cut

HOST = Configuration(64, 64, 3, 1, slabs=1)
FEW = Configuration(64, 128, 8, 1)
MIDDLE = Configuration(64, 256, 5, 1)
MANY = Configuration(128, 256, 3, ahead=0, slabs=4)


def choose(groups: int, m: int, n: int, k: int) -> Configuration:
    """Return the tiles that suit groups of m rows in all."""
    return FEW if m <= 64 * groups else MANY


def down(tile: Cut, m: int, n: int, k: int) -> int:
    """Return how many tiles down are made before those at the right of them."""
    return 8
