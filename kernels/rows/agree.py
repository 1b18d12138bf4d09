"""Those who share a row come to agree on what it comes to: some lanes of a warp, a block, or a cluster of blocks.

Or they guess it of the same elements, each for itself.
"""

from prism.kernels.rows.configurations import GUESSED
from prism.kernels.rows.sums import add_slopes, gather_slopes, spread_slopes
from prism.lang import (
    block, constexpr, count, dtype, function, grid, group, id, int32, int64, partition, prism, requires, shared,
    shuffle_xor, template, thread, warp,
)  # fmt: skip


@prism.device
@template(S=dtype, OP=function, BLOCKS=constexpr(int), WIDE=constexpr(bool), NEAR=constexpr(bool))
@requires(block["BLOCKS"], thread[32])
def agree(value: S @ thread[1], identity: S @ grid[1], lanes: int32 @ grid[1]) -> S @ thread[1]:
    """`OP` of the values of all who share a row, for each of them: see `map_row`; `NEAR`: of those in a warp."""
    if NEAR:
        return warp.reduce_near(value, 5 if WIDE else lanes, OP=OP)
    elif BLOCKS > 1:
        return block.reduce_cluster(value, identity, OP=OP, BLOCKS=BLOCKS)
    elif WIDE:
        return block.reduce_all(value, identity, OP=OP)
    else:
        return warp.reduce_near(value, lanes, OP=OP)


@prism.device
@template(S=dtype, ROWS=constexpr(int), ONCE=constexpr(int), GUESS=function)
@requires(thread[1])
def guess_rows(row: int64 @ thread[1], rows: int64 @ thread[1], identity: S @ grid[1], guesses: S[ROWS] @ thread[1]):
    """Put `GUESS(r)` of the `ROWS` rows from number `row` on into `guesses`, where `ONCE` is `GUESSED`.

    Of rows that are not there it is that of the last one.
    """
    for q in range(ROWS):
        guesses[q] = GUESS(min(row + q, rows - 1)) if ONCE == GUESSED else identity


@prism.device
@template(D=dtype, F=dtype, BLOCKS=constexpr(int), WARPS=constexpr(int))
@requires(block["BLOCKS"], thread[32])
def agree_slopes(slopes: F @ thread[1], identity: F @ block[BLOCKS]) -> F @ thread[1]:
    """All four sums of the `Slopes` of all who share a row, for each of them: no more than `WARPS` warps of each block.

    Cost: as of `agree` of one number, and 8 shuffles more: of four numbers a lane adds up one.
    """
    PARTS: constexpr(int) = (WARPS * BLOCKS + 31) // 32
    lane: int32 @ thread[1] = id() % 32
    own: D @ thread[1] = spread_slopes(slopes, lane, D=D)
    for step in range(2, 5):
        own = own + shuffle_xor(own, 1 << step)
    if BLOCKS > 1:
        found: F[1, PARTS] @ thread[1]
        all: F[1] @ thread[1]
        mine: F @ thread[1] = gather_slopes(own, F=F)
        with group(thread[1]):
            all[0] = mine
        block.gather_values(all, identity, found, BLOCKS=BLOCKS)
        total: F @ thread[1] = found[0, 0]
        for k in range(1, PARTS):
            total = add_slopes(total, found[0, k])
        own = spread_slopes(total, lane, D=D)
        for step in range(2, 5):
            own = own + shuffle_xor(own, 1 << step)
    else:
        w: int32 @ thread[32] = id()
        many: int32 @ block[1] = count(warp[1])
        sums: shared(D[WARPS, 4])
        with partition(sums, thread[1], lambda k: (w, lane % 4), races="none") as slot, group(thread[1]):
            if lane < 4:
                slot[0] = own
        own = 0
        for k in range(0, WARPS, 8):
            if WARPS > k:
                own = own + (sums[min(k + lane // 4, WARPS - 1), lane % 4] if k + lane // 4 < many else 0)
        for step in range(2, 5):
            if WARPS * 4 > 1 << step:
                own = own + shuffle_xor(own, 1 << step)
    return gather_slopes(own, F=F)
