"""Where the smallest or largest element of a whole array is, in one launch: every element is read once.

The launch is that of `reduce`: each block publishes one word, and the last one combines them. A word is a value's rank, an
integer that is larger the better the value is, above the complement of its position: so the largest word is the first of the best
values. Each thread looks at elements as they are, as `find` does, and makes a word of the best one only.
"""

from prism.lang import (
    attr, bitcast, block, claim, const, constexpr, count, dtype, float32, float64, function, grid, group, id, int8, int16, int32,
    int64, is_nan, load_relaxed, mailbox, partition, prism, ptr, requires, shared, split, struct, template, thread,
    uint32, uint64,
)
from prism.kernels.reduce.positions import larger, larger_or_nan, less_true, look, truer
from prism.kernels.reduce.single_pass import ask_ahead
from prism.lib.thread import operators


@struct
class Place:
    """An element of 8 bytes: its value's rank, and the complement of its position."""

    rank: uint64
    rest: uint64


@prism.device
@requires(thread[1])
def better_place(a: Place @ thread[1], b: Place @ thread[1]) -> Place @ thread[1]:
    """The one of larger rank, or else of larger `rest`."""
    return a if a.rank > b.rank or (a.rank == b.rank and a.rest > b.rest) else b


@prism.device
@requires(thread[1])
@template(T=dtype, U=dtype, BEATS=function)
def rank_of(value: T @ thread[1]) -> U @ thread[1]:
    """An unsigned integer of as many bits, larger than another value's if `value` beats that; the largest of all for NaN."""
    TOP: constexpr(int) = 1 << 31 if U == uint32 else 1 << 63
    MOST: constexpr(int) = 2 * TOP - 1
    rank: U = U(0)
    if BEATS == truer or BEATS == less_true:
        rank = U(1) if value != 0 else U(0)
    elif T == float32 or T == float64:
        bits: U = bitcast(value + T(0), U)  # 0 for -0, which is as large
        rank = bits ^ (U(MOST) if bits >= TOP else U(TOP))
    elif T == int64:
        rank = bitcast(value, U) ^ U(TOP)
    elif T == int8 or T == int16 or T == int32:
        rank = bitcast(int32(value), U) ^ U(TOP)
    else:
        rank = U(value)
    rank = rank if BEATS == larger or BEATS == larger_or_nan or BEATS == truer else U(MOST) - rank
    if T == float32 or T == float64:
        rank = U(MOST) if is_nan(value) else rank
    return rank


@prism.device
@requires(thread[1])
@template(T=dtype, WORD=dtype, BEATS=function)
def word_of(value: T @ thread[1], at: int64 @ thread[1]) -> WORD @ thread[1]:
    """The word of a value and its position; one of 8 bytes has room for positions below 2^32 - 1."""
    if WORD == uint64:
        return (uint64(rank_of(value, U=uint32, BEATS=BEATS)) << 32) + (0xFFFFFFFF - uint32(at))
    else:
        return Place(rank_of(value, U=uint64, BEATS=BEATS), 0xFFFFFFFFFFFFFFFF - uint64(at))


@prism.device
@requires(thread[1])
@template(WORD=dtype, T=dtype)
def position_of(word: WORD @ thread[1]) -> T @ thread[1]:
    """The position in a word."""
    if WORD == uint64:
        return T(0xFFFFFFFF - uint32(word))
    else:
        return T(0xFFFFFFFFFFFFFFFF - word.rest)


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, WORD=dtype, OP=function, BEATS=function, WIDTH=constexpr(int))
def word_of_lane(
    x: ptr(const(TI)) @ grid[1], value: T @ thread[1], lap: int32 @ thread[1], head: int32 @ grid[1], tail: int32 @ grid[1],
    lane: int64 @ thread[1], lanes: int64 @ grid[1], vectors: int64 @ grid[1], nothing: WORD @ grid[1],
) -> WORD @ thread[1]:
    """The best word of a lane: of the `value` that `look` has left with its `lap`, and of what stands beside the vectors."""
    at: int64 = head + (lane + lap // WIDTH * lanes) * WIDTH + lap % WIDTH
    best: WORD = word_of(value, at, WORD=WORD, BEATS=BEATS) if lane < vectors else nothing
    if lane < head:
        best = OP(best, word_of(T(x[lane]), lane, WORD=WORD, BEATS=BEATS))
    if lane < tail:
        end: int64 = head + vectors * WIDTH + lane
        best = OP(best, word_of(T(x[end]), end, WORD=WORD, BEATS=BEATS))
    return best


@prism.kernel
@template(
    TI=dtype, T=dtype, WORD=dtype, TO=dtype(default=int64), OP=function, BEATS=function, THREADS=constexpr(int),
    BLOCKS=constexpr(int), ROWS=constexpr(int), AHEAD=constexpr(int), WORDS=constexpr(int), WIDTH=constexpr(int),
)
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def find_whole(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], words: ptr(mailbox(WORD)) @ grid[1], control: ptr(uint32) @ grid[1],
    capacity: uint32 @ grid[1], n: int64 @ grid[1], head: int32 @ grid[1], weakest: T @ grid[1],
    nothing: WORD @ grid[1],
):
    """`y[0]` is the first `k` for which no other element of `x` beats `x[k]`.

    Perspective: grid, of any number of blocks of up to `THREADS` threads, whole warps; at most `capacity` blocks.
    Shapes:      `x`: `n` elements, of which `head` stand before the first vector; `y`: one. `words`, `control`: as of `reduce`.
    Cost:        `ROWS` loads under way at once; `AHEAD`: so many rows of vectors a thread are prefetched first.
    Numerics:    `BEATS` is one of `positions`' orders; `weakest` beats nothing; `nothing` is a word of zeros. `WORD` is uint64,
                 and `OP` the maximum, for values of up to 4 bytes, fewer than 2^32 of them; else `Place` and `better_place`.
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
    with partition(y, block[1], offset=0, races="none") as result:  # one block alone writes
        with group(block[1]):
            ask_ahead(x, head, me, lanes, vectors, AHEAD=AHEAD, BESIDE=1, WIDTH=WIDTH)
            epoch_cell: shared(uint32[1]) @ block[1]
            before: uint32 @ thread[1] = 0
            if blocks > 1:
                match split(thread):
                    case 1:
                        before = load_relaxed(control[1])
            mine: WORD @ thread[1]
            with group(thread[1]):
                base: int64[1]
                values: T[1]
                laps: int32[1]
                base[0] = 0
                values[0] = weakest
                laps[0] = 0
                lap: int32 = 0
                k: int64 = lane
                while k + (ROWS - 1) * lanes < vectors:
                    look(
                        x, base, head, k, lanes, vectors, 1, lap, weakest, values, laps, BEATS=BEATS, ROWS=ROWS, WIDTH=WIDTH,
                        ALONG=True, WHOLE=True,
                    )
                    k = k + ROWS * lanes
                    lap = lap + ROWS
                if k < vectors:
                    look(
                        x, base, head, k, lanes, vectors, 1, lap, weakest, values, laps, BEATS=BEATS, ROWS=ROWS, WIDTH=WIDTH,
                        ALONG=True, WHOLE=False,
                    )
                mine = word_of_lane(
                    x, values[0], laps[0], head, tail, lane, lanes, vectors, nothing, OP=OP, BEATS=BEATS, WIDTH=WIDTH,
                )
            with claim(epoch_cell, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = before
            best: WORD @ thread[1] = block.reduce_to_first(mine, nothing, OP=OP, MOST=THREADS, TENSOR=False)
            grid.gather_into(
                result, words, control, capacity, epoch_cell, before, best, best, nothing, nothing, me, blocks, OP=OP,
                INTO=position_of, WORDS=WORDS, ORDERED=False, TENSOR=False,
            )


EXAMPLES = {
    "find_whole": {
        "TI": "float32", "T": "float32", "WORD": "uint64", "OP": operators.maximum, "BEATS": larger_or_nan, "THREADS": 1024,
        "BLOCKS": 1, "ROWS": 4, "AHEAD": 4, "WORDS": 9, "WIDTH": 4,
    },
}
