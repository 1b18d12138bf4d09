"""Where the smallest and the largest element of a whole array are, in one launch: every element is read once.

The launch is that of `find_whole`, and so are the words: each block publishes two, in memory of their own, and the last one
combines them, one kind after the other.
"""

from prism.lang import (
    attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, load_relaxed, mailbox, partition,
    prism, ptr, requires, shared, split, template, thread, uint32,
)
from prism.kernels.reduce.positions import better, larger_or_nan, smaller_or_nan
from prism.kernels.reduce.search import position_of, word_of
from prism.kernels.reduce.single_pass import ask_ahead
from prism.lib.thread import operators


@prism.device
@requires(thread[1])
@template(
    TI=dtype, T=dtype, LESS=function, MORE=function, ROWS=constexpr(int), WIDTH=constexpr(int), WHOLE=constexpr(bool),
)
def look_for_both(
    x: ptr(const(TI)) @ grid[1], head: int64 @ thread[1], k: int64 @ thread[1], step: int64 @ thread[1],
    end: int64 @ thread[1], lap: int32 @ thread[1], least: T @ thread[1], most: T @ thread[1], values: T[2] @ thread[1],
    laps: int32[2] @ thread[1],
):
    """What `look` does along one row, for two orders at once: `values[0]` is best by `LESS`, `values[1]` by `MORE`.

    Perspective: thread.
    Shapes:      the vectors begin at `x[head]`. The rest is as of `look`; `least`, `most`: what the orders say beats nothing.
    """
    rows: TI[ROWS, WIDTH]
    for j in range(ROWS):
        number: int64 = k + j * step
        row: TI[WIDTH]
        for i in range(WIDTH):
            row[i] = TI(0)
        if WHOLE or number < end:
            thread.load_once(x, head + number * WIDTH, row, VECTORIZED=WIDTH > 1)
        for i in range(WIDTH):
            rows[j, i] = row[i]
    PARTS: constexpr(int) = min(WIDTH, 4)  # which don't wait for each other
    low: T[PARTS]
    high: T[PARTS]
    for j in range(ROWS):
        for i in range(WIDTH):
            there: bool = WHOLE or k + j * step < end
            small: T = T(rows[j, i]) if there else least
            large: T = T(rows[j, i]) if there else most
            low[i % PARTS] = better(low[i % PARTS], small, BEATS=LESS) if j > 0 or i >= PARTS else small
            high[i % PARTS] = better(high[i % PARTS], large, BEATS=MORE) if j > 0 or i >= PARTS else large
    smallest: T = low[0]
    largest: T = high[0]
    for i in range(1, PARTS):
        smallest = better(smallest, low[i], BEATS=LESS)
        largest = better(largest, high[i], BEATS=MORE)
    if LESS(smallest, values[0]):
        values[0] = smallest
        for back in range(ROWS * WIDTH):  # the first of equal ones comes last
            e: int32 = ROWS * WIDTH - 1 - back
            found: bool = (WHOLE or k + e // WIDTH * step < end) and not LESS(smallest, T(rows[e // WIDTH, e % WIDTH]))
            laps[0] = lap * WIDTH + e if found else laps[0]
    if MORE(largest, values[1]):
        values[1] = largest
        for back in range(ROWS * WIDTH):
            e: int32 = ROWS * WIDTH - 1 - back
            found: bool = (WHOLE or k + e // WIDTH * step < end) and not MORE(largest, T(rows[e // WIDTH, e % WIDTH]))
            laps[1] = lap * WIDTH + e if found else laps[1]


@prism.kernel
@template(
    TI=dtype, T=dtype, WORD=dtype, OP=function, LESS=function, MORE=function, THREADS=constexpr(int), BLOCKS=constexpr(int),
    ROWS=constexpr(int), AHEAD=constexpr(int), WORDS=constexpr(int), WIDTH=constexpr(int),
)
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def find_both(
    x: ptr(const(TI)) @ grid[1], y: ptr(int64) @ grid[1], z: ptr(int64) @ grid[1],
    words: ptr(mailbox(WORD)) @ grid[1],
    control: ptr(uint32) @ grid[1], other_words: ptr(mailbox(WORD)) @ grid[1], other_control: ptr(uint32) @ grid[1],
    capacity: uint32 @ grid[1], n: int64 @ grid[1], head: int32 @ grid[1], least: T @ grid[1], most: T @ grid[1],
    nothing: WORD @ grid[1],
):
    """`y[0]` is the first `k` for which no other element of `x` is `LESS` than `x[k]`, `z[0]` for which none is `MORE`.

    Perspective: grid, of any number of blocks of up to `THREADS` threads, whole warps; at most `capacity` blocks.
    Shapes:      as of `find_whole`; `z`: as `y`; `other_words`, `other_control`: as `words` and `control`, and no memory of
                 theirs. `least`, `most`: what beats nothing by `LESS`, and by `MORE`.
    Cost:        as of `find_whole`, with a second reduction of the blocks' words at the end.
    Numerics:    `LESS` and `MORE` are `positions`' orders of one kind; the rest is as of `find_whole`.
    Errors:      `x[head]` must be aligned to `WIDTH` elements, at most 16 bytes.
    Test:        tests/kernels/test_search.py, tests/gpu/test_reduce.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    vectors: int64 @ grid[1] = (n - head) // WIDTH
    tail: int32 @ grid[1] = int32(n - head - vectors * WIDTH)
    me: int32 @ block[1] = id()
    here: int32 @ thread[1] = id()  # 32 bits count all threads: there are as many blocks as run at once
    all: int32 @ grid[1] = count(thread[1])
    lane: int64 @ thread[1] = here
    lanes: int64 @ grid[1] = all
    with partition(y, block[1], offset=0, races="none") as first:  # one block alone writes
        with partition(z, block[1], offset=0, races="none") as second, group(block[1]):
            ask_ahead(x, head, me, lanes, vectors, AHEAD=AHEAD, BESIDE=1, WIDTH=WIDTH)
            epoch_cell: shared(uint32[1]) @ block[1]
            other_cell: shared(uint32[1]) @ block[1]
            before: uint32 @ thread[1] = 0
            other_before: uint32 @ thread[1] = 0
            if blocks > 1:
                match split(thread):
                    case 1:
                        before = load_relaxed(control[1])
                        other_before = load_relaxed(other_control[1])
            low: WORD @ thread[1]
            high: WORD @ thread[1]
            with group(thread[1]):
                values: T[2]
                laps: int32[2]
                values[0] = least
                values[1] = most
                laps[0] = 0
                laps[1] = 0
                lap: int32 = 0
                k: int64 = lane
                while k + (ROWS - 1) * lanes < vectors:
                    look_for_both(
                        x, head, k, lanes, vectors, lap, least, most, values, laps, LESS=LESS, MORE=MORE, ROWS=ROWS, WIDTH=WIDTH,
                        WHOLE=True,
                    )
                    k = k + ROWS * lanes
                    lap = lap + ROWS
                if k < vectors:
                    look_for_both(
                        x, head, k, lanes, vectors, lap, least, most, values, laps, LESS=LESS, MORE=MORE, ROWS=ROWS, WIDTH=WIDTH,
                        WHOLE=False,
                    )
                low_at: int64 = head + (lane + laps[0] // WIDTH * lanes) * WIDTH + laps[0] % WIDTH
                high_at: int64 = head + (lane + laps[1] // WIDTH * lanes) * WIDTH + laps[1] % WIDTH
                low = word_of(values[0], low_at, WORD=WORD, BEATS=LESS) if lane < vectors else nothing
                high = word_of(values[1], high_at, WORD=WORD, BEATS=MORE) if lane < vectors else nothing
                if lane < head:
                    low = OP(low, word_of(T(x[lane]), lane, WORD=WORD, BEATS=LESS))
                    high = OP(high, word_of(T(x[lane]), lane, WORD=WORD, BEATS=MORE))
                if lane < tail:
                    end: int64 = head + vectors * WIDTH + lane
                    low = OP(low, word_of(T(x[end]), end, WORD=WORD, BEATS=LESS))
                    high = OP(high, word_of(T(x[end]), end, WORD=WORD, BEATS=MORE))
            with claim(epoch_cell, thread[1]) as own, claim(other_cell, thread[1]) as other:
                match split(thread):
                    case 1:
                        own[0] = before
                        other[0] = other_before
            smallest: WORD @ thread[1] = block.reduce_to_first(low, nothing, OP=OP, MOST=THREADS, TENSOR=False)
            largest: WORD @ thread[1] = block.reduce_to_first(high, nothing, OP=OP, MOST=THREADS, TENSOR=False)
            grid.gather_into(
                first, words, control, capacity, epoch_cell, before, smallest, smallest, nothing, nothing, me, blocks, OP=OP,
                INTO=position_of, WORDS=WORDS, ORDERED=False, TENSOR=False,
            )
            grid.gather_into(
                second, other_words, other_control, capacity, other_cell, other_before, largest, largest, nothing, nothing, me,
                blocks, OP=OP, INTO=position_of, WORDS=WORDS, ORDERED=False, TENSOR=False,
            )


EXAMPLES = {
    "find_both": {
        "TI": "float32", "T": "float32", "WORD": "uint64", "OP": operators.maximum, "LESS": smaller_or_nan,
        "MORE": larger_or_nan, "THREADS": 1024, "BLOCKS": 1, "ROWS": 4, "AHEAD": 4, "WORDS": 9, "WIDTH": 4,
    },
}
