"""The elements that a flag says, and then the others, both in their order: one pass, when it is known how many the flags say."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition, prism, ptr,
    requires, template, thread, uint32, uint64,
)
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.conditions import is_set
from prism.kernels.select.packed import load_flags
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    T=dtype, TI=dtype, M=dtype, C=dtype, TEST=function, BYTES=constexpr(bool, default=False), THREADS=constexpr(int),
    ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def split(
    x: ptr(const(TI)) @ grid[1], mask: ptr(const(M)) @ grid[1], y: ptr(T) @ grid[1], kept: ptr(const(int64)) @ grid[1],
    n: int64 @ grid[1], skew: int32 @ grid[1], mask_skew: int32 @ grid[1], otherwise: T @ grid[1], unset: C @ grid[1],
    words: ptr(mailbox(int64)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y` becomes the elements `x[i]` for which `TEST(mask[i])`, `kept[0]` of them, and the others behind them, in their order.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `mask`, `y`: `n` elements, at least one; `y`: no memory of `x` or `mask`. `C`, `BYTES`, `skew`, `mask_skew`,
                 `otherwise`, `unset`, `words`, `capacity`, `control`: as of `select`. `unset`: what the test is not true of.
    Errors:      `kept[0]` must be how many the flags say.
    Test:        tests/kernels/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1], races="none") as out, group(block[1]):
        total: int64 @ block[1] = kept[0]
        items: T[ITEMS] @ thread[1]  # the held tile, separated
        held: int32 @ block[1] = 0  # how many of it are before the others
        ahead: T[ITEMS] @ thread[1]  # the following tile
        coming: int32 @ block[1] = 0

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]) -> int64 @ block[1]:
            """Bring a tile into registers, first those that a flag says; return how many it says."""
            nonlocal coming
            start: int64 @ block[1] = int64(tile) * TILE
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            flags: uint32 @ thread[1] = load_flags(
                mask, tile, many, n, blocks, mask_skew, unset, TEST=TEST, BYTES=BYTES, THREADS=THREADS, ITEMS=ITEMS, WIDTH=WIDTH,
            )
            with partition(x, block[1], offset=start) as source:
                block.load_tile(source, ahead, many, otherwise, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False)
            block.prefetch_tile(x, tile + blocks, n, TILE=TILE)  # about what this block draws next
            flags = flags & bits_within(many - at, ITEMS=ITEMS, WIDTH=WIDTH)
            coming = block.separate(ahead, flags, WIDTH=WIDTH, THREADS=THREADS)
            return int64(coming)

        @requires(block[1], thread["THREADS"])
        def keep():
            """The loaded tile is the held one from here on."""
            nonlocal held
            held = coming
            for k in range(ITEMS):
                items[k] = ahead[k]

        @requires(block[1], thread["THREADS"])
        def store(tile: int32 @ block[1], prefix: int64 @ block[1]):
            """Write both parts of the held tile where they belong."""
            t: int32 @ thread[1] = id()
            start: int64 @ block[1] = int64(tile) * TILE
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            behind: int64 @ block[1] = total + (start - prefix) - held  # where the first of the others belongs, less its number
            with partition(out, thread[1], f=lambda place: place, races="none") as target, group(thread[1]):
                for k in range(ITEMS):
                    number: int32 = k * THREADS + t
                    if number < many:
                        target[(prefix if number < held else behind) + number] = items[k]

        grid.scan_tiles(
            words, capacity, control, blocks, tiles, 0, 0, OP=operators.add, LOAD=load, KEEP=keep, STORE=store, THREADS=THREADS,
            WORDS=WORDS,
        )


EXAMPLES = {
    "split": {
        "T": "float32", "TI": "float32", "M": "uint8", "C": "uint8", "TEST": is_set, "THREADS": 256, "ITEMS": 16, "WIDTH": 4,
        "BLOCKS": 2, "WORDS": 2,
    },
}
