"""How merges and sorts by merging are cut into tiles."""

from typing import NamedTuple


class Configuration(NamedTuple):
    """A block of `threads` with `items` elements each; `blocks` of them a multiprocessor, at least."""

    threads: int
    items: int
    blocks: int

    def tile(self, ways: int = 2) -> int:
        """Return how many elements a block merges of so many runs: of four a row less, as both pairs begin a row."""
        return self.threads * self.items - (self.items if ways == 4 else 0)


class Configurations(NamedTuple):
    """How two runs are merged, four runs, and tiles sorted."""

    two: Configuration
    four: Configuration
    tiles: Configuration


# By the bytes of an element, of the key or the value, whichever are more; and whether elements go with their numbers.
TOTAL = {
    4: Configurations(Configuration(256, 16, 8), Configuration(256, 32, 4), Configuration(512, 32, 2)),
    8: Configurations(Configuration(256, 16, 4), Configuration(256, 16, 4), Configuration(512, 16, 2)),
}  # fmt: skip
NUMBERED = {
    4: Configurations(Configuration(256, 16, 4), Configuration(256, 16, 4), Configuration(256, 16, 4)),
    8: Configurations(Configuration(256, 16, 3), Configuration(256, 16, 3), Configuration(256, 16, 3)),
    16: Configurations(Configuration(256, 8, 3), Configuration(256, 8, 3), Configuration(256, 8, 3)),
}  # fmt: skip
HOST = Configuration(64, 8, 1)
"""On the reference machine."""
THREADS = 128  # of a block that looks for where tiles begin


def configurations(size: int, *, total: bool, host: bool) -> Configurations:
    """Return how merges and sorts of elements of so many bytes are cut up."""
    if host:
        return Configurations(HOST, HOST, HOST)
    table = TOTAL if total else NUMBERED
    return table[min(one for one in table if one >= min(size, 16))]


__all__ = ["HOST", "THREADS", "Configuration", "Configurations", "configurations"]
