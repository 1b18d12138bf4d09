"""Where the smallest or largest element is, along one axis of an array seen as `(outer, n, inner)`.

The geometry is that of `reduce_axis`. Along rows a lane keeps the best value of all its vectors, and which of its elements that
was: it first takes the extreme of all that it has loaded at once, and looks for its place only where that beats what is kept. Of
columns it keeps the best value of each place in its vectors, and in which of its vectors that was. What is kept by several lanes,
warps and splits is compared by value, and then by position, so the first of equal elements is found whatever the order.
"""

from prism.lang import (
    assume, attr, block, complex64, complex128, const, constexpr, count, dtype, function, grid, group, id, int32, int64, is_nan,
    partition, prism, ptr, requires, shared, shuffle_down, strides_nest, template, thread, warp,
)
from prism.kernels.reduce.axis import place as spot

NOWHERE = 2**63 - 1
"""The position of no element, behind all others."""


@prism.device
@requires(thread[1])
@template(T=dtype)
def larger(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is larger than `b`."""
    return a > b


@prism.device
@requires(thread[1])
@template(T=dtype)
def smaller(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is smaller than `b`."""
    return a < b


@prism.device
@requires(thread[1])
@template(T=dtype)
def truer(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is true and `b` is not: bytes of bools, of which all but 0 are true."""
    return a != 0 and b == 0


@prism.device
@requires(thread[1])
@template(T=dtype)
def less_true(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `b` is true and `a` is not."""
    return a == 0 and b != 0


@prism.device
@requires(thread[1])
@template(T=dtype)
def larger_or_nan(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is larger than `b`, where NaN is the largest; of complex numbers by real parts, then by imaginary ones."""
    if T == complex64 or T == complex128:
        mine: bool = is_nan(a.real) or is_nan(a.imag)
        theirs: bool = is_nan(b.real) or is_nan(b.imag)
        return not theirs and (mine or a.real > b.real or (a.real == b.real and a.imag > b.imag))
    else:
        return not (a <= b or is_nan(b))  # two comparisons, no branch


@prism.device
@requires(thread[1])
@template(T=dtype)
def smaller_or_nan(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is smaller than `b`, where NaN is the smallest; of complex numbers as `larger_or_nan`."""
    if T == complex64 or T == complex128:
        mine: bool = is_nan(a.real) or is_nan(a.imag)
        theirs: bool = is_nan(b.real) or is_nan(b.imag)
        return not theirs and (mine or a.real < b.real or (a.real == b.real and a.imag < b.imag))
    else:
        return not (a >= b or is_nan(b))


@prism.device
@requires(thread[32])
@template(T=dtype, BEATS=function, ITEMS=constexpr(int))
def compare_lanes(best: T[ITEMS] @ thread[1], at: int64[ITEMS] @ thread[1], lanes: int32 @ grid[1], apart: int32 @ grid[1]):
    """Leave in the first lane of each unit the best values of its `1 << lanes` lanes, which are `1 << apart` apart."""
    for j in range(5):
        if j < lanes:
            for e in range(ITEMS):
                value: T @ thread[1] = shuffle_down(best[e], 1 << j + apart)
                where: int64 @ thread[1] = shuffle_down(at[e], 1 << j + apart)
                won: bool @ thread[1] = takes(best[e], at[e], value, where, BEATS=BEATS)
                best[e] = value if won else best[e]
                at[e] = where if won else at[e]


@prism.kernel
@template(
    TI=dtype, T=dtype, U=dtype, BEATS=function, THREADS=constexpr(int), BLOCKS=constexpr(int), UNITS=constexpr(int),
    ROWS=constexpr(int), WIDTH=constexpr(int), ALONG=constexpr(bool),
)
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def find(
    x: ptr(const(TI)) @ grid[1], given: ptr(const(int64)) @ grid[1], bests: ptr(T) @ grid[1], y: ptr(int64) @ grid[1],
    units: U @ grid[1], across: U @ grid[1], n: int64 @ grid[1], splits: U @ grid[1], chunk: int64 @ grid[1],
    skew: int32 @ grid[1], lanes: int32 @ grid[1], apart: int32 @ grid[1], wide: bool @ grid[1], outer_stride: int64 @ grid[1],
    n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1], split_step: int64 @ grid[1],
    inner_step: int64 @ grid[1], weakest: T @ grid[1], partial: bool @ grid[1], indexed: bool @ grid[1],
):
    """`y[...]` is the first `k` for which no other element `x[o, j, i]` beats `x[o, k, i]`, for each `o` and `i`.

    Perspective: grid, of as many blocks of up to `THREADS` threads, whole warps, as `units` take.
    Shapes:      as of `reduce_axis`, every split with an element at least. `partial`: the elements found go to `bests`, at the
                 same places as in `y`. `indexed`: positions are those in `given`, which lies as `x` does. What of the two is not
                 asked for is not touched.
    Numerics:    `BEATS` is a strict order; `weakest` beats nothing.
    Errors:      `WIDTH` elements are at most 16 bytes; in rows of `UNITS`, and in columns, all of them are aligned, and `n`, or
                 `inner`, is a multiple of `WIDTH`. `UNITS > 1` takes one split, is not `wide`, and a lane has at most `ROWS`
                 vectors of each unit.
    Test:        tests/kernels/test_reduce_axis.py, tests/gpu/test_reduce.py
    """
    EACH: constexpr(int) = 1 if ALONG else WIDTH
    assume(0 <= lanes and lanes <= 5 and 0 <= apart and apart <= 5)
    assume(apart == 0 or apart == 5 - lanes)
    assume(units >= 1 and across >= 1 and splits >= 1)
    assume(
        strides_nest(
            (units - 1) // across // splits + 1, outer_step, splits, split_step, int64(across) * EACH, inner_step,
        )
    )
    groups: int32 @ grid[1] = 32 >> lanes
    several: int32 @ grid[1] = 1 << lanes
    team: U @ thread[32] = id()
    teams: U @ grid[1] = count(warp[1])
    band: U @ block[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as out:  # each result is one thread's
        with partition(bests, thread[1], offset=lambda i: i, races="none") as values_out:
            with group(block[1]):
                lane: int32 @ thread[1] = id() % 32
                along: int32 @ thread[1] = lane >> apart & several - 1
                beside: int32 @ thread[1] = lane >> lanes if apart == 0 else lane & groups - 1
                w: int32 @ thread[32] = id()
                warps: int32 @ block[1] = count(warp[1])
                base: int64[UNITS] @ thread[1]
                first: int64 @ thread[1] = 0
                length: int64 @ thread[1] = n
                for q in range(UNITS):
                    found: U @ thread[1] = (band if wide else q * teams + team) * groups + beside
                    found = min(found, units - 1)  # as in `reduce_axis`
                    rest: U @ thread[1] = found if across == 1 else found // across
                    o: U @ thread[1] = rest if splits == 1 else rest // splits
                    first = int64(rest - o * splits) * chunk
                    length = min(n - first, chunk)
                    base[q] = o * outer_stride + int64(found - rest * across) * EACH * inner_stride + first * n_stride
                step: int64 @ block[1] = warps * several if wide else several
                part: int64 @ thread[1] = w * several + along if wide else along
                best: T[UNITS * EACH] @ thread[1]
                at: int64[UNITS * EACH] @ thread[1]
                with group(thread[1]):

                    @requires(thread[1])
                    def value_at(i: int64 @ thread[1]) -> T @ thread[1]:
                        return T(x[base[0] + i])

                    look_at_units(
                        x, base, best, at, part, step, first, length, n_stride, skew, weakest, BEATS=BEATS, VALUE=value_at,
                        ROWS=ROWS, WIDTH=WIDTH, ALONG=ALONG,
                    )
                with group(warp[1]):
                    compare_lanes(best, at, lanes, apart, BEATS=BEATS)
                if UNITS == 1 and wide:

                    @requires(thread[1])
                    def store(j: int32 @ thread[1], value: T @ thread[1], found: int64 @ thread[1]):
                        where: int64 = found
                        one: U = band * groups + j // EACH
                        e: int32 = j % EACH
                        if one < units:
                            target: int64 = spot(one, e, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                            if partial:
                                values_out[target] = value
                            if indexed:
                                start: int64 = spot(one, e, across, splits, outer_stride, 0, inner_stride, EACH=EACH)
                                where = given[start + where * n_stride]
                            out[target] = where

                    compare_warps(
                        best, at, along, w, beside, groups, warps, BEATS=BEATS, EACH=EACH, THREADS=THREADS, STORE=store,
                    )
                else:
                    with group(thread[1]):
                        for q in range(UNITS):
                            one: U = (q * teams + team) * groups + beside
                            if along == 0 and one < units:
                                target: int64 = spot(one, 0, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                                start: int64 = spot(one, 0, across, splits, outer_stride, 0, inner_stride, EACH=EACH)
                                for e in range(EACH):
                                    if partial:
                                        values_out[target + e * inner_step] = best[q * EACH + e]
                                    where: int64 = at[q * EACH + e]
                                    if indexed:
                                        where = given[start + e * inner_stride + where * n_stride]
                                    out[target + e * inner_step] = where


@prism.device
@requires(thread[1])
@template(
    TI=dtype, T=dtype, BEATS=function, VALUE=function, UNITS=constexpr(int), MANY=constexpr(int), ROWS=constexpr(int),
    WIDTH=constexpr(int), ALONG=constexpr(bool),
)
def look_at_units(
    x: ptr(const(TI)) @ grid[1], base: int64[UNITS] @ thread[1], best: T[MANY] @ thread[1], at: int64[MANY] @ thread[1],
    part: int64 @ thread[1], step: int64 @ block[1], first: int64 @ thread[1], length: int64 @ thread[1],
    n_stride: int64 @ grid[1], skew: int32 @ grid[1], weakest: T @ grid[1],
):
    """Find the `best` of a thread's part of its units, and where they stand: from number `part` of vectors on, every `step`-th.

    Shapes:      as of `find`; a unit begins at its `base` and is `length` long, from number `first` on of those of its row.
                 `VALUE(i)`: the first unit's element i.
    Test:        tests/kernels/test_reduce_axis.py
    """
    PACE: constexpr(int) = WIDTH if ALONG else 1
    LOOSE: constexpr(bool) = ALONG and WIDTH > 1 and UNITS == 1
    before: int64 = min((skew - base[0]) & (WIDTH - 1), length) if LOOSE and skew >= 0 else 0
    inside: int64 = (length - before) & -WIDTH if LOOSE else length
    end: int64 = inside // PACE
    values: T[MANY]
    laps: int32[MANY]
    for i in range(MANY):
        values[i] = weakest
        laps[i] = 0  # also right where nothing beats the weakest: then all elements are like it
    lap: int32 = 0
    k: int64 = part
    if UNITS == 1:
        while k + (ROWS - 1) * step < end:
            look(
                x, base, before, k, step, end, n_stride, lap, weakest, values, laps, BEATS=BEATS, ROWS=ROWS,
                WIDTH=WIDTH, ALONG=ALONG, WHOLE=True,
            )
            k = k + ROWS * step
            lap = lap + ROWS
    if k < end:
        look(
            x, base, before, k, step, end, n_stride, lap, weakest, values, laps, BEATS=BEATS, ROWS=ROWS,
            WIDTH=WIDTH, ALONG=ALONG, WHOLE=False,
        )
    for e in range(MANY):
        there: bool = part < end
        number: int64 = part + laps[e] // PACE * step
        best[e] = values[e]
        at[e] = first + before + number * PACE + laps[e] % PACE if there else NOWHERE
    if LOOSE:
        for i in range(part, length - inside, step, unroll=False):
            other: int64 = i if i < before else inside + i  # before the vectors, and behind them
            one: T = VALUE(other)
            won: bool = takes(best[0], at[0], one, first + other, BEATS=BEATS)
            best[0] = one if won else best[0]
            at[0] = first + other if won else at[0]


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, BEATS=function, MANY=constexpr(int), EACH=constexpr(int), THREADS=constexpr(int), STORE=function)
def compare_warps(
    best: T[MANY] @ thread[1], at: int64[MANY] @ thread[1], along: int32 @ thread[1], w: int32 @ thread[32],
    beside: int32 @ thread[1], groups: int32 @ block[1], warps: int32 @ block[1],
):
    """Compare what the warps of a block have of the same units: `STORE(j, value, position)` of result number j of the block's.

    Perspective: block; lanes with `along` 0 have what was found, of the unit `beside`.
    Shapes:      `EACH` results a unit, of `groups` units.
    Test:        tests/kernels/test_reduce_axis.py
    """
    partials: shared(T[THREADS * EACH]) @ block[1]
    partial_positions: shared(int64[THREADS * EACH]) @ block[1]
    slots: int32 @ thread[1] = (w * groups + beside) * EACH
    with partition(partials, thread[1], offset=slots) as slot:
        with partition(partial_positions, thread[1], offset=slots) as slot_at, group(thread[1]):
            if along == 0:
                for e in range(EACH):
                    slot[e] = best[e]
                    slot_at[e] = at[e]
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for j in range(t, groups * EACH, 32 * warps, unroll=False):
            value: T = partials[j]
            where: int64 = partial_positions[j]
            for v in range(1, warps, unroll=False):
                other: T = partials[v * (groups * EACH) + j]
                there: int64 = partial_positions[v * (groups * EACH) + j]
                won: bool = takes(value, where, other, there, BEATS=BEATS)
                value = other if won else value
                where = there if won else where
            STORE(j, value, where)


@prism.device
@requires(thread[1])
@template(T=dtype, BEATS=function)
def takes(
    a: T @ thread[1], a_at: int64 @ thread[1], b: T @ thread[1], b_at: int64 @ thread[1]
) -> bool @ thread[1]:
    """Whether `b` takes the place of `a`: it beats `a`, or stands before it and is not beaten."""
    wins: bool = BEATS(b, a)
    loses: bool = BEATS(a, b)  # both at once: no branches
    return wins or (b_at < a_at and not loses)


@prism.device
@requires(thread[1])
@template(T=dtype, BEATS=function)
def better(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The one of `a` and `b` that beats the other, or either; NaN if one is NaN."""
    if T == complex64 or T == complex128:
        return a if BEATS(a, b) else b
    else:
        return max(a, b) if BEATS == larger or BEATS == larger_or_nan or BEATS == truer else min(a, b)


@prism.device
@requires(thread[1])
@template(
    TI=dtype, T=dtype, BEATS=function, UNITS=constexpr(int), PLACES=constexpr(int), ROWS=constexpr(int), WIDTH=constexpr(int),
    ALONG=constexpr(bool), WHOLE=constexpr(bool),
)
def look(
    x: ptr(const(TI)) @ grid[1], base: int64[UNITS] @ thread[1], before: int64 @ thread[1], k: int64 @ thread[1],
    step: int64 @ thread[1], end: int64 @ thread[1], n_stride: int64 @ thread[1], lap: int32 @ thread[1],
    weakest: T @ thread[1], values: T[PLACES] @ thread[1], laps: int32[PLACES] @ thread[1],
):
    """Compare the best values so far with `ROWS` vectors, from number `k` along `n` on; from `end` on there are none.

    Perspective: thread.
    Shapes:      `PLACES`: one for each of `UNITS`, whose vectors begin at `base + before`; not `ALONG`, one for each of their
                 `WIDTH` elements. `lap`: how many vectors the thread has seen of each unit; `laps`: how many elements of its
                 place it had seen before the best. `WHOLE`: all vectors are there; otherwise the first is.
    Cost:        `UNITS * ROWS` loads under way at once, of `WIDTH` elements. `ALONG`, an element takes one instruction where
                 none is better, which it seldom is: of n elements in random order about log(n) are.
    """
    rows: TI[UNITS, ROWS, WIDTH]
    for q in range(UNITS):
        for j in range(ROWS):
            number: int64 = k + j * step
            row: TI[WIDTH]
            for i in range(WIDTH):
                if TI == complex64 or TI == complex128:
                    row[i] = TI()
                else:
                    row[i] = TI(0)
            if WHOLE or number < end:
                thread.load_once(x, base[q] + before + number * (WIDTH if ALONG else n_stride), row, VECTORIZED=WIDTH > 1)
            for i in range(WIDTH):
                rows[q, j, i] = row[i]
    if ALONG:
        PARTS: constexpr(int) = min(WIDTH, 4)  # which don't wait for each other
        for q in range(UNITS):
            parts: T[PARTS]
            for j in range(ROWS):
                for i in range(WIDTH):
                    item: T = T(rows[q, j, i]) if WHOLE or k + j * step < end else weakest
                    parts[i % PARTS] = better(parts[i % PARTS], item, BEATS=BEATS) if j > 0 or i >= PARTS else item
            extreme: T = parts[0]
            for i in range(1, PARTS):
                extreme = better(extreme, parts[i], BEATS=BEATS)
            if BEATS(extreme, values[q]):
                values[q] = extreme
                for back in range(ROWS * WIDTH):  # the first of equal ones comes last
                    e: int32 = ROWS * WIDTH - 1 - back
                    item: T = T(rows[q, e // WIDTH, e % WIDTH])
                    found: bool = (WHOLE or k + e // WIDTH * step < end) and not BEATS(extreme, item)
                    laps[q] = lap * WIDTH + e if found else laps[q]
    else:
        for j in range(ROWS):
            if WHOLE or k + j * step < end:
                for q in range(UNITS):
                    for i in range(WIDTH):
                        item: T = T(rows[q, j, i])
                        won: bool = BEATS(item, values[q * WIDTH + i])
                        values[q * WIDTH + i] = item if won else values[q * WIDTH + i]
                        laps[q * WIDTH + i] = lap + j if won else laps[q * WIDTH + i]


EXAMPLES = {
    "find": {
        "TI": "float32", "T": "float32", "U": "int32", "BEATS": larger_or_nan, "THREADS": 128, "BLOCKS": 5, "UNITS": 1, "ROWS": 4,
        "WIDTH": 4, "ALONG": True,
    },
}
