"""Wide rows of which each block copies its part into shared memory as it lies in the array: many blocks have room at once."""

from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.parts import fetch_rows, work_rows
from prism.lang import (
    block, const, constexpr, dtype, function, grid, int32, int64, prism, ptr, requires, shared, template, thread,
)


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), THREADS=constexpr(int),
    ROWS=constexpr(int), READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function,
    JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_rows_copied(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    r: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1],
    identity2: S2 @ grid[1],
):
    """Do what `map_row` does for `ROWS` rows at once, those from number `r * ROWS` on.

    Perspective: as of `map_row`, `WIDE`.
    Shapes:      as of `map_row`, but that rows are of `x` and, where there are two `INPUTS`, of `other`, each so many elements
                 apart; a vector is of 4, 8 or 16 bytes, and there are at most `THREADS` threads in a block.
    Cost:        as of `map_row`, for so many rows together, but numbers are made of elements once more for each reduction and for
                 the result; shared memory for `ROWS * THREADS * ITEMS` elements of each array. A thread copies what it reads
                 itself, so nobody waits for the copies of others.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    held: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    firsts: shared(TI[BLOCKS, 1, 128 // TI.bytes])  # of nobody: who does not wait meanwhile loads what guesses are made of
    guesses: S[ROWS] @ thread[1]
    fetch_rows(
        held, firsts, x, stride, other, other_stride, r, rows, n, VECTORS=VECTORS,
        INPUTS=INPUTS, WIDTH=WIDTH, ROWS=ROWS, PLACES=0, MORE=False, ENDS=False, TEAM=0,
    )
    guess_rows(r * ROWS, rows, identity, guesses, ONCE=ONCE, GUESS=FIRST)
    work_rows(
        held, guesses, r, rows, n, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE, VECTORS=VECTORS, INPUTS=INPUTS,
        WIDTH=WIDTH, KEPT=KEPT, WARPS=THREADS // 32, TEAM=0, READ=READ, FIRST=FIRST,
        OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
    )
