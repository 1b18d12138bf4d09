"""The scan of a whole array in one pass: every element is read once and written once.

The array is cut into tiles. A block draws a tile's number, loads the tile, scans it in its registers and publishes its
total (`prism.lib.grid`). The tile's prefix is that of the block's tile before, and the totals published since: each block adds
those up for itself, so that none waits for another's prefix. A tile is in registers for a whole trip of the loop before its
prefix is asked for: by then the totals that it needs are there, and the next tile's loads were under way.
"""

from prism.lang import (
    assume, attr, block, const, constexpr, count, distinct, dtype, function, grid, group, id, int32, int64, mailbox, may_alias,
    partition, prism, ptr, requires, template, thread, uint32, uint64,
)
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool), STABLE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], n: int64 @ grid[1], before: int32 @ grid[1], skew: int32 @ grid[1],
    y_aligned: bool @ grid[1], identity: T @ grid[1], initial: T @ grid[1], words: ptr(mailbox(T)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y[i] = OP(initial, x[0], ..., x[i])`, without `x[i]` itself where `EXCLUSIVE`; from the end where `REVERSE`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `y`: `n` elements; they may be the same memory. `words`: `capacity` of them, at least one a tile of
                 `THREADS * ITEMS` elements. `control`: one word, the number of launches so far above the counter. Both
                 are zero at first, and of no other use at the same time. The first tile begins `before` elements, fewer than
                 `WIDTH`, before `x` and `y`: where vectors are aligned though the arrays are not. `x[-before]` is `skew` elements
                 past one that is aligned to `WIDTH` elements; -1: it is not known.
    Numerics:    computes in `T`: elements are converted to it, and results to `TO`. Reassociates `OP`: with `STABLE` in a way
                 fixed by `n`, `before` and the template, else differently from run to run; `OP` need not be commutative.
                 `identity` is `OP`'s. With `REVERSE`, `y[i]` is `OP(initial, x[n - 1], ..., x[i])`.
    Errors:      if `y_aligned`, `y[-before]` must be, to `WIDTH` elements, at most 16 bytes in all.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/kernels/test_scan.py, tests/gpu/test_scan.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    TRANSPOSED: constexpr(bool) = WIDTH == 1  # elements of 16 bytes: four shuffles each; a thread's own adjacent ones need none
    end: int64 @ grid[1] = n + before
    tiles: int32 @ grid[1] = int32((end + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each tile is one block's
        with group(block[1]):
            # Before this kernel waits for the one before it: about what this block draws first.
            block.prefetch_tile(x, max(tiles - 1 - me, 0) if REVERSE else me, n, TILE=TILE)
            items: T[ITEMS] @ thread[1]
            ahead: T[ITEMS] @ thread[1]

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1]) -> T @ block[1]:
                here: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile  # where it lies
                with partition(x, block[1], offset=int64(here) * TILE - before) as source:
                    block.load_tile(
                        source, ahead, extent(here, end, TILE=TILE), identity, skew, before if here == 0 else 0, WIDTH=WIDTH,
                        REVERSE=REVERSE, SPARE=False,
                    )
                soon: int32 @ block[1] = max(here - blocks, 0) if REVERSE else here + blocks  # about what this block draws next
                block.prefetch_tile(x, soon, n, TILE=TILE)
                if TRANSPOSED:
                    block.warp_striped_to_blocked(ahead, THREADS=THREADS)
                RUN: constexpr(int) = ITEMS if TRANSPOSED else WIDTH
                return block.scan(ahead, identity, WIDTH=RUN, OP=OP, EXCLUSIVE=EXCLUSIVE)

            @requires(block[1], thread["THREADS"])
            def keep():
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = ahead[k]

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1], prefix: T @ block[1]):
                with group(thread[1]):
                    for k in range(ITEMS):
                        items[k] = OP(prefix, items[k])
                if TRANSPOSED:
                    block.blocked_to_warp_striped(items, THREADS=THREADS)
                there: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile
                assume(distinct(there))  # a number is drawn once
                with partition(whole, block[1], offset=int64(there) * TILE - before) as target:
                    block.store_tile(
                        target, items, extent(there, end, TILE=TILE), y_aligned, before if there == 0 else 0, WIDTH=WIDTH,
                        REVERSE=REVERSE, KEPT=False,
                    )

            grid.scan_tiles(
                words, capacity, control, blocks, tiles, identity, initial, OP=OP, LOAD=load, KEEP=keep, STORE=store,
                THREADS=THREADS, WORDS=WORDS, STABLE=STABLE,
            )


EXAMPLES = {
    "scan": {
        "TI": "int32", "T": "int32", "TO": "int32", "OP": operators.add, "THREADS": 256, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 2,
        "WORDS": 2, "EXCLUSIVE": False, "REVERSE": False, "STABLE": False,
    },
}
