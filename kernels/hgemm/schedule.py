"""The order in which clusters of persistent blocks take the tiles of a result."""

from __future__ import annotations

from prism.kernels.hgemm.cut import Cut
from prism.lang import block, constexpr, function, grid, int32, prism, requires, template, thread


@prism.device
@template(CUT=constexpr(Cut), BATCHED=constexpr(bool), TILE=function)
@requires(block[1], thread["CUT.threads"])
def in_columns(
    first: int32 @ block[CUT.cluster], clusters: int32 @ grid[1], rank: int32 @ block[1], tiles: int32 @ grid[1],
    tiles_m: int32 @ grid[1], tiles_n: int32 @ grid[1], products: int32 @ grid[1], down: int32 @ grid[1],
):
    """`TILE(product, i, j)` of each of a cluster's tiles: the block's corner is at i, j.

    Down so many tiles before right: those under way at a time then share rows and columns, in the L2.

    Perspective: block, the `rank`-th of its cluster, which is the `first` of so many `clusters`.
    """
    for tile in range(first, tiles * products, clusters):
        product: int32 @ block[1] = tile // tiles if BATCHED else 0
        above: int32 @ block[1] = (tile - product * tiles) // (down * tiles_n) * down
        within: int32 @ block[1] = (tile - product * tiles) % (down * tiles_n)
        height: int32 @ block[1] = min(tiles_m - above, down)
        i: int32 @ block[1] = ((above + within % height) * CUT.cluster_m + rank % CUT.cluster_m) * CUT.bm
        j: int32 @ block[1] = (within // height * CUT.cluster_n + rank // CUT.cluster_m) * CUT.bn
        TILE(product, i, j)
