"""How all operations on rows are put together: held where there is room, and read again where there is none."""

from prism.lang import (block, const, constexpr, dtype, function, grid, int32, int64, prism, ptr, requires, template, thread)
from prism.kernels.rows.prefetch import map_rows_ahead
from prism.kernels.rows.configurations import BESIDE, COPIED, LONG, NEXT, STAGED
from prism.kernels.rows.copied import map_rows_copied
from prism.kernels.rows.doubled import map_rows_doubled
from prism.kernels.rows.registers import map_row
from prism.kernels.rows.staged import map_rows_staged
from prism.kernels.rows.long import map_long_row


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), ROWS=constexpr(int), WAY=constexpr(int), PLACES=constexpr(int), MORE=constexpr(bool),
    FULL=constexpr(bool),
    LOAD=function, READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function,
    JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_rows(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    r: int64 @ block[BLOCKS], ahead: int32 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1],
    identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do for rows what functions say: by `map_row`, or by `map_rows_ahead` or `map_long_row`, as `WAY` says. See there.

    `ahead`: of `NEXT`, how many clusters there are, which have rows in turn. `FULL`: of
    `HELD` and `BESIDE`, whether all who share a row have all their vectors of it.
    """
    if WAY == STAGED:
        map_rows_staged(
            x, stride, other, other_stride, r, int64(ahead), rows, n, lanes, identity, identity2, TI=TI, A=A, P=P,
            STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, WIDE=WIDE,
            THREADS=THREADS, PLACES=PLACES if TI.bytes == 2 else 0, MORE=MORE, READ=READ, FIRST=FIRST, OP=OP,
            SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
    elif WAY == COPIED:
        map_rows_copied(
            x, stride, other, other_stride, r, rows, n, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
            ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, THREADS=THREADS, ROWS=ROWS, READ=READ,
            FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
    elif WAY == BESIDE:
        map_rows_doubled(
            x, stride, other, other_stride, r, int64(ahead), rows, n, identity, identity2, TI=TI, A=A, P=P,
            STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, THREADS=THREADS,
            ROWS=ROWS, PLACES=PLACES, MORE=MORE, FULL=FULL, READ=READ, FIRST=FIRST, OP=OP,
            SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
    elif WAY == NEXT:
        map_rows_ahead(
            r, int64(ahead), rows, n, lanes, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS,
            WIDTH=WIDTH, THREADS=THREADS, INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, WIDE=WIDE, LOAD=LOAD, READ=READ,
            FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
    elif WAY == LONG:
        map_long_row(
            r, n, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH,
            INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, LOAD=LOAD, READ=READ, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2,
            PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
    else:
        map_row(
            r, rows, n, lanes, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH,
            THREADS=THREADS, INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, WIDE=WIDE, FULL=FULL, LOAD=LOAD, READ=READ,
            FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
