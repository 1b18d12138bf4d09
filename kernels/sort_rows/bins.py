"""Segments dealt out by their lengths, on the device: the host never learns how long they are."""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, template, thread, uint64,
)

CLASSES = 6
"""How many lists there are: three of segments that lanes sort, the shortest first, two that blocks do, and of longer ones."""


@prism.device
@requires(thread[1])
def class_of(
    length: int64 @ thread[1], first: int64 @ thread[1], second: int64 @ thread[1], third: int64 @ thread[1],
    fourth: int64 @ thread[1], fifth: int64 @ thread[1],
) -> int32 @ thread[1]:
    """The list of a segment of a length."""
    found: int32 = 5
    if length <= fifth:
        found = 4
    if length <= fourth:
        found = 3
    if length <= third:
        found = 2
    if length <= second:
        found = 1
    if length <= first:
        found = 0
    return found


@prism.device
@requires(block[1], thread[32])
@template(EACH=constexpr(int), THREADS=constexpr(int))
def append_segments(
    lists: ptr(int32) @ block[1], many: ptr(int32) @ grid[1], segments: int64 @ grid[1], turn: int64 @ block[1],
    classes: int32[EACH] @ thread[1],
):
    """Append segments `turn + e * THREADS + t` to the lists of their `classes`, of -1 to none; `many` grow."""
    t: int32 @ thread[1] = id()
    ranks: int32[EACH] @ thread[1]
    counts: shared(int32[8]) @ block[1]
    bases: shared(int32[8]) @ block[1]
    block.fill(counts, 0, 8)
    with group(thread[1]):
        for e in range(EACH):
            if classes[e] >= 0:
                ranks[e] = atomic_add(counts[classes[e]], 1, scope="block")
    with partition(bases, thread[1], offset=t) as own, group(thread[1]):
        if t < CLASSES:
            own[0] = 0
            if counts[t] > 0:
                base: int32 = atomic_add(many[t], counts[t])
                own[0] = base
    with partition(lists, thread[1], offset=lambda i: i, races="none") as listed, group(thread[1]):
        for e in range(EACH):
            if classes[e] >= 0:
                listed[int64(classes[e]) * segments + bases[classes[e]] + ranks[e]] = int32(turn + e * THREADS + t)


@prism.kernel
@template(
    T=dtype, V=dtype, I=dtype, O=dtype, KEYS=constexpr(bool), PLACES=constexpr(bool), VALUES=constexpr(bool),
    EACH=constexpr(int), THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def bin_segments(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1],
    ends: ptr(const(O)) @ grid[1], lists: ptr(int32) @ grid[1], many: ptr(int32) @ grid[1], control: ptr(uint64) @ grid[1],
    segments: int64 @ grid[1], n: int64 @ grid[1], least: int64 @ grid[1], most: int64 @ grid[1], first: int64 @ grid[1],
    second: int64 @ grid[1], third: int64 @ grid[1], fourth: int64 @ grid[1], fifth: int64 @ grid[1],
):
    """Append each segment's number to the list of its length; those of `least` to `most` elements, and empty ones, to none.

    Perspective: grid, of any number of blocks of `THREADS` threads, which look at `EACH` segments at once.
    Shapes:      segment `s` is from `starts[s]` to `ends[s]`, of `segments`, at least one; list `c` is `lists[c * segments]`
                 and behind, `many[c]` numbers in any order, of lengths up to `first`, `second` and so on, and above the
                 `fifth`; `many` is zero before. Elements before the first segment and behind the last one are copied to `y`,
                 where `KEYS`, their values to `moved`, where `VALUES`, and have no position, -1, where `PLACES`. Both words of
                 `control` become 0, for a kernel behind.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    with partition(lists, block[1], offset=lambda i: i, races="none") as listed, \
         partition(y, thread[1], f=lambda i: i, races="none") as target, \
         partition(positions, thread[1], f=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], f=lambda i: i, races="none") as value_target, \
         partition(control, thread[1], f=lambda i: i, races="none") as words, group(block[1]):
        t: int32 @ thread[1] = id()
        head: int64 @ block[1] = min(max(int64(starts[0]), 0), n)
        tail: int64 @ block[1] = min(max(int64(ends[segments - 1]), 0), n)
        for turn in range(here * THREADS * EACH, segments, blocks * THREADS * EACH):
            classes: int32[EACH] @ thread[1]
            some: bool @ thread[1] = False
            with group(thread[1]):
                froms: int64[EACH]
                tos: int64[EACH]
                for e in range(EACH):  # all are asked for before one is looked at
                    s: int64 = min(turn + e * THREADS + t, segments - 1)
                    froms[e] = int64(starts[s])
                    tos[e] = int64(ends[s])
                for e in range(EACH):
                    classes[e] = -1
                    length: int64 = min(tos[e], n) - min(max(froms[e], 0), n)
                    if turn + e * THREADS + t < segments and length > 0 and (length < least or length > most):
                        classes[e] = class_of(length, first, second, third, fourth, fifth)
                        some = True
            listing: bool @ block[1] = block.any(some)
            if listing:
                append_segments(listed, many, segments, turn, classes, THREADS=THREADS)
        with group(thread[1]):
            if here == 0 and t == 0:
                words[0] = 0
                words[1] = 0
            # What is before the first segment, and then what is behind the last one.
            for k in range(here * THREADS + t, head + (n - tail), blocks * THREADS):
                i: int64 = k if k < head else k - head + tail
                if KEYS:
                    target[i] = x[i]
                if PLACES:
                    place_target[i] = I(-1)
                if VALUES:
                    value_target[i] = values[i]


EXAMPLES = {
    "bin_segments": {
        "T": "float32", "V": "float32", "I": "int64", "O": "int64", "KEYS": True, "PLACES": False, "VALUES": False,
        "EACH": 4, "THREADS": 256,
    },
}
