"""A warp scans a run of elements that its registers hold in rows of vectors."""

from prism.lang import (
    broadcast, constexpr, dtype, function, id, int32, prism, requires, shuffle_up, static_assert, template, thread,
)


@prism("device")
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan(items: T[ITEMS] @ thread[1], identity: T @ thread[32]) -> T @ thread[32]:
    """Replace each element by `OP` of all elements of the run up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: warp.
    Shapes:      striped vectors, as `warp.load` leaves them: row after row, lane after lane, `WIDTH` adjacent elements
                 a lane; `ITEMS` is a multiple of `WIDTH`. `items: T[1]` with `WIDTH=1` scans one value a lane.
    Returns:     `OP` of the whole run. `identity` must be `OP`'s: the first element's exclusive result.
    Cost:        7 shuffles and `2 * WIDTH + 5` applications of `OP` a row; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      Hillis and Steele, "Data parallel algorithms"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_reduce_scan.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    lane: int32 @ thread[1] = id()
    before: T @ thread[32] = identity
    for j in range(ITEMS // WIDTH):
        row: T[WIDTH] @ thread[1]
        for k in range(WIDTH):
            row[k] = items[j * WIDTH + k]
        sum: T @ thread[1] = thread.reduce(row, OP=OP)
        for step in range(5):
            below: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(below, sum) if lane >= 1 << step else sum
        last: T @ thread[1] = shuffle_up(sum, 1)
        thread.scan(row, OP(before, last) if lane > 0 else before, OP=OP, EXCLUSIVE=EXCLUSIVE)
        before = OP(before, broadcast(sum, 31))
        for k in range(WIDTH):
            items[j * WIDTH + k] = row[k]
    return before
