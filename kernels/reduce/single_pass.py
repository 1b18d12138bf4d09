"""The reduction of a whole array in one launch: every element is read once, and the order of combining is fixed.

Each block combines its share of the array. All but the last publish the result in a word of their own; one warp of the last
block asks for all words at once, until they have come, and combines them in the order of the blocks. So the result is the
same, bit for bit, whichever block is done first.

The last block waits for those with lower numbers, which begin before it, and they wait for nobody. Nothing is cleared between
launches: a published word carries the launch's number, `epoch`, so that words of launches before are not taken for this one's.
The launch is counted when all words have been received, so when all blocks have read that number.

Of a short array (`ONCE`) each block has a piece of its own, and each thread loads all that it has at once.
"""

from prism.lang import (
    attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, load_relaxed, mailbox, partition,
    prefetch, prism, ptr, requires, shared, split, template, thread, uint32, warp,
)
from prism.kernels.reduce import maps
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, P=dtype, T=dtype, TO=dtype, OP=function, MAP=function, THREADS=constexpr(int), BLOCKS=constexpr(int),
    ROWS=constexpr(int), AHEAD=constexpr(int), WORDS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool),
    ORDERED=constexpr(bool), ONCE=constexpr(bool), TENSOR=constexpr(bool),
)
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def reduce(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], words: ptr(mailbox(T)) @ grid[1], control: ptr(uint32) @ grid[1],
    capacity: uint32 @ grid[1], n: int64 @ grid[1], head: int32 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """`y[0] = OP(initial, MAP(x[0]), ..., MAP(x[n - 1]))`, in the type `T`.

    Where elements are much smaller than `T`, what a thread has loaded at once is combined in the type `P`; else it is `T`.

    Perspective: grid, of any number of blocks of up to `THREADS` threads, whole warps; at most `capacity` blocks.
    Shapes:      `x`: `n` elements, of which `head` stand before the first vector; `ONCE`: no more vectors than all threads load
                 at once, `ROWS` each. `y`: one. `words`: `capacity`; `control`: two, of which the second is the number of
                 launches so far. All are zero at first, and of no other use at the same time; one block alone uses none.
    Cost:        `AHEAD`: so many rows of vectors a thread are prefetched first; with `ONCE` 1 stands for all.
    Numerics:    reassociates `OP`, in a way fixed by `n`, `head` and the launch's shape. `ORDERED`: keeps the order of elements;
                 otherwise `OP` must be commutative. `identity` is `OP`'s. `TENSOR`: as of `warp.reduce_to_first`.
    Errors:      with `VECTORIZED`, `x[head]` must be aligned to `WIDTH` elements, at most 16 bytes.
    Test:        tests/kernels/test_reduce.py, tests/gpu/test_reduce.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    vectors: int64 @ grid[1] = (n - head) // WIDTH
    tail: int32 @ grid[1] = int32(n - head - vectors * WIDTH)
    me: int32 @ block[1] = id()
    here: int32 @ thread[1] = id()  # 32 bits count all threads: there are as many blocks as run at once
    all: int32 @ grid[1] = count(thread[1])
    team: int32 @ thread[32] = id()
    lane: int64 @ thread[1] = here
    lanes: int64 @ grid[1] = all
    wave: int64 @ thread[32] = team
    with partition(y, block[1], offset=0, races="none") as result:  # one block alone writes
        with group(block[1]):
            threads: int32 @ block[1] = count(thread[1])
            ask_ahead(x, head, me, lanes, vectors, AHEAD=0 if ORDERED else AHEAD, BESIDE=ROWS if ONCE else 1, WIDTH=WIDTH)
            epoch_cell: shared(uint32[1]) @ block[1]
            before: uint32 @ thread[1] = 0
            if blocks > 1:
                match split(thread):
                    case 1:
                        before = load_relaxed(control[1])
            mine: T @ thread[1] = identity
            if ORDERED:
                with group(warp[1]):
                    mine = run(
                        x, wave, lanes // 32, vectors, head, tail, identity, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH,
                        VECTORIZED=VECTORIZED,
                    )
            elif ONCE:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    mine = load_at_once(
                        x, here, me * (threads * ROWS) + t, threads, int32(vectors), head, tail, identity, P=P, OP=OP,
                        MAP=MAP, ROWS=ROWS, WIDTH=WIDTH, VECTORIZED=VECTORIZED,
                    )
            else:
                with group(thread[1]):
                    mine = share(
                        x, lane, lanes, vectors, head, tail, identity, P=P, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH,
                        VECTORIZED=VECTORIZED,
                    )
            with claim(epoch_cell, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = before  # here, not above: the loads of elements don't wait for this one
            total: T @ thread[1] = block.reduce_to_first(mine, identity, OP=OP, MOST=THREADS, TENSOR=TENSOR)
            grid.gather_into(
                result, words, control, capacity, epoch_cell, before, total, OP(initial, total), initial, identity, me, blocks,
                OP=OP, INTO=maps.same, WORDS=WORDS, ORDERED=ORDERED, TENSOR=TENSOR,
            )


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, AHEAD=constexpr(int), BESIDE=constexpr(int), WIDTH=constexpr(int))
def ask_ahead(
    x: ptr(const(TI)) @ grid[1], head: int32 @ grid[1], me: int32 @ block[1], lanes: int64 @ grid[1], vectors: int64 @ grid[1],
):
    """Prefetch `AHEAD` rows of block `me`'s vectors, `BESIDE` for each thread, of all `vectors` behind `x[head]`.

    It stands before a kernel waits for the one before it: memory is busy while that one ends.
    """
    threads: int32 @ block[1] = count(thread[1])
    match split(thread):
        case 1:
            for j in range(AHEAD):
                soon: int64 = int64(me) * (threads * BESIDE) + j * lanes
                prefetch(x[head + soon * WIDTH], int32(min(max(vectors - soon, 0), threads * BESIDE)) * WIDTH)


@prism.device
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, MAP=function, ROWS=constexpr(int), WIDTH=constexpr(int),
    VECTORIZED=constexpr(bool),
)
def share(
    x: ptr(const(TI)) @ grid[1], lane: int64 @ thread[1], lanes: int64 @ thread[1], vectors: int64 @ thread[1],
    head: int32 @ thread[1], tail: int32 @ thread[1], identity: T @ thread[1],
) -> T @ thread[1]:
    """`OP` of every `lanes`-th vector of `x[head:]` from `lane` on, and of this thread's elements before and behind them.

    Perspective: thread.
    Cost:        `ROWS` loads under way at once.
    Numerics:    `OP` must be commutative. A sum is made of partial sums of what is loaded at once, at up to 4 places apart.
    """
    first: T = MAP(x[lane], T=T) if lane < head else identity
    last: T = MAP(x[head + vectors * WIDTH + lane], T=T) if lane < tail else identity
    SUMS: constexpr(int) = min(WIDTH, 4)
    sums: T[SUMS]
    for k in range(SUMS):
        sums[k] = identity
    v: int64 = lane
    while v + (ROWS - 1) * lanes < vectors:
        add(
            x, v, lanes, vectors, head, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH, VECTORIZED=VECTORIZED,
            WHOLE=True,
        )
        v = v + ROWS * lanes
    if v < vectors:
        add(
            x, v, lanes, vectors, head, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH, VECTORIZED=VECTORIZED,
            WHOLE=False,
        )
    return OP(OP(first, thread.reduce(sums, OP=OP)), last)


@prism.device
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, MAP=function, ROWS=constexpr(int), WIDTH=constexpr(int),
    VECTORIZED=constexpr(bool),
)
def load_at_once(
    x: ptr(const(TI)) @ grid[1], lane: int32 @ thread[1], v: int32 @ thread[1], step: int32 @ thread[1],
    vectors: int32 @ thread[1], head: int32 @ thread[1], tail: int32 @ thread[1], identity: T @ thread[1],
) -> T @ thread[1]:
    """What `share` computes, of `ROWS` vectors, `step` apart, from number `v` on: all that this thread has.

    Sums begin with its elements before the vectors and behind them, so that nothing waits for these later.
    """
    first: T = MAP(x[lane], T=T) if lane < head else identity
    last: T = MAP(x[head + int64(vectors) * WIDTH + lane], T=T) if lane < tail else identity
    SUMS: constexpr(int) = min(WIDTH, 4)
    sums: T[SUMS]
    for k in range(SUMS):
        sums[k] = identity
    sums[0] = first
    sums[SUMS - 1] = last if SUMS > 1 else OP(first, last)
    if v < vectors:
        add(
            x, v, step, vectors, head, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH, VECTORIZED=VECTORIZED,
            WHOLE=False,
        )
    return thread.reduce(sums, OP=OP)


@prism.device
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, V=dtype, OP=function, MAP=function, SUMS=constexpr(int), ROWS=constexpr(int),
    WIDTH=constexpr(int), VECTORIZED=constexpr(bool), WHOLE=constexpr(bool),
)
def add(
    x: ptr(const(TI)) @ grid[1], v: V @ thread[1], lanes: V @ thread[1], vectors: V @ thread[1],
    head: int32 @ thread[1], identity: T @ thread[1], sums: T[SUMS] @ thread[1],
):
    """Combine `sums` with `ROWS` vectors, `lanes` apart, from number `v` on; those beyond `vectors` count for nothing.

    Perspective: thread.
    Shapes:      `WHOLE`: all of them are there; otherwise the first is. `V` counts vectors.
    Cost:        `ROWS` loads under way at once. What is beyond `vectors` is not loaded, of 4 bytes that stay so; of others each
                 warp loads its first vector again, of one sector: branches between loads take longer there.
    """
    LEFT_OUT: constexpr(bool) = not WHOLE and WIDTH == 4 and T == TI
    rows: TI[ROWS, WIDTH]
    for j in range(ROWS):
        at: V = v + j * lanes
        row: TI[WIDTH]
        if LEFT_OUT:
            for k in range(WIDTH):
                row[k] = TI()
        elif not WHOLE:
            at = at if at < vectors else v // 32 * 32
        if not LEFT_OUT or at < vectors:
            thread.load_once(x, head + int64(at) * WIDTH, row, VECTORIZED=VECTORIZED)
        for k in range(WIDTH):
            rows[j, k] = row[k]
    for i in range(SUMS):
        sum: P = MAP(rows[0, i], T=P)
        for k in range(i + SUMS, WIDTH, SUMS):
            sum = OP(sum, MAP(rows[0, k], T=P))
        for j in range(1, ROWS):
            for k in range(i, WIDTH, SUMS):
                item: P = MAP(rows[j, k], T=P)
                sum = OP(sum, item if WHOLE or v + j * lanes < vectors else P(identity))
        sums[i] = OP(sums[i], T(sum))


@prism.device
@requires(thread[32])
@template(
    TI=dtype, T=dtype, OP=function, MAP=function, ROWS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool),
)
def run(
    x: ptr(const(TI)) @ grid[1], wave: int64 @ thread[32], waves: int64 @ thread[32], vectors: int64 @ thread[32],
    head: int32 @ thread[32], tail: int32 @ thread[32], identity: T @ thread[32],
) -> T @ thread[1]:
    """`OP` of the warp's run of adjacent vectors, in the order of elements, in lane 0; the identity in the others.

    Perspective: warp; number `wave` of `waves`. The first one takes the head as well, the last one the tail.
    Cost:        `ROWS` loads under way at once, and a warp's reduction for each.
    """
    lane: int32 @ thread[1] = id()
    length: int64 @ thread[32] = (vectors + waves - 1) // waves
    first: int64 @ thread[32] = min(wave * length, vectors)
    last: int64 @ thread[32] = min(first + length, vectors)
    total: T @ thread[32] = identity
    if wave == 0:
        for i in range(0, head):
            total = OP(total, MAP(x[i], T=T))
    v: int64 @ thread[32] = first
    while v < last:
        sums: T[ROWS] @ thread[1]
        with group(thread[1]):
            rows: TI[ROWS, WIDTH]
            for j in range(ROWS):
                at: int64 = v + (j * 32 + lane)
                at = at if at < last else v  # no branches between loads; one sector for the warp
                row: TI[WIDTH]
                thread.load_once(x, head + at * WIDTH, row, VECTORIZED=VECTORIZED)
                for k in range(WIDTH):
                    rows[j, k] = row[k]
            for j in range(ROWS):
                sum: T = MAP(rows[j, 0], T=T)
                for k in range(1, WIDTH):
                    sum = OP(sum, MAP(rows[j, k], T=T))
                sums[j] = sum if v + (j * 32 + lane) < last else identity
        for j in range(ROWS):
            total = OP(total, warp.reduce(sums[j], OP=OP))
        v = v + ROWS * 32
    if wave == waves - 1:
        for i in range(0, tail):
            total = OP(total, MAP(x[head + vectors * WIDTH + i], T=T))
    return total if lane == 0 else identity


EXAMPLES = {
    "reduce": {
        "TI": "int32", "P": "int32", "T": "int32", "TO": "int32", "OP": operators.add, "MAP": maps.same, "THREADS": 512,
        "BLOCKS": 2, "ROWS": 8, "AHEAD": 8, "WORDS": 9, "WIDTH": 4, "VECTORIZED": True, "ORDERED": False, "ONCE": False,
        "TENSOR": False,
    },
}
