"""How merges and sorts by merging are cut into tiles."""

from typing import NamedTuple


class Configuration(NamedTuple):
    """A block of `threads` with `items` elements each; `blocks` of them a multiprocessor, at least."""

    threads: int
    items: int
    blocks: int

    @property
    def tile(self) -> int:
        """How many elements a block has."""
        return self.threads * self.items


# By the bytes of an element, of the key or the value, whichever are more. An odd number of elements a thread, so that threads
# meet in few banks of shared memory.
MERGE = {
    4: Configuration(256, 15, 6), 8: Configuration(256, 9, 5), 16: Configuration(256, 7, 4),
}  # fmt: skip
SORT = {4: Configuration(256, 17, 5), 8: Configuration(256, 11, 3), 16: Configuration(256, 7, 3)}
HOST = Configuration(64, 7, 1)
"""On the reference machine."""
THREADS = 128  # of a block that looks for where tiles begin


def configurations(size: int, *, host: bool) -> tuple[Configuration, Configuration]:
    """Return how merges and sorts of elements of so many bytes are cut up."""
    if host:
        return HOST, HOST
    key = min(one for one in MERGE if one >= min(size, 16))
    return MERGE[key], SORT[key]


__all__ = ["HOST", "MERGE", "SORT", "THREADS", "Configuration", "configurations"]
