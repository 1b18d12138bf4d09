"""The scan of a whole array of elements of one or two bytes, in one pass.

It goes as single_pass.py does, but a tile stays in registers as it was loaded, several elements in a word, with what comes
before each of its rows: tiles are as large as those of larger elements, with few instructions an element. A row is gone
through twice: for its total when it is there, and for its scan once the tile's prefix is known.
"""

from prism.lang import (
    assume, attr, block, const, constexpr, count, distinct, dtype, function, grid, group, id, int32, int64, mailbox, may_alias,
    partition, prism, ptr, requires, template, thread, uint32, uint64,
)
from prism.kernels.scan.rows import SUM, load_rows, store_scan, total_of_row
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, T=dtype, OP=function, FORM=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool),
    STABLE=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan_packed(
    x: ptr(const(TI)) @ grid[1], y: ptr(TI) @ grid[1], n: int64 @ grid[1], before: int32 @ grid[1], skew: int32 @ grid[1],
    identity: T @ grid[1], initial: T @ grid[1], words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1],
    control: ptr(uint64) @ grid[1],
):
    """`y[i] = OP(initial, x[0], ..., x[i])`, without `x[i]` itself where `EXCLUSIVE`; from the end where `REVERSE`.

    Perspective, Shapes, Source: as `scan`, `words` and `control` too; `skew` is at least 0.
    Numerics:    computes in `T`, and cuts off or rounds each result once; else as `scan`. `OP`'s results, cut off, must depend
                 on nothing but its arguments, cut off. `FORM`: of rows.py, one that is `OP`'s; with `OR` and `AND`, `initial` and
                 `identity` are 0 or 1.
    Errors:      `y[-before]` must be aligned to 16 bytes; `WIDTH` is as many bytes of elements.
    Test:        tests/kernels/test_scan_packed.py, tests/gpu/test_scan.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    ROWS: constexpr(int) = ITEMS // WIDTH
    # Sums of bytes: a row of each half of the tile share a word on their way through the shuffles. The first half's sum needs
    # no more than 24 bits of it, and of the second's the lowest 8 are enough.
    PARTS: constexpr(int) = 2 if FORM == SUM and WIDTH == 16 and ROWS % 2 == 0 and TILE <= 1 << 17 else 1
    EACH: constexpr(int) = ROWS // PARTS
    end: int64 @ grid[1] = n + before
    tiles: int32 @ grid[1] = int32((end + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each tile is one block's
        with group(block[1]):
            # Before this kernel waits for the one before it: about what this block draws first.
            block.prefetch_tile(x, max(tiles - 1 - me, 0) if REVERSE else me, n, TILE=TILE)
            held: uint32[ITEMS * 4 // WIDTH] @ thread[1]
            ahead: uint32[ITEMS * 4 // WIDTH] @ thread[1]
            bases: T[EACH] @ thread[1]  # what comes before each row, in this tile's part
            soon_bases: T[EACH] @ thread[1]
            lower: T @ block[1] = identity  # the first part's total, where there are two
            soon_lower: T @ block[1] = identity

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1]) -> T @ block[1]:
                nonlocal soon_lower
                here: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile  # where it lies
                with partition(x, block[1], offset=int64(here) * TILE - before) as source:
                    load_rows(
                        source, ahead, int32(min(end - int64(here) * TILE, TILE + WIDTH)), TI(identity), skew,
                        before if here == 0 else -WIDTH, WIDTH=WIDTH, PARTS=PARTS, REVERSE=REVERSE,
                    )
                soon: int32 @ block[1] = max(here - blocks, 0) if REVERSE else here + blocks  # about what this block draws next
                block.prefetch_tile(x, soon, n, TILE=TILE)
                with group(thread[1]):
                    for j in range(ROWS):
                        row: uint32[4]
                        for i in range(4):
                            row[i] = ahead[4 * j + i]
                        of_row: T = total_of_row(row, TI=TI, T=T, OP=OP, WIDTH=WIDTH, FORM=FORM)
                        if j < EACH:
                            soon_bases[j] = of_row
                        else:
                            soon_bases[j % EACH] = soon_bases[j % EACH] + T(uint32(of_row) << 24)
                total: T @ block[1] = block.scan(soon_bases, identity, WIDTH=1, OP=OP, EXCLUSIVE=True)
                if PARTS == 2:
                    soon_lower = T(uint32(total) & uint32(0xFFFFFF))
                    total = soon_lower + T(uint32(total) >> 24)
                return total

            @requires(block[1], thread["THREADS"])
            def keep():
                nonlocal lower
                with group(thread[1]):
                    for k in range(ITEMS * 4 // WIDTH):
                        held[k] = ahead[k]
                    for k in range(EACH):
                        bases[k] = soon_bases[k]
                lower = soon_lower

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1], prefix: T @ block[1]):
                there: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile
                assume(distinct(there))  # a number is drawn once
                with partition(whole, block[1], offset=int64(there) * TILE - before) as target:
                    store_scan(
                        target, held, bases, prefix, lower, extent(there, end, TILE=TILE), before if there == 0 else 0,
                        TI=TI, OP=OP, WIDTH=WIDTH, FORM=FORM, THREADS=THREADS, EXCLUSIVE=EXCLUSIVE, REVERSE=REVERSE,
                    )

            grid.scan_tiles(
                words, capacity, control, blocks, tiles, identity, initial, OP=OP, LOAD=load, KEEP=keep, STORE=store,
                THREADS=THREADS, WORDS=WORDS, STABLE=STABLE,
            )


EXAMPLES = {
    "scan_packed": {
        "TI": "uint8", "T": "uint32", "OP": operators.add, "FORM": SUM, "THREADS": 256, "ITEMS": 128, "WIDTH": 16, "BLOCKS": 2,
        "WORDS": 2, "EXCLUSIVE": False, "REVERSE": False, "STABLE": False,
    },
}
