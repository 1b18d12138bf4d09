"""Rows divided by their root mean square, or made of mean 0 and variance 1."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, rsqrt, template,
    thread, uint32,
)
from prism.kernels.rows.configurations import BESIDE, GUESSED, HELD, LONG
from prism.kernels.rows.elements import join_none, keep_words, load_numbers, load_words, store_numbers, take_kept
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows
from prism.kernels.rows.sums import Pair, Three, add_pairs, guess_mean, middle, normal
from prism.lib.thread import operators


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
    INPUTS: constexpr(int) = 2 if RESIDUAL else 1
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
        t: int32 @ thread[1] = id()  # in the cluster
        team: int32 @ block[BLOCKS] = count(thread[1])
        if KEEP:
            with group(thread[1]):
                for j in range(VECTORS):
                    column: int32 = min(t + j * team, n // WIDTH - 1) * WIDTH
                    keep_words(weight, column, kept, j, 0, WIDTH=WIDTH)
                    if KEEP_BIAS:
                        keep_words(bias, column, kept, j, WORDS, WIDTH=WIDTH)

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[INPUTS * WIDTH] @ thread[1]):
            load_words(x, row * stride + column, words, FIRST=0, WIDTH=WIDTH)
            if RESIDUAL:
                load_words(residual, row * residual_stride + column, words, FIRST=WIDTH, WIDTH=WIDTH)

        @requires(thread[1])
        def read(
            row: int64 @ thread[1], column: int32 @ thread[1], words: TI[INPUTS * WIDTH] @ thread[1],
            values: A[WIDTH] @ thread[1],
        ):
            for k in range(WIDTH):
                values[k] = A(words[k])
                if RESIDUAL:
                    values[k] = A(TI(values[k] + A(words[WIDTH + k])))

        @requires(thread[1])
        def guess(row: int64 @ thread[1]) -> G @ thread[1]:
            if CENTRED:
                return guess_mean(
                    x, row * stride, residual, row * residual_stride, n, G=G, MORE=RESIDUAL,
                )
            else:
                return G(TI(0), TI(0), TI(0)) if TI.bytes > 2 else TI(0)

        @requires(thread[1])
        def sums(
            j: int32 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1], guessed: G @ thread[1],
        ) -> S @ thread[1]:
            near: A = middle(guessed, A=A, ONE=TI.bytes == 2) if CENTRED else 0
            total: A = 0
            squares: A = 0
            for k in range(WIDTH):
                off: A = values[k] - near if CENTRED else values[k]
                total = total + off
                squares = squares + off * off
            if CENTRED:
                return S(D(total), D(squares))
            else:
                return D(squares)

        @requires(thread[1])
        def pack(guessed: G @ thread[1], found: S @ thread[1]) -> P @ thread[1]:
            """The mean and the variance."""
            if CENTRED:
                off: D = found.first * share
                return P(D(middle(guessed, A=A, ONE=TI.bytes == 2)) + off, found.second * share - off * off)
            else:
                return P(0, found * share)

        @requires(thread[1])
        def factor(guessed: G @ thread[1], moments: P @ thread[1]) -> A @ thread[1]:
            return A(rsqrt(moments.second + eps))

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
            mean: A = A(moments.first)
            for k in range(WIDTH):
                values[k] = normal(values[k], mean, scale, CENTRED=CENTRED, SHORT=TI.bytes == 2)
                if WEIGHT:
                    values[k] = values[k] * factors[k]
                if BIAS:
                    values[k] = values[k] + terms[k]
            store_numbers(out, row * n + column, values)

        if (WAY == HELD or WAY == LONG) and ahead > 0:
            prefetch_rows(x, r + ahead, rows, n, stride, lanes, BLOCKS=BLOCKS, WIDE=WIDE)
        map_rows(
            x, stride, residual, residual_stride, r, ahead, rows, n, lanes, G(TI(0), TI(0), TI(0)) if TI.bytes > 2 else TI(0),
            S(0, 0) if CENTRED else D(0), TI=TI, A=A, P=P,
            STAGES=2, ONCE=GUESSED, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS,
            ROWS=ROWS, WAY=WAY, LOAD=load, READ=read, FIRST=guess, OP=operators.add, SECOND=sums,
            OP2=add_pairs if CENTRED else operators.add, PACK=pack, JOIN=join_none, LAST=factor, STORE=store,
        )


EXAMPLES = {
    "norm_rows": {
        "TI": "float32", "W": "float32", "A": "float32", "D": "float32", "G": Three, "S": Pair, "P": Pair, "CENTRED": True,
        "WEIGHT": True, "BIAS": True, "RESIDUAL": False, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 1, "WIDE": True, "THREADS": 512,
        "RESIDENT": 2, "ROWS": 1, "WAY": HELD,
    },
}
TOGETHER = ("CENTRED",)
"""Of examples: `S` is the type of rows whose mean is taken off."""
