"""Rows divided by their root mean square, or made of mean 0 and variance 1."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    template, thread, uint32,
)
from prism.kernels.rows.configurations import BESIDE, HELD
from prism.kernels.rows.elements import keep_words, load_numbers, store_numbers, take_kept
from prism.kernels.rows.moments import map_norms, weigh
from prism.kernels.rows.sums import Pair, Three


@prism.kernel
@template(
    TI=dtype, W=dtype, A=dtype, D=dtype, G=dtype, S=dtype, P=dtype, CENTRED=constexpr(bool), WEIGHT=constexpr(bool),
    BIAS=constexpr(bool), RESIDUAL=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
    WIDE=constexpr(bool), THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def norm_rows(
    x: ptr(const(TI)) @ grid[1], residual: ptr(const(TI)) @ grid[1], weight: ptr(const(W)) @ grid[1],
    bias: ptr(const(W)) @ grid[1], y: ptr(TI) @ grid[1], sum: ptr(TI) @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1],
    stride: int64 @ grid[1], residual_stride: int64 @ grid[1], eps: D @ grid[1], share: D @ grid[1], lanes: int32 @ grid[1],
    ahead: int32 @ grid[1],
):
    """`y[r * n + i] = (x[r * stride + i] - m) * rsqrt(v + eps) * weight[i] + bias[i]`.

    `m` and `v` are the row's mean and variance where `CENTRED`, else 0 and the mean of squares.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      `weight`, `bias`: `n`, or not touched. `RESIDUAL`: the sum with `residual[r * residual_stride + i]`, rounded,
                 stands for `x`, and goes to `sum[r * n + i]`. `share`: `1 / n`. `P`: a `Pair` of numbers of the type `D`;
                 `S`, of which sums are: that, or, not `CENTRED`, `D`. `G`: `Three` of the type `TI`, or of 16 bits that.
    Numerics:    computes in `A`, and adds up in `D`: what elements are off a guess, and its squares, so that all who share a row
                 meet once.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    KEEP: constexpr(bool) = WAY == BESIDE and WEIGHT and W.bytes <= TI.bytes
    WORDS: constexpr(int) = max(WIDTH * W.bytes // 4, 1)  # that a vector of weights has
    KEEP_BIAS: constexpr(bool) = KEEP and BIAS and 2 * VECTORS * WORDS <= 32  # registers: more would spill
    r: int64 @ block[BLOCKS] = id()
    with (
        partition(y, thread[1], offset=lambda i: i, races="none") as out,
        partition(sum, thread[1], offset=lambda i: i, races="none") as added,
        group(block[BLOCKS]),
    ):
        kept: uint32[VECTORS, WORDS * (1 + KEEP_BIAS)] @ thread[1]
        if KEEP:
            keep_columns(weight, bias, kept, n, WIDTH=WIDTH, BLOCKS=BLOCKS, BOTH=KEEP_BIAS)

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1],
            moments: P @ thread[1], scale: A @ thread[1],
        ):
            factors: A[WIDTH]
            terms: A[WIDTH]
            if KEEP:
                take_kept(kept, j, 0, factors, W=W)
            elif WEIGHT:
                load_numbers(weight, column, factors)
            if KEEP_BIAS:
                take_kept(kept, j, WORDS, terms, W=W)
            elif BIAS:
                load_numbers(bias, column, terms)
            if RESIDUAL:
                store_numbers(added, row * n + column, values)
            weigh(
                values, A(moments.first), scale, factors, terms, CENTRED=CENTRED, WEIGHT=WEIGHT, BIAS=BIAS,
                SHORT=TI.bytes == 2,
            )
            store_numbers(out, row * n + column, values)

        map_norms(
            x, stride, residual, residual_stride, r, ahead, rows, n, lanes, eps, share, A=A, G=G, S=S, P=P, CENTRED=CENTRED,
            RESIDUAL=RESIDUAL, ITEMS=ITEMS, WIDTH=WIDTH, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
            STORE=store,
        )


@prism.device
@template(W=dtype, VECTORS=constexpr(int), N=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), BOTH=constexpr(bool))
@requires(block["BLOCKS"], thread[32])
def keep_columns(
    weight: ptr(const(W)) @ grid[1], bias: ptr(const(W)) @ grid[1], kept: uint32[VECTORS, N] @ thread[1],
    n: int32 @ grid[1],
):
    """Put the weights of a thread's vectors of a row, as they are, into `kept`; of `BOTH`, what is added behind them."""
    t: int32 @ thread[1] = id()  # in the cluster
    team: int32 @ block[BLOCKS] = count(thread[1])
    with group(thread[1]):
        for j in range(VECTORS):
            column: int32 = min(t + j * team, n // WIDTH - 1) * WIDTH
            keep_words(weight, column, kept, j, 0, WIDTH=WIDTH)
            if BOTH:
                keep_words(bias, column, kept, j, N // 2, WIDTH=WIDTH)


EXAMPLES = {
    "norm_rows": {
        "TI": "float32", "W": "float32", "A": "float32", "D": "float32", "G": Three, "S": Pair, "P": Pair, "CENTRED": True,
        "WEIGHT": True, "BIAS": True, "RESIDUAL": False, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 1, "WIDE": True, "THREADS": 512,
        "RESIDENT": 2, "ROWS": 1, "WAY": HELD,
    },
}
TOGETHER = ("CENTRED",)
"""Of examples: `S` is the type of rows whose mean is taken off."""
