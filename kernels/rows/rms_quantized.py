"""Rows divided by their root mean square and rounded to 8 bits, each row divided by a scale: all who share a row meet once."""

from prism.kernels.quantize.scales import inverse_of, scale_of, store_scaled
from prism.kernels.rows.configurations import GUESSED, HELD
from prism.kernels.rows.elements import load_numbers, store_numbers
from prism.kernels.rows.moments import map_sides
from prism.kernels.rows.sums import Pair
from prism.lang import (
    attr, block, const, constexpr, dtype, float32, function, grid, group, id, int8, int32, int64, partition, prism, ptr,
    requires, rsqrt, template, thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, TO=dtype, W=dtype, D=dtype, S=dtype, WEIGHT=constexpr(bool), RESIDUAL=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), THREADS=constexpr(int), RESIDENT=constexpr(int),
    ROWS=constexpr(int), WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def rms_quantize_rows(
    x: ptr(const(TI)) @ grid[1], residual: ptr(const(TI)) @ grid[1], weight: ptr(const(W)) @ grid[1],
    q: ptr(TO) @ grid[1], scales: ptr(float32) @ grid[1], sum: ptr(TI) @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], stride: int64 @ grid[1], residual_stride: int64 @ grid[1], eps: D @ grid[1], share: D @ grid[1],
    most: float32 @ grid[1], lanes: int32 @ grid[1], ahead: int32 @ grid[1],
):
    """What `norm_rows` does where not `CENTRED`, as `quantize_rows` rounds it: `q[r * n + i]` times `scales[r]` is near it.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      as of `norm_rows`, and of `quantize_rows`. `S`: a `Pair` of numbers of the type `D`.
    Numerics:    computes in float32, and adds up squares in `D`. The largest magnitude is found before what it is divided by, so
                 that all who share a row meet once.
    Test:        tests/kernels/test_norms_quantized.py, tests/gpu/test_layers.py
    """
    r: int64 @ block[BLOCKS] = id()
    with (
        partition(q, thread[1], offset=lambda i: i, races="none") as out,
        partition(scales, thread[1], offset=lambda i: i, races="none") as tops,
        partition(sum, thread[1], offset=lambda i: i, races="none") as added,
        group(block[BLOCKS]),
    ):

        @requires(thread[1])
        def weigh(column: int32 @ thread[1], values: float32[WIDTH] @ thread[1]):
            factors: float32[WIDTH]
            if WEIGHT:
                load_numbers(weight, column, factors)
            for k in range(WIDTH):
                values[k] = values[k] * factors[k] if WEIGHT else values[k]

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1],
            total: S @ thread[1], by: float32 @ thread[1],
        ):
            if RESIDUAL:
                store_numbers(added, row * n + column, values)
                weigh(column, values)
            store_scaled(out, row * n + column, values, 0, by, WIDTH=WIDTH, WHOLE=TO == int8)
            if j == 0:
                if column == 0:
                    tops[row] = scale_of(float32(total.second), most)

        map_peaks(
            x, stride, residual, residual_stride, r, ahead, rows, n, lanes, eps, share, most, S=S, RESIDUAL=RESIDUAL,
            ITEMS=ITEMS, WIDTH=WIDTH, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY, WEIGH=weigh,
            STORE=store,
        )


@prism.device
@template(
    TI=dtype, D=dtype, S=dtype, RESIDUAL=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
    WIDE=constexpr(bool), THREADS=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int), WEIGH=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_peaks(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], residual: ptr(const(TI)) @ grid[1],
    residual_stride: int64 @ grid[1], r: int64 @ block[BLOCKS], ahead: int32 @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], lanes: int32 @ grid[1], eps: D @ grid[1], share: D @ grid[1], most: float32 @ grid[1],
):
    """Do with a row's factor and the largest magnitude of its norm, an `S`, and what `WEIGH` gives is multiplied by, `STORE`.

    Perspective, shapes: as of `rms_quantize_rows`; `STORE` as of `map_row`, `WEIGH(column, values)`. Where there is
                         nothing to add, values are those of the norm by then.
    """
    @requires(thread[1])
    def nothing(row: int64 @ thread[1]) -> float32 @ thread[1]:
        return 0

    @requires(thread[1])
    def peak(
        j: int32 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1], same: float32 @ thread[1],
    ) -> S @ thread[1]:
        squares: float32 = 0
        top: float32 = 0
        for k in range(WIDTH):
            squares = squares + values[k] * values[k]
        if RESIDUAL:
            weighed: float32[WIDTH]
            for k in range(WIDTH):
                weighed[k] = values[k]
            WEIGH(column, weighed)
            for k in range(WIDTH):
                top = max(top, abs(weighed[k]))
        else:  # what is stored
            WEIGH(column, values)
            for k in range(WIDTH):
                top = max(top, abs(values[k]))
        return S(D(squares), D(top))

    @requires(thread[1])
    def pack(same: float32 @ thread[1], found: S @ thread[1]) -> S @ thread[1]:
        factor: D = rsqrt(found.first * share + eps)
        return S(factor, found.second * factor)

    @requires(thread[1])
    def last(same: float32 @ thread[1], total: S @ thread[1]) -> float32 @ thread[1]:
        return inverse_of(float32(total.second), most) * float32(total.first)

    map_sides(
        x, stride, residual, residual_stride, r, ahead, rows, n, lanes, float32(0), S(0, 0), TI=TI, A=float32, P=S,
        ONCE=GUESSED, RESIDUAL=RESIDUAL, ITEMS=ITEMS, WIDTH=WIDTH, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS,
        ROWS=ROWS, WAY=WAY, PLACES=0, FULL=False, FIRST=nothing, OP=operators.add, SECOND=peak, OP2=add_peaks, PACK=pack,
        LAST=last, STORE=STORE,
    )


@prism.device
@requires(thread[1])
@template(S=dtype)
def add_peaks(a: S @ thread[1], b: S @ thread[1]) -> S @ thread[1]:
    """The sum, and the larger one."""
    return S(a.first + b.first, max(a.second, b.second))


EXAMPLES = {
    "rms_quantize_rows": {
        "TI": "float32", "TO": "float8_e4m3fn", "W": "float32", "D": "float32", "S": Pair, "WEIGHT": True, "RESIDUAL": False,
        "ITEMS": 32, "WIDTH": 4, "BLOCKS": 1, "WIDE": True, "THREADS": 512, "RESIDENT": 2, "ROWS": 1, "WAY": HELD,
    },
}
