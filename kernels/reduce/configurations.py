"""How reductions are cut into blocks, loads and units."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """Of a whole array: `threads` a block, `blocks` a multiprocessor, `rows` loads under way a thread.

    `fewest`: loads a thread, at least, before a second block is worth its while.
    """

    threads: int
    blocks: int
    rows: int
    fewest: int = 2

    def template(self) -> dict[str, int]:
        """Return the kernel's template arguments that this decides."""
        return {"THREADS": self.threads, "BLOCKS": self.blocks, "ROWS": self.rows}


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
}

AXIS = {
    1: AxisConfiguration(threads=128, blocks=5, loads=4, width=16),
    2: AxisConfiguration(threads=128, blocks=5, loads=8, width=8),
    4: AxisConfiguration(threads=128, blocks=5, loads=8, width=4),
    8: AxisConfiguration(threads=128, blocks=5, loads=8, width=2),
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
