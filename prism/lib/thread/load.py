"""One thread loads elements into its registers."""

from prism.lang import (
    const, constexpr, dtype, int32, load_vector, prism, ptr, requires, static_assert, template, thread, vector,
)


@prism("device")
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), VECTORIZED=constexpr(bool))
def load(
    x: ptr(const(T)) @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ thread[1], otherwise: T @ thread[1]
):
    """Put `x[0] ... x[ITEMS - 1]` into `items`; elements from `valid` on are not read, and become `otherwise`.

    Perspective: thread.
    Shapes:      `x`: at least `min(valid, ITEMS)` elements; `valid` may be negative or beyond `ITEMS`.
    Cost:        one access where `VECTORIZED` and all are valid, else one an element; no barrier.
    Errors:      with `VECTORIZED`, `x` must be aligned to `ITEMS` elements, at most 16 bytes in all.
    Test:        tests/lib/thread/test_load_store.py
    """
    static_assert(not VECTORIZED or ITEMS * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or ITEMS & -ITEMS == ITEMS, "a vector has 2^k elements")
    if VECTORIZED:
        if valid >= ITEMS:
            word: vector(T, ITEMS) = load_vector(x[0], ITEMS)
            for k in range(ITEMS):
                items[k] = word[k]
        else:
            for k in range(ITEMS):
                items[k] = x[k] if k < valid else otherwise
    else:
        for k in range(ITEMS):
            items[k] = x[k] if k < valid else otherwise
