"""A block says that it has done a piece of work, of which others wait for the number."""

from prism.lang import atomic_add, block, grid, int32, prism, ptr, requires, split, thread, uint64


@prism("device")
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
