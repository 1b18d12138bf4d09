"""How rows are shared out, by their width."""

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares a row of so many vectors: `1 << lanes` lanes, or, if `wide`, all `threads` of `blocks` blocks; `items` a thread.

    `most`: threads of a block that the kernel is compiled for, of which `resident` blocks are on a multiprocessor. `long`: there
    is no room for the row. `width`: elements of a vector. `parts`: how many a row is cut into, each a block's; 0: none.
    """

    items: int
    width: int
    threads: int
    blocks: int = 1
    lanes: int = 0
    wide: bool = True
    long: bool = False
    most: int = 512
    resident: int = 2
    parts: int = 0


# Bytes ahead of a block's rows at which those lie that it asks to be brought into the L2. On one H200 softmax of bfloat16 rows of
# 4096 moves 0.98 of a copy's bytes a second so, 0.92 without; 8 MiB are as good for elements of 2 bytes, worse for those of 4.
AHEAD = 4 << 20
CLUSTERS = (1, 2, 4, 8)  # blocks that share a row
MOST_PARTS = 32  # of a row: as many as a warp has lanes
# Bytes of shared memory of a part: three blocks are on a multiprocessor, so that some load while others wait for each other.
PART_BYTES = 64 << 10
_THREADS = 128  # of a block whose warps have rows of their own


def share(
    n: int, width: int, items: int, most: int, clusters: tuple[int, ...], few: int, *, parts: int = 0
) -> Sharing:
    """Return how rows of `n` elements, a multiple of `width`, are shared: `items` a thread, or `few` of short rows.

    `most`: threads of a block; `clusters`: how many blocks may share a row; `parts`: of how many
    elements those are that longer ones are cut into; 0: they are not.
    """
    each = few if n <= few * 16 else items
    vectors = ceil(n / width)
    lanes = (ceil(vectors / (each // width)) - 1).bit_length()
    if lanes <= 5:
        return Sharing(each, width, min(_THREADS, most), lanes=lanes, wide=False, most=most)
    many = ceil(n / parts) if parts else 0
    if n > most * items and 0 < many <= MOST_PARTS:
        each = parts // most  # elements of a thread
        threads = ceil(ceil(vectors / many) / (each // width) / 32) * 32
        return Sharing(each, width, threads, most=most, resident=3, parts=many)
    for blocks in clusters:
        threads = ceil(vectors / (blocks * (items // width)) / 32) * 32
        if threads <= most:
            return Sharing(items, width, threads, blocks, most=most)
    threads = ceil(vectors / (clusters[-1] * (2 * items // width)) / 32) * 32
    if threads <= most:
        return Sharing(2 * items, width, threads, clusters[-1], most=most, resident=1)
    return Sharing(items, width, most, clusters[-1], long=True, most=most)
