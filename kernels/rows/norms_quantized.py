"""Norms of rows whose results are rounded to 8 bits, each row divided by a scale."""

from prism.kernels.quantize.scales import inverse_of, scale_of, store_scaled
from prism.kernels.rows.configurations import APART, STAGED
from prism.kernels.rows.elements import load_numbers, store_numbers
from prism.kernels.rows.moments import add_up, map_sides, weigh
from prism.kernels.rows.scaled import map_scaled_ahead
from prism.kernels.rows.sums import Pair, Three, add_pairs, guess_mean, middle
from prism.lang import (
    attr, block, const, constexpr, count, dtype, float32, function, grid, group, id, int8, int32, int64, partition,
    prism, ptr, requires, rsqrt, template, thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, TO=dtype, W=dtype, D=dtype, G=dtype, S=dtype, WEIGHT=constexpr(bool), BIAS=constexpr(bool),
    RESIDUAL=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int), FULL=constexpr(bool),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def norm_quantize_rows(
    x: ptr(const(TI)) @ grid[1], residual: ptr(const(TI)) @ grid[1], weight: ptr(const(W)) @ grid[1],
    bias: ptr(const(W)) @ grid[1], q: ptr(TO) @ grid[1], scales: ptr(float32) @ grid[1], sum: ptr(TI) @ grid[1],
    rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1], residual_stride: int64 @ grid[1], eps: D @ grid[1],
    share: D @ grid[1], most: float32 @ grid[1], lanes: int32 @ grid[1], ahead: int32 @ grid[1],
):
    """What `norm_rows` does where `CENTRED`, as `quantize_rows` rounds it: `q[r * n + i]` times `scales[r]` is near it.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`. `WAY`: `HELD`,
                 `LONG`, or, where there is no `RESIDUAL`, and vectors are whole, `STAGED`.
    Shapes:      as of `norm_rows`, and of `quantize_rows`. `S`: a `Pair` of numbers of the type `D`. `FULL`: as of
                 `map_row`.
    Numerics:    computes in float32, and adds up in `D`: what elements are off a guess, as `norm_rows`.
    Test:        tests/kernels/test_norms_quantized.py, tests/gpu/test_layers.py
    """
    INPUTS: constexpr(int) = 2 if RESIDUAL else 1
    r: int64 @ block[BLOCKS] = id()
    with (
        partition(q, thread[1], offset=lambda i: i, races="none") as out,
        partition(scales, thread[1], offset=lambda i: i, races="none") as tops,
        partition(sum, thread[1], offset=lambda i: i, races="none") as added,
        group(block[BLOCKS]),
    ):

        @requires(thread[1])
        def apply(
            column: int32 @ thread[1], values: float32[INPUTS * WIDTH] @ thread[1], mean: float32 @ thread[1],
            scale: float32 @ thread[1],
        ):
            """Make the last `WIDTH` of the values what the norm is."""
            factors: float32[WIDTH]
            terms: float32[WIDTH]
            found: float32[WIDTH]
            if WEIGHT:
                load_numbers(weight, column, factors)
            if BIAS:
                load_numbers(bias, column, terms)
            for k in range(WIDTH):
                found[k] = values[k]
            weigh(found, mean, scale, factors, terms, CENTRED=True, WEIGHT=WEIGHT, BIAS=BIAS, SHORT=TI.bytes == 2)
            for k in range(WIDTH):
                values[(INPUTS - 1) * WIDTH + k] = found[k]

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1],
            values: float32[INPUTS * WIDTH] @ thread[1], top: float32 @ thread[1], by: float32 @ thread[1],
        ):
            store_scaled(out, row * n + column, values, (INPUTS - 1) * WIDTH, by, WIDTH=WIDTH, WHOLE=TO == int8)
            if RESIDUAL:
                total: float32[WIDTH]
                for k in range(WIDTH):
                    total[k] = values[k]
                store_numbers(added, row * n + column, total)
            if j == 0:
                if column == 0:
                    tops[row] = scale_of(top, most)

        if WAY == STAGED:
            map_scaled_ahead(
                x, stride, weight, bias, r, int64(ahead), rows, n, eps, share, most, TI=TI, D=D, G=G, S=S, WEIGHT=WEIGHT,
                BIAS=BIAS, ITEMS=ITEMS, WIDTH=WIDTH, BLOCKS=BLOCKS, THREADS=THREADS, STORE=store,
            )
        else:
            map_scaled(
                x, stride, residual, residual_stride, r, ahead, rows, n, lanes, eps, share, most, G=G, S=S,
                RESIDUAL=RESIDUAL, ITEMS=ITEMS, WIDTH=WIDTH, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY,
                FULL=FULL, APPLY=apply, STORE=store,
            )


@prism.device
@template(
    TI=dtype, D=dtype, G=dtype, S=dtype, RESIDUAL=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int),
    FULL=constexpr(bool), APPLY=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_scaled(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], residual: ptr(const(TI)) @ grid[1],
    residual_stride: int64 @ grid[1], r: int64 @ block[BLOCKS], ahead: int32 @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], lanes: int32 @ grid[1], eps: D @ grid[1], share: D @ grid[1], most: float32 @ grid[1],
):
    """Do with rows whose norms `APPLY` finds, and with the largest magnitude of each, what `STORE` says.

    Perspective, shapes: as of `norm_quantize_rows`; `STORE` as of `map_row`, `APPLY(column, values, mean, scale)`.
    """
    INPUTS: constexpr(int) = 2 if RESIDUAL else 1
    near: float32 @ thread[1] = guess_own(
        x, stride, residual, residual_stride, r, rows, n, lanes, G=G, BLOCKS=BLOCKS, WIDE=WIDE, MORE=RESIDUAL,
    )

    @requires(thread[1])
    def first(j: int32 @ thread[1], column: int32 @ thread[1], values: float32[INPUTS * WIDTH] @ thread[1]) -> S @ thread[1]:
        return add_up(values, near, D=D, S=S, WIDTH=WIDTH, CENTRED=True)

    @requires(thread[1])
    def second(
        j: int32 @ thread[1], column: int32 @ thread[1], values: float32[INPUTS * WIDTH] @ thread[1], sums: S @ thread[1],
    ) -> float32 @ thread[1]:
        off: D = sums.first * share
        APPLY(column, values, near + float32(off), float32(rsqrt(sums.second * share - off * off + eps)))
        top: float32 = 0
        for k in range(WIDTH):
            top = max(top, abs(values[(INPUTS - 1) * WIDTH + k]))
        return top

    @requires(thread[1])
    def pack(sums: S @ thread[1], top: float32 @ thread[1]) -> float32 @ thread[1]:
        return top

    @requires(thread[1])
    def last(sums: S @ thread[1], top: float32 @ thread[1]) -> float32 @ thread[1]:
        return inverse_of(top, most)

    map_sides(
        x, stride, residual, residual_stride, r, ahead, rows, n, lanes, S(0, 0), float32(0), TI=TI, A=float32, P=float32,
        ONCE=APART, RESIDUAL=RESIDUAL, ITEMS=ITEMS, WIDTH=WIDTH, KEPT=INPUTS, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS,
        ROWS=ROWS, WAY=WAY, PLACES=0, FULL=FULL, FIRST=first, OP=add_pairs, SECOND=second, OP2=operators.maximum,
        PACK=pack, LAST=last, STORE=STORE,
    )


@prism.device
@template(TI=dtype, G=dtype, BLOCKS=constexpr(int), WIDE=constexpr(bool), MORE=constexpr(bool))
@requires(block["BLOCKS"], thread[32])
def guess_own(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], residual: ptr(const(TI)) @ grid[1],
    residual_stride: int64 @ grid[1], r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1],
    lanes: int32 @ grid[1],
) -> float32 @ thread[1]:
    """A guess of the mean of the row that a thread has a part of, as of `map_row`."""
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    near: float32 @ thread[1] = 0
    with group(thread[1]):
        own: int64 = min(r if WIDE else (r * threads + t) >> lanes, rows - 1)
        guessed: G = guess_mean(x, own * stride, residual, own * residual_stride, n, G=G, CENTRED=True, MORE=MORE)
        near = middle(guessed, A=float32, ONE=TI.bytes == 2)
    return near


EXAMPLES = {
    "norm_quantize_rows": {
        "TI": "float32", "TO": "float8_e4m3fn", "W": "float32", "D": "float32", "G": Three, "S": Pair,
        "WEIGHT": True, "BIAS": True, "RESIDUAL": False, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 1, "WIDE": True, "THREADS": 512,
        "RESIDENT": 2, "ROWS": 1, "WAY": 0, "FULL": False,
    },
}
