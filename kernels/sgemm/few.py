"""Products in float32 of few rows: B is read once, as it lies, by threads that have a few of its columns, or of its rows.

What such a product takes is reading B. A tile would have more rows than there are, and would wait at its ring; here each thread
has some loads under way, and multiplies what comes by all rows of A, which lie in shared memory. Where there are few columns,
blocks of a cluster each take a part of K, and add up what they got.
"""

from __future__ import annotations

from prism.kernels.sgemm.cut import EACH, FEW_THREADS, FewCut
from prism.lang import (
    assume, attr, block, const, constexpr, float4, float4_cast, float32, function, grid, group, id, int32, int64,
    load_vector, partition, prism, ptr, requires, shared, shuffle_xor, strides_nest, template, thread, vector, warp,
)  # fmt: skip


@prism.kernel
@template(CUT=constexpr(FewCut), BETA=constexpr(bool))
@requires(grid[1], block["CUT.parts"], thread[FEW_THREADS])
@attr("__launch_bounds__(FEW_THREADS, CUT.blocks)")
def few(
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], B: ptr(const(float32)) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """`out = alpha * A @ B + beta * out`, of at most `CUT.rows` rows.

    Perspective: grid, of a cluster of `CUT.parts` blocks for each `CUT.width` columns; each has a part of K.
    Shapes:      `A[i * rs_a + kk * cs_a]` m x k, `B[kk * rs_b + j * cs_b]` k x n, and where `CUT.vector` the one of `rs_b` (where
                 `CUT.along`) and `cs_b` is 1, and vectors of so many begin at multiples of their size. `out`: m x n, its rows
                 `stride` elements apart. m, n, k are at least 1.
    Cost:        B is read once; a thread has `CUT.ahead` vectors of it under way.
    Numerics:    fused multiply-adds in float32, in an order that depends on k and the cut alone.
    Test:        tests/kernels/test_sgemm_few.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(m, stride, n, 1))
    strip: int32 @ block[CUT.parts] = id()
    with partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target, group(block[CUT.parts]):

        @requires(thread[1])
        def store(y: int32 @ thread[1], x: int32 @ thread[1], sum: float32 @ thread[1]):
            target[y, x] = alpha * sum + (beta * target[y, x] if BETA else 0.0)

        multiply_few(A, rs_a, cs_a, B, rs_b, cs_b, m, n, k, strip, CUT=CUT, STORE=store)


@prism.device
@template(CUT=constexpr(FewCut), STORE=function)
@requires(block["CUT.parts"], thread[FEW_THREADS])
def multiply_few(
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], B: ptr(const(float32)) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    strip: int32 @ block[CUT.parts],
):
    """Make what `few` says, of its arguments: `STORE(y, x, sum)` of each element.

    Perspective: the `strip`-th cluster, of `CUT.parts` blocks.
    Test:        tests/kernels/test_sgemm_few.py
    """
    parts: shared(float32[CUT.parts, CUT.rows, CUT.width])
    part: int32 @ block[1] = id()
    with partition(parts, block[1], lambda y, x: (part, y, x)) as own, group(block[1]):
        each: int32 @ block[1] = (k + (CUT.parts * CUT.step - 1)) // (CUT.parts * CUT.step) * CUT.step
        first: int32 @ block[1] = part * each
        last: int32 @ block[1] = min(first + each, k)
        a: shared(float32[CUT.rows_a, CUT.columns_a], align=16)
        sums: float32[CUT.rows, CUT.columns] @ thread[1] = {0}
        t: int32 @ thread[1] = id()
        w: int32 @ warp[1] = id()
        lane: int32 @ thread[1] = id() % 32
        j: int32 @ thread[1] = strip * CUT.width + (w * CUT.side if CUT.along else lane % CUT.lanes * CUT.piece)
        down: int32 @ thread[1] = CUT.piece * lane if CUT.along else w * (32 // CUT.lanes) + lane // CUT.lanes  # of each step
        b: float4[CUT.held] @ thread[1]
        load_piece(B, rs_b, cs_b, j, n, first + down, last, b, CUT=CUT)
        for begin in range(first, last, CUT.depth):
            bring(A, rs_a, cs_a, m, begin, last, t, a, CUT=CUT)
            for q in range(0, min(CUT.depth, last - begin), CUT.step * CUT.ahead):
                add(a, q + down, b, sums, CUT=CUT)
                load_piece(B, rs_b, cs_b, j, n, begin + q + CUT.step * CUT.ahead + down, last, b, CUT=CUT)
        for y in range(CUT.rows, unroll=True):
            for x in range(CUT.columns, unroll=True):
                for s in range(5, unroll=True):
                    if CUT.along or 1 << s >= CUT.lanes:
                        sums[y, x] += shuffle_xor(sums[y, x], 1 << s)
        if CUT.along:
            with partition(own, thread[1], lambda y, x: (y, w * CUT.columns + x), races="none") as mine, group(thread[1]):
                for y in range(CUT.rows):
                    for x in range(CUT.columns):
                        if lane == 0:
                            mine[y, x] = sums[y, x]
        else:
            warps: shared(float32[CUT.warps, CUT.rows, CUT.width], align=16)
            with partition(warps, thread[1], lambda y, x: (w, y, x), races="none") as mine, group(thread[1]):
                if lane < CUT.lanes:
                    for y in range(CUT.rows):
                        for x in range(CUT.columns):
                            mine[y, (CUT.lanes * (x // CUT.piece) + lane) * CUT.piece + x % CUT.piece] = sums[y, x]
            with partition(own, thread[1], lambda y, x: (y, x), races="none") as mine, group(thread[1]):
                for e in range(t, CUT.rows * CUT.width, FEW_THREADS):
                    sum: float32 = 0.0
                    for p in range(CUT.warps):
                        sum += warps[p, e // CUT.width, e % CUT.width]
                    mine[e // CUT.width, e % CUT.width] = sum
    with group(block[1]):
        add_parts(parts, part, strip, m, n, CUT=CUT, STORE=STORE)


@prism.device
@template(CUT=constexpr(FewCut), STORE=function)
@requires(block[1], thread[FEW_THREADS])
def add_parts(
    parts: const(shared(float32[CUT.parts, CUT.rows, CUT.width])) @ block[CUT.parts], part: int32 @ block[1],
    strip: int32 @ block[CUT.parts], m: int32 @ grid[1], n: int32 @ grid[1],
):
    """Add up what the parts of the `strip`-th cluster have, in their order: `STORE(y, x, sum)` of elements of the `part`-th."""
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for e in range(part * FEW_THREADS + t, CUT.rows * CUT.width, CUT.parts * FEW_THREADS):
            y: int32 = e // CUT.width
            x: int32 = strip * CUT.width + e % CUT.width
            if y < m and x < n:
                sum: float32 = 0.0
                for p in range(CUT.parts):
                    sum += parts[p, y, e % CUT.width]
                STORE(y, x, sum)


@prism.device
@template(CUT=constexpr(FewCut))
@requires(block[1], thread[FEW_THREADS])
def bring(
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], m: int32 @ grid[1], begin: int32 @ block[1],
    last: int32 @ block[1], t: int32 @ thread[1], a: shared(float32[CUT.rows_a, CUT.columns_a]) @ block[1],
):
    """Copy `CUT.depth` of K of A, or what is left of it: k by k, or where `CUT.along` row by row; zeros where there is none."""
    WHOLE: constexpr(int) = CUT.step * CUT.ahead  # that is multiplied at a time
    MANY: constexpr(int) = 8 // CUT.rows if CUT.rows < 8 else 1  # of each thread, at a time
    depth: int32 @ block[1] = min(CUT.depth, (last - begin + (WHOLE - 1)) // WHOLE * WHOLE)
    with partition(a, thread[1], lambda y, x: (y, x), races="none") as mine, group(thread[1]):
        for q in range(t, depth, MANY * FEW_THREADS):
            values: float32[MANY * CUT.rows]  # all loads before the first store
            for e in range(0, MANY * CUT.rows, unroll=True):
                i: int32 = e % CUT.rows
                at: int32 = begin + q + e // CUT.rows * FEW_THREADS
                values[e] = A[i * rs_a + at * cs_a] if i < m and at < last else 0.0
            for e in range(0, MANY * CUT.rows, unroll=True):
                i: int32 = e % CUT.rows
                at: int32 = q + e // CUT.rows * FEW_THREADS
                mine[i if CUT.along else at, at if CUT.along else i] = values[e]


@prism.device
@template(CUT=constexpr(FewCut))
@requires(thread[1])
def load_piece(
    B: ptr(const(float32)) @ grid[1], rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], j: int32 @ thread[1], n: int32 @ grid[1],
    k: int32 @ thread[1], last: int32 @ thread[1], b: float4[CUT.held] @ thread[1],
):
    """Load a thread's vectors of some steps of B, whose columns begin with the j-th, from the k-th row on; 0 from `last` on."""
    near_k: int64 = 1 if CUT.along and CUT.vector > 0 else rs_b  # elements from a k to the next, and from a column
    near_n: int64 = 1 if not CUT.along and CUT.vector > 0 else cs_b
    for e in range(0, CUT.held, unroll=True):
        x: int32 = j + (e % CUT.columns if CUT.along else 0)
        y: int32 = k + (e // CUT.columns if CUT.along else e) * CUT.step
        at: int64 = y * near_k + x * near_n
        zero: float4 = {0}
        b[e] = zero
        for v in range(0, EACH, CUT.piece, unroll=True):
            row: int32 = 32 * v if CUT.along else 0
            column: int32 = 0 if CUT.along else CUT.lanes * v
            if x + column < n and y + row < last:
                if CUT.piece == EACH:
                    b[e] = float4_cast(B[at])
                elif CUT.piece > 1:
                    word: vector(float32, CUT.piece) = load_vector(B[at + row * near_k + column * near_n], CUT.piece)
                    for q in range(0, CUT.piece, unroll=True):
                        b[e][v + q] = word[q]
                else:
                    b[e][v] = B[at + row * near_k + column * near_n]


@prism.device
@template(CUT=constexpr(FewCut))
@requires(thread[1])
def add(
    a: const(shared(float32[CUT.rows_a, CUT.columns_a])) @ thread[1], at: int32 @ thread[1],
    b: float4[CUT.held] @ thread[1], sums: float32[CUT.rows, CUT.columns] @ thread[1],
):
    """Add the products of what was loaded; `at`: where its first k is in shared memory."""
    if CUT.along:
        for u in range(0, CUT.ahead, unroll=True):
            for y in range(0, CUT.rows, unroll=True):
                values: float4
                if CUT.piece == EACH:
                    values = float4_cast(a[y, at + u * CUT.step])
                else:
                    for v in range(4):
                        values[v] = a[y, at + u * CUT.step + 32 * (v // CUT.piece) * CUT.piece + v % CUT.piece]
                for x in range(0, CUT.columns, unroll=True):
                    for v in range(0, 4, unroll=True):
                        sums[y, x] += values[v] * b[u * CUT.columns + x][v]
    else:
        for u in range(0, CUT.ahead, unroll=True):
            for y in range(0, CUT.rows, unroll=True):
                factor: float32 = a[at + u * CUT.step, y]
                for v in range(0, EACH, unroll=True):
                    sums[y, v] += factor * b[u][v]
