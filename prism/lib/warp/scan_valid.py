"""A warp scans the first elements of a run that its registers hold."""

from prism.lang import (
    broadcast, constexpr, dtype, function, id, int32, prism, requires, shuffle_up, static_assert, template, thread,
)


@prism("device")
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_valid(items: T[ITEMS] @ thread[1], initial: T @ thread[32], valid: int32 @ thread[32]) -> T @ thread[32]:
    """Replace each of the first `valid` elements by `OP` of `initial` and all up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them; elements from `valid` on stay. `valid` may be negative.
    Returns:     `OP` of `initial` and the valid elements. `initial` may be any value.
    Cost:        7 shuffles and `2 * WIDTH + 5` applications of `OP` a row; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      Hillis and Steele, "Data parallel algorithms"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_valid.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    lane: int32 @ thread[1] = id()
    before: T @ thread[32] = initial
    there: int32 @ thread[32] = min(valid, 32 * ITEMS)
    for j in range(ITEMS // WIDTH):
        here: int32 @ thread[1] = there - (32 * j + lane) * WIDTH  # how many of this lane's row are valid
        row: T[WIDTH] @ thread[1]
        for k in range(WIDTH):
            row[k] = items[j * WIDTH + k]
        sum: T @ thread[1] = thread.reduce_valid(row, here, initial, OP=OP)
        for step in range(5):
            # A lane with valid elements has only such lanes below it.
            below: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(below, sum) if lane >= 1 << step and here > 0 else sum
        last: T @ thread[1] = shuffle_up(sum, 1)
        thread.scan_valid(row, OP(before, last) if lane > 0 and here > 0 else before, here, OP=OP, EXCLUSIVE=EXCLUSIVE)
        lanes: int32 @ thread[32] = min((there - 32 * j * WIDTH + WIDTH - 1) / WIDTH, 32)  # how many have valid elements
        if lanes > 0:
            before = OP(before, broadcast(sum, lanes - 1))
        for k in range(WIDTH):
            items[j * WIDTH + k] = row[k]
    return before
