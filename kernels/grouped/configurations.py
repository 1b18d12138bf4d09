"""How grouped products are cut into tiles: by how many rows groups have on average.

How rows are spread over groups the host does not know.
"""

from __future__ import annotations

from math import ceil

from prism.kernels.hgemm.configuration import Configuration

HOST = Configuration(64, 64, 3, 1, slabs=1)
# Of few rows weights are what is read: tiles of 64 rows leave the most room for them in flight.
FEW = (Configuration(64, 192, 6, 1), Configuration(64, 256, 5, 1))
MANY = Configuration(128, 256, 4, ahead=0, slabs=1)
WIDE = Configuration(256, 192, 3, ahead=0, slabs=3, span=64, straight=True)
DEEP = Configuration(128, 256, 2, ahead=0, bk=128)
ALONG_K = Configuration(128, 256, 3, ahead=0, slabs=4)
DOWN = 8
"""So many tiles of a group are made down before those at the right of them."""


def choose(
    groups: int, m: int, n: int, *, along_k: bool = False, gathered: bool = False, deep: bool = True
) -> Configuration:
    """Return the tiles that suit groups of m rows in all; `deep`: steps of 256 bytes of K may be taken.

    Where rows are few, the narrower tiles of these, unless they waste more columns. On an H200, of 32 rows a group, tiles of 64
    are 1.01 x as fast as those of 128, or 0.96 x where groups are of any lengths; of 256 the wide ones are 0.89 x as fast (32
    groups of 7168 x 4096) or 1.08 x (128 of 2048 x 1536), or 0.80 x and 0.88 x; of 512 they are 1.01 x as fast as the deep ones,
    or 0.87 x.
    """
    rows = m / groups
    if along_k:
        return ALONG_K
    if rows <= 32:
        narrow, wide = (ceil(n / one.bn) * one.bn for one in FEW)
        return FEW[narrow > 1.01 * wide]
    if rows < 384 or gathered:  # two warps can't gather more rows than 128
        return MANY
    return DEEP if deep and 384 <= rows < 2048 else WIDE
