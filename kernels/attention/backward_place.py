"""Where a tile of the backward of attention lies: of heads of one length, or of sequences that are packed."""

from __future__ import annotations

from prism.kernels.attention.backward_cut import BackwardCut
from prism.kernels.attention.cut import Terms
from prism.kernels.attention.packed import find_sequence, first_tile, start_of
from prism.lang import (
    block, claim, const, constexpr, dtype, grid, int32, one, partition, prism, ptr, requires, shared, struct, template, thread,
)  # fmt: skip


@struct
class Lot:
    """A tile's first row or key is `top`, of so many as there are of the others, and both end so far along their maps.

    `row`: the number of the first tile of rows of the first head of queries; each head has `row_tiles`. Of a tile that has no
    row or key `length` and `others` are 0: nothing is copied for it, and nothing is multiplied.
    """

    head: int32
    top: int32
    length: int32
    others: int32
    end: int32
    others_end: int32
    row: int32
    row_tiles: int32


@prism.device
@template(INDEX=dtype, PACKED=constexpr(bool), SIZE=constexpr(int), ROWS=constexpr(int), THREADS=constexpr(int))
@requires(block[1], thread["THREADS"])
def find_lot(
    tile: int32 @ block[1], offsets: ptr(const(INDEX)) @ grid[1], of_others: ptr(const(INDEX)) @ grid[1],
    of_rows: ptr(const(INDEX)) @ grid[1], sequences: int32 @ grid[1], heads: int32 @ grid[1], length: int32 @ grid[1],
    others: int32 @ grid[1], row_heads: int32 @ grid[1], rows: int32 @ grid[1],
) -> Lot @ block[1]:  # fmt: skip
    """Where a tile of `SIZE` rows or keys lies: tiles of a head follow one another, then those of the next head.

    Perspective: block.
    Shapes:      `heads` of it, in all `length` rows or keys, and `others` of the others; `row_heads` heads of queries, of `rows`,
                 whose tiles have `ROWS`. Where `PACKED`, of sequences that offsets tell apart, as kernels/attention/packed.py
                 has it: `offsets`, and those of the others, and of rows. Else a map's first coordinate is the batch.
    Test:        tests/kernels/test_attention_backward.py
    """
    if PACKED:
        found: shared(Lot[1])
        with claim(found, thread[1]) as own, one(thread):
            s: int32 = find_sequence(offsets, tile, sequences, heads, length, ROWS=SIZE)
            first: int32 = first_tile(offsets, s, length, ROWS=SIZE)
            many: int32 = max(1, first_tile(offsets, s + 1, length, ROWS=SIZE) - first)
            head: int32 = min((tile - heads * first) // many, heads - 1)
            top: int32 = (tile - heads * first - head * many) * SIZE
            end: int32 = start_of(offsets, s + 1, length)
            others_end: int32 = start_of(of_others, s + 1, others)
            row: int32 = first_tile(of_rows, s, rows, ROWS=ROWS)
            row_tiles: int32 = max(1, first_tile(of_rows, s + 1, rows, ROWS=ROWS) - row)
            here: int32 = end - start_of(offsets, s, length)
            there: int32 = max(0, others_end - start_of(of_others, s, others))
            some: int32 = 1 if top < here else 0
            own[0] = Lot(head, top, some * here, some * there, end, others_end, row_heads * row, row_tiles)
        at: Lot @ block[1] = Lot(0, 0, 0, 0, 0, 0, 0, 0)
        with partition(found, block[1], 0) as now:
            at = now[0]
        return at
    else:
        tiles: int32 @ block[1] = (length + (SIZE - 1)) // SIZE
        row_tiles: int32 @ block[1] = (rows + (ROWS - 1)) // ROWS
        batch: int32 @ block[1] = tile // tiles // heads
        return Lot(
            tile // tiles % heads, tile % tiles * SIZE, length, others, batch, batch, batch * row_heads * row_tiles, row_tiles
        )  # fmt: skip


@struct
class Sight:
    """Which rows see a tile of keys: none before `begin`, nor from `end` on; before `masked`, and behind `ends`, not all keys."""

    begin: int32
    end: int32
    masked: int32
    ends: int32


@prism.device
@template(CUT=constexpr(BackwardCut), TERMS=constexpr(Terms))
@requires(thread[1])
def sight_of(
    at: Lot @ thread[1], ahead: int32 @ thread[1], back: int32 @ thread[1], apart: int32 @ thread[1]
) -> Sight @ thread[1]:  # fmt: skip
    """Which rows see some of the keys of a tile: row r sees keys r - `back` + `apart` to r + `ahead` + `apart`, as `TERMS` say.

    Of a tile that ends beyond the last key no row sees all.
    """
    right: int32 = at.top + CUT.keys
    begin: int32 = max(0, at.top - ahead - apart) // CUT.rows * CUT.rows if TERMS.causal else 0
    end: int32 = min(at.others, right + back - apart) if TERMS.window else at.others
    masked: int32 = at.others if right > at.length else right - 1 - ahead - apart if TERMS.causal else 0
    return Sight(begin, end, masked, at.top + back - apart + 1 - CUT.rows if TERMS.window else at.others)


__all__ = ["Lot", "Sight", "find_lot", "sight_of"]
