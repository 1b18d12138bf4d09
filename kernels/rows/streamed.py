"""Rows that come into shared memory while the ones before are worked on: each block, or cluster, takes many of them, in turn."""

from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, function, grid, group, id, int32, int64, load_vector, partition, prism,
    ptr, requires, shared, template, thread, vector,
)
from prism.kernels.rows.agree import agree


@prism("device")
@template(
    TI=dtype, A=dtype, S=dtype, STAGES=constexpr(int), KEEP=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int),
    THREADS=constexpr(int), RING=constexpr(int), READ=function, FIRST=function, OP=function, SECOND=function, OP2=function,
    LAST=function, STORE=function,
)
@requires(block[1], thread[THREADS])
def map_streamed(
    x: ptr(const(TI)) @ grid[1], r: int64 @ block[1], step: int64 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1],
    stride: int64 @ grid[1], identity: S @ grid[1], identity2: A @ grid[1],
):
    """Do for rows `r`, `r + step` and so on, below `rows`, what `map_row` does."""
    VECTORS: constexpr(int) = ITEMS // WIDTH
    tile: shared(TI[THREADS * ITEMS], ring=RING)
    items: A[VECTORS, WIDTH] @ thread[1]
    t: int32 @ thread[1] = id()
    many: int32 @ block[1] = n / WIDTH
    trips: int64 @ block[1] = (rows - r + step - 1) / step
    for i in range(0, trips, unroll=False):
        row: int64 @ block[1] = r + i * step
        with partition(tile, thread[1], t * WIDTH) as slot, async_(slot) as coming, group(thread[1]):
            for j in range(VECTORS):
                if t + j * THREADS < many:
                    cp_async(coming[j * THREADS * WIDTH], x[row * stride + (t + j * THREADS) * WIDTH], 16)
        a: S @ thread[1] = identity
        b: A @ thread[1] = identity2
        with partition(tile, thread[1], t * WIDTH) as here, group(thread[1]):
            for j in range(VECTORS):
                if t + j * THREADS < many:
                    word: vector(TI, WIDTH) = load_vector(here[j * THREADS * WIDTH], WIDTH)
                    words: TI[WIDTH]
                    values: A[WIDTH]
                    for k in range(WIDTH):
                        words[k] = word[k]
                    READ(row, (t + j * THREADS) * WIDTH, words, values)
                    for k in range(WIDTH):
                        items[j, k] = values[k]
                        a = OP(a, FIRST(values[k]))
        a = agree(a, identity, 5, True, OP=OP, BLOCKS=1)
        if STAGES == 2:
            with group(thread[1]):
                for j in range(VECTORS):
                    if t + j * THREADS < many:
                        for k in range(WIDTH):
                            value: A = SECOND(items[j, k], a)
                            b = OP2(b, value)
                            if KEEP:
                                items[j, k] = value
            b = agree(b, identity2, 5, True, OP=OP2, BLOCKS=1)
        c: A @ thread[1] = LAST(a, b)
        with group(thread[1]):
            for j in range(VECTORS):
                if t + j * THREADS < many:
                    values: A[WIDTH]
                    for k in range(WIDTH):
                        values[k] = items[j, k]
                    STORE(row, (t + j * THREADS) * WIDTH, values, a, b, c)
