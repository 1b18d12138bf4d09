"""How rows are cut, how much a block holds, and how many elements it looks at first."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """A block's `threads`, and how many `blocks` a multiprocessor has; `room`: elements that are held.

    `kept`: so many times `threads` are sorted. A thread takes its elements in `groups`, and looks first at `sample` of each, at
    all where that is 0; where there are no groups the bound is found exactly.
    """

    threads: int
    blocks: int
    room: int
    kept: int
    groups: int = 1
    sample: int = 0

    @property
    def most(self) -> int:
        """How many elements are sorted."""
        return self.threads * self.kept


@dataclass(frozen=True)
class Held:
    """Blocks of `threads` that hold `items` elements of a row each, in `groups`, `blocks` of them a multiprocessor.

    `fewest`, `first`: how many elements are looked for; `bins`: in so many parts values are told apart.
    """

    threads: int
    blocks: int
    items: int
    groups: int
    fewest: int
    first: int
    bins: int

    @property
    def most(self) -> int:
        """How many elements a row has at most."""
        return self.threads * self.items

    def groups_of(self, n: int) -> int:
        """Return how many groups have elements of a row of so many."""
        each = self.items // 4 // self.groups * self.threads
        return sum(min(max(n // 4 - group * each, 0), self.threads) for group in range(self.groups))


ROWS = 128
"""So many rows at least are held by blocks: of few the launch behind costs more."""
ROWS_HELD = (
    Held(256, 6, 16, 1, 97, 256, 1024), Held(256, 4, 32, 1, 97, 256, 1024), Held(256, 6, 16, 4, 257, 1024, 1024),
    Held(256, 4, 32, 4, 257, 1024, 1024),
)  # fmt: skip
"""With one group fewer elements come before the bound, but no more than a thread each are sure to. Of 1024 rows of 8192 100 first
ones took 23.3 us, with four groups 24.2, in another way 23.9; 10 20.4 and 18.4. 1000 took 32.7, with twice as many bins 33.3.
With 512 bins 100 took 23.0, but 36.9 where a row has a few elements that are far from all others: its bins were crowded."""
ROOM, COUNTERS, BESIDE = 227 << 10, 14 << 10, 3 << 10
"""Bytes of a block's shared memory; of what counts digits, for keys of 4 bytes; of what stands beside a sample."""
SMALL = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 120: 99 << 10, 121: 99 << 10}
"""The same of architectures that have less."""
FEW = 48
"""So many elements are put in order by comparing each with all: 100 first of 8192 took 29.8 us with 160, 24.9 with 48."""
HELD = 1 << 14
"""Rows up to so many elements are looked at whole, and read again from near by."""
APART, SAMPLED = 128, 64
"""Of longer rows an element of so many is looked at, up to so many a thread."""
UNLIKELY = 10.0
"""A row is read again with a probability below `exp(-10)`."""
LONG = 1 << 19
"""Rows from so many elements on are read by all blocks together."""
SAMPLING = 256  # threads of the kernel that looks at a sample of these
STREAM = (512, 2, 8, 32 << 10)
"""Threads of the kernel that reads these, blocks a multiprocessor, rounds of a part, and bytes that a block gathers."""
FINISHING, FINISHED = 512, 128 << 10
"""Threads of the one that puts first elements in order, and bytes of elements that it holds at most."""
MERGE = (256, 8)  # threads, and elements of one
SAMPLE = 128 << 10
"""Bytes of the keys that are looked at first, of rows of which one element is looked for; where there is less room half as many,
or a quarter."""
SHORT = 1 << 16
"""Rows up to so many elements are read again and again by one block: what it reads stays near it."""
KEEPING, GATHERED = (512, 2), 64 << 10
"""Threads of the kernel that keeps what stands between bounds, and blocks a multiprocessor; bytes that a block gathers."""
PART = (512, 8)  # threads of the kernels that part rows, and elements of one

__all__ = [
    "APART", "BESIDE", "COUNTERS", "FEW", "FINISHED", "FINISHING", "GATHERED", "HELD", "KEEPING", "LONG", "MERGE", "PART", "ROOM",
    "ROWS", "ROWS_HELD",
    "SAMPLE", "SAMPLED", "SAMPLING", "SHORT", "SMALL", "STREAM", "UNLIKELY", "Configuration", "Held",
]
