"""A warp moves its elements, or one value of each lane, some places on."""

from prism.lang import (
    broadcast, constexpr, dtype, id, int32, prism, requires, shuffle, shuffle_down, shuffle_up, static_assert, template,
    thread,
)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def shift_up(items: T[ITEMS] @ thread[1], before: T @ thread[32]) -> T @ thread[32]:
    """Replace each element by the one before it in the run, in place; the first becomes `before`.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them; blocked where `WIDTH` is `ITEMS`.
    Returns:     the last element, which is gone from `items`.
    Cost:        2 shuffles a row; no barrier.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_shift.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    lane: int32 @ thread[1] = id()
    carry: T @ thread[32] = before
    for j in range(ITEMS // WIDTH):
        last: T @ thread[1] = items[j * WIDTH + WIDTH - 1]
        below: T @ thread[1] = shuffle_up(last, 1)
        for k in range(WIDTH - 1):
            items[j * WIDTH + WIDTH - 1 - k] = items[j * WIDTH + WIDTH - 2 - k]
        items[j * WIDTH] = below if lane > 0 else carry
        carry = broadcast(last, 31)
    return carry


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def shift_down(items: T[ITEMS] @ thread[1], after: T @ thread[32]) -> T @ thread[32]:
    """Replace each element by the one after it in the run, in place; the last becomes `after`.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them; blocked where `WIDTH` is `ITEMS`.
    Returns:     the first element, which is gone from `items`.
    Cost:        2 shuffles a row; no barrier.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_shift.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    lane: int32 @ thread[1] = id()
    carry: T @ thread[32] = after
    for j in range(ITEMS // WIDTH - 1, -1, -1):
        first: T @ thread[1] = items[j * WIDTH]
        above: T @ thread[1] = shuffle_down(first, 1)
        for k in range(WIDTH - 1):
            items[j * WIDTH + k] = items[j * WIDTH + k + 1]
        items[j * WIDTH + WIDTH - 1] = above if lane < 31 else carry
        carry = broadcast(first, 0)
    return carry


@prism.device
@requires(thread[32])
@template(T=dtype)
def rotate(value: T @ thread[1], distance: int32 @ thread[32]) -> T @ thread[1]:
    """The value of the lane `distance` further on, round the warp's end; a negative `distance` is one further back.

    Perspective: warp.
    Cost:        one shuffle; no barrier.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_shift.py
    """
    lane: int32 @ thread[1] = id()
    return shuffle(value, (lane + distance) & 31)
