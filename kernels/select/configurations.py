"""How a selection is cut into tiles, for each size of element."""

from prism.kernels.scan.configurations import Configuration

# A bit of a word for each of a thread's elements: at most 32. What a tile keeps passes through shared memory, at most 48 KiB.
# A tile costs what its look-back takes, so tiles are large, and no more blocks run on a multiprocessor than said here.
DEVICE = {
    1: Configuration(threads=256, items=32, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=32, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=28, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=8, width=1, blocks=2, words=2),
}
# Of long arrays that are split into several, by how many: the held tile's elements of 4 bytes and more stand in shared memory, in
# their parts, so there are registers for more blocks.
PARTS = {
    2: {
        **DEVICE,
        4: Configuration(threads=256, items=24, width=4, blocks=3, words=2),
        8: Configuration(threads=256, items=12, width=2, blocks=3, words=2),
    },
    3: {
        **DEVICE,
        4: Configuration(threads=256, items=32, width=4, blocks=3, words=2),
        8: Configuration(threads=256, items=12, width=2, blocks=3, words=2),
    },
}
# Of positions no tile is held, and 2 bytes an element pass through shared memory: there is room for more threads.
PLACES = {
    1: Configuration(threads=512, items=32, width=16, blocks=2, words=2),
    2: Configuration(threads=512, items=32, width=8, blocks=1, words=2),
    4: Configuration(threads=384, items=24, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=2, words=2),
    16: DEVICE[16],
}
# Bytes that are held four in a word leave registers for more blocks.
PACKED = Configuration(threads=256, items=32, width=16, blocks=4, words=2)
# Of long arrays of bytes that begin at vectors, and of longer ones: several parts of 64 a thread, since a look-back and barriers
# cost as much as 64 bytes do. More blocks have too few registers, or too little shared memory.
BYTES = (
    Configuration(threads=256, items=64, width=32, blocks=3, words=2),
    Configuration(threads=256, items=128, width=32, blocks=3, words=2),
)
BYTES_MASKED = (BYTES[0], Configuration(threads=384, items=128, width=32, blocks=2, words=2))
BYTES_APART = {  # by how many parts there are
    2: (
        Configuration(threads=256, items=64, width=32, blocks=4, words=2),
        Configuration(threads=384, items=128, width=32, blocks=2, words=2),
    ),
    3: BYTES,
}
EDGES = {**DEVICE, 1: Configuration(threads=256, items=32, width=16, blocks=3, words=2)}

# Of short arrays smaller tiles: so that all multiprocessors have some.
SHORT = {
    1: Configuration(threads=256, items=32, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=16, width=8, blocks=3, words=2),
    4: Configuration(threads=256, items=16, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=4, width=1, blocks=3, words=2),
}
# Of few elements one tile for each multiprocessor, at most, and each is a block's own.
FEW = {
    1: Configuration(threads=128, items=16, width=16, blocks=2, words=2),
    2: Configuration(threads=128, items=8, width=8, blocks=2, words=2),
    4: Configuration(threads=128, items=8, width=4, blocks=2, words=2),
    8: Configuration(threads=128, items=4, width=2, blocks=2, words=2),
    16: Configuration(threads=128, items=2, width=1, blocks=2, words=2),
}
FEW_TILES = 128
"""Arrays of at most so many of the smallest tiles take them."""
# A split into several arrays, in one pass, of short arrays: of long ones as `PARTS`, but for bytes that are held so.
APART_PACKED = Configuration(threads=256, items=32, width=16, blocks=3, words=2)
APART = {
    **SHORT,
    2: Configuration(threads=256, items=16, width=8, blocks=2, words=2),
    8: Configuration(threads=256, items=8, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=4, width=1, blocks=2, words=2),
}
APART_MIDDLE = {8: Configuration(threads=256, items=16, width=2, blocks=2, words=2)}
"""Of arrays that are neither short nor long, of which all tiles are under way at once."""
MIDDLE_TILES = 256
"""Arrays of at least so many middle tiles take them."""
# Run lengths, of long arrays; of short ones as `APART`. The held tile stands in shared memory, and where its runs begin, in 2
# bytes.
ENCODED = {
    1: Configuration(threads=320, items=32, width=16, blocks=3, words=2),
    2: Configuration(threads=256, items=32, width=8, blocks=3, words=2),
    4: Configuration(threads=256, items=32, width=4, blocks=3, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=3, words=2),
    16: Configuration(threads=256, items=4, width=1, blocks=2, words=2),
}
BYTES_ENCODED = Configuration(threads=256, items=64, width=32, blocks=2, words=2)
"""Of long arrays of bytes that begin at vectors."""
# Keys and values at once, of the larger size, of long arrays: a tile holds both; of short ones as `APART`.
PAIRED = {
    1: Configuration(threads=256, items=32, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=16, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=16, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=8, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=4, width=1, blocks=2, words=2),
}
# A split that knows how many there are holds all of two tiles, and the flags of one. Larger tiles are faster than more blocks:
# fewer look back.
SPLIT = {
    1: Configuration(threads=256, items=32, width=16, blocks=2, words=2),
    2: Configuration(threads=256, items=32, width=8, blocks=2, words=2),
    4: Configuration(threads=256, items=32, width=4, blocks=2, words=2),
    8: Configuration(threads=256, items=16, width=2, blocks=2, words=2),
    16: Configuration(threads=256, items=8, width=1, blocks=2, words=2),
}
LONG_TILES = 512
"""Arrays of at least so many long tiles take them."""
LONGER_TILES = 2048
"""The same of tiles of several parts a thread: of fewer a block has three or four, and begins and ends with half of its work."""

# The reference machine runs all threads of a block in one NumPy operation: many threads.
HOST_SMALL = Configuration(threads=256, items=4, width=4, blocks=1)
HOST_LARGE = Configuration(threads=1024, items=32, width=32, blocks=1)

BEHIND = 256  # threads of the kernels behind a selection

__all__ = [
    "APART", "APART_MIDDLE", "APART_PACKED", "BEHIND", "BYTES", "BYTES_APART", "BYTES_ENCODED", "BYTES_MASKED", "DEVICE",
    "EDGES", "ENCODED",
    "FEW", "FEW_TILES", "HOST_LARGE", "HOST_SMALL", "LONGER_TILES", "LONG_TILES", "MIDDLE_TILES",
    "PACKED", "PAIRED", "PARTS", "PLACES", "SHORT", "SPLIT",
    "Configuration",
]  # fmt: skip
