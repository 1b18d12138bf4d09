"""Wide rows of which each block copies its part into shared memory as it lies in the array: many blocks have room at once."""

from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, function, grid, group, id, int32, int64, load_vector, partition,
    prism, ptr, requires, shared, template, thread, vector,
)
from prism.kernels.rows.settle import settle_row


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(bool), ITEMS=constexpr(int),
    WIDTH=constexpr(int), INPUTS=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), THREADS=constexpr(int),
    READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function,
    STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def map_row_copied(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    row: int64 @ block[BLOCKS], n: int32 @ grid[1], identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do for row number `row` what `map_row` does.

    Perspective: as of `map_row`, `WIDE`.
    Shapes:      as of `map_row`, but that rows are of `x` and, where there are two `INPUTS`, of `other`, each so many elements
                 apart; a vector is of 4, 8 or 16 bytes, and there are at most `THREADS` threads in a block.
    Cost:        as of `map_row`, but numbers are made of elements once more for each reduction and for the result; shared memory
                 for `THREADS * ITEMS` elements of each array. A thread copies what it reads itself, so nobody waits for the
                 copies of others.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    BYTES: constexpr(int) = WIDTH * TI.bytes
    held: shared(TI[BLOCKS, VECTORS * INPUTS, THREADS * WIDTH])
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = n // WIDTH
    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine:
        with async_(mine) as coming, group(thread[1]):
            for j in range(VECTORS):
                column: int32 = min(t + j * threads, many - 1) * WIDTH
                cp_async(coming[j * INPUTS, 0], x[row * stride + column], BYTES)
                if INPUTS == 2:
                    cp_async(coming[j * INPUTS + 1, 0], other[row * other_stride + column], BYTES)

        @requires(thread[1])
        def take(j: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
            word: TI[INPUTS * WIDTH]
            for q in range(INPUTS):
                vec: vector(TI, WIDTH) = load_vector(mine[j * INPUTS + q, 0], WIDTH)
                for k in range(WIDTH):
                    word[q * WIDTH + k] = vec[k]
            READ(row, min(t + j * threads, many - 1) * WIDTH, word, values)

        settle_row(
            row, t, threads, many, many, 5, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE, VECTORS=VECTORS,
            WIDTH=WIDTH, KEPT=KEPT, BLOCKS=BLOCKS, WIDE=True, AGAIN=True, TAKE=take, KEEP=take, FIRST=FIRST, OP=OP,
            SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
