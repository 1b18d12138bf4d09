"""A warp moves its elements one place back."""

from prism.lang import broadcast, constexpr, dtype, id, int32, prism, requires, shuffle_down, static_assert, template, thread


@prism("device")
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
