"""Wide rows, of which each block has parts in shared memory as they lie in the array: copied there, and worked on."""

from prism.kernels.rows.elements import take_apart
from prism.kernels.rows.settle_rows import settle_rows
from prism.lang import (
    async_, block, const, constexpr, count, cp_async, dtype, float32, function, grid, group, id, int32, int64,
    load_vector, partition, prism, ptr, requires, shared, shuffle, template, thread,
)  # fmt: skip


@prism.device
@template(
    TI=dtype, VECTORS=constexpr(int), INPUTS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
    PARTS=constexpr(int), ROOM=constexpr(int), FIRSTS=constexpr(int), FEW=constexpr(int), ROWS=constexpr(int),
    PLACES=constexpr(int), MORE=constexpr(bool), ENDS=constexpr(bool), TEAM=constexpr(int),
)
@requires(block["BLOCKS"], thread[32])
def fetch_rows(
    held: shared(TI[BLOCKS, PARTS, ROOM]) @ block[BLOCKS], firsts: shared(TI[BLOCKS, FIRSTS, FEW]) @ block[BLOCKS],
    x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1], other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1],
    number: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1],
):
    """Begin to copy the `ROWS` rows from number `number * ROWS` on: each thread the vectors that it works on.

    Beyond the last row of several, and beyond the last vector, these come once more; of `ENDS`, nothing where no row is there.
    `TEAM`: so many threads have all their vectors, or 0: it is not known.
    Beside them a thread of each warp copies what guesses are made of: loads would be waited for among copies under way.
    """
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = TEAM if TEAM > 0 else count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = TEAM * VECTORS if TEAM > 0 else n // WIDTH
    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine, async_(mine) as coming:
        with group(thread[1]):
            if not ENDS or number * ROWS < rows:
                for q in range(ROWS):
                    row: int64 = min(number * ROWS + q, rows - 1)
                    for j in range(VECTORS):
                        column: int32 = min(t + j * threads, many - 1) * WIDTH
                        near: int64 = row * stride + (t * WIDTH if TEAM > 0 else column)  # then only constants are added
                        far: int32 = j * TEAM * WIDTH if TEAM > 0 else 0
                        cp_async(coming[(q * VECTORS + j) * INPUTS, 0], x[near + far], WIDTH * TI.bytes)
                        if INPUTS == 2:
                            at: int64 = row * other_stride + (t * WIDTH if TEAM > 0 else column)
                            cp_async(coming[(q * VECTORS + j) * INPUTS + 1, 0], other[at + far], WIDTH * TI.bytes)
    if PLACES > 0:
        for q in range(ROWS):
            row: int64 @ thread[1] = min(number * ROWS + q, rows - 1)
            there: bool @ thread[1] = (not ENDS or number * ROWS < rows) and t % 32 == 0
            fetch_firsts(firsts, x, stride, other, other_stride, row, there, n, q, PLACES=PLACES, MORE=MORE)


@prism.device
@template(
    TI=dtype, BLOCKS=constexpr(int), FIRSTS=constexpr(int), FEW=constexpr(int), PLACES=constexpr(int), MORE=constexpr(bool),
)
@requires(block["BLOCKS"], thread[32])
def fetch_firsts(
    firsts: shared(TI[BLOCKS, FIRSTS, FEW]) @ block[BLOCKS], x: ptr(const(TI)) @ grid[1], stride: int64 @ grid[1],
    other: ptr(const(TI)) @ grid[1], other_stride: int64 @ grid[1], row: int64 @ thread[1],
    there: bool @ thread[1], n: int32 @ grid[1], q: int32 @ block[BLOCKS],
):
    """Begin to copy what `guess_copied` makes guess number `q` of: each thread for itself, of its row, where it is `there`."""
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    SIDES: constexpr(int) = 1 + MORE
    with partition(firsts, thread[1], lambda j, k: (b, j, here * (4 // TI.bytes) + k)) as own, async_(own) as coming:
        with group(thread[1]):
            if there:
                for k in range(PLACES):
                    place: int64 = int64(k) * (n - 1) // 2
                    cp_async(coming[(q * PLACES + k) * SIDES, 0], x[row * stride + place], 4)
                    if MORE:
                        cp_async(coming[(q * PLACES + k) * SIDES + 1, 0], other[row * other_stride + place], 4)


@prism.device
@template(
    TI=dtype, S=dtype, ROWS=constexpr(int), BLOCKS=constexpr(int), FIRSTS=constexpr(int), FEW=constexpr(int),
    PLACES=constexpr(int), MORE=constexpr(bool), ALIKE=constexpr(bool),
)
@requires(block["BLOCKS"], thread[32])
def guess_copied(firsts: shared(TI[BLOCKS, FIRSTS, FEW]) @ block[BLOCKS], guesses: S[ROWS] @ thread[1]):
    """Put what `guess_mean` gives for rows of which `fetch_firsts` has copied something into `guesses`.

    `ALIKE`: lanes of a warp share a row, and the first one has copied it for all.
    """
    SIDES: constexpr(int) = 1 + MORE
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    with partition(firsts, thread[1], lambda j, k: (b, j, here * (4 // TI.bytes) + k)) as own, group(thread[1]):
        for q in range(ROWS):
            some: TI[PLACES] = {0}
            if not ALIKE or t % 32 == 0:
                for k in range(PLACES):
                    some[k] = own[(q * PLACES + k) * SIDES, 0]
                    if MORE:
                        some[k] = TI(float32(some[k]) + float32(own[(q * PLACES + k) * SIDES + 1, 0]))
            if PLACES == 3:
                guesses[q] = S(some[0], some[1], some[2])
            else:
                guesses[q] = some[0]
    if ALIKE:
        for q in range(ROWS):
            guesses[q] = shuffle(guesses[q], 0)


@prism.device
@template(
    TI=dtype, A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), ROWS=constexpr(int),
    VECTORS=constexpr(int),
    INPUTS=constexpr(int), WIDTH=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WARPS=constexpr(int),
    LINES=constexpr(int), ROOM=constexpr(int), TEAM=constexpr(int),
    READ=function, FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function,
    STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def work_rows(
    held: shared(TI[BLOCKS, LINES, ROOM]) @ block[BLOCKS], guesses: S[ROWS] @ thread[1],
    number: int64 @ block[BLOCKS], rows: int64 @ grid[1], n: int32 @ grid[1], identity: S @ grid[1],
    identity2: S2 @ grid[1],
):
    """Do with the rows that `fetch_rows` has copied what `map_row` does.

    Cost: numbers are made of elements each time they are needed.
    """
    b: int32 @ block[1] = id() if BLOCKS > 1 else 0
    t: int32 @ thread[1] = id()  # in the cluster
    threads: int32 @ block[BLOCKS] = TEAM if TEAM > 0 else count(thread[1])
    here: int32 @ thread[1] = t - b * (threads // BLOCKS)
    many: int32 @ block[BLOCKS] = TEAM * VECTORS if TEAM > 0 else n // WIDTH
    with partition(held, thread[1], lambda j, k: (b, j, here * WIDTH + k)) as mine:

        @requires(thread[1])
        def take(q: int32 @ thread[1], j: int32 @ thread[1], values: A[KEPT * WIDTH] @ thread[1]):
            word: TI[INPUTS * WIDTH]
            for i in range(INPUTS):
                take_apart(load_vector(mine[(q * VECTORS + j) * INPUTS + i, 0], WIDTH), word, i * WIDTH, WIDTH=WIDTH)
            READ(min(number * ROWS + q, rows - 1), min(t + j * threads, many - 1) * WIDTH, word, values)

        settle_rows(
            number * ROWS, rows, t, threads, many, guesses, identity, identity2, A=A, P=P, STAGES=STAGES, ONCE=ONCE,
            VECTORS=VECTORS, WIDTH=WIDTH, KEPT=KEPT, BLOCKS=BLOCKS, WARPS=WARPS, ROWS=ROWS,
            TEAM=TEAM, TAKE=take,
            FIRST=FIRST, OP=OP, SECOND=SECOND, OP2=OP2, PACK=PACK, JOIN=JOIN, LAST=LAST, STORE=STORE,
        )
