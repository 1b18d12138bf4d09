"""A block scans a tile that its registers hold, with and without each element itself."""

from prism.lang import block, constexpr, dtype, function, group, prism, requires, static_assert, template, thread


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function)
def scan_both(items: T[ITEMS] @ thread[1], exclusive: T[ITEMS] @ thread[1], initial: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP` of `initial` and all up to it; put the same without itself into `exclusive`.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them, both; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of `initial` and the whole tile. `initial` may be any value: `OP` needs no identity.
    Cost:        as `block.scan_initial`, and `ITEMS` applications of `OP`.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_scan_more.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    with group(thread[1]):
        for k in range(ITEMS):
            exclusive[k] = items[k]
    total: T @ block[1] = block.scan_initial(exclusive, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=True)
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = OP(exclusive[k], items[k])
    return total
