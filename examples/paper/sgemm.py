"""Five matrix multiplications in float32, each faster than the one before (the paper's appendix "Matrix Multiplication").

`C = alpha * A @ B + beta * C`, row-major: `A` is `M x K`, `B` is `K x N`, `C` is `M x N`. `C` is read whatever `beta` is.
Sizes are any, unless a function's text says otherwise: tiles that stick out are filled with zeros and stored in part.
Indices are 32-bit: no matrix may have 2^31 elements.

The steps are those of Simon Boehm's "How to optimize a CUDA matmul kernel for cuBLAS-like performance", which the paper
follows too. Nobody wrote a barrier in this file: the tiled kernels get two in each step along `K`, one before the tiles in
shared memory are filled, since others may still read the last ones, and one before they are read.
"""

from prism.lang import (
    attr, block, const, constexpr, float4, float4_cast, float32, grid, group, id, int32, partition, prism, ptr, requires,
    shared, template, thread, warp,
)


# -- 1 and 2: one element a thread ------------------------------------------------------------------------------------------


@prism.kernel
@requires(grid[1], block[1], thread[1])
def naive(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1], A: ptr(const(float32)) @ grid[1],
    B: ptr(const(float32)) @ grid[1], beta: float32 @ grid[1], C: ptr(float32) @ grid[1],
):
    """Each thread computes the element of `C` with the thread's own number.

    Perspective: grid, of at least `M * N` threads in blocks of any size.
    Repaired:    the paper's gives every thread all of `C` (offset 0), reads `C` by its hidden name, and has no guard.
    """
    t: int32 @ thread[1] = id()
    with partition(C, thread[1], offset=t) as element:
        with group(thread[1]):
            if t < M * N:
                row: int32 = t // N
                col: int32 = t % N
                sum: float32 = 0.0
                for k in range(K):
                    sum += A[row * K + k] * B[k * N + col]
                element[0] = alpha * sum + beta * element[0]


@prism.kernel
@template(TILE=constexpr(int))
@requires(grid[1], block[1], thread[1])
def coalesced(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1], A: ptr(const(float32)) @ grid[1],
    B: ptr(const(float32)) @ grid[1], beta: float32 @ grid[1], C: ptr(float32) @ grid[1],
):
    """As `naive`, but adjacent numbers lie in one square tile of `C`: they share rows of `A` and columns of `B`.

    Perspective: grid, of at least `TILE * TILE` threads for each tile, in blocks of any size.
    """
    t: int32 @ thread[1] = id()
    across: int32 @ grid[1] = (N + TILE - 1) // TILE
    tile: int32 @ thread[1] = t // (TILE * TILE)
    place: int32 @ thread[1] = t % (TILE * TILE)
    row: int32 @ thread[1] = tile // across * TILE + place // TILE
    col: int32 @ thread[1] = tile % across * TILE + place % TILE
    with partition(C, thread[1], offset=row * N + col) as element:
        with group(thread[1]):
            if row < M and col < N:
                sum: float32 = 0.0
                for k in range(K):
                    sum += A[row * K + k] * B[k * N + col]
                element[0] = alpha * sum + beta * element[0]


# -- 3: tiles in shared memory, a square of elements a thread ---------------------------------------------------------------


@prism.kernel
@template(BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), TM=constexpr(int), TN=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, 1)")
def tiled(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1], A: ptr(const(float32)) @ grid[1],
    B: ptr(const(float32)) @ grid[1], beta: float32 @ grid[1], C: ptr(float32) @ grid[1],
):
    """A block computes `BM x BN` elements in steps of `BK`, a thread `TM x TN` of them, in registers.

    Perspective: grid, of one block a tile, in rows; `THREADS` is `BM * BN / (TM * TN)`.
    Shapes:      `BM * BK` and `BK * BN` are multiples of `THREADS`.
    Repaired:    the paper's reads the shared tiles by their hidden names, inside the very partitions that fill them, so
                 that nothing separates filling from reading; here the partitions end before the tiles are read.
    """
    across: int32 @ grid[1] = (N + BN - 1) // BN
    top: int32 @ block[1] = id() // across * BM
    left: int32 @ block[1] = id() % across * BN
    with partition(C, block[1], offset=top * N + left) as target:
        with group(block[1]):
            a: shared(float32[BM * BK]) @ block[1]
            b: shared(float32[BK * BN]) @ block[1]
            t: int32 @ thread[1] = id()
            row: int32 @ thread[1] = t // (BN // TN) * TM
            col: int32 @ thread[1] = t % (BN // TN) * TN
            sums: float32[TM * TN] @ thread[1] = {0}
            for first in range(0, K, BK):
                with partition(a, thread[1], offset=t) as mine:
                    with group(thread[1]):
                        for i in range(0, BM * BK, THREADS):
                            m: int32 = top + (t + i) // BK
                            k: int32 = first + (t + i) % BK
                            mine[i] = A[m * K + k] if m < M and k < K else 0.0
                with partition(b, thread[1], offset=t) as mine:
                    with group(thread[1]):
                        for i in range(0, BK * BN, THREADS):
                            k: int32 = first + (t + i) // BN
                            n: int32 = left + (t + i) % BN
                            mine[i] = B[k * N + n] if k < K and n < N else 0.0
                with group(thread[1]):
                    for k in range(BK):
                        m: float32[TM]
                        n: float32[TN]
                        for i in range(TM):
                            m[i] = a[(row + i) * BK + k]
                        for j in range(TN):
                            n[j] = b[k * BN + col + j]
                        for i in range(TM):
                            for j in range(TN):
                                sums[i * TN + j] += m[i] * n[j]
            with partition(target, thread[1], offset=row * N + col) as mine:
                with group(thread[1]):
                    for i in range(TM):
                        for j in range(TN):
                            if top + row + i < M and left + col + j < N:
                                mine[i * N + j] = alpha * sums[i * TN + j] + beta * mine[i * N + j]


# -- 4: four elements an access ---------------------------------------------------------------------------------------------


@prism.kernel
@template(BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), TM=constexpr(int), TN=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, 1)")
def vectorized(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1], A: ptr(const(float32)) @ grid[1],
    B: ptr(const(float32)) @ grid[1], beta: float32 @ grid[1], C: ptr(float32) @ grid[1],
):
    """As `tiled`, with 16 bytes an access to global memory, and `A`'s tile transposed: a thread's rows lie side by side.

    Shapes:      `N` and `K` are multiples of 4, the matrices aligned to 16 bytes; `M` is any. `BM * BK` and `BK * BN` are
                 multiples of `4 * THREADS`, and that of `BK` and `BN`; `BK`, `BN` and `TN` are multiples of 4.
    Repaired:    as `tiled`; and the paper's never fills `B`'s tile.
    """
    across: int32 @ grid[1] = (N + BN - 1) // BN
    top: int32 @ block[1] = id() // across * BM
    left: int32 @ block[1] = id() % across * BN
    with partition(C, block[1], offset=top * N + left) as target:
        with group(block[1]):
            a: shared(float32[BK * BM]) @ block[1]
            b: shared(float32[BK * BN], align=16) @ block[1]
            t: int32 @ thread[1] = id()
            row: int32 @ thread[1] = t // (BN // TN) * TM
            col: int32 @ thread[1] = t % (BN // TN) * TN
            sums: float32[TM * TN] @ thread[1] = {0}
            for first in range(0, K, BK):
                with partition(a, thread[1], offset=4 * t % BK * BM + 4 * t // BK) as column:
                    with group(thread[1]):
                        for i in range(0, BM * BK, 4 * THREADS):
                            m: int32 = top + (4 * t + i) // BK
                            k: int32 = first + 4 * t % BK
                            word: float4 = {0}
                            if m < M and k < K:
                                word = float4_cast(A[m * K + k])
                            for j in range(4):
                                column[j * BM + i // BK] = word[j]
                with partition(b, thread[1], offset=4 * t) as mine:
                    with group(thread[1]):
                        for i in range(0, BK * BN, 4 * THREADS):
                            k: int32 = first + (4 * t + i) // BN
                            n: int32 = left + (4 * t + i) % BN
                            word: float4 = {0}
                            if k < K and n < N:
                                word = float4_cast(B[k * N + n])
                            float4_cast[mine[i]] = word
                with group(thread[1]):
                    for k in range(BK):
                        m: float32[TM]
                        n: float32[TN]
                        for i in range(TM):
                            m[i] = a[k * BM + row + i]
                        for j in range(TN):
                            n[j] = b[k * BN + col + j]
                        for i in range(TM):
                            for j in range(TN):
                                sums[i * TN + j] += m[i] * n[j]
            with partition(target, thread[1], offset=row * N + col) as mine:
                with group(thread[1]):
                    for i in range(TM):
                        for j in range(0, TN, 4):
                            if top + row + i < M and left + col + j < N:
                                word: float4 = float4_cast(mine[i * N + j])
                                for v in range(4):
                                    word[v] = alpha * sums[i * TN + j + v] + beta * word[v]
                                float4_cast[mine[i * N + j]] = word


# -- 5: a tile a warp, in device functions ----------------------------------------------------------------------------------


@prism.device
@template(BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
def fill(
    A: ptr(const(float32)) @ block[1], B: ptr(const(float32)) @ block[1], rows: int32 @ block[1], cols: int32 @ block[1],
    depth: int32 @ block[1], K: int32 @ block[1], N: int32 @ block[1], a: ptr(float32) @ block[1], b: ptr(float32) @ block[1],
):
    """A block copies a step's tiles: of `A` transposed to `a`, of `B` to `b`, with zeros beyond `rows`, `depth` and `cols`."""
    t: int32 @ thread[1] = id()
    with partition(a, thread[1], offset=4 * t % BK * BM + 4 * t // BK) as column:
        with group(thread[1]):
            for i in range(0, BM * BK, 4 * THREADS):
                m: int32 = (4 * t + i) // BK
                k: int32 = 4 * t % BK
                word: float4 = {0}
                if m < rows and k < depth:
                    word = float4_cast(A[m * K + k])
                for j in range(4):
                    column[j * BM + i // BK] = word[j]
    with partition(b, thread[1], offset=4 * t) as mine:
        with group(thread[1]):
            for i in range(0, BK * BN, 4 * THREADS):
                k: int32 = (4 * t + i) // BN
                n: int32 = (4 * t + i) % BN
                word: float4 = {0}
                if k < depth and n < cols:
                    word = float4_cast(B[k * N + n])
                float4_cast[mine[i]] = word


@prism.device
@template(
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STEP_M=constexpr(int), STEP_N=constexpr(int), TM=constexpr(int),
    TN=constexpr(int), ROWS=constexpr(int), COLS=constexpr(int),
)
@requires(thread[1])
def multiply(
    a: ptr(const(float32)) @ thread[1], b: ptr(const(float32)) @ thread[1], sums: float32[ROWS * COLS] @ thread[1],
):
    """A thread adds a step's products: `TM x TN` of each of its warp's sub-tiles, `STEP_M` and `STEP_N` elements apart."""
    for k in range(BK):
        m: float32[ROWS]
        n: float32[COLS]
        for u in range(ROWS // TM):
            for i in range(TM):
                m[u * TM + i] = a[k * BM + u * STEP_M + i]
        for v in range(COLS // TN):
            for j in range(TN):
                n[v * TN + j] = b[k * BN + v * STEP_N + j]
        for i in range(ROWS):
            for j in range(COLS):
                sums[i * COLS + j] += m[i] * n[j]


@prism.kernel
@template(
    BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), WM=constexpr(int), WN=constexpr(int), WNITER=constexpr(int),
    TM=constexpr(int), TN=constexpr(int), THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def warps(
    M: int32 @ grid[1], N: int32 @ grid[1], K: int32 @ grid[1], alpha: float32 @ grid[1], A: ptr(const(float32)) @ grid[1],
    B: ptr(const(float32)) @ grid[1], beta: float32 @ grid[1], C: ptr(float32) @ grid[1],
):
    """As `vectorized`, with a level between: a warp computes `WM x WN` elements, in `WNITER` sub-tiles across.

    Shapes:      as `vectorized`; `THREADS` is `32 * (BM / WM) * (BN / WN)`, and `WM * WN` is a multiple of
                 `32 * TM * TN * WNITER`, which says how many sub-tiles there are down.
    Repaired:    the paper leaves out the two functions' bodies, and `WARPSIZE`'s value; its parts of `C` are the same for
                 all threads of a warp.
    """
    DOWN: constexpr(int) = WM * WN // (32 * TM * TN * WNITER)
    STEP_M: constexpr(int) = WM // DOWN
    STEP_N: constexpr(int) = WN // WNITER
    ROWS: constexpr(int) = DOWN * TM
    COLS: constexpr(int) = WNITER * TN
    across: int32 @ grid[1] = (N + BN - 1) // BN
    top: int32 @ block[1] = id() // across * BM
    left: int32 @ block[1] = id() % across * BN
    with partition(C, block[1], offset=top * N + left) as target:
        with partition(A, block[1], offset=top * K) as panel_a:
            with partition(B, block[1], offset=left) as panel_b:
                with group(block[1]):
                    a: shared(float32[BK * BM]) @ block[1]
                    b: shared(float32[BK * BN], align=16) @ block[1]
                    w: int32 @ warp[1] = id()
                    down: int32 @ warp[1] = w // (BN // WN) * WM
                    right: int32 @ warp[1] = w % (BN // WN) * WN
                    lane: int32 @ thread[1] = id() % 32
                    row: int32 @ thread[1] = lane // (STEP_N // TN) * TM
                    col: int32 @ thread[1] = lane % (STEP_N // TN) * TN
                    sums: float32[ROWS * COLS] @ thread[1] = {0}
                    for first in range(0, K, BK):
                        with partition(panel_a, block[1], offset=first) as step_a:
                            with partition(panel_b, block[1], offset=first * N) as step_b:
                                fill(
                                    step_a, step_b, M - top, N - left, K - first, K, N, a, b,
                                    BM=BM, BN=BN, BK=BK, THREADS=THREADS,
                                )
                        with partition(a, thread[1], offset=down + row) as rows:
                            with partition(b, thread[1], offset=right + col) as cols:
                                with group(thread[1]):
                                    multiply(
                                        rows, cols, sums, BM=BM, BN=BN, BK=BK, STEP_M=STEP_M, STEP_N=STEP_N, TM=TM, TN=TN,
                                        ROWS=ROWS, COLS=COLS,
                                    )
                    with partition(target, warp[1], offset=down * N + right) as part:
                        with group(warp[1]):
                            with partition(part, thread[1], offset=row * N + col) as mine:
                                with group(thread[1]):
                                    for i in range(ROWS):
                                        m: int32 = i // TM * STEP_M + i % TM
                                        for j in range(0, COLS, 4):
                                            n: int32 = j // TN * STEP_N + j % TN
                                            if top + down + row + m < M and left + right + col + n < N:
                                                word: float4 = float4_cast(mine[m * N + n])
                                                for v in range(4):
                                                    word[v] = alpha * sums[i * COLS + j + v] + beta * word[v]
                                                float4_cast[mine[m * N + n]] = word


SQUARES = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8, "THREADS": 256}
EXAMPLES = {
    "coalesced": {"TILE": 16},
    "tiled": SQUARES,
    "vectorized": SQUARES,
    "warps": {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "WNITER": 4, "TM": 8, "TN": 4, "THREADS": 128},
}
