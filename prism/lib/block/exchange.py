"""A block hands its elements round, by shared memory: between layouts, to their ranks, or one to all."""

from prism.lang import (
    block, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, static_assert, template, thread, warp,
)


@prism.device
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
    with partition(tile, thread[1], offset=lambda k: t * ITEMS + k + (t * ITEMS + k) // 32 * PAD) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]
    first: int32 @ thread[1] = t + t // 32 * PAD
    with group(thread[1]):
        for k in range(ITEMS):
            if THREADS % 32 == 0:  # the same place, without a division for each
                items[k] = tile[k * (THREADS + THREADS // 32 * PAD) + first]
            else:
                items[k] = tile[k * THREADS + t + (k * THREADS + t) // 32 * PAD]


@prism.device
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
    with partition(tile, thread[1], offset=lambda k: k * THREADS + t + (k * THREADS + t) // 32 * PAD) as own:
        with group(thread[1]):
            for k in range(ITEMS):
                own[k] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = tile[t * ITEMS + k + (t * ITEMS + k) // 32 * PAD]


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def blocked_to_warp_striped(items: T[ITEMS] @ thread[1]):
    """From element `t * ITEMS + k` in `items[k]` of thread `t` to element `(t / 32 * ITEMS + k) * 32 + t % 32`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        a barrier of each warp; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    RUN: constexpr(int) = (33 - ITEMS % 2) * ITEMS
    tile: shared(T[THREADS // 32 * RUN]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(tile, thread[32], offset=w * RUN) as run, group(thread[32]):
        warp.blocked_to_striped_in(run, items)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def warp_striped_to_blocked(items: T[ITEMS] @ thread[1]):
    """From element `(t / 32 * ITEMS + k) * 32 + t % 32` in `items[k]` of thread `t` to `t * ITEMS + k`, in place.

    Perspective: block, of `THREADS` threads.
    Cost:        a barrier of each warp; `THREADS * ITEMS` elements of shared memory, and a 32nd more for an even `ITEMS`.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    RUN: constexpr(int) = (33 - ITEMS % 2) * ITEMS
    tile: shared(T[THREADS // 32 * RUN]) @ block[1]
    w: int32 @ thread[32] = id()
    with partition(tile, thread[32], offset=w * RUN) as run, group(thread[32]):
        warp.striped_to_blocked_in(run, items)


@prism.device
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


@prism.device
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


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def scatter_to_warp_striped(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], ranked: int32 @ block[1]):
    """Put the element of rank `(t / 32 * ITEMS + k) * 32 + t % 32` into `items[k]` of thread `t`, in place.

    Perspective: block, of `THREADS` threads.
    Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                 `ranked` on keep what they have.
    Cost:        one barrier; `THREADS * ITEMS` elements of shared memory.
    Errors:      two elements of one rank race; the reference machine says so.
    Test:        tests/lib/block/test_exchange.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    tile: shared(T[THREADS * ITEMS]) @ block[1]
    with partition(tile, thread[1], offset=lambda rank: rank) as spot:
        with group(thread[1]):
            for k in range(ITEMS):
                if ranks[k] >= 0:
                    spot[ranks[k]] = items[k]
    with group(thread[1]):
        for k in range(ITEMS):
            if at + 32 * k < ranked:
                items[k] = tile[at + 32 * k]


@prism.device
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
