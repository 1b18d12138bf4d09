"""The last block of all hands over what the grid has counted, to a result that nobody had to clear before."""

from prism.lang import (
    atomic_add, block, claim, constexpr, grid, group, id, int32, int64, load_relaxed, partition, prism, ptr, requires,
    shared, split, store_relaxed, template, thread,
)


@prism.device
@requires(block[1], thread["THREADS"])
@template(THREADS=constexpr(int))
def hand_over(
    counts: ptr(int64) @ grid[1], result: ptr(int64) @ block[1], length: ptr(int64) @ block[1], size: int32 @ block[1],
    least: int64 @ block[1], blocks: int32 @ block[1],
):
    """Move `counts[0] ... counts[size]` to `result`, once all blocks are here, and say how many there are of them.

    Perspective: block, of `THREADS` threads; each block calls it once, when it has added all that it counted.
    Shapes:      `blocks`: how many there are. `counts`: `size + 2`, zero before the launch and behind it, and of no other use
                 meanwhile: those of `size` bins, the largest element, and how many blocks are here. `result`: `size + 1`.
                 `length[0]`: how many counts there are up to that of the largest element, at least `least`, which `size` is not
                 below; `size + 1` where it has none.
    Cost:        two barriers and an atomic addition a block; of the last one `size / THREADS` reads a thread.
    Test:        tests/kernels/test_histogram.py
    """
    t: int32 @ thread[1] = id()
    last: shared(int32[1])
    all_here: bool @ block[1] = block.all(True)
    with claim(last, thread[1]) as own:
        match split(thread):
            case 1:
                own[0] = 1 if atomic_add(counts[size + 1], 1, order="acq_rel") == blocks - 1 else 0
    if last[0] != 0:
        with (
            partition(result, thread[1], offset=lambda i: i, races="none") as own,
            partition(length, thread[1], offset=lambda i: i, races="none") as said, group(thread[1]),
        ):
            if t == 0:  # first, as the host waits for it
                most: int64 = load_relaxed(counts[size])
                said[0] = max(min(most, int64(size)) + 1, least)
                own[size] = most
                store_relaxed(counts[size], 0)
                store_relaxed(counts[size + 1], 0)
            for b in range(t, size, THREADS):
                own[b] = load_relaxed(counts[b])
                store_relaxed(counts[b], 0)
