"""How rows of a length are sorted: by how many lanes or threads, with how many elements each."""

from typing import NamedTuple


class Lanes(NamedTuple):
    """A row takes `size` lanes with `items` elements each."""

    size: int
    items: int

    @property
    def span(self) -> int:
        """How many elements a row has at most."""
        return self.size * self.items


class Block(NamedTuple):
    """A row takes a block of `threads` with `items` elements each; `blocks` of them a multiprocessor, at least."""

    threads: int
    items: int
    blocks: int

    @property
    def span(self) -> int:
        """How many elements a row has at most."""
        return self.threads * self.items


# By the bytes of what is sorted. Few elements a lane are read and written by neighbours as they lie; with more a lane, fewer
# comparisons cross lanes, each of which takes a shuffle and two instructions, where one in registers takes one.
_FEW = (Lanes(1, 1), Lanes(1, 2), Lanes(1, 4), Lanes(2, 4), Lanes(4, 4), Lanes(4, 8), Lanes(8, 8), Lanes(16, 8))
LANES = {
    4: (*_FEW, Lanes(16, 16), Lanes(32, 16)),
    8: (*_FEW, Lanes(32, 8), Lanes(32, 16)),
    16: (*_FEW, Lanes(32, 8)),
    24: (*_FEW, Lanes(32, 8)),
}  # fmt: skip
"""By the bytes of what is sorted, shortest rows first."""

# Microseconds of 2^24 uint32 on one H200: rows of 16 by (4, 4) 34, (2, 8) 40, (1, 16) 62; of 256 by (16, 16) 57, (32, 8) 65,
# (8, 32) 76; of 4096 by 128 threads with 32 each 137, 256 with 16 145, 512 with 8 168. Of positions of 4096, 256 with 16, three
# blocks a multiprocessor 390, two 446; 512 with 8 414.
BLOCKS = {
    4: (Block(64, 16, 12), Block(64, 32, 8), Block(128, 32, 4), Block(256, 32, 2), Block(1024, 16, 1)),
    8: (Block(64, 16, 12), Block(128, 16, 6), Block(256, 16, 3), Block(512, 16, 1), Block(512, 32, 1)),
    16: (Block(64, 8, 8), Block(128, 8, 4), Block(256, 8, 2), Block(512, 8, 1)),
    24: (Block(64, 8, 8), Block(128, 8, 4), Block(256, 8, 2), Block(512, 8, 1)),
}  # fmt: skip
"""By the bytes of what is sorted, shortest rows first."""

LONG = {4: Block(256, 32, 2), 8: Block(256, 16, 2), 16: Block(256, 8, 2), 24: Block(128, 8, 3)}
"""By the bytes of what is sorted: tiles of rows that a block does not hold, a row of `items` shorter than the block."""
HOST_LONG = Block(64, 8, 1)
THREADS = 256  # of a block whose lanes sort rows
LISTING = 4  # segments of a thread that lists them, at once
HOST_THREADS = 64  # on the reference machine


def way_of(columns: int, size: int) -> Lanes | Block | None:
    """Return how rows of so many elements are sorted, of which `size` bytes are; None: a block does not hold them."""
    for way in (*LANES[size], *BLOCKS[size]):
        if columns <= way.span:
            return way
    return None


ROOM = {
    "sm_75": 64 << 10, "sm_80": 163 << 10, "sm_86": 99 << 10, "sm_87": 163 << 10, "sm_89": 99 << 10, "sm_120": 99 << 10,
    "sm_121": 99 << 10,
}  # fmt: skip
"""Bytes of shared memory that a block can have, of GPUs that have less than what all tiles take."""


def long_way(size: int, arch: str) -> Block:
    """Return how rows that a block does not hold are cut, of what `size` bytes are: smaller tiles for small memories."""
    way = LONG[size]
    return way if ROOM.get(arch, 227 << 10) >= 128 << 10 else Block(way.threads // 2, way.items, way.blocks)


def most_of(size: int, arch: str = "") -> int:
    """Return how long a row is at most, of what `size` bytes are, that a block of an architecture holds."""
    spans, room = [way.span for way in BLOCKS[size]], ROOM.get(arch, 227 << 10)
    return max(span for span in spans if span * size * 33 // 32 <= room)


__all__ = [
    "BLOCKS", "HOST_LONG", "HOST_THREADS", "LANES", "LISTING", "LONG", "ROOM", "THREADS", "Block", "Lanes", "long_way", "most_of",
    "way_of",
]  # fmt: skip
