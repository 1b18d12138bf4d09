"""How rows are shared out, by their width."""

from dataclasses import dataclass
from math import ceil

HELD, NEXT, LONG, STAGED, COPIED, BESIDE = range(6)
"""Who shares a row holds it; has rows in turn, and loads the next one into registers meanwhile; reads a row again and again; has
rows in turn, and copies the next one into shared memory meanwhile; copies it into shared memory as it lies in the array, of which
a multiprocessor has room for several blocks' parts; does that with rows in turn, the next ones meanwhile, and keeps what weights
there are beside them."""

APART, OF_WARPS, GUESSED = range(3)
"""Whose `a` the second reduction of a row knows: that of all, who agree on it before; each warp's own, and then all who share the
row agree once, on both; or what is guessed of a few elements of the row, when it is fetched, which is the same for all."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares a row of so many vectors: `1 << lanes` lanes, or, if `wide`, all `threads` of `blocks` blocks; `items` a thread.

    `most`: threads of a block that the kernel is compiled for, of which `resident` blocks are on a multiprocessor. `way`: how
    rows are read. `rows`: how many are copied together. `width`: elements of a vector.
    """

    items: int
    width: int
    threads: int
    blocks: int = 1
    lanes: int = 0
    wide: bool = True
    way: int = HELD
    most: int = 512
    resident: int = 2
    rows: int = 1


# Bytes ahead of a block's rows at which those lie that it asks to be brought into the L2. On one H200 softmax of bfloat16 rows of
# 4096 moves 0.98 of a copy's bytes a second so, 0.92 without; 8 MiB are as good for elements of 2 bytes, worse for those of 4.
AHEAD = 4 << 20
CLUSTERS = (1, 2, 4, 8)  # blocks that share a row
_THREADS = 128  # of a block whose warps have rows of their own


def share(n: int, width: int, items: int, most: int, clusters: tuple[int, ...], few: int) -> Sharing:
    """Return how rows of `n` elements, a multiple of `width`, are shared: `items` a thread, or `few` of short rows.

    `most`: threads of a block; `clusters`: how many blocks may share a row.
    """
    each = few if n <= few * 16 else items
    vectors = ceil(n / width)
    lanes = (ceil(vectors / (each // width)) - 1).bit_length()
    if lanes <= 5:
        return Sharing(each, width, min(_THREADS, most), lanes=lanes, wide=False, most=most)
    for blocks in clusters:
        threads = ceil(vectors / (blocks * (items // width)) / 32) * 32
        if threads <= most:
            return Sharing(items, width, threads, blocks, most=most)
    threads = ceil(vectors / (clusters[-1] * (2 * items // width)) / 32) * 32
    if threads <= most:
        return Sharing(2 * items, width, threads, clusters[-1], most=most, resident=1)
    return Sharing(items, width, most, clusters[-1], way=LONG, most=most)
