"""Wide rows that clusters have in turn, copied into shared memory by parts: the next ones come while some are worked on."""

from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.parts import fetch_rows, guess_copied, work_rows
from prism.lang import (
    block, const, constexpr, dtype, function, grid, int32, int64, prism, ptr, requires, shared, template, thread,
)


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), PLACES=constexpr(int),
    MORE=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int),
    BLOCKS=constexpr(int), THREADS=constexpr(int), ROWS=constexpr(int), FULL=constexpr(bool),
    READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function,
    JOIN=function, LAST=function, STORE=function,
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
    TEAM: constexpr(int) = THREADS * BLOCKS if FULL else 0
    # A cluster has a thread of each warp copy what it guesses by: it would wait for loads. A block alone is faster with these.
    COPY: constexpr(int) = PLACES if BLOCKS > 1 else 0
    FIRSTS: constexpr(int) = max(ROWS * COPY * (1 + MORE), 1)
    FEW: constexpr(int) = (THREADS if COPY > 0 else 32) * 4 // TI.bytes  # never less than 128 bytes
    even: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    odd: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    even_firsts: shared(TI[BLOCKS, FIRSTS, FEW])
    odd_firsts: shared(TI[BLOCKS, FIRSTS, FEW])
    even_guesses: S[ROWS] @ thread[1]
    odd_guesses: S[ROWS] @ thread[1]
    end: int64 @ block[BLOCKS] = (rows + ROWS - 1) // ROWS

    @requires(block["BLOCKS"], thread[32])
    def fetch_even(number: int64 @ block[BLOCKS]):
        fetch_rows(
            even, even_firsts, x, stride, other, other_stride, number, rows, n, VECTORS=VECTORS, INPUTS=INPUTS, WIDTH=WIDTH,
            ROWS=ROWS, PLACES=COPY, MORE=MORE, ENDS=BLOCKS > 1, TEAM=TEAM,
        )
        if COPY == 0:
            guess_rows(number * ROWS, rows, identity, even_guesses, ONCE=ONCE, GUESS=FIRST)

    fetch_even(r)
    for number in range(r, end, 2 * step, unroll=False):
        fetch_rows(
            odd, odd_firsts, x, stride, other, other_stride, number + step, rows, n, VECTORS=VECTORS, INPUTS=INPUTS,
            WIDTH=WIDTH, ROWS=ROWS, PLACES=COPY, MORE=MORE, ENDS=BLOCKS > 1, TEAM=TEAM,
        )
        if COPY == 0:
            guess_rows((number + step) * ROWS, rows, identity, odd_guesses, ONCE=ONCE, GUESS=FIRST)
        else:
            guess_copied(even_firsts, even_guesses, PLACES=COPY, MORE=MORE, ALIKE=True)
        work_rows(
            even, even_guesses, number, rows, n, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE, VECTORS=VECTORS,
            INPUTS=INPUTS, WIDTH=WIDTH, KEPT=KEPT, WARPS=THREADS // 32, TEAM=TEAM, READ=READ,
            FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
        fetch_even(number + 2 * step)
        if number + step < end:
            if COPY > 0:
                guess_copied(odd_firsts, odd_guesses, PLACES=COPY, MORE=MORE, ALIKE=True)
            work_rows(
                odd, odd_guesses, number + step, rows, n, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
                VECTORS=VECTORS, INPUTS=INPUTS, WIDTH=WIDTH, KEPT=KEPT, WARPS=THREADS // 32, TEAM=TEAM,
                READ=READ, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST,
                STORE=STORE,
            )
