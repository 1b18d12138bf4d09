"""Wide rows that clusters have in turn, copied into shared memory by parts: the next ones come while some are worked on."""

from prism.kernels.rows.parts import fetch_rows, work_rows
from prism.lang import (
    block, const, constexpr, dtype, function, grid, int32, int64, prism, ptr, requires, shared, template, thread,
)


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), PLACES=constexpr(int),
    MORE=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int),
    BLOCKS=constexpr(int), THREADS=constexpr(int), ROWS=constexpr(int), READ=function,
    FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function,
    STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_rows_doubled(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    r: int64 @ block[BLOCKS], step: int64 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1],
    identity2: S2 @ grid[1],
):
    """Do what `map_rows_copied` does in turn, but that the next rows are under way meanwhile.

    Perspective, shapes: as of `map_rows_copied`.
    Cost:                as of `map_rows_copied`, and twice the shared memory.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    FIRSTS: constexpr(int) = max(ROWS * PLACES * (1 + MORE), 1)
    FEW: constexpr(int) = (THREADS if PLACES > 0 else 32) * 4 // TI.bytes  # never less than 128 bytes
    even: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    odd: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    even_firsts: shared(TI[BLOCKS, FIRSTS, FEW])
    odd_firsts: shared(TI[BLOCKS, FIRSTS, FEW])
    end: int64 @ block[BLOCKS] = (rows + ROWS - 1) // ROWS

    fetch_rows(
        even, even_firsts, x, stride, other, other_stride, r, rows, n, VECTORS=VECTORS,
        INPUTS=INPUTS, WIDTH=WIDTH, ROWS=ROWS, PLACES=PLACES, MORE=MORE,
    )
    for number in range(r, end, 2 * step, unroll=False):
        fetch_rows(
            odd, odd_firsts, x, stride, other, other_stride, number + step, rows, n, VECTORS=VECTORS,
            INPUTS=INPUTS, WIDTH=WIDTH, ROWS=ROWS, PLACES=PLACES, MORE=MORE,
        )
        work_rows(
            even, even_firsts, number, rows, n, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE, PLACES=PLACES,
            MORE=MORE, ROWS=ROWS, VECTORS=VECTORS, INPUTS=INPUTS, WIDTH=WIDTH, KEPT=KEPT, WARPS=THREADS // 32,
            READ=READ, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST,
            STORE=STORE,
        )
        fetch_rows(
            even, even_firsts, x, stride, other, other_stride, number + 2 * step, rows, n, VECTORS=VECTORS,
            INPUTS=INPUTS, WIDTH=WIDTH, ROWS=ROWS, PLACES=PLACES, MORE=MORE,
        )
        if number + step < end:
            work_rows(
                odd, odd_firsts, number + step, rows, n, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
                PLACES=PLACES, MORE=MORE, ROWS=ROWS, VECTORS=VECTORS, INPUTS=INPUTS, WIDTH=WIDTH, KEPT=KEPT,
                WARPS=THREADS // 32, READ=READ, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK,
                JOIN=JOIN, LAST=LAST, STORE=STORE,
            )
