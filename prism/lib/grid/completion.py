"""A block says that it has done a piece of work, and others wait until so many pieces are done."""

from prism.lang import atomic_add, block, grid, int32, int64, load_acquire, prism, ptr, requires, split, thread, uint64


@prism.device
@requires(block[1], thread[32])
def count_done(control: ptr(uint64) @ grid[1], counter: int32 @ block[1] = 0):
    """Add one to `control[counter]`, once all threads of the block are here: `grid.wait_for_done` waits for it.

    Who has waited finds in memory what the block wrote before this.

    Perspective: block, of any number of warps.
    Shapes:      `control[counter]`: 0 before the launch, and of no other use meanwhile.
    Cost:        one barrier, and an atomic addition that nobody waits for.
    Test:        tests/lib/grid/test_done.py
    """
    all_here: bool @ block[1] = block.all(True)
    match split(thread):
        case 1:
            atomic_add(control[counter], 1, order="release")


@prism.device
@requires(block[1], thread[32])
def wait_for_done(control: ptr(uint64) @ grid[1], number: int64 @ block[1], counter: int32 @ block[1] = 0):
    """Wait until blocks have called `grid.count_done` at least `number` times; then all that they wrote before can be read.

    Where pieces of work are drawn in their order, by `grid.draw`, a piece may wait for all that are below it: those have been
    drawn by blocks that run. So work of several steps is done by one launch, each step after the one before it.

    Perspective: block, of any number of warps.
    Shapes:      `control`, `counter`: as of `grid.count_done`; another counter than the one of `grid.draw`.
    Cost:        a round trip of the first thread at least, and one barrier.
    Errors:      who waits for more pieces than are ever done waits for ever; the reference machine says so. Arrays that blocks
                 write and others read then are partitioned with `races="allow"`: the checker doesn't know what is waited for.
    Test:        tests/lib/grid/test_done.py
    """
    match split(thread):
        case 1:
            while load_acquire(control[counter]) < uint64(number):
                pass
    all_seen: bool @ block[1] = block.all(True)
