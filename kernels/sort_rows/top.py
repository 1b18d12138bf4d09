"""The first elements of each segment, in their order: of short ones from where they are sorted, of a longer one by a block."""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, template, thread, uint32,
)
from prism.kernels.sort_rows.elements import PLACED, before, behind_all, key_of, pack, place_of
from prism.kernels.sort_rows.segments import SEGMENTS, bounds_of


@prism.kernel
@template(
    T=dtype, U=dtype, E=dtype, O=dtype, DESCENDING=constexpr(bool), ROOM=constexpr(int), KEPT=constexpr(int),
    THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def top_segments(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(int64) @ grid[1], starts: ptr(const(O)) @ grid[1],
    ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1], listed_many: ptr(const(int32)) @ grid[1],
    n: int64 @ grid[1], first_listed: int64 @ grid[1], number: int32 @ grid[1], k: int32 @ grid[1],
):
    """Put the first `k` elements of segment `s`, or all that it has, into `y[s * k]` and behind, and their positions beside them.

    The key of the last one is found digit by digit, and, of those with that key, its position; what comes before is kept, and
    sorted.

    Perspective: grid, of any number of blocks of `THREADS` threads, at least 256.
    Shapes:      the `listed_many[number]` segments whose numbers `listed` has from `first_listed` on, of fewer than 2^31
                 elements. `ROOM`: the keys of up to so many elements are held; above 1 no segment is longer, else they are read
                 again and again. `k`: at most `THREADS * KEPT`. `E`: what is sorted, a key and a position of 32 bits.
    Test:        tests/lib/algorithms/sort_rows/test_top.py
    """
    TILE: constexpr(int) = THREADS * KEPT
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    total: int64 @ grid[1] = int64(listed_many[number])
    with partition(y, thread[1], offset=lambda i: i, races="none") as target, \
         partition(positions, thread[1], offset=lambda i: i, races="none") as place_target, group(block[1]):
        t: int32 @ thread[1] = id()
        keys: shared(U[ROOM]) @ block[1]
        chosen: shared(E[TILE]) @ block[1]
        counter: shared(uint32[1]) @ block[1]
        begin: int64 @ block[1] = 0
        length: int64 @ block[1] = 0
        bound: U @ block[1] = 0

        @requires(thread[1])
        def key_at(i: int32 @ thread[1]) -> U @ thread[1]:
            return keys[i] if ROOM > 1 else key_of(x[begin + i], U=U, DESCENDING=DESCENDING, TIED=True)

        @requires(thread[1])
        def number_of(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return uint32(i)

        @requires(thread[1])
        def every(i: int32 @ thread[1]) -> bool @ thread[1]:
            return True

        @requires(thread[1])
        def is_bound(i: int32 @ thread[1]) -> bool @ thread[1]:
            return key_at(i) == bound

        for turn in range(here, total, blocks):
            s: int64 @ block[1] = int64(listed[first_listed + turn])
            begin, length = bounds_of(s, s + 1, int64(starts[s]), int64(ends[s]), 0, n, 1, n, MODE=SEGMENTS)
            size: int32 @ block[1] = int32(length)
            most: int32 @ block[1] = min(k, size)
            below: int32 @ block[1] = 0
            equal: int32 @ block[1] = 0
            last: int32 @ block[1] = 2147483647  # of elements whose key is the bound, the position up to which they are taken
            if ROOM > 1:
                with partition(keys, thread[1], offset=t) as own, group(thread[1]):
                    for i in range(t, size, THREADS, unroll=8):
                        own[i - t] = key_of(x[begin + i], U=U, DESCENDING=DESCENDING, TIED=True)
            bound, below, equal = block.select_rank(
                size, most - 1, U=U, KEY=key_at, COUNTS=every, BITS=8 * T.bytes, THREADS=THREADS,
            )
            if below + equal > most:
                spot: uint32 @ block[1] = 0
                spot, below, equal = block.select_rank(
                    size, most - 1 - below, U=uint32, KEY=number_of, COUNTS=is_bound, BITS=32, THREADS=THREADS,
                )
                last = int32(spot)
            block.fill(counter, 0, 1)
            with partition(chosen, thread[1], offset=lambda i: i, races="none") as slots, group(thread[1]):
                for i in range(t, size, THREADS, unroll=4):
                    key: U = key_at(i)
                    if key < bound or (key == bound and i <= last):
                        slot: uint32 = atomic_add(counter[0], 1, scope="block")
                        slots[slot] = pack(x[begin + i], i, U=U, E=E, DESCENDING=DESCENDING, FORM=PLACED)
            items: E[KEPT] @ thread[1]
            with group(thread[1]):
                for j in range(KEPT):
                    items[j] = chosen[t * KEPT + j] if t * KEPT + j < most else behind_all(E=E)
            block.merge_sort(items, THREADS=THREADS, LESS=before)
            with group(thread[1]):
                for j in range(KEPT):
                    if t * KEPT + j < most:
                        place: int32 = place_of(items[j])
                        target[s * k + (t * KEPT + j)] = x[begin + place]
                        place_target[s * k + (t * KEPT + j)] = int64(place)


@prism.kernel
@template(T=dtype, O=dtype, THREADS=constexpr(int))
@requires(grid[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def take_first(
    x: ptr(const(T)) @ grid[1], order: ptr(const(int32)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(int64) @ grid[1],
    starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], segments: int64 @ grid[1], n: int64 @ grid[1],
    k: int64 @ grid[1], longest: int64 @ grid[1], missing: T @ grid[1],
):
    """Put the first `k` elements of segment `s` into `y[s * k]` and behind, by `order`, and their positions beside them.

    Perspective: grid, of any number of threads.
    Shapes:      `order`: of each segment of up to `longest` elements the positions that sort it, where it lies; longer ones are
                 left out. Behind the last element of each segment, also of these, stands `missing`, with the position -1.
    Test:        tests/lib/algorithms/sort_rows/test_top.py
    """
    threads: int64 @ grid[1] = int64(count(thread[1]))
    me: int64 @ thread[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as target, \
         partition(positions, thread[1], offset=lambda i: i, races="none") as place_target, group(thread[1]):
        for i in range(me, segments * k, threads):
            s: int64 = i // k
            begin: int64 = 0
            length: int64 = 0
            begin, length = bounds_of(s, segments, int64(starts[s]), int64(ends[s]), 0, n, 1, n, MODE=SEGMENTS)
            j: int64 = i - s * k
            if j >= length:
                target[i] = missing
                place_target[i] = -1
            elif length <= longest:
                place: int32 = order[begin + j]
                target[i] = x[begin + place]
                place_target[i] = int64(place)


EXAMPLES = {
    "top_segments": {
        "T": "float32", "U": "uint32", "E": "uint64", "O": "int64", "DESCENDING": True, "ROOM": 8192, "KEPT": 1, "THREADS": 512,
    },
    "take_first": {"T": "float32", "O": "int64", "THREADS": 256},
}
