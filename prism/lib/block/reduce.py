"""A block combines one value of each thread."""

from prism.lang import (
    all_gather, block, claim, constexpr, count, dtype, function, group, id, int32, partition, prism, ptr, requires, shared,
    shuffle_xor, split, static_assert, template, thread, warp,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce(value: T @ thread[1]) -> T @ block[1]:
    """`OP` of the threads' values, in the order of the threads; all threads get the result.

    Perspective: block, of any number of warps.
    Cost:        a warp's reduction, one barrier, and a read of each warp's result; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_scan.py
    """
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[32] = warp.reduce(value, OP=OP)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    total: T @ block[1] = sums[0]
    for v in range(1, count(warp[1])):
        total = OP(total, sums[v])
    return total


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, MOST=constexpr(int), TENSOR=constexpr(bool))
def reduce_to_first(value: T @ thread[1], identity: T @ block[1]) -> T @ thread[1]:
    """`OP` of the threads' values, in the order of the threads: the first thread has the result.

    It is quicker than `block.reduce`: the first warp alone combines the warps' results, and not one after the other.

    Perspective: block, of any number of warps, up to `MOST` threads.
    Shapes:      `TENSOR`: as of `warp.reduce_to_first`.
    Returns:     what threads other than the first get is of no use. `identity` must be `OP`'s.
    Cost:        two reductions of a warp, and one barrier; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size and the template; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_to_first.py
    """
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[1] = warp.reduce_to_first(value, OP=OP, FEW=MOST <= 256, TENSOR=TENSOR)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = sum
    many: int32 @ block[1] = count(warp[1])
    match split(warp):
        case 1:
            lane: int32 @ thread[1] = id()
            sum = warp.reduce_to_first(sums[lane] if lane < many else identity, OP=OP, FEW=True, TENSOR=TENSOR)
    return sum


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function, APART=constexpr(int), TEAM=constexpr(int), THREADS=constexpr(int))
def reduce_apart(value: T @ thread[1]) -> T @ thread[1]:
    """`OP` of the values of threads whose numbers differ by multiples of `APART`, of each `TEAM` threads that follow one another.

    So `TEAM // APART` threads have a part of each of `APART` results, and the first `APART` of a team get them.

    Perspective: block, of `THREADS` threads, a multiple of `TEAM`.
    Shapes:      `APART` and `TEAM` are powers of two; one below 32 divides it.
    Returns:     what other threads get is of no use.
    Cost:        a shuffle for each halving of a warp's threads; two barriers for each halving of a team's warps, and `THREADS`
                 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the template; `OP` must be commutative.
    Test:        tests/lib/block/test_reduce_apart.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(THREADS % TEAM == 0 and TEAM % APART == 0, "a block is whole teams, and a team some parts of each result")
    t: int32 @ thread[1] = id()
    apart: int32 @ block[1] = TEAM // 2
    if TEAM > 32 and TEAM > APART:
        cells: shared(T[THREADS])
        while apart >= max(32, APART):
            with partition(cells, thread[1], t) as own, group(thread[1]):
                own[0] = value
            value = OP(value, cells[(t + apart) % THREADS])
            apart = apart // 2
    while apart >= APART:
        value = OP(value, shuffle_xor(value, apart))
        apart = apart // 2
    return value


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce_into(y: ptr(T) @ block[1], value: T @ thread[1]):
    """`y[0] = OP` of the threads' values, in the order of the threads: the first thread has the result, and writes it.

    Perspective: block, of any number of warps.
    Cost:        a warp's reduction, and one barrier; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_more.py
    """
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[32] = warp.reduce(value, OP=OP)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    warps: int32 @ block[1] = count(warp[1])
    with claim(y, thread[1]) as target:
        match split(thread):
            case 1:
                total: T = sums[0]
                for v in range(1, warps):
                    total = OP(total, sums[v])
                target[0] = total


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce_valid(value: T @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1]) -> T @ block[1]:
    """`OP` of the first `valid` threads' values, in the order of the threads; `otherwise` where `valid` is 0 or less.

    Perspective: block, of any number of warps.
    Shapes:      the other threads' values are of no account; `valid` may be beyond the block. All threads get the result.
    Cost:        a warp's reduction, one barrier, and a read of each warp's result; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` need not be commutative.
    Test:        tests/lib/block/test_reduce_more.py
    """
    sums: shared(T[32]) @ block[1]
    w: int32 @ thread[32] = id()
    sum: T @ thread[32] = warp.reduce_valid(value, valid - 32 * w, otherwise, OP=OP)
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    total: T @ block[1] = sums[0]  # `otherwise`, where no warp has valid values
    for v in range(1, count(warp[1])):
        if 32 * v < valid:
            total = OP(total, sums[v])
    return total


@prism.device
@template(T=dtype, OP=function, SIZE=constexpr(int))
@requires(block[1], thread["SIZE"])
def reduce_groups(value: T @ thread[1]) -> T @ thread[SIZE]:
    """`OP` of the values of each `SIZE` threads, in the order of the threads; all of a group get its result.

    Perspective: block, as groups of `SIZE` threads, a multiple of 32. Smaller ones: `warp.reduce_groups`.
    Cost:        a warp's reduction, a barrier of each group, and a read of its warps' results; 32 elements of shared memory.
    Errors:      group, where a block can have more than 15 groups: state its size, as `@attr("__launch_bounds__(256)")`.
    Numerics:    reassociates `OP`, in a way fixed by `SIZE`; `OP` need not be commutative.
    Test:        tests/lib/block/test_groups.py
    """
    static_assert(SIZE >= 32 and SIZE % 32 == 0, "`SIZE` is a multiple of 32")
    sums: shared(T[32]) @ block[1]
    total: T @ thread[SIZE]
    g: int32 @ thread[SIZE] = id()
    with partition(sums, thread[SIZE], offset=g * (SIZE // 32)) as part:
        with group(thread[SIZE]):
            sum: T @ thread[32] = warp.reduce(value, OP=OP)
            w: int32 @ thread[32] = id()
            with partition(part, thread[32], offset=w) as own:
                with group(thread[32]):
                    with claim(own, thread[1]) as slot:
                        match split(thread):
                            case 1:
                                slot[0] = sum
            total = part[0]
            for v in range(1, SIZE // 32):
                total = OP(total, part[v])
    return total


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, OP=function)
def reduce_all(value: T @ thread[1], identity: T @ block[1]) -> T @ thread[1]:
    """`OP` of the threads' values, for all threads: quicker than `block.reduce` where there are many warps.

    Perspective: block, of any number of warps.
    Returns:     the same value in each thread. `identity` must be `OP`'s.
    Cost:        two reductions of a warp, of 5 shuffles, and one barrier; 32 elements of shared memory.
    Numerics:    reassociates `OP`, in a way fixed by the block's size; `OP` must be commutative, bit for bit.
    Test:        tests/lib/block/test_reduce_all.py
    """
    sums: shared(T[32]) @ block[1]
    sum: T @ thread[1] = warp.reduce_near(value, 5, OP=OP)
    w: int32 @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = sum
    many: int32 @ block[1] = count(warp[1])
    t: int32 @ thread[1] = id()
    return warp.reduce_near(sums[t % 32] if t % 32 < many else identity, 5, OP=OP)


@prism.device
@template(T=dtype, OP=function, BLOCKS=constexpr(int))
@requires(block["BLOCKS"], thread[32])
def reduce_cluster(value: T @ thread[1], identity: T @ block[BLOCKS]) -> T @ thread[1]:
    """`OP` of the values of all threads of a cluster, for all of them.

    Perspective: cluster of `BLOCKS` blocks, at least two, of any number of warps.
    Returns:     the same value in each thread. `identity` must be `OP`'s.
    Cost:        two reductions of a warp, of 5 shuffles, and between them `block.gather_values`, of one.
    Numerics:    reassociates `OP`, in a way fixed by the cluster's and the block's sizes; `OP` must be commutative, bit for bit.
    Test:        tests/lib/block/test_reduce_all.py
    """
    static_assert(2 <= BLOCKS <= 16, "a cluster of several blocks")
    found: T[BLOCKS] @ thread[1]
    block.gather_warps(warp.reduce_near(value, 5, OP=OP), identity, found, BLOCKS=BLOCKS)
    total: T @ thread[1] = thread.reduce(found, OP=OP)
    return warp.reduce_near(total, 5, OP=OP)


@prism.device
@template(T=dtype, PARTS=constexpr(int), BLOCKS=constexpr(int))
@requires(block["BLOCKS"], thread[32])
def gather_warps(value: T @ thread[1], identity: T @ block[BLOCKS], found: T[PARTS] @ thread[1]):
    """Give every warp the values of all warps, one for each of its lanes, or several.

    Perspective: block, or cluster of `BLOCKS` blocks, of at most `32 * PARTS` warps.
    Shapes:      `value`: the same in all lanes of a warp.
    Returns:     that of warp `32 * k + l` in `found[k]` of lane `l`; `identity` where there are no more.
    Cost:        as of `block.gather_values`, of one.
    Test:        tests/lib/block/test_reduce_all.py
    """
    values: T[1] @ thread[1]
    all: T[1, PARTS] @ thread[1]
    with group(thread[1]):
        values[0] = value
    block.gather_values(values, identity, all, BLOCKS=BLOCKS)
    with group(thread[1]):
        for k in range(PARTS):
            found[k] = all[0, k]


@prism.device
@template(T=dtype, N=constexpr(int), PARTS=constexpr(int), BLOCKS=constexpr(int))
@requires(block["BLOCKS"], thread[32])
def gather_values(values: T[N] @ thread[1], identity: T @ block[BLOCKS], found: T[N, PARTS] @ thread[1]):
    """Give every warp what all warps have, `N` values at once.

    Perspective: block, or cluster of `BLOCKS` blocks, of at most `32 * PARTS` warps.
    Shapes:      `values`: the same in all lanes of a warp.
    Returns:     `values[q]` of warp `32 * k + l` in `found[q, k]` of lane `l`; `identity` where there are no more.
    Cost:        of a cluster an `all_gather`, after which its blocks have not met; `64 * PARTS * N` elements of shared memory. Of
                 a block, and of elements of fewer than 4 bytes, one barrier of all, and half of that memory.
    Test:        tests/lib/block/test_reduce_all.py
    """
    for q in range(N):
        for k in range(PARTS):
            found[q, k] = identity
    if BLOCKS > 1 and T.bytes % 4 == 0:
        all_gather(values, found)
    else:
        w: int32 @ thread[32] = id()
        lane: int32 @ thread[1] = id() % 32
        many: int32 @ block[BLOCKS] = count(warp[1])
        b: int32 @ block[1] = id() if BLOCKS > 1 else 0
        parts: shared(T[BLOCKS, N, 32 * PARTS])
        with partition(parts, thread[1], lambda q: (lane, q, w), races="none") as slot, group(thread[1]):
            if lane < BLOCKS:  # lane `d` into the memory of block `d`
                for q in range(N):
                    slot[q] = values[q]
        with group(thread[1]):
            for q in range(N):
                for k in range(PARTS):
                    if lane + 32 * k < many:
                        found[q, k] = parts[b, q, lane + 32 * k]
