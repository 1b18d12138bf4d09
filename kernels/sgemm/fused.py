"""Products in float32 whose epilogue is a function of a tile: of sums with their places, and of what other arrays have there.

How sums are made is `ring`'s, `combine`'s and `few`'s; what is done with them is here. `finish` does it to a result that another
kernel made.
"""

from __future__ import annotations

from prism.kernels.hgemm.epilogue import identity
from prism.kernels.hgemm.fused import Terms
from prism.kernels.sgemm.cut import ADDERS, FEW_THREADS, FewCut, RingCut
from prism.kernels.sgemm.few import multiply_few
from prism.kernels.sgemm.ring import make_tiles
from prism.kernels.sgemm.sums import add_parts
from prism.lang import (
    CUtensorMap, assume, attr, block, const, constexpr, count, float4, float4_cast, float32, function, grid, group, id, int32,
    int64, partition, prefetch, prism, ptr, requires, strides_nest, template, thread,
)  # fmt: skip

FINISHERS = 256
"""Threads of a block of `finish`."""
EACH = 4
"""Elements that each of them has."""


@prism.kernel
@template(
    CUT=constexpr(RingCut), WIDE=constexpr(bool), BETA=constexpr(bool), TERMS=constexpr(Terms), EPILOGUE=function, SECOND=function
)  # fmt: skip
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def ring_fused(
    A: (const(CUtensorMap(float32, CUT.bk, CUT.bm)) if CUT.tensor_a else ptr(const(float32))) @ grid[1], rs_a: int64 @ grid[1],
    cs_a: int64 @ grid[1], B: (const(CUtensorMap(float32, CUT.bk, CUT.bn)) if CUT.tensor_b else ptr(const(float32))) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], tile: int32 @ grid[1], end: int32 @ grid[1], share: int32 @ grid[1],
    group_m: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1], second: ptr(float32) @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], above: int32 @ grid[1],
):
    """`out[i, j] = EPILOGUE(alpha * sum + beta * out[i, j], 0, 0, once, by_row[i], by_column[j], by_element[i, j], i, j)`.

    Perspective: as `ring`'s.
    Shapes:      as `ring`'s, of whole tiles; `TERMS` says what is read. `above`: so many rows are before the first one in their
                 records, columns where `TERMS.trans`, whose records by element lie as the transpose. `second`: as `out`, of what
                 SECOND makes, where there is one.
    Cost:        as `ring`; records are read in place.
    Numerics:    sums as `ring`'s; what comes after is EPILOGUE's.
    Test:        tests/kernels/test_sgemm_fused.py, tests/gpu/test_sgemm.py
    """
    blocks: int32 @ grid[1] = count(block[1])
    p: int32 @ block[1] = id()
    with (
        partition(out, thread[1], 0, races="none") as mine, partition(second, thread[1], 0, races="none") as beside,
        group(block[1]),
    ):  # fmt: skip

        @requires(thread[1])
        def store_sums(
            sums: float32[8, CUT.columns] @ thread[1], top: int32 @ thread[1], left: int32 @ thread[1], bottom: int32 @ thread[1],
            right: int32 @ thread[1],
        ):
            for i in range(8):
                y: int32 = top + i // 4 * (4 * CUT.down) + i % 4
                there: TERMS.element[CUT.columns]  # all that a thread has at a time are read before one is stored: they wait once
                read_records(there, by_element, y, left, m, n, above, CUT=CUT, WIDE=WIDE, TERMS=TERMS)
                for q in range(CUT.columns // 4):
                    word: float4
                    own: TERMS.element[4]
                    for v in range(4):
                        word[v] = sums[i, 4 * q + v]
                        own[v] = there[4 * q + v]
                    store_word(
                        mine, beside, stride, word, own, y, left + 128 // CUT.down * q, m, n, alpha, beta, above, once, by_row,
                        by_column, DOWN=0 if WIDE else CUT.down, WIDE=WIDE, BETA=BETA, TERMS=TERMS, EPILOGUE=EPILOGUE,
                        SECOND=SECOND,
                    )  # fmt: skip

        @requires(thread[1])
        def ask(
            row: int32 @ thread[1], top: int32 @ block[1], left: int32 @ block[1], bottom: int32 @ block[1],
            right: int32 @ block[1],
        ):
            if TERMS.elements and not TERMS.trans:
                prefetch(by_element[int64(above + top + row) * n + left], min(right - left, CUT.bn) if top + row < bottom else 0)

        make_tiles(
            A, rs_a, cs_a, B, rs_b, cs_b, m, n, k, tile, end, share, group_m, p, blocks, CUT=CUT, WIDE=WIDE, STORE=store_sums,
            ASKS=TERMS.elements and not TERMS.trans, ASK=ask,
        )  # fmt: skip


@prism.kernel
@template(
    BM=constexpr(int), BN=constexpr(int), VECTORS=constexpr(int), SPLIT=constexpr(int), WIDE=constexpr(bool),
    BETA=constexpr(bool), TERMS=constexpr(Terms), EPILOGUE=function, SECOND=function,
)  # fmt: skip
@requires(grid[1], block[1], thread[ADDERS])
def combine_fused(
    parts: ptr(const(float32)) @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], tile: int32 @ grid[1], steps: int32 @ grid[1], share: int32 @ grid[1], group_m: int32 @ grid[1],
    alpha: float32 @ grid[1], beta: float32 @ grid[1], second: ptr(float32) @ grid[1], once: ptr(const(TERMS.once)) @ grid[1],
    by_row: ptr(const(TERMS.row)) @ grid[1], by_column: ptr(const(TERMS.column)) @ grid[1],
    by_element: ptr(const(TERMS.element)) @ grid[1], above: int32 @ grid[1],
):
    """As `ring_fused`, of the sums of parts, as `combine` adds them up.

    Perspective: as `combine`'s.
    Shapes:      as `combine`'s, and `ring_fused`'s.
    Cost:        as `combine`; records are read in place.
    Test:        tests/kernels/test_sgemm_fused.py, tests/gpu/test_sgemm.py
    """
    p: int32 @ block[1] = id()
    with (
        partition(out, thread[1], 0, races="none") as mine, partition(second, thread[1], 0, races="none") as beside,
        group(block[1]),
    ):  # fmt: skip

        @requires(thread[1])
        def store(word: float4 @ thread[1], y: int32 @ thread[1], x: int32 @ thread[1]):
            own: TERMS.element[4]
            for v in range(4):
                own[v] = element_at(by_element, y, x + v, m, n, above, TERMS=TERMS)
            store_word(
                mine, beside, stride, word, own, y, x, m, n, alpha, beta, above, once, by_row, by_column, DOWN=0,
                WIDE=WIDE, BETA=BETA, TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND,
            )  # fmt: skip

        add_parts(parts, m, n, tile, steps, share, group_m, p, BM=BM, BN=BN, VECTORS=VECTORS, SPLIT=SPLIT, STORE=store)


@prism.kernel
@template(CUT=constexpr(FewCut), BETA=constexpr(bool), TERMS=constexpr(Terms), EPILOGUE=function, SECOND=function)
@requires(grid[1], block["CUT.parts"], thread[FEW_THREADS])
@attr("__launch_bounds__(FEW_THREADS, CUT.blocks)")
def few_fused(
    A: ptr(const(float32)) @ grid[1], rs_a: int64 @ grid[1], cs_a: int64 @ grid[1], B: ptr(const(float32)) @ grid[1],
    rs_b: int64 @ grid[1], cs_b: int64 @ grid[1], out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], alpha: float32 @ grid[1], beta: float32 @ grid[1], second: ptr(float32) @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], above: int32 @ grid[1],
):
    """As `ring_fused`, of at most `CUT.rows` rows, as `few` makes them.

    Perspective: as `few`'s.
    Shapes:      as `few`'s, and `ring_fused`'s.
    Cost:        as `few`; records are read in place.
    Test:        tests/kernels/test_sgemm_fused.py, tests/gpu/test_sgemm.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(m, stride, n, 1))
    strip: int32 @ block[CUT.parts] = id()
    with (
        partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target,
        partition(second, thread[1], lambda y, x: y * stride + x, races="none") as beside, group(block[CUT.parts]),
    ):  # fmt: skip

        @requires(thread[1])
        def store(y: int32 @ thread[1], x: int32 @ thread[1], sum: float32 @ thread[1]):
            scaled: float32 = alpha * sum + (beta * target[y, x] if BETA else 0.0)
            found: float32[2]
            make_values(
                found, scaled, element_at(by_element, y, x, m, n, above, TERMS=TERMS), y, x, above, once, by_row, by_column,
                TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND,
            )  # fmt: skip
            target[y, x] = found[0]
            if TERMS.second:
                beside[y, x] = found[1]

        multiply_few(A, rs_a, cs_a, B, rs_b, cs_b, m, n, k, strip, CUT=CUT, STORE=store)


@prism.kernel
@template(TERMS=constexpr(Terms), EPILOGUE=function, SECOND=function)
@requires(grid[1], block[1], thread[FINISHERS])
def finish(
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], second: ptr(float32) @ grid[1],
    once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], above: int32 @ grid[1],
):
    """`out[i, j] = EPILOGUE(out[i, j], ..)`, as `ring_fused`: of a result that another kernel made.

    Perspective: grid, of a block for each `FINISHERS * EACH` elements.
    Shapes:      `out`: m x n, at least 1 each, its rows `stride` elements apart; the rest as `ring_fused`'s.
    Cost:        one pass over the result.
    Test:        tests/kernels/test_sgemm_fused.py, tests/gpu/test_sgemm.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(m, stride, n, 1))
    t: int64 @ thread[1] = id()
    first: int64 @ thread[1] = t // FINISHERS * (FINISHERS * EACH) + t % FINISHERS
    with (
        partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target,
        partition(second, thread[1], lambda y, x: y * stride + x, races="none") as beside, group(thread[1]),
    ):  # fmt: skip
        for v in range(EACH):
            e: int64 = first + v * FINISHERS
            y: int32 = e // n
            x: int32 = e % n
            if e < int64(m) * n:
                found: float32[2]
                make_values(
                    found, target[y, x], element_at(by_element, y, x, m, n, above, TERMS=TERMS), y, x, above, once, by_row,
                    by_column, TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND,
                )  # fmt: skip
                target[y, x] = found[0]
                if TERMS.second:
                    beside[y, x] = found[1]


@prism.device
@template(
    DOWN=constexpr(int), WIDE=constexpr(bool), BETA=constexpr(bool), TERMS=constexpr(Terms), EPILOGUE=function, SECOND=function
)  # fmt: skip
@requires(thread[1])
def store_word(
    out: ptr(float32) @ thread[1], second: ptr(float32) @ thread[1], stride: int64 @ grid[1], word: float4 @ thread[1],
    there: TERMS.element[4] @ thread[1], y: int32 @ thread[1], x: int32 @ thread[1], m: int32 @ grid[1], n: int32 @ grid[1],
    alpha: float32 @ grid[1], beta: float32 @ grid[1], above: int32 @ grid[1], once: ptr(const(TERMS.once)) @ grid[1],
    by_row: ptr(const(TERMS.row)) @ grid[1], by_column: ptr(const(TERMS.column)) @ grid[1],
):
    """Store what EPILOGUE makes of four sums, the first of row y and column x.

    They lie side by side, or as `spread` leaves them, of `DOWN` rows. Where `WIDE` they are one word, of a row that begins at a
    multiple of 16 bytes, and n is a multiple of 4. `there`: the records by element.
    """
    EACH: constexpr(int) = 4 // DOWN if DOWN > 0 else 4  # of the four, so many are of a row
    old: float4
    others: float4
    if WIDE and BETA:
        if y < m and x < n:
            old = float4_cast(out[y * stride + x])
    for v in range(4):
        row: int32 = y + v // EACH * 4
        column: int32 = x + v % EACH * (32 if DOWN > 0 else 1)
        if row < m and column < n:
            if BETA and not WIDE:
                old[v] = out[row * stride + column]
            found: float32[2]
            make_values(
                found, alpha * word[v] + (beta * old[v] if BETA else 0.0), there[v], row, column, above, once, by_row, by_column,
                TERMS=TERMS, EPILOGUE=EPILOGUE, SECOND=SECOND,
            )  # fmt: skip
            if WIDE:
                old[v] = found[0]
                if TERMS.second:
                    others[v] = found[1]
            else:
                out[row * stride + column] = found[0]
                if TERMS.second:
                    second[row * stride + column] = found[1]
    if WIDE:
        if y < m and x < n:
            float4_cast[out[y * stride + x]] = old
            if TERMS.second:
                float4_cast[second[y * stride + x]] = others


@prism.device
@template(CUT=constexpr(RingCut), WIDE=constexpr(bool), TERMS=constexpr(Terms))
@requires(thread[1])
def read_records(
    there: TERMS.element[CUT.columns] @ thread[1], by_element: ptr(const(TERMS.element)) @ grid[1], y: int32 @ thread[1],
    left: int32 @ thread[1], m: int32 @ grid[1], n: int32 @ grid[1], above: int32 @ grid[1],
):  # fmt: skip
    """Read the records of a thread's elements as `store_word` stores them: the first is in row y and column `left`."""
    for e in range(CUT.columns):
        row: int32 = y + (0 if WIDE else e % 4 // (4 // CUT.down) * 4)
        x: int32 = left + 128 // CUT.down * (e // 4) + (e % 4 if WIDE else e % (4 // CUT.down) * 32)
        there[e] = element_at(by_element, row, x, m, n, above, TERMS=TERMS)


@prism.device
@template(TERMS=constexpr(Terms))
@requires(thread[1])
def element_at(
    by_element: ptr(const(TERMS.element)) @ grid[1], y: int32 @ thread[1], x: int32 @ thread[1], m: int32 @ grid[1],
    n: int32 @ grid[1], above: int32 @ grid[1],
) -> TERMS.element @ thread[1]:
    """Return the record of the element at y, x of a result; of none, one of zeros."""
    found: TERMS.element = TERMS.element()
    if TERMS.elements:
        if y < m and x < n:
            found = by_element[int64(above + x) * m + y if TERMS.trans else int64(above + y) * n + x]
    return found


@prism.device
@template(TERMS=constexpr(Terms), N=constexpr(int), EPILOGUE=function, SECOND=function, VALUE=function(default=identity))
@requires(thread[1])
def make_values(
    found: float32[N] @ thread[1], sum: float32 @ thread[1], of_element: TERMS.element @ thread[1], y: int32 @ thread[1],
    x: int32 @ thread[1], above: int32 @ grid[1], once: ptr(const(TERMS.once)) @ grid[1],
    by_row: ptr(const(TERMS.row)) @ grid[1], by_column: ptr(const(TERMS.column)) @ grid[1],
):  # fmt: skip
    """Make the elements at y, x of the results of a sum, with what records have there; the third is combined."""
    of_row: TERMS.row = TERMS.row()
    of_column: TERMS.column = TERMS.column()
    if TERMS.rows:
        of_row = by_row[(0 if TERMS.trans else above) + y]
    if TERMS.columns:
        of_column = by_column[(above if TERMS.trans else 0) + x]
    found[0] = EPILOGUE(sum, 0.0, 0.0, once[0], of_row, of_column, of_element, y, x)
    if TERMS.second:
        found[1] = SECOND(sum, 0.0, 0.0, once[0], of_row, of_column, of_element, y, x)
    if TERMS.reduced > 0:
        found[2] = VALUE(sum, 0.0, 0.0, once[0], of_row, of_column, of_element, y, x)
