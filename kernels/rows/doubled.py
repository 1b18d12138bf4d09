"""Wide rows that clusters have in turn, copied into shared memory by parts: the next ones come while some are worked on."""

from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, function, grid, group, id, int32, int64, load_vector, partition,
    prism, ptr, requires, shared, template, thread,
)
from prism.kernels.rows.agree import guess_rows
from prism.kernels.rows.elements import take_apart
from prism.kernels.rows.settle_rows import settle_rows


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), THREADS=constexpr(int),
    ROWS=constexpr(int), READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function,
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
    Cost:                as of `map_rows_copied`, and twice the shared memory. Beyond the last rows these come once more.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    BYTES: constexpr(int) = WIDTH * TI.bytes
    even: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    odd: shared(TI[BLOCKS, ROWS * VECTORS * INPUTS, THREADS * WIDTH])
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = n // WIDTH
    end: int64 @ block[BLOCKS] = (rows + ROWS - 1) // ROWS
    even_guesses: S[ROWS] @ thread[1]
    odd_guesses: S[ROWS] @ thread[1]
    with (
        partition(even, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as evens,
        partition(odd, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as odds,
    ):

        @requires(block["BLOCKS"], thread[32])
        def fetch_even(number: int64 @ block[BLOCKS]):
            with async_(evens) as coming, group(thread[1]):
                for q in range(ROWS):
                    row: int64 = min(number * ROWS + q, rows - 1)
                    for j in range(VECTORS):
                        column: int32 = min(t + j * threads, many - 1) * WIDTH
                        cp_async(coming[(q * VECTORS + j) * INPUTS, 0], x[row * stride + column], BYTES)
                        if INPUTS == 2:
                            cp_async(coming[(q * VECTORS + j) * INPUTS + 1, 0], other[row * other_stride + column], BYTES)
            guess_rows(number * ROWS, rows, identity, even_guesses, ONCE=ONCE, GUESS=FIRST)

        @requires(block["BLOCKS"], thread[32])
        def fetch_odd(number: int64 @ block[BLOCKS]):
            with async_(odds) as coming, group(thread[1]):
                for q in range(ROWS):
                    row: int64 = min(number * ROWS + q, rows - 1)
                    for j in range(VECTORS):
                        column: int32 = min(t + j * threads, many - 1) * WIDTH
                        cp_async(coming[(q * VECTORS + j) * INPUTS, 0], x[row * stride + column], BYTES)
                        if INPUTS == 2:
                            cp_async(coming[(q * VECTORS + j) * INPUTS + 1, 0], other[row * other_stride + column], BYTES)
            guess_rows(number * ROWS, rows, identity, odd_guesses, ONCE=ONCE, GUESS=FIRST)

        @requires(block["BLOCKS"], thread[32])
        def work_even(number: int64 @ block[BLOCKS]):
            @requires(thread[1])
            def take(q: int32 @ thread[1], j: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
                word: TI[INPUTS * WIDTH]
                for i in range(INPUTS):
                    take_apart(load_vector(evens[(q * VECTORS + j) * INPUTS + i, 0], WIDTH), word, i * WIDTH, WIDTH=WIDTH)
                READ(min(number * ROWS + q, rows - 1), min(t + j * threads, many - 1) * WIDTH, word, values)

            settle_rows(
                number * ROWS, rows, t, threads, many, even_guesses, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
                VECTORS=VECTORS, WIDTH=WIDTH, KEPT=KEPT, BLOCKS=BLOCKS, WARPS=THREADS // 32, ROWS=ROWS, TAKE=take,
                FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
            )

        @requires(block["BLOCKS"], thread[32])
        def work_odd(number: int64 @ block[BLOCKS]):
            @requires(thread[1])
            def take(q: int32 @ thread[1], j: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
                word: TI[INPUTS * WIDTH]
                for i in range(INPUTS):
                    take_apart(load_vector(odds[(q * VECTORS + j) * INPUTS + i, 0], WIDTH), word, i * WIDTH, WIDTH=WIDTH)
                READ(min(number * ROWS + q, rows - 1), min(t + j * threads, many - 1) * WIDTH, word, values)

            settle_rows(
                number * ROWS, rows, t, threads, many, odd_guesses, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
                VECTORS=VECTORS, WIDTH=WIDTH, KEPT=KEPT, BLOCKS=BLOCKS, WARPS=THREADS // 32, ROWS=ROWS, TAKE=take,
                FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
            )

        fetch_even(r)
        for number in range(r, end, 2 * step, unroll=False):
            fetch_odd(number + step)
            work_even(number)
            fetch_even(number + 2 * step)
            if number + step < end:
                work_odd(number + step)
