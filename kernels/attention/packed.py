"""Which rows and keys a tile has: of arrays of batches, or of sequences of any lengths, packed one after the other.

Tensor maps of packed sequences end where a sequence does, by one axis more. The map of an array of `n` rows begins `n` rows
before it, and element [end, head, n - length + r, e] is of row `end - length + r`: row r of the sequence that ends at row
`end`. From r = `length` on there is none: the copy engine loads zeros and stores nothing, whatever the next sequence has there.
But a box must hold a row: of one that lies outside as a whole the engine, on an H200, touches where the map begins, where there
is no memory.
"""

from __future__ import annotations

from prism.kernels.attention.cut import Cut, Sizes
from prism.lang import (
    block, claim, const, constexpr, dtype, grid, int32, one, partition, prism, ptr, requires, roles, shared, struct, template,
    thread, warp,
)  # fmt: skip


@struct
class Place:
    """Where a tile lies: `top` is its first row in its sequence, which has so many rows and keys, and ends at the last two.

    `pair`: the number of its batch and head, of all; of packed sequences the head's. Of no sequence `rows` and `keys` are 0.
    """

    head: int32
    top: int32
    rows: int32
    keys: int32
    row_end: int32
    key_end: int32
    pair: int32


@prism.device
@template(INDEX=dtype)
@requires(thread[1])
def start_of(
    offsets: ptr(const(INDEX)) @ grid[1], sequence: int32 @ thread[1], most: int32 @ thread[1]
) -> int32 @ thread[1]:
    """Where a sequence begins: not outside of 0 to `most`, whatever its offset is."""
    return int32(max(INDEX(0), min(INDEX(most), offsets[sequence])))


@prism.device
@template(INDEX=dtype, ROWS=constexpr(int))
@requires(thread[1])
def first_tile(
    offsets: ptr(const(INDEX)) @ grid[1], sequence: int32 @ thread[1], most: int32 @ thread[1]
) -> int32 @ thread[1]:
    """The first of a sequence's numbers of tiles, of each head: as many as tiles, or one more, so that none is counted before."""
    return start_of(offsets, sequence, most) // ROWS + sequence if sequence > 0 else 0


@prism.device
@template(INDEX=dtype, ROWS=constexpr(int))
@requires(thread[1])
def find_sequence(
    offsets: ptr(const(INDEX)) @ grid[1], tile: int32 @ thread[1], sequences: int32 @ thread[1], heads: int32 @ thread[1],
    rows: int32 @ thread[1],
) -> int32 @ thread[1]:  # fmt: skip
    """Which sequence has a number of a tile: the last whose first number is not beyond it.

    Cost:        a binary search.
    """
    low: int32 = 0
    high: int32 = sequences
    while high - low > 1:
        middle: int32 = (low + high) // 2
        if heads * first_tile(offsets, middle, rows, ROWS=ROWS) <= tile:
            low = middle
        else:
            high = middle
    return low


@prism.device
@template(INDEX=dtype, ROWS=constexpr(int))
@requires(thread[1])
def find_tile(
    offsets: ptr(const(INDEX)) @ grid[1], key_offsets: ptr(const(INDEX)) @ grid[1], tile: int32 @ thread[1],
    sequences: int32 @ thread[1], heads: int32 @ thread[1], room: int32 @ thread[1], rows: int32 @ thread[1],
    keys: int32 @ thread[1],
) -> Place @ thread[1]:  # fmt: skip
    """Where a tile lies, of `heads * (rows / ROWS + sequences)`: some have no rows, as there are fewer tiles than numbers.

    Perspective: thread.
    Shapes:      `offsets`, `key_offsets`: where sequences begin among `rows` rows and `keys` keys, and where the last one ends.
                 Tiles of a sequence follow one another; those of as many heads are made together as have `room` keys in all,
                 one at least, those with the last rows first.
                 Of offsets that fall, or lead out, no place is outside of the arrays.
    Cost:        a binary search.
    Source:      "ragged" tensor maps: triton/tools/ragged_tma.py, quack's create_ragged_tensor_for_tma (FlashAttention-4).
    Test:        tests/kernels/test_attention_packed.py
    """
    low: int32 = find_sequence(offsets, tile, sequences, heads, rows, ROWS=ROWS)
    first: int32 = first_tile(offsets, low, rows, ROWS=ROWS)
    row_tiles: int32 = max(1, first_tile(offsets, low + 1, rows, ROWS=ROWS) - first)
    key_end: int32 = start_of(key_offsets, low + 1, keys)
    own_keys: int32 = max(0, key_end - start_of(key_offsets, low, keys))
    section: int32 = max(1, min(heads, room // max(1, own_keys)))
    last: int32 = max(1, heads // section) - 1  # of the sections, which has what is left of heads too
    before: int32 = section * min((tile - heads * first) // (section * row_tiles), last)
    within: int32 = tile - heads * first - before * row_tiles
    many: int32 = section if before < last * section else heads - before
    head: int32 = before + within % many
    top: int32 = (row_tiles - 1 - within // many) * ROWS
    row_end: int32 = start_of(offsets, low + 1, rows)
    length: int32 = row_end - start_of(offsets, low, rows)
    if top < 0 or top >= length:
        return Place(0, 0, 0, 0, 0, 0, 0)
    return Place(head, top, length, own_keys, row_end, key_end, head)


@prism.device
@template(ROWS=constexpr(int), PACKED=constexpr(bool))
@requires(thread[1])
def count_places(s: Sizes @ thread[1]) -> int32 @ thread[1]:
    """How many numbers of tiles there are, of `ROWS` rows each: where `PACKED`, of some there are no rows."""
    if PACKED:
        return s.heads * (s.rows // ROWS + s.pairs // s.heads)
    else:
        return s.pairs * ((s.rows + (ROWS - 1)) // ROWS)


@prism.device
@template(INDEX=dtype, CUT=constexpr(Cut), PACKED=constexpr(bool))
@requires(block[1], thread["CUT.threads"])
def find_place(
    offsets: ptr(const(INDEX)) @ grid[1], key_offsets: ptr(const(INDEX)) @ grid[1], tile: int32 @ block[1], s: Sizes @ grid[1],
    scheduler: roles(warp, 1),
) -> Place @ block[1]:  # fmt: skip
    """Where tile `tile` lies: tiles of a section are made together, those with the last rows first.

    Perspective: block.
    Cost:        two divisions; where `PACKED`, a binary search by a thread of `scheduler`, a tile ahead.
    Test:        tests/kernels/test_attention.py, tests/kernels/test_attention_packed.py
    """
    if PACKED:
        next_place: shared(Place[1], ring=2)
        with claim(next_place, scheduler) as own, claim(own, thread[1]) as place, one(thread):
            place[0] = find_tile(
                offsets, key_offsets, tile, s.pairs // s.heads, s.heads, s.section, s.rows, s.keys, ROWS=CUT.rows
            )  # fmt: skip
        at: Place @ block[1] = Place(0, 0, 0, 0, 0, 0, 0)
        with partition(next_place, block[1], 0) as now:
            at = now[0]
        return at
    else:
        row_tiles: int32 @ block[1] = (s.rows + (CUT.rows - 1)) // CUT.rows
        last: int32 @ block[1] = max(1, s.pairs // s.section) - 1
        before: int32 @ block[1] = s.section * min(tile // (s.section * row_tiles), last)
        within: int32 @ block[1] = tile - before * row_tiles
        many: int32 @ block[1] = s.section if before < last * s.section else s.pairs - before
        pair: int32 @ block[1] = before + within % many
        batch: int32 @ block[1] = pair // s.heads
        return Place(pair % s.heads, (row_tiles - 1 - within // many) * CUT.rows, s.rows, s.keys, batch, batch, pair)


__all__ = ["Place", "count_places", "find_place", "find_sequence", "find_tile", "first_tile", "start_of"]
