"""How all operations on rows are put together: held where there is room, and read again where there is none."""

from prism.lang import block, constexpr, dtype, function, grid, int32, int64, prism, requires, template, thread
from prism.kernels.rows.registers import map_row
from prism.kernels.rows.long import map_long_row


@prism("device")
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), LONG=constexpr(bool),
    LOAD=function, READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function,
    LAST=function, STORE=function,
)
@requires(block[BLOCKS], thread[32])
def map_rows(
    r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1], wide: bool @ grid[1],
    identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do for rows what functions say, by `map_row`, or, where they are `LONG`, by `map_long_row`: see there."""
    if LONG:
        map_long_row(
            r, n, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH, INPUTS=INPUTS,
            KEPT=KEPT, BLOCKS=BLOCKS, LOAD=LOAD, READ=READ, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN,
            LAST=LAST, STORE=STORE,
        )
    else:
        map_row(
            r, rows, n, lanes, wide, identity, identity2, TI=TI, A=A, P=P, STAGES=STAGES, ONCE=ONCE, ITEMS=ITEMS, WIDTH=WIDTH,
            INPUTS=INPUTS, KEPT=KEPT, BLOCKS=BLOCKS, LOAD=LOAD, READ=READ, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2,
            PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
