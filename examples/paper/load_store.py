"""Loads and stores for a thread, a warp and a block, each made of the one below (the paper's appendix "CUB Functions").

A level's work is to give each unit inside it the right part of the memory, and to call the function of that unit. What it
may call is checked: `block_load` by one warp, or `warp_load` by one thread, are errors.
"""

from prism.lang import (
    attr, block, const, constexpr, dtype, grid, group, id, int32, partition, prism, ptr, requires, template, thread, warp,
)


@prism.device
@template(T=dtype, ITEMS=constexpr(int))
@requires(thread[1])
def thread_load(x: ptr(const(T)) @ thread[1], items: T[ITEMS] @ thread[1]):
    """Put `x[0] ... x[ITEMS - 1]` into a thread's registers: an array, where the paper has a pointer and a run-time count."""
    for k in range(ITEMS):
        items[k] = x[k]


@prism.device
@template(T=dtype, ITEMS=constexpr(int))
@requires(warp[1])
def warp_load(x: ptr(const(T)) @ warp[1], items: T[ITEMS] @ thread[1]):
    """Lane `l` of a warp loads the `ITEMS` elements from `x[l * ITEMS]` on."""
    lane: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=lane * ITEMS) as mine:
        with group(thread[1]):
            thread_load(mine, items)


@prism.device
@template(T=dtype, ITEMS=constexpr(int))
@requires(block[1], warp[1])
def block_load(x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1]):
    """Warp `w` of a block loads the `32 * ITEMS` elements from `x[w * 32 * ITEMS]` on.

    Repaired: the paper's warps start `ITEMS` elements apart, so that the first lane of one reads what the second lane of
              the warp before has read, and most of the tile is read by nobody.
    """
    w: int32 @ warp[1] = id()
    with partition(x, warp[1], offset=w * (32 * ITEMS)) as run:
        with group(warp[1]):
            warp_load(run, items)


@prism.device
@template(T=dtype, ITEMS=constexpr(int))
@requires(thread[1])
def thread_store(items: T[ITEMS] @ thread[1], x: ptr(T) @ thread[1]):
    """Write a thread's registers to `x[0] ... x[ITEMS - 1]`."""
    for k in range(ITEMS):
        x[k] = items[k]


@prism.device
@template(T=dtype, ITEMS=constexpr(int))
@requires(warp[1])
def warp_store(items: T[ITEMS] @ thread[1], x: ptr(T) @ warp[1]):
    """The reverse of `warp_load`: memory that is written goes down one exact step after the other."""
    lane: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=lane * ITEMS) as mine:
        with group(thread[1]):
            thread_store(items, mine)


@prism.device
@template(T=dtype, ITEMS=constexpr(int))
@requires(block[1], warp[1])
def block_store(items: T[ITEMS] @ thread[1], x: ptr(T) @ block[1]):
    """The reverse of `block_load`.

    Repaired: as `block_load`; here the paper's overlapping parts are a race.
    """
    w: int32 @ warp[1] = id()
    with partition(x, warp[1], offset=w * (32 * ITEMS)) as run:
        with group(warp[1]):
            warp_store(items, run)


@prism.kernel
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def copy(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    """`y = x`, a tile of `THREADS * ITEMS` elements a block, whole tiles only: the six functions at work, and no barrier."""
    tile: int32 @ block[1] = id() * (THREADS * ITEMS)
    with partition(x, block[1], offset=tile) as source:
        with partition(y, block[1], offset=tile) as target:
            with group(block[1]):
                items: T[ITEMS] @ thread[1]
                block_load(source, items)
                block_store(items, target)


@prism.kernel
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def reverse(x: ptr(T) @ grid[1]):
    """Reverse each block's tile in place: what was loaded is written by others, which takes the one barrier.

    It is the paper's example of a load that needs a barrier after it, and only where its memory is written later.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    tile: int32 @ block[1] = id() * TILE
    with partition(x, block[1], offset=tile) as source:
        with group(block[1]):
            items: T[ITEMS] @ thread[1]
            block_load(source, items)
            t: int32 @ thread[1] = id()
            with partition(source, thread[1], offset=TILE - ITEMS - t * ITEMS) as mine:
                with group(thread[1]):
                    for k in range(ITEMS):
                        mine[ITEMS - 1 - k] = items[k]


EXAMPLES = {
    "copy": {"T": "int32", "ITEMS": 4, "THREADS": 128},
    "reverse": {"T": "int32", "ITEMS": 4, "THREADS": 128},
}
