"""A block learns which tile its first thread has drawn."""

from prism.lang import block, int32, prism, requires, thread, uint64


@prism("device")
@requires(block[1], thread[1])
def next_tile(ticket: uint64 @ thread[1]) -> int32 @ block[1]:
    """The number of the tile whose ticket `grid.draw` has drawn, for the whole block.

    Perspective: block, of any number of threads.
    Cost:        the rest of the counter's round trip, one barrier, and one word of shared memory.
    Test:        tests/lib/grid/test_tiles.py
    """
    word: uint64 @ block[1] = block.broadcast(ticket, 0)
    return int32(word)
