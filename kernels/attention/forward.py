"""Attention: the softmax of queries' products with keys, times values, tile by tile of keys: no score leaves registers.

A block's warpgroups have 64 rows of queries each; one warp brings tiles of queries, keys and values, one stores, one draws tiles.
`attend` has the roles and the rings, `attend_tile` is what a tile of queries takes, `go_over_keys` the loop over tiles of keys. A
trip of it makes the scores of a tile, and adds the values of the tile before by its weights, while those of this tile are made of
its scores: so the first trip has no values to add, and the last one no scores to make.
"""

from __future__ import annotations

from prism.kernels.attention.cut import Cut, Sizes, Terms
from prism.kernels.attention.packed import Place, count_places, find_place
from prism.kernels.attention.softmax import (
    EIGHT, LEAST, LN_2, LOG2_E, as_it_is, change, compare, exponentiate, mask, pack,
)  # fmt: skip
from prism.kernels.hgemm.main_loop import share_registers
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, constexpr, count, dtype, fast_exp2, float32, fragment, function, grid, group,
    id, int32, int64, log2, one, partition, prism, ptr, requires, roles, row, shared, shuffle_xor, stmatrix,
    store_vector, template, thread, tma_load, tma_store, turns, uint32, vector, warp, warpgroup, wgmma,
)  # fmt: skip


@prism.device
@template(T=dtype, COLUMNS=constexpr(int), SPAN=constexpr(int))
@requires(warpgroup[1])
def put_rows(
    tile: shared(T[64, COLUMNS], swizzle=SPAN) @ warpgroup[1], sums: fragment(float32, 64, COLUMNS) @ warpgroup[1],
    factor: float32[2] @ thread[1],
):
    """Store sums times the factors of the thread's two rows, rounded.

    Perspective: warpgroup; each warp stores the 16 rows that it has.
    Test:        tests/kernels/test_attention.py
    """
    strip: int32 @ warp[1] = 16 * id()
    lane: int32 @ thread[1] = id() % 32
    with partition(tile, warp[1], lambda r, c: (strip + r, c)) as own, group(warp[1]):
        for p in range(COLUMNS // 16):
            words: uint32[4] @ thread[1]
            with group(thread[1]):
                for e in range(4):
                    i: int32 = 8 * p + 2 * e
                    words[e] = pack(sums[i] * factor[e % 2], sums[i + 1] * factor[e % 2], T=T)
            stmatrix(own[lane % 16, 16 * p + lane // 16 * 8], words)


@prism.device
@template(OUT=dtype, CUT=constexpr(Cut), PACKED=constexpr(bool))
@requires(block[1], thread["CUT.threads"])
def leave(
    sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1], factor: float32[2] @ thread[1],
    map_out: CUtensorMap(OUT, 1, 1, CUT.rows, CUT.dim_v, swizzle=CUT.span_out) @ grid[1], whole: ptr(OUT) @ block[1],
    consumers: roles(warp, 4 * CUT.groups), storer: roles(warp, 1), at: Place @ block[1], s: Sizes @ grid[1],
):
    """Write a tile of the result, sums times their rows' factors: by a tile in shared memory, or where not `CUT.slab` at once.

    Perspective: block.
    Test:        tests/kernels/test_attention.py
    """
    w: int32 @ warpgroup[1] = id()
    if CUT.slab:
        slab: shared(OUT[CUT.rows, CUT.dim_v], ring=1, swizzle=CUT.span_out)
        with claim(slab, consumers) as to_slab, partition(to_slab, warpgroup[1], lambda r, c: (64 * w + r, c)) as own:
            with group(warpgroup[1]):
                put_rows(own, sums, factor)
        with claim(slab, storer) as done, one(thread):
            if not PACKED or at.rows > 0:
                tma_store(map_out[at.row_end, at.head, s.rows - at.rows + at.top, 0], done)
    else:
        batch: int64 @ block[1] = (at.row_end - at.rows) * s.row_step if PACKED else at.row_end * s.batch_step
        start: int64 @ block[1] = batch + at.head * s.head_step
        with partition(whole, thread[1], lambda r, c: start + r * s.row_step + c, races="allow") as own, consumers:
            with group(thread[1]):
                for i in range(0, count(sums), 2):
                    r: int32 = at.top + 64 * w + row(sums, i)
                    two: vector(OUT, 2)
                    for e in range(2):
                        two[e] = OUT(sums[i + e] * factor[i // 2 % 2])
                    if r < at.rows and column(sums, i) < s.columns:
                        store_vector(own[r, column(sums, i)], two)


@prism.kernel
@template(
    T=dtype, W=dtype, OUT=dtype, INDEX=dtype, CUT=constexpr(Cut), TERMS=constexpr(Terms), SCORE=function, PLAIN=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def attend(
    q: const(CUtensorMap(T, 1, 1, CUT.rows, CUT.dim, swizzle=CUT.span)) @ grid[1],
    k: const(CUtensorMap(T, 1, 1, CUT.keys, CUT.dim, swizzle=CUT.span)) @ grid[1],
    v: const(CUtensorMap(T, 1, 1, CUT.rows_v, CUT.columns_v, swizzle=CUT.span_v)) @ grid[1],
    map_out: CUtensorMap(OUT, 1, 1, CUT.rows, CUT.dim_v, swizzle=CUT.span_out) @ grid[1], out: ptr(OUT) @ grid[1],
    lse: ptr(float32) @ grid[1], sinks: ptr(const(float32)) @ grid[1], s: Sizes @ grid[1], counter: ptr(uint32) @ grid[1],
    scales: ptr(const(float32)) @ grid[1], offsets: ptr(const(INDEX)) @ grid[1], key_offsets: ptr(const(INDEX)) @ grid[1],
):
    """`out = softmax(scale * q @ k.T) @ v` for pairs of batches and heads, of rows of queries and of keys, as many as `s` says.

    Perspective: grid, of any number of blocks.
    Shapes:      `q`: batches x heads x rows x `CUT.dim`; `k`, `v`: batches x (heads / share) x keys x `CUT.dim`, `CUT.dim_v`.
                 `map_out`: as `q`, of `CUT.dim_v`; where not `CUT.slab`, columns of `out` are written instead. `lse`, where
                 `TERMS.lse`: pairs x rows, the logarithms of the sums of exponentials. `sinks`, where `TERMS.sinks`: a score for
                 each head. `PLAIN`: there is neither a cap nor another `SCORE` than the score itself. `counter`: as of
                 `grid.dynamic_tiles`. Of 8-bit `T`, `v` is what `transpose_values` makes of values, and so are `scales`: 2 x
                 pairs, by what to scale products with keys, and with values. Where `TERMS.packed`, `offsets` and `key_offsets`
                 tell sequences apart, in maps that end where these do (packed.py); `lse`: heads x rows.
    Numerics:    products are exact and added in float32; weights are rounded to `W`, those of 8 bits times 2^`EIGHT`. A row that
                 sees no column is zero.
    Source:      Dao, "FlashAttention-2"; Shah et al., "FlashAttention-3".
    Test:        tests/kernels/test_attention.py, tests/gpu/test_attention.py
    """
    tiles: int32 @ grid[1] = count_places(s, ROWS=CUT.rows, PACKED=TERMS.packed)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    # Each tile has rows of its own, which steps that are given don't show.
    with partition(lse, block[1], races="allow") as logs, partition(out, block[1], races="allow") as whole, group(block[1]):
        q_tile: shared(T[CUT.rows, CUT.dim], ring=CUT.queries, swizzle=CUT.span)
        k_tile: shared(T[CUT.keys, CUT.dim], ring=CUT.stages, swizzle=CUT.span)
        v_tile: shared(T[CUT.rows_v, CUT.columns_v], ring=CUT.stages, swizzle=CUT.span_v)
        scores: fragment(float32, 64, CUT.keys) @ warpgroup[1] = 0
        weights: fragment(W, 64, CUT.keys, operand=CUT.transposed) @ warpgroup[1] = 0
        sums: fragment(float32, 64, CUT.dim_v) @ warpgroup[1] = 0
        # Three warpgroups have no registers left for two more numbers, where there is more to do.
        HELD: constexpr(int) = 2 if CUT.groups == 3 and (TERMS.window or not PLAIN) else 4
        largest: float32[HELD] @ thread[1]
        total: float32[2] @ thread[1]
        factor: float32[2] @ thread[1]
        low: int32[2] @ thread[1]
        high: int32[2] @ thread[1]
        w: int32 @ warpgroup[1] = id()
        workers, helpers = roles(warpgroup, CUT.groups, 1)
        consumers, loader, storer, scheduler = roles(warp, 4 * CUT.groups, 1, 1, 1)
        share_registers(workers, helpers, MANY=CUT.registers, FEW=CUT.loader_registers)

        @requires(block[1], thread["CUT.threads"])
        def make_tile(tile: int32 @ block[1]):
            """Make a tile of the result."""
            at: Place @ block[1] = find_place(offsets, key_offsets, tile, s, scheduler, CUT=CUT, PACKED=TERMS.packed)
            key_head: int32 @ block[1] = at.head // s.share
            apart: int32 @ block[1] = at.keys - at.rows if TERMS.last else 0
            end: int32 @ block[1] = min(at.keys, at.top + s.ahead + apart + CUT.rows) if TERMS.causal else at.keys
            begin: int32 @ block[1] = max(0, at.top - s.back + apart) // CUT.keys * CUT.keys if TERMS.window else 0
            scale: float32 @ block[1] = s.scale * scales[at.pair] if CUT.width == 1 else s.scale
            by: float32 @ block[1] = scale * LOG2_E if PLAIN else 1.0

            @requires(thread[1])
            def begin_rows():
                """Sums of nothing, and which columns the thread's two rows see."""
                for h in range(2):
                    r: int32 = at.top + 64 * w + row(scores, 2 * h)
                    low[h] = r - s.back + apart if TERMS.window else 0
                    high[h] = min(at.keys, r + s.ahead + apart + 1) if TERMS.causal else at.keys
                    # A sink is a score that is there before all others; one of the four threads that share a row adds it up.
                    largest[h] = max(LEAST, LOG2_E * sinks[at.head]) if TERMS.sinks else LEAST
                    largest[h + HELD - 2] = largest[h]
                    alone: bool = TERMS.sinks and column(scores, 0) == 0
                    total[h] = fast_exp2(LOG2_E * sinks[at.head] - largest[h]) if alone else 0.0
                for i in range(count(sums)):
                    sums[i] = 0

            @requires(warpgroup[1])
            def look(j: int32 @ block[1]):
                """Find the largest scores so far, with those of keys from j on, and by what to scale what was summed."""
                if not PLAIN:
                    change(scores, at.top + 64 * w, j, at.head, scale, s.cap, CAP=TERMS.cap, SCORE=SCORE)
                # Those of which some row sees not all; and some more, so that they are the first and the last.
                if j + CUT.keys > end - (CUT.rows - 1 if TERMS.causal else 0):
                    mask(scores, low, high, j)
                elif TERMS.window and j < begin + (CUT.keys + CUT.rows):
                    mask(scores, low, high, j)
                compare(scores, largest, total, factor, by, MORE=EIGHT if CUT.width == 1 else 0)

            @requires(warpgroup[1])
            def scale_sums():
                """Scale what was summed of values."""
                with group(thread[1]):
                    for i in range(count(sums)):
                        sums[i] *= factor[i // 2 % 2]

            @requires(block[1], thread["CUT.threads"])
            def go_over_keys():
                """Add up values, tile by tile: those of the tile before, while weights are made of this one's scores."""
                with claim(q_tile, consumers) as q_now:
                    for j in range(begin, end + CUT.keys, CUT.keys):
                        with claim(k_tile, loader) as k_in, one(thread):
                            if j < end:
                                tma_load(k_in, k[at.key_end, key_head, s.keys - at.keys + j, 0])
                        with claim(v_tile, loader) as v_in, one(thread):
                            if j > begin:
                                i: int32 = s.keys - at.keys + j - CUT.keys
                                tma_load(v_in, v[at.key_end, key_head, 0 if CUT.transposed else i, i if CUT.transposed else 0])
                        with claim(k_tile, consumers, in_flight=1) as k_now, turns(workers):
                            with consumers, group(warpgroup[1]):
                                if j < end:
                                    wgmma(scores, q_now[64 * w, 0], k_now, accumulate=False)
                            with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                                if j > begin:
                                    wgmma(sums, weights, v_now, transpose_b=not CUT.transposed)
                            if CUT.late:
                                with consumers, group(warpgroup[1]):
                                    if j < end:
                                        look(j)
                                        scale_sums()
                        with consumers, group(warpgroup[1]):
                            if j < end:
                                if not CUT.late:
                                    look(j)
                                exponentiate(scores, largest, total, by, FOURS=CUT.width > 1)
                                if not CUT.late:
                                    scale_sums()
                                with group(thread[1]):
                                    for i in range(count(weights)):  # of 16 8-bit ones, the first and last 8 alternate by pairs
                                        weights[i] = W(scores[i + 2 * (i // 2 % 2 - i // 4 % 2) if CUT.width == 1 else i])

            @requires(block[1], thread["CUT.threads"])
            def end_rows():
                """Add up weights, of which four threads have a part each; their logarithms, and what makes sums a result."""
                with partition(logs, thread[1], lambda r: int64(at.pair) * s.rows + r, races="allow") as own, consumers:
                    for h in range(2):
                        for e in range(2):
                            total[h] += shuffle_xor(total[h], 1 << e)
                    with group(thread[1]):
                        for h in range(2):
                            by_scale: float32 = scales[s.pairs + at.pair] if CUT.width == 1 else 1.0
                            factor[h] = by_scale / total[h] if total[h] > 0 else total[h]
                            r: int32 = at.top + 64 * w + row(scores, 2 * h)
                            if TERMS.lse and r < at.rows and column(scores, 0) == 0:
                                own[at.row_end - at.rows + r if TERMS.packed else r] = (largest[h] + log2(total[h])) * LN_2

            with claim(q_tile, loader) as q_in, one(thread):
                if not TERMS.packed or at.rows > 0:
                    tma_load(q_in, q[at.row_end, at.head, s.rows - at.rows + at.top, 0])
            with consumers, group(thread[1]):
                begin_rows()
            go_over_keys()
            end_rows()
            leave(sums, factor, map_out, whole, consumers, storer, at, s, CUT=CUT, PACKED=TERMS.packed)

        grid.dynamic_tiles(counter, b, blocks, tiles, scheduler, TILE=make_tile, THREADS=CUT.threads)


EXAMPLES = {
    "attend": {
        "T": "float16", "W": "float16", "OUT": "float16", "INDEX": "int32", "CUT": Cut(128, 128, 128), "TERMS": Terms(),
        "SCORE": as_it_is, "PLAIN": True,
    },
}
