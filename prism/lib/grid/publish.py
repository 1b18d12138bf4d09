"""A block publishes what a tile comes to."""

from prism.lang import block, dtype, grid, int32, mailbox, prism, ptr, publish as put, requires, split, template, thread, uint32


@prism.device
@requires(block[1], thread[1])
@template(T=dtype)
def publish(words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], total: T @ thread[1], epoch: uint32 @ thread[1]):
    """Publish a tile's total, the first thread's, in `words[tile]`: once in a launch. `grid.look_back` and its like wait for it.

    Perspective: block, of any number of threads.
    Shapes:      `words`: one a tile, and all zero at first; of no other use at the same time. Those that a launch before this
                 one has published carry its epoch, and are not taken for this one's: nothing is cleared.
    Cost:        one store, of the first thread; no barrier. The word is the whole message: it orders no other access.
    Errors:      `words` must have `tile`; the reference machine says so. A block that waits before it has published what is
                 below may wait for ever: so publish before looking back.
    Test:        tests/lib/grid/test_look_back.py
    """
    match split(thread):
        case 1:
            put(words[tile], total, epoch)
