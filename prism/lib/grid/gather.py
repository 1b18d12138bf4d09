"""The last block of a grid combines what all blocks come to."""

from prism.lang import (
    block, broadcast, claim, constexpr, dtype, function, grid, group, id, int32, mailbox, prism, ptr, publish, receive,
    requires, shared, split, store_relaxed, template, thread, uint32, warp,
)


@prism.device
@requires(thread[32])
@template(T=dtype, OP=function, WORDS=constexpr(int), ORDERED=constexpr(bool))
def collect(
    words: ptr(mailbox(T)) @ grid[1], count: int32 @ thread[32], initial: T @ thread[32], identity: T @ thread[32],
    epoch: uint32 @ thread[32],
) -> T @ thread[1]:
    """`OP` of this lane's share of `words[0] ... words[count - 1]`, as they are published; behind `initial` in lane 0.

    Perspective: warp.
    Shapes:      `ORDERED`: shares are in order; otherwise a lane takes every 32nd word.
    Cost:        one round trip for each `32 * WORDS` words, `WORDS` of them under way at once.
    """
    lane: int32 @ thread[1] = id()
    length: int32 @ thread[32] = (count + 31) // 32
    start: int32 @ thread[1] = lane * length if ORDERED else lane
    STEP: constexpr(int) = 1 if ORDERED else 32
    sum: T @ thread[1] = initial if lane == 0 else identity
    with group(thread[1]):
        for k in range(0, length, WORDS):
            got: T[WORDS]
            left: int32 = min(length - k, (count - start - k * STEP + (STEP - 1)) // STEP)
            receive(words[start + k * STEP], got, STEP, left, identity, epoch)
            sum = OP(sum, thread.reduce(got, OP=OP))
    return sum


@prism.device
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
                most: int32 @ thread[32] = (blocks + 30) // 32
                start: int32 @ thread[1] = lane * most if ORDERED else lane
                number: int32 @ thread[1] = min(most, blocks - 1 - start) if ORDERED else (blocks + 30 - start) // 32
                STEP: constexpr(int) = 1 if ORDERED else 32
                sum: T @ thread[1] = identity
                with group(thread[1]):
                    sum = grid.receive_totals(words, start, STEP, number, most, identity, launch, OP=OP, WORDS=WORDS)
                    sum = OP(initial if lane == 0 else identity, sum)
                combined = OP(warp.reduce_to_first(sum, OP=OP, FEW=True, TENSOR=TENSOR), total)
    return combined


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, TO=dtype, OP=function, INTO=function, WORDS=constexpr(int), ORDERED=constexpr(bool), TENSOR=constexpr(bool),
)
def gather_into(
    result: ptr(TO) @ block[1], words: ptr(mailbox(T)) @ grid[1], control: ptr(uint32) @ grid[1], capacity: uint32 @ grid[1],
    epoch_cell: shared(uint32[1]) @ block[1], before: uint32 @ thread[1], total: T @ thread[1], alone: T @ thread[1],
    initial: T @ block[1], identity: T @ block[1], me: int32 @ block[1], blocks: int32 @ block[1],
):
    """`result[0] = INTO(OP(initial, ..., total))` of all blocks' totals, in their order; `INTO(alone)` where there is one block.

    What `grid.gather` does, and `grid.count_launch` after it, written by the last block. It is quicker: the epoch is on a cell
    that all threads read, and what only the last block does stands in one branch.

    Perspective: block, number `me` of `blocks`, of any number of warps; the last one writes `result`, the others publish.
    Shapes:      `words`, `ORDERED`: as of `grid.gather`; `capacity` of them, at least `blocks`. `control`: the two halves of the
                 word of `grid.tiles`, of which the second is the number of launches so far. `before`: that number, in the first
                 thread, and on `epoch_cell` for all. `total`, `alone`: the first thread's.
    Cost:        as of `grid.gather`; no barrier.
    Numerics:    as of `grid.gather`.
    Errors:      as of `grid.gather`.
    Test:        tests/lib/grid/test_gather.py
    """
    if me < blocks - 1:
        grid.publish(words, me, total, before + 1)
    elif blocks == 1:
        with claim(result, thread[1]) as own:
            match split(thread):
                case 1:
                    own[0] = INTO(alone, T=TO)
    else:
        epoch: uint32 @ block[1] = epoch_cell[0] + 1
        with claim(result, warp[1]) as whole:
            match split(warp):
                case 1:
                    part: T @ thread[1] = collect(
                        words, blocks - 1, initial, identity, epoch, OP=OP, WORDS=WORDS, ORDERED=ORDERED,
                    )
                    all: T @ thread[1] = OP(warp.reduce_to_first(part, OP=OP, FEW=True, TENSOR=TENSOR), total)
                    with claim(whole, thread[1]) as own:
                        match split(thread):
                            case 1:
                                own[0] = INTO(all, T=TO)
                                store_relaxed(control[1], epoch)
                                # Each launch marks one of the words that it doesn't use, so that after 2^32
                                # launches no word is as old as to carry this very epoch.
                                stale: int32 = int32(epoch % capacity)
                                if stale >= blocks - 1:
                                    publish(words[stale], identity, epoch)
