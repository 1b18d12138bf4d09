"""A block votes: in how many threads something holds."""

from prism.lang import (
    ballot, block, claim, count as units, group, id, int32, partition, popcount, prism, requires, shared, split, thread,
    warp,
)


@prism.device
@requires(block[1], thread[32])
def count(predicate: bool @ thread[1]) -> int32 @ block[1]:
    """In how many threads `predicate` holds; all threads get the result.

    Perspective: block, of any number of warps.
    Cost:        a vote, one barrier, and a read of each warp's result; 32 words of shared memory.
    Test:        tests/lib/block/test_vote.py
    """
    votes: shared(int32[32]) @ block[1]
    vote: int32 @ thread[32] = int32(popcount(ballot(predicate)))
    w: int32 @ thread[32] = id()
    with partition(votes, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = vote
    total: int32 @ block[1] = 0
    for v in range(units(warp[1])):
        total += votes[v]
    return total


@prism.device
@requires(block[1], thread[32])
def all(predicate: bool @ thread[1]) -> bool @ block[1]:
    """Whether `predicate` holds in all threads; all of them get the result.

    Perspective: block, of any number of warps.
    Cost:        as `block.count`.
    Test:        tests/lib/block/test_vote.py
    """
    missed: int32 @ block[1] = block.count(not predicate)
    return missed == 0


@prism.device
@requires(block[1], thread[32])
def any(predicate: bool @ thread[1]) -> bool @ block[1]:
    """Whether `predicate` holds in any thread; all threads get the result.

    Perspective: block, of any number of warps.
    Cost:        as `block.count`.
    Test:        tests/lib/block/test_vote.py
    """
    held: int32 @ block[1] = block.count(predicate)
    return held > 0
