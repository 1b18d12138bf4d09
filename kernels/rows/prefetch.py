"""Rows that those who share them have in turn: the next one is loaded while they work on one, so that memory never waits."""

from prism.lang import (
    assume, block, constexpr, count, dtype, function, grid, group, id, int32, int64, prism, requires, template, thread,
)
from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.elements import load_vectors, read_vectors
from prism.kernels.rows.settle import settle_row


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), LOAD=function, READ=function, FIRST=function, OP=function, SECOND=function, OP2=function,
    PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_rows_ahead(
    r: int64 @ block[BLOCKS], step: int64 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1],
    identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do what `map_row` does as number `r`, then as number `r + step`, and so on, as long as there are rows.

    Perspective, shapes: as of `map_row`. `LOAD` is called for a row before the one before it is worked on.
    Cost:                as of `map_row`, for each row; of several blocks one barrier more where there is one stage.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    words: TI[VECTORS, INPUTS * WIDTH] @ thread[1]
    items: A[VECTORS, KEPT * WIDTH] @ thread[1]
    assume(lanes >= 0 and lanes <= 5)
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    many: int32 @ block[BLOCKS] = n // WIDTH
    shift: int32 @ block[BLOCKS] = 0 if WIDE else lanes
    each: int64 @ block[BLOCKS] = 1 if WIDE else threads >> lanes  # rows of a cluster
    groups: int64 @ block[BLOCKS] = (rows + each - 1) // each
    team: int32 @ thread[1] = threads if WIDE else 1 << lanes
    part: int32 @ thread[1] = t if WIDE else t & team - 1
    own_row: int64 @ thread[1] = 0 if WIDE else t >> lanes

    guesses: S[1] @ thread[1]

    @requires(thread[1])
    def fetch(number: int64 @ thread[1]):
        row: int64 = min(number * each + own_row, rows - 1)
        load_vectors(row, part, team, many, words, WIDTH=WIDTH, FULL=False, LOAD=LOAD)
        guess_rows(row, rows, identity, guesses, ONCE=ONCE, GUESS=FIRST)

    with group(thread[1]):
        fetch(r)
    for number in range(r, groups, step, unroll=False):
        found: int64 @ thread[1] = number * each + own_row
        row: int64 @ thread[1] = min(found, rows - 1)  # who has none reads what another one reads, and stores nothing
        end: int32 @ thread[1] = many if found < rows else 0
        guess: S @ thread[1] = guesses[0]
        with group(thread[1]):
            read_vectors(row, part, team, many, words, items, WIDTH=WIDTH, FULL=False, READ=READ)
            if number + step < groups:
                fetch(number + step)
        settle_row(
            items, guess, row, part, team, many, end, lanes, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE, WIDTH=WIDTH,
            THREADS=THREADS, BLOCKS=BLOCKS, WIDE=WIDE, FULL=False, FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK,
            JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
