"""Elements at indices: each is moved as it is, whatever it stands for."""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread,
    uint64,
)
from prism.lib.thread import extent as extent_of


@prism.device
@requires(thread[1])
def wrap_index(index: int64 @ thread[1], extent: int64 @ thread[1]) -> int64 @ thread[1]:
    """An index below `extent`: negative ones count from the end, and others are the rest of a division by it."""
    if uint64(index) < uint64(extent):  # nearly all are, and one comparison says so
        return index
    behind: int64 = index + extent if index < 0 else index
    if uint64(behind) < uint64(extent):
        return behind
    rest: int64 = index % extent  # as C: of the sign of the index
    return rest + extent if rest < 0 else rest


@prism.kernel
@template(T=dtype, I=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def gather(
    x: ptr(const(T)) @ grid[1], positions: ptr(const(I)) @ grid[1], y: ptr(T) @ grid[1], extent: int64 @ grid[1],
    n: int64 @ grid[1], skew: int32 @ grid[1], y_aligned: bool @ grid[1],
):
    """`y[i] = x[positions[i]]`, where positions that are out of range wrap.

    Perspective: grid, a block for each tile of `THREADS * ITEMS` elements.
    Shapes:      `x`: `extent` elements, at least one. `positions`, `y`: `n`, and no memory of each other. `skew`: how many
                 elements `positions` begins past one that is aligned to `WIDTH` of them; -1: it is not known.
    Errors:      if `y_aligned`, `y` must be, to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/kernels/test_gather.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    here: int32 @ block[1] = id()
    many: int32 @ block[1] = extent_of(here, n, TILE=TILE)
    with partition(y, block[1], offset=int64(here) * TILE) as target:
        with group(block[1]):
            wanted: I[ITEMS] @ thread[1]
            items: T[ITEMS] @ thread[1]
            with partition(positions, block[1], offset=int64(here) * TILE) as source:
                block.load_tile(source, wanted, many, 0, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=True)
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = x[wrap_index(int64(wanted[k]), extent)]
            block.store_tile(target, items, many, y_aligned, 0, WIDTH=WIDTH, REVERSE=False, KEPT=False)


EXAMPLES = {"gather": {"T": "uint32", "I": "int64", "THREADS": 256, "ITEMS": 4, "WIDTH": 2}}
