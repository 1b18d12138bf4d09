"""How reductions are cut into blocks, loads and units."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Configuration:
    """Of a whole array: `threads` a block, `blocks` a multiprocessor, `rows` loads under way a thread.

    `fewest`: loads a thread, at least, before a second block is worth its while. `words`: published words that a lane asks for at
    once. `once`: a thread has no more than its `rows` loads.
    """

    threads: int
    blocks: int
    rows: int
    fewest: int = 2
    words: int = 9
    once: bool = False

    def template(self) -> dict[str, int]:
        """Return the kernel's template arguments that this decides."""
        return {
            "THREADS": self.threads, "BLOCKS": self.blocks, "ROWS": self.rows, "WORDS": self.words, "ONCE": self.once,
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
    4: Configuration(threads=512, blocks=2, rows=8),
    8: Configuration(threads=512, blocks=2, rows=8),
    16: Configuration(threads=256, blocks=2, rows=8),
}

# Short arrays, of which each thread has at most so many loads, all under way at once: the first of these numbers of threads a
# block that makes no more than so many blocks. Measured on one H200, by graphs of launches, from 2^10 to 2^24 elements of 4 and 8
# bytes: one block does best up to 32 KiB; then every multiprocessor should have a block before blocks become larger.
SHORT_ROWS = 4
SHORT = ((128, 1), (256, 1), (512, 1), (128, 128), (256, 256), (512, 512))


def short(vectors: int) -> tuple[Configuration, int] | None:
    """Return how so many vectors are reduced at once, and by how many blocks; None where there are too many."""
    for threads, limit in SHORT:
        blocks = max(1, -(-vectors // (threads * SHORT_ROWS)))
        if blocks <= limit:
            each = max(1, -(-vectors // (threads * blocks)))
            words = 1 if blocks <= 33 else 4 if blocks <= 129 else 9
            return Configuration(threads, 1, 1 << (each - 1).bit_length(), words=words, once=True), blocks
    return None


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
