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


class Keys(NamedTuple):
    """How two runs of keys alone are merged, four runs, and tiles sorted."""

    two: Configuration
    four: Configuration
    tiles: Configuration


# By the bytes of an element, of the key or the value, whichever are more. An odd number of elements a thread, so that threads
# meet in few banks of shared memory.
MERGE = {
    4: Configuration(256, 15, 6), 8: Configuration(256, 9, 5), 16: Configuration(256, 7, 4),
}  # fmt: skip
SORT = {4: Configuration(256, 17, 5), 8: Configuration(256, 11, 3), 16: Configuration(256, 7, 3)}
KEYS = {
    4: Keys(Configuration(128, 32, 8), Configuration(256, 32, 4), Configuration(512, 32, 2)),
    8: Keys(Configuration(128, 32, 4), Configuration(256, 16, 4), Configuration(512, 16, 2)),
}  # fmt: skip
"""By the bytes of an element: of integers alone, whose equal ones are the same."""
HOST, HOST_KEYS = Configuration(64, 7, 1), Configuration(64, 8, 1)
"""On the reference machine."""
THREADS = 128  # of a block that looks for where tiles begin


def configurations(size: int, *, host: bool) -> tuple[Configuration, Configuration]:
    """Return how merges and sorts of elements of so many bytes are cut up."""
    if host:
        return HOST, HOST
    key = min(one for one in MERGE if one >= min(size, 16))
    return MERGE[key], SORT[key]


def key_configurations(size: int, *, host: bool) -> Keys:
    """Return how merges and sorts of integers of so many bytes, that are alone, are cut up."""
    return Keys(HOST_KEYS, HOST_KEYS, HOST_KEYS) if host else KEYS[max(size, 4)]


__all__ = ["HOST", "HOST_KEYS", "THREADS", "Configuration", "Keys", "configurations", "key_configurations"]
