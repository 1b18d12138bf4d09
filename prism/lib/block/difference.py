"""A block combines each element with the one before it."""

from prism.lang import block, constexpr, dtype, function, group, prism, requires, static_assert, template, thread


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function)
def difference(items: T[ITEMS] @ thread[1], before: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP(element, the one before it)`, in place; `before` stands before the first.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`. `OP` as `operators.subtract`.
    Returns:     the last element as it was: `before` for the tile after this one.
    Cost:        as `block.shift_up`, with one barrier.
    Test:        tests/lib/block/test_difference.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    others: T[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            others[k] = items[k]
    end: T @ block[1] = block.shift_up(others, before, WIDTH=WIDTH)
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = OP(items[k], others[k])
    return end
