"""The softmax of rows, and its logarithm."""

from prism.lang import (
    attr, block, const, constexpr, dtype, exp, fast_exp2_flush, float32, fma,
    grid, group, id, int32, int64, log, partition, prism, ptr,
    requires,
    template, thread,
)
from prism.kernels.rows.elements import load_once, store_numbers
from prism.kernels.rows.held import prefetch_row
from prism.kernels.rows.skeleton import map_rows
from prism.lib.thread import operators

LOG2_E = 1.4426950408889634


@prism("device")
@requires(thread[1])
@template(A=dtype, FAST=constexpr(bool))
def exp_above(x: A @ thread[1], top: A @ thread[1]) -> A @ thread[1]:
    """`exp(x - top)`; `FAST`: for results of 16 bits, within 2^-16 of it where it is above 2^-14."""
    if FAST:
        return fast_exp2_flush(x * LOG2_E - top * LOG2_E)
    else:
        return exp(x - top)


@prism("device")
@requires(thread[1])
@template(A=dtype)
def quotient(x: A @ thread[1], by: A @ thread[1], share: A @ thread[1]) -> A @ thread[1]:
    """`x / by`, of which `1 / by` is the `share`: its rounding is mended, which is less work than a division for each `x`."""
    near: A = x * share
    return fma(fma(-near, by, x), share, near)


@prism("global")
@template(
    TI=dtype, TO=dtype, A=dtype, LOG=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
    THREADS=constexpr(int), RESIDENT=constexpr(int), LONG=constexpr(bool),
)
@requires(grid[1], block[BLOCKS], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def softmax_rows(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1],
    scale: A @ grid[1], least: A @ grid[1], lanes: int32 @ grid[1], wide: bool @ grid[1], ahead: int32 @ grid[1],
):
    """`y[r * n + i] = exp(scale * x[r * stride + i]) / sum(exp(scale * x[r * stride + j]))`; with `LOG` the logarithm of that.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      `least`: -inf.
    Numerics:    computes in `A`. NaN and inf in a row, and a row of -inf alone, make NaN, as in torch.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    FAST: constexpr(bool) = TO.bytes == 2 and A == float32
    r: int64 @ block[BLOCKS] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as out, group(block[BLOCKS]):

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[WIDTH] @ thread[1]):
            load_once(x, row * stride + column, words, FIRST=0, WIDTH=WIDTH)

        @requires(thread[1])
        def read(
            row: int64 @ thread[1], column: int32 @ thread[1], words: TI[WIDTH] @ thread[1], values: A[WIDTH] @ thread[1],
        ):
            for k in range(WIDTH):
                values[k] = A(words[k]) * scale

        @requires(thread[1])
        def itself(value: A @ thread[1]) -> A @ thread[1]:
            return value

        @requires(thread[1])
        def above(value: A @ thread[1], top: A @ thread[1]) -> A @ thread[1]:
            return exp_above(value, top, FAST=FAST)

        @requires(thread[1])
        def last(top: A @ thread[1], sum: A @ thread[1]) -> A @ thread[1]:
            return log(sum) if LOG else 1 / sum

        @requires(thread[1])
        def store(
            row: int64 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1], top: A @ thread[1],
            sum: A @ thread[1], share: A @ thread[1],
        ):
            for k in range(WIDTH):
                if LOG:
                    values[k] = values[k] - top - share
                elif FAST:
                    values[k] = values[k] * share
                else:
                    values[k] = quotient(values[k], sum, share)
            store_numbers(out, row * n + column, values)

        if ahead > 0:
            prefetch_row(x, r + ahead, rows, n, stride, BLOCKS=BLOCKS)
        map_rows(
            r, rows, n, lanes, wide, least, A(0), TI=TI, STAGES=2, KEEP=not LOG, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=1, BLOCKS=BLOCKS, LONG=LONG,
            LOAD=load, READ=read, FIRST=itself, OP=operators.maximum, SECOND=above, OP2=operators.add, LAST=last, STORE=store,
        )


EXAMPLES = {
    "softmax_rows": {
        "TI": "float32", "TO": "float32", "A": "float32", "LOG": False, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 1, "THREADS": 512,
        "RESIDENT": 2, "LONG": False,
    },
}
