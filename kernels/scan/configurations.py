"""How the scan is cut into tiles: for each size of element, what was measured to be best."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """`threads` a block, `items` a thread in vectors of `width`, `blocks` a multiprocessor, `words` asked for at once."""

    threads: int
    items: int
    width: int
    blocks: int
    words: int = 1

    @property
    def tile(self) -> int:
        """Elements a tile."""
        return self.threads * self.items

    def template(self) -> dict[str, int]:
        """Return the kernel's template arguments that this decides."""
        return {
            "THREADS": self.threads, "ITEMS": self.items, "WIDTH": self.width, "BLOCKS": self.blocks, "WORDS": self.words,
        }  # fmt: skip


# Measured on one H200, at 2^28 elements and at 2^10 to 2^24. What counts is the bytes under way on a multiprocessor: two
# blocks of 32 KiB, and one more tile each on its way to the L2. Smaller tiles help below 2^18 elements only, and cost
# much above; small elements are bound by instructions, and gain by whatever leaves registers for more of them.
# `words`: so many that one round trip asks for a word of every block on the device.
DEVICE = {
    1: Configuration(threads=256, items=48, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=24, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=32, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=2, words=2),
}

# The scan of segments keeps more in registers: smaller tiles, and of no more than 32 elements a thread.
SEGMENTS = {
    1: Configuration(threads=256, items=32, width=8, blocks=2, words=2),
    2: Configuration(threads=256, items=24, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=20, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=10, width=2, blocks=2, words=2),
}


@dataclass(frozen=True)
class ColumnConfiguration:
    """How a scan of columns is cut up: `threads` a block, `items` a thread that has columns of its own, `strip` one of a strip.

    A strip of `narrow` columns is a sector of 32 bytes wide: narrower ones waste what memory brings. `words` are asked for at
    once where blocks share a strip. Vectors are of at most `widest` elements.
    """

    threads: int
    items: int
    strip: int
    narrow: int
    widest: int
    blocks: int = 2
    words: int = 4

    def rows(self, columns: int) -> int:
        """Rows a tile of a strip of so many columns."""
        return self.threads * self.strip // columns

    def by_thread(self, width: int) -> dict[str, int]:
        """Return the template arguments of `scan_columns_by_thread`, in vectors of `width`."""
        return {"THREADS": self.threads, "ITEMS": self.items, "WIDTH": width}

    def by_block(self, width: int, lanes: int) -> dict[str, int]:
        """Return those of `scan_columns`, for strips of `lanes` vectors of `width`."""
        return {"THREADS": self.threads, "ITEMS": self.strip, "WIDTH": width, "BLOCKS": self.blocks, "TX": lanes}

    def shared(self, width: int, lanes: int) -> dict[str, int]:
        """Return those of `scan_columns_shared`."""
        return {**self.by_block(width, lanes), "WORDS": self.words}


COLUMNS = {
    1: ColumnConfiguration(threads=256, items=32, strip=24, narrow=32, widest=8),
    2: ColumnConfiguration(threads=256, items=32, strip=24, narrow=16, widest=8),
    4: ColumnConfiguration(threads=256, items=32, strip=24, narrow=8, widest=4),
    8: ColumnConfiguration(threads=256, items=16, strip=12, narrow=4, widest=2),
}

# The reference machine runs all threads of a block in one NumPy operation: many threads, and one long row each.
HOST_SMALL = Configuration(threads=1024, items=4, width=4, blocks=1)
HOST_LARGE = Configuration(threads=1024, items=64, width=64, blocks=1)
HOST_SEGMENTS_SMALL = Configuration(threads=1024, items=4, width=4, blocks=1)
HOST_SEGMENTS_LARGE = Configuration(threads=1024, items=32, width=32, blocks=1)

# Short arrays: by one block up to 64 KiB, in vectors of 16 bytes; then by blocks of one tile each, two a multiprocessor at most.
BLOCK = ((256, 1), (1024, 1), (1024, 2), (1024, 4))
"""Threads, and vectors a thread."""
ONCE = (1, 2, 4, 8)
"""Vectors a thread, of blocks of `ONCE_THREADS`."""
ONCE_THREADS = 256
ONCE_TILES = 264
