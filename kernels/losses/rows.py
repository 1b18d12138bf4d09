"""Cross-entropy of rows that are held whole: by lanes of a warp, or by a block."""

from prism.kernels.losses.cross_entropy import Part32, loss_of, power
from prism.kernels.rows.elements import join_none, load_words, read_plain
from prism.kernels.rows.registers import prefetch_rows
from prism.kernels.rows.skeleton import map_rows
from prism.kernels.rows.sums import Pair, add_pairs
from prism.lang import (
    attr, block, const, constexpr, dtype, float32, grid, group, id, int32, int64, log, partition, prism, ptr, requires, template,
    thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(
    T=dtype, L=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), RESIDENT=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int),
)
@requires(grid[1], block["BLOCKS"], thread[32])
@attr("__launch_bounds__(THREADS, RESIDENT)")
def loss_rows(
    x: ptr(const(T)) @ grid[1], labels: ptr(const(L)) @ grid[1], losses: ptr(float32) @ grid[1], logs: ptr(float32) @ grid[1],
    rows: int64 @ grid[1], n: int32 @ grid[1], stride: int64 @ grid[1], smoothing: float32 @ grid[1], ignored: int64 @ grid[1],
    least: float32 @ grid[1], lanes: int32 @ grid[1], ahead: int32 @ grid[1],
):
    """Write each row's loss and the logarithm of its sum of exponentials: what `losses_of` does, in one launch.

    Perspective: grid, of blocks, or clusters of `BLOCKS`, of up to `THREADS` threads: see `map_rows`.
    Shapes:      rows of `x` are `stride` elements apart; `labels`, `losses`, `logs`: one a row. `least`: -inf.
    Numerics:    computes in float32.
    Test:        tests/kernels/test_cross_entropy.py
    """
    r: int64 @ block[BLOCKS] = id()
    with (
        partition(losses, thread[1], offset=lambda i: i, races="none") as out,
        partition(logs, thread[1], offset=lambda i: i, races="none") as others,
        group(block[BLOCKS]),
    ):

        @requires(thread[1])
        def load(row: int64 @ thread[1], column: int32 @ thread[1], words: T[WIDTH] @ thread[1]):
            load_words(x, row * stride + column, words, FIRST=0, WIDTH=WIDTH)

        @requires(thread[1])
        def largest(
            j: int32 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1],
        ) -> float32 @ thread[1]:
            return thread.reduce(values, OP=operators.maximum)

        @requires(thread[1])
        def above(
            j: int32 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1], top: float32 @ thread[1],
        ) -> Pair @ thread[1]:
            base: float32 = 0 if top == least else top
            total: float32 = 0
            plain: float32 = 0
            for k in range(WIDTH):
                total = total + power(values[k] - base, FAST=True)
                plain = plain + values[k]
            return Pair(total, plain)

        @requires(thread[1])
        def pack(top: float32 @ thread[1], sums: Pair @ thread[1]) -> Part32 @ thread[1]:
            return Part32(top, sums.first, sums.second)

        @requires(thread[1])
        def last(top: float32 @ thread[1], whole: Part32 @ thread[1]) -> float32 @ thread[1]:
            return (0 if top == least else top) + log(whole.total)

        @requires(thread[1])
        def store(
            j: int32 @ thread[1], row: int64 @ thread[1], column: int32 @ thread[1], values: float32[WIDTH] @ thread[1],
            whole: Part32 @ thread[1], sum: float32 @ thread[1],
        ):
            if column == 0:
                out[row] = loss_of(x, labels, row, n, stride, sum, whole.plain, smoothing, ignored)
                others[row] = sum

        if ahead > 0:
            prefetch_rows(x, r + ahead, rows, n, stride, lanes, BLOCKS=BLOCKS, WIDE=WIDE)
        map_rows(
            x, stride, x, stride, r, ahead, rows, n, lanes, least, Pair(0, 0), TI=T, A=float32, P=Part32, STAGES=2, ONCE=False,
            ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=1, KEPT=1, BLOCKS=BLOCKS, WIDE=WIDE, THREADS=THREADS, ROWS=ROWS, WAY=WAY, PLACES=0,
            MORE=False, FULL=False, LOAD=load, READ=read_plain, FIRST=largest, OP=operators.maximum, SECOND=above,
            OP2=add_pairs, PACK=pack, JOIN=join_none, LAST=last, STORE=store,
        )


EXAMPLES = {
    "loss_rows": {
        "T": "bfloat16", "L": "int64", "ITEMS": 32, "WIDTH": 8, "BLOCKS": 1, "WIDE": True, "THREADS": 512, "RESIDENT": 2,
        "ROWS": 1, "WAY": 0,
    },
}
