"""How counting is cut into blocks, and how much shared memory a block has for its bins."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Configuration:
    """`slots`: counts of 32 bits in a block's shared memory; `threads` a block, `blocks` a multiprocessor.

    A thread loads so many `bytes` at once. Where there are no slots, a block counts bins that it meets `often` in shared memory:
    so many, a power of two.
    """

    slots: int
    threads: int
    blocks: int
    bytes: int = 64
    often: int = 0
    lanes: bool = False


# The more bins, the fewer blocks there is shared memory for. A thread loads at most 32 elements: a bit of a word for each.
DEVICE = (
    Configuration(slots=10496, threads=1024, blocks=1),
    Configuration(slots=24576, threads=512, blocks=2),
    Configuration(slots=57344, threads=1024, blocks=1),
)
SHORT_DEVICE = (replace(DEVICE[0], threads=512, blocks=2), *DEVICE[1:])
"""Of short arrays: so that all multiprocessors have some."""
SMALL = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 120: 99 << 10, 121: 99 << 10}
"""Bytes of shared memory of a block, of architectures that have less than 227 KiB."""
DIRECT = (
    Configuration(slots=0, threads=1024, blocks=1, often=1 << 14),
    Configuration(slots=0, threads=512, blocks=2, often=1 << 12),
)
"""Where there is no shared memory for them: the first for which a block has 8 bytes for each that it meets often."""
SHORT = (1 << 20, 16)
"""Elements up to which arrays are short, and a thread loads so many bytes at once."""
COPIES = (32, 8, 2, 1)
"""Of the bins, as many as there is room for: 32 are one for each bank of shared memory."""
TABLES = (1024, 4608, 16384)
"""Edges that there is room for in shared memory, besides the bins."""
CELLS = {1024: 8192, 4608: 12288, 16384: 16384}
"""Cells of the guide to so many edges: the more, the fewer have several. Of short arrays as many as edges: it must be made."""
RANKS = 320
"""Ranks that edges part numbers into, and two more, up to which each lane has a guide, edges and counts of its own."""
LANES = Configuration(slots=32 * RANKS, threads=1024, blocks=1, lanes=True)
LONG_LANES, LANE_CELLS = 1 << 26, (8192, 16384)
"""Cells of the guide to edges of which each lane has its own: of arrays up to so many elements, as each block fills it, and of
longer ones. By the logarithm many edges share a cell."""
GUESSED = 7167
"""Bins of integers of which the largest is not known: as many as there are 8 copies of."""

HOST = Configuration(slots=1 << 12, threads=256, blocks=1, often=1 << 12)
PREPARE = 256  # threads of the kernel before

__all__ = [
    "CELLS", "COPIES", "DEVICE", "DIRECT", "GUESSED", "HOST", "LANES", "LANE_CELLS", "LONG_LANES", "PREPARE", "RANKS", "SHORT",
    "SHORT_DEVICE", "SMALL", "TABLES", "Configuration",
]  # fmt: skip
