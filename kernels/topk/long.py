"""The first elements of few, long rows, in their order: all blocks read a row, once.

Some elements of a row are looked at first: of each of many groups of them the first. One of these is taken for a bound, such that
it is all but certain that enough elements come before it. All blocks read the row, and keep what does: one compare an element,
and seldom more. A block finds the first ones of these exactly, and puts them in order. If there were too few, or too many, it
says so, and `top_rows` does the row.

Elements are ordered by their key, and then by their place, as in `top_rows`.
"""

from prism.lang import (
    atomic_add, attr, block, const, constexpr, count, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shared, template, thread, uint32, warp,
)
from prism.kernels.topk.choosing import find_bound, write_first
from prism.kernels.topk.keys import Narrow, key_of
from prism.kernels.topk.rows import NOWHERE, hits_among, load_ahead
from prism.lib.thread import operators

GROUPS = 1024  # of a sample


@prism.kernel
@template(
    B=dtype, U=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool), GROUPS=constexpr(int),
    THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def sample_rows(
    x: ptr(const(B)) @ grid[1], keys: ptr(U) @ grid[1], spots: ptr(uint32) @ grid[1], counts: ptr(int64) @ grid[1],
    n: int64 @ grid[1], each: int32 @ grid[1], rows: int64 @ grid[1], inner: int64 @ grid[1], outer_stride: int64 @ grid[1],
    n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1],
):
    """Of each of `GROUPS` groups of some elements of a row `keys` and `spots` become the first one's key and place.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      rows lie as of `top_rows`. A group has `32 * each` elements, all of them no more than a row, which has fewer than
                 2^31. `keys`, `spots`: `GROUPS` a row; `counts`: one, which becomes 0.
    Test:        tests/kernels/test_topk_long.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    me: int64 @ thread[32] = id()
    teams: int64 @ grid[1] = count(warp[1])
    span: uint32 @ grid[1] = uint32(n // (GROUPS * 32 * each))
    with partition(keys, thread[1], offset=lambda i: i, races="none") as out, partition(
        spots, thread[1], offset=lambda i: i, races="none"
    ) as out_spots, partition(counts, thread[1], offset=lambda i: i, races="none") as number, group(thread[32]):
        lane: int32 @ thread[1] = id()
        for job in range(me, rows * GROUPS, teams):
            row: int64 @ thread[32] = job // GROUPS
            g: int32 @ thread[32] = int32(job - row * GROUPS)
            base: int64 @ thread[32] = row // inner * outer_stride + row % inner * inner_stride
            least: U @ thread[1] = ALL
            spot: uint32 @ thread[1] = 4294967295
            with group(thread[1]):
                for i in range(each, unroll=8):
                    turn: uint32 = uint32(i * 32 + lane)  # neighbours in the row are of groups in no order
                    mixed: uint32 = turn * 2654435761
                    j: uint32 = turn * GROUPS + (uint32(g) + (mixed >> 12)) % GROUPS
                    mixed = j * 2654435761
                    place: uint32 = j * span + ((mixed ^ mixed >> 15) * 2246822519 >> 4) % span
                    key: U = key_of(x[base + int64(place) * n_stride], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                    if i == 0 or key < least:
                        least = key
                        spot = place
            first: U @ thread[32] = warp.reduce(least, OP=operators.minimum)
            place: uint32 @ thread[32] = warp.reduce(spot if least == first else uint32(4294967295), OP=operators.minimum)
            with group(thread[1]):
                if lane == 0:
                    out[job] = first
                    out_spots[job] = place
                    if g == 0:
                        number[row] = 0


@prism.kernel
@template(U=dtype, BITS=constexpr(int), GROUPS=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def choose_bounds(
    keys: ptr(const(U)) @ grid[1], spots: ptr(const(uint32)) @ grid[1], bounds: ptr(U) @ grid[1], lasts: ptr(int32) @ grid[1],
    rank: int32 @ grid[1], rows: int64 @ grid[1],
):
    """`bounds` and `lasts` become key and place of the one of rank `rank`, from 0 on, of those that `sample_rows` has found.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Test:        tests/kernels/test_topk_long.py
    """
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(bounds, thread[1], offset=lambda i: i, races="none") as out, partition(
        lasts, thread[1], offset=lambda i: i, races="none"
    ) as out_lasts, group(block[1]):
        t: int32 @ thread[1] = id()
        firsts: shared(U[GROUPS])
        row: int64 @ block[1] = 0

        @requires(thread[1])
        def first_key(i: int32 @ thread[1]) -> U @ thread[1]:
            return firsts[i]

        @requires(thread[1])
        def first_place(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return spots[row * GROUPS + i]

        for one in range(me, rows, blocks):
            row = one
            with partition(firsts, thread[1], offset=t) as own, group(thread[1]):
                for i in range(t, GROUPS, THREADS):
                    own[i - t] = keys[row * GROUPS + i]
            bound: U @ block[1] = 0
            last: int32 @ block[1] = 0
            bound, last = find_bound(
                GROUPS, rank, 4, NOWHERE, U=U, KEY=first_key, PLACE=first_place, BITS=BITS, THREADS=THREADS,
            )
            with group(thread[1]):
                if t == 0:
                    out[row] = bound
                    out_lasts[row] = last


@prism.kernel
@template(
    B=dtype, U=dtype, V=dtype, E=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool),
    WIDTH=constexpr(int), AHEAD=constexpr(int), LOOPS=constexpr(int), STAGE=constexpr(int), THREADS=constexpr(int),
    BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def keep_before(
    x: ptr(const(B)) @ grid[1], bounds: ptr(const(U)) @ grid[1], lasts: ptr(const(int32)) @ grid[1], counts: ptr(int64) @ grid[1],
    kept: ptr(U) @ grid[1], spots: ptr(uint32) @ grid[1], n: int64 @ grid[1], room: int64 @ grid[1], rows: int64 @ grid[1],
    parts: int64 @ grid[1], inner: int64 @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1],
    inner_stride: int64 @ grid[1], skew: int32 @ grid[1],
):
    """Keep each row's elements up to its bound, their keys in `kept` and their places in `spots`, in any order; count them.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      rows lie as of `top_rows`, of fewer than 2^31 elements, and so do `WIDTH`, `AHEAD` and `skew`. `parts`: a row has
                 so many of `LOOPS * AHEAD * THREADS` vectors. `bounds`, `lasts`: as `choose_bounds` leaves them. `counts`: 0 at
                 first. `kept`, `spots`: `room` a row; more than there is room for are not kept, and `counts` becomes more than
                 `room`. `STAGE`: so many elements of a row are gathered by a block before they are written.
    Test:        tests/kernels/test_topk_long.py
    """
    ITEMS: constexpr(int) = AHEAD * WIDTH
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(kept, thread[1], offset=lambda i: i, races="none") as out, partition(
        spots, thread[1], offset=lambda i: i, races="none"
    ) as out_spots, group(block[1]):
        t: int32 @ thread[1] = id()
        held: shared(E[STAGE])
        counter: shared(uint32[1])
        target: shared(int64[1])
        row: int64 @ block[1] = -1
        base: int64 @ block[1] = 0
        bound: U @ block[1] = 0
        last: int32 @ block[1] = 0

        @requires(block[1], thread["THREADS"])
        def write_out():
            """Write what is gathered behind what others have written of this row."""
            many: int32 @ block[1] = min(int32(counter[0]), STAGE)
            if many > 0:
                with partition(target, thread[1], offset=0, races="none") as cell, group(thread[1]):
                    if t == 0:
                        cell[0] = atomic_add(counts[row], int64(many))
                start: int64 @ block[1] = target[0]
                with group(thread[1]):
                    for i in range(t, many, THREADS):
                        if start + i < room:
                            out[row * room + start + i] = held[i].key
                            out_spots[row * room + start + i] = held[i].place
                block.fill(counter, 0, 1)

        block.fill(counter, 0, 1)
        for job in range(me, rows * parts, blocks):
            if job // parts != row:
                if row >= 0:
                    write_out()
                row = job // parts
                base = row // inner * outer_stride + row % inner * inner_stride
                bound = bounds[row]
                last = lasts[row]
            part: int32 @ block[1] = int32(job - row * parts)
            length: int32 @ block[1] = int32(n)
            before: int32 @ block[1] = min((WIDTH - int32((skew + base) % WIDTH)) % WIDTH, length) if WIDTH > 1 else 0
            vectors: int32 @ block[1] = (length - before) // WIDTH
            with partition(held, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):

                @requires(thread[1])
                def offer(i: int32 @ thread[1], bits: B @ thread[1]):
                    key: U = key_of(bits, U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                    if key < bound or (key == bound and i <= last):
                        slot: uint32 = atomic_add(counter[0], 1, scope="block")
                        if slot < STAGE:
                            slots[slot] = E(key, uint32(i))
                        elif int64(slot) - STAGE <= room:  # there are many here: straight to where it belongs
                            spot: int64 = atomic_add(counts[row], int64(1))
                            if spot < room:
                                out[row * room + spot] = key
                                out_spots[row * room + spot] = uint32(i)

                edge: int32 = t if t < before else vectors * WIDTH + t  # an element that is in no vector
                if part == 0 and edge < length:
                    offer(edge, x[base + int64(edge) * n_stride])
                for loop in range(LOOPS, unroll=False):
                    v: int32 = (part * LOOPS + loop) * (AHEAD * THREADS) + t
                    bits: B[ITEMS]
                    load_ahead(x, base + before, v, vectors, n_stride, bits, WIDTH=WIDTH, THREADS=THREADS)
                    hits: uint32 = hits_among(
                        bits, before, v, vectors, bound, last, V=V, KIND=KIND, LARGEST=LARGEST, WIDTH=WIDTH, THREADS=THREADS,
                    )
                    if hits != 0:
                        for e in range(ITEMS):
                            if hits >> e & 1 != 0:
                                offer(before + (v + e // WIDTH * THREADS) * WIDTH + e % WIDTH, bits[e])
        if row >= 0:
            write_out()


@prism.kernel
@template(
    B=dtype, U=dtype, E=dtype, ROOM=constexpr(int), KEPT=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def top_kept(
    x: ptr(const(B)) @ grid[1], kept: ptr(const(U)) @ grid[1], spots: ptr(const(uint32)) @ grid[1],
    counts: ptr(const(int64)) @ grid[1], failed: ptr(int64) @ grid[1], y: ptr(B) @ grid[1], indices: ptr(int64) @ grid[1],
    k: int32 @ grid[1], room: int64 @ grid[1], rows: int64 @ grid[1], inner: int64 @ grid[1], outer_stride: int64 @ grid[1],
    n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1], inner_step: int64 @ grid[1],
    behind: int64 @ grid[1],
):
    """`y` becomes the first `k` of what `keep_before` has kept of each row, in their order, and `indices` where they stand in it.

    `failed` becomes whether there are fewer, or more than there was room for: 1, and then the row's results stay as they are.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `kept`, `spots`, `counts`, `room`: as of `keep_before`, `room` below 2^31. Results are written as those of
                 `top_rows` are. `ROOM`: so many elements are held at once. `k`: at most `THREADS * KEPT`, and `ROOM`.
    Test:        tests/kernels/test_topk_long.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    BITS: constexpr(int) = 8 * B.bytes
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(y, thread[1], offset=lambda i: i, races="none") as values, partition(
        indices, thread[1], offset=lambda i: i, races="none"
    ) as positions, partition(failed, thread[1], offset=lambda i: i, races="none") as fault, group(block[1]):
        t: int32 @ thread[1] = id()
        held: shared(E[ROOM])
        counter: shared(uint32[1])
        base: int64 @ block[1] = 0
        target: int64 @ block[1] = 0
        begin: int64 @ block[1] = 0

        @requires(thread[1])
        def kept_key(i: int32 @ thread[1]) -> U @ thread[1]:
            return kept[begin + i]

        @requires(thread[1])
        def kept_place(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return spots[begin + i]

        @requires(thread[1])
        def write(number: int32 @ thread[1], one: E @ thread[1]):
            values[target + number * behind] = x[base + int64(one.place) * n_stride]
            positions[target + number * behind] = int64(one.place)

        for row in range(me, rows, blocks):
            o: int64 @ block[1] = row // inner
            across: int64 @ block[1] = row - o * inner
            number: int64 @ block[1] = o * outer_step + across * inner_step
            target = number // behind * k * behind + number % behind
            base = o * outer_stride + across * inner_stride
            begin = row * room
            all: int64 @ block[1] = counts[row]
            there: bool @ block[1] = k <= all and all <= room
            with group(thread[1]):
                if t == 0:
                    fault[row] = 0 if there else 1
            if there:
                many: int32 @ block[1] = int32(all)
                bound: U @ block[1] = ALL
                last: int32 @ block[1] = NOWHERE
                if many > ROOM:
                    bound, last = find_bound(
                        many, k - 1, 0, NOWHERE, U=U, KEY=kept_key, PLACE=kept_place, BITS=BITS, THREADS=THREADS,
                    )
                block.fill(counter, 0, 1)
                with partition(held, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):
                    for i in range(t, many, THREADS, unroll=4):
                        key: U = kept[begin + i]
                        place: uint32 = spots[begin + i]
                        if many <= ROOM:
                            slots[i] = E(key, place)
                        elif key < bound or (key == bound and int32(place) <= last):
                            slot: uint32 = atomic_add(counter[0], 1, scope="block")
                            slots[slot] = E(key, place)
                write_first(
                    held, counter, many if many <= ROOM else k, k, U=U, WRITE=write, ALL=ALL, KEPT=KEPT, BITS=BITS,
                    THREADS=THREADS,
                )


_KEYS = {"B": "uint32", "U": "uint32", "KIND": 2, "INFINITY": 0x7F800000, "LARGEST": True}
EXAMPLES = {
    "sample_rows": {**_KEYS, "GROUPS": GROUPS, "THREADS": 256},
    "choose_bounds": {"U": "uint32", "BITS": 32, "GROUPS": GROUPS, "THREADS": 256},
    "keep_before": {
        **_KEYS, "V": "float32", "E": Narrow, "WIDTH": 4, "AHEAD": 4, "LOOPS": 8, "STAGE": 4096, "THREADS": 512, "BLOCKS": 2,
    },
    "top_kept": {"B": "uint32", "U": "uint32", "E": Narrow, "ROOM": 16384, "KEPT": 2, "THREADS": 512, "BLOCKS": 1},
}
