"""How merges and sorts by merging are cut into tiles."""

from typing import NamedTuple


class Configuration(NamedTuple):
    """A block of `threads` with `items` elements each; `blocks` of them a multiprocessor, at least."""

    threads: int
    items: int
    blocks: int

    def tile(self, ways: int = 2) -> int:
        """Return how many elements a block has; of four runs a row less, as both pairs begin a row."""
        return self.threads * self.items - (self.items if ways == 4 else 0)


class Tiles(NamedTuple):
    """How two runs are merged, four runs, and tiles sorted."""

    two: Configuration
    four: Configuration
    sorted: Configuration


class Parting(NamedTuple):
    """How samples part elements, of at least `fewest`: into parts of about `mean`, `samples` of each.

    Tiles of parts have `threads` with `items` elements each, `blocks` of them a multiprocessor. A block counts `stay` tiles, one
    after the other, `batch` elements of a thread at once, `counting` blocks a multiprocessor. Parts are sorted by blocks of
    `sorters`, with `few` elements each, up to three times `more` besides, or `most`; `sorting` of them a multiprocessor.
    """

    threads: int
    items: int
    blocks: int
    batch: int
    counting: int
    stay: int
    sorters: int
    few: int
    more: int
    most: int
    sorting: int
    mean: int
    samples: int
    fewest: int


# 2^28 elements of 4 bytes took 8.16 ms, by merges alone 10.25, and in parts that 128 threads sort, with 29 to 65 elements each,
# 9.7 to 11.2; 2^24 568 us for 642, 2^22 208 for 206. Of 8 bytes 2^22 took 279 us for 344. Where a block counts four tiles 2^28
# take 6.83 ms, 6.92 with two and 6.81 with eight, and 2^24 520 us, 514 and 533.
PARTING = {
    4: Parting(512, 15, 2, 5, 3, 4, 256, 15, 2, 31, 4, 4096, 64, 1 << 23),
    8: Parting(512, 8, 2, 4, 2, 4, 256, 9, 2, 17, 3, 2048, 64, 1 << 22),
}
PARTING_PAIRS = {4: Parting(512, 10, 2, 5, 3, 4, 256, 15, 2, 33, 2, 4096, 64, 1 << 22)}
"""By the bytes of an element, of the key or the value, whichever are more."""
HOST_PARTING = Parting(256, 2, 1, 1, 1, 2, 64, 3, 1, 7, 1, 256, 8, 3000)
ADDERS = 512
"""Threads of a block that adds up a chunk of counts."""


# By the bytes of an element, of the key or the value, whichever are more. An odd number of elements a thread, so that threads
# meet in few banks of shared memory. Of 4 bytes tiles of 16896 are sorted, and seven merges of four runs make 2^28 of them. By
# 256 threads with 17 elements each it took eight, and 2^24 938 us for 653.
ALONE = {
    4: Tiles(Configuration(256, 15, 6), Configuration(256, 31, 4), Configuration(512, 33, 2)),
    8: Tiles(Configuration(256, 9, 5), Configuration(128, 15, 8), Configuration(256, 11, 3)),
    16: Tiles(Configuration(256, 7, 4), Configuration(128, 7, 8), Configuration(256, 7, 3)),
}
PAIRS = {
    4: Tiles(Configuration(256, 15, 5), Configuration(128, 17, 7), Configuration(256, 17, 3)),
    8: Tiles(Configuration(256, 9, 3), Configuration(128, 11, 6), Configuration(256, 11, 2)),
    16: Tiles(Configuration(256, 7, 3), Configuration(128, 7, 5), Configuration(256, 7, 2)),
}
KEYS = {4: Configuration(256, 32, 4), 8: Configuration(128, 32, 4)}
"""By the bytes of an element: of integers alone, whose equal ones are the same."""
HOST, HOST_KEYS = Configuration(64, 7, 1), Configuration(64, 8, 1)
"""On the reference machine."""
THREADS = 128  # of a block that looks for where tiles begin


def configurations(size: int, *, values: bool, host: bool) -> Tiles:
    """Return how merges and sorts of elements of so many bytes, or of pairs, are cut up."""
    if host:
        return Tiles(HOST, HOST, HOST)
    return (PAIRS if values else ALONE)[min(one for one in ALONE if one >= min(size, 16))]


def parting(size: int, *, values: bool, host: bool) -> Parting | None:
    """Return how samples part elements of so many bytes, alone or with values; None where that was not measured."""
    return HOST_PARTING if host else (PARTING_PAIRS if values else PARTING).get(size)


def key_configuration(size: int, *, host: bool) -> Configuration:
    """Return how merges of integers of so many bytes, that are alone, are cut up."""
    return HOST_KEYS if host else KEYS[size]


__all__ = [
    "ADDERS", "HOST", "HOST_KEYS", "PARTING", "PARTING_PAIRS", "THREADS", "Configuration", "Parting", "Tiles", "configurations",
    "key_configuration", "parting",
]  # fmt: skip
