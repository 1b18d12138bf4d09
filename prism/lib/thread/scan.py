"""One thread scans the elements in its registers."""

from prism.lang import constexpr, dtype, function, int32, prism, requires, template, thread


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan(items: T[ITEMS] @ thread[1], before: T @ thread[1]) -> T @ thread[1]:
    """Replace `items[k]` by `OP(before, items[0], ..., items[k])`, in place; `EXCLUSIVE` leaves out `items[k]` itself.

    Perspective: thread.
    Returns:     `OP(before, items[0], ..., items[ITEMS - 1])`.
    Cost:        `ITEMS` applications of `OP`; no barrier.
    Numerics:    left to right: `OP` need be neither commutative nor, here, associative.
    Test:        tests/lib/thread/test_reduce_scan.py
    """
    running: T = before
    for k in range(ITEMS):
        here: T = OP(running, items[k])
        if EXCLUSIVE:
            items[k] = running
        else:
            items[k] = here
        running = here
    return running


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_valid(items: T[ITEMS] @ thread[1], before: T @ thread[1], valid: int32 @ thread[1]) -> T @ thread[1]:
    """Replace `items[k]`, k < `valid`, by `OP(before, items[0], ..., items[k])`; `EXCLUSIVE` leaves out `items[k]` itself.

    Perspective: thread.
    Shapes:      elements from `valid` on are neither read nor written; `valid` may be negative or beyond `ITEMS`.
    Returns:     `OP(before, items[0], ..., items[valid - 1])`.
    Cost:        at most `ITEMS` applications of `OP`; no barrier.
    Numerics:    left to right: `OP` need be neither commutative nor, here, associative.
    Test:        tests/lib/thread/test_valid.py
    """
    running: T = before
    for k in range(ITEMS):
        if k < valid:
            here: T = OP(running, items[k])
            if EXCLUSIVE:
                items[k] = running
            else:
                items[k] = here
            running = here
    return running
