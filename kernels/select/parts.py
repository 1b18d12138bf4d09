"""A tile's elements go to two or three arrays, each close together and in its order, in one pass.

As `select` has it: each tile's flags are bits of a word a thread, counted as soon as it is loaded, and of the tiles before only
their counts are needed. All of a tile passes through shared memory once, each part from where it makes vectors of its array.
"""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, load_vector, mailbox, partition,
    popcount, prism, ptr, requires, shared, store_vector, template, thread, uint32, uint64,
)
from prism.kernels.select.answers import flags_of_answers
from prism.kernels.select.part_loop import part_tiles
from prism.kernels.select.compaction import bits_within
from prism.kernels.select.conditions import is_set
from prism.kernels.select.packed import load_flags, load_held, release
from prism.lib.block.compact import rank_rows
from prism.lib.thread import extent


@prism.kernel
@template(
    T=dtype, H=dtype, TI=dtype, M=dtype, C=dtype, O=dtype, D=dtype, W=dtype, TEST=function, OTHER=function, OWN=constexpr(bool),
    GIVEN=constexpr(bool, default=False), OTHER_GIVEN=constexpr(bool, default=False), BYTES=constexpr(bool, default=False),
    WAYS=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), BLOCKS=constexpr(int),
    WORDS=constexpr(int), ONCE=constexpr(bool, default=False),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def split_apart(
    x: ptr(const(TI)) @ grid[1], mask: ptr(const(M)) @ grid[1], other: ptr(const(O)) @ grid[1], y: ptr(T) @ grid[1],
    z: ptr(T) @ grid[1], rest: ptr(T) @ grid[1], kept: ptr(int64) @ grid[1], other_kept: ptr(int64) @ grid[1],
    n: int64 @ grid[1], skew: int32 @ grid[1], mask_skew: int32 @ grid[1], other_skew: int32 @ grid[1],
    out_skew: int32 @ grid[1], otherwise: T @ grid[1], unset: C @ grid[1], other_unset: D @ grid[1],
    words: ptr(mailbox(W)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):
    """`y` becomes the elements `x[i]` for which `TEST(mask[i])`, `z` of the others those with `OTHER(other[i])`, `rest` the rest.

    Each is in its order, from its beginning on. `kept[0]` says how many are in `y`, `other_kept[0]` in `z`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `select`. `y`, `z`, `rest`: `n` elements, no memory of each other or of what is read; they begin
                 `out_skew` elements past a vector of 16 bytes; -1: it is not known. With two `WAYS` `other` and `z` are not
                 touched, nor is `other_kept`. With `OWN` `mask` and `other` are not read: `x` is taken for them; but
                 with `GIVEN` `TEST` is called with `x[i]` and `mask[0]`, with `OTHER_GIVEN` `OTHER` with `x[i]` and
                 `other[0]`. `BYTES`: as of `select`, of both. `D`, `other_unset`: as `C` and `unset`, of `other`. `words`: of
                 uint32, with three ways of uint64. `H`: as of `select`.
    Test:        tests/kernels/test_select.py, tests/gpu/test_select.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    VECTOR: constexpr(int) = max(16 // T.bytes, 1)
    HELD: constexpr(int) = ITEMS * T.bytes // H.bytes
    PLACED: constexpr(bool) = T.bytes >= 4 and BLOCKS >= 3  # a held tile stands in shared memory
    LINE: constexpr(int) = 128 // T.bytes  # elements that a warp writes at once, at most
    tiles: int32 @ grid[1] = int32((n + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    b: int32 @ block[1] = id()
    # What is asked for now: about what this block draws next. Of blocks that hold much as much again is read and written until
    # then, and pushes it out of the L2: what another block loads sooner.
    near: int32 @ grid[1] = blocks // 2 if PLACED else blocks
    with (
        partition(y, block[1], races="none") as ones, partition(z, block[1], races="none") as others,
        partition(rest, block[1], races="none") as left, partition(kept, block[1], 0, races="none") as number,
        partition(other_kept, block[1], 0, races="none") as other_number, group(block[1]),
    ):  # fmt: skip
        tile_held: H[HELD] @ thread[1]  # the held tile
        flags: uint32 @ thread[1] = 0  # which elements of it go to `y`
        others_flags: uint32 @ thread[1] = 0
        before: int32 @ thread[32] = 0  # how many of the warps before do
        others_before: int32 @ thread[32] = 0
        tile_ahead: H[HELD] @ thread[1] = {0}  # the same of the following tile
        signs: uint32 @ thread[1] = 0
        others_signs: uint32 @ thread[1] = 0
        placed: shared(T[TILE if PLACED else 1], align=16) @ block[1]  # elements of the held tile, each part's together

        @requires(block[1], thread["THREADS"])
        def ask_masks(tile: int32 @ block[1], many: int32 @ block[1]):
            """Flags of the loaded tile: what `mask` and `other` say of it."""
            nonlocal signs, others_signs
            signs = load_flags(
                mask, tile, many, n, near, mask_skew, unset, TEST=TEST, BYTES=BYTES, THREADS=THREADS, ITEMS=ITEMS, WIDTH=WIDTH,
            )
            if WAYS == 3:
                others_signs = load_flags(
                    other, tile, many, n, near, other_skew, other_unset, TEST=OTHER, BYTES=BYTES, THREADS=THREADS, ITEMS=ITEMS,
                    WIDTH=WIDTH,
                )

        @requires(thread[1])
        def ask_elements():
            """Flags of the loaded tile: what its own elements say."""
            nonlocal signs, others_signs
            ahead: T[ITEMS]
            release(tile_ahead, ahead)
            signs = flags_of_answers(ahead, mask, C=C, F=uint32, TEST=TEST, GIVEN=GIVEN)
            if WAYS == 3:
                others_signs = flags_of_answers(ahead, other, C=D, F=uint32, TEST=OTHER, GIVEN=OTHER_GIVEN)

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]) -> uint32 @ thread[1]:
            """Bring a tile into registers; find out which elements go where."""
            nonlocal signs, others_signs
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            within: uint32 @ thread[1] = bits_within(many - at, ITEMS=ITEMS, WIDTH=WIDTH)
            if not OWN:
                ask_masks(tile, many)
            with partition(x, block[1], offset=int64(tile) * TILE) as source:
                load_held(source, tile_ahead, many, otherwise, skew, ITEMS=ITEMS, WIDTH=WIDTH)
            block.prefetch_tile(x, tile + near, n, TILE=TILE)
            if OWN:
                with group(thread[1]):
                    ask_elements()
            signs = signs & within
            if WAYS == 3:
                others_signs = others_signs & within & ~signs
            return uint32(popcount(signs)) | (uint32(popcount(others_signs)) << 16 if WAYS == 3 else 0)

        @requires(block[1], thread["THREADS"])
        def store(
            tile: int32 @ block[1], prefix: int64 @ block[1], other_prefix: int64 @ block[1], held: int32 @ block[1],
            others_held: int32 @ block[1],
        ):
            """Write the held tile's elements where they belong."""
            many: int32 @ block[1] = extent(tile, n, TILE=TILE)
            begin: int64 @ block[1] = int64(tile) * TILE - prefix - other_prefix
            items: T[ITEMS if not PLACED else 1] @ thread[1]
            if not PLACED:
                with group(thread[1]):
                    release(tile_held, items)
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            EACH: constexpr(int) = LINE if PLACED else VECTOR
            first_skew: int32 @ block[1] = skew_at(out_skew, prefix, VECTOR=EACH)
            second_skew: int32 @ block[1] = skew_at(out_skew, other_prefix, VECTOR=EACH)
            rest_skew: int32 @ block[1] = skew_at(out_skew, begin, VECTOR=EACH)
            with (
                partition(ones, block[1], prefix, races="none") as first,
                partition(others, block[1], other_prefix, races="none") as second,
                partition(left, block[1], begin, races="none") as third,
            ):
                if PLACED:
                    write_placed(first, placed, 0, held, max(first_skew, 0), THREADS=THREADS)
                    if WAYS == 3:
                        write_placed(second, placed, held, others_held, max(second_skew, 0), THREADS=THREADS)
                    both: int32 @ block[1] = held + others_held
                    write_placed(third, placed, both, many - both, max(rest_skew, 0), THREADS=THREADS)
                else:
                    store_apart(
                        first, second, third, items, flags, others_flags, before, others_before, held, others_held, many,
                        first_skew, second_skew, rest_skew, WIDTH=WIDTH, THREADS=THREADS, VECTOR=VECTOR, WAYS=WAYS,
                    )

        @requires(block[1], thread["THREADS"])
        def keep(earlier: int32[2] @ thread[32], coming: int32 @ block[1], others_coming: int32 @ block[1]):
            """The loaded tile is the held one from here on."""
            nonlocal flags, others_flags, before, others_before
            flags = signs
            before = earlier[0]
            if WAYS == 3:
                others_flags = others_signs
                others_before = earlier[1]
            if PLACED:
                ahead: T[ITEMS] @ thread[1]
                with group(thread[1]):
                    release(tile_ahead, ahead)
                place_apart(
                    placed, ahead, signs, others_signs, earlier, coming, others_coming, WIDTH=WIDTH, THREADS=THREADS, WAYS=WAYS,
                )
            else:
                for k in range(HELD):
                    tile_held[k] = tile_ahead[k]

        part_tiles(
            words, capacity, control, blocks, tiles, number, other_number, b, LOAD=load, STORE=store, KEEP=keep, WAYS=WAYS,
            THREADS=THREADS, WORDS=WORDS, ONCE=ONCE,
        )


@prism.device
@requires(thread[1])
@template(VECTOR=constexpr(int))
def skew_at(skew: int32 @ thread[1], begin: int64 @ thread[1]) -> int32 @ thread[1]:
    """How many elements a place is past one that is aligned to a vector, of a power of 2; -1: it is not known."""
    return -1 if skew < 0 else int32(skew + begin & VECTOR - 1)


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int), VECTOR=constexpr(int), WAYS=constexpr(int),
)
def store_apart(
    y: ptr(T) @ block[1], z: ptr(T) @ block[1], rest: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1],
    others: uint32 @ thread[1], before: int32 @ thread[32], others_before: int32 @ thread[32], kept: int32 @ block[1],
    others_kept: int32 @ block[1], many: int32 @ block[1], skew: int32 @ block[1], others_skew: int32 @ block[1],
    rest_skew: int32 @ block[1],
):
    """Write the elements whose bit of `flags` is set from `y[0]` on, those of `others` from `z[0]` on; the rest of `many`.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `block.store_flagged`; no element has both bits. With two `WAYS` `others` and `z` are not touched.
    Cost:        6 shuffles for four rows of up to 4 elements, or for two, and with three ways as many again; one barrier; a
                 shared store of each element, and of `VECTOR` of them a shared load and a store.
    """
    ROWS: constexpr(int) = ITEMS // WIDTH
    place: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    begin: int32 @ block[1] = max(skew, 0)  # where each part begins in the tile, so that its vectors are those of its array
    middle: int32 @ block[1] = (begin + kept + (VECTOR - 1)) // VECTOR * VECTOR + max(others_skew, 0)
    final: int32 @ block[1] = (middle + (others_kept + (VECTOR - 1))) // VECTOR * VECTOR + max(rest_skew, 0)
    ranks: int32[ROWS] @ thread[1]
    others_ranks: int32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, before, ranks, WIDTH=WIDTH)
        if WAYS == 3:
            rank_rows(others, others_before, others_ranks, WIDTH=WIDTH)
    tile: shared(T[THREADS * ITEMS + 6 * VECTOR], align=16) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        for j in range(ROWS):
            rank: int32 = ranks[j]
            second: int32 = 0
            if WAYS == 3:
                second = others_ranks[j]
            for k in range(WIDTH):
                number: int32 = place + (j * 32 * WIDTH + k)
                is_first: bool = flags >> (j * WIDTH + k) & 1 != 0
                is_second: bool = False
                if WAYS == 3:
                    is_second = others >> (j * WIDTH + k) & 1 != 0
                to: int32 = final + number - rank - second  # of the rest, as many as stand before it and are none of the others
                to = middle + second if is_second else to
                to = begin + rank if is_first else to
                spot[to] = items[j * WIDTH + k]
                rank = rank + (1 if is_first else 0)
                second = second + (1 if is_second else 0)
    store_part(y, tile, begin, kept, skew < 0, THREADS=THREADS, VECTOR=VECTOR)
    if WAYS == 3:
        store_part(z, tile, middle, others_kept, others_skew < 0, THREADS=THREADS, VECTOR=VECTOR)
    store_part(rest, tile, final, many - kept - others_kept, rest_skew < 0, THREADS=THREADS, VECTOR=VECTOR)


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, ITEMS=constexpr(int), ROOM=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int), WAYS=constexpr(int),
)
def place_apart(
    tile: shared(T[ROOM]) @ block[1], items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], others: uint32 @ thread[1],
    before: int32[2] @ thread[32], kept: int32 @ block[1], others_kept: int32 @ block[1],
):
    """Put the elements whose bit of `flags` is set at the beginning of a tile, those of `others` behind, and then the rest.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `store_apart`; `before`: how many bits of both are set in the warps before.
    Cost:        6 shuffles for four rows of up to 4 elements, or for two, and with three ways as many again; a shared store of
                 each element.
    """
    ROWS: constexpr(int) = ITEMS // WIDTH
    place: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    ranks: int32[ROWS] @ thread[1]
    others_ranks: int32[ROWS] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, before[0], ranks, WIDTH=WIDTH)
        if WAYS == 3:
            rank_rows(others, kept + before[1], others_ranks, WIDTH=WIDTH)
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        for j in range(ROWS):
            first: int32 = ranks[j]
            second: int32 = kept
            if WAYS == 3:
                second = others_ranks[j]
            third: int32 = kept + others_kept + place + j * 32 * WIDTH - first - (second - kept)
            for k in range(WIDTH):
                is_first: bool = flags >> (j * WIDTH + k) & 1 != 0
                is_second: bool = False
                if WAYS == 3:
                    is_second = others >> (j * WIDTH + k) & 1 != 0
                to: int32 = first if is_first else third
                if WAYS == 3:
                    to = second if is_second else to
                spot[to] = items[j * WIDTH + k]
                first = first + (1 if is_first else 0)
                if WAYS == 3:
                    second = second + (1 if is_second else 0)
                third = third + (0 if is_first or is_second else 1)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ROOM=constexpr(int), THREADS=constexpr(int))
def write_placed(
    y: ptr(T) @ block[1], tile: shared(T[ROOM]) @ block[1], begin: int32 @ block[1], many: int32 @ block[1],
    lead: int32 @ block[1],
):
    """Write `many` elements of a tile, from `tile[begin]` on, from `y[0]` on, which is `lead` elements past a line of 128 bytes.

    Perspective: block, of `THREADS` threads.
    Cost:        of an element a shared load and a store: of a warp's one line.
    """
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], races="none") as out, group(thread[1]):
        for i in range(t - lead, many, THREADS):
            if i >= 0:
                out[i] = tile[begin + i]


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ROOM=constexpr(int), THREADS=constexpr(int), VECTOR=constexpr(int))
def store_part(
    y: ptr(T) @ block[1], tile: shared(T[ROOM]) @ block[1], begin: int32 @ block[1], many: int32 @ block[1],
    loose: bool @ block[1],
):
    """Write `many` elements of a tile, from `tile[begin]` on, from `y[0]` on: by vectors, unless `loose`.

    Perspective: block, of `THREADS` threads.
    Shapes:      unless `loose`, vectors of `tile` are those of `y`.
    Cost:        of `VECTOR` elements a shared load and a store.
    """
    t: int32 @ thread[1] = id()
    end: int32 @ block[1] = begin + many
    with partition(y, thread[1], offset=-begin, races="none") as out, group(thread[1]):
        if VECTOR == 1 or loose:
            for at in range(begin + t, end, THREADS):
                out[at] = tile[at]
        else:
            first: int32 = (begin + (VECTOR - 1)) // VECTOR  # the first whole vector
            for v in range(first + t, end // VECTOR, THREADS):
                store_vector(out[v * VECTOR], load_vector(tile[v * VECTOR], VECTOR))
            if begin + t < min(first * VECTOR, end):  # before it
                out[begin + t] = tile[begin + t]
            last: int32 = max(end // VECTOR, first) * VECTOR + t  # behind the last one
            if last < end:
                out[last] = tile[last]


EXAMPLES = {
    "split_apart": {
        "T": "float32", "H": "float32", "TI": "float32", "M": "uint8", "C": "uint8", "O": "uint8", "D": "uint8", "W": "uint32",
        "TEST": is_set, "OTHER": is_set, "OWN": False, "WAYS": 2, "THREADS": 256, "ITEMS": 24, "WIDTH": 4, "BLOCKS": 2,
        "WORDS": 2,
    },
}
