"""Rows that those who share them have in turn: the next one comes into shared memory while they work on one."""

from prism.lang import (
    assume, async_, block, const, constexpr, count, cp_async, dtype, function, grid, group, id, int32, int64, load_vector,
    partition, prism, ptr, requires, shared, template, thread,
)
from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.elements import take_apart
from prism.kernels.rows.parts import fetch_firsts, guess_copied
from prism.kernels.rows.settle import settle_row


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool),
    THREADS=constexpr(int), PLACES=constexpr(int), MORE=constexpr(bool), READ=function, FIRST=function, OP=function,
    SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_rows_staged(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    r: int64 @ block[BLOCKS], step: int64 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], lanes: int32 @ grid[1],
    identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do what `map_row` does as number `r`, then as number `r + step`, and so on, as long as there are rows.

    Perspective: as of `map_row`.
    Shapes:      as of `map_row`, but that rows are of `x` and, where there are two `INPUTS`, of `other`, each so many elements
                 apart; a vector is of 4, 8 or 16 bytes.
    Cost:        as of `map_row`, for each row; shared memory for `THREADS * ITEMS` elements of each array. A thread copies what
                 it reads itself, so nobody waits for the copies of others.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    BYTES: constexpr(int) = WIDTH * TI.bytes
    FIRSTS: constexpr(int) = max(PLACES * (1 + MORE), 1)
    held: shared(TI[BLOCKS, VECTORS * INPUTS, THREADS * WIDTH])
    firsts: shared(TI[BLOCKS, FIRSTS, (THREADS if PLACES > 0 else 32) * 4 // TI.bytes])
    items: A[VECTORS, KEPT * WIDTH] @ thread[1]
    assume(lanes >= 0 and lanes <= 5)
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = n // WIDTH
    each: int64 @ block[BLOCKS] = 1 if WIDE else threads >> lanes  # rows of a cluster
    groups: int64 @ block[BLOCKS] = (rows + each - 1) // each
    team: int32 @ thread[1] = threads if WIDE else 1 << lanes
    part: int32 @ thread[1] = t if WIDE else t & team - 1
    own_row: int64 @ thread[1] = 0 if WIDE else t >> lanes
    guesses: S[1] @ thread[1]

    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine:

        @requires(block["BLOCKS"], thread[32])
        def fetch(number: int64 @ block[BLOCKS]):
            with async_(mine) as coming, group(thread[1]):
                row: int64 = min(number * each + own_row, rows - 1)
                for j in range(VECTORS, unroll=True):
                    column: int32 = min(part + j * team, many - 1) * WIDTH
                    cp_async(coming[j * INPUTS, 0], x[row * stride + column], BYTES)
                    if INPUTS == 2:
                        cp_async(coming[j * INPUTS + 1, 0], other[row * other_stride + column], BYTES)
            if PLACES > 0:
                fetch_firsts(
                    firsts, x, stride, other, other_stride, min(number * each + own_row, rows - 1), True, n, 0,
                    PLACES=PLACES, MORE=MORE,
                )
            else:
                with group(thread[1]):
                    guess_rows(min(number * each + own_row, rows - 1), rows, identity, guesses, ONCE=ONCE, GUESS=FIRST)

        fetch(r)
        for number in range(r, groups, step, unroll=False):
            found: int64 @ thread[1] = number * each + own_row
            row: int64 @ thread[1] = min(found, rows - 1)  # who has none reads what another one reads, and stores nothing
            end: int32 @ thread[1] = many if found < rows else 0
            if PLACES > 0:
                guess_copied(firsts, guesses, PLACES=PLACES, MORE=MORE, ALIKE=False)
            guess: S @ thread[1] = guesses[0]
            with group(thread[1]):
                for j in range(VECTORS):
                    word: TI[INPUTS * WIDTH]
                    values: A[KEPT * WIDTH]
                    for q in range(INPUTS):
                        take_apart(load_vector(mine[j * INPUTS + q, 0], WIDTH), word, q * WIDTH, WIDTH=WIDTH)
                    READ(row, min(part + j * team, many - 1) * WIDTH, word, values)
                    for k in range(KEPT * WIDTH):
                        items[j, k] = values[k]
            if number + step < groups:
                fetch(number + step)
            settle_row(
                items, guess, row, part, team, many, end, lanes, identity, identity2, A=A, P=P, STAGES=STAGES,
                ONCE=ONCE, WIDTH=WIDTH, THREADS=THREADS, BLOCKS=BLOCKS, WIDE=WIDE, FULL=False, FIRST=FIRST, OP=OP, SECOND=SECOND,
                OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
            )
