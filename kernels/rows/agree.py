"""Those who share a row come to agree on what it comes to: some lanes of a warp, a block, or a cluster of blocks."""

from prism.lang import block, constexpr, dtype, function, grid, int32, prism, requires, template, thread, warp


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
