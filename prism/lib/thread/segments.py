"""One thread carries a segment on into the elements in its registers."""

from prism.lang import constexpr, dtype, function, int32, prism, requires, static_assert, template, thread


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, RUNS=constexpr(bool))
def continue_segment(items: T[ITEMS] @ thread[1], before: T @ thread[1], at: int32 @ thread[1], first: int32 @ thread[1]):
    """Put `before` in front of the elements before place `first`, in place, and with `RUNS` of that at `first` too.

    What `block.scan_heads` has left: `first` is where the tile's first head is, and what is before it goes on what came `before`.

    Perspective: thread.
    Shapes:      as `block.load` leaves a tile; `at` is `block.place()`, where this thread's elements begin.
    Cost:        at most `ITEMS` applications of `OP`; no barrier.
    Test:        tests/lib/block/test_segments.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    for j in range(ITEMS // WIDTH):
        for k in range(WIDTH):
            p: int32 = at + j * 32 * WIDTH + k
            if p < first + (1 if RUNS else 0):
                items[j * WIDTH + k] = OP(before, items[j * WIDTH + k])
