"""Where the smallest or largest element is, along one axis of an array seen as `(outer, n, inner)`.

The geometry is that of `reduce_axis`. A lane keeps the best value of each place in its vectors, and in which of its vectors that
was; what is kept by several lanes, warps and splits is compared by value, and then by position, so the first of equal elements
is found whatever the order.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, is_nan, partition, prism, ptr,
    requires, shared, shuffle_down, template, thread, warp,
)
from prism.kernels.reduce.axis import place as spot
from prism.kernels.reduce.single_pass import fetch

NOWHERE = 2**63 - 1
"""The position of no element, behind all others."""


@prism("device")
@requires(thread[1])
@template(T=dtype)
def larger(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is larger than `b`."""
    return a > b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def smaller(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is smaller than `b`."""
    return a < b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def larger_or_nan(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is larger than `b`, where NaN is the largest."""
    return a > b or (is_nan(a) and not is_nan(b))


@prism("device")
@requires(thread[1])
@template(T=dtype)
def smaller_or_nan(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is smaller than `b`, where NaN is the smallest."""
    return a < b or (is_nan(a) and not is_nan(b))


@prism("global")
@template(
    TI=dtype, T=dtype, U=dtype, BEATS=function, THREADS=constexpr(int), BLOCKS=constexpr(int), LANES=constexpr(int),
    ROWS=constexpr(int), WIDTH=constexpr(int), ALONG=constexpr(bool), WIDE=constexpr(bool), VECTORIZED=constexpr(bool),
    PARTIAL=constexpr(bool), INDEXED=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def find(
    x: ptr(const(TI)) @ grid[1], given: ptr(const(int64)) @ grid[1], bests: ptr(T) @ grid[1], y: ptr(int64) @ grid[1],
    units: U @ grid[1], across: U @ grid[1], n: int64 @ grid[1], splits: U @ grid[1], chunk: int64 @ grid[1],
    outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1],
    split_step: int64 @ grid[1], inner_step: int64 @ grid[1], weakest: T @ grid[1],
):
    """`y[...]` is the first `k` for which no other element `x[o, j, i]` beats `x[o, k, i]`, for each `o` and `i`.

    Perspective: grid, of as many blocks of `THREADS` threads as `units` take.
    Shapes:      as of `reduce_axis`, every split with an element at least. `PARTIAL`: the elements found go to `bests`, at the
                 same places as in `y`. `INDEXED`: positions are those in `given`, which lies as `x` does. What of the two is not
                 asked for is not touched.
    Numerics:    `BEATS` is a strict order; `weakest` beats nothing.
    Errors:      with `VECTORIZED`, all vectors must be aligned, and of at most 16 bytes.
    Test:        tests/kernels/test_reduce_axis.py, tests/gpu/test_reduce.py
    """
    GROUPS: constexpr(int) = 32 // LANES
    APART: constexpr(int) = 1 if ALONG else GROUPS
    EACH: constexpr(int) = 1 if ALONG else WIDTH
    PACE: constexpr(int) = WIDTH if ALONG else 1
    WARPS: constexpr(int) = THREADS // 32
    lane: int32 @ thread[1] = id() % 32
    along: int32 @ thread[1] = lane % LANES if ALONG else lane // GROUPS
    beside: int32 @ thread[1] = lane // LANES if ALONG else lane % GROUPS
    team: U @ thread[32] = id()
    band: U @ block[1] = id()
    with partition(y, block[1], offset=lambda i: i, races="allow") as y_block:  # each result is one thread's
        with partition(bests, block[1], offset=lambda i: i, races="allow") as bests_block:
            with group(block[1]):
                w: int32 @ thread[32] = id()
                unit: U @ thread[1] = (band if WIDE else team) * GROUPS + beside
                known: U @ thread[1] = min(unit, units - 1)
                rest: U @ thread[1] = known if across == 1 else known / across
                o: U @ thread[1] = rest if splits == 1 else rest / splits
                first: int64 @ thread[1] = int64(rest - o * splits) * chunk
                end: int64 @ thread[1] = min(first + chunk, n) / PACE
                base: int64 @ thread[1] = o * outer_stride + int64(known - rest * across) * EACH * inner_stride
                step: int64 @ block[1] = WARPS * LANES if WIDE else LANES
                start: int64 @ thread[1] = first / PACE + (w * LANES + along if WIDE else along)
                best: T[EACH] @ thread[1]
                at: int64[EACH] @ thread[1]
                with group(thread[1]):
                    values: T[WIDTH]
                    laps: int32[WIDTH]
                    for i in range(WIDTH):
                        values[i] = weakest
                        laps[i] = 0  # also right where nothing beats the weakest: then all elements are like it
                    lap: int32 = 0
                    k: int64 = start
                    while k + (ROWS - 1) * step < end:
                        look(
                            x, base, k, step, end, n_stride, inner_stride, lap, values, laps, BEATS=BEATS, ROWS=ROWS, ALONG=ALONG,
                            VECTORIZED=VECTORIZED, WHOLE=True,
                        )
                        k = k + ROWS * step
                        lap = lap + ROWS
                    if k < end:
                        look(
                            x, base, k, step, end, n_stride, inner_stride, lap, values, laps, BEATS=BEATS, ROWS=ROWS, ALONG=ALONG,
                            VECTORIZED=VECTORIZED, WHOLE=False,
                        )
                    for e in range(EACH):
                        best[e] = weakest
                        at[e] = NOWHERE
                    if start < end:
                        for i in range(WIDTH):
                            here: int64 = (start + laps[i] * step) * PACE
                            if ALONG:
                                won: bool = takes(best[0], at[0], values[i], here + i, BEATS=BEATS)
                                best[0] = values[i] if won else best[0]
                                at[0] = here + i if won else at[0]
                            else:
                                best[i] = values[i]
                                at[i] = here
                with group(warp[1]):
                    for e in range(EACH):
                        reach: int32 @ thread[32] = APART
                        while reach < APART * LANES:
                            value: T @ thread[1] = shuffle_down(best[e], reach)
                            where: int64 @ thread[1] = shuffle_down(at[e], reach)
                            won: bool @ thread[1] = takes(best[e], at[e], value, where, BEATS=BEATS)
                            best[e] = value if won else best[e]
                            at[e] = where if won else at[e]
                            reach = 2 * reach
                if WIDE:
                    desk: shared(T[WARPS * GROUPS * EACH]) @ block[1]
                    places: shared(int64[WARPS * GROUPS * EACH]) @ block[1]
                    first_slot: int32 @ thread[32] = w * (GROUPS * EACH)
                    with partition(desk, thread[32], offset=first_slot) as row:
                        with partition(places, thread[32], offset=first_slot) as row_at, group(thread[32]):
                            with partition(row, thread[1], offset=beside * EACH, races="allow") as slot:
                                with partition(row_at, thread[1], offset=beside * EACH, races="allow") as slot_at:
                                    with group(thread[1]):
                                        if along == 0:
                                            for e in range(EACH):
                                                slot[e] = best[e]
                                                slot_at[e] = at[e]
                    t: int32 @ thread[1] = id()
                    with partition(y_block, thread[1], offset=lambda i: i, races="allow") as out:
                        with partition(bests_block, thread[1], offset=lambda i: i, races="allow") as values_out, group(thread[1]):
                            for j in range(t, GROUPS * EACH, THREADS):
                                value: T = desk[j]
                                where: int64 = places[j]
                                for v in range(1, WARPS):
                                    other: T = desk[v * (GROUPS * EACH) + j]
                                    there: int64 = places[v * (GROUPS * EACH) + j]
                                    won: bool = takes(value, where, other, there, BEATS=BEATS)
                                    value = other if won else value
                                    where = there if won else where
                                one: U = band * GROUPS + j / EACH
                                e: int32 = j % EACH
                                if one < units:
                                    target: int64 = spot(one, e, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                                    if PARTIAL:
                                        values_out[target] = value
                                    if INDEXED:
                                        origin: int64 = spot(one, e, across, splits, outer_stride, 0, inner_stride, EACH=EACH)
                                        where = given[origin + where * n_stride]
                                    out[target] = where
                else:
                    with partition(y_block, thread[1], offset=lambda i: i, races="allow") as out:
                        with partition(bests_block, thread[1], offset=lambda i: i, races="allow") as values_out, group(thread[1]):
                            if along == 0 and unit < units:
                                for e in range(EACH):
                                    target: int64 = spot(unit, e, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                                    if PARTIAL:
                                        values_out[target] = best[e]
                                    where: int64 = at[e]
                                    if INDEXED:
                                        where = given[base + e * inner_stride + where * n_stride]
                                    out[target] = where


@prism("device")
@requires(thread[1])
@template(T=dtype, BEATS=function)
def takes(
    a: T @ thread[1], a_at: int64 @ thread[1], b: T @ thread[1], b_at: int64 @ thread[1]
) -> bool @ thread[1]:
    """Whether `b` takes the place of `a`: it beats `a`, or stands before it and is not beaten."""
    return BEATS(b, a) or (b_at < a_at and not BEATS(a, b))


@prism("device")
@requires(thread[1])
@template(
    TI=dtype, T=dtype, BEATS=function, ROWS=constexpr(int), WIDTH=constexpr(int), ALONG=constexpr(bool),
    VECTORIZED=constexpr(bool), WHOLE=constexpr(bool),
)
def look(
    x: ptr(const(TI)) @ grid[1], base: int64 @ thread[1], k: int64 @ thread[1], step: int64 @ thread[1], end: int64 @ thread[1],
    n_stride: int64 @ thread[1], inner_stride: int64 @ thread[1], lap: int32 @ thread[1], values: T[WIDTH] @ thread[1],
    laps: int32[WIDTH] @ thread[1],
):
    """Compare each place's best value with `ROWS` vectors, from number `k` along `n` on; from `end` on there are none.

    Perspective: thread.
    Shapes:      `lap`: how many vectors the thread has seen. `WHOLE`: all are there; otherwise the first is.
    Cost:        `ROWS` loads under way at once, of `WIDTH` elements.
    """
    rows: TI[ROWS, WIDTH]
    for j in range(ROWS):
        number: int64 = k + j * step
        if not WHOLE:
            number = number if number < end else k  # again what this thread has: no branches between loads
        row: TI[WIDTH]
        at: int64 = base + number * n_stride * (WIDTH if ALONG else 1)
        fetch(x, at, n_stride if ALONG else inner_stride, row, VECTORIZED=VECTORIZED)
        for i in range(WIDTH):
            rows[j, i] = row[i]
    for j in range(ROWS):
        for i in range(WIDTH):
            item: T = T(rows[j, i])
            won: bool = BEATS(item, values[i])
            if not WHOLE:
                won = won and k + j * step < end
            values[i] = item if won else values[i]
            laps[i] = lap + j if won else laps[i]


EXAMPLES = {
    "find": {
        "TI": "float32", "T": "float32", "U": "int32", "BEATS": larger_or_nan, "THREADS": 128, "BLOCKS": 5, "LANES": 32,
        "ROWS": 4, "WIDTH": 4, "ALONG": True, "WIDE": True, "VECTORIZED": True, "PARTIAL": False, "INDEXED": False,
    },
}
