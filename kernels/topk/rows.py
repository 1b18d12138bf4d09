"""The first elements of each row, in their order: a block a row, or a part of one, which it reads from memory once.

Each thread looks at some elements first, all of a short row, a sample of a longer one, and has the first of them. One of these is
taken for a bound, such that it is certain, or all but certain, that enough elements come before it, and hardly more. The block
reads the row, a short one from near by, and keeps those. The first of these are found exactly, and put in order. If too few came
before the bound, or too many, the row is read again, digit by digit.

Elements are ordered by their key, and then by their place: so no two are equal, whatever the data are, and the result is the same
in every run, in whatever order threads come to keep what they keep.
"""

from prism.lang import (
    atomic_add, attr, bitcast, block, const, constexpr, dtype, function, grid, group, id, int32, int64, load_vector,
    partition, prefetch, prism, ptr, requires, shared, template, thread, uint32, vector,
)
from prism.kernels.topk.choosing import find_bound, find_near, write_first
from prism.kernels.topk.keys import FLOAT, Narrow, key_of, value_of

NOWHERE = 2147483647  # the place of what is not there


@prism.device
@requires(thread[1])
def place_in_row(j: int32 @ thread[1], length: int32 @ thread[1], size: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where element `j` of a sample stands: somewhere in part `j` of `size` equal parts of a row, which is at least as long."""
    span: int32 = length // size
    mixed: uint32 = uint32(j) * 2654435761
    return j * span + int32(((mixed ^ mixed >> 15) * 2246822519 >> 4) % uint32(span))


@prism.device
@requires(thread[1])
@template(B=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def load_ahead(
    x: ptr(const(B)) @ grid[1], at: int64 @ thread[1], v: int32 @ thread[1], vectors: int32 @ thread[1],
    n_stride: int64 @ thread[1], bits: B[ITEMS] @ thread[1],
):
    """Load vectors `v`, `v + THREADS` and so on of those that begin at `x[at]`, all at once, but for those that are not there."""
    for a in range(ITEMS // WIDTH):
        if v + a * THREADS < vectors:
            if WIDTH > 1:
                word: vector(B, WIDTH) = load_vector(x[at + int64(v + a * THREADS) * WIDTH], WIDTH)
                for w in range(WIDTH):
                    bits[a * WIDTH + w] = word[w]
            else:
                bits[a] = x[at + int64(v + a * THREADS) * n_stride]


@prism.device
@requires(thread[1])
@template(
    B=dtype, U=dtype, V=dtype, KIND=constexpr(int), LARGEST=constexpr(bool), ITEMS=constexpr(int), WIDTH=constexpr(int),
    THREADS=constexpr(int),
)
def hits_among(
    bits: B[ITEMS] @ thread[1], before: int32 @ thread[1], v: int32 @ thread[1], vectors: int32 @ thread[1],
    bound: U @ thread[1], last: int32 @ thread[1],
) -> uint32 @ thread[1]:
    """Which of the elements that `load_ahead` has loaded may come before the bound, or are equal to it: a bit of each.

    The first vector begins at element `before`. Behind place `last` equal ones are not wanted: all elements may be equal.
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    unbound: bool = KIND == FLOAT and bound == ALL  # by NaN, which is compared with nothing
    near: V = bitcast(value_of(bound, B=B, KIND=KIND, LARGEST=LARGEST), V)
    far: V = bitcast(value_of(max(bound, U(1)) - U(1), B=B, KIND=KIND, LARGEST=LARGEST), V)
    hits: uint32 = 0
    for a in range(ITEMS // WIDTH):
        if v + a * THREADS < vectors:
            edge: V = near if before + (v + a * THREADS) * WIDTH <= last else far
            for w in range(WIDTH):
                value: V = bitcast(bits[a * WIDTH + w], V)
                hit: bool = (value >= edge if LARGEST else value <= edge) or unbound
                hits = hits | (uint32(1) << a * WIDTH + w if hit else uint32(0))
    return hits


@prism.device
@requires(block[1], thread[32])
@template(
    B=dtype, U=dtype, V=dtype, E=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool),
    ROOM=constexpr(int), WIDTH=constexpr(int), AHEAD=constexpr(int), THREADS=constexpr(int), FAR=constexpr(bool),
)
def keep_up_to(
    x: ptr(const(B)) @ grid[1], held: ptr(E) @ block[1], counter: ptr(uint32) @ block[1], base: int64 @ block[1],
    length: int32 @ block[1], before: int32 @ block[1], n_stride: int64 @ block[1], bound: U @ block[1], last: int32 @ block[1],
):
    """Put a row's elements up to a bound into `held`, in any order; `counter` becomes how many there are, room for them or not.

    Perspective: block, of `THREADS` threads.
    Shapes:      the row has `length` elements from `x[base]` on, of which `before` stand before its first vector; of those with
                 the key `bound` those up to place `last` are taken. `ROOM`, `WIDTH`, `AHEAD`: as of `top_rows`. `FAR`: what is
                 read next is prefetched.
    """
    t: int32 @ thread[1] = id()
    vectors: int32 @ block[1] = (length - before) // WIDTH
    block.fill(counter, 0, 1, THREADS=THREADS)
    with partition(held, thread[1], offset=lambda s: s, races="none") as slots, group(thread[1]):

        @requires(thread[1])
        def offer(i: int32 @ thread[1], bits: B @ thread[1]):
            key: U = key_of(bits, U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
            if key < bound or (key == bound and i <= last):
                slot: uint32 = atomic_add(counter[0], 1, scope="block")
                if slot < ROOM:
                    slots[slot] = E(key, uint32(i))

        edge: int32 = t if t < before else vectors * WIDTH + t  # an element that is in no vector
        if edge < length:
            offer(edge, x[base + int64(edge) * n_stride])
        for v in range(t, vectors, AHEAD * THREADS, unroll=False):
            if FAR and WIDTH > 1 and t == 0:
                following: int32 = before + (v + AHEAD * THREADS) * WIDTH
                prefetch(x[base + following], min(max(length - following, 0), THREADS * AHEAD * WIDTH))
            bits: B[AHEAD * WIDTH]
            load_ahead(x, base + before, v, vectors, n_stride, bits, WIDTH=WIDTH, THREADS=THREADS)
            hits: uint32 = hits_among(
                bits, before, v, vectors, bound, last, V=V, KIND=KIND, LARGEST=LARGEST, WIDTH=WIDTH, THREADS=THREADS,
            )
            if hits != 0:  # few are: not read again, for that takes its turn behind all that is under way
                for e in range(AHEAD * WIDTH):
                    if hits >> e & 1 != 0:
                        offer(before + (v + e // WIDTH * THREADS) * WIDTH + e % WIDTH, bits[e])


@prism.device
@requires(thread[1])
@template(
    B=dtype, U=dtype, V=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool), LOAD=function,
    GROUPS=constexpr(int), WIDTH=constexpr(int), AHEAD=constexpr(int), THREADS=constexpr(int),
)
def look_at_all(
    x: ptr(const(B)) @ grid[1], least: U[GROUPS] @ thread[1], spots: int32[GROUPS] @ thread[1], t: int32 @ thread[1],
    edge: int32 @ thread[1], vectors: int32 @ thread[1], base: int64 @ thread[1], length: int32 @ thread[1],
    before: int32 @ thread[1], n_stride: int64 @ grid[1],
):
    """Find the first of each group of a thread's elements of a row, all of them: their keys, and where they stand.

    The `t`-th thread's are those that `LOAD(v, bits)` brings, as `load_ahead`, and number `edge`, which is in no vector.

    Shapes:      as of `keep_up_to`; `least`, `spots`: `GROUPS` each, for groups without elements as they are.
    Test:        tests/kernels/test_topk.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    LATEST: constexpr(int) = (1 << 8 * B.bytes - 1) + INFINITY if KIND == FLOAT else ALL  # the last key but that of NaN
    ITEMS: constexpr(int) = AHEAD * WIDTH
    if WIDTH > 1 and t == 0:
        prefetch(x[base + before], length - before)
    ones: V[GROUPS]  # as they are: a key takes more instructions than a comparison
    for g in range(GROUPS):
        ones[g] = bitcast(value_of(U(LATEST), B=B, KIND=KIND, LARGEST=LARGEST), V)
    if edge < length:
        one: V = bitcast(x[base + int64(edge) * n_stride], V)
        if one >= ones[0] if LARGEST else one <= ones[0]:
            ones[0] = one
            spots[0] = edge
    for v in range(t, vectors, AHEAD * THREADS, unroll=False):
        bits: B[ITEMS]
        LOAD(v, bits)
        for e in range(ITEMS):
            if v + e // WIDTH * THREADS < vectors:
                one: V = bitcast(bits[e], V)
                best: V = ones[e * GROUPS // ITEMS]
                if one >= best if LARGEST else one <= best:  # never of NaN
                    ones[e * GROUPS // ITEMS] = one
                    spots[e * GROUPS // ITEMS] = before + (v + e // WIDTH * THREADS) * WIDTH + e % WIDTH
    for g in range(GROUPS):
        if spots[g] != NOWHERE:
            least[g] = key_of(bitcast(ones[g], B), U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)


@prism.device
@requires(thread[1])
@template(U=dtype, KEY=function, GROUPS=constexpr(int), THREADS=constexpr(int))
def look_at_sample(
    least: U[GROUPS] @ thread[1], spots: int32[GROUPS] @ thread[1], t: int32 @ thread[1], length: int32 @ thread[1],
    sample: int32 @ thread[1],
):
    """Find the first of each group of the `t`-th thread's elements of a row, at `sample` of each: `KEY(place)`, and where.

    Test: tests/kernels/test_topk.py
    """
    FIRSTS: constexpr(int) = THREADS * GROUPS
    for i in range(sample, unroll=4):
        for g in range(GROUPS):  # no thread has what is as far apart as threads are
            j: int32 = (i * GROUPS + g) * THREADS + (t + i * 101) % THREADS
            place: int32 = place_in_row(j, length, sample * FIRSTS)
            key: U = KEY(place)
            if i == 0 or key < least[g]:
                least[g] = key
                spots[g] = place


@prism.kernel
@template(
    B=dtype, U=dtype, V=dtype, E=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool),
    DIRECT=constexpr(bool), NAMED=constexpr(bool), CHECKED=constexpr(bool), ROOM=constexpr(int), GROUPS=constexpr(int),
    KEPT=constexpr(int), WIDTH=constexpr(int), AHEAD=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def top_rows(
    x: ptr(const(B)) @ grid[1], names: ptr(const(int64)) @ grid[1], failed: ptr(const(int64)) @ grid[1], y: ptr(B) @ grid[1],
    indices: ptr(int64) @ grid[1], n: int64 @ grid[1], k: int32 @ grid[1], rows: int64 @ grid[1], parts: int64 @ grid[1],
    inner: int64 @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1],
    outer_step: int64 @ grid[1], inner_step: int64 @ grid[1], behind: int64 @ grid[1], sample: int32 @ grid[1],
    bound_rank: int32 @ grid[1], skew: int32 @ grid[1], begin: int64 @ grid[1],
):
    """`y` becomes the first `k` elements of each part of each row, in their order, and `indices` where they stand in the row.

    Perspective: grid, a block of `THREADS` threads for each part, from number `begin` on of those of all rows.
    Shapes:      element `i` of row `r` of `x` is `r / inner * outer_stride + r % inner * inner_stride + i * n_stride` elements
                 from `x[0]`, and has the bits `B`; `KIND`, `INFINITY`, `LARGEST` and the keys' type `U`: as of `key_of`. `V`:
                 the type of elements, or their bits'. `E`: `Narrow` or `Wide`. Each row has `n` elements, and is cut into `parts`
                 of nearly equal length, below 2^31; of one that has fewer than `k` all are written, and places behind stay as
                 they are.
                 Where rows are written in C order, row `r` is number `q = r / inner * outer_step + r % inner * inner_step`; then
                 its element `j` of the result is `q / behind * k * behind + q % behind + j * behind`, and of more than one part
                 part `p` is taken for row `q * parts + p`, and `behind` is 1. `NAMED`: positions are those in `names`, which lies
                 as `x` does. `CHECKED`: only rows are done whose number in `failed` is not 0. `k`: at most `THREADS * KEPT`, and
                 `ROOM`: so many elements may be up to the bound. A thread takes its elements in `GROUPS`: at most `ROOM` of all
                 threads. `DIRECT`: it looks at all of them; of 0 groups the bound is found exactly. Else at `sample` of
                 each group, all threads at no more than a part has, and the bound is the one of rank `bound_rank` of the first
                 ones. `WIDTH`: elements of a vector; 1 unless `n_stride` is 1; `AHEAD` of them, at most 32 elements, are loaded
                 at once.
                 `skew`: how many elements `x` begins past one that is aligned to a vector.
    Test:        tests/kernels/test_topk.py, tests/gpu/test_topk.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    BITS: constexpr(int) = 8 * B.bytes
    FIRSTS: constexpr(int) = THREADS * max(GROUPS, 1)
    me: int64 @ block[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as values, partition(
        indices, thread[1], offset=lambda i: i, races="none"
    ) as positions, group(block[1]):
        t: int32 @ thread[1] = id()
        held: shared(E[ROOM])
        counter: shared(uint32[1])
        base: int64 @ block[1] = 0  # where the part begins
        first: int64 @ block[1] = 0
        target: int64 @ block[1] = 0
        bound: U @ block[1] = 0
        last: int32 @ block[1] = 0  # of elements whose key is the bound, the place up to which they are taken

        @requires(thread[1])
        def key_at(i: int32 @ thread[1]) -> U @ thread[1]:
            return key_of(x[base + int64(i) * n_stride], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)

        @requires(thread[1])
        def number_of(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return uint32(i)

        @requires(thread[1])
        def held_key(i: int32 @ thread[1]) -> U @ thread[1]:
            return held[i].key

        @requires(thread[1])
        def held_place(i: int32 @ thread[1]) -> uint32 @ thread[1]:
            return held[i].place

        @requires(thread[1])
        def write(number: int32 @ thread[1], one: E @ thread[1]):
            at: int64 = base + int64(one.place) * n_stride
            values[target + number * behind] = x[at]
            positions[target + number * behind] = names[at] if NAMED else first + int64(one.place)

        job: int64 @ block[1] = begin + me
        row: int64 @ block[1] = job // parts
        if not CHECKED or failed[row] != 0:
            part: int64 @ block[1] = job - row * parts
            o: int64 @ block[1] = row // inner
            across: int64 @ block[1] = row - o * inner
            number: int64 @ block[1] = (o * outer_step + across * inner_step) * parts + part
            target = number // behind * k * behind + number % behind
            first = n * part // parts
            length: int32 @ block[1] = int32(n * (part + 1) // parts - first)
            most: int32 @ block[1] = min(k, length)
            base = o * outer_stride + across * inner_stride + first * n_stride
            before: int32 @ block[1] = min((WIDTH - int32((skew + base) % WIDTH)) % WIDTH, length) if WIDTH > 1 else 0
            vectors: int32 @ block[1] = (length - before) // WIDTH
            edge: int32 @ thread[1] = t if t < before else vectors * WIDTH + t  # an element that is in no vector
            bound = ALL
            last = length - 1
            if GROUPS > 0:
                least: U[GROUPS] @ thread[1]
                spots: int32[GROUPS] @ thread[1]
                near: bool @ block[1] = False

                @requires(thread[1])
                def load(v: int32 @ thread[1], bits: B[AHEAD * WIDTH] @ thread[1]):
                    load_ahead(x, base + before, v, vectors, n_stride, bits, WIDTH=WIDTH, THREADS=THREADS)

                with group(thread[1]):
                    for g in range(GROUPS):
                        least[g] = ALL
                        spots[g] = NOWHERE
                    if DIRECT:
                        look_at_all(
                            x, least, spots, t, edge, vectors, base, length, before, n_stride, V=V, KIND=KIND,
                            INFINITY=INFINITY, LARGEST=LARGEST, LOAD=load, WIDTH=WIDTH, AHEAD=AHEAD, THREADS=THREADS,
                        )
                    else:
                        look_at_sample(least, spots, t, length, sample, KEY=key_at, THREADS=THREADS)
                if DIRECT:
                    bound, near = find_near(least, most - 1, 8 + most // 8, THREADS=THREADS)
                if not near:
                    with partition(held, thread[1], offset=t) as own, group(thread[1]):
                        for g in range(GROUPS):
                            own[g * THREADS] = E(least[g], uint32(spots[g]))
                    bound, last = find_bound(
                        FIRSTS, most - 1 if DIRECT else bound_rank, 4, length - 1, U=U, KEY=held_key, PLACE=held_place, BITS=BITS,
                        THREADS=THREADS,
                    )
            elif most < length:
                bound, last = find_bound(
                    length, most - 1, 0, length - 1, U=U, KEY=key_at, PLACE=number_of, BITS=BITS, THREADS=THREADS,
                )
            keep_up_to(
                x, held, counter, base, length, before, n_stride, bound, last, V=V, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST,
                ROOM=ROOM, WIDTH=WIDTH, AHEAD=AHEAD, THREADS=THREADS, FAR=not DIRECT,
            )
            many: int32 @ block[1] = int32(min(counter[0], uint32(NOWHERE)))
            if GROUPS > 0 and (many < most or many > ROOM):
                bound, last = find_bound(
                    length, most - 1, 0, length - 1, U=U, KEY=key_at, PLACE=number_of, BITS=BITS, THREADS=THREADS,
                )
                keep_up_to(
                    x, held, counter, base, length, before, n_stride, bound, last, V=V, KIND=KIND, INFINITY=INFINITY,
                    LARGEST=LARGEST, ROOM=ROOM, WIDTH=WIDTH, AHEAD=AHEAD, THREADS=THREADS, FAR=not DIRECT,
                )
                many = int32(counter[0])
            write_first(
                held, counter, many, most, U=U, WRITE=write, ALL=ALL, KEPT=KEPT, BITS=BITS, THREADS=THREADS,
            )


EXAMPLES = {
    "top_rows": {
        "B": "uint32", "U": "uint32", "V": "float32", "E": Narrow, "KIND": 2, "INFINITY": 0x7F800000, "LARGEST": True,
        "DIRECT": False, "NAMED": False, "CHECKED": False, "ROOM": 4096, "GROUPS": 1, "KEPT": 2, "WIDTH": 4, "AHEAD": 4,
        "THREADS": 512, "BLOCKS": 2,
    },
}
