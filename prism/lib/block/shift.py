"""A block moves its elements, or one value of each thread, some places on."""

from prism.lang import (
    block, broadcast, claim, constexpr, count, dtype, group, id, int32, partition, prism, requires, shared, split,
    static_assert, template, thread, warp,
)


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def shift_up(items: T[ITEMS] @ thread[1], before: T @ block[1]) -> T @ block[1]:
    """Replace each element by the one before it in the tile, in place; the first becomes `before`.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`, and for one value a thread.
    Returns:     the last element, which is gone from `items`.
    Cost:        2 shuffles a row and one, one barrier; 32 elements of shared memory.
    Test:        tests/lib/block/test_shift.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    ends: shared(T[32]) @ block[1]  # what each warp has for its neighbour
    end: T @ thread[32] = broadcast(items[ITEMS - 1], 31)
    w: int32 @ thread[32] = id()
    with partition(ends, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = end
    warps: int32 @ block[1] = count(warp[1])
    neighbour: T @ thread[32] = before
    with group(thread[32]):
        if w > 0:
            neighbour = ends[w - 1]
    warp.shift_up(items, neighbour, WIDTH=WIDTH)
    return ends[warps - 1]


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def shift_down(items: T[ITEMS] @ thread[1], after: T @ block[1]) -> T @ block[1]:
    """Replace each element by the one after it in the tile, in place; the last becomes `after`.

    Perspective: block, of any number of warps.
    Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`, and for one value a thread.
    Returns:     the first element, which is gone from `items`.
    Cost:        2 shuffles a row and one, one barrier; 32 elements of shared memory.
    Test:        tests/lib/block/test_shift.py
    """
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    ends: shared(T[32]) @ block[1]  # what each warp has for its neighbour
    end: T @ thread[32] = broadcast(items[0], 0)
    w: int32 @ thread[32] = id()
    with partition(ends, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = end
    warps: int32 @ block[1] = count(warp[1])
    neighbour: T @ thread[32] = after
    with group(thread[32]):
        if w < warps - 1:
            neighbour = ends[w + 1]
    warp.shift_down(items, neighbour, WIDTH=WIDTH)
    return ends[0]


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int))
def rotate(value: T @ thread[1], distance: int32 @ block[1]) -> T @ thread[1]:
    """The value of the thread `distance` further on, round the block's end; a negative `distance` is one further back.

    Perspective: block, of `THREADS` threads.
    Cost:        one barrier; `THREADS` elements of shared memory.
    Test:        tests/lib/block/test_shift.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    values: shared(T[THREADS]) @ block[1]
    with partition(values, thread[1], offset=t) as own:
        with group(thread[1]):
            own[0] = value
    result: T @ thread[1]
    with group(thread[1]):
        place: int32 = (t + distance) % THREADS
        result = values[place + THREADS if place < 0 else place]
    return result


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, THREADS=constexpr(int))
def offset(value: T @ thread[1], distance: int32 @ block[1], otherwise: T @ thread[1]) -> T @ thread[1]:
    """The value of the thread `distance` further on, `otherwise` where there is none; `distance` may be negative.

    Perspective: block, of `THREADS` threads.
    Cost:        one barrier; `THREADS` elements of shared memory.
    Test:        tests/lib/block/test_shift.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    values: shared(T[THREADS]) @ block[1]
    with partition(values, thread[1], offset=t) as own:
        with group(thread[1]):
            own[0] = value
    result: T @ thread[1] = otherwise
    with group(thread[1]):
        if t + distance >= 0 and t + distance < THREADS:
            result = values[t + distance]
    return result
