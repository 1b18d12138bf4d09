"""One thread stores elements from its registers."""

from prism.lang import (
    constexpr, dtype, int32, prism, ptr, requires, static_assert, store_vector, template, thread, vector,
)


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), VECTORIZED=constexpr(bool))
def store(y: ptr(T) @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ thread[1]):
    """Put `items` into `y[0] ... y[ITEMS - 1]`; elements from `valid` on are not written.

    Perspective: thread.
    Shapes:      `y`: at least `min(valid, ITEMS)` elements; `valid` may be negative or beyond `ITEMS`.
    Cost:        one access where `VECTORIZED` and all are valid, else one an element; no barrier.
    Errors:      with `VECTORIZED`, `y` must be aligned to `ITEMS` elements, at most 16 bytes in all.
    Test:        tests/lib/thread/test_load_store.py
    """
    static_assert(not VECTORIZED or ITEMS * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or ITEMS & -ITEMS == ITEMS, "a vector has 2^k elements")
    if VECTORIZED:
        if valid >= ITEMS:
            word: vector(T, ITEMS)
            for k in range(ITEMS):
                word[k] = items[k]
            store_vector(y[0], word)
        else:
            for k in range(ITEMS):
                if k < valid:
                    y[k] = items[k]
    else:
        for k in range(ITEMS):
            if k < valid:
                y[k] = items[k]
