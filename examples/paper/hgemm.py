"""Matrix multiplication in bfloat16 on Hopper, whose work the warpgroups of a block share (the paper's `hgemm`).

`C = A @ B.T`, row-major: `A` is `M x K`, `B` is `N x K`, `C` is `M x N`. A block computes a tile of `C` in steps along `K`.

One warpgroup, the producer, does nothing but ask the copy engine for tiles; the two others, the consumers, do nothing but
multiply. Between them stand two rings, which hold the tiles of `STAGES` steps. The loop says what happens to a step's tiles: they
are filled, then read. Who waits for whom, for how many bytes, and in which copy, is nowhere in this file: the compiler gives
each copy of a ring its barriers, and each role a loop of its own, in which it runs as far ahead as the rings let it.
"""

from prism.lang import (
    CUtensorMap, attr, bf16, block, claim, column, const, constexpr, count, fragment, grid, group, id, int32, one, partition,
    prism, ptr, requires, roles, row, set_registers, shared, store_vector, template, thread, tma_load, vector, warpgroup, wgmma,
)

ROWS = 128


@prism.kernel
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
@template(BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int))
def hgemm(
    A: const(CUtensorMap(bf16, ROWS, BK, swizzle=128)) @ grid[1], B: const(CUtensorMap(bf16, BN, BK, swizzle=128)) @ grid[1],
    C: ptr(bf16) @ grid[1], M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1],
):
    """A block computes `128 x BN` elements; a consumer 64 rows of them, whose sums it keeps in registers.

    Perspective: grid, of one block a tile, in rows.
    Shapes:      `M` is a multiple of 128, `N` of `BN`, `K` of `BK`; `BK` is a multiple of 64.
    Test:        tests/gpu/test_async.py
    """
    across: int32 @ grid[1] = N // BN
    top: int32 @ block[1] = id() // across * ROWS
    left: int32 @ block[1] = id() % across * BN
    with partition(C, block[1], offset=top * N + left) as target, group(block[1]):
        a: shared(bf16[ROWS, BK], ring=STAGES, swizzle=128) @ block[1]
        b: shared(bf16[BN, BK], ring=STAGES, swizzle=128) @ block[1]
        sums: fragment(float, 64, BN) @ warpgroup[1] = 0
        consumers, producer = roles(warpgroup, 2, 1)
        with producer:
            set_registers(40)
        with consumers:
            set_registers(232)
        for first in range(0, K, BK):
            with claim(a, producer) as tile_a, claim(b, producer) as tile_b:
                with one(thread):
                    tma_load(tile_a, A[top, first])
                    tma_load(tile_b, B[left, first])
            with claim(a, consumers) as tile_a, claim(b, consumers) as tile_b:
                w: int32 @ warpgroup[1] = id()
                with group(warpgroup[1]):
                    wgmma(sums, tile_a[64 * w, 0], tile_b)
        with claim(target, consumers) as tile:
            w: int32 @ warpgroup[1] = id()
            with partition(tile, warpgroup[1], offset=64 * w * N) as part, group(warpgroup[1]):
                t: int32 @ thread[1] = id()
                with partition(part, thread[1], offset=(t // 32 * 16 + t % 32 // 4) * N + t % 4 * 2) as mine, group(thread[1]):
                    for i in range(0, count(sums), 2):
                        pair: vector(bf16, 2) = {0}
                        pair[0] = bf16(sums[i])
                        pair[1] = bf16(sums[i + 1])
                        store_vector(mine[(row(sums, i) - row(sums, 0)) * N + column(sums, i) - column(sums, 0)], pair)


EXAMPLES = {"hgemm": {"BN": 256, "BK": 64, "STAGES": 4}}
