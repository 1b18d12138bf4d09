"""Sorted runs of rows are merged, two at a time: for more elements than one block sorts."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread,
)
from prism.kernels.topk.keys import key_of


@prism.kernel
@template(
    B=dtype, U=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool), ITEMS=constexpr(int),
    THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def merge_rows(
    values: ptr(const(B)) @ grid[1], spots: ptr(const(int64)) @ grid[1], y: ptr(B) @ grid[1], indices: ptr(int64) @ grid[1],
    n: int64 @ grid[1], k: int64 @ grid[1], rows: int64 @ grid[1], parts: int64 @ grid[1], span: int64 @ grid[1],
    runs: int64 @ grid[1], slots: int64 @ grid[1], room: int64 @ grid[1], behind: int64 @ grid[1],
):
    """`y` becomes the first `k` elements of each two neighbouring runs of `values`, in their order, `indices` what is beside
    them.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      a row has `n` elements, in `parts` as `top_rows` cuts it, and so many of these, `span`, are a run of `values`:
                 the first `k` of its elements, from `slots` times its number on. `runs`: how many runs there are of a row, all of
                 the same `room` where results of a pair are written, but for `behind`, as of `top_rows`. All runs have fewer than
                 2^31 elements.
    Test:        tests/kernels/test_topk.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    pairs: int64 @ grid[1] = (runs + 1) // 2
    tiles: int64 @ grid[1] = (room + (TILE - 1)) // TILE
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])

    @requires(thread[1])
    def less(a: B @ thread[1], b: B @ thread[1]) -> bool @ thread[1]:
        before: U = key_of(a, U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
        return before < key_of(b, U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)

    with partition(y, thread[1], offset=lambda i: i, races="none") as out, partition(
        indices, thread[1], offset=lambda i: i, races="none"
    ) as positions, group(block[1]):
        t: int32 @ thread[1] = id()
        for job in range(me, rows * pairs * tiles, blocks):
            pair: int64 @ block[1] = job // tiles
            tile: int64 @ block[1] = job - pair * tiles
            row: int64 @ block[1] = pair // pairs
            run: int64 @ block[1] = (pair - row * pairs) * 2
            begin: int64 @ block[1] = n * min(run * span, parts) // parts
            middle: int64 @ block[1] = n * min((run + 1) * span, parts) // parts
            end: int64 @ block[1] = n * min((run + 2) * span, parts) // parts
            size_a: int32 @ block[1] = int32(min(middle - begin, k))
            size_b: int32 @ block[1] = int32(min(end - middle, k))
            first: int64 @ block[1] = (row * runs + run) * slots
            target: int64 @ block[1] = pair // behind * room * behind + pair % behind
            with partition(values, thread[1], offset=first) as left, partition(values, thread[1], offset=first + slots) as right:
                with group(thread[1]):
                    total: int32 = int32(min(int64(size_a) + size_b, k))
                    diagonal: int32 = int32(min(tile * TILE + t * ITEMS, int64(total)))
                    i: int32 = thread.merge_path(left, size_a, right, size_b, diagonal, LESS=less)
                    j: int32 = diagonal - i
                    for step in range(ITEMS):
                        if i + j < total:
                            from_b: bool = i >= size_a
                            if i < size_a and j < size_b:
                                one: B = left[i]
                                other: B = right[j]
                                from_b = less(other, one)
                            at: int64 = target + (int64(i) + j) * behind
                            if from_b:
                                out[at] = right[j]
                                positions[at] = spots[first + slots + j]
                                j = j + 1
                            else:
                                out[at] = left[i]
                                positions[at] = spots[first + i]
                                i = i + 1


EXAMPLES = {
    "merge_rows": {
        "B": "uint32", "U": "uint32", "KIND": 2, "INFINITY": 0x7F800000, "LARGEST": True, "ITEMS": 8, "THREADS": 256,
    },
}
