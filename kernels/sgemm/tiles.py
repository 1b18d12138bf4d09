"""Products in float32, a tile of the result a block and a smaller one a thread: the third and the fourth of five variants.

What is computed, and what the parameters mean, is said in `elements.py`.
"""

from __future__ import annotations

from prism.lang import (
    attr, block, const, constexpr, dtype, float4, float4_cast, float32, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shared, template, thread, uint32,
)

PAD = 4
"""Elements that a row of a shared tile is longer than it must be: stores of a transposed tile then meet fewer bank conflicts."""


# -- 3: tiles in shared memory ----------------------------------------------------------------------------------------------


@prism.kernel
@template(
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), TM=constexpr(int), TN=constexpr(int),
    THREADS=constexpr(int), BLOCKS=constexpr(int), ALONG_A=constexpr(bool), ALONG_B=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def tiled(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1],
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], bs_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], bs_b: int64 @ grid[1],
    beta: float32 @ grid[1], C: ptr(float32) @ grid[1], rs_c: int64 @ grid[1], bs_c: int64 @ grid[1],
):
    """A block computes `BM x BN` elements in steps of `BK`, a thread `TM x TN` of them, in registers.

    Perspective: grid, of one block a tile, row by row, product by product; `THREADS` is `BM * BN / (TM * TN)`.
    Shapes:      `BM * BK` and `BK * BN` are multiples of `THREADS`. `ALONG_A`, `ALONG_B`: whether adjacent threads take
                 elements of an operand that are adjacent along K.
    Test:        tests/kernels/test_sgemm.py, tests/gpu/test_sgemm.py
    """
    across: int32 @ grid[1] = (N - 1) // BN + 1
    tiles: int32 @ grid[1] = ((M - 1) // BM + 1) * across
    p: int64 @ block[1] = uint32(id()) // uint32(tiles)  # without a sign to extend at each load, where registers are few
    top: int32 @ block[1] = id() % tiles // across * BM
    left: int32 @ block[1] = id() % tiles % across * BN
    with partition(C, block[1], lambda i, j: p * bs_c + (top + i) * rs_c + left + j) as target, group(block[1]):
        a: shared(float32[BK, BM + PAD])
        b: shared(float32[BK, BN + PAD])
        t: int32 @ thread[1] = id()
        row: int32 @ thread[1] = t // (BN // TN) * TM
        col: int32 @ thread[1] = t % (BN // TN) * TN
        sums: float32[TM, TN] @ thread[1] = {0}
        for first in range(0, K, BK):
            fill(
                A, p * bs_a + top * rs_a + first * cs_a, rs_a, cs_a, M - top, K - first, a,
                ALONG=ALONG_A, THREADS=THREADS,
            )
            fill(
                B, p * bs_b + first * rs_b + left * cs_b, cs_b, rs_b, N - left, K - first, b,
                ALONG=ALONG_B, THREADS=THREADS,
            )
            with group(thread[1]):
                for k in range(BK, unroll=True):
                    m: float32[TM]
                    n: float32[TN]
                    for i in range(TM):
                        m[i] = a[k, row + i]
                    for j in range(TN):
                        n[j] = b[k, col + j]
                    for i in range(TM):
                        for j in range(TN):
                            sums[i, j] += m[i] * n[j]
        with partition(target, thread[1], lambda i, j: (row + i, col + j)) as mine, group(thread[1]):
            for i in range(TM):
                for j in range(TN):
                    if top + row + i < M and left + col + j < N:
                        mine[i, j] = alpha * sums[i, j] + (beta * mine[i, j] if beta != 0.0 else 0.0)


@prism.device
@template(T=dtype, SUM=dtype, ALONG=constexpr(bool), BK=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
def fill(
    x: ptr(const(T)) @ grid[1], start: int64 @ block[1], step: int64 @ grid[1], step_k: int64 @ grid[1],
    width: int32 @ block[1], depth: int32 @ block[1], tile: shared(SUM[BK, WIDTH]) @ block[1],
):
    """`tile[k, i] = x[start + i * step + k * step_k]`, and 0 where `i >= width` or `k >= depth`, but for `PAD` of each row."""
    WIDE: constexpr(int) = WIDTH - PAD
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1]) as mine, group(thread[1]):
        loaded: SUM[BK * WIDE // THREADS]
        for n in range(BK * WIDE // THREADS):  # all loads, and then all stores: the compiler doesn't move one past the other
            e: int32 = t + n * THREADS
            k: int32 = e % BK if ALONG else e // WIDE
            i: int32 = e // BK if ALONG else e % WIDE
            loaded[n] = SUM()
            if i < width and k < depth:
                loaded[n] = SUM(x[start + i * step + k * step_k])
        for n in range(BK * WIDE // THREADS):
            e: int32 = t + n * THREADS
            mine[e % BK if ALONG else e // WIDE, e // BK if ALONG else e % WIDE] = loaded[n]


# -- 4: four elements an access ---------------------------------------------------------------------------------------------


@prism.kernel
@template(
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), TM=constexpr(int), TN=constexpr(int),
    THREADS=constexpr(int), BLOCKS=constexpr(int), ALONG_A=constexpr(bool), ALONG_B=constexpr(bool),
    WIDE_A=constexpr(bool), WIDE_B=constexpr(bool), WIDE_C=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def vectorized(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1],
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], bs_a: int64 @ grid[1],
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], bs_b: int64 @ grid[1],
    beta: float32 @ grid[1], C: ptr(float32) @ grid[1], rs_c: int64 @ grid[1], bs_c: int64 @ grid[1],
):
    """As `tiled`, with four elements an access: of global memory, and of the shared tiles.

    Perspective: as `tiled`.
    Shapes:      `BM * BK` and `BK * BN` are multiples of `4 * THREADS`; `BM`, `BN`, `BK`, `TM`, `TN` are multiples of 4.
                 `WIDE_A`, `WIDE_B`, `WIDE_C`: whether a matrix's elements lie side by side, A's and B's along K where `ALONG_A`,
                 `ALONG_B`, and begin, row by row (column by column), at multiples of 16 bytes. What doesn't is read one by one.
    Test:        tests/kernels/test_sgemm.py, tests/gpu/test_sgemm.py
    """
    across: int32 @ grid[1] = (N - 1) // BN + 1
    tiles: int32 @ grid[1] = ((M - 1) // BM + 1) * across
    p: int64 @ block[1] = id() // tiles
    top: int32 @ block[1] = id() % tiles // across * BM
    left: int32 @ block[1] = id() % tiles % across * BN
    with partition(C, block[1], lambda i, j: p * bs_c + (top + i) * rs_c + left + j) as target, group(block[1]):
        a: shared(float32[BK, BM + PAD], align=16)
        b: shared(float32[BK, BN + PAD], align=16)
        t: int32 @ thread[1] = id()
        row: int32 @ thread[1] = t // (BN // TN) * TM
        col: int32 @ thread[1] = t % (BN // TN) * TN
        next_a: float4[BM * BK // (4 * THREADS)] @ thread[1]
        next_b: float4[BK * BN // (4 * THREADS)] @ thread[1]
        sums: float32[TM, TN] @ thread[1] = {0}
        for first in range(0, K, BK):
            fetch(
                A, p * bs_a + top * rs_a + first * cs_a, rs_a, cs_a, M - top, K - first, next_a,
                ALONG=ALONG_A, WIDE=WIDE_A, BK=BK, WIDTH=BM, THREADS=THREADS,
            )
            fetch(
                B, p * bs_b + first * rs_b + left * cs_b, cs_b, rs_b, N - left, K - first, next_b,
                ALONG=ALONG_B, WIDE=WIDE_B, BK=BK, WIDTH=BN, THREADS=THREADS,
            )
            put(next_a, a, ALONG=ALONG_A, BK=BK, WIDTH=BM, THREADS=THREADS)
            put(next_b, b, ALONG=ALONG_B, BK=BK, WIDTH=BN, THREADS=THREADS)
            with group(thread[1]):
                add_products(a, b, row, col, sums, DOWN=4, RIGHT=4, UNROLL=BK)
        with partition(target, thread[1], lambda i, j: (row + i, col + j)) as mine, group(thread[1]):
            for i in range(TM):
                for j in range(0, TN, 4):
                    inside: int32 = N - (left + col + j) if top + row + i < M else 0
                    if WIDE_C and inside >= 4:
                        word: float4 = {0}
                        if beta != 0.0:
                            word = float4_cast(mine[i, j])
                        for v in range(4):
                            word[v] = alpha * sums[i, j + v] + beta * word[v]
                        float4_cast[mine[i, j]] = word
                    else:
                        for v in range(4):
                            if v < inside:
                                mine[i, j + v] = alpha * sums[i, j + v] + (beta * mine[i, j + v] if beta != 0.0 else 0.0)


@prism.device
@template(ALONG=constexpr(bool), WIDE=constexpr(bool), BK=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
def fetch(
    x: ptr(const(float32)) @ grid[1], start: int64 @ block[1], step: int64 @ grid[1], step_k: int64 @ grid[1],
    width: int32 @ block[1], depth: int32 @ block[1], words: float4[BK * WIDTH // (4 * THREADS)] @ thread[1],
):
    """Load what `fill` stores, four elements at a time, which are adjacent along K where `ALONG`; zeros beyond the edges."""
    t: int32 @ thread[1] = id()
    k: int32 @ thread[1] = 4 * t % BK if ALONG else 4 * t // WIDTH
    i: int32 @ thread[1] = 4 * t // BK if ALONG else 4 * t % WIDTH
    place: int64 @ thread[1] = start + i * step + k * step_k
    whole: bool @ block[1] = width >= WIDTH and depth >= BK
    with group(thread[1]):
        for n in range(BK * WIDTH // (4 * THREADS)):
            if ALONG:
                row: int32 = i + n * (4 * THREADS // BK)
                inside: int32 = 4 if whole else depth - k if row < width else 0
                words[n] = four(x, place + n * (4 * THREADS // BK) * step, step_k, inside, WIDE=WIDE)
            else:
                row: int32 = k + n * (4 * THREADS // WIDTH)
                inside: int32 = 4 if whole else width - i if row < depth else 0
                words[n] = four(x, place + n * (4 * THREADS // WIDTH) * step_k, step, inside, WIDE=WIDE)


@prism.device
@template(ALONG=constexpr(bool), BK=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
def put(words: float4[BK * WIDTH // (4 * THREADS)] @ thread[1], tile: shared(float32[BK, WIDTH + PAD]) @ block[1]):
    """Store what `fetch` loaded."""
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1]) as mine, group(thread[1]):
        for n in range(BK * WIDTH // (4 * THREADS)):
            e: int32 = 4 * (t + n * THREADS)
            if ALONG:
                for v in range(4):
                    mine[e % BK + v, e // BK] = words[n][v]
            else:
                float4_cast[mine[e // WIDTH, e % WIDTH]] = words[n]


@prism.device
@template(WIDE=constexpr(bool))
@requires(thread[1])
def four(
    x: ptr(const(float32)) @ grid[1], start: int64 @ thread[1], step: int64 @ thread[1], inside: int32 @ thread[1],
) -> float4 @ thread[1]:
    """`x[start + v * step]` for v from 0 to 3, and 0 where `v >= inside`; by one load where `WIDE` and all are inside."""
    word: float4 = {0}
    if WIDE and inside >= 4:
        word = float4_cast(x[start])
    else:
        for v in range(4):
            if v < inside:
                word[v] = x[start + v * step]
    return word


@prism.device
@template(
    BK=constexpr(int), A=constexpr(int), B=constexpr(int), ROWS=constexpr(int), COLS=constexpr(int), DOWN=constexpr(int),
    RIGHT=constexpr(int), UNROLL=constexpr(int),
)
@requires(thread[1])
def add_products(
    a: const(shared(float32[BK, A])) @ thread[1], b: const(shared(float32[BK, B])) @ thread[1], row: int32 @ thread[1],
    col: int32 @ thread[1], sums: float32[ROWS, COLS] @ thread[1],
):
    """Add a step's products. Of rows and columns a thread has four side by side, and the next four `DOWN` or `RIGHT` further."""
    for k in range(BK, unroll=UNROLL):
        m: float4[ROWS // 4]
        n: float4[COLS // 4]
        for i in range(ROWS // 4):
            m[i] = float4_cast(a[k, row + i * DOWN])
        for j in range(COLS // 4):
            n[j] = float4_cast(b[k, col + j * RIGHT])
        for i in range(ROWS):
            for j in range(COLS):
                sums[i, j] += m[i // 4][i % 4] * n[j // 4][j % 4]
