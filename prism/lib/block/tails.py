"""A block finds where runs of equal elements end."""

from prism.lang import (
    block, bool_, constexpr, count, dtype, function, group, id, int32, prism, requires, static_assert, template, thread,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), DIFFERENT=function)
def tails(
    items: T[ITEMS] @ thread[1], flags: bool_[ITEMS] @ thread[1], after: T @ block[1], last: bool @ block[1]
) -> T @ block[1]:
    """Say in `flags` which elements are `DIFFERENT` from the one after them; that of the tile's last, from `after`.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. With `last` the tile's last element
                 ends a run whatever `after` is.
    Returns:     the tile's first element: `after` for the tile before this one.
    Cost:        as `block.shift_down`, with one barrier.
    Test:        tests/lib/block/test_difference.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    t: int32 @ thread[1] = id()
    others: T[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            others[k] = items[k]
    end: T @ block[1] = block.shift_down(others, after, WIDTH=WIDTH)
    threads: int32 @ block[1] = count(thread[1])
    with group(thread[1]):
        for k in range(ITEMS):
            flags[k] = DIFFERENT(items[k], others[k])
        if last and t == threads - 1:
            flags[ITEMS - 1] = True
    return end
