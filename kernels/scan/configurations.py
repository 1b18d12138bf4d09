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

# The reference machine runs all threads of a block in one NumPy operation: many threads, and one long row each.
HOST_SMALL = Configuration(threads=1024, items=4, width=4, blocks=1)
HOST_LARGE = Configuration(threads=1024, items=64, width=64, blocks=1)
