"""The scan of a whole array in one pass: every element is read once and written once.

The array is cut into tiles. A block draws a tile's number, loads the tile, scans it in its registers and publishes its
total. The tile's prefix is that of the block's tile before, and the totals published since: each block adds those up for
itself, so that none waits for another's prefix (KERNELS.md 1.2). A tile is in registers for a whole trip of the loop
before its prefix is asked for: by then the totals that it needs are there, and the next tile's loads were under way.

Numbers are drawn from a counter, one after the other, so the lowest unpublished tile always belongs to a block that runs,
and that waits only for tiles below it: any number of resident blocks makes progress. Each block draws exactly one number
beyond the last tile; who draws the very last sets the counter back and counts the launch, so no launch has to clear
anything. A published word carries the launch's number, `epoch`: words of launches before are not taken for this one's.
"""

from prism.lang import (
    atomic_add, attr, block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox,
    may_alias, partition, prefetch, prism, ptr, publish, receive, requires, shared, split, store_relaxed, template, thread,
    uint32, uint64,
)
from prism.lib.thread import operators


@prism("global")
@template(
    T=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
    WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), VECTORIZED=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
@may_alias("x", "y")
def scan(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int64 @ grid[1], identity: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y[i] = OP(x[0], ..., x[i])`, without `x[i]` itself where `EXCLUSIVE`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `y`: `n` elements; they may be the same memory. `words`: `capacity` of them, at least one a tile of
                 `THREADS * ITEMS` elements. `control`: one word, the number of launches so far above the counter. Both
                 are zero at first, and of no other use at the same time.
    Numerics:    reassociates `OP`, differently from run to run; `OP` need not be commutative. `identity` is `OP`'s.
    Errors:      with `VECTORIZED`, `x` and `y` must be aligned to `WIDTH` elements.
    Source:      Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back".
    Test:        tests/kernels/test_scan.py, tests/gpu/test_scan.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) / TILE)
    blocks: int32 @ grid[1] = count(block[1])
    tile: int32 @ block[1] = -1  # the tile that `items` holds: none as yet
    with partition(y, block[1], offset=lambda i: int64(tile) * TILE + i, races="allow") as target:
        with group(block[1]):
            desk: shared(uint64[1]) @ block[1]  # what one thread draws, for all
            with claim(desk, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = atomic_add(control[0], 1)
            epoch: uint32 @ block[1] = uint32(desk[0] >> 32) + 1
            following: int32 @ block[1] = int32(desk[0])
            prefix: T @ block[1] = identity
            done: int32 @ block[1] = 0  # how many tiles' totals are in the prefix
            items: T[ITEMS] @ thread[1]
            ahead: T[ITEMS] @ thread[1]
            while tile < tiles:
                # The following tile comes first: its total is out before this block waits for anybody's.
                drawn: uint64 @ thread[1] = 0
                if following < tiles:
                    with partition(x, block[1], offset=int64(following) * TILE) as source:
                        block.load(source, ahead, extent(following, n, TILE=TILE), identity, WIDTH=WIDTH, VECTORIZED=VECTORIZED)
                    match split(thread):
                        case 1:
                            soon: int32 = following + blocks  # about the number that this block will draw next
                            prefetch(x[int64(soon) * TILE], extent(soon, n, TILE=TILE))
                    total: T @ block[1] = block.scan(ahead, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
                    match split(thread):
                        case 1:
                            publish(words[following], total, epoch)
                            drawn = atomic_add(control[0], 1)

                # This tile's prefix: all totals since the block's tile before.
                between: T @ thread[1] = look_back(words, done, tile, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
                with claim(desk, thread[1]) as own:
                    match split(thread):
                        case 1:
                            if following < tiles:
                                own[0] = drawn  # here, not above: words are asked for while the draw is under way
                prefix = OP(prefix, block.reduce(between, OP=OP))
                if tile >= 0:
                    with group(thread[1]):
                        for k in range(ITEMS):
                            items[k] = OP(prefix, items[k])
                    block.store(target, items, extent(tile, n, TILE=TILE), WIDTH=WIDTH, VECTORIZED=VECTORIZED)
                    done = tile
                if following < tiles:
                    with group(thread[1]):
                        for k in range(ITEMS):
                            items[k] = ahead[k]
                tile = following
                following = int32(desk[0])

            if tile == tiles + blocks - 1:  # every block has drawn its last number
                match split(thread):
                    case 1:
                        store_relaxed(control[0], uint64(epoch) << 32)
                        # Each launch marks one of the words that it doesn't use, so that after 2^32 launches no word is
                        # as old as to carry this very epoch.
                        stale: int64 = epoch % capacity
                        if stale >= tiles:
                            publish(words[stale], identity, epoch)


@prism("device")
@requires(thread[1])
@template(TILE=constexpr(int))
def extent(tile: int32 @ thread[1], n: int64 @ thread[1]) -> int32 @ thread[1]:
    """How many of a tile's elements there are: fewer than `TILE` in the last tile, none beyond it."""
    return int32(min(max(n - int64(tile) * TILE, 0), TILE))


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back(
    words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1], identity: T @ block[1],
    epoch: uint32 @ block[1],
) -> T @ thread[1]:
    """`OP` of this thread's share of `words[first] ... words[last - 1]`, as they are published; shares are in order.

    Perspective: block.
    Cost:        one round trip for each `THREADS * WORDS` words, `WORDS` of them under way at once; no barrier.
    """
    ROUND: constexpr(int) = THREADS * WORDS
    share: int32 @ block[1] = (last - first + (ROUND - 1)) / ROUND * WORDS
    start: int32 @ thread[1] = first + id() * share
    sum: T @ thread[1] = identity
    with group(thread[1]):
        for k in range(0, share, WORDS):
            got: T[WORDS]
            receive(words[start + k], got, 1, last - start - k, identity, epoch)
            sum = OP(sum, thread.reduce(got, OP=OP))
    return sum


EXAMPLES = {
    "scan": {
        "T": "int32", "OP": operators.add, "THREADS": 256, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 2, "WORDS": 2, "EXCLUSIVE": False,
        "VECTORIZED": True,
    },
}
