"""The reduction of a whole array in one launch: every element is read once, and the order of combining is fixed.

Each block combines its share of the array and publishes the result in a word of its own. The block that started last
waits for all words, combines them in the order of the blocks and writes the result: whichever block that is, the result is
the same, bit for bit. Which one started last is told by a number that each block draws when it starts and looks at when its
loads are done: so the drawing costs no time, and who waits for others knows that they run.

Nothing is cleared between launches: the counter goes back to 0 by itself, and a published word carries the launch's number,
`epoch`, so that words of launches before are not taken for this one's. The launch is counted when all words have been
received, so when all blocks have read that number.
"""

from prism.lang import (
    atomic_increment, attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, load_relaxed,
    load_vector, mailbox, partition, prism, ptr, publish, receive, requires, shared, split, store_relaxed, template, thread,
    uint32, vector, warp,
)
from prism.kernels.reduce import maps
from prism.lib.thread import operators


@prism("global")
@template(
    TI=dtype, P=dtype, T=dtype, TO=dtype, OP=function, MAP=function, THREADS=constexpr(int), BLOCKS=constexpr(int),
    ROWS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool), ORDERED=constexpr(bool),
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
    Shapes:      `x`: `n` elements, of which `head` stand before the first vector. `y`: one. `words`: `capacity`; `control`: two,
                 a counter and the number of launches so far. All are zero at first, and of no other use at the same time;
                 one block alone uses none of them.
    Numerics:    reassociates `OP`, in a way fixed by `n`, `head` and the launch's shape. `ORDERED`: keeps the order of elements;
                 otherwise `OP` must be commutative. `identity` is `OP`'s.
    Errors:      with `VECTORIZED`, `x[head]` must be aligned to `WIDTH` elements, at most 16 bytes.
    Test:        tests/kernels/test_reduce.py, tests/gpu/test_reduce.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    vectors: int64 @ grid[1] = (n - head) / WIDTH
    tail: int32 @ grid[1] = int32(n - head - vectors * WIDTH)
    lane: int64 @ thread[1] = id()
    lanes: int64 @ grid[1] = count(thread[1])
    wave: int64 @ thread[32] = id()
    me: int32 @ block[1] = id()
    with partition(y, block[1], offset=0, races="allow") as result:  # one block alone writes
        with group(block[1]):
            desk: shared(uint32[2]) @ block[1]
            drawn: uint32 @ thread[1] = 0
            before: uint32 @ thread[1] = 0
            if blocks > 1:
                match split(thread):
                    case 1:
                        before = load_relaxed(control[1])
                        drawn = atomic_increment(control[0], uint32(blocks - 1))
            mine: T @ thread[1] = identity
            if ORDERED:
                with group(warp[1]):
                    mine = run(
                        x, wave, lanes / 32, vectors, head, tail, identity, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH,
                        VECTORIZED=VECTORIZED,
                    )
            else:
                with group(thread[1]):
                    mine = share(
                        x, lane, lanes, vectors, head, tail, identity, P=P, OP=OP, MAP=MAP, ROWS=ROWS, WIDTH=WIDTH,
                        VECTORIZED=VECTORIZED,
                    )
            with claim(desk, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = drawn  # here, not above: loads don't wait for the drawing
                        own[1] = before
            total: T @ block[1] = block.reduce(mine, OP=OP)
            if blocks == 1:
                with claim(result, thread[1]) as own:
                    match split(thread):
                        case 1:
                            own[0] = TO(OP(initial, total))
            else:
                epoch: uint32 @ block[1] = desk[1] + 1
                match split(thread):
                    case 1:
                        publish(words[me], total, epoch)
                if desk[0] == blocks - 1:  # every block has drawn its number, so runs, or has run
                    part: T @ thread[1] = collect(words, blocks, identity, epoch, OP=OP)
                    all: T @ block[1] = block.reduce(part, OP=OP)
                    with claim(result, thread[1]) as own:
                        match split(thread):
                            case 1:
                                own[0] = TO(OP(initial, all))
                                store_relaxed(control[1], epoch)
                                # Each launch marks one of the words that it doesn't use, so that after 2^32 launches no
                                # word is as old as to carry this very epoch.
                                stale: int32 = int32(epoch % capacity)
                                if stale >= blocks:
                                    publish(words[stale], identity, epoch)


@prism("device")
@requires(thread[1])
@template(TI=dtype, WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def fetch(x: ptr(const(TI)) @ thread[1], at: int64 @ thread[1], stride: int64 @ thread[1], items: TI[WIDTH] @ thread[1]):
    """Put `x[at], x[at + stride] ...` into `items`; `VECTORIZED`: in one access, past the L1, of elements side by side."""
    if VECTORIZED:
        word: vector(TI, WIDTH) = load_vector(x[at], WIDTH, cache="no_allocate")
        for k in range(WIDTH):
            items[k] = word[k]
    else:
        for k in range(WIDTH):
            items[k] = x[at + k * stride]


@prism("device")
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


@prism("device")
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, MAP=function, SUMS=constexpr(int), ROWS=constexpr(int), WIDTH=constexpr(int),
    VECTORIZED=constexpr(bool), WHOLE=constexpr(bool),
)
def add(
    x: ptr(const(TI)) @ grid[1], v: int64 @ thread[1], lanes: int64 @ thread[1], vectors: int64 @ thread[1],
    head: int32 @ thread[1], identity: T @ thread[1], sums: T[SUMS] @ thread[1],
):
    """Combine `sums` with `ROWS` vectors, `lanes` apart, from number `v` on; those beyond `vectors` count for nothing.

    Perspective: thread.
    Shapes:      `WHOLE`: all of them are there; otherwise the first is.
    Cost:        `ROWS` loads under way at once.
    """
    rows: TI[ROWS, WIDTH]
    for j in range(ROWS):
        at: int64 = v + j * lanes
        row: TI[WIDTH]
        if not WHOLE:
            at = at if at < vectors else v  # again what this thread has: no branches between loads, and none all in one place
        fetch(x, head + at * WIDTH, 1, row, VECTORIZED=VECTORIZED)
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


@prism("device")
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
    length: int64 @ thread[32] = (vectors + waves - 1) / waves
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
                at = at if at < last else min(v + lane, last - 1)  # no branches between loads
                row: TI[WIDTH]
                fetch(x, head + at * WIDTH, 1, row, VECTORIZED=VECTORIZED)
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


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def collect(
    words: ptr(mailbox(T)) @ grid[1], blocks: int32 @ block[1], identity: T @ block[1], epoch: uint32 @ block[1]
) -> T @ thread[1]:
    """`OP` of this thread's share of `words[0] ... words[blocks - 1]`, as they are published; shares are in order."""
    lanes: int32 @ block[1] = count(thread[1])
    length: int32 @ block[1] = (blocks + lanes - 1) / lanes
    start: int32 @ thread[1] = id() * length
    sum: T @ thread[1] = identity
    with group(thread[1]):
        for k in range(0, length):
            got: T[1]
            receive(words[start + k], got, 1, blocks - start - k, identity, epoch)
            sum = OP(sum, got[0])
    return sum


EXAMPLES = {
    "reduce": {
        "TI": "int32", "P": "int32", "T": "int32", "TO": "int32", "OP": operators.add, "MAP": maps.same, "THREADS": 512,
        "BLOCKS": 2, "ROWS": 8, "WIDTH": 4, "VECTORIZED": True, "ORDERED": False,
    },
}
