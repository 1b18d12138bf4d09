"""Matrices of float32 as sums of three of bfloat16, so that the tensor cores can multiply them; and results put in place."""

from __future__ import annotations

from prism.lang import (
    assume, block, const, constexpr, count, float32, grid, group, id, int32, int64, pack_bf16x2, partition, prism, ptr, requires,
    shared, strides_nest, template, thread, uint32, uint64, unpack_bf16x2,
)

SIDE = 64  # of a block's tile
THREADS = 256
EACH = SIDE * SIDE // THREADS
PITCH = SIDE + 1  # elements of shared memory from a row of the tile to the next: a column's lie in banks of their own
ACROSS = THREADS // SIDE  # rows or columns of the tile that are read at a time
WORD = 4  # elements of one store
WORDS = SIDE // WORD  # of a row of the tile
DOWN = THREADS // WORDS  # rows that are written at a time
PLANES = 6
LARGEST = 3.4028234663852886e38  # of float32
TOP = 3.3895313892515355e38  # of bfloat16


@prism.kernel
@template(LEFT=constexpr(bool), TRANSPOSE=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def split(
    x: ptr(const(float32)) @ grid[1], rs: int64 @ grid[1], cs: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1],
    rows: int32 @ grid[1], columns: int32 @ grid[1], stride: int64 @ grid[1], apart: int64 @ grid[1],
    out: ptr(uint64) @ grid[1],
):
    """Write a matrix's planes: each element x is x1 + x2 + x3, of bfloat16, each the nearest to what those before it leave.

    The left matrix's planes are 1', 3, 2, 1', 2, 1 and the other's 3, 1', 2, 2, 1', 1: multiplied one by one, the small products
    come first. 1' is 1 but for Inf and NaN, where it is 0, as 2 and 3 are: they count once, in the last product.

    Perspective: grid, of a block for each 64 x 64 elements that are written.
    Shapes:      `x`: m x n, of any strides; adjacent threads read elements of a column where `TRANSPOSE`, else of a row. `out`:
                 six planes of rows x columns, zeros beyond m and n. Four elements a word: `columns` is a multiple of 4, rows are
                 `stride` words apart and planes `apart`.
    Cost:        one pass, which writes 12 bytes for each element; 16.25 KiB of shared memory, one barrier.
    Numerics:    exact for 0 and from 2^-110 on: all 24 bits are in the three. Below, x3 loses what is under 2^-133.
    Test:        tests/kernels/test_split.py, tests/gpu/test_sgemm_bf16x6.py
    """
    assume(columns >= 1 and strides_nest(PLANES, apart, rows, stride, (columns - 1) // WORD + 1, 1))
    across: int32 @ grid[1] = (columns - 1) // SIDE + 1
    top: int32 @ block[1] = id() // across * SIDE
    left: int32 @ block[1] = id() % across * SIDE
    with (
        partition(out, block[1], lambda p, i, w: p * apart + (top + i) * stride + left // WORD + w, races="none") as target,
        group(block[1]),
    ):
        assume(count(thread[1]) <= THREADS)
        tile: shared(float32[SIDE * PITCH])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda i, j: i * PITCH + j) as mine, group(thread[1]):
            i: int32 = t % SIDE if TRANSPOSE else t // SIDE
            j: int32 = t // SIDE if TRANSPOSE else t % SIDE
            place: int64 = (top + i) * rs + (left + j) * cs
            step: int64 = ACROSS * (cs if TRANSPOSE else rs)
            here: bool = top + i < m if TRANSPOSE else left + j < n
            more: int32 = n - left - j if TRANSPOSE else m - top - i
            loaded: float32[EACH]
            for v in range(EACH):  # all loads before the first store: the compiler doesn't move one past the other
                loaded[v] = x[place] if here and v * ACROSS < more else 0.0
                place += step
            for v in range(EACH):
                mine[i + (0 if TRANSPOSE else v * ACROSS), j + (v * ACROSS if TRANSPOSE else 0)] = loaded[v]
        with partition(target, thread[1], lambda p, i, w: (p, i, w), races="none") as mine, group(thread[1]):
            w: int32 = t % WORDS
            for v in range(EACH // WORD, unroll=True):
                i: int32 = t // WORDS + v * DOWN
                if top + i < rows and left + WORD * w < columns:
                    low: uint32[4]
                    high: uint32[4]
                    pair(tile[i * PITCH + WORD * w], tile[i * PITCH + WORD * w + 1], low)
                    pair(tile[i * PITCH + WORD * w + 2], tile[i * PITCH + WORD * w + 3], high)
                    words: uint64[4]
                    for q in range(4):
                        words[q] = uint64(high[q]) << 32 | low[q]
                    mine[0 if LEFT else 1, i, w] = words[1]
                    mine[1 if LEFT else 0, i, w] = words[3]
                    mine[2, i, w] = words[2]
                    mine[3 if LEFT else 4, i, w] = words[1]
                    mine[4 if LEFT else 3, i, w] = words[2]
                    mine[5, i, w] = words[0]


@prism.device
@requires(thread[1])
def pair(low: float32 @ thread[1], high: float32 @ thread[1], parts: uint32[4] @ thread[1]):
    """Split two elements: x1, 1' (x1, or 0 where it is Inf or NaN), x2 and x3 of both, two to a word.

    What would be rounded up to Inf goes to bfloat16's largest instead; the rest of it is in x2.
    """
    x: float32 = low
    y: float32 = high
    whole: uint32 = pack_bf16x2(low, high)
    first: uint32 = whole
    if not (abs(low) <= TOP and abs(high) <= TOP):
        x = finite(low)
        y = finite(high)
        whole = pack_bf16x2(clamp_finite(low), clamp_finite(high))
        first = pack_bf16x2(clamp_finite(x), clamp_finite(y))
    x -= unpack_bf16x2(first, 0)
    y -= unpack_bf16x2(first, 1)
    second: uint32 = pack_bf16x2(x, y)
    parts[0] = whole
    parts[1] = first
    parts[2] = second
    parts[3] = pack_bf16x2(x - unpack_bf16x2(second, 0), y - unpack_bf16x2(second, 1))


@prism.device
@requires(thread[1])
def finite(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The value, or 0 for Inf and NaN."""
    return x if abs(x) <= LARGEST else 0.0


@prism.device
@requires(thread[1])
def clamp_finite(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The value, or bfloat16's largest of its sign where it is finite and beyond it."""
    return x if abs(x) > LARGEST else min(max(x, -TOP), TOP)


@prism.kernel
@template(BETA=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def settle(
    x: ptr(const(float32)) @ grid[1], pitch: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1],
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], beta: float32 @ grid[1],
):
    """`out = x + beta * out`, for a result that tensor copies can't write; `out` is not read but where `BETA`.

    Perspective: grid, of a block for each 64 x 64 elements.
    Shapes:      m x n, rows `pitch` and `stride` elements apart. m, n at least 1.
    Cost:        one pass.
    Test:        tests/kernels/test_split.py, tests/gpu/test_sgemm_bf16x6.py
    """
    assume(n >= 1 and strides_nest(m, stride, n, 1))
    across: int32 @ grid[1] = (n - 1) // SIDE + 1
    top: int32 @ block[1] = id() // across * SIDE
    left: int32 @ block[1] = id() % across * SIDE
    with partition(out, block[1], lambda i, j: (top + i) * stride + left + j, races="none") as target, group(block[1]):
        assume(count(thread[1]) <= THREADS)
        t: int32 @ thread[1] = id()
        with partition(target, thread[1], lambda i, j: (i, j), races="none") as mine, group(thread[1]):
            for v in range(EACH):
                i: int32 = (t + v * THREADS) // SIDE
                j: int32 = (t + v * THREADS) % SIDE
                if top + i < m and left + j < n:
                    value: float32 = x[(top + i) * pitch + left + j]
                    if BETA:
                        value += beta * mine[i, j]
                    mine[i, j] = value
