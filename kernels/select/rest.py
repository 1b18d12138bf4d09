"""What is done to a selection after it: the rest of an array of fixed size, and positions of several axes."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int64, partition, prism, ptr, requires, template, thread,
)


@prism.kernel
@template(T=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def fill_rest(
    y: ptr(T) @ grid[1], kept: ptr(const(int64)) @ grid[1], n: int64 @ grid[1], each: int64 @ grid[1], value: T @ grid[1],
):
    """Put `value` into `y[kept[0] * each] ... y[n - 1]`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Test:        tests/kernels/test_select.py
    """
    threads: int64 @ grid[1] = int64(count(block[1])) * THREADS
    me: int64 @ thread[1] = id()
    with partition(y, thread[1], offset=me) as mine, group(thread[1]):
        rows: int64 = (kept[0] * each + threads - 1 - me) // threads  # of this thread's, which are `threads` apart, that are kept
        for i in range(max(rows, 0) * threads, n - me, threads):
            mine[i] = value


@prism.kernel
@template(I=dtype, COUNTED=constexpr(bool), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def take_axis(
    positions: ptr(const(int64)) @ grid[1], kept: ptr(const(int64)) @ grid[1], y: ptr(int64) @ grid[1], room: int64 @ grid[1],
    inner: int64 @ grid[1], extent: int64 @ grid[1], step: int64 @ grid[1],
):
    """`y[i * step]` becomes the index along an axis of `positions[i]`, for i below `room` and, where `COUNTED`, `kept[0]`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `positions`: positions in C order. The axis has `extent` indices, `inner` positions apart. `I`: the type that all
                 of that fits, in which it is computed.
    Test:        tests/kernels/test_select.py
    """
    threads: int64 @ grid[1] = int64(count(block[1])) * THREADS
    me: int64 @ thread[1] = id()
    many: int64 @ thread[1] = room
    if COUNTED:
        many = min(kept[0], room)
    with partition(y, thread[1], offset=me * step) as mine, group(thread[1]):
        for i in range(me, many, threads):
            mine[(i - me) * step] = int64(I(positions[i]) // I(inner) % I(extent))


EXAMPLES = {
    "fill_rest": {"T": "float32", "THREADS": 256},
    "take_axis": {"I": "uint32", "COUNTED": True, "THREADS": 256},
}
