"""A scan in one pass over the memory, with decoupled look-back (the paper's appendix "Single-Pass Parallel Prefix Scan").

A block scans a tile in shared memory: every row of 32 elements by a warp, then the rows' ends by all threads at once, in
log2 steps between two buffers that change places. What comes before the tile it learns from mailboxes: each block leaves
its total in one, and every 32nd its whole prefix in another, so that looking back takes 32 words, one a thread.

The paper leaves the look-back to CUDA that it does not print. Here it is Prism too: a mailbox's word carries its value and
the launch's number together, so no fence and no spinlock is left to get right. `prism.kernels.scan` is the scan to use.
"""

from prism.lang import (
    atomic_add, block, claim, const, constexpr, count, grid, group, id, int32, mailbox, partition, prism, ptr, publish,
    receive, requires, shared, shuffle_up, split, store_relaxed, template, thread, uint32, warp,
)
from prism.lib.thread import operators


@prism.device
@requires(block[1], warp[1])
def scan_warps(x: ptr(const(uint32)) @ block[1], valid: int32 @ block[1], rows: ptr(uint32) @ block[1]):
    """Each warp scans its 32 rows of 32 elements, each row for itself, from `x` to `rows`; zeros from `valid` on.

    Repaired: the paper's shuffle is declared for one thread, but takes a warp; here `stride` is the warp's, so that the
              loop around it is. And `x` is const: it is only read.
    """
    w: int32 @ warp[1] = id()
    with partition(x, warp[1], offset=w * 1024) as source:
        with partition(rows, warp[1], offset=w * 1024) as run:
            with group(warp[1]):
                lane: int32 @ thread[1] = id()
                with partition(run, thread[1], offset=lane) as mine:
                    for first in range(0, 1024, 32):
                        value: uint32 @ thread[1] = source[first + lane] if w * 1024 + first + lane < valid else 0
                        stride: int32 @ warp[1] = 1
                        while stride < 32:
                            received: uint32 @ thread[1] = shuffle_up(value, stride)
                            value += received if lane >= stride else 0
                            stride *= 2
                        with group(thread[1]):
                            mine[first] = value


@prism.device
@requires(block[1], warp[1])
def get_warp_ends(rows: ptr(const(uint32)) @ block[1], ends: ptr(uint32) @ block[1]):
    """Each thread copies the last element of one row: its sum."""
    t: int32 @ thread[1] = id()
    with partition(ends, thread[1], offset=t) as mine:
        with group(thread[1]):
            mine[0] = rows[t * 32 + 31]


@prism.device
@template(ENDS=constexpr(int))
@requires(block[1], thread["ENDS"])
def scan_warp_ends(x: ptr(uint32) @ block[1], spare: ptr(uint32) @ block[1]) -> ptr(uint32) @ block[1]:
    """Scan `ENDS` elements, one a thread, and say in which of the two buffers the result is.

    Each step reads one buffer and writes the other, and the names change places: one barrier a step.
    """
    t: int32 @ thread[1] = id()
    stride: int32 @ block[1] = 1
    while stride < ENDS:
        with partition(spare, thread[1], offset=t) as mine:
            with group(thread[1]):
                mine[0] = x[t] + x[t - stride] if t >= stride else x[t]
        swap: ptr(uint32) @ block[1] = x
        x = spare
        spare = swap
        stride *= 2
    return x


@prism.device
@requires(block[1], thread[32])
def add_prefix(
    rows: ptr(const(uint32)) @ block[1], ends: ptr(const(uint32)) @ block[1], prefix: uint32 @ block[1], valid: int32 @ block[1],
    x: ptr(uint32) @ block[1],
):
    """Write the tile back: each element's sum in its row, the rows before, and the tiles before."""
    t: int32 @ thread[1] = id()
    threads: int32 @ block[1] = count(thread[1])
    with partition(x, thread[1], offset=t) as mine:
        with group(thread[1]):
            for first in range(0, 32 * threads, threads):
                place: int32 = first + t
                before: uint32 = ends[place // 32 - 1] if place >= 32 else 0
                if place < valid:
                    mine[first] = prefix + before + rows[place]


@prism.device
@requires(block[1], warp[1])
def look_back(
    tile: int32 @ block[1], totals: ptr(mailbox(uint32)) @ grid[1], prefixes: ptr(mailbox(uint32)) @ grid[1],
    epoch: uint32 @ block[1],
) -> uint32 @ block[1]:
    """The sum of all tiles before this one, as soon as they are known: up to 31 totals, and the prefix before those."""
    t: int32 @ thread[1] = id()
    first: int32 @ block[1] = tile // 32 * 32
    before: uint32 @ thread[1] = 0
    with group(thread[1]):
        word: uint32[1]
        if t < 31:
            receive(totals[first + t], word, 1, tile - first - t, 0, epoch)
            before = word[0]
        if t == 31:
            receive(prefixes[first // 32 - 1], word, 1, first, 0, epoch)
            before = word[0]
    return block.reduce(before, OP=operators.add)


@prism.kernel
@template(WARPS=constexpr(int))
@requires(grid[1], block[1], warp["WARPS"])
def scan(
    n: int32 @ grid[1], x: ptr(uint32) @ grid[1], counter: ptr(uint32) @ grid[1], totals: ptr(mailbox(uint32)) @ grid[1],
    prefixes: ptr(mailbox(uint32)) @ grid[1], epoch: uint32 @ grid[1],
):
    """`x[i] = x[0] + ... + x[i]`, in place, for `n` elements.

    Perspective: grid, of one block of `32 * WARPS` threads for each tile of `1024 * WARPS` elements.
    Shapes:      `counter`: one word, zero at first. `totals`: a word a tile, `prefixes`: one for every 32; both are zero
                 at first. `epoch` is not zero, and a different number in each launch that is given the same words.
    Repaired:    the tile's number belongs to the block, not to the grid; the look-back is at block[1] and its memory at
                 grid[1]; the last tile may be partial (the paper's takes `n`, and ignores it); the counter is set back.
    Test:        tests/examples/test_paper.py
    """
    TILE: constexpr(int) = 1024 * WARPS
    tile: int32 @ block[1]
    with group(block[1]):
        desk: shared(uint32[1]) @ block[1]  # what one thread draws, for all
        with claim(desk, thread[1]) as own:
            match split(thread):
                case 1:
                    own[0] = atomic_add(counter[0], 1)
        tile = int32(desk[0])
    blocks: int32 @ grid[1] = count(block[1])
    with partition(x, block[1], offset=tile * TILE) as mine:
        with group(block[1]):
            valid: int32 @ block[1] = n - tile * TILE
            rows: shared(uint32[TILE]) @ block[1]
            scan_warps(mine, valid, rows)

            ends: shared(uint32[32 * WARPS]) @ block[1]
            spare: shared(uint32[32 * WARPS]) @ block[1]
            get_warp_ends(rows, ends)
            sums: ptr(const(uint32)) @ block[1] = scan_warp_ends(ends, spare, ENDS=32 * WARPS)

            total: uint32 @ block[1] = sums[32 * WARPS - 1]
            match split(thread):
                case 1:
                    publish(totals[tile], total, epoch)
                    if tile == blocks - 1:
                        store_relaxed(counter[0], 0)  # all have drawn
            prefix: uint32 @ block[1] = look_back(tile, totals, prefixes, epoch)
            match split(thread):
                case 1:
                    if tile % 32 == 31:
                        publish(prefixes[tile // 32], prefix + total, epoch)

            add_prefix(rows, sums, prefix, valid, mine)


EXAMPLES = {"scan": {"WARPS": 16}}
