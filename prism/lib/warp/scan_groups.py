"""Parts of a warp scan one value of each lane, each part its own."""

from prism.lang import constexpr, dtype, function, id, int32, prism, requires, shuffle_up, static_assert, template, thread


@prism("device")
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
