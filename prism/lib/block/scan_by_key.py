"""A block scans a tile that its registers hold, anew for each run of equal keys."""

from prism.lang import block, constexpr, dtype, function, prism, requires, static_assert, template, thread
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_by_key(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], identity: T @ block[1]) -> T @ block[1]:
    """Replace each item by `OP` of the items of its run of equal keys up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. The tile begins a run.
    Returns:     `OP` of the last run. `identity` must be `OP`'s: the exclusive result of a run's first item. For runs across
                 tiles call `block.heads` and `block.scan_segments`, which take what came before.
    Cost:        `block.heads` and `block.scan_segments`: two barriers.
    Numerics:    reassociates `OP` inside a run, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    flags: bool[ITEMS] @ thread[1]
    unused: K @ block[1] = 0
    block.heads(keys, flags, unused, True, WIDTH=WIDTH, DIFFERENT=operators.not_equal)
    return block.scan_segments(items, flags, identity, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
