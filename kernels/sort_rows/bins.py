"""Segments dealt out by their lengths, on the device: the host never learns how long they are."""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, template, thread, uint64,
)

CLASSES = 5
"""How many lists there are: of the shortest segments first, and last those that a block does not hold."""


@prism("global")
@template(
    T=dtype, V=dtype, I=dtype, O=dtype, KEYS=constexpr(bool), PLACES=constexpr(bool), VALUES=constexpr(bool),
    THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def bin_segments(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1],
    ends: ptr(const(O)) @ grid[1], lists: ptr(int32) @ grid[1], many: ptr(int32) @ grid[1], control: ptr(uint64) @ grid[1],
    segments: int64 @ grid[1], n: int64 @ grid[1], least: int64 @ grid[1], most: int64 @ grid[1], first: int64 @ grid[1],
    second: int64 @ grid[1], third: int64 @ grid[1], fourth: int64 @ grid[1],
):
    """Append each segment's number to the list of its length; those of `least` to `most` elements, and empty ones, to none.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      segment `s` is from `starts[s]` to `ends[s]`, of `segments`, at least one; list `c` is `lists[c * segments]`
                 and behind, `many[c]` numbers in any order, of lengths up to `first`, `second`, `third` and `fourth`, and
                 above; `many` is zero before. Elements before the first segment and behind the last one are copied to `y`,
                 where `KEYS`, their values to `moved`, where `VALUES`, and have no position, -1, where `PLACES`. Both words of
                 `control` become 0, for a kernel behind.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    with partition(lists, thread[1], f=lambda i: i, races="none") as listed, \
         partition(y, thread[1], f=lambda i: i, races="none") as target, \
         partition(positions, thread[1], f=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], f=lambda i: i, races="none") as value_target, \
         partition(control, thread[1], f=lambda i: i, races="none") as words, group(block[1]):
        t: int32 @ thread[1] = id()
        counts: shared(int32[8]) @ block[1]
        bases: shared(int32[8]) @ block[1]
        for turn in range(here * THREADS, segments, blocks * THREADS):
            s: int64 @ thread[1] = turn + t
            which: int32 @ thread[1] = -1
            rank: int32 @ thread[1] = 0
            with partition(counts, thread[1], offset=t) as own, group(thread[1]):
                if t < 8:
                    own[0] = 0
            with group(thread[1]):
                if s < segments:
                    length: int64 = min(int64(ends[s]), n) - min(max(int64(starts[s]), 0), n)
                    if length > 0 and (length < least or length > most):
                        which = 4
                        if length <= fourth:
                            which = 3
                        if length <= third:
                            which = 2
                        if length <= second:
                            which = 1
                        if length <= first:
                            which = 0
                        rank = atomic_add(counts[which], 1, scope="block")
            with partition(bases, thread[1], offset=t) as own, group(thread[1]):
                if t < 8:
                    own[0] = 0
                    if counts[t] > 0:
                        base: int32 = atomic_add(many[t], counts[t])
                        own[0] = base
            with group(thread[1]):
                if which >= 0:
                    listed[int64(which) * segments + bases[which] + rank] = int32(s)
        with group(thread[1]):
            if here == 0 and t == 0:
                words[0] = 0
                words[1] = 0
        head: int64 @ block[1] = min(max(int64(starts[0]), 0), n)
        tail: int64 @ block[1] = min(max(int64(ends[segments - 1]), 0), n)
        with group(thread[1]):
            for i in range(here * THREADS + t, head, blocks * THREADS):
                if KEYS:
                    target[i] = x[i]
                if PLACES:
                    place_target[i] = I(-1)
                if VALUES:
                    value_target[i] = values[i]
            for i in range(tail + here * THREADS + t, n, blocks * THREADS):
                if KEYS:
                    target[i] = x[i]
                if PLACES:
                    place_target[i] = I(-1)
                if VALUES:
                    value_target[i] = values[i]


EXAMPLES = {
    "bin_segments": {
        "T": "float32", "V": "float32", "I": "int64", "O": "int64", "KEYS": True, "PLACES": False, "VALUES": False,
        "THREADS": 256,
    },
}
