"""A block votes: whether something holds in any thread."""

from prism.lang import block, int32, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def any(predicate: bool @ thread[1]) -> bool @ block[1]:
    """Whether `predicate` holds in any thread; all threads get the result.

    Perspective: block, of any number of warps.
    Cost:        as `block.count`.
    Test:        tests/lib/block/test_votes.py
    """
    held: int32 @ block[1] = block.count(predicate)
    return held > 0
