"""How reductions are cut into blocks, loads and units."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Configuration:
    """Of a whole array: `threads` a block, `blocks` a multiprocessor, `rows` loads under way a thread, `ahead` asked for before.

    `apart`: one block a multiprocessor, so that those of the next launch find room beside them, and ask for what they take.
    `fewest`: loads a thread, at least, before a second block is worth its while. `words`: published words that a lane asks for at
    once. `once`: a thread has no more than its `rows` loads.
    """

    threads: int
    blocks: int
    rows: int
    fewest: int = 2
    words: int = 9
    once: bool = False
    ahead: int = 0
    apart: bool = False

    def template(self) -> dict[str, int]:
        """Return the kernel's template arguments that this decides."""
        return {
            "THREADS": self.threads, "BLOCKS": self.blocks, "ROWS": self.rows, "AHEAD": self.ahead, "WORDS": self.words,
            "ONCE": self.once,
        }  # fmt: skip


@dataclass(frozen=True)
class AxisConfiguration:
    """Along an axis: `threads` a block, `blocks` a multiprocessor; `loads` of at most `width` elements under way a thread."""

    threads: int
    blocks: int
    loads: int
    width: int

    def template(self) -> dict[str, int]:
        """Return the kernels' template arguments that this decides."""
        return {"THREADS": self.threads, "BLOCKS": self.blocks}


# By the size of the elements that are read. About 40 KiB must be under way on a multiprocessor for memory to be busy all the
# time; these have 64 to 128 KiB. Small elements leave fewer registers for loads: each is widened in one of its own.
DEVICE = {
    1: Configuration(threads=512, blocks=2, rows=4),
    2: Configuration(threads=512, blocks=2, rows=4),
    4: Configuration(threads=512, blocks=2, rows=8, ahead=8),
    8: Configuration(threads=512, blocks=2, rows=8, ahead=8),
    16: Configuration(threads=256, blocks=2, rows=8),
}

# Short arrays, of which each thread has at most so many loads, all under way at once: the first of these numbers of threads a
# block that makes no more than so many blocks; the last of them by the size of an element. Measured on one H200, by graphs of
# launches, from 2^10 to 2^20 elements of 4 and 8 bytes: one block does best up to 32 KiB; then every multiprocessor should have a
# block before blocks become larger. 2^20 int32 take 2.6 us by 128 blocks of 512 threads, 2.8 us by 256 of 256.
SHORT_ROWS = 4
SHORT = ((128, 1), (256, 1), (512, 1), (128, 128), (256, 128))
SHORT_LAST = {1: (512, 512), 2: (512, 512), 4: (512, 128), 8: (512, 256), 16: (512, 512)}


def short(vectors: int, size: int) -> tuple[Configuration, int] | None:
    """Return how so many vectors of elements of `size` bytes are reduced at once, and by how many blocks; None: too many."""
    for threads, limit in (*SHORT, SHORT_LAST[size]):
        blocks = max(1, -(-vectors // (threads * SHORT_ROWS)))
        if blocks <= limit:
            each = max(1, -(-vectors // (threads * blocks)))
            words = 1 if blocks <= 33 else 4 if blocks <= 129 else 9
            return Configuration(threads, 1, 1 << (each - 1).bit_length(), words=words, once=True, ahead=1), blocks
    return None


# Longer ones, of up to so many vectors; what is longer still, and not here, goes by `DEVICE`. By the size of what is added up,
# which for int32 is 8 bytes: 2048 threads a multiprocessor have not the registers for that. Behind each: microseconds on one
# H200, and how many times as fast as CUB's sum that is, at so many elements of 4 bytes or 8.
MIDDLE = {
    4: (
        (1 << 20, Configuration(threads=1024, blocks=2, rows=4, ahead=4, apart=True)),  # 2^21: 3.65, 1.48; 2^22: 5.66, 1.36
        (1 << 21, Configuration(threads=1024, blocks=1, rows=8, ahead=8)),  # 2^23: 9.02, 1.29; `DEVICE`: 9.52, 1.22
    ),
    8: (
        (1 << 20, Configuration(threads=512, blocks=2, rows=8, ahead=4, apart=True)),  # 2^21: 5.91, 1.37
        (1 << 21, Configuration(threads=1024, blocks=1, rows=8, ahead=8)),  # 2^22: 9.09, 1.25; `DEVICE`: 9.38, 1.21
    ),
}


def middle(vectors: int, size: int, sums: int) -> Configuration:
    """Return how so many vectors, more than `short` takes, of elements of `size` bytes are reduced in values of `sums` bytes."""
    rows = MIDDLE.get(max(size, sums), ()) if size in MIDDLE else ()
    return next((known for most, known in rows if vectors <= most), DEVICE[size])


def candidates(size: int) -> list[Configuration]:
    """Return what `prism tune reduce` tries for elements of `size` bytes; the present choice is the first.

    From 16 to 160 KiB are under way on a multiprocessor.
    """
    found = [DEVICE[size]]
    for threads in (256, 512, 1024):
        for blocks in (1, 2, 3, 4):
            for rows in (2, 4, 8, 16):
                if threads * blocks <= 2048 and 16 << 10 <= 16 * rows * threads * blocks <= 160 << 10:
                    found.append(replace(DEVICE[size], threads=threads, blocks=blocks, rows=rows))
    return list(dict.fromkeys(found))


AXIS = {
    1: AxisConfiguration(threads=128, blocks=5, loads=4, width=16),
    2: AxisConfiguration(threads=128, blocks=5, loads=8, width=8),
    4: AxisConfiguration(threads=128, blocks=5, loads=8, width=4),
    8: AxisConfiguration(threads=128, blocks=5, loads=8, width=2),
    16: AxisConfiguration(threads=128, blocks=5, loads=4, width=1),
}

# Few results along axis 0, of at most so many elements each, at once: threads a block, and of a warp's lanes those that work
# along the axis. One launch of at most `AT_ONCE_BLOCKS` blocks takes (1024, 1024) of float32 in 2.5 us, where two launches took
# 3.5; (64, 256) 1.2 us against 2.1, (4096, 1024) 5.8 against 8.7. (4096, 256) takes as long: longer axes of fewer results than
# `AT_ONCE_RESULTS` are left to two. Measured on one H200.
AT_ONCE = ((128, 128, 4), (256, 256, 4), (512, 256, 8), (4096, 512, 8))
AT_ONCE_BLOCKS = 264
AT_ONCE_RESULTS = 512
AT_ONCE_MOST = 2048


def at_once(n: int, inner: int) -> tuple[int, int] | None:
    """Return the threads a block and the lanes along the axis with which one launch reduces `n` times `inner`; None: two do."""
    if n > AT_ONCE_MOST and inner < AT_ONCE_RESULTS:
        return None
    return next(((threads, lanes) for most, threads, lanes in AT_ONCE if n <= most), None)


# A position is kept with each place in a vector.
SEARCH = {
    1: AxisConfiguration(threads=128, blocks=5, loads=8, width=8),
    2: AxisConfiguration(threads=128, blocks=5, loads=4, width=8),
    4: AxisConfiguration(threads=128, blocks=5, loads=4, width=4),
    8: AxisConfiguration(threads=128, blocks=5, loads=4, width=2),
}

# The reference machine runs all threads of a block in one NumPy operation.
HOST = Configuration(threads=1024, blocks=1, rows=8)
HOST_WIDTH = 4
HOST_AXIS = AxisConfiguration(threads=1024, blocks=1, loads=8, width=1)
