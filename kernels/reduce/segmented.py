"""The reduction of segments: each by one thread, one warp or one block, by how long they are.

A segment is `x[starts[s]] ... x[ends[s] - 1]`: segments may be empty, lie anywhere, and overlap. Bounds beyond the array are
taken for its ends. Threads and warps leave segments that are much longer than the others to their block, which takes them last.
"""

from prism.lang import (
    attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires,
    split, template, thread, warp,
)
from prism.lib.thread import operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, O=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), LONG=constexpr(int),
    BLOCKS=constexpr(int), COMMUTATIVE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def reduce_segments_by_thread(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1],
    segments: int64 @ grid[1], n: int64 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """`y[s] = OP(initial, x[starts[s]], ..., x[ends[s] - 1])`; `initial` for an empty segment.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: `n` elements; `y`, `starts`, `ends`: `segments`; offsets are of type `O`, int32 or int64. What is longer
                 than `LONG` is taken by a block, `ITEMS` elements a thread at once.
    Numerics:    computes in `T`; from left to right up to `LONG` elements, else as `reduce_segments_by_block`.
    Test:        tests/kernels/test_segmented_reduce.py, tests/gpu/test_segments.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    left: bool @ thread[1] = False  # whether there are long ones
    with partition(y, block[1]) as target, group(block[1]):
        me: int64 @ thread[1] = b * THREADS + id(thread[1])
        with partition(target, thread[1]) as mine, group(thread[1]):
            for s in range(me, segments, int64(blocks) * THREADS):
                start: int64 = max(int64(starts[s]), 0)
                end: int64 = min(int64(ends[s]), n)
                if end - start > LONG:
                    left = True
                else:
                    sum: T = initial
                    for i in range(start, end):
                        sum = OP(sum, T(x[i]))
                    mine[s] = TO(sum)
        take_long(
            x, target, starts, ends, segments, n, identity, initial, b, blocks, left,
            OP=OP, THREADS=THREADS, ITEMS=ITEMS, TAKEN=THREADS, LONG=LONG, COMMUTATIVE=COMMUTATIVE,
        )


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, O=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), LONG=constexpr(int),
    BLOCKS=constexpr(int), COMMUTATIVE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def reduce_segments_by_warp(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1],
    segments: int64 @ grid[1], n: int64 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """What `reduce_segments_by_thread` computes; a warp takes one segment at a time, `ITEMS` elements a lane at once.

    Numerics:    reassociates `OP`, in a way fixed by each segment's length and the template. Where `COMMUTATIVE`, it changes
                 the order of elements too.
    """
    WARPS: constexpr(int) = THREADS // 32
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    left: bool @ thread[32] = False  # whether there are long ones
    with partition(y, block[1]) as target, group(block[1]):
        me: int64 @ thread[32] = b * WARPS + id(thread[32])
        with partition(target, thread[32]) as results, group(thread[32]):
            lane: int32 @ thread[1] = id()
            for s in range(me, segments, int64(blocks) * WARPS):
                start: int64 @ thread[32] = max(int64(starts[s]), 0)
                end: int64 @ thread[32] = max(min(int64(ends[s]), n), start)
                if end - start > LONG:
                    left = True
                else:
                    sum: T @ thread[1] = identity
                    total: T @ thread[32] = initial
                    for first in range(start, end, 32 * ITEMS):
                        items: T[ITEMS] @ thread[1]
                        with group(thread[1]):
                            mine_at: int64 = first + (lane if COMMUTATIVE else lane * ITEMS)
                            thread.load_strided(x, items, mine_at, end, identity, STEP=32 if COMMUTATIVE else 1)
                            if COMMUTATIVE:
                                sum = OP(sum, thread.reduce(items, OP=OP))
                        if not COMMUTATIVE:
                            sum = thread.reduce(items, OP=OP)
                            total = OP(total, warp.reduce(sum, OP=OP))
                    if COMMUTATIVE:
                        total = OP(total, warp.reduce(sum, OP=OP))
                    with claim(results, thread[1]) as mine:
                        match split(thread):
                            case 1:
                                mine[s] = TO(total)
        take_long(
            x, target, starts, ends, segments, n, identity, initial, b, blocks, left,
            OP=OP, THREADS=THREADS, ITEMS=ITEMS, TAKEN=WARPS, LONG=LONG, COMMUTATIVE=COMMUTATIVE,
        )


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, O=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), COMMUTATIVE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def reduce_segments_by_block(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1],
    segments: int64 @ grid[1], n: int64 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """What `reduce_segments_by_warp` computes, by a block a segment."""
    blocks: int64 @ grid[1] = count(block[1])
    me: int64 @ block[1] = id()
    with partition(y, block[1]) as target:
        with group(block[1]):
            for s in range(me, segments, blocks):
                start: int64 @ block[1] = max(int64(starts[s]), 0)
                end: int64 @ block[1] = min(int64(ends[s]), n)
                store_slice(
                    x, target, s, start, end, identity, initial, OP=OP, THREADS=THREADS, ITEMS=ITEMS, COMMUTATIVE=COMMUTATIVE,
                )


@prism.device
@requires(block[1], thread[32])
@template(
    TI=dtype, T=dtype, TO=dtype, O=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), TAKEN=constexpr(int),
    LONG=constexpr(int), COMMUTATIVE=constexpr(bool),
)
def take_long(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ block[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1],
    segments: int64 @ grid[1], n: int64 @ grid[1], identity: T @ grid[1], initial: T @ grid[1], me: int32 @ block[1],
    blocks: int32 @ grid[1], left: bool @ thread[1],
):
    """Reduce what is longer than `LONG` of each block's segments, `TAKEN` at a time; nothing where no thread has `left` any.

    Perspective: block `me` of `blocks`.
    Cost:        a vote, where there are none.
    """
    if block.any(left):
        for first in range(int64(me) * TAKEN, segments, int64(blocks) * TAKEN):
            for s in range(first, min(first + TAKEN, segments)):
                start: int64 @ block[1] = max(int64(starts[s]), 0)
                end: int64 @ block[1] = min(int64(ends[s]), n)
                if end - start > LONG:
                    store_slice(
                        x, y, s, start, end, identity, initial, OP=OP, THREADS=THREADS, ITEMS=ITEMS, COMMUTATIVE=COMMUTATIVE,
                    )


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), COMMUTATIVE=constexpr(bool))
def store_slice(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ block[1], s: int64 @ block[1], start: int64 @ block[1], end: int64 @ block[1],
    identity: T @ grid[1], initial: T @ grid[1],
):
    """Make `y[s]` what `reduce_slice` computes."""
    total: T @ block[1] = reduce_slice(
        x, start, end, identity, initial, OP=OP, THREADS=THREADS, ITEMS=ITEMS, COMMUTATIVE=COMMUTATIVE,
    )
    with claim(y, thread[1]) as mine:
        match split(thread):
            case 1:
                mine[s] = TO(total)


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, T=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), COMMUTATIVE=constexpr(bool))
def reduce_slice(
    x: ptr(const(TI)) @ grid[1], start: int64 @ block[1], end: int64 @ block[1], identity: T @ block[1], initial: T @ block[1],
) -> T @ block[1]:
    """`OP(initial, x[start], ..., x[end - 1])`, by a block of `THREADS` threads, `ITEMS` elements each at once."""
    t: int32 @ thread[1] = id()
    sum: T @ thread[1] = identity
    total: T @ block[1] = initial
    for first in range(start, end, THREADS * ITEMS):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            mine_at: int64 = first + (t if COMMUTATIVE else t * ITEMS)
            thread.load_strided(x, items, mine_at, end, identity, STEP=THREADS if COMMUTATIVE else 1)
            if COMMUTATIVE:
                sum = OP(sum, thread.reduce(items, OP=OP))
        if not COMMUTATIVE:
            sum = thread.reduce(items, OP=OP)
            total = OP(total, block.reduce(sum, OP=OP))
    if COMMUTATIVE:
        total = OP(total, block.reduce(sum, OP=OP))
    return total


EXAMPLES = {
    "reduce_segments_by_thread": {
        "TI": "float32", "T": "float32", "TO": "float32", "O": "int64", "OP": operators.add, "THREADS": 256, "ITEMS": 8,
        "LONG": 256, "BLOCKS": 8, "COMMUTATIVE": True,
    },
    "reduce_segments_by_warp": {
        "TI": "float32", "T": "float32", "TO": "float32", "O": "int64", "OP": operators.add, "THREADS": 256, "ITEMS": 4,
        "LONG": 4096, "BLOCKS": 8, "COMMUTATIVE": True,
    },
    "reduce_segments_by_block": {
        "TI": "float32", "T": "float32", "TO": "float32", "O": "int64", "OP": operators.add, "THREADS": 256, "ITEMS": 8,
        "COMMUTATIVE": True,
    },
}
