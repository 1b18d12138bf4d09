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


def key_configuration(size: int, *, host: bool) -> Configuration:
    """Return how merges of integers of so many bytes, that are alone, are cut up."""
    return HOST_KEYS if host else KEYS[size]


__all__ = ["HOST", "HOST_KEYS", "THREADS", "Configuration", "Tiles", "configurations", "key_configuration"]
