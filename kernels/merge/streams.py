"""Integers alone, merged by blocks that stay: each merges a long stretch of the result, and keeps what is left of both runs.

A block has a window of each run in shared memory: the next elements, as many as a tile has. A tile of the result takes as many
elements of both as it has itself. So where the next tile begins is known from this one, and no search in memory is needed but
one for each stretch. What is loaded next is known before the tile is merged, and goes where elements have been taken from.
"""

from prism.lang import (
    attr, ballot, block, const, constexpr, dtype, float32, function, grid, group, id, int32, int64, partition, popcount, prism,
    ptr, requires, shared, sqrt, template, thread, uint32,
)
from prism.lib.thread import operators


@prism.device
@requires(thread[32])
@template(T=dtype, LESS=function)
def cut_by_lanes(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], size_a: int64 @ thread[32], size_b: int64 @ thread[32],
    diagonal: int64 @ thread[32],
) -> int64 @ thread[32]:
    """How many of the first `diagonal` elements of the merge of two sorted runs are of the first one; of equal ones those first.

    A warp looks at 32 places at once: first about where it is if elements are spread evenly.
    """
    lane: int64 @ thread[1] = id()
    low: int64 @ thread[32] = max(diagonal - size_b, 0)
    high: int64 @ thread[32] = min(diagonal, size_a)
    likely: int64 @ thread[32] = int64(float32(diagonal) / float32(max(size_a + size_b, 1)) * float32(size_a))
    margin: int64 @ thread[32] = int64(sqrt(float32(size_a)))
    from_here: int64 @ thread[32] = min(max(likely - margin, low), high)
    until: int64 @ thread[32] = min(max(likely + margin, low), high)
    while low < high:
        step: int64 @ thread[32] = max((until - from_here) // 31, 1)
        place: int64 @ thread[1] = min(from_here + lane * step, high - 1)
        beyond: bool @ thread[1] = False
        with group(thread[1]):
            beyond = LESS(b[diagonal - 1 - place], a[place])
        before: int32 @ thread[32] = 32 - popcount(ballot(beyond))  # places that are not beyond, if runs are sorted
        last: int64 @ thread[32] = min(from_here + (before - 1) * step, high - 1)
        next: int64 @ thread[32] = min(from_here + before * step, high - 1)
        low = max(low, last + 1) if before > 0 else low
        high = min(high, next) if before < 32 else high
        from_here = low
        until = high
    return low


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def path_in_windows(
    tile: ptr(const(T)) @ thread[1], diagonal: int32 @ thread[1], taken: int32 @ thread[1], far: int32 @ thread[1],
    size_b: int32 @ thread[1],
) -> int32 @ thread[1]:
    """How many of the first `diagonal` elements of a stretch are of its first run: from `taken` to `taken + far`.

    The tile begins where `taken` elements of the first run are behind, and `far` elements before `diagonal`.
    """
    MASK: constexpr(int) = THREADS * ITEMS - 1
    BEHIND: constexpr(int) = THREADS * (ITEMS + 1)
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    low: int32 = max(diagonal - size_b, taken)
    high: int32 = taken + far
    while low < high:
        half: int32 = low + high >> 1
        rises: int32 = half & MASK
        falls: int32 = half - diagonal & MASK
        left: T = tile[rises + (rises >> SHIFT)]
        right: T = tile[BEHIND + falls + (falls >> SHIFT)]
        if LESS(right, left):
            high = half
        else:
            low = half + 1
    return low


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
def merge_in_windows(
    tile: ptr(const(T)) @ thread[1], row: int32 @ thread[1], begin: int32 @ thread[1], until: int32 @ thread[1],
    items: T[ITEMS] @ thread[1],
):
    """Put row `row` of a stretch into `items`: elements `begin` to `until` of the first run, and those of the second."""
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    PITCH: constexpr(int) = ITEMS + 1
    BEHIND: constexpr(int) = THREADS * PITCH
    corner: int32 = begin & ITEMS - 1  # the remainder of the first one
    end: int32 = until - (begin - corner)
    wraps: bool = end > ITEMS
    rise: int32 = begin >> SHIFT
    fall: int32 = rise - row
    # Three stretches of remainders: each lies in one row.
    here: int32 = (rise & THREADS - 1) * PITCH
    next: int32 = (rise + 1 & THREADS - 1) * PITCH
    upper: int32 = BEHIND + (fall & THREADS - 1) * PITCH
    lower: int32 = BEHIND + (fall - 1 & THREADS - 1) * PITCH
    first: int32 = end - ITEMS if wraps else corner
    second: int32 = corner if wraps else end
    one: int32 = next if wraps else upper
    two: int32 = upper if wraps else here
    three: int32 = here if wraps else lower
    for k in range(ITEMS):
        at: int32 = one if k < first else two if k < second else three
        items[k] = tile[at + k]
    thread.merge_bitonic(items, ITEMS, LESS=LESS)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_next(
    a: ptr(const(T)) @ block[1], b: ptr(const(T)) @ block[1], held: T[ITEMS] @ thread[1], many: int32 @ block[1],
    left_a: int32 @ block[1], left_b: int32 @ block[1], last: T @ block[1],
):
    """Load a tile: the next `many` elements of the first run, and behind them others of the second, the last one first.

    Where `left_a` elements of the first run end is `last`; where `left_b` of the second do, anything.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    t: int32 @ thread[1] = id()
    others: int32 @ block[1] = TILE - many
    with partition(a, thread[1], offset=t) as rising, partition(b, thread[1], offset=TILE - 1 - t) as falling, group(thread[1]):
        if many <= left_a and others <= left_b:
            for k in range(ITEMS):
                if k * THREADS < many - t:
                    held[k] = rising[k * THREADS]
                if TILE - 1 - k * THREADS < others + t:  # and not `else`: one load of either takes more instructions
                    held[k] = falling[-k * THREADS]
        else:
            for k in range(ITEMS):
                held[k] = last
                if k * THREADS < many - t:
                    if k * THREADS < left_a - t:
                        held[k] = rising[k * THREADS]
                elif TILE - 1 - k * THREADS < left_b + t:
                    held[k] = falling[-k * THREADS]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def put_in_windows(
    tile: ptr(T) @ block[1], held: T[ITEMS] @ thread[1], from_a: int32 @ block[1], from_b: int32 @ block[1],
    many: int32 @ block[1],
):
    """Put what `load_next` loaded, from `from_a` and `from_b` on, into both windows: the first run rises, the second falls."""
    MASK: constexpr(int) = THREADS * ITEMS - 1
    BEHIND: constexpr(int) = THREADS * (ITEMS + 1)
    STEP: constexpr(int) = THREADS + THREADS // ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
        risen: uint32 = uint32(from_a + t & MASK)
        fallen: uint32 = uint32(t - from_b & MASK)
        risen = risen + (risen >> SHIFT)
        fallen = fallen + (fallen >> SHIFT)
        for k in range(ITEMS):
            rises: bool = k * THREADS < many - t
            far: uint32 = (risen if rises else fallen) + k * STEP
            place: uint32 = min(far, far - BEHIND)  # a window ends, and begins again
            if rises:
                own[place] = held[k]
            if not rises:
                own[BEHIND + place] = held[k]


@prism.kernel
@template(T=dtype, LESS=function, ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def merge_streams(
    a: ptr(const(T)) @ grid[1], b: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int64 @ grid[1], middle: int64 @ grid[1],
    share: int64 @ grid[1], otherwise: T @ grid[1],
):
    """Merge two sorted arrays.

    Perspective: grid, a block for each `share` elements of the result.
    Shapes:      `y`: `n` elements, at least one, memory of neither `a`, of `middle` elements, nor `b`, which has the others.
                 `LESS` is their order; elements of which neither is less are the same in all bits. `THREADS` is a power of two,
                 `share` at most 2^30. `otherwise`: any.
    Cost:        each element is read once, and written once; two searches a block.
    Source:      as of `merge_rows`.
    Test:        tests/kernels/test_merge_streams.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    PITCH: constexpr(int) = ITEMS + 1
    STEP: constexpr(int) = THREADS + THREADS // ITEMS
    SHIFT: constexpr(int) = 3 if ITEMS == 8 else 4 if ITEMS == 16 else 5
    start: int64 @ block[1] = id() * share
    many: int32 @ block[1] = int32(min(n - start, share))
    with partition(y, block[1], offset=start, races="none") as part, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(T[2 * THREADS * PITCH]) @ block[1]
        result: shared(T[THREADS * PITCH]) @ block[1]
        cuts: shared(int32[THREADS + 1]) @ block[1]
        ends: shared(int64[2]) @ block[1]
        w: int32 @ thread[32] = id()
        with partition(ends, thread[1], offset=lambda i: i, races="none") as own, group(thread[32]):
            if w < 2:
                found: int64 @ thread[32] = cut_by_lanes(
                    a, b, middle, n - middle, start + (many if w > 0 else 0), LESS=LESS,
                )
                with group(thread[1]):
                    if t % 32 == 0:
                        own[w] = found
        first: int64 @ block[1] = ends[0]
        size_a: int32 @ block[1] = int32(min(max(ends[1] - first, 0), int64(many)))  # sorted or not
        size_b: int32 @ block[1] = many - size_a
        with partition(a, block[1], offset=first) as one, partition(b, block[1], offset=start - first) as other:
            last: T @ block[1] = otherwise
            if size_a > 0:
                last = one[size_a - 1]
            if size_b > 0:
                final: T @ block[1] = other[size_b - 1]
                if size_a == 0 or LESS(last, final):
                    last = final
            rising: T[ITEMS] @ thread[1]
            falling: T[ITEMS] @ thread[1]
            load_next(one, other, rising, TILE, size_a, size_b, last, ITEMS=ITEMS, THREADS=THREADS)
            load_next(one, other, falling, 0, size_a, size_b, last, ITEMS=ITEMS, THREADS=THREADS)
            with partition(tile, thread[1], offset=t + t // ITEMS) as own, group(thread[1]):
                for k in range(ITEMS):
                    own[k * STEP] = rising[k]
                    own[THREADS * PITCH + k * STEP] = falling[k]
            taken: int32 @ block[1] = 0
            for at in range(0, many, TILE):
                with partition(cuts, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
                    if t == 0:
                        own[0] = taken
                    own[t + 1] = path_in_windows(
                        tile, at + (t + 1) * ITEMS, taken, (t + 1) * ITEMS, size_b, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS,
                    )
                rest: int32 @ block[1] = cuts[THREADS]
                used: int32 @ block[1] = rest - taken
                held: T[ITEMS] @ thread[1]
                if at + TILE < many:
                    from_a: int32 @ block[1] = taken + TILE
                    from_b: int32 @ block[1] = at - taken + TILE
                    with partition(one, block[1], offset=from_a) as next_a, \
                         partition(other, block[1], offset=from_b) as next_b:
                        load_next(
                            next_a, next_b, held, used, size_a - from_a, size_b - from_b, last, ITEMS=ITEMS, THREADS=THREADS,
                        )
                items: T[ITEMS] @ thread[1]
                with group(thread[1]):
                    merge_in_windows(
                        tile, (at >> SHIFT) + t, cuts[t], cuts[t + 1], items, ITEMS=ITEMS, THREADS=THREADS, LESS=LESS,
                    )
                with partition(result, thread[1], offset=t * PITCH) as own, group(thread[1]):
                    for k in range(ITEMS):
                        own[k] = items[k]
                with partition(part, thread[1], offset=at + t) as target, group(thread[1]):
                    for k in range(ITEMS):
                        if many - at >= TILE or k * THREADS < many - at - t:
                            target[k * THREADS] = result[k * THREADS + k * THREADS // ITEMS + t + (t >> SHIFT)]
                if at + TILE < many:
                    put_in_windows(tile, held, taken + TILE, at - taken + TILE, used, ITEMS=ITEMS, THREADS=THREADS)
                taken = rest


EXAMPLES = {"merge_streams": {"T": "int32", "LESS": operators.less, "ITEMS": 16, "THREADS": 256, "BLOCKS": 4}}
