"""Long arrays of bytes go to two or three arrays, each close together and in its order: large tiles, as of `select_bytes`.

A tile's bytes are put where they belong as soon as they are counted, each part's together, in one of two tiles in shared memory:
so no registers hold them while the block waits for the tiles before.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, mailbox, partition, popcount, prism,
    ptr, requires, shared, template, thread, uint8, uint32, uint64,
)
from prism.kernels.select.answers import Interval, find_interval
from prism.kernels.select.direct_parts import direct_parts
from prism.kernels.select.part_loop import held_parts
from prism.kernels.select.bytes import fill_selectors, merge_rests, one_of, write_shifted
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.conditions import is_set
from prism.kernels.select.long_bytes import ask_bytes, load_marks, place_rows
from prism.kernels.select.packed import load_held
from prism.kernels.select.parts import skew_at


@prism.kernel
@template(
    M=dtype, C=dtype, O=dtype, D=dtype, W=dtype, TEST=function, OTHER=function, OWN=constexpr(bool),
    GIVEN=constexpr(bool, default=False), OTHER_GIVEN=constexpr(bool, default=False), WAYS=constexpr(int), PARTS=constexpr(int),
    NEAR=constexpr(int, default=2),
    THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def split_bytes(
    x: ptr(const(uint8)) @ grid[1], mask: ptr(const(M)) @ grid[1], other: ptr(const(O)) @ grid[1], y: ptr(uint8) @ grid[1],
    z: ptr(uint8) @ grid[1], rest: ptr(uint8) @ grid[1], kept: ptr(int64) @ grid[1], other_kept: ptr(int64) @ grid[1],
    n: int64 @ grid[1], skew: int32 @ grid[1], mask_skew: int32 @ grid[1], other_skew: int32 @ grid[1],
    out_skew: int32 @ grid[1], otherwise: uint8 @ grid[1], unset: C @ grid[1], other_unset: D @ grid[1],
    words: ptr(mailbox(W)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y` becomes the bytes `x[i]` for which `TEST(mask[i])`, `z` of the others those with `OTHER(other[i])`, `rest` the rest.

    Each is in its order, from its beginning on. `kept[0]` says how many are in `y`, `other_kept[0]` in `z`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `split_apart`, of bytes. A thread has `ITEMS` of a tile's, in `PARTS` of up to 64, fewer than 2^16 all
                 threads. Without `OWN` bytes of `mask` and `other` are set that are not 0. `NEAR`: as of `select_bytes`.
    Test:        tests/kernels/test_long_bytes.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    PART: constexpr(int) = ITEMS // PARTS
    HELD: constexpr(int) = ITEMS // 4
    LOADED: constexpr(bool) = OWN and WAYS == 3  # when a tile is asked for, and not when it is counted
    ROOM: constexpr(int) = THREADS * HELD + 8
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    near: int32 @ grid[1] = blocks // NEAR  # as of `split_apart`
    with (
        partition(y, block[1], races="none") as ones, partition(z, block[1], races="none") as others,
        partition(rest, block[1], races="none") as rests, partition(kept, block[1], 0, races="none") as number,
        partition(other_kept, block[1], 0, races="none") as other_number, group(block[1]),
    ):  # fmt: skip
        # Bytes of each part: with two, of two tiles in turn.
        packed: shared(uint32[ROOM * (2 if WAYS == 2 else 1)], align=16) @ block[1]
        ahead: uint32[HELD] @ thread[1] = {0}
        signs: uint64[PARTS] @ thread[1] = {0}  # which bytes of the loaded tile go to `y`
        others_signs: uint64[PARTS] @ thread[1] = {0}
        left_signs: uint64[PARTS] @ thread[1] = {0}  # which go to `rest`
        spots: int32[WAYS * (ITEMS // WIDTH)] @ thread[1]  # words of the loaded tile that several rows write to
        unfilled: uint32[WAYS * (ITEMS // WIDTH)] @ thread[1]
        selectors: shared(uint8[80], align=16) @ block[1]  # of bytes, four at a time
        fill_selectors(selectors, THREADS=THREADS)
        bytes: Interval @ block[1] = Interval(0, 0, 0, 0, 0, 0)  # what `TEST` is true of
        other_bytes: Interval @ block[1] = Interval(0, 0, 0, 0, 0, 0)
        if OWN:
            bytes = find_interval(mask, C=C, TEST=TEST, GIVEN=GIVEN, THREADS=THREADS)
        if OWN and WAYS == 3:
            other_bytes = find_interval(other, C=D, TEST=OTHER, GIVEN=OTHER_GIVEN, THREADS=THREADS)
        known: bool @ block[1] = bytes.known > 0 and (WAYS == 2 or other_bytes.known > 0)

        @requires(block[1], thread["THREADS"])
        def bring(tile: int32 @ block[1], many: int32 @ block[1]):
            """Load a tile's bytes."""
            with partition(x, block[1], offset=int64(tile) * TILE) as source:
                load_held(source, ahead, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)

        @requires(block[1], thread["THREADS"])
        def ask(tile: int32 @ block[1], many: int32 @ block[1]):
            """Ask for a tile, and for what is about the one that this block draws next: behind its masks, if there are any."""
            if OWN:
                bring(tile, many)
            if LOADED:
                block.prefetch_tile(x, tile + near, n, TILE=TILE)

        @requires(block[1], thread["THREADS"])
        def find(tile: int32 @ block[1], many: int32 @ block[1]) -> uint32 @ thread[1]:
            """Find out which bytes of a tile that was asked for go where."""
            one: uint32 @ thread[1] = one_of(selectors)
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            if not OWN:
                start: int64 @ block[1] = int64(tile) * TILE
                load_marks(mask, signs, start, many, uint8(unset), mask_skew, one, ITEMS=ITEMS, WIDTH=WIDTH)
                if WAYS == 3:
                    load_marks(
                        other, others_signs, start, many, uint8(other_unset), other_skew, one, ITEMS=ITEMS, WIDTH=WIDTH,
                    )
                bring(tile, many)
            if not LOADED:  # not sooner: what is loaded here comes first
                block.prefetch_tile(x, tile + near, n, TILE=TILE)
            if OWN:
                with group(thread[1]):
                    ask_bytes(ahead, signs, mask, bytes, known, one, C=C, TEST=TEST, GIVEN=GIVEN)
                    if WAYS == 3:
                        ask_bytes(
                            ahead, others_signs, other, other_bytes, known, one, C=D, TEST=OTHER, GIVEN=OTHER_GIVEN,
                        )
            return divide_flags(
                signs, others_signs, left_signs, many - at, PARTS=PARTS, ITEMS=PART, WIDTH=WIDTH, WAYS=WAYS,
            )

        @requires(block[1], thread["THREADS"])
        def place(
            half: int32 @ block[1], many: int32 @ block[1], before: int32[2] @ thread[32], coming: int32 @ block[1],
            others_coming: int32 @ block[1],
        ):
            """Put each part's bytes of the loaded tile together, but for what `merge` does."""
            place_rows(
                packed, ahead, signs, others_signs, left_signs, before, half * ROOM, coming, others_coming, many, selectors,
                spots, unfilled, WIDTH=WIDTH, THREADS=THREADS, WAYS=WAYS,
            )

        @requires(block[1], thread["THREADS"])
        def merge():
            """End it, behind a barrier."""
            with group(thread[1]):
                merge_rests(packed, spots, unfilled)

        @requires(block[1], thread["THREADS"])
        def write(
            half: int32 @ block[1], tile: int32 @ block[1], many: int32 @ block[1], prefix: int64 @ block[1],
            other_prefix: int64 @ block[1], held: int32 @ block[1], others_held: int32 @ block[1],
        ):
            """Write a tile's bytes where they belong."""
            begin: int64 @ block[1] = int64(tile) * TILE - prefix - other_prefix
            with (
                partition(ones, block[1], prefix, races="none") as first,
                partition(others, block[1], other_prefix, races="none") as second,
                partition(rests, block[1], begin, races="none") as third,
            ):
                write_parts(
                    first, second, third, packed, half * ROOM, held, others_held, many - held - others_held,
                    skew_at(out_skew, prefix, VECTOR=16), skew_at(out_skew, other_prefix, VECTOR=16),
                    skew_at(out_skew, begin, VECTOR=16), WAYS=WAYS, THREADS=THREADS,
                )

        block.prefetch_tile(x, b, n, TILE=TILE)  # about the first one that it draws: it comes while that is drawn
        if not OWN:
            block.prefetch_tile(mask, b, n, TILE=TILE)
        if WAYS == 3:  # what three parts take is more than what they wait for: they look back at once
            direct_parts(
                words, capacity, control, blocks, tiles, n, number, other_number, LOAD=ask, COUNT=find, PLACE=place, MERGE=merge,
                STORE=write, TILE=TILE, THREADS=THREADS, WORDS=WORDS,
            )
        else:
            held_parts(
                words, capacity, control, blocks, tiles, n, number, other_number, LOAD=ask, COUNT=find, PLACE=place, MERGE=merge,
                STORE=write, TILE=TILE, THREADS=THREADS, WORDS=WORDS,
            )


@prism.device
@requires(thread[1])
@template(PARTS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), WAYS=constexpr(int))
def divide_flags(
    flags: uint64[PARTS] @ thread[1], others: uint64[PARTS] @ thread[1], left: uint64[PARTS] @ thread[1],
    many: int32 @ thread[1],
) -> uint32 @ thread[1]:
    """Make `left` the bytes with neither flag; those with a first one have no other. Return how many have each, in 16 bits.

    Of the tile `many` bytes are from the thread's first one on: no others have a flag.
    """
    both: uint32 = 0
    for p in range(PARTS):
        within: uint64 = bits_within(many - p * ITEMS * 32, F=uint64, ITEMS=ITEMS, WIDTH=WIDTH)
        flags[p] = flags[p] & within
        both = both + uint32(popcount(flags[p]))
        if WAYS == 3:
            others[p] = others[p] & within & ~flags[p]
            both = both + (uint32(popcount(others[p])) << 16)
        left[p] = within & ~flags[p] & ~others[p]
    return both


@prism.device
@requires(block[1], thread[32])
@template(ROOM=constexpr(int), WAYS=constexpr(int), THREADS=constexpr(int))
def write_parts(
    y: ptr(uint8) @ block[1], z: ptr(uint8) @ block[1], rest: ptr(uint8) @ block[1], tile: shared(uint32[ROOM]) @ block[1],
    base: int32 @ block[1], held: int32 @ block[1], others_held: int32 @ block[1], left: int32 @ block[1],
    skew: int32 @ block[1], others_skew: int32 @ block[1], rest_skew: int32 @ block[1],
):
    """Write the bytes of each part, as `place_rows` leaves them from word `base` of a tile on: so many as each has."""
    middle: int32 @ block[1] = base + (held + 3) // 4
    final: int32 @ block[1] = middle + (others_held + 3) // 4
    write_shifted(y, tile, base, held, skew, THREADS=THREADS)
    if WAYS == 3:
        write_shifted(z, tile, middle, others_held, others_skew, THREADS=THREADS)
    write_shifted(rest, tile, final, left, rest_skew, THREADS=THREADS)


EXAMPLES = {
    "split_bytes": {
        "M": "uint8", "C": "uint8", "O": "uint8", "D": "uint8", "W": "uint32", "TEST": is_set, "OTHER": is_set, "OWN": False,
        "WAYS": 2, "PARTS": 2, "THREADS": 384, "ITEMS": 128, "WIDTH": 32, "BLOCKS": 2, "WORDS": 2,
    },
}
