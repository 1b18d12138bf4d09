"""Matrix multiplication of a small result and a long K: blocks of a cluster each take a part of K, and add up what they got.

Where a result has fewer tiles than there are multiprocessors, `CUT.parts` blocks make one. Block p multiplies the steps p,
p + PARTS, ... of K and leaves its sums in its shared memory; then each adds up rows of the tile, from all blocks in their order.
"""

from __future__ import annotations

from prism.kernels.hgemm.scales import make_sums
from prism.kernels.hgemm.cut import NO_BLOCKS, Blocks, Cut, Terms
from prism.lang import (
    CUtensorMap, assume, attr, block, claim, const, constexpr, dtype, float32, fragment, function, grid, group, id, int32, int64,
    load_vector, one, partition, prefetch_map, prism, ptr, requires, roles, shared, strides_nest, template, thread, vector, warp,
    warpgroup,
)  # fmt: skip

FOUR = 4
"""Elements that a thread adds up at a time: a vector of 16 bytes."""


@prism.kernel
@template(
    T=dtype, TB=dtype, TBIAS=dtype, OUT=dtype, CUT=constexpr(Cut), TERMS=constexpr(Terms), EPILOGUE=function,
    SUM=dtype(default=float32), BLOCKS=constexpr(Blocks, default=NO_BLOCKS),
)  # fmt: skip
@requires(grid[1], block["CUT.parts"], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm_in_parts(
    map_a: const(CUtensorMap(T, CUT.rows_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], bias: ptr(const(TBIAS)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], alpha: float32 @ grid[1], scale_a: ptr(const(float32)) @ grid[1],
    scale_b: ptr(const(float32)) @ grid[1],
):  # fmt: skip
    """`out = EPILOGUE(alpha * A @ B + bias)`, of sums in float32; A and B of 16-bit floats, or both of 8-bit ones.

    Perspective: grid, of a cluster of `CUT.parts` blocks for each tile of the result.
    Shapes:      as hgemm's (persistent.py): `map_a`, `map_b`, `bias`, `scale_a`, `scale_b`; rows of `out` lie `stride` elements
                 apart, and where `CUT.trans` it is the transpose. m, n, k are at least 1.
    Cost:        `CUT.stages` tiles of A and B, and the sums of a tile, in the shared memory of each block.
    Numerics:    the steps of a part are added up as in hgemm, then the parts in their order: it depends on k and their number.
    Test:        tests/kernels/test_hgemm_parts.py, tests/gpu/test_hgemm.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(n if CUT.trans else m, stride, m if CUT.trans else n, 1))
    tiles_m: int32 @ grid[1] = (m + (CUT.bm - 1)) // CUT.bm
    tile: int32 @ block[CUT.parts] = id()
    i: int32 @ block[CUT.parts] = tile % tiles_m * CUT.bm
    j: int32 @ block[CUT.parts] = tile // tiles_m * CUT.bn
    with (
        partition(out, thread[1], lambda y, x: x * stride + y if CUT.trans else y * stride + x, races="none") as target,
        group(block[CUT.parts]),
    ):

        @requires(thread[1])
        def store(y: int32 @ thread[1], x: int32 @ thread[1], sum: SUM @ thread[1]):
            if y < m and x < n:
                value: float32 = alpha * float32(sum)
                if TERMS.scale_a > 0:
                    value *= scale_a[y if TERMS.scale_a == 2 else 0]
                if TERMS.scale_b > 0:
                    value *= scale_b[x if TERMS.scale_b == 2 else 0]
                if TERMS.bias > 0:
                    value += float32(bias[y if TERMS.bias == 2 else x])
                if OUT == int32:
                    target[y, x] = sum  # of integers, as it is
                else:
                    target[y, x] = EPILOGUE(value)

        make_in_parts(map_a, map_b, scale_a, scale_b, i, j, m, n, k, SUM=SUM, CUT=CUT, BLOCKS=BLOCKS, STORE=store)


@prism.device
@template(T=dtype, TB=dtype, SUM=dtype, CUT=constexpr(Cut), BLOCKS=constexpr(Blocks), STORE=function)
@requires(block["CUT.parts"], thread["CUT.threads"])
def make_in_parts(
    map_a: const(CUtensorMap(T, CUT.rows_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1],
    scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1],
    i: int32 @ block[CUT.parts], j: int32 @ block[CUT.parts], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    """`STORE(y, x, sum)` of a tile, whose corner is at i, j of a product of m by n: each element once, also beyond its edges.

    Perspective: a cluster of `CUT.parts` blocks.
    Shapes:      `scale_a`, `scale_b`: of blocks, where `BLOCKS` says that there are such (scales.py).
    Cost:        `CUT.stages` tiles of A and B, and the sums of a tile, in the shared memory of each block.
    Test:        tests/kernels/test_hgemm_parts.py, tests/kernels/test_hgemm_fused.py
    """
    parts: shared(SUM[CUT.parts, CUT.bm, CUT.bn + 8])  # rows begin in other banks: a warp's eight rows meet no conflict
    part: int32 @ block[1] = id()
    with partition(parts, block[1], lambda y, x: (part, y, x)) as own, group(block[1]):
        sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1] = 0  # where K has fewer steps than parts
        w: int32 @ warpgroup[1] = id()
        strip: int32 @ warp[1] = CUT.rows * w + id() % 4 * 16  # the warp's first row: it has 16 of each 64
        lane: int32 @ thread[1] = id() % 32
        q: int32 @ thread[1] = lane % 4 * 2
        consumers, loader, fetcher = roles(warp, CUT.warps, 1, 1)
        with loader, one(thread):
            prefetch_map(map_a)
            prefetch_map(map_b)
        make_sums(
            sums, consumers, loader, fetcher, map_a, map_b, scale_a, scale_b, part, 0, i, j, m, n, k, CUT=CUT, BLOCKS=BLOCKS,
            BATCH=0,
        )  # fmt: skip
        with (
            claim(own, consumers) as filled, partition(filled, warp[1], lambda y, x: (strip + y, x)) as strips,
            group(warp[1]), partition(strips, thread[1], lambda y, x: (lane // 4 + y, q + x)) as mine, group(thread[1]),
        ):  # fmt: skip
            for r in range(0, CUT.rows, 64, unroll=True):
                for e in range(0, CUT.bn // 2, unroll=True):
                    mine[r + e // 2 % 2 * 8, e // 4 * 8 + e % 2] = sums[r // 64 * CUT.bn // 2 + e]
    with group(block[1]):
        add_parts(parts, part, i, j, CUT=CUT, STORE=STORE)


@prism.device
@template(CUT=constexpr(Cut), SUM=dtype, STORE=function)
@requires(block[1], thread["CUT.threads"])
def add_parts(
    parts: const(shared(SUM[CUT.parts, CUT.bm, CUT.bn + 8])) @ block[CUT.parts], part: int32 @ block[1],
    i: int32 @ block[1], j: int32 @ block[1],
):  # fmt: skip
    """`STORE(y, x, sum)` of rows of a tile, whose corner is at i, j: those that are a block's to add up, in the parts' order."""
    ROWS: constexpr(int) = (CUT.bm + CUT.parts - 1) // CUT.parts  # that a block adds up
    WORKERS: constexpr(int) = 128 * CUT.consumers  # its threads that do
    MANY: constexpr(int) = ROWS * CUT.bn // FOUR  # vectors
    EACH: constexpr(int) = (MANY + WORKERS - 1) // WORKERS
    WHOLE: constexpr(bool) = ROWS * CUT.parts == CUT.bm and EACH * WORKERS == MANY
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        if t < WORKERS:
            values: vector(SUM, FOUR)[EACH]
            for e in range(0, EACH):
                x: int32 = (t + e * WORKERS) % (CUT.bn // FOUR) * FOUR
                within: int32 = (t + e * WORKERS) // (CUT.bn // FOUR)
                y: int32 = part * ROWS + within
                if WHOLE or (within < ROWS and y < CUT.bm):
                    values[e] = load_vector(parts[0, y, x], FOUR)
                    for p in range(1, CUT.parts):
                        more: vector(SUM, FOUR) = load_vector(parts[p, y, x], FOUR)
                        for v in range(FOUR):
                            values[e][v] += more[v]
            for e in range(0, EACH):
                x: int32 = (t + e * WORKERS) % (CUT.bn // FOUR) * FOUR
                within: int32 = (t + e * WORKERS) // (CUT.bn // FOUR)
                y: int32 = part * ROWS + within
                if WHOLE or (within < ROWS and y < CUT.bm):
                    for v in range(FOUR):
                        STORE(i + y, j + (x + v), values[e][v])
