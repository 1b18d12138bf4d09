"""Parts of elements, as samples part them, sorted where they stand, each by a block."""

from prism.lang import (
    attr, block, const, constexpr, dtype, function, grid, group, id, int32, int64, partition, prism, ptr, requires, template,
    thread, uint32,
)
from prism.kernels.merge.samples import CHUNK, SEGMENTS
from prism.lib.block.sort import merge_path_within
from prism.lib.thread import operators

STEP = 32
"""So many elements in a row a thread merges of those that no block holds."""


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, V=dtype, VALUES=constexpr(bool), LESS=function, ITEMS=constexpr(int), THREADS=constexpr(int))
def sort_here(
    y: ptr(T) @ block[1], y_values: ptr(V) @ block[1], many: int32 @ block[1], bound: T @ block[1], bounded: bool @ block[1],
    nothing: V @ block[1],
):
    """Sort `many` elements, at most `THREADS * ITEMS`, where they stand. `bound`: none is behind it, where `bounded`."""
    t: int32 @ thread[1] = id()
    items: T[ITEMS] @ thread[1]
    values: V[ITEMS if VALUES else 1] @ thread[1]
    last: T @ block[1] = bound
    block.load_striped(y, items, many, last)
    if not bounded and many < THREADS * ITEMS:
        @requires(thread[1])
        def later(one: T @ thread[1], other: T @ thread[1]) -> T @ thread[1]:
            return other if LESS(one, other) else one

        last = block.reduce(thread.reduce(items, OP=later), OP=later)
        with group(thread[1]):
            for k in range(ITEMS):
                if k * THREADS + t >= many:
                    items[k] = last
    block.striped_to_blocked(items, THREADS=THREADS)
    if VALUES:
        block.load_striped(y_values, values, many, nothing)
        block.striped_to_blocked(values, THREADS=THREADS)
        block.merge_sort_pairs(items, values, THREADS=THREADS, LESS=LESS)
        block.blocked_to_striped(values, THREADS=THREADS)
        block.store_striped(y_values, values, many)
    else:
        block.merge_sort(items, THREADS=THREADS, LESS=LESS)
    block.blocked_to_striped(items, THREADS=THREADS)
    block.store_striped(y, items, many)


@prism.device
@requires(block[1], thread[1])
@template(T=dtype, V=dtype, VALUES=constexpr(bool), LESS=function, THREADS=constexpr(int))
def merge_here(
    x: ptr(const(T)) @ block[1], y: ptr(T) @ block[1], x_values: ptr(const(V)) @ block[1], y_values: ptr(V) @ block[1],
    width: int32 @ block[1], many: int32 @ block[1],
):
    """Merge sorted runs of `width` two and two, of `many` elements, by threads."""
    t: int32 @ thread[1] = id()
    with (
        partition(y, thread[1], offset=lambda place: place, races="none") as own,
        partition(y_values, thread[1], offset=lambda place: place, races="none") as own_values, group(thread[1]),
    ):
        for place in range(t * STEP, many, THREADS * STEP):
            pair: int32 = place // (2 * width) * (2 * width)
            middle: int32 = min(pair + width, many)
            end: int32 = min(middle + width, many)
            i: int32 = pair + merge_path_within(x, pair, middle, end, place - pair, LESS=LESS)
            j: int32 = middle + place - i
            for k in range(STEP):
                if place + k < end:
                    left: T = x[min(i, many - 1)]
                    right: T = x[min(j, many - 1)]
                    less: bool = LESS(right, left)
                    second: bool = i >= middle or (j < end and less)
                    own[place + k] = right if second else left
                    if VALUES:
                        own_values[place + k] = x_values[j if second else i]
                    i = i if second else i + 1
                    j = j + 1 if second else j


@prism.device
@requires(block[1], thread[32])
@template(T=dtype, V=dtype, VALUES=constexpr(bool), LESS=function, ITEMS=constexpr(int), THREADS=constexpr(int))
def sort_long(
    y: ptr(T) @ block[1], spare: ptr(T) @ block[1], y_values: ptr(V) @ block[1], spare_values: ptr(V) @ block[1],
    many: int32 @ block[1], bound: T @ block[1], bounded: bool @ block[1], nothing: V @ block[1],
):
    """Sort elements that no block holds at once: `spare` has room for as many. Samples that are of use leave no such part."""
    t: int32 @ thread[1] = id()
    for start in range(0, many, THREADS * ITEMS):
        with (
            partition(y, block[1], offset=start) as part,
            partition(y_values, block[1], offset=start if VALUES else 0) as part_values,
        ):
            sort_here(
                part, part_values, min(many - start, THREADS * ITEMS), bound, bounded, nothing, VALUES=VALUES, LESS=LESS,
                ITEMS=ITEMS, THREADS=THREADS,
            )
    width: int32 @ block[1] = THREADS * ITEMS // STEP * STEP
    while width < many:
        merge_here(y, spare, y_values, spare_values, width, many, VALUES=VALUES, LESS=LESS, THREADS=THREADS)
        with (
            partition(y, thread[1], offset=lambda place: place, races="none") as own,
            partition(y_values, thread[1], offset=lambda place: place, races="none") as own_values, group(thread[1]),
        ):
            for place in range(t, many, THREADS):
                own[place] = spare[place]
                if VALUES:
                    own_values[place] = spare_values[place]
        width = 2 * width


@prism.kernel
@template(
    T=dtype, V=dtype, VALUES=constexpr(bool), LESS=function, FEW=constexpr(int), MORE=constexpr(int),
    ITEMS=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_parts(
    y: ptr(T) @ grid[1], spare: ptr(T) @ grid[1], y_values: ptr(V) @ grid[1], spare_values: ptr(V) @ grid[1],
    samples: ptr(const(T)) @ grid[1], segments: ptr(const(uint32)) @ grid[1], counts: ptr(const(uint32)) @ grid[1],
    sums: ptr(const(uint32)) @ grid[1], apart: int32 @ grid[1], bits: int32 @ grid[1], parts: int32 @ grid[1],
    nothing: V @ grid[1],
):
    """Sort each part of each segment, as `move_parts` has left them, where it stands; `VALUES` go where their keys go.

    Perspective: grid, a block for each of `parts`, `1 << bits` of each segment.
    Shapes:      `y`: all elements; `spare`: as many, of any content. `samples`, `apart`, `segments`, `counts`, `sums`: as of
                 `move_parts`. A thread has `FEW` elements, up to three times `MORE` besides, or `ITEMS`: as few as suffice.
    Cost:        a read and a write of each element.
    Test:        tests/kernels/test_merge_samples.py
    """
    number: int32 @ block[1] = id()
    with (
        partition(y, block[1], offset=lambda place: place, races="none") as all,
        partition(spare, block[1], offset=lambda place: place, races="none") as beside,
        partition(y_values, block[1], offset=lambda place: place, races="none") as all_values,
        partition(spare_values, block[1], offset=lambda place: place, races="none") as beside_values, group(block[1]),
    ):
        segment: int32 @ block[1] = number >> bits
        part: int32 @ block[1] = number & (1 << bits) - 1
        first: int32 @ block[1] = int32(segments[segment])
        tiles: int32 @ block[1] = int32(segments[segment + 1]) - first
        begin: int64 @ block[1] = int64(segments[SEGMENTS + 1 + segment])
        end: int64 @ block[1] = int64(segments[SEGMENTS + 2 + segment])
        bounded: bool @ block[1] = number + 1 < parts
        bound: T @ block[1] = samples[min(number + 1, parts - 1) * apart]
        least: T @ block[1] = samples[number * apart]
        if tiles > 0 and (number == 0 or not bounded or LESS(least, bound)):  # else all are equal
            here: int32 @ block[1] = (first << bits) + part * tiles
            start: int64 @ block[1] = int64(counts[here] + sums[here // CHUNK])
            if part + 1 < 1 << bits:
                end = int64(counts[here + tiles] + sums[(here + tiles) // CHUNK])
            many: int32 @ block[1] = int32(end - start)
            with (
                partition(all, block[1], offset=start, races="none") as own,
                partition(beside, block[1], offset=start, races="none") as room,
                partition(all_values, block[1], offset=start if VALUES else 0, races="none") as values,
                partition(beside_values, block[1], offset=start if VALUES else 0, races="none") as value_room,
            ):
                if many > THREADS * ITEMS:
                    sort_long(
                        own, room, values, value_room, many, bound, bounded, nothing, VALUES=VALUES, LESS=LESS, ITEMS=ITEMS,
                        THREADS=THREADS,
                    )
                elif many > THREADS * (FEW + 3 * MORE):
                    sort_here(own, values, many, bound, bounded, nothing, VALUES=VALUES, LESS=LESS, ITEMS=ITEMS, THREADS=THREADS)
                elif many > THREADS * (FEW + 2 * MORE):
                    sort_here(
                        own, values, many, bound, bounded, nothing, VALUES=VALUES, LESS=LESS, ITEMS=FEW + 3 * MORE,
                        THREADS=THREADS,
                    )
                elif many > THREADS * (FEW + MORE):
                    sort_here(
                        own, values, many, bound, bounded, nothing, VALUES=VALUES, LESS=LESS, ITEMS=FEW + 2 * MORE,
                        THREADS=THREADS,
                    )
                elif many > THREADS * FEW:
                    sort_here(
                        own, values, many, bound, bounded, nothing, VALUES=VALUES, LESS=LESS, ITEMS=FEW + MORE, THREADS=THREADS,
                    )
                elif many > 1:
                    sort_here(own, values, many, bound, bounded, nothing, VALUES=VALUES, LESS=LESS, ITEMS=FEW, THREADS=THREADS)


EXAMPLES = {
    "sort_parts": {
        "T": "float32", "V": "uint32", "VALUES": False, "LESS": operators.less, "FEW": 29, "MORE": 4, "ITEMS": 65, "THREADS": 128,
        "BLOCKS": 5,
    },
}
