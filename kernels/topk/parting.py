"""Rows are parted at one of their elements: what comes before it, it, and what comes behind, both in the order of the row."""

from prism.lang import (
    attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template,
    thread,
)
from prism.kernels.topk.keys import key_of
from prism.lib.thread import operators


@prism.kernel
@template(B=dtype, U=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def count_before(
    x: ptr(const(B)) @ grid[1], cuts: ptr(const(B)) @ grid[1], spots: ptr(const(int64)) @ grid[1], numbers: ptr(int64) @ grid[1],
    n: int64 @ grid[1], rows: int64 @ grid[1], parts: int64 @ grid[1], inner: int64 @ grid[1], outer_stride: int64 @ grid[1],
    n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1], inner_step: int64 @ grid[1],
):
    """`numbers` become how many elements of each part of each row come before one of the row's.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      rows lie, and are cut, as of `top_rows`. `cuts`: the element of each row, in C order, and `spots` where it
                 stands; of equal ones those that stand before it come before it. `numbers`: `parts` a row.
    Test:        tests/kernels/test_ranks.py
    """
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(numbers, thread[1], offset=lambda i: i, races="none") as out, group(block[1]):
        t: int64 @ thread[1] = id()
        for job in range(me, rows * parts, blocks):
            row: int64 @ block[1] = job // parts
            part: int64 @ block[1] = job - row * parts
            first: int64 @ block[1] = n * part // parts
            end: int64 @ block[1] = n * (part + 1) // parts
            base: int64 @ block[1] = row // inner * outer_stride + row % inner * inner_stride
            number: int64 @ block[1] = row // inner * outer_step + row % inner * inner_step
            cut: U @ block[1] = key_of(cuts[number], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
            place: int64 @ block[1] = spots[number]
            before: int64 @ thread[1] = 0
            with group(thread[1]):
                for i in range(first + t, end, THREADS, unroll=8):
                    key: U = key_of(x[base + i * n_stride], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                    before = before + (1 if key < cut or (key == cut and i < place) else 0)
            all: int64 @ block[1] = block.reduce(before, OP=operators.add)
            with group(thread[1]):
                if t == 0:
                    out[job] = all


@prism.kernel
@template(
    B=dtype, U=dtype, R=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool), PLACES=constexpr(bool),
    FRONT=constexpr(bool), ITEMS=constexpr(int),
    THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def part_rows(
    x: ptr(const(B)) @ grid[1], cuts: ptr(const(B)) @ grid[1], spots: ptr(const(int64)) @ grid[1],
    numbers: ptr(const(int64)) @ grid[1], y: ptr(R) @ grid[1], indices: ptr(int64) @ grid[1], n: int64 @ grid[1],
    kth: int64 @ grid[1], rows: int64 @ grid[1],
    parts: int64 @ grid[1], inner: int64 @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1],
    inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1], inner_step: int64 @ grid[1], behind: int64 @ grid[1],
):
    """`y` becomes the rows, each parted at its element of rank `kth`; `PLACES`: where the elements stand.

    `FRONT`: `y` becomes what comes before that element, and it, `kth + 1` elements a row, and `indices` where they stand.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `count_before`, whose `numbers` are given; results are written as those of `top_rows` are.
    Test:        tests/kernels/test_ranks.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    long: int64 @ grid[1] = kth + 1 if FRONT else n
    with partition(y, thread[1], offset=lambda i: i, races="none") as out, partition(
        indices, thread[1], offset=lambda i: i, races="none"
    ) as out_places, group(block[1]):
        t: int64 @ thread[1] = id()
        for job in range(me, rows * parts, blocks):
            row: int64 @ block[1] = job // parts
            part: int64 @ block[1] = job - row * parts
            first: int64 @ block[1] = n * part // parts
            end: int64 @ block[1] = n * (part + 1) // parts
            base: int64 @ block[1] = row // inner * outer_stride + row % inner * inner_stride
            number: int64 @ block[1] = row // inner * outer_step + row % inner * inner_step
            target: int64 @ block[1] = number // behind * long * behind + number % behind
            cut: U @ block[1] = key_of(cuts[number], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
            place: int64 @ block[1] = spots[number]
            share: int64 @ thread[1] = 0
            with group(thread[1]):
                for p in range(t, part, THREADS):
                    share = share + numbers[row * parts + p]
            before: int64 @ block[1] = block.reduce(share, OP=operators.add)
            for start in range(first, end, TILE):
                items: B[ITEMS] @ thread[1]
                counts: int32[ITEMS] @ thread[1]
                at: int64 @ thread[1] = start + block.place(ITEMS=ITEMS, WIDTH=1)
                with group(thread[1]):
                    for k in range(ITEMS):
                        i: int64 = at + k * 32
                        counts[k] = 0
                        items[k] = x[base + i * n_stride] if i < end else B(0)
                    for k in range(ITEMS):
                        i: int64 = at + k * 32
                        key: U = key_of(items[k], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                        if i < end and (key < cut or (key == cut and i < place)):
                            counts[k] = 1
                flags: int32[ITEMS] @ thread[1]
                for k in range(ITEMS):
                    flags[k] = counts[k]
                total: int32 @ block[1] = block.scan(counts, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
                with group(thread[1]):
                    for k in range(ITEMS):
                        i: int64 = at + k * 32
                        if i < end:
                            spot: int64 = before + counts[k]
                            if flags[k] == 0:
                                spot = kth + 1 + (i - spot) - (1 if i > place else 0)
                                spot = kth if i == place else spot
                            if not FRONT or spot <= kth:
                                out[target + spot * behind] = R(i) if PLACES else R(items[k])
                                if FRONT:
                                    out_places[target + spot * behind] = i
                before = before + total


EXAMPLES = {
    "count_before": {"B": "uint32", "U": "uint32", "KIND": 2, "INFINITY": 0x7F800000, "LARGEST": False, "THREADS": 512},
    "part_rows": {
        "B": "uint32", "U": "uint32", "R": "uint32", "KIND": 2, "INFINITY": 0x7F800000, "LARGEST": False, "PLACES": False,
        "FRONT": False, "ITEMS": 8,
        "THREADS": 512,
    },
}
