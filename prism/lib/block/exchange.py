"""A block hands its elements round, by shared memory: between layouts, to their ranks, or one to all."""

from prism.lang import (
    block, broadcast as from_lane, claim, constexpr, count, dtype, group, id, int32, partition, popcount, prism, requires, shared,
    shuffle_up, split, static_assert, template, thread, uint32, warp,
)


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def blocked_to_striped(items: T[ITEMS] @ thread[1]):
    """From element `t * ITEMS + k` of the tile in `items[k]` of thread `t` to element `k * THREADS + t`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements: the threads of a warp meet in no bank
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS + (THREADS * ITEMS + 31) // 32 * PAD]) @ block[1]
    with partition(tile, thread[1], offset=lambda k: t * ITEMS + k + (t * ITEMS + k) / 32 * PAD) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = tile[k * THREADS + t + (k * THREADS + t) / 32 * PAD]


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def striped_to_blocked(items: T[ITEMS] @ thread[1]):
    """From element `k * THREADS + t` of the tile in `items[k]` of thread `t` to element `t * ITEMS + k`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements: the threads of a warp meet in no bank
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS + (THREADS * ITEMS + 31) // 32 * PAD]) @ block[1]
    with partition(tile, thread[1], offset=lambda k: k * THREADS + t + (k * THREADS + t) / 32 * PAD) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = tile[t * ITEMS + k + (t * ITEMS + k) / 32 * PAD]


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def blocked_to_warp_striped(items: T[ITEMS] @ thread[1]):
    """From element `t * ITEMS + k` in `items[k]` of thread `t` to element `(t / 32 * ITEMS + k) * 32 + t % 32`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        a barrier of each warp; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements: the threads of a warp meet in no bank
    RUN: constexpr(int) = (32 + PAD) * ITEMS
    tile: shared(T[THREADS // 32 * RUN]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(tile, thread[32], offset=w * RUN) as run:
        with group(thread[32]):
            lane: int32 @ thread[1] = id()
            with partition(run, thread[1], offset=lambda k: lane * ITEMS + k + (lane * ITEMS + k) / 32 * PAD) as own:
                with group(thread[1]):
                    for k in range(ITEMS):
                        own[k] = items[k]
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = run[k * (32 + PAD) + lane]


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def warp_striped_to_blocked(items: T[ITEMS] @ thread[1]):
    """From element `(t / 32 * ITEMS + k) * 32 + t % 32` in `items[k]` of thread `t` to `t * ITEMS + k`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        a barrier of each warp; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements: the threads of a warp meet in no bank
    RUN: constexpr(int) = (32 + PAD) * ITEMS
    tile: shared(T[THREADS // 32 * RUN]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(tile, thread[32], offset=w * RUN) as run:
        with group(thread[32]):
            lane: int32 @ thread[1] = id()
            with partition(run, thread[1], offset=lambda k: k * (32 + PAD) + lane) as own:
                with group(thread[1]):
                    for k in range(ITEMS):
                        own[k] = items[k]
            with group(thread[1]):
                for k in range(ITEMS):
                    items[k] = run[lane * ITEMS + k + (lane * ITEMS + k) / 32 * PAD]


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def scatter_to_blocked(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], ranked: int32 @ block[1]):
    """Put the element of rank `t * ITEMS + k` into `items[k]` of thread `t`, in place.

    Perspective: block, of `THREADS` threads.
    Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                 `ranked` on keep what they have.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory.
    Errors:      two elements of one rank race; the reference machine says so.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot:
        with group(thread[1]):
            for k in range(ITEMS):
                if ranks[k] >= 0:
                    spot[ranks[k]] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            if t * ITEMS + k < ranked:
                items[k] = tile[t * ITEMS + k]


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def scatter_to_striped(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], ranked: int32 @ block[1]):
    """Put the element of rank `k * THREADS + t` into `items[k]` of thread `t`, in place.

    Perspective: block, of `THREADS` threads.
    Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                 `ranked` on keep what they have.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory.
    Errors:      two elements of one rank race; the reference machine says so.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot:
        with group(thread[1]):
            for k in range(ITEMS):
                if ranks[k] >= 0:
                    spot[ranks[k]] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS + t < ranked:
                items[k] = tile[k * THREADS + t]


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def compact(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1]) -> int32 @ block[1]:
    """Put the elements whose bit of `flags` is set close together, in their order, number `k * THREADS + t` in thread `t`.

    Perspective: block, of `THREADS` threads.
    Shapes:      as `block.load` leaves a tile; bit `i` of `flags` says whether `items[i]` is kept. After it striped, as
                 `block.store_striped` takes it; places behind those that are kept have what they had.
    Returns:     how many are kept; `items` changes in place.
    Cost:        6 shuffles for four rows of up to 4 elements, or for two; two barriers; `THREADS * ITEMS` elements and 32 words
                 of shared memory.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    ROWS: constexpr(int) = ITEMS // WIDTH
    FIELD: constexpr(int) = 8 if WIDTH <= 4 else 16  # bits for how many of a row a warp keeps: at most 32 * WIDTH
    EACH: constexpr(int) = 32 // FIELD  # rows that are added up at once
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    ranks: int32[ROWS] @ thread[1]  # of each row: how many the warp keeps before this thread's
    kept: int32 @ thread[32] = 0
    for first in range(0, ROWS, EACH):
        mine: uint32 @ thread[1] = 0
        for j in range(first, min(first + EACH, ROWS)):
            row: uint32 @ thread[1] = flags >> (j * WIDTH) & (0xFFFFFFFF >> (32 - WIDTH))
            mine = mine | uint32(popcount(row)) << ((j - first) * FIELD)
        sums: uint32 @ thread[1] = mine
        for step in range(5):
            below: uint32 @ thread[1] = shuffle_up(sums, 1 << step)
            sums = sums + below if t % 32 >= 1 << step else sums
        ends: uint32 @ thread[32] = from_lane(sums, 31)
        for j in range(first, min(first + EACH, ROWS)):
            ranks[j] = kept + int32((sums - mine) >> ((j - first) * FIELD) & ((1 << FIELD) - 1))
            kept = kept + int32(ends >> ((j - first) * FIELD) & ((1 << FIELD) - 1))
    numbers: shared(int32[32]) @ block[1]
    with partition(numbers, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = kept
    before: int32 @ thread[32] = 0
    total: int32 @ block[1] = 0
    for v in range(count(warp[1])):
        before = total if v == w else before
        total = total + numbers[v]
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        for j in range(ROWS):
            rank: int32 = before + ranks[j]
            for k in range(WIDTH):
                if flags >> (j * WIDTH + k) & 1 != 0:
                    spot[rank] = items[j * WIDTH + k]
                    rank = rank + 1
    with group(thread[1]):
        for k in range(ITEMS):
            if k * THREADS + t < total:
                items[k] = tile[k * THREADS + t]
    return total


@prism("device")
@requires(block[1], thread[1])
@template(T=dtype)
def broadcast(value: T @ thread[1], source: int32 @ block[1]) -> T @ block[1]:
    """Thread `source`'s value, for the whole block.

    Perspective: block, of more than `source` threads.
    Cost:        one barrier; one element of shared memory.
    Test:        tests/lib/block/test_shift.py
    """
    t: int32 @ thread[1] = id()
    cell: shared(T[1]) @ block[1]
    with partition(cell, thread[1], offset=0, races="none") as own:  # one thread alone writes: `source`
        with group(thread[1]):
            if t == source:
                own[0] = value
    return cell[0]


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def separate(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1]) -> int32 @ block[1]:
    """Put the elements whose bit of `flags` is set before the others, both in their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      as of `block.compact`: number `k * THREADS + t` comes to thread `t`.
    Returns:     how many bits are set; `items` changes in place.
    Cost:        as of `block.compact`, with 5 shuffles for each row.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(ITEMS <= 32, "`flags` has a bit for each of `ITEMS`")
    ROWS: constexpr(int) = ITEMS // WIDTH
    t: int32 @ thread[1] = id()
    w: int32 @ thread[32] = id()
    ranks: int32[ROWS] @ thread[1]  # of each row: how many the warp has before this thread's
    several: int32 @ thread[32] = 0
    for j in range(ROWS):
        mine: int32 @ thread[1] = int32(popcount(flags >> (j * WIDTH) & (0xFFFFFFFF >> (32 - WIDTH))))
        sums: int32 @ thread[1] = mine
        for step in range(5):
            below: int32 @ thread[1] = shuffle_up(sums, 1 << step)
            sums = sums + below if t % 32 >= 1 << step else sums
        ranks[j] = several + sums - mine
        several = several + from_lane(sums, 31)
    numbers: shared(int32[32]) @ block[1]
    with partition(numbers, thread[32], offset=w) as own, group(thread[32]):
        with claim(own, thread[1]) as slot:
            match split(thread):
                case 1:
                    slot[0] = several
    before: int32 @ thread[32] = 0
    total: int32 @ block[1] = 0
    for v in range(count(warp[1])):
        before = total if v == w else before
        total = total + numbers[v]
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot, group(thread[1]):
        for j in range(ROWS):
            rank: int32 = before + ranks[j]
            for k in range(WIDTH):
                if flags >> (j * WIDTH + k) & 1 != 0:
                    spot[rank] = items[j * WIDTH + k]
                    rank = rank + 1
                else:  # behind those that are set, as many as stand before it and are not
                    spot[total - rank + (t / 32 * 32 * ITEMS + j * 32 * WIDTH + t % 32 * WIDTH + k)] = items[j * WIDTH + k]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = tile[k * THREADS + t]
    return total
