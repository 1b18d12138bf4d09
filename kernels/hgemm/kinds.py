"""Which tiles suit products of other kinds: of integers, of blocks that have scales, symmetric ones.

By the model of the others (configurations.py). Sums of integers take other numbers of columns. Where scales are of blocks a
thread has the sums of a step beside those of its tile, and a block of scales must not end inside a thread's columns.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from math import ceil, sqrt

from prism.kernels.hgemm.configuration import SPAN, Configuration, Layout
from prism.kernels.hgemm.configurations import (
    CLOSE, FEW, LAUNCH, NARROW, STORE, SURE, TILES, choose, clocks, cuts, resident_clusters, rows_in_sectors, step_clocks,
)  # fmt: skip
from prism.kernels.hgemm.cut import DEPTH, Cut, Terms

# Tiles of products whose scales are of blocks: of two warpgroups mostly: what one adds is done while the other multiplies.
BLOCK_TILES = (
    Configuration(256, 128, 3, ahead=0),
    Configuration(128, 192, 4, ahead=0),
    Configuration(128, 128, 6, ahead=0),
    Configuration(128, 64, 8, ahead=0),
    Configuration(64, 128, 8, 1, ahead=0),
    Configuration(64, 64, 6, 1, ahead=0),
)
BLOCK_PARTED = tuple(Configuration(64, 64, 4, 1, ahead=0, parts=parts) for parts in (2, 4))
# Of few rows: 64 or 128 columns of `b` and all of the rows are a tile of the transpose; 128 are a block of scales.
BLOCK_NARROW = (
    *(Configuration(128, bn, 8, ahead=0, trans=True) for bn in (16, 32, 48, 64)),
    *(Configuration(128, bn, 6, ahead=0, trans=True) for bn in (96, 128)),
    *(Configuration(64, bn, 8, 1, ahead=0, trans=True) for bn in (16, 32, 64)),
)
BLOCK_NARROW_PARTED = (
    *(Configuration(64, bn, 5, 1, ahead=0, trans=True, parts=parts) for bn in (16, 32, 64) for parts in (2, 4)),
)
MOST_HELD = 200  # sums of a tile and of a step, and scales of columns, of a thread
ADD, ADD_TWICE, ADD_ALONE = 450, 660, 230
"""Clocks of a step, in which what it added is added to the tile: of two warpgroups with 64 rows each, with 128, and of one."""


def takes_integers(found: Configuration) -> bool:
    """Whether sums of integers may have a tile's columns: the instruction takes 8, 16, 24, and multiples of 16."""
    return found.bn <= 24 or found.bn % 16 == 0


@functools.lru_cache(maxsize=4096)
def choose_integers(
    m: int, n: int, k: int, processors: int, batches: int = 1, *, parted: bool = False
) -> Configuration:
    """Return the tiles that suit a product of 8-bit integers, whose K is inside; `k` in elements of 16 bits."""
    layout: Layout = (False, False)
    some = [one for one in cuts(layout) if m <= FEW or one not in NARROW] if batches == 1 else list(TILES)
    times = {one: clocks(one, m, n, k, processors, batches, layout) for one in some if takes_integers(one)}
    if parted and batches == 1:
        room = [one for one in cuts(layout, parted=True) if takes_integers(one) and resident_clusters(one, processors) > 0]
        times |= {one: SURE * clocks(one, m, n, k, processors, layout=layout) for one in room}
    least = min(times.values())
    return next(one for one in times if times[one] <= CLOSE * least)


@functools.lru_cache(maxsize=4096)
def choose_blocks(
    m: int, n: int, k: int, processors: int, blocks: tuple[int, int], batches: int = 1, *, parted: bool = False
) -> Configuration:
    """Return the tiles that suit a product whose scales are of `blocks`, rows of `a` and columns of `b`; `k` as above."""
    some = (*BLOCK_TILES, *(BLOCK_NARROW if m <= FEW // 2 and batches == 1 else ()))
    if parted and batches == 1:
        some = (*some, *BLOCK_PARTED, *(BLOCK_NARROW_PARTED if m <= FEW // 2 else ()))
    times = {one: block_clocks(one, m, n, k, processors, batches) for one in some if fits_blocks(one, blocks)}
    least = min(times.values())
    return next(one for one in times if times[one] <= CLOSE * least)


def fits_blocks(found: Configuration, blocks: tuple[int, int]) -> bool:
    """Whether a tile's columns are whole blocks of scales, or in one; and there are registers for a step's sums and scales."""
    each = blocks[0 if found.trans else 1]
    held = found.bm // found.consumers * found.bn // 128 + found.bn // 2 + (found.bn // 4 if each == 1 else 0)
    if held > MOST_HELD:
        return False
    return each != DEPTH or found.bn % (DEPTH // 2) == 0 or DEPTH // 2 % found.bn == 0


def block_clocks(found: Configuration, m: int, n: int, k: int, processors: int, batches: int = 1) -> float:
    """Return about how long such a product takes, in clocks."""
    down, across = found.tiles(n, m) if found.trans else found.tiles(m, n)
    at_once = max(1, resident_clusters(found, processors))
    steps = ceil(batches * down * across / at_once) * ceil(ceil(2 * k / DEPTH) / found.parts)
    more = SURE if found.parts > 1 else 1.0
    rows = found.bm // found.consumers
    add = ADD_ALONE if found.consumers == 1 else ADD if rows == 64 else ADD_TWICE
    return more * clocks(found, m, n, k, processors, batches) + steps * add


# -- A product that is symmetric --------------------------------------------------------------------------------------------

# Tiles are of squares, as large as the longer side of one: those on the diagonal are whole.
SYMMETRIC_TILES = (
    Configuration(128, 256, 3, ahead=0, slabs=2),
    Configuration(256, 128, 3, ahead=0, slabs=2),
    Configuration(192, 192, 3, 3, ahead=0),
    Configuration(128, 128, 5, slabs=2),
    Configuration(64, 128, 7, 1),
)
# Where something is added to a tile of more than 64 sums a thread: narrower slabs, or there are too few registers.
ADDED_TILES = (Configuration(128, 256, 3, ahead=0, slabs=4, span=64), *SYMMETRIC_TILES[3:])
PAYS = 0.9  # of the clocks of the whole product
TWICE = 1.6  # times, that the end of a tile takes, which is stored twice


def side_of(found: Configuration) -> int:
    """Return the side of the squares that a triangle is made of."""
    return max(found.bm, found.bn)


def triangle_tiles(found: Configuration, n: int) -> int:
    """Return how many tiles a triangle of n by n has."""
    squares = ceil(n / side_of(found))
    return squares * (squares + 1) // 2 * side_of(found) ** 2 // (found.bm * found.bn)


def band(found: Configuration, n: int, processors: int) -> int:
    """Return how many squares' rows are made before those below: what is under way at a time is about a square."""
    return max(1, min(ceil(n / side_of(found)), round(sqrt(processors * found.bm * found.bn) / side_of(found))))


def symmetric_cuts(found: Configuration, layout: Layout, out_bytes: int, terms: Terms) -> tuple[Cut, Cut]:
    """Return how a tile is cut, and stored, and how its other side is: each has half of the room for slabs."""
    cut = found.cut(transpose_a=layout[0], transpose_b=layout[1], out_bytes=out_bytes, terms=terms)
    half = replace(cut, slabs=max(1, cut.slabs // 2))
    return half, replace(half, trans=True, span=SPAN)


def triangle_clocks(found: Configuration, n: int, k: int, processors: int, layout: Layout) -> float:
    """Return about how long the tiles of a triangle take, in clocks."""
    rounds, steps = ceil(triangle_tiles(found, n) / processors), ceil(k / found.bk)
    step = step_clocks(found, layout[1], rows_in_sectors(n, n, k, layout))
    return LAUNCH + rounds * (steps * step + TWICE * STORE * found.bm * found.bn)


def symmetric_pays(n: int, k: int, processors: int, layout: Layout, *, added: bool = False) -> bool:
    """Return whether half of a product's tiles take less than all: of few tiles they take as many rounds."""
    found = choose_symmetric(n, k, processors, layout, added=added)
    whole = clocks(choose(n, n, k, processors, layout=layout), n, n, k, processors, layout=layout)
    return triangle_clocks(found, n, k, processors, layout) < PAYS * whole


@functools.lru_cache(maxsize=4096)
def choose_symmetric(n: int, k: int, processors: int, layout: Layout, *, added: bool = False) -> Configuration:
    """Return the tiles that suit a product of n by n that is symmetric; `added`: something is added to it."""

    def clocks_of(found: Configuration) -> float:
        return triangle_clocks(found, n, k, processors, layout)

    return min(ADDED_TILES if added else SYMMETRIC_TILES, key=clocks_of)


__all__ = [
    "BLOCK_TILES",
    "band",
    "choose_blocks",
    "choose_integers",
    "choose_symmetric",
    "fits_blocks",
    "symmetric_cuts",
    "symmetric_pays",
    "takes_integers",
    "triangle_tiles",
]
