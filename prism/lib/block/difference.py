"""A block compares each element with its neighbour: differences, and where runs of equal elements begin and end."""

from prism.lang import (
    block, bool_, constexpr, count, dtype, function, group, id, int32, prism, requires, static_assert, template, thread,
)


@prism.device
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


@prism.device
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


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), DIFFERENT=function)
def heads(
    items: T[ITEMS] @ thread[1], flags: bool_[ITEMS] @ thread[1], before: T @ block[1], first: bool @ block[1]
) -> T @ block[1]:
    """Say in `flags` which elements are `DIFFERENT` from the one before them; that of the tile's first, from `before`.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. With `first` the tile's first element
                 begins a run whatever `before` is.
    Returns:     the tile's last element: `before` for the tile after this one.
    Cost:        as `block.shift_up`, with one barrier.
    Test:        tests/lib/block/test_difference.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    t: int32 @ thread[1] = id()
    others: T[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            others[k] = items[k]
    end: T @ block[1] = block.shift_up(others, before, WIDTH=WIDTH)
    with group(thread[1]):
        for k in range(ITEMS):
            flags[k] = DIFFERENT(others[k], items[k])
        if first and t == 0:
            flags[0] = True
    return end


@prism.device
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
