"""Elements between registers, spots of a tile in shared memory, and the result."""

from prism.lang import block, const, constexpr, dtype, group, id, int32, partition, prism, ptr, requires, template, thread


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def put_striped(tile: ptr(T) @ block[1], items: T[ITEMS] @ thread[1]):
    """Put all elements into `tile`, those of `items[k]` side by side."""
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], offset=t) as own, group(thread[1]):
        for k in range(ITEMS):
            own[k * THREADS] = items[k]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int))
def put_row(tile: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], start: int32 @ thread[1], end: int32 @ thread[1]):
    """Put each thread's elements into `tile` from `start` on, up to `end`; no two threads have a place in common."""
    with partition(tile, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
        if start + ITEMS <= end:
            for k in range(ITEMS):
                own[start + k] = items[k]
        else:
            for k in range(ITEMS):
                if start + k < end:
                    own[start + k] = items[k]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def store_first(y: ptr(T) @ block[1], tile: ptr(const(T)) @ block[1], many: int32 @ block[1]):
    """Store the first `many` elements of a tile, side by side."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as own, group(thread[1]):
        for k in range(ITEMS):
            if many == THREADS * ITEMS or k * THREADS < many - t:
                own[k * THREADS] = tile[k * THREADS + t]


__all__ = ["put_row", "put_striped", "store_first"]
