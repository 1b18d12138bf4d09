"""A block keeps some of a tile's elements, close together and in their order."""

from prism.lang import (
    block, broadcast as from_lane, claim, constexpr, count, dtype, function, group, id, int32, load_vector, partition,
    popcount, prism, ptr, requires, shared, shuffle_up, split, static_assert, store_vector, template, thread, uint32, vector,
    warp, warp_sum,
)


@prism.device
@requires(block[1], thread[32])
@template(F=dtype, THREADS=constexpr(int))
def count_flags(flags: F @ thread[1], before: int32[1] @ thread[32]) -> int32 @ block[1]:
    """How many bits of all threads' `flags` are set; of those in the warps before, `before[0]` becomes the number.

    Perspective: block, of `THREADS` threads.
    Shapes:      `F`: uint32, or of more than 32 elements a thread uint64.
    Cost:        a sum of each warp; one barrier; 32 words of shared memory.
    Test:        tests/lib/block/test_compact.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    w: int32 @ thread[32] = id()
    kept: int32 @ thread[32] = warp_sum(int32(popcount(flags)))
    numbers: shared(int32[32]) @ block[1]
    with partition(numbers, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = kept
    total: int32 @ block[1] = 0
    for v in range(count(warp[1])):
        before[0] = total if v == w else before[0]
        total = total + numbers[v]
    return total


@prism.device
@requires(thread[32])
@template(F=dtype, ROWS=constexpr(int), WIDTH=constexpr(int))
def rank_rows(flags: F @ thread[1], before: int32 @ thread[32], ranks: int32[ROWS] @ thread[1]):
    """Of each row of `WIDTH` elements that a thread has: how many are kept before it, `before` of them in warps before.

    Cost: 6 shuffles for four rows of up to 4 elements, or for two.
    """
    FIELD: constexpr(int) = 8 if WIDTH <= 4 else 16  # bits for how many of a row a warp keeps: at most 32 * WIDTH
    EACH: constexpr(int) = 32 // FIELD  # rows that are added up at once
    lane: int32 @ thread[1] = id() % 32
    kept: int32 @ thread[32] = before
    for first in range(0, ROWS, EACH):
        mine: uint32 @ thread[1] = 0
        for j in range(first, min(first + EACH, ROWS)):
            row: uint32 @ thread[1] = uint32(flags >> (j * WIDTH)) & (0xFFFFFFFF >> (32 - WIDTH))
            mine = mine | uint32(popcount(row)) << ((j - first) * FIELD)
        sums: uint32 @ thread[1] = mine
        for step in range(5):
            below: uint32 @ thread[1] = shuffle_up(sums, 1 << step)
            sums = sums + below if lane >= 1 << step else sums
        ends: uint32 @ thread[32] = from_lane(sums, 31)
        for j in range(first, min(first + EACH, ROWS)):
            ranks[j] = kept + int32((sums - mine) >> ((j - first) * FIELD) & ((1 << FIELD) - 1))
            kept = kept + int32(ends >> ((j - first) * FIELD) & ((1 << FIELD) - 1))


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), ROWS=constexpr(int), WIDTH=constexpr(int))
def scatter_kept(
    tile: ptr(T) @ thread[1], items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], ranks: int32[ROWS] @ thread[1],
):
    """Put the elements whose bit is set into `tile`, each row's from its rank on."""
    for j in range(ROWS):
        rank: int32 = ranks[j]
        for k in range(WIDTH):
            if flags >> (j * WIDTH + k) & 1 != 0:
                tile[rank] = items[j * WIDTH + k]
                rank = rank + 1


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def compact(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1]) -> int32 @ block[1]:
    """Put the elements whose bit of `flags` is set close together, in their order, number `k * THREADS + t` in thread `t`.

    Perspective: block, of `THREADS` threads.
    Shapes:      as `block.load` leaves a tile; bit `i` of `flags` says whether `items[i]` is kept. After it striped, as
                 `block.store_striped` takes it; places behind those that are kept have what they had.
    Returns:     how many are kept; `items` changes in place.
    Cost:        6 shuffles for four rows of up to 4 elements, or for two, and 6; two barriers; `THREADS * ITEMS` elements and
                 32 words of shared memory.
    Test:        tests/lib/block/test_compact.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    t: int32 @ thread[1] = id()
    before: int32[1] @ thread[32]
    ranks: int32[ITEMS // WIDTH] @ thread[1]
    before[0] = 0
    total: int32 @ block[1] = count_flags(flags, before, THREADS=THREADS)
    with group(thread[32]):
        rank_rows(flags, before[0], ranks, WIDTH=WIDTH)
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        scatter_kept(spot, items, flags, ranks, WIDTH=WIDTH)
    with group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS + t < total:
                items[k] = tile[k * THREADS + t]
    return total


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def separate(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1]) -> int32 @ block[1]:
    """Put the elements whose bit of `flags` is set before the others, both in their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `block.compact`: number `k * THREADS + t` comes to thread `t`.
    Returns:     how many bits are set; `items` changes in place.
    Cost:        as of `block.compact`.
    Test:        tests/lib/block/test_compact.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    t: int32 @ thread[1] = id()
    place: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    before: int32[1] @ thread[32]
    ranks: int32[ITEMS // WIDTH] @ thread[1]
    before[0] = 0
    total: int32 @ block[1] = count_flags(flags, before, THREADS=THREADS)
    with group(thread[32]):
        rank_rows(flags, before[0], ranks, WIDTH=WIDTH)
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        for j in range(ITEMS // WIDTH):
            rank: int32 = ranks[j]
            for k in range(WIDTH):
                if flags >> (j * WIDTH + k) & 1 != 0:
                    spot[rank] = items[j * WIDTH + k]
                    rank = rank + 1
                else:  # behind those that are set, as many as stand before it and are not
                    spot[total - rank + (place + j * 32 * WIDTH + k)] = items[j * WIDTH + k]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = tile[k * THREADS + t]
    return total


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, TO=dtype, AS=function, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int), VECTOR=constexpr(int),
)
def store_flagged(
    y: ptr(TO) @ block[1], items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], before: int32 @ thread[32],
    valid: int32 @ block[1], skew: int32 @ block[1],
):
    """Write the elements whose bit of `flags` is set close together, in their order, from `y[0]` on: of each, what `AS` gives.

    Perspective: block, of `THREADS` threads.
    Shapes:      as `block.load` leaves a tile; bit `i` of `flags` says whether `items[i]` is kept. `before`: how many are kept
                 in the warps before, as `block.count_flags` says. `valid`: how many are written, at most as many as are kept;
                 may be negative. `skew`: how many elements stand between one of `y` that is aligned, to `VECTOR` elements, and
                 `y[0]`; less than 0: it is not known. `AS`: a function of a thread, of a `T`, that gives a `TO`.
    Cost:        6 shuffles for four rows of up to 4 elements, or for two; one barrier; a shared store of each kept element; of
                 `VECTOR` of them a shared load and a store, or of each, where `skew` is not known. `THREADS * ITEMS + VECTOR`
                 elements of shared memory.
    Test:        tests/lib/block/test_compact.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    static_assert(VECTOR & -VECTOR == VECTOR and VECTOR * max(T.bytes, TO.bytes) <= 16, "a vector has 2^k elements, 16 bytes")
    t: int32 @ thread[1] = id()
    lead: int32 @ block[1] = max(skew, 0)  # what is written begins here in the tile, so that its vectors are those of `y`
    end: int32 @ block[1] = lead + max(valid, 0)
    ranks: int32[ITEMS // WIDTH] @ thread[1]
    with group(thread[32]):
        rank_rows(flags, lead + before, ranks, WIDTH=WIDTH)
    tile: shared(T[THREADS * ITEMS + VECTOR], align=16) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        scatter_kept(spot, items, flags, ranks, WIDTH=WIDTH)
    with partition(y, thread[1], offset=-lead, races="none") as out, group(thread[1]):
        if VECTOR == 1 or skew < 0:
            for at in range(lead + t, end, THREADS):
                out[at] = AS(tile[at])
        else:
            for v in range(t + (1 if lead > 0 else 0), end // VECTOR, THREADS):
                word: vector(T, VECTOR) = load_vector(tile[v * VECTOR], VECTOR)
                row: vector(TO, VECTOR)
                for k in range(VECTOR):
                    row[k] = AS(word[k])
                store_vector(out[v * VECTOR], row)
            if lead <= t < min(VECTOR, end) and lead > 0:  # before the first whole vector
                out[t] = AS(tile[t])
            last: int32 = end // VECTOR * VECTOR + t
            if t < VECTOR and last < end and (last >= VECTOR or lead == 0):
                out[last] = AS(tile[last])
