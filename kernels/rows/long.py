"""Rows that are too long to be held: read once for each of their reductions, and once more for the results."""

from prism.lang import (
    block, constexpr, count, dtype, function, grid, group, id, int32, int64, prism, requires, template, thread,
)
from prism.kernels.rows.agree import agree, guess_rows
from prism.kernels.rows.configurations import GUESSED
from prism.kernels.rows.elements import load_vectors, read_vectors


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), LOAD=function, READ=function,
    FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_long_row(row: int64 @ block[BLOCKS], n: int32 @ grid[1], identity: S @ grid[1], identity2: S2 @ grid[1]):
    """Do for row number `row`, of any length, what `map_row` does; `ITEMS` of a thread's elements are under way at once.

    Perspective: cluster of `BLOCKS` blocks of any number of warps, which share the row.
    Shapes:      as of `map_row`.
    Cost:        the row is read `STAGES + 1` times, `GUESSED` `STAGES` times, if may be from the L2.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    words: TI[VECTORS, INPUTS * WIDTH] @ thread[1]
    items: A[VECTORS, KEPT * WIDTH] @ thread[1]
    t: int32 @ thread[1] = id()  # in the cluster
    team: int32 @ block[BLOCKS] = count(thread[1])
    many: int32 @ block[BLOCKS] = n // WIDTH
    guesses: S[1] @ thread[1]
    guess_rows(row, row + 1, identity, guesses, ONCE=ONCE, GUESS=FIRST)
    a: S @ thread[1] = guesses[0]
    b: S2 @ thread[1] = identity2

    @requires(thread[1])
    def fetch(at: int32 @ thread[1]):
        load_vectors(row, at, team, many, words, WIDTH=WIDTH, FULL=False, LOAD=LOAD)
        read_vectors(row, at, team, many, words, items, WIDTH=WIDTH, FULL=False, READ=READ)

    @requires(thread[1])
    def prepare(j: int32 @ thread[1], vector: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
        """Put the thread's vector j into `values`, and make of it what the second reduction makes."""
        for k in range(KEPT * WIDTH):
            values[k] = items[j, k]
        if STAGES == 2:
            b_again: S2 = SECOND(j, vector * WIDTH, values, a)

    if ONCE != GUESSED:
        with group(thread[1]):
            for at in range(t, many, VECTORS * team, unroll=False):
                fetch(at)
                for j in range(VECTORS):
                    values: A[KEPT * WIDTH]
                    for k in range(KEPT * WIDTH):
                        values[k] = items[j, k]
                    own: S = FIRST(j, min(at + j * team, many - 1) * WIDTH, values)
                    a = OP(a, own if at + j * team < many else identity)
        a = agree(a, identity, 5, OP=OP, BLOCKS=BLOCKS, WIDE=True, NEAR=False)
    if STAGES == 2:
        with group(thread[1]):
            for at in range(t, many, VECTORS * team, unroll=False):
                fetch(at)
                for j in range(VECTORS):
                    values: A[KEPT * WIDTH]
                    for k in range(KEPT * WIDTH):
                        values[k] = items[j, k]
                    own: S2 = SECOND(j, min(at + j * team, many - 1) * WIDTH, values, a)
                    b = OP2(b, own if at + j * team < many else identity2)
        b = agree(b, identity2, 5, OP=OP2, BLOCKS=BLOCKS, WIDE=True, NEAR=False)
    total: P @ thread[1] = PACK(a, b)
    c: A @ thread[1] = LAST(a, total)
    with group(thread[1]):
        for at in range(t, many, VECTORS * team, unroll=False):
            fetch(at)
            for j in range(VECTORS):
                if at + j * team < many:
                    values: A[KEPT * WIDTH]
                    prepare(j, at + j * team, values)
                    STORE(j, row, (at + j * team) * WIDTH, values, total, c)
