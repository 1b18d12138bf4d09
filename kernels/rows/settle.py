"""What is done with a row that those who share it have in registers: reductions that they agree on, and the results."""

from prism.lang import (
    block, constexpr, dtype, float32, float64, function, grid, group, int32, int64, prism, requires, template, thread,
)  # fmt: skip
from prism.kernels.rows.agree import agree, agree_slopes
from prism.kernels.rows.configurations import GUESSED, OF_WARPS
from prism.kernels.rows.sums import Slopes, WideSlopes


@prism.device
@template(
    A=dtype, S=dtype, S2=dtype, P=dtype, STAGES=constexpr(int), ONCE=constexpr(int), VECTORS=constexpr(int), N=constexpr(int),
    WIDTH=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int), WIDE=constexpr(bool), FULL=constexpr(bool),
    FIRST=function, OP=function, SECOND=function, OP2=function, PACK=function, JOIN=function, LAST=function, STORE=function,
)
@requires(block["BLOCKS"], thread[32])
def settle_row(
    items: A[VECTORS, N] @ thread[1], guess: S @ thread[1], row: int64 @ thread[1], part: int32 @ thread[1],
    team: int32 @ thread[1], many: int32 @ block[BLOCKS], end: int32 @ thread[1], lanes: int32 @ grid[1],
    identity: S @ grid[1], identity2: S2 @ grid[1],
):
    """Reduce a row and store what becomes of it: all of `map_row` that comes after `READ`.

    Perspective: as of `map_row`.
    Shapes:      a thread has the vectors at `part`, `part + team`, and so on, of `many`; of those at `end` or behind nothing is
                 used. `guess`: where `ONCE` is `GUESSED`, what stands for `a`. `items[j]` are the numbers of its vector `j`, and
                 become what `SECOND` makes of them. `FULL`: as of `map_row`.
    """
    PARTS: constexpr(int) = (THREADS * BLOCKS + 1023) // 1024
    a: S @ thread[1] = guess if ONCE == GUESSED else identity
    b: S2 @ thread[1] = identity2
    if ONCE != GUESSED:
        with group(thread[1]):
            for j in range(VECTORS):  # no branches: loads would be moved into them
                values: A[N]
                for k in range(N):
                    values[k] = items[j, k]
                own: S = FIRST(j, (part + j * team if FULL else min(part + j * team, many - 1)) * WIDTH, values)
                a = OP(a, own if FULL or part + j * team < end else identity)
        a = agree(a, identity, lanes, OP=OP, BLOCKS=BLOCKS, WIDE=WIDE, NEAR=ONCE == OF_WARPS)
    if STAGES == 2:
        with group(thread[1]):
            for j in range(VECTORS):
                values: A[N]
                for k in range(N):
                    values[k] = items[j, k]
                own: S2 = SECOND(j, (part + j * team if FULL else min(part + j * team, many - 1)) * WIDTH, values, a)
                b = OP2(b, own if FULL or part + j * team < end else identity2)
                for k in range(N):
                    items[j, k] = values[k]
        if WIDE and (S2 == Slopes or S2 == WideSlopes):
            b = agree_slopes(b, identity2, D=float64 if S2 == WideSlopes else float32, BLOCKS=BLOCKS, WARPS=THREADS // 32)
        else:
            b = agree(b, identity2, lanes, OP=OP2, BLOCKS=BLOCKS, WIDE=WIDE, NEAR=ONCE == OF_WARPS)
    total: P @ thread[1] = PACK(a, b)
    if ONCE == OF_WARPS and WIDE:
        none: P @ block[BLOCKS] = PACK(identity, identity2)
        parts: P[PARTS] @ thread[1]
        block.gather_warps(total, none, parts, BLOCKS=BLOCKS)
        total = JOIN(parts)
    c: A @ thread[1] = LAST(a, total)

    @requires(thread[1])
    def finish(j: int32 @ thread[1]):
        values: A[N]
        for k in range(N):
            values[k] = items[j, k]
        STORE(j, row, (part + j * team) * WIDTH, values, total, c)

    with group(thread[1]):
        if FULL:
            if end > 0:  # asked once: addresses differ by one step then
                for j in range(VECTORS, unroll=True):
                    finish(j)
        else:
            for j in range(VECTORS):
                if part + j * team < end:
                    finish(j)
