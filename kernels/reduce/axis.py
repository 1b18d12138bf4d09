"""Reductions along one axis of an array seen as `(outer, n, inner)`, whatever its strides.

A unit is what is reduced to one result, or, in columns, to `WIDTH` neighbouring ones. Where neighbours in memory lie along `n`
(`ALONG`: rows), vectors of them are combined to one value; where they lie along `inner` (columns), each place in the vector has
a sum of its own. Of a warp's lanes, `1 << lanes` work along `n` for one unit, `1 << apart` lanes from one to the next, so that a
warp takes the other lanes' neighbouring units and reads memory side by side in both cases. If `wide`, all warps of a block work
along `n` for these units, else each warp has its own. An axis that is long, of too few units, is cut into `splits`: then the
results are partial, and a second launch combines them.

What depends on the shape is an argument, not part of the template, so that few kernels do for all shapes.
"""

from prism.lang import (
    assume, attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shared, shuffle_down, strides_nest, template, thread, warp,
)
from prism.kernels.reduce import maps
from prism.lib.thread import operators


@prism.device
@requires(thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int))
def combine_lanes(sums: T[ITEMS] @ thread[1], lanes: int32 @ grid[1], apart: int32 @ grid[1]):
    """Leave in the first lane of each unit the sums of its `1 << lanes` lanes, which are `1 << apart` apart."""
    for j in range(5):
        if j < lanes:
            for q in range(ITEMS):
                above: T @ thread[1] = shuffle_down(sums[q], 1 << j + apart)
                sums[q] = OP(sums[q], above)


@prism.kernel
@template(
    TI=dtype, P=dtype, T=dtype, TO=dtype, U=dtype, OP=function, MAP=function, THREADS=constexpr(int), BLOCKS=constexpr(int),
    UNITS=constexpr(int), ROWS=constexpr(int), WIDTH=constexpr(int), ALONG=constexpr(bool), ORDERED=constexpr(bool),
)
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def reduce_axis(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], units: U @ grid[1], across: U @ grid[1], n: int64 @ grid[1],
    splits: U @ grid[1], chunk: int64 @ grid[1], skew: int32 @ grid[1], lanes: int32 @ grid[1], apart: int32 @ grid[1],
    wide: bool @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1],
    outer_step: int64 @ grid[1], split_step: int64 @ grid[1], inner_step: int64 @ grid[1], identity: T @ grid[1],
    initial: T @ grid[1],
):
    """`y[...] = OP(initial, MAP(x[o, 0, i]), ..., MAP(x[o, n - 1, i]))` for each `o` and `i`, in the type `T`.

    Where elements are much smaller than `T`, what a thread has loaded at once is combined in the type `P`; else it is `T`.

    Perspective: grid, of as many blocks of up to `THREADS` threads, whole warps, as `units` take.
    Shapes:      element `[o, k, i]` of `x` is `o * outer_stride + k * n_stride + i * inner_stride` elements from `x[0]`; the
                 result of `[o, i]` goes to `o * outer_step + i * inner_step`, that of split `s`, which is of `chunk` elements
                 of `n`, `s * split_step` further. `across`: units along `inner`, each of `WIDTH` (in rows: of 1); `units`:
                 of all outer ones and splits. `U`: a type that counts them. `lanes`, `apart`: logarithms; `apart` is 0, or
                 such that the lanes of a unit are as far apart as they can be. `x[skew]` is aligned to a vector;
                 if it is negative, all of every row is.
    Numerics:    reassociates `OP`, in a way fixed by the template, the launch's shape, `n`, `chunk`, and in rows how each of
                 them is aligned. `ORDERED`: keeps the order of elements; otherwise `OP` must be commutative. `identity` is
                 `OP`'s.
    Errors:      `WIDTH` elements are at most 16 bytes, and aligned: in rows of `UNITS` or that are `ORDERED`, and in columns, all
                 of them, and `n`, or `inner`, is a multiple of `WIDTH`. `UNITS > 1` takes one split, and is not `wide`.
    Test:        tests/kernels/test_reduce_axis.py, tests/gpu/test_reduce.py
    """
    EACH: constexpr(int) = 1 if ALONG else WIDTH  # results a unit
    LOOSE: constexpr(bool) = ALONG and WIDTH > 1 and UNITS == 1 and not ORDERED  # elements may stand before and behind vectors
    assume(0 <= lanes and lanes <= 5 and 0 <= apart and apart <= 5)
    assume(apart == 0 or apart == 5 - lanes)
    assume(units >= 1 and across >= 1 and splits >= 1)
    assume(
        strides_nest(
            (units - 1) // across // (1 if UNITS > 1 else splits) + 1, outer_step, splits, split_step,
            int64(across) * EACH, inner_step,
        )
    )
    groups: int32 @ grid[1] = 32 >> lanes  # units a warp
    several: int32 @ grid[1] = 1 << lanes
    team: U @ thread[32] = id()
    teams: U @ grid[1] = count(warp[1])
    band: U @ block[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as out:  # each result is one thread's
        with group(block[1]):
            lane: int32 @ thread[1] = id() % 32
            along: int32 @ thread[1] = lane >> apart & several - 1
            beside: int32 @ thread[1] = lane >> lanes if apart == 0 else lane & groups - 1
            w: int32 @ thread[32] = id()
            base: int64[UNITS] @ thread[1]
            sums: T[UNITS * EACH] @ thread[1]
            length: int64 @ thread[1] = n
            for q in range(UNITS):
                found: U @ thread[1] = (band if UNITS == 1 and wide else q * teams + team) * groups + beside
                found = min(found, units - 1)  # what there are too many of reads what another one reads, and writes nothing
                rest: U @ thread[1] = found if across == 1 else found // across
                o: U @ thread[1] = rest if UNITS > 1 or splits == 1 else rest // splits
                first: int64 @ thread[1] = 0
                if UNITS == 1:
                    first = int64(rest - o * splits) * chunk
                    length = min(n - first, chunk)
                base[q] = o * outer_stride + int64(found - rest * across) * EACH * inner_stride + first * n_stride
            warps: int32 @ block[1] = count(warp[1])
            part: int64 @ thread[1] = w * several + along if UNITS == 1 and wide else along
            parts: int64 @ block[1] = warps * several if UNITS == 1 and wide else several
            with group(thread[1]):

                @requires(thread[1])
                def value_at(i: int64 @ thread[1]) -> T @ thread[1]:
                    return MAP(x[base[0] + i], T=T)

                add_units(
                    x, base, sums, part, parts, length, n_stride, skew, identity, P=P, OP=OP, MAP=MAP, VALUE=value_at, ROWS=ROWS,
                    WIDTH=WIDTH, ALONG=ALONG, LOOSE=LOOSE, ORDERED=ORDERED,
                )
            with group(warp[1]):
                combine_lanes(sums, lanes, apart, OP=OP)
            if UNITS == 1 and wide:

                @requires(thread[1])
                def store(j: int32 @ thread[1], total: T @ thread[1]):
                    one: U = band * groups + j // EACH
                    if one < units:
                        where: int64 = place(one, j % EACH, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                        out[where] = TO(OP(initial, total))

                combine_warps(sums, along, w, beside, groups, warps, OP=OP, EACH=EACH, THREADS=THREADS, STORE=store)
            else:
                with group(thread[1]):
                    for q in range(UNITS):
                        one: U = (q * teams + team) * groups + beside
                        if along == 0 and one < units:
                            where: int64 = place(
                                one, 0, across, 1 if UNITS > 1 else splits, outer_step, split_step, inner_step, EACH=EACH,
                            )
                            for e in range(EACH):
                                out[where + e * inner_step] = TO(OP(initial, sums[q * EACH + e]))


@prism.device
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, MAP=function, VALUE=function, UNITS=constexpr(int), SUMS=constexpr(int),
    ROWS=constexpr(int), WIDTH=constexpr(int), ALONG=constexpr(bool), LOOSE=constexpr(bool), ORDERED=constexpr(bool),
)
def add_units(
    x: ptr(const(TI)) @ grid[1], base: int64[UNITS] @ thread[1], sums: T[SUMS] @ thread[1], part: int64 @ thread[1],
    parts: int64 @ thread[1], length: int64 @ thread[1], n_stride: int64 @ grid[1], skew: int32 @ grid[1],
    identity: T @ grid[1],
):
    """Make the `sums` of a thread's units: of part `part` of `parts` of each, which begins at its `base` and is `length` long.

    Shapes:      as of `reduce_axis`. `VALUE(i)`: what `MAP` makes of the first unit's element `i`. `LOOSE`: elements may stand
                 before and behind vectors.
    Test:        tests/kernels/test_reduce_axis.py
    """
    PACE: constexpr(int) = WIDTH if ALONG else 1  # elements along n a load
    left: int64 = length
    for q in range(SUMS):
        sums[q] = identity
    if LOOSE and skew >= 0:
        before: int64 = min((skew - base[0]) & (WIDTH - 1), left)
        behind: int64 = (left - before) & (WIDTH - 1)
        for i in range(part, before, parts, unroll=False):
            sums[0] = OP(sums[0], VALUE(i))
        for i in range(part, behind, parts, unroll=False):
            sums[0] = OP(sums[0], VALUE((left - behind) + i))
        base[0] = base[0] + before
        left = left - before
    k: int64 = part
    end: int64 = left // PACE
    step: int64 = parts
    if ORDERED:
        share: int64 = (end + parts - 1) // parts
        k = min(part * share, end)
        end = min(k + share, end)
        step = 1
    for at in range(k, end - (ROWS - 1) * step, ROWS * step, unroll=False):
        add_vectors(
            x, base, at, step, end, n_stride, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS,
            WIDTH=WIDTH, ALONG=ALONG, WHOLE=True,
        )
        k = at + ROWS * step
    if WIDTH > 8 and not ALONG:  # there are no registers for more
        for at in range(k, end, step, unroll=False):
            add_vectors(
                x, base, at, step, end, n_stride, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=1, WIDTH=WIDTH,
                ALONG=ALONG, WHOLE=True,
            )
    elif ROWS > 1:
        if k < end:
            add_vectors(
                x, base, k, step, end, n_stride, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS,
                WIDTH=WIDTH, ALONG=ALONG, WHOLE=False,
            )


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, SUMS=constexpr(int), EACH=constexpr(int), THREADS=constexpr(int), STORE=function)
def combine_warps(
    sums: T[SUMS] @ thread[1], along: int32 @ thread[1], w: int32 @ thread[32], beside: int32 @ thread[1],
    groups: int32 @ block[1], warps: int32 @ block[1],
):
    """Combine what the warps of a block have of the same units: `STORE(j, total)` of result number j of the block's.

    Perspective: block; lanes with `along` 0 have sums, of the unit `beside`.
    Shapes:      `EACH` results a unit, of `groups` units.
    Test:        tests/kernels/test_reduce_axis.py
    """
    partials: shared(T[THREADS * EACH]) @ block[1]
    with partition(partials, thread[1], offset=(w * groups + beside) * EACH) as slot, group(thread[1]):
        if along == 0:
            for q in range(EACH):
                slot[q] = sums[q]
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for j in range(t, groups * EACH, 32 * warps, unroll=False):
            total: T = partials[j]
            for v in range(1, THREADS // 32):  # unrolled: one after the other, reads take most of a short launch
                if v < warps:
                    total = OP(total, partials[v * (groups * EACH) + j])
            STORE(j, total)


@prism.device
@requires(thread[1])
@template(U=dtype, EACH=constexpr(int))
def place(
    unit: U @ thread[1], e: int32 @ thread[1], across: U @ thread[1], splits: U @ thread[1], outer_step: int64 @ thread[1],
    split_step: int64 @ thread[1], inner_step: int64 @ thread[1],
) -> int64 @ thread[1]:
    """Where result `e` of a unit goes."""
    rest: U = unit if across == 1 else unit // across
    o: U = rest if splits == 1 else rest // splits
    return o * outer_step + (rest - o * splits) * split_step + (int64(unit - rest * across) * EACH + e) * inner_step


@prism.device
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, MAP=function, UNITS=constexpr(int), SUMS=constexpr(int), ROWS=constexpr(int),
    WIDTH=constexpr(int), ALONG=constexpr(bool), WHOLE=constexpr(bool),
)
def add_vectors(
    x: ptr(const(TI)) @ grid[1], base: int64[UNITS] @ thread[1], k: int64 @ thread[1], step: int64 @ thread[1],
    end: int64 @ thread[1], n_stride: int64 @ thread[1], identity: T @ thread[1], sums: T[SUMS] @ thread[1],
):
    """Combine each unit's sums with `ROWS` vectors, from number `k` along `n` on; those from `end` on count for nothing.

    Perspective: thread.
    Shapes:      `WHOLE`: all of them are there; otherwise the first is.
    Cost:        `UNITS * ROWS` loads under way at once, of `WIDTH` elements.
    """
    rows: TI[UNITS, ROWS, WIDTH]
    for q in range(UNITS):
        for j in range(ROWS):
            number: int64 = k + j * step
            row: TI[WIDTH]
            for i in range(WIDTH):
                row[i] = TI()  # what is not there is 0, so that loads need no branches
            if WHOLE or number < end:
                thread.load_once(x, base[q] + number * (WIDTH if ALONG else n_stride), row, VECTORIZED=WIDTH > 1)
            for i in range(WIDTH):
                rows[q, j, i] = row[i]
    if WHOLE and not ALONG:
        for q in range(UNITS):
            for i in range(WIDTH):
                total: P = MAP(rows[q, 0, i], T=P)
                for j in range(1, ROWS):
                    total = OP(total, MAP(rows[q, j, i], T=P))
                sums[q * WIDTH + i] = OP(sums[q * WIDTH + i], T(total))
    else:
        # Loads would be moved into branches, and wait for each other: no matter where it is but the end of a long row.
        BRANCH: constexpr(bool) = ALONG and UNITS == 1 and not WHOLE
        totals: P[SUMS]
        for j in range(ROWS):
            there: bool = WHOLE or j == 0 or k + j * step < end
            if there or not BRANCH:
                for q in range(UNITS):
                    if ALONG:
                        item: P = MAP(rows[q, j, 0], T=P)
                        for i in range(1, WIDTH):
                            item = OP(item, MAP(rows[q, j, i], T=P))
                        totals[q] = item if j == 0 else OP(totals[q], item if there else P(identity))
                    else:
                        for i in range(WIDTH):
                            item: P = MAP(rows[q, j, i], T=P)
                            totals[q * WIDTH + i] = item if j == 0 else OP(totals[q * WIDTH + i], item if there else P(identity))
        for q in range(SUMS):
            sums[q] = OP(sums[q], T(totals[q]))


EXAMPLES = {
    "reduce_axis": {
        "TI": "float32", "P": "float32", "T": "float32", "TO": "float32", "U": "int32", "OP": operators.add, "MAP": maps.same,
        "THREADS": 128, "BLOCKS": 5, "UNITS": 1, "ROWS": 8, "WIDTH": 4, "ALONG": True, "ORDERED": False,
    },
}
