"""The first elements of each row, in their order: a block a row, or a part of one, which it reads once.

A short row is held in shared memory. Of a longer one the block looks at some elements first, and takes one of them for a bound,
such that it is all but certain that enough elements come before it, and that there is room for them. It reads the row and keeps
those. The first of these are found exactly, and sorted. If too few came before the bound, or too many, the row is read again,
digit by digit.

Elements are ordered by their key, and then by their place: so no two are equal, whatever the data are, and the result is the same
in every run, in whatever order threads come to keep what they keep.
"""

from prism.lang import (
    atomic_add, attr, bitcast, block, const, constexpr, count, dtype, grid, group, id, int32, int64, load_vector,
    partition, prefetch, prism,
    ptr, requires, shared, template, thread, uint32, vector,
)
from prism.kernels.topk.keys import FLOAT, Narrow, key_of, stands_before, value_of


@prism("global")
@template(
    B=dtype, U=dtype, V=dtype, E=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool),
    DIRECT=constexpr(bool),
    NAMED=constexpr(bool), ROOM=constexpr(int), SAMPLE=constexpr(int), KEPT=constexpr(int), WIDTH=constexpr(int),
    AHEAD=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def top_rows(
    x: ptr(const(B)) @ grid[1], names: ptr(const(int64)) @ grid[1], y: ptr(B) @ grid[1], indices: ptr(int64) @ grid[1],
    n: int64 @ grid[1], k: int32 @ grid[1], rows: int64 @ grid[1], parts: int64 @ grid[1], inner: int64 @ grid[1],
    outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1], outer_step: int64 @ grid[1],
    inner_step: int64 @ grid[1], behind: int64 @ grid[1], bound_rank: int32 @ grid[1], skew: int32 @ grid[1],
):
    """`y` becomes the first `k` elements of each part of each row, in their order, and `indices` where they stand in the row.

    Perspective: grid, of any number of blocks of `THREADS` threads, at least 256.
    Shapes:      element `i` of row `r` of `x` is `r / inner * outer_stride + r % inner * inner_stride + i * n_stride` elements
                 from `x[0]`, and has the bits `B`; `KIND`, `INFINITY`, `LARGEST` and the keys' type `U`: as of `key_of`. `V`:
                 the type of elements, or their bits'. `E`: `Narrow` or `Wide`. Each row has `n` elements, and is cut into `parts`
                 of nearly equal length; of one that has fewer than `k` all are written, and places behind stay as they are.
                 Where rows are written in C order, row `r` is number `q = r / inner * outer_step + r % inner * inner_step`; then
                 its element `j` of the result is `q / behind * k * behind + q % behind + j * behind`, and of more than one part
                 part `p` is taken for row `q * parts + p`, and `behind` is 1. `NAMED`: positions are those in `names`, which lies
                 as `x` does. `k`: at most `THREADS * KEPT`. `DIRECT`: a part has at most `ROOM` elements. Else it has fewer than
                 2^31, of which `SAMPLE` are looked at, a multiple of 8 up to `ROOM`, and the one of rank `bound_rank` of these is
                 the bound. `WIDTH`: elements of a vector; 1 unless `n_stride` is 1; `AHEAD` of them are loaded at once. `skew`:
                 how many elements `x` begins past one that is aligned to a vector.
    Test:        tests/kernels/test_topk.py, tests/gpu/test_topk.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    TILE: constexpr(int) = THREADS * KEPT
    FEW: constexpr(int) = 128  # so many are sorted by comparing each with all
    RUN: constexpr(int) = 8 if WIDTH > 1 else 1  # of a sample, elements side by side: a sector of memory has as many
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(y, thread[1], offset=lambda i: i, races="none") as values, partition(
        indices, thread[1], offset=lambda i: i, races="none"
    ) as positions, group(block[1]):
        t: int32 @ thread[1] = id()
        keys: shared(U[ROOM])
        spots: shared(uint32[1 if DIRECT else ROOM])
        chosen: shared(E[TILE])
        counter: shared(uint32[1])
        base: int64 @ block[1] = 0  # where the part begins
        bound: U @ block[1] = 0
        last: int32 @ block[1] = 0  # of elements whose key is the bound, the place up to which they are taken

        @requires(thread[1])
        def key_at(i: int32 @ thread[1]) -> U @ thread[1]:
            return key_of(x[base + int64(i) * n_stride], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)

        @requires(thread[1])
        def held_key(i: int32 @ thread[1]) -> U @ thread[1]:
            return keys[i]

        @requires(thread[1])
        def held_place(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return uint32(i) if DIRECT else spots[i]

        @requires(thread[1])
        def number_of(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return uint32(i)

        @requires(thread[1])
        def every(i: int32 @ thread[1]) -> bool @ thread[1]:
            return True

        @requires(thread[1])
        def is_bound(i: int32 @ thread[1]) -> bool @ thread[1]:
            return key_at(i) == bound

        @requires(thread[1])
        def held_is_bound(i: int32 @ thread[1]) -> bool @ thread[1]:
            return keys[i] == bound

        @requires(block[1], thread[THREADS])
        def keep(many: int32 @ block[1]) -> int32 @ block[1]:
            """Keep what comes before the bound; return how many there are, though there may not be room for all."""
            block.fill(counter, 0, 1)
            with partition(keys, thread[1], offset=lambda s: s, races="none") as key_slots, partition(
                spots, thread[1], offset=lambda s: s, races="none"
            ) as place_slots, partition(x, block[1], offset=base) as row:
                with group(thread[1]):

                    @requires(thread[1])
                    def offer(i: int32 @ thread[1], bits: B @ thread[1]):
                        key: U = key_of(bits, U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                        if key <= bound:
                            if key < bound or i <= last:
                                slot: uint32 = atomic_add(counter[0], 1, scope="block")
                                if slot < ROOM:
                                    key_slots[slot] = key
                                    place_slots[slot] = uint32(i)

                    unbound: bool = KIND == FLOAT and bound == ALL  # by NaN, which is compared with nothing
                    edge: V = bitcast(value_of(bound, B=B, KIND=KIND, LARGEST=LARGEST), V)
                    if WIDTH > 1:
                        before: int32 = min((WIDTH - int32((skew + base) % WIDTH)) % WIDTH, many)
                        vectors: int32 = (many - before) / WIDTH
                        if t < before:
                            offer(t, row[t])
                        v: int32 = t
                        while v < vectors:
                            following: int32 = before + (v + AHEAD * THREADS) * WIDTH
                            if t == 0:
                                prefetch(row[following], min(max(many - following, 0), AHEAD * THREADS * WIDTH))
                            words: vector(B, WIDTH)[AHEAD]
                            for a in range(AHEAD):
                                if v + a * THREADS < vectors:
                                    words[a] = load_vector(row[before + (v + a * THREADS) * WIDTH], WIDTH)
                            hits: uint32 = 0  # which may be before the bound
                            for a in range(AHEAD):
                                if v + a * THREADS < vectors:
                                    for w in range(WIDTH):
                                        value: V = bitcast(words[a][w], V)
                                        hit: bool = (value >= edge if LARGEST else value <= edge) or unbound
                                        hits = hits | (uint32(1) << a * WIDTH + w if hit else uint32(0))
                            if hits != 0:  # few are: not read again, for that takes its turn behind all that is under way
                                for a in range(AHEAD):
                                    for w in range(WIDTH):
                                        if hits >> a * WIDTH + w & 1 != 0:
                                            offer(before + (v + a * THREADS) * WIDTH + w, words[a][w])
                            v = v + AHEAD * THREADS
                        for i in range(before + vectors * WIDTH + t, many, THREADS):
                            offer(i, row[i])
                    else:
                        for i in range(t, many, THREADS, unroll=4):
                            offer(i, row[int64(i) * n_stride])
            return int32(min(counter[0], uint32(2147483647)))

        for job in range(me, rows * parts, blocks):
            row: int64 @ block[1] = job / parts
            part: int64 @ block[1] = job - row * parts
            o: int64 @ block[1] = row / inner
            across: int64 @ block[1] = row - o * inner
            first: int64 @ block[1] = n * part / parts
            length: int32 @ block[1] = int32(n * (part + 1) / parts - first)
            below: int32 @ block[1] = 0
            equal: int32 @ block[1] = 0
            most: int32 @ block[1] = min(k, length)
            many: int32 @ block[1] = 0  # how many are held
            base = o * outer_stride + across * inner_stride + first * n_stride
            if DIRECT:
                with partition(keys, thread[1], offset=t) as own, group(thread[1]):
                    for i in range(t, length, 8 * THREADS):
                        ones: U[8]
                        for a in range(8):  # all are under way before the first one is stored
                            if i + a * THREADS < length:
                                ones[a] = key_at(i + a * THREADS)
                        for a in range(8):
                            if i + a * THREADS < length:
                                own[i + a * THREADS - t] = ones[a]
                many = length
            else:
                with partition(keys, thread[1], offset=t) as own, partition(
                    spots, thread[1], offset=t
                ) as place, group(thread[1]):
                    for first_one in range(t, SAMPLE, 4 * THREADS):
                        ones: U[4]
                        chosen_at: uint32[4]
                        for a in range(4):
                            j: int32 = first_one + a * THREADS
                            if j < SAMPLE:
                                s: int32 = j / RUN
                                begin: int32 = int32(int64(s) * length / (SAMPLE // RUN))
                                span: int32 = length / (SAMPLE // RUN) - RUN  # where else a run could begin
                                mixed: uint32 = uint32(s) * 2654435761
                                i: int32 = begin + int32(int64(mixed >> 12) * max(span, 0) >> 20) + j % RUN
                                ones[a] = key_at(i)
                                chosen_at[a] = uint32(i)
                        for a in range(4):
                            if first_one + a * THREADS < SAMPLE:
                                own[first_one + a * THREADS - t] = ones[a]
                                place[first_one + a * THREADS - t] = chosen_at[a]
                bound, below, equal = block.select_rank(
                    SAMPLE, bound_rank, U=U, KEY=held_key, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
                )
                last = length
                if equal > 4:
                    spot: uint32 @ block[1] = 0
                    spot, below, equal = block.select_rank(
                        SAMPLE, bound_rank - below, U=uint32, KEY=held_place, COUNTS=held_is_bound, BITS=32, THREADS=THREADS,
                    )
                    last = int32(spot)
                many = keep(length)
                if many < most or many > ROOM:
                    bound, below, equal = block.select_rank(
                        length, most - 1, U=U, KEY=key_at, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
                    )
                    last = length
                    if below + equal > most:
                        spot: uint32 @ block[1] = 0
                        spot, below, equal = block.select_rank(
                            length, most - 1 - below, U=uint32, KEY=number_of, COUNTS=is_bound, BITS=32, THREADS=THREADS,
                        )
                        last = int32(spot)
                    many = keep(length)
            bound = ALL
            last = 2147483647
            if many > most:
                bound, below, equal = block.select_rank(
                    many, most - 1, U=U, KEY=held_key, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
                )
                if below + equal > most:
                    spot: uint32 @ block[1] = 0
                    spot, below, equal = block.select_rank(
                        many, most - 1 - below, U=uint32, KEY=held_place, COUNTS=held_is_bound, BITS=32, THREADS=THREADS,
                    )
                    last = int32(spot)
            block.fill(counter, 0, 1)
            with partition(chosen, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):
                for i in range(t, many, THREADS):
                    key: U = keys[i]
                    place: uint32 = uint32(i) if DIRECT else spots[i]
                    if key < bound or (key == bound and int32(place) <= last):
                        slot: uint32 = atomic_add(counter[0], 1, scope="block")
                        slots[slot] = E(key, place)
            sorted: E[KEPT] @ thread[1]
            with group(thread[1]):
                for j in range(KEPT):
                    sorted[j] = chosen[t * KEPT + j] if t * KEPT + j < most else E(U(ALL), uint32(4294967295))
            if most <= FEW:
                ranks: int32[KEPT] @ thread[1]
                with group(thread[1]):
                    for j in range(KEPT):
                        ranks[j] = -1
                    if t * KEPT < most:
                        for j in range(KEPT):
                            ranks[j] = 0 if t * KEPT + j < most else -1
                        for s in range(most, unroll=4):
                            other: E = chosen[s]
                            for j in range(KEPT):
                                if t * KEPT + j < most:
                                    ranks[j] = ranks[j] + (1 if stands_before(other, sorted[j]) else 0)
                block.scatter_to_blocked(sorted, ranks, most, THREADS=THREADS)
            else:
                block.merge_sort(sorted, THREADS=THREADS, LESS=stands_before)
            number: int64 @ block[1] = (o * outer_step + across * inner_step) * parts + part
            target: int64 @ block[1] = number / behind * k * behind + number % behind
            with group(thread[1]):
                for j in range(KEPT):
                    if t * KEPT + j < most:
                        at: int64 = base + int64(sorted[j].place) * n_stride
                        values[target + (t * KEPT + j) * behind] = x[at]
                        positions[target + (t * KEPT + j) * behind] = names[at] if NAMED else first + int64(sorted[j].place)


EXAMPLES = {
    "top_rows": {
        "B": "uint32", "U": "uint32", "V": "float32", "E": Narrow, "KIND": 2, "INFINITY": 0x7F800000, "LARGEST": True,
        "DIRECT": False,
        "NAMED": False, "ROOM": 8192, "SAMPLE": 4096, "KEPT": 2, "WIDTH": 4, "AHEAD": 4, "THREADS": 512, "BLOCKS": 2,
    },
}
