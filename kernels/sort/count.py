"""How often each digit of keys occurs, of all digits at once."""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, template, thread, uint32,
)
from prism.kernels.sort.order import INTEGER, digit, encode
from prism.lib.thread import extent


@prism.device
@requires(grid[1], block[1], thread["THREADS"])
@template(
    K=dtype, C=dtype, KIND=constexpr(int), COPIES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int),
)
def add_digits(
    x: ptr(const(K)) @ grid[1], counts: ptr(C) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1], flip: K @ grid[1],
    lowest: K @ grid[1], rows: int32 @ grid[1],
):
    """What `count_digits` does."""
    TILE: constexpr(int) = THREADS * ITEMS
    DIGITS: constexpr(int) = 256 * K.bytes
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1]) // rows  # of a row
    me: int32 @ block[1] = id() % blocks
    row: int32 @ block[1] = id() // blocks
    with group(block[1]):
        copy: int32 @ thread[1] = id() & COPIES - 1
        at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
        bins: shared(uint32[DIGITS * COPIES])
        keys: K[ITEMS] @ thread[1]
        ahead: K[ITEMS] @ thread[1]  # of the block's next tile: its loads are under way while this one is counted

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]):
            with partition(x, block[1], offset=row * n + int64(tile) * TILE) as source:
                block.load_tile(
                    source, ahead, extent(tile, n, TILE=TILE), 0, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                )

        block.fill(bins, 0, DIGITS * COPIES)
        if me < tiles:
            load(me)
        for tile in range(me, tiles, blocks):
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            for k in range(ITEMS):
                keys[k] = encode(ahead[k], flip, lowest, KIND=KIND)
            if tile + blocks < tiles:
                load(tile + blocks)
            with group(thread[1]):
                for k in range(ITEMS):
                    if many == TILE or at + (k // WIDTH * 32 * WIDTH + k % WIDTH) < many:
                        for p in range(K.bytes):
                            d: int32 = digit(keys[k], 8 * p, lowest, KIND=KIND)
                            atomic_add(bins[(p * 256 + d) * COPIES + copy], 1, scope="block")
        grid.histogram(bins, counts, DIGITS, int64(row) * DIGITS, COPIES=COPIES)


@prism.kernel
@template(
    K=dtype, C=dtype, KIND=constexpr(int), COPIES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), ASKED=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def count_digits(
    x: ptr(const(K)) @ grid[1], counts: ptr(C) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1], flip: K @ grid[1],
    lowest: K @ grid[1], rows: int32 @ grid[1], asked: ptr(const(uint32)) @ grid[1],
):
    """Add to `counts[p * 256 + d]` how many of the `n` elements of `x` have a key whose digit `p` is `d`; of each row the same.

    Perspective: grid, of blocks of `THREADS` threads: any multiple of `rows`. Rows and their counts follow each other.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `counts`: 256 for
                 each byte of a key; they begin as zero. `skew`: how many elements `x` begins past one that is aligned to `WIDTH`
                 of them; -1: it is not known. `COPIES`: of the counts in shared memory, a power of two. `ASKED`: nothing is done
                 where `asked[0]` is 0; else `asked` is not read.
    Test:        tests/kernels/test_sort.py, tests/gpu/test_sort.py, tests/kernels/test_sort_wide.py
    """
    if ASKED:
        if asked[0] != 0:
            add_digits(
                x, counts, n, skew, flip, lowest, rows, KIND=KIND, COPIES=COPIES, THREADS=THREADS, ITEMS=ITEMS, WIDTH=WIDTH,
            )
    else:
        add_digits(x, counts, n, skew, flip, lowest, rows, KIND=KIND, COPIES=COPIES, THREADS=THREADS, ITEMS=ITEMS, WIDTH=WIDTH)


EXAMPLES = {
    "count_digits": {
        "K": "uint32", "C": "uint32", "KIND": INTEGER, "COPIES": 32, "THREADS": 1024, "ITEMS": 8, "WIDTH": 4, "BLOCKS": 1,
        "ASKED": False,
    },
}
