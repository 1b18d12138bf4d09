"""A block combines each element with the one after it."""

from prism.lang import block, constexpr, dtype, function, group, prism, requires, static_assert, template, thread


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function)
def difference_right(items: T[ITEMS] @ thread[1], after: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP(element, the one after it)`, in place; `after` stands after the last.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`. `OP` as `operators.subtract`.
    Returns:     the first element as it was: `after` for the tile before this one.
    Cost:        as `block.shift_down`, with one barrier.
    Test:        tests/lib/block/test_difference.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    others: T[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            others[k] = items[k]
    end: T @ block[1] = block.shift_down(others, after, WIDTH=WIDTH)
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = OP(items[k], others[k])
    return end
