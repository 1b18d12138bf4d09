"""Products in float32 of few rows: B is read once, as it lies, by threads that have a few of its columns, or of its rows.

What such a product takes is reading B. A tile would have more rows than there are, and would wait at its ring; here each thread
has some loads under way, and multiplies what comes by all rows of A, which lie in shared memory. Where there are few columns,
blocks of a cluster each take a part of K, and add up what they got.
"""

from __future__ import annotations

from prism.kernels.hgemm.cut import Terms
from prism.kernels.sgemm.cut import FEW_THREADS, FewCut
from prism.lang import (
    assume, attr, block, const, constexpr, dtype, float4, float4_cast, float32, function, grid, group, id, int32, int64,
    load_vector, partition, prism, ptr, requires, shared, shuffle_xor, strides_nest, template, thread, vector, warp,
)  # fmt: skip


@prism("global")
@template(T=dtype, TBIAS=dtype, OUT=dtype, CUT=constexpr(FewCut), TERMS=constexpr(Terms), EPILOGUE=function)
@requires(grid[1], block[CUT.parts], thread[FEW_THREADS])
@attr("__launch_bounds__(FEW_THREADS, CUT.blocks)")
def few(
    A: ptr(const(T)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], B: ptr(const(T)) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1], bias: ptr(const(TBIAS)) @ grid[1],
    scale_a: ptr(const(float32)) @ grid[1], scale_b: ptr(const(float32)) @ grid[1],
):
    """`out = EPILOGUE(alpha * A @ B + beta * out + bias)`, of at most `CUT.rows` rows.

    Perspective: grid, of a cluster of `CUT.parts` blocks for each `CUT.width` columns; each has a part of K.
    Shapes:      `A[i * rs_a + kk * cs_a]` m x k, `B[kk * rs_b + j * cs_b]` k x n, and where `CUT.wide` the one of `rs_b` (where
                 `CUT.along`) and `cs_b` that is 1 counts elements of vectors, at multiples of 16 bytes. `out`: m x n, its rows
                 `stride` elements apart. m, n, k are at least 1.
    Cost:        B is read once; a thread has `CUT.ahead` vectors of it under way.
    Numerics:    fused multiply-adds in float32, in an order that depends on k and the cut alone.
    Test:        tests/kernels/test_sgemm_few.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(m, stride, n, 1))
    strip: int32 @ block[CUT.parts] = id()
    with partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target, group(block[CUT.parts]):
        parts: shared(float32[CUT.parts, CUT.rows, CUT.width])
        part: int32 @ block[1] = id()
        with partition(parts, block[1], lambda y, x: (part, y, x)) as own, group(block[1]):
            each: int32 @ block[1] = (k + (CUT.parts * CUT.step - 1)) // (CUT.parts * CUT.step) * CUT.step
            first: int32 @ block[1] = part * each
            last: int32 @ block[1] = min(first + each, k)
            a: shared(float32[CUT.rows_a, CUT.columns_a], align=16)
            sums: float32[CUT.rows, CUT.columns] @ thread[1]
            with group(thread[1]):
                for y in range(CUT.rows):
                    for x in range(CUT.columns):
                        sums[y, x] = 0.0
            t: int32 @ thread[1] = id()
            w: int32 @ warp[1] = id()
            lane: int32 @ thread[1] = id() % 32
            for begin in range(first, last, CUT.depth):
                bring(A, rs_a, cs_a, m, begin, last, t, a, CUT=CUT)
                with group(thread[1]):
                    if CUT.along:
                        add_along(a, B, rs_b, cs_b, strip * CUT.width + w * CUT.columns, n, begin, last, lane, sums, CUT=CUT)
                    else:
                        add_across(a, B, rs_b, cs_b, strip * CUT.width, n, begin, last, w, lane, sums, CUT=CUT)
            if CUT.along:
                for y in range(CUT.rows, unroll=True):
                    for x in range(CUT.columns, unroll=True):
                        for s in range(5, unroll=True):
                            sums[y, x] += shuffle_xor(sums[y, x], 1 << s)
                with partition(own, thread[1], lambda y, x: (y, w * CUT.columns + x), races="none") as mine, group(thread[1]):
                    for y in range(CUT.rows):
                        for x in range(CUT.columns):
                            if lane == 0:
                                mine[y, x] = sums[y, x]
            else:
                warps: shared(float32[CUT.warps, CUT.rows, CUT.width], align=16)
                with partition(warps, thread[1], lambda y, x: (w, y, x), races="none") as mine, group(thread[1]):
                    for y in range(CUT.rows):
                        for x in range(CUT.columns):
                            mine[y, CUT.columns * lane + x if CUT.wide else lane + 32 * x] = sums[y, x]
                with partition(own, thread[1], lambda y, x: (y, x), races="none") as mine, group(thread[1]):
                    for e in range(t, CUT.rows * CUT.width, FEW_THREADS):
                        sum: float32 = 0.0
                        for p in range(CUT.warps):
                            sum += warps[p, e // CUT.width, e % CUT.width]
                        mine[e // CUT.width, e % CUT.width] = sum
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with group(thread[1]):
                for e in range(part * FEW_THREADS + t, CUT.rows * CUT.width, CUT.parts * FEW_THREADS):
                    y: int32 = e // CUT.width
                    x: int32 = strip * CUT.width + e % CUT.width
                    if y < m and x < n:
                        sum: float32 = 0.0
                        for p in range(CUT.parts):
                            sum += parts[p, y, e % CUT.width]
                        value: float32 = alpha * sum
                        if TERMS.scale_a > 0:
                            value *= scale_a[y if TERMS.scale_a == 2 else 0]
                        if TERMS.scale_b > 0:
                            value *= scale_b[x if TERMS.scale_b == 2 else 0]
                        if TERMS.beta:
                            value += beta * float32(target[y, x])
                        if TERMS.bias > 0:
                            value += float32(bias[y if TERMS.bias == 2 else x])
                        target[y, x] = OUT(EPILOGUE(value))


@prism("device")
@template(CUT=constexpr(FewCut), T=dtype)
@requires(block[1], thread[FEW_THREADS])
def bring(
    A: ptr(const(T)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], m: int32 @ grid[1], begin: int32 @ block[1],
    last: int32 @ block[1], t: int32 @ thread[1], a: shared(float32[CUT.rows_a, CUT.columns_a]) @ block[1],
):
    """Copy `CUT.depth` of K of A: k by k, or where `CUT.along` row by row; zeros beyond `last` and the last row."""
    with partition(a, thread[1], lambda y, x: (y, x), races="none") as mine, group(thread[1]):
        for e in range(0, CUT.rows * CUT.depth // FEW_THREADS, unroll=True):
            index: int32 = t + e * FEW_THREADS
            i: int32 = index // CUT.depth
            q: int32 = index % CUT.depth
            value: float32 = float32(A[i * rs_a + (begin + q) * cs_a]) if i < m and begin + q < last else 0.0
            mine[i if CUT.along else q, q if CUT.along else i] = value


@prism("device")
@template(CUT=constexpr(FewCut), T=dtype)
@requires(thread[1])
def add_along(
    a: const(shared(float32[CUT.rows_a, CUT.columns_a])) @ thread[1], B: ptr(const(T)) @ grid[1], rs_b: int64 @ grid[1],
    cs_b: int64 @ grid[1], j: int32 @ thread[1], n: int32 @ grid[1], begin: int32 @ thread[1], last: int32 @ thread[1],
    lane: int32 @ thread[1], sums: float32[CUT.rows, CUT.columns] @ thread[1],
):
    """Add the products of `CUT.columns` columns of B, from the j-th on, that lie along K: of each step a lane has a vector."""
    for q in range(0, min(CUT.depth, last - begin), CUT.step):
        b: float32[CUT.columns, CUT.each]
        at: int32 = q + (CUT.each * lane if CUT.wide else lane)
        for x in range(CUT.columns):
            if CUT.wide:
                for v in range(CUT.each):
                    b[x, v] = 0.0
                if j + x < n and begin + at < last:
                    word: vector(T, CUT.each) = load_vector(B[(j + x) * cs_b + begin + at], CUT.each)
                    for v in range(CUT.each):
                        b[x, v] = float32(word[v])
            else:
                for v in range(CUT.each):
                    there: bool = j + x < n and begin + at + 32 * v < last
                    b[x, v] = float32(B[(j + x) * cs_b + (begin + at + 32 * v) * rs_b]) if there else 0.0
        for y in range(CUT.rows):
            for f in range(0, CUT.each, 4):
                values: float4
                if CUT.wide:
                    values = float4_cast(a[y, at + f])
                else:
                    for v in range(4):
                        values[v] = a[y, at + 32 * (f + v)]
                for x in range(CUT.columns):
                    for v in range(4):
                        sums[y, x] += values[v] * b[x, f + v]


@prism("device")
@template(CUT=constexpr(FewCut), T=dtype)
@requires(thread[1])
def add_across(
    a: const(shared(float32[CUT.rows_a, CUT.columns_a])) @ thread[1], B: ptr(const(T)) @ grid[1], rs_b: int64 @ grid[1],
    cs_b: int64 @ grid[1], j: int32 @ thread[1], n: int32 @ grid[1], begin: int32 @ thread[1], last: int32 @ thread[1],
    w: int32 @ thread[1], lane: int32 @ thread[1], sums: float32[CUT.rows, CUT.columns] @ thread[1],
):
    """Add the products of columns of B, from the j-th on, that lie across K: a lane has a vector, a warp some of the k."""
    for q in range(w, min(CUT.depth, last - begin), CUT.warps * CUT.ahead):
        b: vector(T, CUT.each)[CUT.ahead] = {0}
        for u in range(CUT.ahead):
            row: int32 = begin + q + u * CUT.warps
            if CUT.wide:
                if row < last and j + CUT.each * lane < n:
                    b[u] = load_vector(B[row * rs_b + j + CUT.each * lane], CUT.each)
            else:
                for v in range(CUT.each):
                    there: bool = row < last and j + lane + 32 * v < n
                    b[u][v] = B[row * rs_b + (j + lane + 32 * v) * cs_b] if there else T(0.0)
        for u in range(CUT.ahead):
            at: int32 = min(q + u * CUT.warps, CUT.depth - 1)
            for v in range(CUT.each):
                value: float32 = float32(b[u][v])
                for y in range(CUT.rows):
                    sums[y, v] += a[at, y] * value
