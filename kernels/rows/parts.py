"""Wide rows, of which each block has parts in shared memory as they lie in the array: copied there, and worked on."""

from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.elements import take_apart
from prism.kernels.rows.settle_rows import settle_rows
from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, function, grid, group, id, int32, int64, load_vector, partition,
    prism, ptr, requires, shared, template, thread,
)  # fmt: skip


@prism.device
@template(
    TI=dtype, S=dtype, ONCE=constexpr(int), ROWS=constexpr(int), VECTORS=constexpr(int), INPUTS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), PARTS=constexpr(int), ROOM=constexpr(int), GUESS=function,
)
@requires(block["BLOCKS"], thread[32])
def fetch_rows(
    held: shared(TI[BLOCKS, PARTS, ROOM]) @ block[BLOCKS], guesses: S[ROWS] @ thread[1], x: ptr(const(TI)) @ grid[1],
    stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1], number: int64 @ block[BLOCKS],
    rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1],
):
    """Begin to copy the `ROWS` rows from number `number * ROWS` on: each thread the vectors that it works on.

    Beyond the last row, and beyond the last vector, these come once more.
    """
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = n // WIDTH
    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine, async_(mine) as coming:
        with group(thread[1]):
            for q in range(ROWS):
                row: int64 = min(number * ROWS + q, rows - 1)
                for j in range(VECTORS):
                    column: int32 = min(t + j * threads, many - 1) * WIDTH
                    cp_async(coming[(q * VECTORS + j) * INPUTS, 0], x[row * stride + column], WIDTH * TI.bytes)
                    if INPUTS == 2:
                        at: int64 = row * other_stride + column
                        cp_async(coming[(q * VECTORS + j) * INPUTS + 1, 0], other[at], WIDTH * TI.bytes)
    guess_rows(number * ROWS, rows, identity, guesses, ONCE=ONCE, GUESS=GUESS)


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ROWS=constexpr(int),
    VECTORS=constexpr(int), INPUTS=constexpr(int), WIDTH=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int),
    WARPS=constexpr(int), PARTS=constexpr(int), ROOM=constexpr(int), READ=function, FIRST=function, OP=function,
    SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def work_rows(
    held: shared(TI[BLOCKS, PARTS, ROOM]) @ block[BLOCKS], guesses: S[ROWS] @ thread[1], number: int64 @ block[BLOCKS],
    rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do with the rows that `fetch_rows` has copied what `map_row` does.

    Cost: numbers are made of elements each time they are needed.
    """
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = n // WIDTH
    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine:

        @requires(thread[1])
        def take(q: int32 @ thread[1], j: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
            word: TI[INPUTS * WIDTH]
            for i in range(INPUTS):
                take_apart(load_vector(mine[(q * VECTORS + j) * INPUTS + i, 0], WIDTH), word, i * WIDTH, WIDTH=WIDTH)
            READ(min(number * ROWS + q, rows - 1), min(t + j * threads, many - 1) * WIDTH, word, values)

        settle_rows(
            number * ROWS, rows, t, threads, many, guesses, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
            VECTORS=VECTORS, WIDTH=WIDTH, KEPT=KEPT, BLOCKS=BLOCKS, WARPS=WARPS, ROWS=ROWS, TAKE=take, FIRST=FIRST, OP=OP,
            SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
