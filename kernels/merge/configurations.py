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


# By the bytes of an element, of the key or the value, whichever are more. An odd number of elements a thread, so that threads
# meet in few banks of shared memory.
MERGE = {
    4: Configuration(256, 15, 6), 8: Configuration(256, 9, 5), 16: Configuration(256, 7, 4),
}  # fmt: skip
FOURS = {4: Configuration(128, 31, 8), 8: Configuration(128, 15, 8), 16: Configuration(128, 7, 8)}
FOURS_OF_PAIRS = {4: Configuration(128, 17, 7), 8: Configuration(128, 11, 6), 16: Configuration(128, 7, 5)}
SORT = {4: Configuration(256, 17, 5), 8: Configuration(256, 11, 3), 16: Configuration(256, 7, 3)}
KEYS = {4: Configuration(128, 32, 8), 8: Configuration(128, 32, 4)}
"""By the bytes of an element: of integers alone, whose equal ones are the same."""
HOST, HOST_KEYS = Configuration(64, 7, 1), Configuration(64, 8, 1)
"""On the reference machine."""
THREADS = 128  # of a block that looks for where tiles begin


class Tiles(NamedTuple):
    """How two runs are merged, four runs, and tiles sorted."""

    two: Configuration
    four: Configuration
    sorted: Configuration


def configurations(size: int, *, values: bool, host: bool) -> Tiles:
    """Return how merges and sorts of elements of so many bytes, or of pairs, are cut up."""
    if host:
        return Tiles(HOST, HOST, HOST)
    key = min(one for one in MERGE if one >= min(size, 16))
    two, tiles = MERGE[key], SORT[key]
    if values:
        two, tiles = (one._replace(blocks=one.blocks // 2 + 1) for one in (two, tiles))
    return Tiles(two, (FOURS_OF_PAIRS if values else FOURS)[key], tiles)


def key_configuration(size: int, *, host: bool) -> Configuration:
    """Return how merges of integers of so many bytes, that are alone, are cut up."""
    return HOST_KEYS if host else KEYS[size]


__all__ = ["HOST", "HOST_KEYS", "THREADS", "Configuration", "Tiles", "configurations", "key_configuration"]
