"""Long arrays of bytes go to two or three arrays, each close together and in its order: large tiles, as of `select_bytes`.

A tile's bytes are put where they belong as soon as they are counted, each part's together, in one of two tiles in shared memory:
so no registers hold them while the block waits for the tiles before.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, int32, int64, mailbox, partition, popcount, prism,
    ptr, requires, shared, template, thread, uint8, uint32, uint64,
)
from prism.kernels.select.answers import Interval, find_interval, flags_in_interval, flags_of_answers
from prism.kernels.select.bytes import fill_selectors, one_of, write_shifted
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.conditions import is_set
from prism.kernels.select.long_bytes import place_rows
from prism.kernels.select.packed import flags_of_bytes, load_held, release
from prism.kernels.select.parts import count_both, skew_at
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    M=dtype, C=dtype, O=dtype, D=dtype, W=dtype, TEST=function, OTHER=function, OWN=constexpr(bool),
    GIVEN=constexpr(bool, default=False), OTHER_GIVEN=constexpr(bool, default=False), WAYS=constexpr(int), PARTS=constexpr(int),
    NEAR=constexpr(int, default=2),
    THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int), WORDS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
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
    EACH: constexpr(int) = PART // 4  # words of a part
    ROOM: constexpr(int) = THREADS * HELD + 8
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    near: int32 @ grid[1] = blocks // NEAR  # as of `split_apart`
    with (
        partition(y, block[1], races="none") as ones, partition(z, block[1], races="none") as others,
        partition(rest, block[1], races="none") as left, partition(kept, block[1], 0, races="none") as number,
        partition(other_kept, block[1], 0, races="none") as other_number, group(block[1]),
    ):  # fmt: skip
        prefix: int64 @ block[1] = 0  # how many go to `y` before the held tile
        other_prefix: int64 @ block[1] = 0
        done: int32 @ block[1] = 0  # how many tiles' counts are in them
        held: int32 @ block[1] = 0  # how many of the held tile go to `y`
        others_held: int32 @ block[1] = 0
        coming: int32 @ block[1] = 0  # the same of the following tile
        others_coming: int32 @ block[1] = 0
        packed: shared(uint32[2 * ROOM], align=16) @ block[1]  # bytes of each part, of two tiles in turn
        half: int32 @ block[1] = 0  # where those of the held tile are
        ahead: uint32[HELD] @ thread[1] = {0}
        signs: uint64[PARTS] @ thread[1] = {0}  # which bytes of the loaded tile go to `y`
        others_signs: uint64[PARTS] @ thread[1] = {0}
        selectors: shared(uint8[128], align=16) @ block[1]  # of bytes, four at a time
        fill_selectors(selectors, THREADS=THREADS)
        bytes: Interval @ block[1] = Interval(0, 0, 0, 0, 0, 0)  # what `TEST` is true of
        other_bytes: Interval @ block[1] = Interval(0, 0, 0, 0, 0, 0)
        if OWN:
            bytes = find_interval(mask, C=C, TEST=TEST, GIVEN=GIVEN, THREADS=THREADS)
        if OWN and WAYS == 3:
            other_bytes = find_interval(other, C=D, TEST=OTHER, GIVEN=OTHER_GIVEN, THREADS=THREADS)

        @requires(block[1], thread[THREADS])
        def ask_masks(start: int64 @ block[1], many: int32 @ block[1], one: uint32 @ thread[1]):
            """Flags of the loaded tile: what `mask` and `other` say of it."""
            nonlocal signs, others_signs
            marks: uint32[HELD] @ thread[1]
            with partition(mask, block[1], offset=start) as source:
                load_held(source, marks, many, uint8(unset), mask_skew, ITEMS=ITEMS, WIDTH=WIDTH)
            with group(thread[1]):
                for p in range(PARTS):
                    part: uint32[EACH]
                    for w in range(EACH):
                        part[w] = marks[p * EACH + w]
                    signs[p] = flags_of_bytes(part, one, F=uint64)
            if WAYS == 3:
                with partition(other, block[1], offset=start) as source:
                    load_held(source, marks, many, uint8(other_unset), other_skew, ITEMS=ITEMS, WIDTH=WIDTH)
                with group(thread[1]):
                    for p in range(PARTS):
                        piece: uint32[EACH]
                        for w in range(EACH):
                            piece[w] = marks[p * EACH + w]
                        others_signs[p] = flags_of_bytes(piece, one, F=uint64)

        @requires(thread[1])
        def ask_elements(one: uint32 @ thread[1]):
            """Flags of the loaded tile: what its own elements say."""
            nonlocal signs, others_signs
            for p in range(PARTS):
                part: uint32[EACH]
                for w in range(EACH):
                    part[w] = ahead[p * EACH + w]
                if bytes.known > 0 and (WAYS == 2 or other_bytes.known > 0):
                    signs[p] = flags_in_interval(part, bytes, one, F=uint64)
                    if WAYS == 3:
                        others_signs[p] = flags_in_interval(part, other_bytes, one, F=uint64)
                else:
                    items: uint8[PART]
                    release(part, items)
                    signs[p] = flags_of_answers(items, mask, C=C, F=uint64, TEST=TEST, GIVEN=GIVEN)
                    if WAYS == 3:
                        others_signs[p] = flags_of_answers(items, other, C=D, F=uint64, TEST=OTHER, GIVEN=OTHER_GIVEN)

        @requires(block[1], thread[THREADS])
        def load(tile: int32 @ block[1], epoch: uint32 @ block[1]):
            """Bring a tile into registers; find out which bytes go where, publish how many, and put each part's together."""
            nonlocal coming, others_coming, signs, others_signs
            one: uint32 @ thread[1] = one_of(selectors)
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            start: int64 @ block[1] = int64(tile) * TILE
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            if not OWN:
                ask_masks(start, many, one)
            with partition(x, block[1], offset=start) as source:
                load_held(source, ahead, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)
            block.prefetch_tile(x, tile + near, n, TILE=TILE)
            if OWN:
                with group(thread[1]):
                    ask_elements(one)
            within: uint64[PARTS] @ thread[1]
            both: uint32 @ thread[1] = 0
            for p in range(PARTS):
                within[p] = bits_within(many - at - p * PART * 32, F=uint64, ITEMS=PART, WIDTH=WIDTH)
                signs[p] = signs[p] & within[p]
                both = both + uint32(popcount(signs[p]))
                if WAYS == 3:
                    others_signs[p] = others_signs[p] & within[p] & ~signs[p]
                    both = both + (uint32(popcount(others_signs[p])) << 16)
            before: int32[2] @ thread[32]
            coming, others_coming = count_both(both, before)
            if WAYS == 3:
                grid.publish(words, tile, W(coming) + (W(others_coming) << 32), epoch)
            else:
                grid.publish(words, tile, W(coming), epoch)
            base: int32 @ block[1] = (1 - half) * ROOM
            middle: int32 @ block[1] = base + (coming + 3) // 4
            final: int32 @ block[1] = middle + (others_coming + 3) // 4
            for p in range(PARTS):
                within[p] = within[p] & ~signs[p] & ~others_signs[p]
            place_rows(
                packed, ahead, signs, others_signs, within, before, base, middle, final, coming, others_coming, many, selectors,
                WIDTH=WIDTH, THREADS=THREADS, WAYS=WAYS,
            )

        @requires(block[1], thread[THREADS])
        def look_back(tile: int32 @ block[1], epoch: uint32 @ block[1]):
            """Add up how many elements of the tiles before go to `y` and to `z`."""
            nonlocal prefix, other_prefix, done
            between: W @ block[1] = grid.look_back(
                words, done, tile, 0, epoch, OP=operators.add, THREADS=THREADS, WORDS=WORDS,
            )
            prefix = prefix + int64(uint32(between))
            if WAYS == 3:
                other_prefix = other_prefix + int64(between >> 32)
            done = max(tile, 0)

        @requires(block[1], thread[THREADS])
        def store(tile: int32 @ block[1]):
            """Write the held tile's bytes where they belong; of the last tile how many there are in all."""
            last: int32 @ block[1] = 1 if tile == tiles - 1 else 0
            block.fill(number, prefix + held, last)  # first: a host that waits goes on then
            if WAYS == 3:
                block.fill(other_number, other_prefix + others_held, last)
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            begin: int64 @ block[1] = int64(tile) * TILE - prefix - other_prefix
            base: int32 @ block[1] = half * ROOM
            middle: int32 @ block[1] = base + (held + 3) // 4
            final: int32 @ block[1] = middle + (others_held + 3) // 4
            with (
                partition(ones, block[1], prefix, races="none") as first,
                partition(others, block[1], other_prefix, races="none") as second,
                partition(left, block[1], begin, races="none") as third,
            ):
                write_shifted(first, packed, base, held, skew_at(out_skew, prefix, VECTOR=16), THREADS=THREADS)
                if WAYS == 3:
                    second_skew: int32 @ block[1] = skew_at(out_skew, other_prefix, VECTOR=16)
                    write_shifted(second, packed, middle, others_held, second_skew, THREADS=THREADS)
                write_shifted(
                    third, packed, final, many - held - others_held, skew_at(out_skew, begin, VECTOR=16), THREADS=THREADS,
                )

        @requires(block[1], thread[THREADS])
        def keep():
            """The loaded tile is the held one from here on."""
            nonlocal held, others_held, half
            held = coming
            others_held = others_coming
            half = 1 - half

        last: grid.Ticket @ block[1] = grid.tile_loop(
            control, tiles, LOAD=load, LOOK_BACK=look_back, STORE=store, KEEP=keep, THREADS=THREADS, ALWAYS=True,
        )
        if last.tile == tiles + blocks - 1:  # every block has drawn its last ticket
            grid.count_launch(control, words, capacity, tiles, last.epoch, 0)


EXAMPLES = {
    "split_bytes": {
        "M": "uint8", "C": "uint8", "O": "uint8", "D": "uint8", "W": "uint32", "TEST": is_set, "OTHER": is_set, "OWN": False,
        "WAYS": 2, "PARTS": 2, "THREADS": 384, "ITEMS": 128, "WIDTH": 32, "BLOCKS": 2, "WORDS": 2,
    },
}
