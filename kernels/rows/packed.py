"""Wide rows that blocks have in turn: one lies in shared memory, and the next one is loaded into registers meanwhile."""

from prism.lang import (
    block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, load_vector, partition, prism, ptr,
    requires, shared, store_vector, template, thread, vector,
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
def map_rows_packed(
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    r: int64 @ block[BLOCKS], step: int64 @ grid[1], rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1],
    identity2: S2 @ grid[1],
):
    """Do what `map_row` does for row `r`, then for row `r + step`, and so on, as long as there are rows.

    Perspective: as of `map_row`, `WIDE`.
    Shapes:      as of `map_rows_staged`; a vector is of 16 bytes.
    Cost:        as of `map_row`, for each row, and numbers are made of elements once more for each reduction and for the result;
                 shared memory for `THREADS * ITEMS` elements of each array, and a register for each 4 bytes of a row's.
    """
    VECTORS: constexpr(int) = ITEMS // WIDTH
    held: shared(TI[BLOCKS, VECTORS * INPUTS, THREADS * WIDTH])
    coming: vector(TI, WIDTH)[VECTORS * INPUTS] @ thread[1]
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = n // WIDTH
    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine:

        @requires(thread[1])
        def fetch(row: int64 @ thread[1]):
            for j in range(VECTORS):
                column: int32 = min(t + j * threads, many - 1) * WIDTH
                coming[j * INPUTS] = load_vector(x[row * stride + column], WIDTH, cache="no_allocate")
                if INPUTS == 2:
                    coming[j * INPUTS + 1] = load_vector(other[row * other_stride + column], WIDTH, cache="no_allocate")

        with group(thread[1]):
            fetch(r)
        for row in range(r, rows, step, unroll=False):
            with group(thread[1]):
                for j in range(VECTORS * INPUTS):
                    store_vector(mine[j, 0], coming[j])
                if row + step < rows:
                    fetch(row + step)

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
