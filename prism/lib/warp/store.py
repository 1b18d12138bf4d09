"""A warp stores a run of elements."""

from prism.lang import (
    constexpr, dtype, group, id, int32, partition, prism, ptr, requires, static_assert, template, thread, warp,
)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def store(y: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32]):
    """Collect `y[0] ... y[32 * ITEMS - 1]` from the warp's registers; elements from `valid` on are not written.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them: in row `j`, lane `l` holds the `WIDTH` elements from
                 `y[(32 * j + l) * WIDTH]` on. `valid` may be negative.
    Cost:        `ITEMS / WIDTH` accesses a lane where `VECTORIZED` and all are valid, else `ITEMS`; no barrier.
    Errors:      with `VECTORIZED`, `y` must be aligned to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/lib/warp/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(not VECTORIZED or WIDTH * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or WIDTH & -WIDTH == WIDTH, "a vector has 2^k elements")
    first: int32 @ thread[1] = id() * WIDTH
    with partition(y, thread[1], offset=first) as mine:
        with group(thread[1]):
            for j in range(ITEMS // WIDTH):
                row: T[WIDTH]
                for k in range(WIDTH):
                    row[k] = items[j * WIDTH + k]
                with partition(mine, thread[1], offset=j * 32 * WIDTH) as target:
                    thread.store(target, row, valid - first - j * 32 * WIDTH, VECTORIZED=VECTORIZED)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def store_transposed(y: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32]):
    """Put `items[k]` into `y[lane * ITEMS + k]`; elements from `valid` on are not written. `items` is permuted.

    Perspective: warp.
    Shapes:      blocked; `y` need not be aligned. `valid` may be negative.
    Cost:        `warp.blocked_to_striped`, and `ITEMS` coalesced accesses a lane.
    Test:        tests/lib/warp/test_exchange.py
    """
    warp.blocked_to_striped(items)
    warp.store(y, items, valid, WIDTH=1, VECTORIZED=False)
