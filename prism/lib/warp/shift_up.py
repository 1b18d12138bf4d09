"""A warp moves its elements one place on."""

from prism.lang import broadcast, constexpr, dtype, id, int32, prism, requires, shuffle_up, static_assert, template, thread


@prism("device")
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
