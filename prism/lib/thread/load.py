"""One thread loads elements into its registers."""

from prism.lang import (
    const, constexpr, dtype, int32, int64, load_vector, prism, ptr, requires, static_assert, template, thread,
    vector,
)


@prism.device
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


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), VECTORIZED=constexpr(bool))
def load_once(x: ptr(const(T)) @ thread[1], at: int64 @ thread[1], items: T[ITEMS] @ thread[1]):
    """Put `x[at]` and the elements behind it into `items`, all of them; `VECTORIZED`: in one access, past the L1.

    Perspective: thread.
    Cost:        one access where `VECTORIZED`, else one an element; no barrier. Past the L1 is for
                 what nobody reads again.
    Errors:      with `VECTORIZED`, `x[at]` must be aligned to `ITEMS` elements, at most 16 bytes in all.
    Test:        tests/lib/thread/test_load_store.py
    """
    static_assert(not VECTORIZED or ITEMS * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or ITEMS & -ITEMS == ITEMS, "a vector has 2^k elements")
    if VECTORIZED:
        word: vector(T, ITEMS) = load_vector(x[at], ITEMS, cache="no_allocate")
        for k in range(ITEMS):
            items[k] = word[k]
    else:
        for k in range(ITEMS):
            items[k] = x[at + k]


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, ITEMS=constexpr(int), STEP=constexpr(int))
def load_strided(
    x: ptr(const(TI)) @ thread[1], items: T[ITEMS] @ thread[1], first: int64 @ thread[1], end: int64 @ thread[1],
    otherwise: T @ thread[1],
):
    """Put `x[first]`, `x[first + STEP]` and so on into `items`, as `T`; elements from `x[end]` on are not read: `otherwise`.

    Perspective: thread.
    Cost:        `ITEMS` accesses; no barrier.
    Test:        tests/lib/thread/test_load_store.py
    """
    for k in range(ITEMS):
        items[k] = T(x[first + k * STEP]) if first + k * STEP < end else otherwise


@prism.device
@requires(thread[1])
@template(TILE=constexpr(int))
def extent(tile: int32 @ thread[1], n: int64 @ thread[1]) -> int32 @ thread[1]:
    """How many elements there are in tile `tile` of an array of `n`: fewer than `TILE` in the last one, none beyond it.

    Perspective: thread; of a block's numbers it is the same for all of the block.
    Cost:        some arithmetic.
    Test:        tests/lib/thread/test_load_store.py
    """
    return int32(min(max(n - int64(tile) * TILE, 0), TILE))
