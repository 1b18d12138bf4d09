"""What becomes of a tile's sums: slab by slab they are scaled, added to what was brought for them, rounded and stored."""

from __future__ import annotations

from prism.kernels.hgemm.cut import Cut, Terms
from prism.lang import (
    CUtensorMap, bfloat16, block, claim, const, constexpr, dtype, float32, fragment, function, grid, group, id, int32, int64, one,
    pack_bf16x2, pack_f16x2, partition, prism, ptr, requires, roles, shared, stmatrix, store_vector, template, thread, tma_load,
    tma_store, uint32, vector, warp, warpgroup,
)  # fmt: skip


@prism.device
@template(
    CUT=constexpr(Cut), TERMS=constexpr(Terms), OUT=dtype, TBIAS=dtype, SUM=dtype, PLAIN=constexpr(bool), BATCHED=constexpr(bool),
    EPILOGUE=function, KEEP=constexpr(bool, default=False),
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def store_slabs(
    sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), fetcher: roles(warp, 1),
    storer: roles(warp, 1),
    map_c: const(CUtensorMap(OUT, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span)) @ grid[1],
    map_out: CUtensorMap(OUT, CUT.slab_rows, CUT.slab_columns, swizzle=CUT.span) @ grid[1],
    out: ptr(OUT) @ block[1], stride: int64 @ grid[1], bias: ptr(const(TBIAS)) @ grid[1], scale_a: ptr(const(float32)) @ grid[1],
    scale_b: ptr(const(float32)) @ grid[1], product: int32 @ block[1], i: int32 @ block[1], j: int32 @ block[1],
    rows: int32 @ grid[1], n: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """Store a tile, whose corner is at i, j of a result of `rows` by n: `EPILOGUE` of its sums with their terms, slab by slab.

    Where `KEEP`, sums become what is stored, before it is rounded.

    Perspective: block; the fetcher brings terms of the next slabs, the consumers round, the storer stores what they have.
    Cost:        `CUT.slabs` slabs, and two slabs' scales and bias, in shared memory.
    Test:        tests/kernels/test_hgemm.py
    """
    slab: shared(OUT[CUT.slab_rows, CUT.slab_columns], ring=CUT.slabs, swizzle=CUT.span)
    by_row: shared(float32[CUT.bm], ring=2)  # factors of a slab's rows, and of its columns, and what is added
    by_column: shared(float32[CUT.wide], ring=2)
    added: shared(float32[CUT.bm if TERMS.bias == 2 else CUT.wide], ring=2)
    top: int32 @ block[1] = product * (n if CUT.trans else rows)  # of the result
    lane: int32 @ thread[1] = id() % 32
    for s in range(0, CUT.bn // CUT.slab, unroll=True):
        column: int32 @ block[1] = j + CUT.slab * s
        upper: int32 @ block[1] = column if CUT.trans else i  # the slab's first row, and column, of the result
        left: int32 @ block[1] = i if CUT.trans else column
        if TERMS.beta:
            with claim(slab, fetcher) as before, one(thread):
                tma_load(before, map_c[top + upper, left])
        with claim(by_row, fetcher) as ra, claim(by_column, fetcher) as cb, claim(added, fetcher) as more:
            bring(ra, scale_a, i, rows, MANY=TERMS.scale_a)
            bring(cb, scale_b, column, n, MANY=TERMS.scale_b)
            if TERMS.bias > 0:
                bring(more, bias, i if TERMS.bias == 2 else column, rows if TERMS.bias == 2 else n, MANY=2)
        round_slab(
            slab, by_row, by_column, added, sums, consumers, s, alpha, beta, CUT=CUT, TERMS=TERMS, EPILOGUE=EPILOGUE,
            KEEP=KEEP,
        )  # fmt: skip
        if PLAIN:
            with claim(slab, storer) as done, claim(out, storer) as target:
                store_plain(done, target, stride, top, upper, left, n if CUT.trans else rows, rows if CUT.trans else n, lane)
        else:
            with claim(slab, storer) as done, one(thread):
                tma_store(map_out[top + upper, left], done, disjoint=BATCHED)


@prism.device
@template(CUT=constexpr(Cut), OUT=dtype)
@requires(block[1], thread["CUT.threads"])
def store_sums(
    sums: fragment(float32, CUT.rows, CUT.bn) @ warpgroup[1], consumers: roles(warp, CUT.warps), out: ptr(OUT) @ block[1],
    stride: int64 @ grid[1], i: int32 @ block[1], j: int32 @ block[1],
):
    """Store the sums of a tile, whose corner is at i, j, as they are, from registers: pairs of those left of `stride`.

    Perspective: block. Four threads have a sector of each row.
    Shapes:      `out` has all rows of the tile, `stride` elements apart, which is even.
    Test:        tests/kernels/test_hgemm_shares.py
    """
    w: int32 @ warpgroup[1] = id()
    strip: int32 @ warp[1] = CUT.rows * w + id() % 4 * 16  # the warp's first row: it has 16 of each 64
    lane: int32 @ thread[1] = id() % 32
    with (
        claim(out, consumers) as target,
        partition(target, warp[1], lambda y, x: (strip + y) * stride + x, races="none") as strips, group(warp[1]),
        partition(strips, thread[1], lambda y, x: (lane // 4 + y, lane % 4 * 2 + x)) as mine, group(thread[1]),
    ):  # fmt: skip
        for r in range(0, CUT.rows, 64, unroll=True):
            for e in range(0, CUT.bn // 2, 2, unroll=True):
                if j + e // 4 * 8 + lane % 4 * 2 < stride:
                    at: int32 = r // 64 * CUT.bn // 2 + e
                    pair: vector(OUT, 2) = vector(OUT, 2)(OUT(sums[at]), OUT(sums[at + 1]))
                    store_vector(mine[i + r + e // 2 % 2 * 8, j + e // 4 * 8], pair)


@prism.device
@template(OUT=dtype, ROWS=constexpr(int), COLUMNS=constexpr(int), SPAN=constexpr(int))
@requires(warp[1])
def store_plain(
    slab: const(shared(OUT[ROWS, COLUMNS], swizzle=SPAN)) @ warp[1], out: ptr(OUT) @ warp[1], stride: int64 @ grid[1],
    top: int32 @ warp[1], upper: int32 @ warp[1], left: int32 @ warp[1], bottom: int32 @ warp[1], right: int32 @ warp[1],
    lane: int32 @ thread[1],
):
    """Store a slab without tensor copies: from row `upper` and column `left` of what is below `top`, inside its extents."""
    with partition(out, thread[1], lambda y, x: y * stride + x, races="none") as mine, group(thread[1]):
        for e in range(lane, ROWS * COLUMNS, 32):
            y: int32 = e // COLUMNS
            x: int32 = e % COLUMNS
            if upper + y < bottom and left + x < right:
                mine[top + upper + y, left + x] = slab[y, x]


@prism.device
@template(
    CUT=constexpr(Cut), TERMS=constexpr(Terms), OUT=dtype, SUM=dtype, ADDED=constexpr(int), EPILOGUE=function,
    KEEP=constexpr(bool),
)  # fmt: skip
@requires(block[1], thread["CUT.threads"])
def round_slab(
    slab: shared(OUT[CUT.slab_rows, CUT.slab_columns], ring=CUT.slabs, swizzle=CUT.span) @ block[1],
    by_row: shared(float32[CUT.bm], ring=2) @ block[1], by_column: shared(float32[CUT.wide], ring=2) @ block[1],
    added: shared(float32[ADDED], ring=2) @ block[1], sums: fragment(SUM, CUT.rows, CUT.bn) @ warpgroup[1],
    consumers: roles(warp, CUT.warps), s: int32 @ block[1], alpha: float32 @ grid[1], beta: float32 @ grid[1],
):
    """Make the tile's `s`-th slab: `EPILOGUE` of its sums times `alpha` and scales, plus `beta` times what it has, and a bias.

    Perspective: block; each warp of the `consumers` rounds the 16 rows that it has of each 64.
    Shapes:      `by_row`, `by_column`: scales of the slab's rows and columns; `added`: a bias for either, by `TERMS`.
    Test:        tests/kernels/test_hgemm.py
    """
    w: int32 @ warpgroup[1] = id()
    strip: int32 @ warp[1] = CUT.rows * w + id() % 4 * 16  # the warp's first row
    lane: int32 @ thread[1] = id() % 32
    with (
        claim(slab, consumers) as sc, claim(by_row, consumers) as ra, claim(by_column, consumers) as cb,
        claim(added, consumers) as more,
        partition(sc, warp[1], lambda y, x: (x if CUT.trans else strip + y, strip + y if CUT.trans else x)) as own,
        group(warp[1]),
    ):  # fmt: skip
        q: int32 @ thread[1] = lane % 4 * 2
        for r in range(0, CUT.rows, 64, unroll=True):
            values: float32[CUT.slab // 2] @ thread[1]
            with group(thread[1]):
                for e in range(0, CUT.slab // 2):
                    y: int32 = r + lane // 4 + e // 2 % 2 * 8
                    x: int32 = lane % 4 * 2 + e // 4 * 8 + e % 2
                    values[e] = alpha * float32(sums[(r // 64 * CUT.bn + CUT.slab * s) // 2 + e])
                    if TERMS.scale_a > 0:
                        values[e] *= ra[strip + y]
                    if TERMS.scale_b > 0:
                        values[e] *= cb[x]
                    if TERMS.beta:
                        values[e] += beta * own[y, x]
                    if TERMS.bias > 0:
                        values[e] += more[strip + y if TERMS.bias == 2 else x]
                    values[e] = EPILOGUE(values[e])
                    if KEEP:
                        sums[(r // 64 * CUT.bn + CUT.slab * s) // 2 + e] = values[e]
            if OUT == float32:
                with partition(own, thread[1], lambda y, x: (lane // 4 + y, q + x)) as mine, group(thread[1]):
                    for e in range(0, CUT.slab // 2):
                        mine[r + e // 2 % 2 * 8, e // 4 * 8 + e % 2] = values[e]
            elif OUT == int32:  # sums of integers, as they are
                with partition(own, thread[1], lambda y, x: (lane // 4 + y, q + x)) as mine, group(thread[1]):
                    for e in range(0, CUT.slab // 2):
                        mine[r + e // 2 % 2 * 8, e // 4 * 8 + e % 2] = sums[(r // 64 * CUT.bn + CUT.slab * s) // 2 + e]
            else:
                row: int32 @ thread[1] = lane // 8 % 2 * 8 + (0 if CUT.trans else lane % 8)  # of the lane's piece, or row of it
                column: int32 @ thread[1] = lane // 16 % (CUT.pieces // 2) * 8 + (lane % 8 if CUT.trans else 0)
                for p in range(0, CUT.slab // (4 * CUT.pieces)):
                    words: uint32[CUT.pieces] @ thread[1]
                    pack(values, words, CUT.pieces * p, OUT=OUT)
                    stmatrix(own[r + row, 4 * CUT.pieces * p + column], words, trans=CUT.trans)


@prism.device
@template(OUT=dtype, N=constexpr(int), PIECES=constexpr(int))
@requires(warp[1])
def pack(values: float32[N] @ thread[1], words: uint32[PIECES] @ thread[1], first: int32 @ warp[1]):
    """Round pairs of values, from the `first` pair on, to two elements in a word."""
    with group(thread[1]):
        for q in range(0, PIECES):
            e: int32 = 2 * (first + q)
            words[q] = pack_bf16x2(values[e], values[e + 1]) if OUT == bfloat16 else pack_f16x2(values[e], values[e + 1])


@prism.device
@requires(warp[1])
@template(T=dtype, N=constexpr(int), MANY=constexpr(int))
def bring(
    to: shared(float32[N]) @ warp[1], x: ptr(const(T)) @ grid[1], first: int32 @ warp[1], size: int32 @ warp[1]
):
    """Copy elements of x, from the first on, and 0 for those beyond the last; its only one, where `MANY` is 1; none, where 0."""
    if MANY > 0:
        lane: int32 @ thread[1] = id()
        with partition(to, thread[1], lambda e: 32 * e + lane) as mine, group(thread[1]):
            for e in range(0, N // 32, unroll=True):
                index: int32 = first + 32 * e + lane if MANY == 2 else 0
                mine[e] = float32(x[index]) if index < size else 0.0


@prism.device
@requires(thread[1])
def identity(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The value as it is."""
    return x
