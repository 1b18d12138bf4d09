"""One thread combines the elements in its registers."""

from prism.lang import constexpr, dtype, function, int32, prism, requires, template, thread


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), OP=function)
def reduce(items: T[ITEMS] @ thread[1]) -> T @ thread[1]:
    """`OP(... OP(items[0], items[1]) ..., items[ITEMS - 1])`.

    Perspective: thread.
    Cost:        `ITEMS - 1` applications of `OP`; no barrier.
    Numerics:    left to right: `OP` need be neither commutative nor, here, associative.
    Test:        tests/lib/thread/test_reduce_scan.py
    """
    result: T = items[0]
    for k in range(1, ITEMS):
        result = OP(result, items[k])
    return result


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), OP=function)
def reduce_valid(items: T[ITEMS] @ thread[1], valid: int32 @ thread[1], otherwise: T @ thread[1]) -> T @ thread[1]:
    """`OP(... OP(items[0], items[1]) ..., items[valid - 1])`; `otherwise` where `valid` is 0 or less.

    Perspective: thread.
    Shapes:      elements from `valid` on are not read; `valid` may be beyond `ITEMS`.
    Cost:        at most `ITEMS - 1` applications of `OP`; no barrier.
    Numerics:    left to right: `OP` need be neither commutative nor, here, associative.
    Test:        tests/lib/thread/test_valid.py
    """
    result: T = otherwise
    if valid > 0:
        result = items[0]
    for k in range(1, ITEMS):
        if k < valid:
            result = OP(result, items[k])
    return result
