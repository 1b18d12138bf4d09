"""A warp scans a run of elements that its registers hold, or parts of it one value of each lane."""

from prism.lang import (
    broadcast, constexpr, dtype, function, id, int32, prism, requires, shuffle_up, static_assert, template, thread,
)


@prism.device
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


@prism.device
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
        lanes: int32 @ thread[32] = min((there - 32 * j * WIDTH + WIDTH - 1) // WIDTH, 32)  # how many have valid elements
        if lanes > 0:
            before = OP(before, broadcast(sum, lanes - 1))
        for k in range(WIDTH):
            items[j * WIDTH + k] = row[k]
    return before


@prism.device
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


@prism.device
@requires(thread[32])
@template(T=dtype, OP=function, SIZE=constexpr(int), EXCLUSIVE=constexpr(bool))
def scan_groups(value: T @ thread[1], before: T @ thread[1]) -> T @ thread[1]:
    """`OP` of `before` and the values of the lanes of this group of `SIZE` up to this one; `EXCLUSIVE` leaves out its own.

    Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32.
    Shapes:      `before` is a group's initial value: its lanes pass the same.
    Cost:        `log2(SIZE) + 1` shuffles; no barrier, no shared memory.
    Numerics:    reassociates `OP`, always in the same way; `OP` need not be commutative.
    Source:      Hillis and Steele, "Data parallel algorithms"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_groups.py
    """
    static_assert(1 <= SIZE <= 32 and SIZE & -SIZE == SIZE, "`SIZE` is a power of two of at most 32")
    lane: int32 @ thread[1] = id()
    place: int32 @ thread[1] = lane % SIZE
    sum: T @ thread[1] = value
    for step in range(5):
        if 1 << step < SIZE:
            below: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(below, sum) if place >= 1 << step else sum
    if EXCLUSIVE:
        last: T @ thread[1] = shuffle_up(sum, 1)
        sum = OP(before, last) if place > 0 else before
    else:
        sum = OP(before, sum)
    return sum
