"""Which tiles of a product, or parts of them, a block of `ring` and of `ring_async` makes."""

from __future__ import annotations

from prism.kernels.sgemm.sums import place
from prism.lang import block, constexpr, function, grid, int2, int32, prism, requires, template, thread


@prism.device
@template(BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), THREADS=constexpr(int), TILE=function)
@requires(block[1], thread["THREADS"])
def in_shares(
    m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], tile: int32 @ grid[1], end: int32 @ grid[1],
    share: int32 @ grid[1], group_m: int32 @ grid[1], p: int32 @ block[1], blocks: int32 @ grid[1],
):
    """`TILE(i, j, start, stop, top, left, bottom, right)` of each tile of a block, or part of one, of those from `tile` to `end`.

    A block has a tile's whole sum, and goes on to further tiles. Or `share` is less than a tile's steps, each of `BK` in k: then
    steps are numbered, a tile's after those of the tile before, and the p-th block does `share` of them from `p * share` on, the
    end of one tile, maybe, and the beginning of the next. What it adds up of the first is part 2 p, of the second 2 p + 1.

    A tile's corner is at i, j of the result; its sums are those of k from `start` to `stop`. They are stored from `top`, `left`
    on, above `bottom`, left of `right`: in the result, or in the parts, which lie below each other, `BM x BN` each.

    Perspective: block, the `p`-th of `blocks`: of as many as there are shares, or of any number.
    """
    tiles_m: int32 @ block[1] = (m + (BM - 1)) // BM
    tiles_n: int32 @ block[1] = (n + (BN - 1)) // BN
    steps: int32 @ block[1] = (k + (BK - 1)) // BK
    split: bool @ block[1] = share < steps
    first: int32 @ block[1] = p * share if split else 0  # step
    last: int32 @ block[1] = min(first + share, (end - tile) * steps) if split else steps
    units: int32 @ block[1] = (last - 1) // steps - first // steps + 1 if split else (end - tile - p + (blocks - 1)) // blocks
    for unit in range(units):
        behind: int32 @ block[1] = first // steps + unit if split else p + unit * blocks  # of `tile`
        start: int32 @ block[1] = max(first - behind * steps, 0) if split else 0
        stop: int32 @ block[1] = min(last - behind * steps, steps) if split else steps
        corner: int2 @ block[1] = place(tile + behind, group_m, tiles_m, tiles_n)
        i: int32 @ block[1] = corner[0] * BM
        j: int32 @ block[1] = corner[1] * BN
        top: int32 @ block[1] = (2 * p + unit) * BM if split else i
        bottom: int32 @ block[1] = top + BM if split else m
        TILE(i, j, start * BK, stop * BK, top, 0 if split else j, bottom, BN if split else n)
