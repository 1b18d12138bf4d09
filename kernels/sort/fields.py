"""Sorting what a block holds by digits of its words: a pass counts them in shared memory, and puts words where they belong.

A digit's place in a table leaves out every 32nd one, so that digits side by side are counted in banks of their own.
"""

from prism.lang import (
    atomic_add, block, broadcast, constexpr, dtype, group, id, int32, partition, prism, ptr, requires, static_assert, template,
    thread, uint32,
)
from prism.kernels.sort.ranking import rank_in_order
from prism.lib.thread import operators


@prism.device
@requires(thread[1])
@template(K=dtype)
def field(word: K @ thread[1], shift: int32 @ thread[1], width: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where `width` bits of a word, from bit `shift` on, are counted: every 32nd place is left out.

    So threads whose digits are side by side, of each as many, meet in no bank.
    """
    digit: int32 = int32(word >> shift) & (1 << width) - 1
    return digit + (digit >> 5)


@prism.device
@requires(thread[1])
def fields(width: int32 @ thread[1]) -> int32 @ thread[1]:
    """How many places digits of `width` bits take."""
    return (1 << width) + (1 << width >> 5)


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int))
def begin_fields(table: ptr(uint32) @ block[1], width: int32 @ block[1]):
    """Make of how often each warp has a digit of `width` bits where the warp's part of it begins in the window."""
    WARPS: constexpr(int) = THREADS // 32
    t: int32 @ thread[1] = id()
    static_assert(THREADS & THREADS - 1 == 0, "threads have equally many digits: a power of two")
    each: int32 @ block[1] = max((1 << width) // THREADS, 1)
    mine: int32 @ thread[1] = each if t * each < 1 << width else 0
    span: int32 @ block[1] = fields(width)
    sums: uint32[1] @ thread[1]
    with group(thread[1]):
        sum: uint32 = 0
        for j in range(mine):
            for v in range(WARPS):
                sum = sum + table[v * span + (t * each + (t * each >> 5)) + j]
        sums[0] = sum
    block.scan(sums, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    with partition(table, thread[1], offset=t * each + (t * each >> 5), races="none") as own, group(thread[1]):
        at: uint32 = sums[0]
        for j in range(mine):
            for v in range(WARPS):
                here: uint32 = own[v * span + j]
                own[v * span + j] = at
                at = at + here


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BATCH=constexpr(int))
def sort_field(
    words: K[ITEMS] @ thread[1], table: ptr(uint32) @ block[1], sorted: ptr(K) @ block[1], rows: int32 @ block[1],
    mine: int32 @ thread[1], shift: int32 @ block[1], width: int32 @ block[1], slowly: bool @ block[1],
):
    """Put a window into `sorted`, in the order of `width` bits of its words.

    Each thread has `mine` words, of `rows`. `slowly`: all have `rows`, and ranks are in the order of lanes whatever happens.
    """
    WARPS: constexpr(int) = THREADS // 32
    w: int32 @ thread[32] = id()
    full: int32 @ thread[32] = broadcast(mine, 31)  # so many rows of the warp are full
    span: int32 @ block[1] = fields(width)
    block.fill(table, 0, WARPS * span)
    with group(thread[1]):
        for begin in range(0, ITEMS, BATCH):
            if begin + BATCH <= full:
                for k in range(BATCH):
                    atomic_add(table[w * span + field(words[begin + k], shift, width)], 1, scope="block")
            elif begin < rows:
                for k in range(BATCH):
                    if begin + k < mine:
                        atomic_add(table[w * span + field(words[begin + k], shift, width)], 1, scope="block")
    begin_fields(table, width, THREADS=THREADS)
    with (
        partition(table, thread[32], offset=w * span) as own,
        partition(sorted, thread[1], offset=lambda rank: rank, races="none") as spot,
        group(thread[32]),
    ):
        for begin in range(0, ITEMS, BATCH):
            if begin < rows:
                digits: int32[BATCH] @ thread[1]
                ranks: uint32[BATCH] @ thread[1]
                for k in range(BATCH):
                    digits[k] = field(words[begin + k], shift, width)
                if slowly:
                    rank_in_order(own, digits, ranks)
                    with group(thread[1]):
                        for k in range(BATCH):
                            spot[int32(ranks[k])] = words[begin + k]
                elif begin + BATCH <= full:
                    with group(thread[1]):
                        for k in range(BATCH):
                            ranks[k] = atomic_add(own[digits[k]], 1, scope="block")
                        for k in range(BATCH):
                            spot[int32(ranks[k])] = words[begin + k]
                else:
                    with group(thread[1]):
                        for k in range(BATCH):
                            if begin + k < mine:
                                ranks[k] = atomic_add(own[digits[k]], 1, scope="block")
                        for k in range(BATCH):
                            if begin + k < mine:
                                spot[int32(ranks[k])] = words[begin + k]


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), BATCH=constexpr(int))
def sort_fields(
    words: K[ITEMS] @ thread[1], table: ptr(uint32) @ block[1], sorted: ptr(K) @ block[1], rows: int32 @ block[1],
    mine: int32 @ thread[1], shift: int32 @ block[1], width: int32 @ block[1], passes: int32 @ block[1], slowly: bool @ block[1],
):
    """Put a window into `sorted`, in the order of `passes * width` bits of its words, from bit `shift` on."""
    w: int32 @ thread[32] = id()
    lane: int32 @ thread[1] = id() % 32
    for p in range(passes):
        if p > 0:
            with group(thread[1]):
                for k in range(ITEMS):
                    if k < mine:
                        words[k] = sorted[w * rows * 32 + 32 * k + lane]
        sort_field(words, table, sorted, rows, mine, shift + p * width, width, slowly, THREADS=THREADS, BATCH=BATCH)
