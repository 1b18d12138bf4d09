"""A block scans a tile that its registers hold, from an initial value on."""

from prism.lang import (
    block, broadcast, claim, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared,
    shuffle_up, split, static_assert, template, thread, warp,
)


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_initial(items: T[ITEMS] @ thread[1], initial: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP` of `initial` and all elements up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of `initial` and the whole tile. `initial` may be any value: `OP` needs no identity.
    Cost:        7 shuffles and `2 * WIDTH + 5` applications of `OP` a row, one barrier, and a read of each warp's result; 32
                 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Source:      Hillis and Steele, "Data parallel algorithms"; PTX ISA, `shfl.sync`.
    Test:        tests/lib/block/test_scan_more.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    ROWS: constexpr(int) = ITEMS // WIDTH
    sums: shared(T[32]) @ block[1]
    w: int32 @ thread[32] = id()
    t: int32 @ thread[1] = id()
    lane: int32 @ thread[1] = t % 32
    below: T[ROWS] @ thread[1]  # of each row, the elements of the lanes below this one
    ends: T[ROWS] @ thread[1]  # of each row, all elements
    for j in range(ROWS):
        row: T[WIDTH] @ thread[1]
        for k in range(WIDTH):
            row[k] = items[j * WIDTH + k]
        sum: T @ thread[1] = thread.reduce(row, OP=OP)
        for step in range(5):
            other: T @ thread[1] = shuffle_up(sum, 1 << step)
            sum = OP(other, sum) if lane >= 1 << step else sum
        below[j] = shuffle_up(sum, 1)
        ends[j] = broadcast(sum, 31)
    whole: T @ thread[1] = thread.reduce(ends, OP=OP)
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = whole
    before: T @ thread[1] = initial
    total: T @ block[1] = initial
    for v in range(count(warp[1])):
        before = total if v == w else before
        total = OP(total, sums[v])
    with group(thread[1]):
        for j in range(ROWS):
            line: T[WIDTH]
            for k in range(WIDTH):
                line[k] = items[j * WIDTH + k]
            thread.scan(line, OP(before, below[j]) if lane > 0 else before, OP=OP, EXCLUSIVE=EXCLUSIVE)
            before = OP(before, ends[j])
            for k in range(WIDTH):
                items[j * WIDTH + k] = line[k]
    return total
