"""Elements of some rank in each row, in one read of it: between two bounds from a sample, and then exactly.

A block looks at some elements of a row, and takes two of them for bounds, such that it is all but certain that the element which
is looked for stands between them. All blocks read the row, count what stands before the first bound, and keep what stands between
both. If that is long it is a row again, else a block finds the element in it; or in the row itself, if the bounds were wrong, or
there was not enough room.

Elements are ordered by their key, and then by their place: so no two are equal, and the bounds serve whatever the data are.
"""

from prism.lang import (
    atomic_add, atomic_or, attr, bitcast, block, const, constexpr, count, dtype, float64, grid, group, id, int32, int64,
    load_vector, partition, popcount, prism, ptr, requires, shared, split, sqrt, template, thread, uint32, vector,
)
from prism.kernels.topk.keys import FLOAT, key_of, value_of
from prism.kernels.topk.quantile import ranks_of
from prism.lib.thread import operators

LENGTH, LOW, HIGH, FROM, TO = 0, 1, 2, 3, 4
"""What is known of a row: its length; the ranks that are looked for; where the elements that are the bounds stand."""
BELOW, HELD, NANS = 0, 1, 2
"""What is counted of a row: elements before the first bound, elements between both, and whether there is a NaN."""
FACTS, COUNTS = 5, 3  # numbers of a row


@prism.device
@requires(thread[1])
@template(S=dtype)
def place_in_sample(j: int32 @ thread[1], length: int64 @ thread[1], size: int32 @ thread[1]) -> int64 @ thread[1]:
    """Where element `j` of a sample stands: somewhere in part `j` of `size` nearly equal parts of a row."""
    begin: int64 = length * j // size
    span: int64 = length * (j + 1) // size - begin
    mixed: uint32 = uint32(j) * 2654435761
    return begin + (int64((mixed ^ mixed >> 15) * 2246822519 >> 4) * min(span, int64(1 << 32)) >> 28)


@prism.kernel
@template(
    B=dtype, U=dtype, P=dtype, Q=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool),
    FIRST=constexpr(bool),
    NAMED=constexpr(bool),
    SKIP=constexpr(bool), SAMPLE=constexpr(int), THREADS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def bracket_rows(
    x: ptr(const(B)) @ grid[1], names: ptr(const(P)) @ grid[1], known: ptr(const(int64)) @ grid[1],
    counted: ptr(const(int64)) @ grid[1], facts: ptr(int64) @ grid[1], counts: ptr(int64) @ grid[1], bounds: ptr(U) @ grid[1],
    valid: ptr(const(int64)) @ grid[1], n: int64 @ grid[1], low: int64 @ grid[1], high: int64 @ grid[1],
    q: float64 @ grid[1], alpha: float64 @ grid[1], beta: float64 @ grid[1], method: int32 @ grid[1], rows: int64 @ grid[1],
    inner: int64 @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1],
    outer_step: int64 @ grid[1], inner_step: int64 @ grid[1],
):
    """Choose for each row two `bounds` between which the elements of ranks `low` to `high` stand, all but certainly.

    Perspective: grid, of any number of blocks of `THREADS` threads, at least 256.
    Shapes:      rows lie as of `top_rows`. `FIRST`: they have `n` elements. Else they are what the launch before has kept, `n` is
                 the room for that, and how much there is, and of which ranks, follows from `known` and `counted`, the facts and
                 counts of that launch. `Q`: as of `ranks_of`.
                 `SKIP`: of `FIRST` rows the ranks are those of `ranks_of`, where `valid`, in C order, says how many elements
                 there are that are no NaN. `NAMED`: elements stand where `names` says, which lies as `x` does. `facts`, `counts`:
                 `FACTS` and `COUNTS` numbers a row; `bounds`: two keys.
    Test:        tests/kernels/test_ranks.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(facts, thread[1], offset=lambda i: i, races="none") as fact, partition(
        counts, thread[1], offset=lambda i: i, races="none"
    ) as number, partition(bounds, thread[1], offset=lambda i: i, races="none") as edge, group(block[1]):
        t: int32 @ thread[1] = id()
        keys: shared(U[SAMPLE])
        base: int64 @ block[1] = 0
        length: int64 @ block[1] = 0
        bound: U @ block[1] = 0

        @requires(thread[1])
        def held_key(i: int32 @ thread[1]) -> U @ thread[1]:
            return keys[i]

        @requires(thread[1])
        def every(i: int32 @ thread[1]) -> bool @ thread[1]:
            return True

        @requires(thread[1])
        def place_at(i: int32 @ thread[1]) -> P @ thread[1]:
            at: int64 = place_in_sample(i, length, SAMPLE, S=P)
            return names[base + at * n_stride] if NAMED else P(at)

        @requires(thread[1])
        def is_bound(i: int32 @ thread[1]) -> bool @ thread[1]:
            return keys[i] == bound

        for row in range(me, rows, blocks):
            first: int64 @ block[1] = low
            last: int64 @ block[1] = high
            length = n
            if FIRST and SKIP:
                number_of: int64 @ block[1] = row // inner * outer_step + row % inner * inner_step
                unused: float64 @ block[1] = 0
                first, last, unused = ranks_of(valid[number_of], q, alpha, beta, method, Q=Q)
            if not FIRST:
                length, first, last = ranks_within(known, counted, row, n)
            base = row // inner * outer_stride + row % inner * inner_stride
            froms: U @ block[1] = 0
            tos: U @ block[1] = ALL
            begin: int64 @ block[1] = 0
            end: int64 @ block[1] = 9223372036854775807
            if length > 0:
                with partition(keys, thread[1], offset=t) as own, group(thread[1]):
                    for j in range(t, SAMPLE, THREADS, unroll=8):
                        at: int64 = place_in_sample(j, length, SAMPLE, S=P)
                        own[j - t] = key_of(x[base + at * n_stride], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                share: float @ block[1] = float(first) / float(length)
                spread: float @ block[1] = 4.5 * sqrt(max(SAMPLE * share * (1 - share), float(0))) + 8
                lower: int32 @ block[1] = int32(float(SAMPLE) * share - spread)
                upper: int32 @ block[1] = int32(float(SAMPLE) * (float(last) / float(length)) + spread) + 1
                below: int32 @ block[1] = 0
                equal: int32 @ block[1] = 0
                if lower > 0:
                    bound, below, equal = block.select_rank(
                        SAMPLE, lower, U=U, KEY=held_key, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
                    )
                    froms = bound
                    if equal > 4:
                        spot: P @ block[1] = 0
                        spot, below, equal = block.select_rank(
                            SAMPLE, lower - below, U=P, KEY=place_at, COUNTS=is_bound, BITS=8 * P.bytes, THREADS=THREADS,
                        )
                        begin = int64(spot)
                if upper < SAMPLE - 1:
                    bound, below, equal = block.select_rank(
                        SAMPLE, upper, U=U, KEY=held_key, COUNTS=every, BITS=8 * B.bytes, THREADS=THREADS,
                    )
                    tos = bound
                    if equal > 4:
                        spot: P @ block[1] = 0
                        spot, below, equal = block.select_rank(
                            SAMPLE, upper - below, U=P, KEY=place_at, COUNTS=is_bound, BITS=8 * P.bytes, THREADS=THREADS,
                        )
                        end = int64(spot)
            with group(thread[1]):
                if t == 0:
                    fact[row * FACTS + LENGTH] = length
                    fact[row * FACTS + LOW] = first
                    fact[row * FACTS + HIGH] = last
                    fact[row * FACTS + FROM] = begin
                    fact[row * FACTS + TO] = end
                    for c in range(COUNTS):
                        number[row * COUNTS + c] = 0
                    edge[row * 2] = froms
                    edge[row * 2 + 1] = tos


@prism.device
@requires(block[1], thread[1])
def ranks_within(
    known: ptr(const(int64)) @ grid[1], counted: ptr(const(int64)) @ grid[1], row: int64 @ block[1], room: int64 @ block[1]
) -> (int64, int64, int64) @ block[1]:
    """How many elements of a row were kept, and which ranks those have among them that are looked for; -1: they are not there."""
    held: int64 @ block[1] = counted[row * COUNTS + HELD]
    low: int64 @ block[1] = known[row * FACTS + LOW] - counted[row * COUNTS + BELOW]
    high: int64 @ block[1] = known[row * FACTS + HIGH] - counted[row * COUNTS + BELOW]
    there: bool @ block[1] = known[row * FACTS + LENGTH] > 0 and held <= room and 0 <= low and high < held
    return held if there else -1, low, high


@prism.device
@requires(thread[1])
@template(B=dtype, AHEAD=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
def load_words(
    x: ptr(const(B)) @ grid[1], base: int64 @ thread[1], head: int64 @ thread[1], v: int64 @ thread[1],
    vectors: int64 @ thread[1], n_stride: int64 @ thread[1], words: vector(B, WIDTH)[AHEAD] @ thread[1],
):
    """Load vectors `v`, `v + THREADS` and so on of a row, all at once, but for those that are not there; or single elements."""
    for a in range(AHEAD):
        at: int64 = v + a * THREADS
        if WIDTH > 1:
            if at < vectors:
                words[a] = load_vector(x[base + head + at * WIDTH], WIDTH)
        else:
            words[a][0] = x[base + at * n_stride] if at < vectors else B(0)


@prism.device
@requires(thread[1])
@template(
    B=dtype, V=dtype, AHEAD=constexpr(int), KIND=constexpr(int), LARGEST=constexpr(bool), WIDTH=constexpr(int),
    THREADS=constexpr(int),
)
def sides_of(
    words: vector(B, WIDTH)[AHEAD] @ thread[1], v: int64 @ thread[1], vectors: int64 @ thread[1], low: V @ thread[1],
    high: V @ thread[1],
) -> (int32, uint32, bool) @ thread[1]:
    """How many of what `load_words` has loaded stand before `low`; which up to `high`, a bit of each; and whether one is NaN."""
    fewer: int32 = 0
    hits: uint32 = 0
    nan: bool = False
    for a in range(AHEAD):
        if v + a * THREADS < vectors:
            for w in range(WIDTH):
                value: V = bitcast(words[a][w], V)
                less: bool = value > low if LARGEST else value < low
                within: bool = (value >= high if LARGEST else value <= high) and not less
                fewer = fewer + (1 if less else 0)
                hits = hits | (uint32(1) << a * WIDTH + w if within else uint32(0))
                if KIND == FLOAT:
                    nan = nan or value != value
    return fewer, hits, nan


@prism.kernel
@template(
    B=dtype, U=dtype, V=dtype, P=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool),
    NAMED=constexpr(bool), PLACES=constexpr(bool),
    WIDTH=constexpr(int), AHEAD=constexpr(int), STAGE=constexpr(int), THREADS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def keep_between(
    x: ptr(const(B)) @ grid[1], names: ptr(const(P)) @ grid[1], bounds: ptr(const(U)) @ grid[1],
    facts: ptr(const(int64)) @ grid[1], counts: ptr(int64) @ grid[1], kept: ptr(U) @ grid[1], spots: ptr(P) @ grid[1],
    room: int64 @ grid[1], rows: int64 @ grid[1], parts: int64 @ grid[1],
    inner: int64 @ grid[1], outer_stride: int64 @ grid[1], n_stride: int64 @ grid[1], inner_stride: int64 @ grid[1],
    skew: int32 @ grid[1],
):
    """Keep the keys of each row's elements that stand between its bounds, in any order, and count those before the first one.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      rows lie, and are cut, as of `top_rows`; `facts`, `counts` and `bounds` as `bracket_rows` leaves them. `kept`,
                 `spots`: `room` a row; `PLACES`: `spots` is written. More than there is room for are counted, and not kept.
                 `V`, `WIDTH`, `AHEAD`, `skew`: as of `top_rows`. `STAGE`: so many elements are gathered before they are written;
                 where there are more in eight tiles, they are written at once.
    Test:        tests/kernels/test_ranks.py
    """
    ALL: constexpr(int) = 2 * (1 << 8 * B.bytes - 1) - 1
    LEAST: constexpr(int) = (1 << 8 * B.bytes - 1) - INFINITY if KIND == FLOAT else 0  # the first key of a number
    TILE: constexpr(int) = THREADS * AHEAD
    LOOK: constexpr(int) = 8  # tiles after which it is looked how much is gathered
    me: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with partition(kept, thread[1], offset=lambda i: i, races="none") as out, partition(
        spots, thread[1], offset=lambda i: i, races="none"
    ) as out_spots, group(block[1]):
        t: int32 @ thread[1] = id()
        keys: shared(U[STAGE])
        marks: shared(P[STAGE if PLACES else 1])
        counter: shared(uint32[1])
        target: shared(int64[1])
        base: int64 @ block[1] = 0
        froms: U @ block[1] = 0
        tos: U @ block[1] = 0
        begin: int64 @ block[1] = 0
        end: int64 @ block[1] = 0
        row: int64 @ block[1] = 0
        first: int64 @ block[1] = 0
        before: int64 @ thread[1] = 0
        nan: bool @ thread[1] = False
        plain: bool @ block[1] = False  # whether elements are compared with the bounds as they are, wherever they stand
        low: V @ block[1] = V(0)
        high: V @ block[1] = V(0)

        @requires(block[1], thread["THREADS"])
        def write_out():
            """Write what is gathered behind what others have written of this row."""
            many: int32 @ block[1] = min(int32(counter[0]), STAGE)
            with partition(target, thread[1], offset=0, races="none") as cell, group(thread[1]):
                if t == 0:
                    cell[0] = atomic_add(counts[row * COUNTS + HELD], int64(many))
            start: int64 @ block[1] = target[0]
            with group(thread[1]):
                for i in range(t, many, THREADS):
                    if start + i < room:
                        out[row * room + start + i] = keys[i]
                        if PLACES:
                            out_spots[row * room + start + i] = marks[i]
            block.fill(counter, 0, 1)

        for job in range(me, rows * parts, blocks):
            row = job // parts
            part: int64 @ block[1] = job - row * parts
            length: int64 @ block[1] = max(facts[row * FACTS + LENGTH], 0)
            first = length * part // parts
            length = length * (part + 1) // parts - first
            base = row // inner * outer_stride + row % inner * inner_stride + first * n_stride
            froms = bounds[row * 2]
            tos = bounds[row * 2 + 1]
            begin = facts[row * FACTS + FROM]
            end = facts[row * FACTS + TO]
            plain = begin == 0 and end == 9223372036854775807 and (KIND != FLOAT or tos != ALL)
            low = bitcast(value_of(max(froms, U(LEAST)), B=B, KIND=KIND, LARGEST=LARGEST), V)
            high = bitcast(value_of(tos, B=B, KIND=KIND, LARGEST=LARGEST), V)
            block.fill(counter, 0, 1)
            with group(thread[1]):
                before = 0
                nan = False
            head: int64 @ block[1] = min((WIDTH - (skew + base) % WIDTH) % WIDTH, length) if WIDTH > 1 else int64(0)
            vectors: int64 @ block[1] = (length - head) // WIDTH
            edges: int64 @ block[1] = length - vectors * WIDTH  # elements before and behind whole vectors
            tiles: int32 @ block[1] = int32((vectors + (TILE - 1)) // TILE)
            for run in range(-1, tiles, LOOK):
                with partition(keys, thread[1], offset=lambda s: s, races="none") as key_slots, partition(
                    marks, thread[1], offset=lambda s: s, races="none"
                ) as mark_slots, group(thread[1]):

                    @requires(thread[1])
                    def put(slot: uint32 @ thread[1], key: U @ thread[1], i: int64 @ thread[1]):
                        place: int64 = int64(names[base + i * n_stride]) if NAMED else first + i
                        if slot < STAGE:
                            key_slots[slot] = key
                            if PLACES:
                                mark_slots[slot] = P(place)
                        else:  # there are many here: straight to where it belongs
                            spot: int64 = atomic_add(counts[row * COUNTS + HELD], int64(1))
                            if spot < room:
                                out[row * room + spot] = key
                                if PLACES:
                                    out_spots[row * room + spot] = P(place)

                    @requires(thread[1])
                    def offer(i: int64 @ thread[1], bits: B @ thread[1]):
                        nonlocal before, nan
                        key: U = key_of(bits, U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                        if KIND == FLOAT and key == ALL:
                            nan = True
                        if key <= tos:
                            place: int64 = int64(names[base + i * n_stride]) if NAMED else first + i
                            if key < froms or (key == froms and place < begin):
                                before = before + 1
                            elif key < tos or place <= end:
                                put(atomic_add(counter[0], 1, scope="block"), key, i)

                    if run < 0 and t < edges:
                        i: int64 = int64(t) if t < head else vectors * WIDTH + t
                        offer(i, x[base + i * n_stride])
                    for tile in range(max(run, 0), min(run + LOOK, tiles), unroll=False):
                        v: int64 = int64(tile) * TILE + t
                        words: vector(B, WIDTH)[AHEAD]
                        load_words(x, base, head, v, vectors, n_stride, words, WIDTH=WIDTH, THREADS=THREADS)
                        if plain:
                            fewer: int32 = 0
                            hits: uint32 = 0
                            wrong: bool = False
                            fewer, hits, wrong = sides_of(
                                words, v, vectors, low, high, KIND=KIND, LARGEST=LARGEST, WIDTH=WIDTH, THREADS=THREADS,
                            )
                            nan = nan or wrong
                            before = before + fewer
                            if hits != 0:
                                slot: uint32 = atomic_add(counter[0], uint32(popcount(hits)), scope="block")
                                for a in range(AHEAD):
                                    for w in range(WIDTH):
                                        if hits >> a * WIDTH + w & 1 != 0:
                                            key: U = key_of(words[a][w], U=U, KIND=KIND, INFINITY=INFINITY, LARGEST=LARGEST)
                                            put(slot, key, head + (v + a * THREADS) * WIDTH + w)
                                            slot = slot + 1
                        else:
                            for a in range(AHEAD):
                                if v + a * THREADS < vectors:
                                    for w in range(WIDTH):
                                        offer(head + (v + a * THREADS) * WIDTH + w, words[a][w])
                if int32(counter[0]) > STAGE // 2:
                    write_out()
            write_out()
            all_before: int64 @ block[1] = block.reduce(before, OP=operators.add)
            nans: bool @ block[1] = block.any(nan)
            match split(thread):
                case 1:
                    atomic_add(counts[row * COUNTS + BELOW], all_before)
                    if nans:
                        atomic_or(counts[row * COUNTS + NANS], int64(1))


EXAMPLES = {
    "bracket_rows": {
        "B": "uint32", "U": "uint32", "P": "uint32", "Q": "float64", "KIND": FLOAT, "INFINITY": 0x7F800000, "LARGEST": False,
        "FIRST": True,
        "NAMED": False, "SKIP": False, "SAMPLE": 32768, "THREADS": 1024,
    },
    "keep_between": {
        "B": "uint32", "U": "uint32", "V": "float32", "P": "uint32", "KIND": FLOAT, "INFINITY": 0x7F800000, "LARGEST": False,
        "NAMED": False, "PLACES": False,
        "WIDTH": 4, "AHEAD": 2, "STAGE": 12288, "THREADS": 512, "BLOCKS": 2,
    },
}
