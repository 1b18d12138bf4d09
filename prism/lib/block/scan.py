"""A block scans a tile that its registers hold."""

from prism.lang import (
    block, broadcast, claim, constexpr, count, dtype, function, group, id, int32, partition, prism, requires, shared,
    shuffle_up, split, static_assert, template, thread, warp,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan(items: T[ITEMS] @ thread[1], identity: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP` of all elements of the tile up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of the whole tile. `identity` must be `OP`'s: the first element's exclusive result.
    Cost:        a warp's scan, one barrier, and a read of each warp's result; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_scan.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[32] = warp.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    before: T @ thread[32] = identity
    total: T @ block[1] = identity
    for v in range(count(warp[1])):
        before = total if v == w else before
        total = OP(total, sums[v])
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = OP(before, items[k])
    return total


@prism.device
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


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool))
def scan_valid(items: T[ITEMS] @ thread[1], initial: T @ block[1], valid: int32 @ block[1]) -> T @ block[1]:
    """Replace each of the first `valid` elements by `OP` of `initial` and all up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`. Elements from `valid`
                 on stay as they are; `valid` may be negative.
    Returns:     `OP` of `initial` and the valid elements. `initial` may be any value: `OP` needs no identity.
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
    mine: int32 @ thread[32] = min(valid - w * (32 * ITEMS), 32 * ITEMS)  # how many of the warp's elements are valid
    below: T[ROWS] @ thread[1]  # of each row, the valid elements of the lanes below this one
    ends: T[ROWS] @ thread[1]  # of each row, all valid elements
    with group(thread[32]):
        for j in range(ROWS):
            here: int32 @ thread[1] = mine - (32 * j + lane) * WIDTH  # how many of this lane's row are valid
            row: T[WIDTH] @ thread[1]
            for k in range(WIDTH):
                row[k] = items[j * WIDTH + k]
            sum: T @ thread[1] = thread.reduce_valid(row, here, initial, OP=OP)
            for step in range(5):
                # A lane with valid elements has only such lanes below it.
                other: T @ thread[1] = shuffle_up(sum, 1 << step)
                sum = OP(other, sum) if lane >= 1 << step and here > 0 else sum
            below[j] = shuffle_up(sum, 1)
            lanes: int32 @ thread[32] = min((mine - 32 * j * WIDTH + WIDTH - 1) // WIDTH, 32)  # how many have valid elements
            ends[j] = broadcast(sum, max(lanes - 1, 0))
    whole: T @ thread[1] = thread.reduce_valid(ends, (mine + (32 * WIDTH - 1)) // (32 * WIDTH), initial, OP=OP)
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
        if v * (32 * ITEMS) < valid:
            total = OP(total, sums[v])
    with group(thread[1]):
        for j in range(ROWS):
            left: int32 = mine - (32 * j + lane) * WIDTH
            line: T[WIDTH]
            for k in range(WIDTH):
                line[k] = items[j * WIDTH + k]
            start: T = OP(before, below[j]) if lane > 0 and left > 0 else before
            thread.scan_valid(line, start, left, OP=OP, EXCLUSIVE=EXCLUSIVE)
            if mine > 32 * j * WIDTH:
                before = OP(before, ends[j])
            for k in range(WIDTH):
                items[j * WIDTH + k] = line[k]
    return total


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function)
def scan_both(items: T[ITEMS] @ thread[1], exclusive: T[ITEMS] @ thread[1], initial: T @ block[1]) -> T @ block[1]:
    """Replace each element by `OP` of `initial` and all up to it; put the same without itself into `exclusive`.

    Perspective: block, of any number of warps.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them, both; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of `initial` and the whole tile. `initial` may be any value: `OP` needs no identity.
    Cost:        as `block.scan_initial`, and `ITEMS` applications of `OP`.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_scan_more.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    with group(thread[1]):
        for k in range(ITEMS):
            exclusive[k] = items[k]
    total: T @ block[1] = block.scan_initial(exclusive, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=True)
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = OP(exclusive[k], items[k])
    return total


@prism.device
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), OP=function, EXCLUSIVE=constexpr(bool), SIZE=constexpr(int))
@requires(block[1], thread["SIZE"])
def scan_groups(items: T[ITEMS] @ thread[1], identity: T @ block[1]) -> T @ thread[SIZE]:
    """Replace each element by `OP` of all elements of its group up to it, in place; `EXCLUSIVE` leaves out itself.

    Perspective: block, as groups of `SIZE` threads, a multiple of 32. Smaller ones: `warp.scan_groups`.
    Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
    Returns:     `OP` of the group's elements. `identity` must be `OP`'s: the first element's exclusive result.
    Cost:        a warp's scan, a barrier of each group, and a read of its warps' results; 32 elements of shared memory.
    Errors:      group, where a block can have more than 15 groups: state its size, as `@attr("__launch_bounds__(256)")`.
    Numerics:    reassociates `OP`, in a way fixed by `SIZE`; `OP` need not be commutative.
    Test:        tests/lib/block/test_groups.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(SIZE >= 32 and SIZE % 32 == 0, "`SIZE` is a multiple of 32")
    sums: shared(T[32]) @ block[1]
    total: T @ thread[SIZE] = identity
    g: int32 @ thread[SIZE] = id()
    with partition(sums, thread[SIZE], offset=g * (SIZE // 32)) as part:
        with group(thread[SIZE]):
            sum: T @ thread[32] = warp.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
            w: int32 @ thread[32] = id()
            with partition(part, thread[32], offset=w) as own:
                with group(thread[32]):
                    with claim(own, thread[1]) as slot:
                        match split(thread):
                            case 1:
                                slot[0] = sum
            before: T @ thread[32] = identity
            for v in range(SIZE // 32):
                before = total if v == w else before
                total = OP(total, part[v])
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = OP(before, items[k])
    return total
