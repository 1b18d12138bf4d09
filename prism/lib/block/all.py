"""A block votes: whether something holds in all threads."""

from prism.lang import block, int32, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def all(predicate: bool @ thread[1]) -> bool @ block[1]:
    """Whether `predicate` holds in all threads; all of them get the result.

    Perspective: block, of any number of warps.
    Cost:        as `block.count`.
    Test:        tests/lib/block/test_votes.py
    """
    missed: int32 @ block[1] = block.count(not predicate)
    return missed == 0
