"""A product that is symmetric, as A A^T is: only tiles of its lower triangle are multiplied, and stored on both sides.

The schedule differs from that of `persistent.py`, and that a tile is stored twice, straight and turned; its main loop and its
epilogue are the same.
"""

from __future__ import annotations

from prism.kernels.hgemm.cut import Cut, Terms
from prism.kernels.hgemm.epilogue import identity, store_slabs
from prism.kernels.hgemm.main_loop import multiply, prefetch_tiles, share_registers
from prism.lang import (
    CUtensorMap, assume, attr, block, const, constexpr, count, dtype, float32, fragment, function, grid, group, id, int32, int64,
    one, partition, prism, ptr, requires, roles, sqrt, template, thread, warp, warpgroup,
)  # fmt: skip

ALONE = Terms()
"""Sums as they are."""


@prism.kernel
@template(
    T=dtype, OUT=dtype, CUT=constexpr(Cut), MIRROR=constexpr(Cut), TERMS=constexpr(Terms), PLAIN=constexpr(bool),
    BOTH=constexpr(bool), UPPER=constexpr(bool), EPILOGUE=function,
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm_symmetric(
    map_a: const(CUtensorMap(T, CUT.part_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(T, CUT.part_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    map_c: const(CUtensorMap(OUT, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span)) @ grid[1],
    map_out: CUtensorMap(OUT, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span) @ grid[1],
    unread: const(CUtensorMap(OUT, MIRROR.slab_rows, MIRROR.slab_columns, swizzle=MIRROR.span)) @ grid[1],
    mirror_out: CUtensorMap(OUT, MIRROR.slab_rows, MIRROR.slab_columns, swizzle=MIRROR.span) @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], high: int32 @ grid[1],
    alpha: float32 @ grid[1], beta: float32 @ grid[1], none: ptr(const(float32)) @ grid[1],
):  # fmt: skip
    """`out = EPILOGUE(alpha * A @ B + beta * C)`, n x n, of A and B of 16-bit floats whose product is symmetric, as C is.

    Perspective: grid, of any number of blocks.
    Shapes:      as `hgemm`'s (persistent.py). Tiles of the lower triangle are made, or where `UPPER` of the upper one; those that
                 meet the diagonal are whole. Where `BOTH`, they are stored on its other side too, as transposes, as `MIRROR` cuts
                 them: `mirror_out` is a map of the same memory. `high`: so many squares' rows are made before those below (those
                 on the right). `unread`, `none`: nobody reads them.
    Cost:        half the products of the whole, and those of half the squares on the diagonal.
    Numerics:    as `hgemm`'s; elements on both sides of the diagonal have the same bits, but for those of its squares.
    Test:        tests/kernels/test_hgemm_symmetric.py, tests/gpu/test_hgemm_kinds.py
    """
    assume(n >= 1 and high >= 1)
    beyond: int32 @ grid[1] = (n + (CUT.bm - 1)) // CUT.bm * CUT.bm
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with partition(out, block[1], 0, races="none") as whole, group(block[1]):
        sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1]
        workers, helpers = roles(warpgroup, CUT.consumers, 1)
        consumers, loader, fetcher, storer = roles(warp, CUT.warps, 1, 1, 1)
        share_registers(workers, helpers, MANY=CUT.worker_registers, FEW=CUT.helper_registers)
        with loader, one(thread):
            prefetch_tiles(map_a, map_b, first, 1, 1, 0, CUT=CUT)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(i: int32 @ block[1], j: int32 @ block[1], apart: bool @ block[1]):
            multiply(sums, consumers, loader, map_a, map_b, 0, 0, i, j, n, n, k, CUT=CUT, BATCH=0)
            store_slabs(
                sums, consumers, fetcher, storer, map_c, map_out, whole, stride, none, none, none, 0, i, j, n, n, alpha, beta,
                CUT=CUT, TERMS=TERMS, PLAIN=PLAIN, BATCHED=True, EPILOGUE=EPILOGUE, KEEP=BOTH,
            )  # fmt: skip
            if BOTH:  # the sums are what was stored; beyond the last column nothing is
                store_slabs(
                    sums, consumers, fetcher, storer, unread, mirror_out, whole, stride, none, none, none, 0,
                    i if apart else beyond, j, n, n, 1.0, 0.0, CUT=MIRROR, TERMS=ALONE, PLAIN=PLAIN, BATCHED=True,
                    EPILOGUE=identity,
                )  # fmt: skip

        in_triangle(first, blocks, n, high, CUT=CUT, UPPER=UPPER, TILE=make_tile)


@prism.device
@template(CUT=constexpr(Cut), UPPER=constexpr(bool), TILE=function)
@requires(block[1], thread["CUT.threads"])
def in_triangle(first: int32 @ block[1], blocks: int32 @ grid[1], n: int32 @ grid[1], high: int32 @ grid[1]):
    """`TILE(i, j, apart)` of each of a block's tiles of a lower triangle of n by n, or the upper one: the corner is at i, j.

    Tiles are those of squares: all of those on the diagonal, and of those `apart` from it, on one side. Squares are taken by
    bands, `high` of them down before right: those under way at a time then share rows and columns, in the L2.

    Perspective: block, the `first` of so many.
    """
    SIDE: constexpr(int) = max(CUT.bm, CUT.bn)
    DOWN: constexpr(int) = SIDE // CUT.bm
    EACH: constexpr(int) = DOWN * (SIDE // CUT.bn)
    squares: int32 @ block[1] = (n + (SIDE - 1)) // SIDE
    for tile in range(first, squares * (squares + 1) // 2 * EACH, blocks):
        square: int32 @ block[1] = tile // EACH
        within: int32 @ block[1] = tile % EACH
        band: int32 @ block[1] = row_of(square) // high * high  # its first row of squares
        height: int32 @ block[1] = min(high, squares - band)
        rest: int32 @ block[1] = square - band * (band + 1) // 2
        beside: int32 @ block[1] = rest - band * height  # of those at the diagonal, if it is not negative
        corner: int32 @ block[1] = row_of(max(beside, 0))
        y: int32 @ block[1] = band + (corner if beside >= 0 else rest % height)
        x: int32 @ block[1] = band + beside - corner * (corner + 1) // 2 if beside >= 0 else rest // height
        upper: int32 @ block[1] = (x if UPPER else y) * SIDE
        left: int32 @ block[1] = (y if UPPER else x) * SIDE
        TILE(upper + within % DOWN * CUT.bm, left + within // DOWN * CUT.bn, x < y)


@prism.device
@requires(block[1])
def row_of(number: int32 @ block[1]) -> int32 @ block[1]:
    """Return which row of a triangle has the `number`-th of its elements, counted row by row: row r has r + 1 of them."""
    row: int32 @ block[1] = int32((sqrt(8.0 * float32(number) + 1.0) - 1.0) * 0.5)
    if row * (row + 1) // 2 > number:  # a root that was rounded up, or down
        row -= 1
    elif (row + 1) * (row + 2) // 2 <= number:
        row += 1
    return row
