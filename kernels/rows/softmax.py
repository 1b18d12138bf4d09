"""The softmax of rows, and its logarithm."""

from prism.lang import (
    attr, block, const, constexpr, dtype, exp, fast_exp2_flush, float32, fma, grid, group, id, int32, int64, log, partition,
    prism, ptr, requires, template, thread, warp,
)
from prism.kernels.rows.configurations import HELD, LONG
from prism.kernels.rows.elements import load_words, store_numbers
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows
from prism.kernels.rows.sums import Pair
from prism.lib.thread import operators

LOG2_E = 1.4426950408889634


@prism.device
@requires(thread[1])
@template(A=dtype, FAST=constexpr(bool))
def exp_above(x: A @ thread[1], top: A @ thread[1]) -> A @ thread[1]:
    """`exp(x - top)`; `FAST`: for results of 16 bits, within 2^-16 of it where it is above 2^-14; exactly 1 of `top` itself."""
    if FAST:
        return fast_exp2_flush((x - top) * LOG2_E)
    else:
        return exp(x - top)


@prism.kernel
@template(
    TI=dtype, TO=dtype, A=dtype, D=dtype, P=dtype, LOG=constexpr(bool), ONCE=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int), RESIDENT=constexpr(int),
    ROWS=constexpr(int), WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def softmax_rows(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1],
    scale: A @ grid[1], least: A @ grid[1], lanes: int32 @ grid[1], ahead: int32 @ grid[1],
):
    """`y[r * n + i] = exp(scale * x[r * stride + i]) / sum(exp(scale * x[r * stride + j]))`; with `LOG` the logarithm of that.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      `least`: -inf.
    Numerics:    computes in `A`, and adds up in `D`; with `ONCE` each warp has exponentials above what is its largest. NaN and
                 inf in a row, and a row of -inf alone, make NaN, as in torch.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    FAST: constexpr(bool) = TO.bytes == 2 and A == float32
    PARTS: constexpr(int) = (THREADS * BLOCKS + 1023) // 1024  # what a lane has of what all warps found
    r: int64 @ block[BLOCKS] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as out, group(block[BLOCKS]):

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[WIDTH] @ thread[1]):
            load_words(x, row * stride + column, words, FIRST=0, WIDTH=WIDTH)

        @requires(thread[1])
        def read(
            row: int64 @ thread[1], column: int32 @ thread[1], words: TI[WIDTH] @ thread[1], values: A[WIDTH] @ thread[1],
        ):
            for k in range(WIDTH):
                values[k] = A(words[k]) * scale

        @requires(thread[1])
        def largest(j: int32 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1]) -> A @ thread[1]:
            return thread.reduce(values, OP=operators.maximum)

        @requires(thread[1])
        def above(
            j: int32 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1], top: A @ thread[1],
        ) -> D @ thread[1]:
            base: A = 0 if top == least else top  # what is -inf all over is 0 where others have numbers
            parts: A[WIDTH]
            for k in range(WIDTH):
                parts[k] = exp_above(values[k], base, FAST=FAST)
                if not LOG:
                    values[k] = parts[k]
            return D(thread.reduce(parts, OP=operators.add))

        @requires(thread[1])
        def pack(top: A @ thread[1], sum: D @ thread[1]) -> P @ thread[1]:
            return P(top, A(sum))

        @requires(thread[32])
        def join(parts: P[PARTS] @ thread[1]) -> P @ thread[1]:
            top: A @ thread[1] = parts[0].first
            for k in range(1, PARTS):
                top = operators.maximum(top, parts[k].first)
            top = warp.reduce_near(top, 5, OP=operators.maximum)
            sum: A @ thread[1] = 0
            for k in range(PARTS):
                sum = sum + parts[k].second * exp_above(parts[k].first, top, FAST=FAST)
            return P(top, warp.reduce_near(sum, 5, OP=operators.add))

        @requires(thread[1])
        def last(top: A @ thread[1], total: P @ thread[1]) -> A @ thread[1]:
            if LOG:
                return log(total.second)
            elif ONCE:
                return exp_above(top, total.first, FAST=FAST) / total.second
            else:
                return 1 / total.second

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1],
            total: P @ thread[1], factor: A @ thread[1],
        ):
            for k in range(WIDTH):
                found: A = values[k] - total.first - factor if LOG else values[k] * factor
                if not LOG and not ONCE:  # the quotient, rounded once
                    found = fma(fma(-found, total.second, values[k]), factor, found)
                values[k] = found
            store_numbers(out, row * n + column, values)

        if (WAY == HELD or WAY == LONG) and ahead > 0:
            prefetch_rows(x, r + ahead, rows, n, stride, lanes, BLOCKS=BLOCKS, WIDE=WIDE)
        map_rows(
            x, stride, x, stride, r, ahead, rows, n, lanes, least, D(0), TI=TI, A=A, P=P, STAGES=2, ONCE=ONCE,
            ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=1, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
            PLACES=0, MORE=False, FULL=False, LOAD=load, READ=read, FIRST=largest, OP=operators.maximum, SECOND=above,
            OP2=operators.add, PACK=pack, JOIN=join, LAST=last, STORE=store,
        )


EXAMPLES = {
    "softmax_rows": {
        "TI": "float32", "TO": "float32", "A": "float32", "D": "float32", "P": Pair, "LOG": False, "ONCE": True, "ITEMS": 32,
        "WIDTH": 4, "BLOCKS": 1, "WIDE": True, "THREADS": 512, "RESIDENT": 2, "ROWS": 1, "WAY": HELD,
    },
}
