"""What is done with several rows at once that lie where they can be read again: those who share them meet for all together."""

from prism.lang import (
    block, constexpr, dtype, float32, float64, function, grid, group, int32, int64, prism, requires, template, thread,
    warp,
)  # fmt: skip
from prism.kernels.rows.agree import agree_slopes
from prism.kernels.rows.configurations import GUESSED, OF_WARPS
from prism.kernels.rows.sums import Slopes, WideSlopes


@prism.device
@template(
    A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), VECTORS=constexpr(int),
    WIDTH=constexpr(int), KEPT=constexpr(int), BLOCKS=constexpr(int), WARPS=constexpr(int), ROWS=constexpr(int),
    TEAM=constexpr(int), TAKE=function, FIRST=function, OP=function, SECOND=function,
    OP2=function, PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def settle_rows(
    row: int64 @ block[BLOCKS], rows: int64 @ grid[1], part: int32 @ thread[1], team: int32 @ block[BLOCKS],
    many: int32 @ block[BLOCKS], guesses: S[ROWS] @ thread[1], identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Do what `settle_row` does for the `ROWS` rows from number `row` on, as far as there are `rows`.

    Perspective: as of `map_row`, `WIDE`.
    Shapes:      as of `settle_row`, with a guess for each row. `WARPS`: as many as a block has, or more. `TEAM`: as of
                 `fetch_rows`. `TAKE(q, j, values)`
                 gives the numbers of vector `j` of row `row + q`, as often as it is asked.
    Cost:        `SECOND` is called once more for the results; all meet for each stage, or, where `ONCE`, for both.
    """
    PARTS: constexpr(int) = (WARPS * BLOCKS + 31) // 32
    a: S[ROWS] @ thread[1]
    b: S2[ROWS] @ thread[1]
    with group(thread[1]):
        for q in range(ROWS):
            b[q] = identity2
            if ONCE == GUESSED:
                a[q] = guesses[q]
            else:
                a[q] = identity
                for j in range(VECTORS):
                    values: A[KEPT * WIDTH]
                    TAKE(q, j, values)
                    own: S = FIRST(j, min(part + j * team, many - 1) * WIDTH, values)
                    a[q] = OP(a[q], own if TEAM > 0 or part + j * team < many else identity)
    if ONCE != GUESSED:
        agree_all(a, identity, OP=OP, BLOCKS=BLOCKS, WARPS=WARPS, NEAR=ONCE == OF_WARPS)
    if STAGES == 2:
        with group(thread[1]):
            for j in range(VECTORS):
                for q in range(ROWS):  # what is loaded for a column is loaded once
                    values: A[KEPT * WIDTH]
                    TAKE(q, j, values)
                    own: S2 = SECOND(j, min(part + j * team, many - 1) * WIDTH, values, a[q])
                    b[q] = OP2(b[q], own if TEAM > 0 or part + j * team < many else identity2)
    if TEAM > 0 and ROWS == 1 and (S2 == Slopes or S2 == WideSlopes):
        b[0] = agree_slopes(b[0], identity2, D=float64 if S2 == WideSlopes else float32, BLOCKS=BLOCKS, WARPS=WARPS)
    elif STAGES == 2:
        agree_all(b, identity2, OP=OP2, BLOCKS=BLOCKS, WARPS=WARPS, NEAR=ONCE == OF_WARPS)
    total: P[ROWS] @ thread[1]
    with group(thread[1]):
        for q in range(ROWS):
            total[q] = PACK(a[q], b[q])
    if ONCE == OF_WARPS:
        none: P @ block[BLOCKS] = PACK(identity, identity2)
        found: P[ROWS, PARTS] @ thread[1]
        block.gather_values(total, none, found, BLOCKS=BLOCKS)
        for q in range(ROWS):
            parts: P[PARTS] @ thread[1]
            with group(thread[1]):
                for k in range(PARTS):
                    parts[k] = found[q, k]
            total[q] = JOIN(parts)

    factors: A[ROWS] @ thread[1]
    with group(thread[1]):
        for q in range(ROWS):
            factors[q] = LAST(a[q], total[q])

    @requires(thread[1])
    def finish(q: int32 @ thread[1], j: int32 @ thread[1]):
        values: A[KEPT * WIDTH]
        TAKE(q, j, values)
        if STAGES == 2:
            same: S2 = SECOND(j, (part + j * team) * WIDTH, values, a[q])
        STORE(j, row + q, (part + j * team) * WIDTH, values, total[q], factors[q])

    with group(thread[1]):
        if TEAM > 0 and ROWS == 1:
            for j in range(VECTORS, unroll=True):
                finish(0, j)
        elif part + (VECTORS - 1) * team < many and row + ROWS <= rows:  # no branches: what is loaded then is under way at once
            for j in range(VECTORS, unroll=True):
                for q in range(ROWS, unroll=True):
                    finish(q, j)
        else:
            for j in range(VECTORS):
                for q in range(ROWS):
                    if part + j * team < many and row + q < rows:
                        finish(q, j)


@prism.device
@template(T=dtype, N=constexpr(int), OP=function, BLOCKS=constexpr(int), WARPS=constexpr(int), NEAR=constexpr(bool))
@requires(block["BLOCKS"], thread[32])
def agree_all(values: T[N] @ thread[1], identity: T @ block[BLOCKS]):
    """Have all threads agree on `OP` of their values, each of `N` with those of its place; `NEAR`: those of a warp."""
    for q in range(N):
        values[q] = warp.reduce_near(values[q], 5, OP=OP)
    if not NEAR:
        PARTS: constexpr(int) = (WARPS * BLOCKS + 31) // 32
        found: T[N, PARTS] @ thread[1]
        block.gather_values(values, identity, found, BLOCKS=BLOCKS)
        for q in range(N):
            with group(thread[1]):
                values[q] = found[q, 0]
                for k in range(1, PARTS):
                    values[q] = OP(values[q], found[q, k])
            values[q] = warp.reduce_near(values[q], 5, OP=OP)
