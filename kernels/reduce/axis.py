"""Reductions along one axis of an array seen as `(outer, n, inner)`, whatever its strides.

A unit is what is reduced to one result, or, in columns, to `WIDTH` neighbouring ones. Where neighbours in memory lie along `n`
(`ALONG`: rows), vectors of them are combined to one value; where they lie along `inner` (columns), each place in the vector has
a sum of its own. Of a warp's lanes, `LANES` work along `n` for one unit, so that a warp takes `32 / LANES` neighbouring units
and reads memory side by side in both cases. With `WIDE`, all warps of a block work along `n` for these units, else each warp
has its own. An axis that is long, of too few units, is cut into `splits`: then the results are partial, and a second launch
combines them.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, shuffle_down, template, thread, warp,
)
from prism.kernels.reduce import maps
from prism.kernels.reduce.single_pass import fetch
from prism.lib.thread import operators


@prism("global")
@template(
    TI=dtype, P=dtype, T=dtype, TO=dtype, U=dtype, OP=function, MAP=function, THREADS=constexpr(int), BLOCKS=constexpr(int),
    LANES=constexpr(int), UNITS=constexpr(int), ROWS=constexpr(int), WIDTH=constexpr(int), ALONG=constexpr(bool),
    WIDE=constexpr(bool), VECTORIZED=constexpr(bool), ORDERED=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def reduce_axis(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], units: U @ grid[1], across: U @ grid[1], n: int64 @ grid[1],
    splits: U @ grid[1], chunk: int64 @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1],
    inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1], split_step: int64 @ grid[1], inner_step: int64 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1],
):
    """`y[...] = OP(initial, MAP(x[o, 0, i]), ..., MAP(x[o, n - 1, i]))` for each `o` and `i`, in the type `T`.

    Where elements are much smaller than `T`, what a thread has loaded at once is combined in the type `P`; else it is `T`.

    Perspective: grid, of as many blocks of `THREADS` threads as `units` take.
    Shapes:      element `[o, k, i]` of `x` is `o * outer_stride + k * n_stride + i * inner_stride` elements from `x[0]`; the
                 result of `[o, i]` goes to `o * outer_step + i * inner_step`, that of split `s`, which is of `chunk` elements
                 of `n`, `s * split_step` further. `across`: units along `inner`, each of `WIDTH` (in rows: of 1); `units`:
                 of all outer ones and splits. `U`: a type that counts them. `n` and `chunk` are multiples of `WIDTH` in rows.
    Numerics:    reassociates `OP`, in a way fixed by the template and by `n` and `chunk`. `ORDERED`: keeps the order of
                 elements; otherwise `OP` must be commutative. `identity` is `OP`'s.
    Errors:      with `VECTORIZED`, all vectors must be aligned, and of at most 16 bytes. `UNITS > 1` takes one split.
    Test:        tests/kernels/test_reduce_axis.py, tests/gpu/test_reduce.py
    """
    GROUPS: constexpr(int) = 32 // LANES  # units a warp
    APART: constexpr(int) = 1 if ALONG else GROUPS  # lanes from one that works for a unit to the next
    EACH: constexpr(int) = 1 if ALONG else WIDTH  # results a unit
    PACE: constexpr(int) = WIDTH if ALONG else 1  # elements along n a load
    WARPS: constexpr(int) = THREADS // 32
    lane: int32 @ thread[1] = id() % 32
    along: int32 @ thread[1] = lane % LANES if ALONG else lane // GROUPS
    beside: int32 @ thread[1] = lane // LANES if ALONG else lane % GROUPS
    team: U @ thread[32] = id()
    teams: U @ grid[1] = count(warp[1])
    band: U @ block[1] = id()
    with partition(y, block[1], offset=lambda i: i, races="allow") as target:  # each result is one thread's
        with group(block[1]):
            w: int32 @ thread[32] = id()
            base: int64[UNITS] @ thread[1]
            sums: T[UNITS * EACH] @ thread[1]
            first: int64 @ thread[1] = 0
            last: int64 @ thread[1] = n
            for q in range(UNITS):
                found: U @ thread[1] = (band if WIDE else q * teams + team) * GROUPS + beside
                found = min(found, units - 1)  # what there are too many of reads what another one reads, and writes nothing
                rest: U @ thread[1] = found if across == 1 else found / across
                o: U @ thread[1] = rest if splits == 1 else rest / splits
                first = int64(rest - o * splits) * chunk
                last = min(first + chunk, n)
                base[q] = o * outer_stride + int64(found - rest * across) * EACH * inner_stride
            part: int64 @ thread[1] = w * LANES + along if WIDE else along
            parts: int64 @ block[1] = WARPS * LANES if WIDE else LANES
            with group(thread[1]):
                k: int64 = first / PACE
                end: int64 = last / PACE
                step: int64 = parts
                if ORDERED:
                    length: int64 = (end - k + parts - 1) / parts
                    k = min(k + part * length, end)
                    end = min(k + length, end)
                    step = 1
                else:
                    k = k + part
                for q in range(UNITS * EACH):
                    sums[q] = identity
                for at in range(k, end - (ROWS - 1) * step, ROWS * step, unroll=False):
                    gather(
                        x, base, at, step, end, n_stride, inner_stride, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS,
                        WIDTH=WIDTH, ALONG=ALONG, VECTORIZED=VECTORIZED, WHOLE=True,
                    )
                    k = at + ROWS * step
                if ROWS > 1:
                    if k < end:
                        gather(
                            x, base, k, step, end, n_stride, inner_stride, identity, sums, P=P, OP=OP, MAP=MAP, ROWS=ROWS,
                            WIDTH=WIDTH, ALONG=ALONG, VECTORIZED=VECTORIZED, WHOLE=False,
                        )
            with group(warp[1]):
                for q in range(UNITS * EACH):
                    reach: int32 @ thread[32] = APART
                    while reach < APART * LANES:
                        above: T @ thread[1] = shuffle_down(sums[q], reach)
                        sums[q] = OP(sums[q], above)  # right in the first lane of each unit
                        reach = 2 * reach
            if WIDE:
                desk: shared(T[WARPS * GROUPS * EACH]) @ block[1]
                with partition(desk, thread[32], offset=w * (GROUPS * EACH)) as row, group(thread[32]):
                    with partition(row, thread[1], offset=beside * EACH, races="allow") as slot, group(thread[1]):
                        if along == 0:
                            for q in range(EACH):
                                slot[q] = sums[q]
                t: int32 @ thread[1] = id()
                with partition(target, thread[1], offset=lambda i: i, races="allow") as out:
                    with group(thread[1]):
                        for j in range(t, GROUPS * EACH, THREADS):
                            total: T = desk[j]
                            for v in range(1, WARPS):
                                total = OP(total, desk[v * (GROUPS * EACH) + j])
                            one: U = band * GROUPS + j / EACH
                            if one < units:
                                where: int64 = place(one, j % EACH, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                                out[where] = TO(OP(initial, total))
            else:
                with partition(target, thread[1], offset=lambda i: i, races="allow") as out:
                    with group(thread[1]):
                        for q in range(UNITS):
                            one: U = (q * teams + team) * GROUPS + beside
                            if along == 0 and one < units:
                                where: int64 = place(one, 0, across, splits, outer_step, split_step, inner_step, EACH=EACH)
                                for e in range(EACH):
                                    out[where + e * inner_step] = TO(OP(initial, sums[q * EACH + e]))


@prism("device")
@requires(thread[1])
@template(U=dtype, EACH=constexpr(int))
def place(
    unit: U @ thread[1], e: int32 @ thread[1], across: U @ thread[1], splits: U @ thread[1], outer_step: int64 @ thread[1],
    split_step: int64 @ thread[1], inner_step: int64 @ thread[1],
) -> int64 @ thread[1]:
    """Where result `e` of a unit goes."""
    rest: U = unit if across == 1 else unit / across
    o: U = rest if splits == 1 else rest / splits
    return o * outer_step + (rest - o * splits) * split_step + (int64(unit - rest * across) * EACH + e) * inner_step


@prism("device")
@requires(thread[1])
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, MAP=function, UNITS=constexpr(int), SUMS=constexpr(int), ROWS=constexpr(int),
    WIDTH=constexpr(int), ALONG=constexpr(bool), VECTORIZED=constexpr(bool), WHOLE=constexpr(bool),
)
def gather(
    x: ptr(const(TI)) @ grid[1], base: int64[UNITS] @ thread[1], k: int64 @ thread[1], step: int64 @ thread[1],
    end: int64 @ thread[1], n_stride: int64 @ thread[1], inner_stride: int64 @ thread[1], identity: T @ thread[1],
    sums: T[SUMS] @ thread[1],
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
            if not WHOLE:
                number = number if number < end else k  # again what this thread has: no branches between loads
            at: int64 = base[q] + number * n_stride * (WIDTH if ALONG else 1)
            row: TI[WIDTH]
            fetch(x, at, n_stride if ALONG else inner_stride, row, VECTORIZED=VECTORIZED)
            for i in range(WIDTH):
                rows[q, j, i] = row[i]
    for q in range(UNITS):
        if ALONG:
            total: P = P(identity)
            for j in range(ROWS):
                item: P = MAP(rows[q, j, 0], T=P)
                for i in range(1, WIDTH):
                    item = OP(item, MAP(rows[q, j, i], T=P))
                total = OP(total, item if WHOLE or k + j * step < end else P(identity))
            sums[q] = OP(sums[q], T(total))
        else:
            for i in range(WIDTH):
                total: P = MAP(rows[q, 0, i], T=P)
                for j in range(1, ROWS):
                    item: P = MAP(rows[q, j, i], T=P)
                    total = OP(total, item if WHOLE or k + j * step < end else P(identity))
                sums[q * WIDTH + i] = OP(sums[q * WIDTH + i], T(total))


EXAMPLES = {
    "reduce_axis": {
        "TI": "float32", "P": "float32", "T": "float32", "TO": "float32", "U": "int32", "OP": operators.add, "MAP": maps.same,
        "THREADS": 128, "BLOCKS": 5, "LANES": 32, "UNITS": 1, "ROWS": 8, "WIDTH": 4, "ALONG": True, "WIDE": False,
        "VECTORIZED": True, "ORDERED": False,
    },
}
