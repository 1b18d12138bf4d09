"""An array written from another: what lazy arrays, which are computed where they are read, become memory by.

Each block has one tile. There is nothing that blocks have in common.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread, uint8,
)


@prism.kernel
@template(TI=dtype, TO=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def copy(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1], y_aligned: bool @ grid[1],
    otherwise: TO @ grid[1],
):
    """`y[i] = TO(x[i])`.

    Perspective: grid, a block for each tile of `THREADS * ITEMS` elements.
    Shapes:      `x`, `y`: `n` elements. `skew`: how many elements `x` begins past one that is aligned to `WIDTH` of them; -1: it
                 is not known. `otherwise`: any number.
    Errors:      if `y_aligned`, `y` must be, to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/kernels/test_transform.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    here: int32 @ block[1] = id()
    with partition(y, block[1], offset=int64(here) * TILE) as target:
        with group(block[1]):
            items: TO[ITEMS] @ thread[1]
            many: int32 @ block[1] = int32(min(n - int64(here) * TILE, TILE))
            with partition(x, block[1], offset=int64(here) * TILE) as source:
                block.load_tile(source, items, many, otherwise, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=True)
            block.store_tile(target, items, many, y_aligned, 0, WIDTH=WIDTH, REVERSE=False, KEPT=False)


@prism.kernel
@template(TI=dtype, TO=dtype, THREADS=constexpr(int), ITEMS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def copy_where(x: ptr(const(TI)) @ grid[1], where: ptr(const(uint8)) @ grid[1], y: ptr(TO) @ grid[1], n: int64 @ grid[1]):
    """`y[i] = TO(x[i])` where `where[i]` is not 0; other elements stay, and those of `x` there are not read.

    Perspective: grid, a block for each tile of `THREADS * ITEMS` elements.
    Shapes:      `x`, `where`, `y`: `n` elements.
    Test:        tests/kernels/test_transform.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    here: int32 @ block[1] = id()
    with partition(y, block[1], offset=int64(here) * TILE) as target:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            first: int64 @ block[1] = int64(here) * TILE
            with partition(target, thread[1], f=lambda k: k * THREADS + t) as mine:
                with group(thread[1]):
                    for k in range(ITEMS):
                        if first + k * THREADS + t < n:
                            if where[first + k * THREADS + t] != 0:
                                mine[k] = TO(x[first + k * THREADS + t])


@prism.kernel
@template(TI=dtype, TO=dtype, COUNTED=constexpr(bool), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def scatter(
    x: ptr(const(TI)) @ grid[1], spots: ptr(const(int64)) @ grid[1], kept: ptr(const(int64)) @ grid[1], y: ptr(TO) @ grid[1],
    n: int64 @ grid[1],
):
    """`y[spots[i]] = TO(x[i])`, for i below `n` and, where `COUNTED`, `kept[0]`. Of those of one place any may stand.

    Perspective: grid, a block for each `THREADS` elements.
    Shapes:      `x`, `spots`: `n` elements, of which those behind `kept[0]` are not read.
    Test:        tests/kernels/test_transform.py
    """
    me: int64 @ thread[1] = id()
    many: int64 @ grid[1] = n
    if COUNTED:
        many = min(kept[0], n)
    with partition(y, thread[1], offset=0, races="allow") as out, group(thread[1]):  # where spots are, data says
        if me < many:
            out[spots[me]] = TO(x[me])


EXAMPLES = {
    "copy": {"TI": "float32", "TO": "float32", "THREADS": 256, "ITEMS": 16, "WIDTH": 4},
    "copy_where": {"TI": "float32", "TO": "float32", "THREADS": 256, "ITEMS": 8},
    "scatter": {"TI": "float32", "TO": "float32", "COUNTED": False, "THREADS": 256},
}
