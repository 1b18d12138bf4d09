"""How the scan is cut into tiles: for each size of element, what was measured to be best."""

from dataclasses import dataclass, replace

from prism.kernels.scan.head_flags import BITS, ROWS


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
# much above. Elements of one or two bytes stay in words of four or two.
# `words`: so many that one round trip asks for a word of every block on the device.
DEVICE = {
    1: Configuration(threads=256, items=128, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=64, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=32, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=9, width=1, blocks=2, words=2),
}

# Small elements that are taken apart to be scanned: those of unaligned arrays, or of other types than their results.
UNPACKED = {
    1: Configuration(threads=256, items=48, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=24, width=8, blocks=2, words=2),
}

_REGISTERS = 65536  # of a multiprocessor, of 32 bits
_OTHERS = 30  # a thread: addresses, indices, what is combined


def candidates(size: int) -> list[Configuration]:
    """Return what `prism tune scan` tries for elements of `size` bytes; the present choice is the first.

    A thread keeps two tiles' elements, and of small ones what comes before each vector: what does not fit is not tried.
    """
    width, registers = max(1, 16 // size), 5 if size <= 2 else 4  # of a vector
    found = [DEVICE[size]]
    for threads in (128, 256, 512):
        for vectors in (3, 5, 7, 8, 9, 11) if width == 1 else (2, 3, 4, 6, 8, 10, 12):  # odd: no padding of what is handed round
            for blocks in (1, 2, 3, 4):
                if threads * blocks * (2 * vectors * registers + _OTHERS) <= _REGISTERS and threads * blocks >= 256:
                    found += [Configuration(threads, vectors * width, width, blocks, words) for words in (1, 2)]
    return list(dict.fromkeys(found))


# The scan of segments keeps more in registers: smaller tiles, and of no more than 32 elements a thread.
SEGMENTS = {
    1: Configuration(threads=256, items=32, width=8, blocks=2, words=2),
    2: Configuration(threads=256, items=24, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=20, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=10, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=5, width=1, blocks=2, words=2),
}

# Eight bytes, where heads are bits or regular: on an H100, 2^24 and 2^26 int64, 1.08 to 1.12 and 1.04 times as fast as by those
# above. With keys nothing was faster. Four bytes, where heads are regular: on an H200, 2^26 in rows of 4 to 2^22, 1.03 to 1.08
# times as fast as by those above for float32, 1.03 to 1.07 for float16, 1.06 to 1.09 for extremes of int32, though float32 spills
# two registers. By 12 elements a thread nothing spills, and all are slower.
_BY_HEADS = {
    (8, BITS): Configuration(threads=256, items=16, width=2, blocks=2, words=2),
    (8, ROWS): Configuration(threads=256, items=12, width=2, blocks=2, words=2),
    (4, ROWS): Configuration(threads=256, items=16, width=4, blocks=3, words=2),
}


def for_segments(size: int, heads: int) -> Configuration:
    """Return how segments are cut into tiles, for elements of `size` bytes, where `heads` say where they begin."""
    return _BY_HEADS.get((size, heads), SEGMENTS[size])


# Runs of equal keys, of at most 4 bytes each. Float32 beside uint32 is measured, 2^26 with 51 and 1000 elements a run: 265 us and
# 204 us, by the tiles of `SEGMENTS` 297 and 213. Others are not: they are those of `SEGMENTS`, or smaller ones that don't spill.
_SMALL_RUNS = Configuration(threads=256, items=16, width=8, blocks=2, words=2)
RUNS = SEGMENTS | {1: _SMALL_RUNS, 4: Configuration(threads=256, items=16, width=4, blocks=3, words=2)}

# Keys of 8 bytes take more registers.
RUNS_OF_LONG_KEYS = SEGMENTS | {1: _SMALL_RUNS, 2: _SMALL_RUNS}


def for_runs(size: int, key: int) -> Configuration:
    """Return how runs are cut into tiles, for elements of `size` bytes and keys of `key` bytes."""
    return (RUNS if key <= 4 else RUNS_OF_LONG_KEYS)[size]


@dataclass(frozen=True)
class StripConfiguration:
    """How a strip that blocks share is cut up: as in a `Configuration`."""

    items: int
    threads: int = 256
    blocks: int = 2
    words: int = 4

    def rows(self, columns: int) -> int:
        """Rows a tile of a strip of so many columns."""
        return self.threads * self.items // columns

    def template(self, width: int, lanes: int) -> dict[str, int]:
        """Return the template arguments of `scan_columns_shared`, for strips of `lanes` vectors of `width`."""
        return {
            "THREADS": self.threads, "ITEMS": self.items, "WIDTH": width, "BLOCKS": self.blocks, "TX": lanes, "WORDS": self.words,
        }  # fmt: skip


@dataclass(frozen=True)
class ColumnConfiguration:
    """How a scan of columns is cut up: `threads` a block, `items` a thread that has columns of its own, `strip` one of a strip.

    A block that has a strip of its own is of `wide` threads, with `wide_strip` items each. Strips that blocks share are cut up as
    `shared` says, or as `shared_wide` where they have 32 columns, or else as `shared_single`, if there is one, without vectors;
    they are not made narrower than `narrow` columns, which wastes what memory brings. Vectors are of at most `widest` elements.
    """

    threads: int
    items: int
    strip: int
    narrow: int
    widest: int
    wide: int
    wide_strip: int
    shared: StripConfiguration
    shared_wide: StripConfiguration
    blocks: int = 2
    shared_single: StripConfiguration | None = None

    def sharing(self, columns: int, width: int) -> StripConfiguration:
        """Return how a strip of so many columns, in vectors of `width`, is shared."""
        if columns >= 32:
            return self.shared_wide
        return self.shared_single if width == 1 and self.shared_single is not None else self.shared

    def by_block(self, width: int, lanes: int) -> dict[str, int]:
        """Return those of `scan_columns`, for strips of `lanes` vectors of `width`."""
        wide = width > 1 and lanes == 32  # or registers are spilled
        threads, items = (self.wide, self.wide_strip) if wide else (self.threads, self.strip)
        return {"THREADS": threads, "ITEMS": items, "WIDTH": width, "BLOCKS": self.blocks, "TX": lanes}

    def by_thread(self, width: int) -> dict[str, int]:
        """Return the template arguments of `scan_columns_by_thread`, in vectors of `width`."""
        return {"THREADS": self.threads, "ITEMS": self.items, "WIDTH": width}


# Strips that blocks share: measured for elements of 4 bytes, on arrays of 256 MiB with 4 to 4096 columns. As in a scan of one
# dimension what counts is the bytes under way; four blocks of 12 KiB each, and what they ask the L2 for, take columns of 4096
# to 256, and two of 32 KiB fewer.
COLUMNS = {
    1: ColumnConfiguration(
        threads=256, items=32, strip=24, narrow=32, widest=8, wide=256, wide_strip=24,
        shared=StripConfiguration(items=24), shared_wide=StripConfiguration(items=24),
    ),
    2: ColumnConfiguration(
        threads=256, items=32, strip=24, narrow=16, widest=8, wide=256, wide_strip=24,
        shared=StripConfiguration(items=24), shared_wide=StripConfiguration(items=24),
    ),
    4: ColumnConfiguration(
        threads=256, items=16, strip=24, narrow=16, widest=4, wide=512, wide_strip=16,
        shared=StripConfiguration(items=32), shared_wide=StripConfiguration(items=24, threads=128, blocks=4, words=8),
        shared_single=StripConfiguration(items=30),
    ),
    8: ColumnConfiguration(
        threads=256, items=8, strip=12, narrow=4, widest=2, wide=512, wide_strip=8,
        shared=StripConfiguration(items=12), shared_wide=StripConfiguration(items=12),
    ),
    16: ColumnConfiguration(
        threads=256, items=4, strip=6, narrow=2, widest=1, wide=512, wide_strip=4,
        shared=StripConfiguration(items=6), shared_wide=StripConfiguration(items=6),
    ),
}  # fmt: skip

# Elements that become wider ones need registers for both: with as many items as above the wide strips' would be spilled. By the
# fewer float16 of (1024, 49152) takes 72.0 us for 80.7, int8 as int64 of (1024, 32768) 100.8 for 110.5, uint32 as uint64 of
# (2048, 16384) 109.4 for 111.9; what isn't converted, and doesn't spill, is slower by them: float32 127.1 for 115.3.
COLUMNS_WIDENED = COLUMNS | {4: replace(COLUMNS[4], wide_strip=12), 8: replace(COLUMNS[8], wide_strip=6)}


@dataclass(frozen=True)
class RowsConfiguration:
    """How whole rows are cut into tiles: as in a `Configuration`."""

    items: int
    threads: int = 512
    blocks: int = 1
    words: int = 4

    def rows(self, columns: int) -> int:
        """Rows of a tile."""
        return self.threads // columns * self.items

    def template(self) -> dict[str, int]:
        """Return the template arguments of `scan_whole_rows`."""
        return {"THREADS": self.threads, "ITEMS": self.items, "BLOCKS": self.blocks, "WORDS": self.words}


# A block looks back at all columns of as many tiles as there are blocks: so one on a multiprocessor, with large tiles, where
# there are enough of them, or else small ones. By size of an element.
WHOLE_ROWS = {
    4: (RowsConfiguration(items=44), RowsConfiguration(items=12, threads=256, blocks=2)),
    8: (RowsConfiguration(items=22), RowsConfiguration(items=6, threads=256, blocks=2)),
}
WHOLE_ROWS_COLUMNS = (9, 127)
"""How many columns they have: of fewer a thread adds up too many chunks, of more a small tile has one chunk."""


def for_columns(size: int, given: int) -> ColumnConfiguration:
    """Return how columns are cut up, for elements of `size` bytes in registers and `given` bytes in memory."""
    return (COLUMNS_WIDENED if given < size else COLUMNS)[size]


# The reference machine runs all threads of a block in one NumPy operation: many threads, and one long row each.
HOST_SMALL = Configuration(threads=1024, items=4, width=4, blocks=1)
HOST_LARGE = Configuration(threads=1024, items=64, width=64, blocks=1)
HOST_SEGMENTS_SMALL = Configuration(threads=1024, items=4, width=4, blocks=1)
HOST_SEGMENTS_LARGE = Configuration(threads=1024, items=32, width=32, blocks=1)

# Short arrays, in vectors of 16 bytes: by one block with a vector a thread, then by blocks of one tile each. From the second tile
# on more blocks with less work each are faster than few with much.
BLOCK_THREADS = 256
ONCE = ((16 << 10, 1, 4), (512 << 10, 2, 4), (2 << 20, 4, 4), (4 << 20, 8, 2))
"""Up to so many bytes: vectors a thread of blocks of `ONCE_THREADS`, and such blocks a multiprocessor."""
ONCE_OTHERS = ((512 << 10, 2, 3), ONCE[3])
"""For other operators than sums: fewer kernels, that all ship. By 4 blocks extremes of bytes would spill. Elements of 16
bytes go by `ONCE`: none of their kernels ships."""
ONCE_THREADS = 256
ONCE_ITEMS = 32  # a thread, at most
ONCE_TILES = 256  # with 264, as many as run at once, arrays of bytes just past 2 MiB would have a kernel of their own
