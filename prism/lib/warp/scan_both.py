"""A warp scans a run of elements that its registers hold, with and without each element itself."""

from prism.lang import (
    broadcast, constexpr, dtype, function, id, int32, prism, requires, shuffle_up, static_assert, template, thread,
)


@prism("device")
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function)
def scan_both(items: T[ITEMS] @ thread[1], exclusive: T[ITEMS] @ thread[1], initial: T @ thread[32]) -> T @ thread[32]:
    """Replace each element by `OP` of `initial` and all up to it; put the same without itself into `exclusive`.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them, both.
    Returns:     `OP` of `initial` and the whole run. `initial` may be any value.
    Cost:        7 shuffles and `2 * WIDTH + 5` applications of `OP` a row; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      Hillis and Steele, "Data parallel algorithms"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_valid.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    lane: int32 @ thread[1] = id()
    before: T @ thread[32] = initial
    for j in range(ITEMS // WIDTH):
        row: T[WIDTH] @ thread[1]
        for k in range(WIDTH):
            row[k] = items[j * WIDTH + k]
        sum: T @ thread[1] = thread.reduce(row, OP=OP)
        for step in range(5):
            below: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(below, sum) if lane >= 1 << step else sum
        last: T @ thread[1] = shuffle_up(sum, 1)
        running: T @ thread[1] = OP(before, last) if lane > 0 else before
        for k in range(WIDTH):
            exclusive[j * WIDTH + k] = running
            running = OP(running, row[k])
            items[j * WIDTH + k] = running
        before = OP(before, broadcast(sum, 31))
    return before
