"""Scans of short arrays: by one block alone, or by blocks that take one tile each.

What counts here is the number of round trips to memory, one after the other. A block alone makes two: it loads, and it stores.
Blocks of one tile each load, publish, look back and store: `single_pass` without its loop. The tile is that of the block's
number, so that a block waits for those with lower numbers only, which begin before it.
"""

from prism.lang import (
    assume, attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, load_relaxed, mailbox,
    may_alias, partition, prefetch, prism, ptr, requires, shared, split, template, thread, uint32, uint64,
)
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
@may_alias("x", "y")
def scan_block(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], n: int64 @ grid[1], before: int32 @ grid[1], skew: int32 @ grid[1],
    y_aligned: bool @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
):
    """What `single_pass.scan` computes, of at most `THREADS * ITEMS - before` elements, by one block.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes, Errors: as `single_pass.scan`.
    Numerics:    reassociates `OP`, in a way fixed by the template; `OP` need not be commutative.
    Test:        tests/kernels/test_scan_small.py, tests/gpu/test_scan.py
    """
    assume(count(block[1]) == 1)
    end: int32 @ grid[1] = int32(n) + before
    with partition(y, block[1], offset=-before, races="allow") as target, group(block[1]):
        match split(thread):  # before this kernel waits for the one before it: see docs/barriers.md
            case 1:
                prefetch(x[0], int32(n))
        items: T[ITEMS] @ thread[1]
        with partition(x, block[1], offset=-before) as source:
            block.load_tile(source, items, end, identity, skew, before, WIDTH=WIDTH, REVERSE=REVERSE, SPARE=True)
        total: T @ block[1] = block.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = OP(initial, items[k])
        block.store_tile(target, items, end, y_aligned, before, WIDTH=WIDTH, REVERSE=REVERSE, KEPT=False)


@prism.kernel
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan_once(
    x: ptr(const(TI)) @ grid[1], y: ptr(TO) @ grid[1], n: int64 @ grid[1], before: int32 @ grid[1], skew: int32 @ grid[1],
    y_aligned: bool @ grid[1], identity: T @ grid[1], initial: T @ grid[1], words: ptr(mailbox(T)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """What `single_pass.scan` computes, by as many blocks as there are tiles of `THREADS * ITEMS` elements.

    Perspective: grid, of `ceil((n + before) / (THREADS * ITEMS))` blocks of `THREADS` threads.
    Shapes, Numerics, Errors: as `single_pass.scan`, whose `words` and `control` they may be.
    Test:        tests/kernels/test_scan_small.py, tests/gpu/test_scan.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    TRANSPOSED: constexpr(bool) = WIDTH == 1  # elements of 16 bytes, as in `single_pass.scan`
    end: int64 @ grid[1] = n + before
    tiles: int32 @ grid[1] = int32((end + (TILE - 1)) // TILE)
    tile: int32 @ block[1] = id()
    here: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile
    skip: int32 @ block[1] = before if here == 0 else 0
    with partition(y, block[1], offset=int64(here) * TILE - before, races="allow") as target:
        with group(block[1]):
            block.prefetch_tile(x, here, n, TILE=TILE)  # before this kernel waits for the one before it
            epoch_cell: shared(uint32[1]) @ block[1]
            launches: uint64 @ thread[1] = 0
            match split(thread):
                case 1:
                    launches = load_relaxed(control[0])
            items: T[ITEMS] @ thread[1]
            with partition(x, block[1], offset=int64(here) * TILE - before) as source:
                block.load_tile(
                    source, items, extent(here, end, TILE=TILE), identity, skew, skip, WIDTH=WIDTH, REVERSE=REVERSE, SPARE=True,
                )
            if TRANSPOSED:
                block.warp_striped_to_blocked(items, THREADS=THREADS)
            with claim(epoch_cell, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = uint32(launches >> 32)  # here, not above: the loads of elements don't wait for this one
            RUN: constexpr(int) = ITEMS if TRANSPOSED else WIDTH
            total: T @ block[1] = block.scan(items, identity, WIDTH=RUN, OP=OP, EXCLUSIVE=EXCLUSIVE)
            epoch: uint32 @ block[1] = epoch_cell[0] + 1
            grid.publish(words, tile, total, epoch)
            between: T @ thread[1] = grid.look_back_share(words, 0, tile, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
            prefix: T @ block[1] = OP(initial, block.reduce(between, OP=OP))
            if tile == tiles - 1:  # every block has published, so has read what is counted here
                grid.count_launch(control, words, capacity, tiles, epoch, identity)
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = OP(prefix, items[k])
            if TRANSPOSED:
                block.blocked_to_warp_striped(items, THREADS=THREADS)
            # The extent is found again: kept in a register it makes float32 of 2^20 elements 2 to 3 % slower.
            block.store_tile(
                target, items, extent(here, end, TILE=TILE), y_aligned, skip, WIDTH=WIDTH, REVERSE=REVERSE, KEPT=False,
            )


EXAMPLES = {
    "scan_block": {
        "TI": "int32", "T": "int32", "TO": "int32", "OP": operators.add, "THREADS": 256, "ITEMS": 4, "WIDTH": 4,
        "EXCLUSIVE": False, "REVERSE": False,
    },
    "scan_once": {
        "TI": "int32", "T": "int32", "TO": "int32", "OP": operators.add, "THREADS": 256, "ITEMS": 4, "WIDTH": 4, "BLOCKS": 2,
        "WORDS": 1, "EXCLUSIVE": False, "REVERSE": False,
    },
}
