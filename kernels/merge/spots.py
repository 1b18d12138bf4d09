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
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_lines(
    a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], past_a: int32 @ block[1], b: ptr(const(T)) @ block[1],
    size_b: int32 @ block[1], past_b: int32 @ block[1], items: T[ITEMS] @ thread[1],
):
    """Load two runs, each by warps that read whole lines of memory: for `put_lines`, which takes the same.

    Perspective: block, of `THREADS` threads, at least 96.
    Shapes:      `past_a`, `past_b`: how many elements stand between the beginning of a line and the run's, less than 32. Both
                 runs have at most `THREADS * (ITEMS - 1)` elements together.
    Cost:        a read of each element: all are under way at once. A warp that begins anywhere would ask for five sectors of
                 memory for four, of two lines.
    Test:        tests/kernels/test_merge_ahead.py
    """
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        here: int32 = t - past_a
        there: int32 = t - ((past_a + size_a + 31) // 32 * 32 + past_b)
        for k in range(ITEMS):
            if (k > 0 or here >= 0) and k * THREADS < size_a - here:
                items[k] = a[here + k * THREADS]
            if k * THREADS >= -there and k * THREADS < size_b - there:
                items[k] = b[there + k * THREADS]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def put_lines(
    tile: ptr(T) @ block[1], size_a: int32 @ block[1], past_a: int32 @ block[1], size_b: int32 @ block[1],
    past_b: int32 @ block[1], items: T[ITEMS] @ thread[1],
):
    """Put what `load_lines` has loaded into `tile`, one run behind the other."""
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], offset=lambda i: i, races="none") as own, group(thread[1]):
        here: int32 = t - past_a
        there: int32 = t - ((past_a + size_a + 31) // 32 * 32 + past_b)
        for k in range(ITEMS):
            if (k > 0 or here >= 0) and k * THREADS < size_a - here:
                own[here + k * THREADS] = items[k]
            if k * THREADS >= -there and k * THREADS < size_b - there:
                own[size_a + there + k * THREADS] = items[k]


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


__all__ = ["load_lines", "put_lines", "put_row", "put_striped", "store_first"]
