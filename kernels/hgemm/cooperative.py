"""Persistent."""

from __future__ import annotations

from prism.lang import (
    CUtensorMap, attr, bfloat16, block, claim, const, constexpr, count, dtype, float32, fragment, grid, group, id, int32, one,
    pack_bf16x2, pack_f16x2, partition, prefetch_map, prism, requires, roles, set_registers, shared, split, stmatrix, template,
    thread, tma_load, tma_store, uint32, warp, warpgroup, wgmma,
)


@prism("global")
@template(
    T=dtype, OUT=dtype, BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), SLABS=constexpr(int),
    GROUP=constexpr(int), AHEAD=constexpr(int), TRANSPOSE_A=constexpr(bool), TRANSPOSE_B=constexpr(bool),
)
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def hgemm(
    map_a: const(CUtensorMap(T, BK if TRANSPOSE_A else BM, BM if TRANSPOSE_A else BK, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(T, BK if TRANSPOSE_B else BN, BN if TRANSPOSE_B else BK, swizzle=128)) @ grid[1],
    map_c: CUtensorMap(OUT, BM, 64, swizzle=128) @ grid[1],
    tiles_m: int32 @ grid[1], tiles_n: int32 @ grid[1], steps: int32 @ grid[1],
):
    tiles: int32 @ grid[1] = tiles_m * tiles_n
    blocks: int32 @ grid[1] = count(block[1])
    first: int32 @ block[1] = id()
    with group(block[1]):
        a: shared(T[BK if TRANSPOSE_A else BM, BM if TRANSPOSE_A else BK], ring=STAGES, swizzle=128)
        b: shared(T[BK if TRANSPOSE_B else BN, BN if TRANSPOSE_B else BK], ring=STAGES, swizzle=128)
        c: shared(OUT[BM, 64], ring=SLABS, swizzle=128)
        acc: fragment(float32, 64, BN) @ warpgroup[1]
        w: int32 @ warpgroup[1] = id()
        strip: int32 @ warp[1] = id()
        consumers, producer = roles(warpgroup, 2, 1)
        with producer:
            set_registers(40)
        with consumers:
            set_registers(232)
        for tile in range(first, tiles, blocks):
            # Tiles go down GROUP rows of tiles before they go right, so that those under way share rows and columns.
            above: int32 @ block[1] = tile / (GROUP * tiles_n) * GROUP
            rows: int32 @ block[1] = min(tiles_m - above, GROUP)
            within: int32 @ block[1] = tile % (GROUP * tiles_n)
            i: int32 @ block[1] = (above + within % rows) * BM
            j: int32 @ block[1] = within / rows * BN
            for k in range(0, steps):
                with claim(a, producer) as sa, claim(b, producer) as sb, one(thread):
                    if TRANSPOSE_A:
                        tma_load(sa, map_a[k * BK, i])
                    else:
                        tma_load(sa, map_a[i, k * BK])
                    if TRANSPOSE_B:
                        tma_load(sb, map_b[k * BK, j])
                    else:
                        tma_load(sb, map_b[j, k * BK])
                with claim(a, consumers, in_flight=AHEAD) as sa, claim(b, consumers, in_flight=AHEAD) as sb, group(warpgroup[1]):
                    if TRANSPOSE_A:
                        wgmma(acc, sa[0, 64 * w], sb, transpose_a=True, transpose_b=TRANSPOSE_B, accumulate=k > 0)
                    else:
                        wgmma(acc, sa[64 * w, 0], sb, transpose_b=TRANSPOSE_B, accumulate=k > 0)
            for s in range(0, BN / 64, unroll=True):
                with claim(c, consumers) as sc:
                    with partition(sc, warp[1], lambda r, q: (16 * strip + r, q)) as own, group(warp[1]):
                        lane: int32 @ thread[1] = id()
                        words: uint32[4] @ thread[1]
                        for p in range(0, 4):
                            with group(thread[1]):
                                for q in range(0, 4):
                                    low: float32 = acc[32 * s + 8 * p + 2 * q]
                                    high: float32 = acc[32 * s + 8 * p + 2 * q + 1]
                                    words[q] = pack_bf16x2(low, high)
                            stmatrix(own[lane % 16, 16 * p + lane / 16 * 8], words)
                with claim(c, producer) as sc:
                    match split(warp):
                        case 1:
                            pass
                        case 1:
                            with one(thread):
                                tma_store(map_c[i, j + 64 * s], sc)
