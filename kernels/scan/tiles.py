"""How many elements a tile of an array has."""

from prism.lang import constexpr, int32, int64, prism, requires, template, thread


@prism("device")
@requires(thread[1])
@template(TILE=constexpr(int))
def extent(tile: int32 @ thread[1], n: int64 @ thread[1]) -> int32 @ thread[1]:
    """How many of a tile's elements there are: fewer than `TILE` in the last tile, none beyond it."""
    return int32(min(max(n - int64(tile) * TILE, 0), TILE))
