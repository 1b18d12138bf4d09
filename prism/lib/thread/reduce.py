"""One thread combines the elements in its registers."""

from prism.lang import constexpr, dtype, function, prism, requires, template, thread


@prism("device")
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
