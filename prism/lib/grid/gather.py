"""The last block of a grid combines what all blocks come to."""

from prism.lang import (
    block, broadcast, constexpr, dtype, function, grid, group, id, int32, mailbox, prism, ptr, requires, split, template, thread,
    uint32, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, OP=function, WORDS=constexpr(int), ORDERED=constexpr(bool), TENSOR=constexpr(bool))
def gather(
    words: ptr(mailbox(T)) @ grid[1], me: int32 @ block[1], blocks: int32 @ block[1], total: T @ thread[1],
    initial: T @ block[1], identity: T @ block[1], epoch: uint32 @ thread[1],
) -> T @ thread[1]:
    """`OP` of `initial` and all blocks' totals, in their order: in the first thread of the last block.

    The others publish, and wait for nobody; the last block's first warp asks for all words at once, until they have come. So
    the result is the same, bit for bit, whichever block is done first. Then the launch may be counted, by `grid.count_launch`:
    all blocks have read its epoch.

    Perspective: block, number `me` of `blocks`, of any number of warps. `total` and `epoch` are the first thread's.
    Shapes:      `words`: as of `grid.publish`, one a block but the last. `ORDERED`: shares of the words are in order; otherwise
                 a lane takes every 32nd word, and `OP` must be commutative. One block alone uses no words.
    Returns:     what others than the first thread of the last block get is of no use.
    Cost:        a round trip for each `32 * WORDS` blocks, `WORDS` of a lane under way at once, and a warp's reduction: as of
                 `warp.reduce_to_first`, which has `TENSOR`; no barrier.
    Numerics:    reassociates `OP`, in a way fixed by `blocks` and the template. `identity` is `OP`'s.
    Errors:      a block must not wait for a later one before it has called this.
    Test:        tests/lib/grid/test_gather.py
    """
    combined: T @ thread[1] = OP(initial, total)
    if me < blocks - 1:
        grid.publish(words, me, total, epoch)
    elif blocks > 1:
        match split(warp):
            case 1:
                lane: int32 @ thread[1] = id()
                launch: uint32 @ thread[32] = broadcast(epoch, 0)
                most: int32 @ thread[32] = (blocks + 30) / 32
                start: int32 @ thread[1] = lane * most if ORDERED else lane
                number: int32 @ thread[1] = min(most, blocks - 1 - start) if ORDERED else (blocks + 30 - start) / 32
                STEP: constexpr(int) = 1 if ORDERED else 32
                sum: T @ thread[1] = identity
                with group(thread[1]):
                    sum = grid.receive_totals(words, start, STEP, number, most, identity, launch, OP=OP, WORDS=WORDS)
                    sum = OP(initial if lane == 0 else identity, sum)
                combined = OP(warp.reduce_to_first(sum, OP=OP, FEW=True, TENSOR=TENSOR), total)
    return combined
