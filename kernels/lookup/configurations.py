"""How a search in a sorted table is cut up."""

from typing import NamedTuple


class Configuration(NamedTuple):
    """A block of `threads` with `items` values each, `blocks` of them a multiprocessor; its tree has `nodes`, of 4 bytes."""

    threads: int
    items: int
    blocks: int
    nodes: int

    @property
    def tile(self) -> int:
        """How many values a block has under way."""
        return self.threads * self.items


# A small tree leaves room for two blocks, and is read soon; a large one has most of the shared memory.
DEVICE = (Configuration(512, 8, 2, 1 << 13), Configuration(1024, 4, 1, 1 << 15))

LONG = {"int64": 8, "uint64": 8, "float64": 4}
"""Values of 8 bytes that a thread has where there are so many that each block has some tiles: those of a warp that rise go down
together, and the more there are the better. More of float64 take too many registers."""

NARROW = frozenset((75, 86, 89, 120, 121))
"""Architectures that have no room for a large tree."""

# The reference machine runs all threads of a block in one NumPy operation: many threads, and a small tree.
HOST = (Configuration(1024, 8, 1, 1 << 6),)

FEW = 1 << 14
"""Fewer values than these are looked up without a tree, which takes some time to be made."""


def fan_of(size: int) -> int:
    """Return the logarithm of how many elements of so many bytes a row has: 32 bytes, and at most 8."""
    return 2 if size == 8 else 3


__all__ = ["DEVICE", "FEW", "HOST", "LONG", "NARROW", "Configuration", "fan_of"]
