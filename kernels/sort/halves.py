"""How a tile is put in the order of a wide digit: by a table that counts two digits in a word, so that it takes half the room."""

from prism.lang import (
    atomic_add, atomic_max, block, const, constexpr, dtype, group, id, int32, partition, prism, ptr, requires, static_assert,
    template, thread, uint16, uint32,
)
from prism.kernels.sort.order import INTEGER, digit
from prism.kernels.sort.ranking import rank
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, C=dtype, ITEMS=constexpr(int), EACH=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int),
    WHOLE=constexpr(bool),
)
def count_halves(
    counts: ptr(uint32) @ block[1], table: ptr(uint32) @ block[1], common: ptr(int32) @ block[1], targets: ptr(C) @ block[1],
    keys: K[ITEMS] @ thread[1], totals: uint32[EACH] @ thread[1], shift: int32 @ block[1],
):
    """Count the digits of a tile, and find where each begins in it, and where each warp's part of it does, in `table`.

    `counts`: a word for each digit of each warp: adding 1 to a word is what the machine does at once for all lanes of a digit.
    `targets` becomes where digits begin in the tile. Thread `t` has `EACH` digits: half of them from `block.place` on, 32 apart,
    the others as many above the middle; how often they occur is in `totals`. A digit of more than a quarter of the tile is put
    into `common[0]`, and with `WHOLE`, where all of the tile have it, all digits and it.
    """
    WARPS: constexpr(int) = THREADS // 32
    HALF: constexpr(int) = 1 << BITS - 1
    ROWS: constexpr(int) = EACH // 2
    LOW: constexpr(int) = (1 << 16) - 1
    static_assert(THREADS * ITEMS <= LOW, "a half of a word counts a tile")
    w: int32 @ thread[32] = id()
    block.fill(counts, 0, WARPS << BITS)
    block.fill(common, -1, 1)
    with group(thread[1]):
        for k in range(ITEMS):
            atomic_add(counts[(w << BITS) + digit(keys[k], shift, K(0), KIND=INTEGER, BITS=BITS)], 1, scope="block")
    at: int32 @ thread[1] = block.place(ITEMS=ROWS, WIDTH=1)
    sums: uint32[ROWS] @ thread[1]
    with group(thread[1]):
        for k in range(ROWS):
            sums[k] = 0
            for v in range(WARPS):
                sums[k] = sums[k] + both_of(counts, (v << BITS) + at + 32 * k, BITS=BITS)
            totals[k] = sums[k] & LOW
            totals[ROWS + k] = sums[k] >> 16
            if max(totals[k], totals[ROWS + k]) > THREADS * ITEMS // 4:
                often: int32 = at + 32 * k + (HALF if totals[ROWS + k] > totals[k] else 0)
                if WHOLE:
                    often = often + (2 * HALF if max(totals[k], totals[ROWS + k]) == THREADS * ITEMS else 0)
                atomic_max(common[0], often, scope="block")
    lower: uint32 @ block[1] = block.scan(sums, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True) << 16
    with (
        partition(table, thread[1], offset=at, races="none") as own,
        partition(targets, thread[1], offset=at, races="none") as begins,
        group(thread[1]),
    ):
        for k in range(ROWS):
            sums[k] = sums[k] + lower  # the upper half of the digits follows the lower one
            begins[32 * k] = C(sums[k] & LOW)
            begins[HALF + 32 * k] = C(sums[k] >> 16)
            for v in range(WARPS):
                own[v * HALF + 32 * k] = sums[k]
                sums[k] = sums[k] + both_of(counts, (v << BITS) + at + 32 * k, BITS=BITS)  # read again: registers are few


@prism.device
@requires(thread[1])
@template(BITS=constexpr(int))
def both_of(counts: ptr(const(uint32)) @ thread[1], at: int32 @ thread[1]) -> uint32 @ thread[1]:
    """How often a digit of the lower half occurs, and, from bit 16 on, the one as far into the upper half."""
    return counts[at] | counts[at + (1 << BITS - 1)] << 16


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, ITEMS=constexpr(int), BATCH=constexpr(int), BITS=constexpr(int), WHOLE=constexpr(bool), BESIDE=constexpr(bool),
)
def rank_halves(
    table: ptr(uint32) @ block[1], keys: K[ITEMS] @ thread[1], sorted: ptr(K) @ block[1], ids: ptr(uint16) @ block[1],
    shift: int32 @ block[1], common: int32 @ block[1],
):
    """Put a tile in the order of a digit into `sorted`, and with `BESIDE` where each key stood in it into `ids`.

    Each warp does so by itself, with its part of the table: none waits for another one. Equal digits of a row of the warp are in
    the order in which its lanes add. A digit `common`, not negative, that very many have, is counted by votes; with `WHOLE` a
    tile whose elements all have it is in order already.
    """
    HALF: constexpr(int) = 1 << BITS - 1
    w: int32 @ thread[32] = id()
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    with (
        partition(table, thread[32], offset=w * HALF) as own,
        partition(sorted, thread[1], offset=lambda rank: rank, races="none") as spot,
        partition(ids, thread[1], offset=lambda rank: rank, races="none") as id_spot,
        group(thread[32]),
    ):
        for begin in range(0, ITEMS, BATCH):
            digits: int32[BATCH] @ thread[1]
            ranks: uint32[BATCH] @ thread[1]
            if WHOLE and common >= 2 * HALF:
                for k in range(BATCH):
                    ranks[k] = uint32(at + 32 * (begin + k))
            else:
                for k in range(BATCH):
                    digits[k] = digit(keys[begin + k], shift, K(0), KIND=INTEGER, AGAIN=True, BITS=BITS)
                rank(own, digits, ranks, common, HALF=HALF)
            with group(thread[1]):
                for k in range(BATCH):
                    spot[int32(ranks[k])] = keys[begin + k]
                    if BESIDE:
                        id_spot[int32(ranks[k])] = uint16(at + 32 * (begin + k))
