"""A block reads the launch's epoch, and does not wait for it."""

from prism.lang import block, grid, load_relaxed, prism, ptr, requires, split, thread, uint32, uint64


@prism("device")
@requires(block[1], thread[1])
def epoch(control: ptr(uint64) @ grid[1]) -> uint32 @ thread[1]:
    """The launch's epoch, of a kernel whose blocks draw no tickets: in the first thread, once it uses it; 1 in the others.

    `block.broadcast` gives it to all. What stands between goes on while it is under way.

    Perspective: block, of any number of threads.
    Shapes:      `control`: as of `grid.tiles`. Its number of launches changes when `grid.count_launch` is called: after every
                 block has read it.
    Cost:        a read of memory; no barrier.
    Test:        tests/lib/grid/test_gather.py
    """
    launches: uint64 @ thread[1] = 0
    match split(thread):
        case 1:
            launches = load_relaxed(control[0])
    return uint32(launches >> 32) + 1
