"""Rows divided by their root mean square, or made of mean 0 and variance 1."""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, mailbox, partition, prism, ptr, requires, rsqrt,
    template, thread, uint32, uint64, warp,
)
from prism.kernels.rows.elements import load_numbers, load_words, store_numbers
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows
from prism.kernels.rows.sums import Pair, add_pairs
from prism.lib.thread import operators


@prism("global")
@template(
    TI=dtype, W=dtype, A=dtype, S=dtype, P=dtype, CENTRED=constexpr(bool), WEIGHT=constexpr(bool), BIAS=constexpr(bool),
    RESIDUAL=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), THREADS=constexpr(int),
    RESIDENT=constexpr(int), LONG=constexpr(bool), PARTS=constexpr(bool), ROOM=constexpr(int),
)
@requires(grid[1], block[BLOCKS], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def norm_rows(
    x: ptr(const(TI)) @ grid[1], residual: ptr(const(TI)) @ grid[1], weight: ptr(const(W)) @ grid[1],
    bias: ptr(const(W)) @ grid[1], y: ptr(TI) @ grid[1], sum: ptr(TI) @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1],
    stride: int64 @ grid[1], residual_stride: int64 @ grid[1], eps: A @ grid[1], share: A @ grid[1], lanes: int32 @ grid[1],
    wide: bool @ grid[1], ahead: int32 @ grid[1], words: ptr(mailbox(P)) @ grid[1], control: ptr(uint64) @ grid[1],
    capacity: uint32 @ grid[1], parts: int32 @ grid[1], blocks: int32 @ grid[1],
):
    """`y[r * n + i] = (x[r * stride + i] - m) * rsqrt(v + eps) * weight[i] + bias[i]`.

    `m` and `v` are the row's mean and variance where `CENTRED`, else 0 and the mean of squares.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      `weight`, `bias`: `n`, or not touched. `RESIDUAL`: the sum with `residual[r * residual_stride + i]`, rounded,
                 stands for `x`, and goes to `sum[r * n + i]`. `share`: `1 / n`.
    Numerics:    computes in `A`; the variance is of what is left when the mean is taken away.
    Test:        tests/kernels/test_rows.py, tests/gpu/test_rows.py
    """
    INPUTS: constexpr(int) = 2 if RESIDUAL else 1
    r: int64 @ block[BLOCKS] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as out, partition(
        sum, thread[1], offset=lambda i: i, races="none"
    ) as sums, group(block[BLOCKS]):

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
        def first(column: int32 @ thread[1], values: A[WIDTH] @ thread[1]) -> S @ thread[1]:
            total: A = 0
            for k in range(WIDTH):
                total = total + (values[k] if CENTRED else values[k] * values[k])
            if PARTS:
                return S(WIDTH, total)
            else:
                return total

        @requires(thread[1])
        def off_mean(column: int32 @ thread[1], values: A[WIDTH] @ thread[1], sums: S @ thread[1]) -> A @ thread[1]:
            mean: A = 0
            if PARTS:  # a warp's own, as of all that it has
                mean = sums.second / sums.first
            else:
                mean = sums * share
            squares: A = 0
            for k in range(WIDTH):
                off: A = values[k] - mean
                squares = squares + off * off
            return squares

        @requires(thread[1])
        def pack(sums: S @ thread[1], squares: A @ thread[1]) -> P @ thread[1]:
            if PARTS:
                return P(sums.first, sums.second, squares)
            else:
                return P(sums * share, (squares if CENTRED else sums) * share)

        @requires(thread[32])
        def join(parts: P[BLOCKS] @ thread[1]) -> P @ thread[1]:
            """The squares of what is off a mean of all, from those of parts that have means of their own."""
            if PARTS:
                many: A @ thread[1] = warp.reduce_near(parts[0].count, 5, OP=operators.add)
                total: A @ thread[1] = warp.reduce_near(parts[0].total, 5, OP=operators.add)
                off: A @ thread[1] = parts[0].total / max(parts[0].count, A(1)) - total / max(many, A(1))
                squares: A @ thread[1] = parts[0].squares + parts[0].count * off * off
                return P(many, total, warp.reduce_near(squares, 5, OP=operators.add))
            else:
                return parts[0]

        @requires(thread[1])
        def factor(sums: S @ thread[1], found: P @ thread[1]) -> A @ thread[1]:
            if PARTS:
                return rsqrt((found.squares if CENTRED else found.total) * share + eps)
            else:
                return rsqrt(found.second + eps)

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: A[WIDTH] @ thread[1],
            found: P @ thread[1], scale: A @ thread[1],
        ):
            if RESIDUAL:
                store_numbers(sums, row * n + column, values)
            mean: A = 0
            if PARTS:
                mean = found.total * share
            else:
                mean = found.first
            for k in range(WIDTH):
                values[k] = ((values[k] - mean) if CENTRED else values[k]) * scale
            if WEIGHT:
                factors: A[WIDTH]
                load_numbers(weight, column, factors)
                for k in range(WIDTH):
                    values[k] = values[k] * factors[k]
            if BIAS:
                terms: A[WIDTH]
                load_numbers(bias, column, terms)
                for k in range(WIDTH):
                    values[k] = values[k] + terms[k]
            store_numbers(out, row * n + column, values)

        if ahead > 0 and not PARTS:
            prefetch_rows(x, r + ahead, rows, n, stride, lanes, wide, BLOCKS=BLOCKS)
        if PARTS:
            map_rows(
                x, residual, stride, residual_stride, r, rows, n, lanes, wide, S(0, 0), A(0), words, control, capacity, parts,
                blocks, ahead, TI=TI, A=A, P=P, STAGES=2 if CENTRED else 1, ONCE=True, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS,
                KEPT=1, BLOCKS=BLOCKS, LONG=LONG, PARTS=PARTS, ROOM=ROOM, LOAD=load, READ=read, FIRST=first, OP=add_pairs,
                SECOND=off_mean, OP2=operators.add, PACK=pack, JOIN=join, LAST=factor, STORE=store,
            )
        else:
            map_rows(
                x, residual, stride, residual_stride, r, rows, n, lanes, wide, A(0), A(0), words, control, capacity, parts,
                blocks, ahead, TI=TI, A=A, P=P, STAGES=2 if CENTRED else 1, ONCE=False, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS,
                KEPT=1, BLOCKS=BLOCKS, LONG=LONG, PARTS=PARTS, ROOM=ROOM, LOAD=load, READ=read, FIRST=first, OP=operators.add,
                SECOND=off_mean, OP2=operators.add, PACK=pack, JOIN=join, LAST=factor, STORE=store,
            )


EXAMPLES = {
    "norm_rows": {
        "TI": "float32", "W": "float32", "A": "float32", "S": "float32", "P": Pair, "CENTRED": True, "WEIGHT": True,
        "BIAS": True, "RESIDUAL": False, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 1, "THREADS": 512, "RESIDENT": 2, "LONG": False,
        "PARTS": False, "ROOM": 1,
    },
}
