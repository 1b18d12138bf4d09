"""Both zeros of floats that are written by their counts: equal ones stand as they stood."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, int32, int64, mailbox, partition, prism, ptr, requires,
    template, thread, uint32, uint64,
)
from prism.kernels.sort.order import lower_zero
from prism.lib.thread import extent, operators


@prism.kernel
@template(K=dtype, C=dtype, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def order_zeros(
    x: ptr(const(K)) @ grid[1], starts: ptr(const(C)) @ grid[1], y: ptr(K) @ grid[1], n: int64 @ grid[1], skew: int32 @ grid[1],
    lowest: K @ grid[1], words: ptr(mailbox(C)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """Where `x` has both zeros of a float, write them into `y` in the order in which they stand there: they are equal.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: bits of `n` numbers. `starts`: where each key begins in `y`. `skew`: as of `count_keys`. `words`: `capacity`
                 of them, at least one a tile; `control`: one word. All zero at first, and of no other use meanwhile.
    Cost:        nothing but the launch where there is one kind of zeros, or none; else a read of `x`.
    Test:        tests/kernels/test_sort_fill.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    SIGN: constexpr(int) = 1 << 8 * K.bytes - 1
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    zero: int32 @ grid[1] = int32(lower_zero(lowest))
    begin: int64 @ grid[1] = int64(starts[zero])
    if starts[zero] < starts[zero + 1] and starts[zero + 1] < starts[zero + 2]:
        with partition(y, block[1], offset=begin, races="none") as out, group(block[1]):
            zeros: uint32 @ thread[1] = 0  # of the held tile, as bits
            signs: uint32 @ thread[1] = 0
            before: int32 @ thread[32] = 0  # how many zeros in the warps before
            held: int32 @ block[1] = 0  # how many in all
            zeros_ahead: uint32 @ thread[1] = 0  # the same of the following tile
            signs_ahead: uint32 @ thread[1] = 0
            earlier: int32[1] @ thread[32]
            coming: int32 @ block[1] = 0
            earlier[0] = 0

            @requires(block[1], thread["THREADS"])
            def load(tile: int32 @ block[1]) -> C @ thread[1]:
                """Find the zeros of a tile, and their signs, as bits; return how many there are."""
                nonlocal zeros_ahead, signs_ahead, coming
                items: K[ITEMS] @ thread[1]
                with partition(x, block[1], offset=int64(tile) * TILE) as source:
                    block.load_tile(
                        source, items, extent(tile, n, TILE=TILE), 1, skew, 0, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                    )
                block.prefetch_tile(x, tile + blocks, n, TILE=TILE)  # about what this block draws next
                zeros_ahead = 0
                signs_ahead = 0
                for k in range(ITEMS):
                    zeros_ahead = zeros_ahead | uint32(1 if items[k] & (SIGN - 1) == 0 else 0) << k
                    signs_ahead = signs_ahead | uint32(1 if items[k] >= SIGN else 0) << k
                coming = block.count_flags(zeros_ahead, earlier, THREADS=THREADS)
                return C(coming)

            @requires(block[1], thread["THREADS"])
            def store(tile: int32 @ block[1], prefix: C @ block[1]):
                """Write the held tile's zeros, behind the `prefix` zeros of the tiles before."""
                if held > 0:
                    items: K[ITEMS] @ thread[1]
                    for k in range(ITEMS):
                        items[k] = K(SIGN if (signs >> k & 1) != 0 else 0)
                    with partition(out, block[1], int64(prefix), races="none") as target:
                        block.store_flagged(
                            target, items, zeros, before, held, -1, TO=K, AS=same, WIDTH=WIDTH, THREADS=THREADS, VECTOR=1,
                        )

            @requires(block[1], thread["THREADS"])
            def keep():
                """The tile that was loaded becomes the held one."""
                nonlocal zeros, signs, held, before
                zeros = zeros_ahead
                signs = signs_ahead
                held = coming
                before = earlier[0]

            grid.scan_tiles(
                words, capacity, control, blocks, tiles, 0, 0, OP=operators.add, LOAD=load, KEEP=keep, STORE=store,
                THREADS=THREADS,
            )


@prism.device
@requires(thread[1])
@template(K=dtype)
def same(bits: K @ thread[1]) -> K @ thread[1]:
    """The bits themselves."""
    return bits


EXAMPLES = {
    "order_zeros": {"K": "uint16", "C": "uint32", "THREADS": 512, "ITEMS": 32, "WIDTH": 8},
}
