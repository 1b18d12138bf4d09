"""What is kept of a tile of bytes, four of which a register holds: they are put close together a word at a time."""

from prism.lang import (
    atomic_or, block, byte_permute, constexpr, count, funnel_shift_left, group, id, int32, load_vector, partition, popcount,
    prism, ptr, requires, shared, static_assert, store_vector, template, thread, uint32, uint8, vector,
)
from prism.lib.block.compact import rank_rows
from prism.lib.thread.words import row_of


@prism("device")
@requires(thread[1])
def selector_of(flags: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """What `byte_permute` takes to put the bytes whose bit of four is set close together, and zeros behind them."""
    found: uint32 = 0x4444
    for k in range(4):
        j: int32 = 3 - k  # the last one first: those before it push it on
        found = found << 4 & 0xFFFF | uint32(j) if flags >> j & 1 != 0 else found
    return found


@prism("device")
@requires(thread[1])
@template(ITEMS=constexpr(int))
def flags_of_bytes(marks: uint8[ITEMS] @ thread[1]) -> uint32 @ thread[1]:
    """Which of up to 32 bytes, a multiple of four, are not 0: a bit of each, of four at once."""
    found: uint32 = 0
    for w in range(ITEMS // 4):
        word: uint32 = 0
        for k in range(4):
            word = word | uint32(marks[w * 4 + k]) << (8 * k)
        tops: uint32 = ((word & 0x7F7F7F7F) + 0x7F7F7F7F | word) & 0x80808080  # the highest bit of each byte that is not 0
        found = found | (tops >> 7) * 0x10204080 >> 28 << (w * 4)
    return found


@prism("device")
@requires(block[1], thread[32])
@template(WORDS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def store_flagged_bytes(
    y: ptr(uint8) @ block[1], words: uint32[WORDS] @ thread[1], flags: uint32 @ thread[1], before: int32 @ thread[32],
    valid: int32 @ block[1], skew: int32 @ block[1],
):
    """What `block.store_flagged` does, of bytes: a word of `words` has four, the lowest first, as `block.load` leaves the tile.

    Perspective: block, of `THREADS` threads.
    Shapes:      `WIDTH`, `flags`, `before`, `valid`, `skew`: as of `block.store_flagged`, with vectors of 16. `WIDTH`: a multiple
                 of four.
    Cost:        of each four bytes up to two atomic operations in shared memory, instead of a store for each that is kept.
    Test:        tests/kernels/test_select_packed.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH % 4 == 0 and WORDS * 4 % WIDTH == 0, "rows are whole words")
    static_assert(WORDS <= 8, "`flags` has a bit for each byte")
    SIZE: constexpr(int) = THREADS * WORDS + 8
    t: int32 @ thread[1] = id()
    lead: int32 @ block[1] = max(skew, 0)
    end: int32 @ block[1] = lead + max(valid, 0)
    ranks: int32[WORDS * 4 // WIDTH] @ thread[1]
    tile: shared(uint32[SIZE], align=16) @ block[1]
    selectors: shared(uint32[16]) @ block[1]
    block.fill(tile, 0, SIZE)
    with partition(selectors, thread[1], offset=t) as own, group(thread[1]):
        if t < 16:
            own[0] = selector_of(uint32(t))
    with group(thread[32]):
        rank_rows(flags, lead + before, ranks, WIDTH=WIDTH)
    with group(thread[1]):
        for j in range(WORDS * 4 // WIDTH):
            rank: int32 = ranks[j]
            for k in range(WIDTH // 4):
                four: uint32 = flags >> (j * WIDTH + k * 4) & 15
                many: int32 = int32(popcount(four))
                together: uint32 = byte_permute(words[j * (WIDTH // 4) + k], 0, selectors[four])
                shift: uint32 = uint32(rank % 4 * 8)
                if many > 0:
                    atomic_or(tile[rank / 4], together << shift, scope="block")
                if rank % 4 + many > 4:
                    atomic_or(tile[rank / 4 + 1], funnel_shift_left(together, 0, shift), scope="block")
                rank = rank + many
    with partition(y, thread[1], offset=-lead, races="none") as out, group(thread[1]):
        if skew < 0:
            for at in range(lead + t, end, THREADS):
                out[at] = uint8(tile[at / 4] >> uint32(at % 4 * 8) & 0xFF)
        else:
            for v in range(t + (1 if lead > 0 else 0), end / 16, THREADS):
                found: vector(uint32, 4) = load_vector(tile[v * 4], 4)
                four: uint32[4]
                for k in range(4):
                    four[k] = found[k]
                row: vector(uint8, 16) = row_of(four, TI=uint8, WIDTH=16, REVERSE=False)
                store_vector(out[v * 16], row)
            if lead <= t < min(16, end) and lead > 0:  # before the first whole vector
                out[t] = uint8(tile[t / 4] >> uint32(t % 4 * 8) & 0xFF)
            last: int32 = end / 16 * 16 + t
            if t < 16 and last < end and (last >= 16 or lead == 0):
                out[last] = uint8(tile[last / 4] >> uint32(last % 4 * 8) & 0xFF)


__all__ = ["flags_of_bytes", "selector_of", "store_flagged_bytes"]
