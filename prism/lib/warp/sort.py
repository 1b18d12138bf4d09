"""Groups of lanes sort what their registers hold, by a bitonic network."""

from prism.lang import (
    constexpr, dtype, function, group, id, int32, prism, requires, shuffle, shuffle_xor, static_assert, template, thread,
)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def merge_bitonic(items: T[ITEMS] @ thread[1]):
    """Sort the elements of each group of `SIZE` lanes in place, which first rise and then fall, or the other way round.

    Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32, and so is `ITEMS`, of any size.
    Shapes:      blocked; `LESS` and `TOTAL` as of `warp.sort`.
    Cost:        a comparison an element for each power of two, of which `log2(SIZE)` take a shuffle too. No barrier.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/warp/test_sort.py
    """
    static_assert(1 <= SIZE <= 32 and SIZE & -SIZE == SIZE, "`SIZE` is a power of two of at most 32")
    lane: int32 @ thread[1] = id()
    for step in range(5):
        if SIZE >> (step + 1) > 0:
            for k in range(ITEMS):
                mine: T @ thread[1] = items[k]
                other: T @ thread[1] = shuffle_xor(mine, SIZE >> (step + 1))
                items[k] = thread.keep(mine, other, lane & (SIZE >> (step + 1)) == 0, LESS=LESS, TOTAL=TOTAL)
    with group(thread[1]):
        thread.merge_bitonic(items, ITEMS, LESS=LESS)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def sort(items: T[ITEMS] @ thread[1]):
    """Sort the elements of each group of `SIZE` lanes in place, so that none is `LESS` than the one before it.

    Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32, and so is `ITEMS`, of any size.
    Shapes:      blocked: element `l * ITEMS + k` of a group in `items[k]` of its lane `l`. A part is filled up with what sorts
                 last. `TOTAL`: of two elements one is less, unless they are the same in all bits.
    Numerics:    not stable: equal elements come in any order, always the same. A position in the element, compared last, makes
                 it stable, and `TOTAL`.
    Cost:        with `e` elements a group, `log2(e) * (log2(e) + 1) / 2` comparisons an element, of which those beyond the
                 lane, `log2(SIZE) * (log2(SIZE) + 1) / 2`, take a shuffle too. No barrier, no shared memory.
    Errors:      where `TOTAL` is said of an order that is not so, an element may be lost for its equal.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/warp/test_sort.py
    """
    static_assert(1 <= SIZE <= 32 and SIZE & -SIZE == SIZE, "`SIZE` is a power of two of at most 32")
    lane: int32 @ thread[1] = id()
    with group(thread[1]):
        thread.sort_network(items, LESS=LESS)
    if SIZE >= 2:
        mirror(items, lane & 1 == 0, 1, LESS=LESS, TOTAL=TOTAL)
        merge_bitonic(items, SIZE=1, LESS=LESS, TOTAL=TOTAL)
    if SIZE >= 4:
        mirror(items, lane & 2 == 0, 3, LESS=LESS, TOTAL=TOTAL)
        merge_bitonic(items, SIZE=2, LESS=LESS, TOTAL=TOTAL)
    if SIZE >= 8:
        mirror(items, lane & 4 == 0, 7, LESS=LESS, TOTAL=TOTAL)
        merge_bitonic(items, SIZE=4, LESS=LESS, TOTAL=TOTAL)
    if SIZE >= 16:
        mirror(items, lane & 8 == 0, 15, LESS=LESS, TOTAL=TOTAL)
        merge_bitonic(items, SIZE=8, LESS=LESS, TOTAL=TOTAL)
    if SIZE >= 32:
        mirror(items, lane & 16 == 0, 31, LESS=LESS, TOTAL=TOTAL)
        merge_bitonic(items, SIZE=16, LESS=LESS, TOTAL=TOTAL)


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int), LESS=function, TOTAL=constexpr(bool))
def mirror(items: T[ITEMS] @ thread[1], low: bool @ thread[1], mask: int32 @ thread[32]):
    """Compare each element with its mirror image in the lanes that `mask` tells, and keep the lesser ones where `low`."""
    HALF: constexpr(int) = (ITEMS + 1) // 2
    for k in range(HALF):
        mine: T @ thread[1] = items[k]
        last: T @ thread[1] = items[ITEMS - 1 - k]
        facing: T @ thread[1] = shuffle_xor(last, mask)
        if ITEMS > 1:
            across: T @ thread[1] = shuffle_xor(mine, mask)
            items[ITEMS - 1 - k] = thread.keep(last, across, low, LESS=LESS, TOTAL=TOTAL)
        items[k] = thread.keep(mine, facing, low, LESS=LESS, TOTAL=TOTAL)


@prism.device
@requires(thread[32])
@template(K=dtype, T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function)
def sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1]):
    """Sort each group of `SIZE` lanes by its keys, in place; items go where their keys go, those of equal keys in their order.

    Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32, and so is `ITEMS`, of any size.
    Shapes:      blocked, both: element `l * ITEMS + k` of a group in `keys[k]`, `items[k]` of its lane `l`. A part is filled up
                 with keys that sort last.
    Cost:        that of `warp.sort`, of a key with its place, and `ITEMS` shuffles of items and keys for each of `ITEMS`. No
                 barrier, no shared memory.
    Source:      Batcher, "Sorting networks and their applications".
    Test:        tests/lib/warp/test_sort.py
    """
    static_assert(1 <= SIZE <= 32 and SIZE & -SIZE == SIZE, "`SIZE` is a power of two of at most 32")
    static_assert(ITEMS & -ITEMS == ITEMS, "`ITEMS` is a power of two")
    lane: int32 @ thread[1] = id()
    places: int32[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            places[k] = lane % SIZE * ITEMS + k
        for step in range(1, 7):
            if 1 << step <= ITEMS:
                for k in range(ITEMS):
                    if k ^ ((1 << step) - 1) > k:  # the mirror image, in a run of 2^step
                        exchange_pair(keys, places, k, k ^ ((1 << step) - 1), LESS=LESS)
                merge_lane_pairs(keys, places, 1 << (step - 1), LESS=LESS)
    for phase in range(1, 6):
        if 1 << phase <= SIZE:
            exchange_lane_pairs(keys, places, (1 << phase) - 1, ITEMS - 1, LESS=LESS)
            for step in range(4):
                if 1 << phase >> (step + 2) > 0:
                    exchange_lane_pairs(keys, places, 1 << phase >> (step + 2), 0, LESS=LESS)
            with group(thread[1]):
                merge_lane_pairs(keys, places, ITEMS, LESS=LESS)
    moved: T[ITEMS] @ thread[1]
    for k in range(ITEMS):
        moved[k] = items[0]
        for j in range(ITEMS):
            found: T @ thread[1] = shuffle(items[j], lane // SIZE * SIZE + places[k] // ITEMS)
            moved[k] = found if places[k] % ITEMS == j else moved[k]
    for k in range(ITEMS):
        items[k] = moved[k]


@prism.device
@requires(thread[1])
@template(K=dtype, LESS=function)
def stands_before(a: K @ thread[1], place: int32 @ thread[1], b: K @ thread[1], other: int32 @ thread[1]) -> bool @ thread[1]:
    """Whether a key stands before another in a stable sort: it is less, or equal and its place is the lower one."""
    return LESS(a, b) or (place < other and not LESS(b, a))


@prism.device
@requires(thread[1])
@template(K=dtype, ITEMS=constexpr(int), LESS=function)
def exchange_pair(keys: K[ITEMS] @ thread[1], places: int32[ITEMS] @ thread[1], i: int32 @ thread[1], j: int32 @ thread[1]):
    """Put the key that stands before the other at `i`, and the other at `j`."""
    a: K = keys[i]
    b: K = keys[j]
    one: int32 = places[i]
    other: int32 = places[j]
    swap: bool = stands_before(b, other, a, one, LESS=LESS)
    keys[i] = b if swap else a
    keys[j] = a if swap else b
    places[i] = other if swap else one
    places[j] = one if swap else other


@prism.device
@requires(thread[1])
@template(K=dtype, ITEMS=constexpr(int), LESS=function)
def merge_lane_pairs(keys: K[ITEMS] @ thread[1], places: int32[ITEMS] @ thread[1], width: int32 @ thread[1]):
    """`thread.merge_bitonic`, of keys with their places."""
    for step in range(6):
        if width >> (step + 1) > 0:
            for k in range(ITEMS):
                if k ^ (width >> (step + 1)) > k:
                    exchange_pair(keys, places, k, k ^ (width >> (step + 1)), LESS=LESS)


@prism.device
@requires(thread[32])
@template(K=dtype, ITEMS=constexpr(int), LESS=function)
def exchange_lane_pairs(
    keys: K[ITEMS] @ thread[1], places: int32[ITEMS] @ thread[1], mask: int32 @ thread[32], flip: int32 @ thread[32]
):
    """Compare each key with that of item `k ^ flip` in the lane that differs by `mask`, and keep what belongs here."""
    lane: int32 @ thread[1] = id()
    others: K[ITEMS] @ thread[1]
    spots: int32[ITEMS] @ thread[1]
    for k in range(ITEMS):
        others[k] = shuffle_xor(keys[k ^ flip], mask)
        spots[k] = shuffle_xor(places[k ^ flip], mask)
    with group(thread[1]):
        low: bool = lane < lane ^ mask
        for k in range(ITEMS):
            take: bool = stands_before(others[k], spots[k], keys[k], places[k], LESS=LESS) == low
            keys[k] = others[k] if take else keys[k]
            places[k] = spots[k] if take else places[k]
