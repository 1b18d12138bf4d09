"""A warp loads a run of elements."""

from prism.lang import (
    const, constexpr, dtype, group, id, int32, partition, prism, ptr, requires, static_assert, template, thread, warp,
)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool))
def load(
    x: ptr(const(T)) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32], otherwise: T @ thread[32]
):
    """Spread `x[0] ... x[32 * ITEMS - 1]` over the warp's registers; elements from `valid` on become `otherwise`.

    Perspective: warp.
    Shapes:      striped vectors: in row `j`, lane `l` holds the `WIDTH` elements from `x[(32 * j + l) * WIDTH]` on,
                 in `items[j * WIDTH] ...`; `ITEMS` is a multiple of `WIDTH`. `valid` may be negative.
    Cost:        `ITEMS / WIDTH` accesses a lane where `VECTORIZED` and all are valid, else `ITEMS`; no barrier.
    Errors:      with `VECTORIZED`, `x` must be aligned to `WIDTH` elements, at most 16 bytes in all.
    Test:        tests/lib/warp/test_load_store.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(not VECTORIZED or WIDTH * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(not VECTORIZED or WIDTH & -WIDTH == WIDTH, "a vector has 2^k elements")
    first: int32 @ thread[1] = id() * WIDTH
    with partition(x, thread[1], offset=first) as mine:
        with group(thread[1]):
            for j in range(ITEMS // WIDTH):
                row: T[WIDTH]
                with partition(mine, thread[1], offset=j * 32 * WIDTH) as source:
                    thread.load(source, row, valid - first - j * 32 * WIDTH, otherwise, VECTORIZED=VECTORIZED)
                for k in range(WIDTH):
                    items[j * WIDTH + k] = row[k]


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def load_transposed(
    x: ptr(const(T)) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32], otherwise: T @ thread[32]
):
    """Put `x[lane * ITEMS + k]` into `items[k]`; elements from `valid` on become `otherwise`.

    Perspective: warp.
    Shapes:      blocked; `x` need not be aligned. `valid` may be negative.
    Cost:        `ITEMS` coalesced accesses a lane, and `warp.striped_to_blocked`.
    Test:        tests/lib/warp/test_exchange.py
    """
    warp.load(x, items, valid, otherwise, WIDTH=1, VECTORIZED=False)
    warp.striped_to_blocked(items)
