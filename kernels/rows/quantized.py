"""Rows rounded to 8 bits, each divided by a scale, by which its largest magnitude becomes the largest of 8 bits."""

from prism.kernels.quantize.scales import inverse_of, scale_of, store_scaled
from prism.kernels.rows.configurations import HELD, LONG
from prism.kernels.rows.elements import join_none, load_words, read_plain
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows
from prism.lang import (
    attr, block, const, constexpr, dtype, float32, grid, group, id, int8, int32, int64, partition, prism, ptr, requires,
    template, thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, TO=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def quantize_rows(
    x: ptr(const(TI)) @ grid[1], q: ptr(TO) @ grid[1], scales: ptr(float32) @ grid[1], rows: int64 @ grid[1],
    n: int32 @ grid[1], stride: int64 @ grid[1], most: float32 @ grid[1], lanes: int32 @ grid[1], ahead: int32 @ grid[1],
):
    """`q[r * n + i] = x[r * stride + i] / scales[r]`, rounded, and the scales: a row's largest magnitude / `most`, of zeros 1.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Test:        tests/kernels/test_quantize.py
    """
    r: int64 @ block[BLOCKS] = id()
    with (
        partition(q, thread[1], offset=lambda i: i, races="none") as out,
        partition(scales, thread[1], offset=lambda i: i, races="none") as tops,
        group(block[BLOCKS]),
    ):

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: TI[WIDTH] @ thread[1]):
            load_words(x, row * stride + column, words, FIRST=0, WIDTH=WIDTH)

        @requires(thread[1])
        def first(j: int32 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1]) -> float32 @ thread[1]:
            top: float32 = 0
            for k in range(WIDTH):
                top = max(top, abs(values[k]))
            return top

        @requires(thread[1])
        def second(
            j: int32 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1], top: float32 @ thread[1],
        ) -> float32 @ thread[1]:
            return top

        @requires(thread[1])
        def pack(top: float32 @ thread[1], same: float32 @ thread[1]) -> float32 @ thread[1]:
            return top

        @requires(thread[1])
        def last(top: float32 @ thread[1], same: float32 @ thread[1]) -> float32 @ thread[1]:
            return inverse_of(top, most)

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1],
            top: float32 @ thread[1], by: float32 @ thread[1],
        ):
            store_scaled(out, row * n + column, values, 0, by, WIDTH=WIDTH, WHOLE=TO == int8)
            if column == 0:
                tops[row] = scale_of(top, most)

        if (WAY == HELD or WAY == LONG) and ahead > 0:
            prefetch_rows(x, r + ahead, rows, n, stride, lanes, BLOCKS=BLOCKS, WIDE=WIDE)
        map_rows(
            x, stride, x, stride, r, ahead, rows, n, lanes, float32(0), float32(0), TI=TI, A=float32, P=float32,
            STAGES=1, ONCE=False, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=1, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS,
            ROWS=ROWS, WAY=WAY, PLACES=0, MORE=False, FULL=False, LOAD=load, READ=read_plain, FIRST=first, OP=operators.maximum,
            SECOND=second, OP2=operators.maximum, PACK=pack, JOIN=join_none, LAST=last, STORE=store,
        )


EXAMPLES = {
    "quantize_rows": {
        "TI": "bfloat16", "TO": "float8_e4m3fn", "ITEMS": 32, "WIDTH": 8, "BLOCKS": 1, "WIDE": True, "THREADS": 512,
        "RESIDENT": 2, "ROWS": 1, "WAY": 0,
    },
}
