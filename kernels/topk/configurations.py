"""How rows are cut, how much a block holds, and how many elements it looks at first."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """A block's `threads`, and how many `blocks` a multiprocessor has; `room`: elements that are held.

    `kept`: so many times `threads` are sorted. `sample`: elements that are looked at first, 0 where the whole row is held.
    """

    threads: int
    blocks: int
    room: int
    kept: int
    sample: int = 0

    @property
    def most(self) -> int:
        """How many elements are sorted."""
        return self.threads * self.kept


ROOM, BESIDE = 227 << 10, 3 << 10
"""Bytes of a block's shared memory, and what stands there beside what is held."""
SMALL = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 120: 99 << 10, 121: 99 << 10}
"""The same of architectures that have less."""
THREADS, STREAMING = 512, 384
"""Of a block that holds its row, and of one that reads a longer one: so that loads have registers."""
FEW = (1024, 256)
"""Rows up to so many elements are done by so many threads."""
MERGE = (256, 8)  # threads, and elements of one
SAMPLED = 128 << 10
"""Bytes of the keys that are looked at first, of rows of which one element is looked for; where there is less room half as many,
or a quarter."""
SHORT = 1 << 16
"""Rows up to so many elements are read again and again by one block: what it reads stays near it."""
KEEPING = (512, 2)  # threads of the kernel that keeps what stands between bounds, and blocks a multiprocessor
PART = (512, 8)  # threads of the kernels that part rows, and elements of one

__all__ = [
    "BESIDE", "FEW", "KEEPING", "MERGE", "PART", "ROOM", "SAMPLED", "SHORT", "SMALL", "STREAMING", "THREADS", "Configuration",
]
