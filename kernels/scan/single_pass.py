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
    assume, atomic_add, attr, block, claim, const, constexpr, count, distinct, dtype, function, grid, group, id, int32, int64,
    mailbox, may_alias, partition, prefetch, prism, ptr, publish, receive, requires, shared, split, store_relaxed, template,
    thread, uint32, uint64,
)
from prism.kernels.scan.tiles import extent, load_tile, store_tile
from prism.lib.thread import operators


@prism("global")
@template(
    TI=dtype, T=dtype, TO=dtype, OP=function, THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    BLOCKS=constexpr(int), WORDS=constexpr(int), EXCLUSIVE=constexpr(bool), REVERSE=constexpr(bool), STABLE=constexpr(bool),
)
@requires(grid[1], block[1], thread[THREADS])
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
    tiles: int32 @ grid[1] = int32((end + (TILE - 1)) / TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    tile: int32 @ block[1] = -1  # the tile that `items` holds: none as yet
    with partition(y, block[1], races="allow") as whole:  # `x` may be the same memory: each tile is one block's
        with group(block[1]):
            match split(thread):  # before this kernel waits for the one before it: about what this block draws first
                case 1:
                    guess: int32 = max(tiles - 1 - me, 0) if REVERSE else me
                    prefetch(x[int64(guess) * TILE], extent(guess, n, TILE=TILE))
            ticket_cell: shared(uint64[1]) @ block[1]  # what one thread draws, for all
            with claim(ticket_cell, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = atomic_add(control[0], 1)
            epoch: uint32 @ block[1] = uint32(ticket_cell[0] >> 32) + 1
            following: int32 @ block[1] = int32(ticket_cell[0])
            prefixes: T[2] @ block[1]  # of the tile; with STABLE also of the whole groups of tiles before it
            for k in range(2):
                prefixes[k] = initial
            done: int32 @ block[1] = 0  # how many tiles' totals are in them; with STABLE, in the second one
            items: T[ITEMS] @ thread[1]
            ahead: T[ITEMS] @ thread[1]
            while tile < tiles:
                # The following tile comes first: its total is out before this block waits for anybody's.
                ticket: uint64 @ thread[1] = 0
                if following < tiles:
                    here: int32 @ block[1] = tiles - 1 - following if REVERSE else following  # where it lies
                    with partition(x, block[1], offset=int64(here) * TILE - before) as source:
                        load_tile(
                            source, ahead, extent(here, end, TILE=TILE), identity, skew, before if here == 0 else 0, WIDTH=WIDTH,
                            REVERSE=REVERSE, SPARE=False,
                        )
                    match split(thread):
                        case 1:
                            soon: int32 = max(here - blocks, 0) if REVERSE else here + blocks  # about what this block draws next
                            prefetch(x[int64(soon) * TILE], extent(soon, n, TILE=TILE))
                    if TRANSPOSED:
                        block.warp_striped_to_blocked(ahead, THREADS=THREADS)
                    RUN: constexpr(int) = ITEMS if TRANSPOSED else WIDTH
                    total: T @ block[1] = block.scan(ahead, identity, WIDTH=RUN, OP=OP, EXCLUSIVE=EXCLUSIVE)
                    match split(thread):
                        case 1:
                            publish(words[following], total, epoch)
                            ticket = atomic_add(control[0], 1)

                add_totals(  # since the block's tile before
                    words, done, tile, identity, epoch, ticket, following < tiles, ticket_cell, prefixes,
                    OP=OP, STABLE=STABLE, THREADS=THREADS, WORDS=WORDS,
                )
                done = tile / THREADS * THREADS if STABLE else max(tile, 0)
                if tile >= 0:
                    with group(thread[1]):
                        for k in range(ITEMS):
                            items[k] = OP(prefixes[0], items[k])
                    if TRANSPOSED:
                        block.blocked_to_warp_striped(items, THREADS=THREADS)
                    there: int32 @ block[1] = tiles - 1 - tile if REVERSE else tile
                    assume(distinct(there))  # a number is drawn once
                    with partition(whole, block[1], offset=int64(there) * TILE - before) as target:
                        store_tile(
                            target, items, extent(there, end, TILE=TILE), y_aligned, before if there == 0 else 0, WIDTH=WIDTH,
                            REVERSE=REVERSE, KEPT=False,
                        )
                if following < tiles:
                    with group(thread[1]):
                        for k in range(ITEMS):
                            items[k] = ahead[k]
                tile = following
                following = int32(ticket_cell[0])

            if tile == tiles + blocks - 1:  # every block has drawn its last number
                match split(thread):
                    case 1:
                        count_launch(words, capacity, control, epoch, tiles, identity)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function, STABLE=constexpr(bool), THREADS=constexpr(int), WORDS=constexpr(int))
def add_totals(
    words: ptr(mailbox(T)) @ grid[1], done: int32 @ block[1], tile: int32 @ block[1], identity: T @ block[1],
    epoch: uint32 @ block[1], ticket: uint64 @ thread[1], more: bool @ block[1], ticket_cell: shared(uint64[1]) @ block[1],
    prefixes: T[2] @ block[1],
):
    """Add the totals of the tiles from `done` to `tile` to the first prefix, which is then the tile's.

    With STABLE they are taken in groups that are the same for all: whole ones are added to the second prefix for good, one
    after the other, the rest for this tile alone. Meanwhile the first thread puts what it has drawn on the desk, if there is
    `more`: not sooner, since words are asked for while the draw is under way.
    """
    between: T @ thread[1] = identity
    if STABLE:
        prefixes[0] = prefixes[1]
        for first in range(done, tile, WORDS * THREADS):
            groups: T[WORDS] @ thread[1]
            look_back_groups(words, first, tile, identity, epoch, groups, THREADS=THREADS)
            for k in range(WORDS):
                prefixes[0] = OP(prefixes[0], block.reduce(groups[k], OP=OP))
                if first + (k + 1) * THREADS <= tile:
                    prefixes[1] = prefixes[0]
    else:
        between = look_back(words, done, tile, identity, epoch, OP=OP, THREADS=THREADS, WORDS=WORDS)
    with claim(ticket_cell, thread[1]) as own:
        match split(thread):
            case 1:
                if more:
                    own[0] = ticket
    if not STABLE:
        prefixes[0] = OP(prefixes[0], block.reduce(between, OP=OP))


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


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, THREADS=constexpr(int), WORDS=constexpr(int))
def look_back_groups(
    words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1], identity: T @ block[1],
    epoch: uint32 @ block[1], groups: T[WORDS] @ thread[1],
):
    """This thread's words of the groups of `THREADS` from `words[first]` on: `identity` from `words[last]` on."""
    i: int32 @ thread[1] = id()
    with group(thread[1]):
        receive(words[first + i], groups, THREADS, (last - first - i + (THREADS - 1)) / THREADS, identity, epoch)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def count_launch(
    words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1], epoch: uint32 @ thread[1],
    tiles: int32 @ thread[1], identity: T @ thread[1],
):
    """Count the launch and set the counter back: for one thread, when every block has drawn its last number.

    Each launch marks one of the words that it doesn't use, so that after 2^32 launches no word is as old as to carry this very
    epoch.
    """
    store_relaxed(control[0], uint64(epoch) << 32)
    stale: int64 = epoch % capacity
    if stale >= tiles:
        publish(words[stale], identity, epoch)


EXAMPLES = {
    "scan": {
        "TI": "int32", "T": "int32", "TO": "int32", "OP": operators.add, "THREADS": 256, "ITEMS": 32, "WIDTH": 4, "BLOCKS": 2,
        "WORDS": 2, "EXCLUSIVE": False, "REVERSE": False, "STABLE": False,
    },
}
