"""Those who share a row come to agree on what it comes to: some lanes of a warp, a block, or a cluster of blocks.

Or they guess it of the same elements, each for itself.
"""

from prism.kernels.rows.configurations import GUESSED
from prism.lang import block, constexpr, dtype, function, grid, int32, int64, prism, requires, template, thread, warp


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
