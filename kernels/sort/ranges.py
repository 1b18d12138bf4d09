"""Sorting few elements in one launch: each cluster of blocks reads all keys, and picks a range of them.

A sample, the same for all blocks, says where ranges begin, so that they are of about as many keys; of equal keys it parts them by
where they stand. A block of a cluster has a part of its range, and sorts it in one step, by buckets. Nothing is exchanged but
within clusters, which meet twice. A range that turns out to have too many keys is picked by a cluster that sorts all keys.
"""

from prism.lang import (
    attr, block, claim, clz, const, constexpr, dtype, float32, grid, group, id, int32, partition, prism, ptr,
    requires, shared, split, static_assert, template, thread, uint32, uint64, warp,
)
from prism.kernels.sort.buckets import positions_in_buckets, put_in_buckets
from prism.kernels.sort.choose import ELSEWHERE, PARTS, SPECIAL, TOLD, choose_parts
from prism.kernels.sort.cluster import sort_held
from prism.kernels.sort.order import INTEGER
from prism.kernels.sort.parts import NONE
from prism.kernels.sort.fields import sort_fields
from prism.kernels.sort.words import bucket_between, scale_of, word_of, write_word
from prism.lib.thread import operators

_SAMPLES = 1024
"""Keys that say where ranges begin. Of 64 parts one has more than three times as many as the mean once in 10^7."""
_BUCKETS = 11
"""Bits that tell the bucket of a word among those of a part, and of the sample."""
_DIGIT = 8
"""Bits of a digit, where a part is sorted by digits."""
_PLACES = 16
"""Bits of a place."""


@prism.device
@requires(block[1], thread[32])
@template(W=dtype, WARPS=constexpr(int))
def find_span(least: W @ thread[1], most: W @ thread[1]) -> (W, W) @ block[1]:
    """The least word of all threads' `least`, and the highest of all `most`: both at once, so that threads meet once."""
    lows: shared(W[WARPS])
    highs: shared(W[WARPS])
    w: int32 @ thread[32] = id()
    low: W @ thread[1] = ~warp.reduce_to_first(~least, OP=operators.maximum, FEW=True, TENSOR=False)
    high: W @ thread[1] = warp.reduce_to_first(most, OP=operators.maximum, FEW=True, TENSOR=False)
    with partition(lows, thread[32], offset=w) as own_low, partition(highs, thread[32], offset=w) as own_high, group(thread[32]):
        with claim(own_low, thread[1]) as first, claim(own_high, thread[1]) as last:
            match split(thread):
                case 1:
                    first[0] = low
                    last[0] = high
    lowest: W @ block[1] = lows[0]
    highest: W @ block[1] = highs[0]
    for v in range(1, WARPS):
        lowest = min(lowest, lows[v])
        highest = max(highest, highs[v])
    return lowest, highest


@prism.device
@template(
    K=dtype, W=dtype, EACH=constexpr(int), THREADS=constexpr(int), BUCKETS=constexpr(int), KIND=constexpr(int),
    NETWORK=constexpr(bool, default=True),
)
@requires(block[1], thread["THREADS"])
def sort_sample(
    own: W[EACH] @ thread[1], ordered: ptr(W) @ block[1], flip: K @ block[1], lowest: K @ block[1]
) -> bool @ block[1]:
    """Put what the threads hold into `ordered`, in order: by buckets, or by a network where one of them is crowded.

    Returns: whether one is; then, without `NETWORK`, nothing is put anywhere.
    """
    MANY: constexpr(int) = THREADS * EACH
    t: int32 @ thread[1] = id()
    table: shared(uint32[(33 << BUCKETS - 5) + 1])
    sorted: shared(W[MANY])
    block.fill(table, 0, 33 << BUCKETS - 5)
    least: W @ thread[1] = own[0]
    most: W @ thread[1] = own[0]
    with group(thread[1]):
        for k in range(1, EACH):
            least = min(least, own[k])
            most = max(most, own[k])
    low: W @ block[1]
    high: W @ block[1]
    low, high = find_span(least, most, WARPS=THREADS // 32)
    shift: int32 @ block[1] = max(8 * W.bytes - int32(clz(high - low)) - BUCKETS, 0)
    scale: float32 @ block[1] = 0
    if KIND != INTEGER:
        scale = scale_of(low, high, lowest, BUCKETS=BUCKETS)

    @requires(thread[1])
    def bucket(word: W @ thread[1]) -> int32 @ thread[1]:
        """Which bucket a word belongs to."""
        return bucket_between(word, low, shift, scale, lowest, BUCKETS=BUCKETS, KIND=KIND)

    crowded: bool @ block[1] = put_in_buckets(
        own, table, sorted, EACH, THREADS=THREADS, BUCKETS=BUCKETS, BATCH=EACH, BUCKET=bucket,
    )
    if NETWORK:
        if crowded:
            block.sort_network(own, THREADS=THREADS, LESS=operators.less, TOTAL=True)
    if NETWORK or not crowded:
        with partition(ordered, thread[1], offset=lambda place: place, races="none") as out, group(thread[1]):
            spots: int32[EACH]
            if crowded:
                for k in range(EACH):
                    spots[k] = t * EACH + k
            else:
                positions_in_buckets(table, sorted, own, spots, t, THREADS, MANY, BUCKET=bucket)
            for k in range(EACH):
                out[spots[k]] = own[k]
    return crowded


@prism.device
@template(K=dtype, W=dtype, ITEMS=constexpr(int), EACH=constexpr(int), THREADS=constexpr(int), KIND=constexpr(int))
@requires(block[1], thread["THREADS"])
def load_words(
    x: ptr(const(K)) @ grid[1], words: W[ITEMS] @ thread[1], sample: W[EACH] @ thread[1], place: int32 @ thread[1],
    n: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Load a thread's words, every 32nd from `place` on, and its part of the sample, which is the same for all blocks."""
    t: int32 @ thread[1] = id()
    apart: int32 @ block[1] = n // (EACH * THREADS)
    with group(thread[1]):
        for k in range(EACH):
            number: int32 = t + k * THREADS
            where: int32 = number * apart + number * 149 % apart
            sample[k] = word_of(x[where], where, flip, lowest, W=W, KIND=KIND)
        for k in range(ITEMS):
            here: int32 = place + 32 * k
            words[k] = word_of(x[here], here, flip, lowest, W=W, KIND=KIND) if here < n else ~W(0)


@prism.device
@template(K=dtype, W=dtype, MOST=constexpr(int), THREADS=constexpr(int), BATCH=constexpr(int))
@requires(block[1], thread["THREADS"])
def sort_by_digits(
    few: W[MOST] @ thread[1], table: ptr(uint32) @ block[1], sorted: ptr(W) @ block[1], many: int32 @ block[1],
    low: W @ block[1], high: W @ block[1],
):
    """Put `many` words into `sorted`, in order, of which `few[k]` is number `t + k * THREADS`; they are between `low` and `high`.

    Ranks are in the order of lanes whatever happens.
    """
    WIDE: constexpr(bool) = W.bytes > K.bytes
    t: int32 @ thread[1] = id()
    mine: int32 @ thread[1] = max((many - t + THREADS - 1) // THREADS, 0)
    rows: int32 @ block[1] = ((many + THREADS - 1) // THREADS + BATCH - 1) // BATCH * BATCH
    at: int32 @ thread[1] = t // 32 * 32 * rows + t % 32
    base: W @ block[1] = low >> 32 << 32 if WIDE else low
    bits: int32 @ block[1] = 8 * W.bytes - int32(clz(high - base))  # in which words differ from `base`
    passes: int32 @ block[1] = (bits + _DIGIT - 1) // _DIGIT
    with partition(sorted, thread[1], offset=t) as own, group(thread[1]):
        for k in range(MOST):
            if k < mine:
                own[k * THREADS] = few[k] - base
    with group(thread[1]):
        for k in range(MOST):
            few[k] = sorted[at + 32 * k] if k < rows and 32 * k < many - at else ~W(0)
    if WIDE:
        sort_fields(
            few, table, sorted, rows, rows, 0, _DIGIT, (_PLACES + _DIGIT - 1) // _DIGIT, True, THREADS=THREADS, BATCH=BATCH,
        )
        with group(thread[1]):
            for k in range(MOST):
                if k < rows:
                    few[k] = sorted[at + 32 * k]
        passes = max((bits - 32 + _DIGIT - 1) // _DIGIT, 0)
    sort_fields(
        few, table, sorted, rows, rows, 32 if WIDE else 0, _DIGIT, passes, True, THREADS=THREADS, BATCH=BATCH,
    )
    with partition(sorted, thread[1], offset=t) as own, group(thread[1]):
        for k in range(MOST):
            if k < mine:
                own[k * THREADS] = own[k * THREADS] + base


@prism.device
@template(
    K=dtype, W=dtype, V=dtype, VO=dtype, VALUES=constexpr(int), MOST=constexpr(int), THREADS=constexpr(int),
    BATCH=constexpr(int), BUCKETS=constexpr(int), KIND=constexpr(int),
)
@requires(block[1], thread["THREADS"])
def sort_part(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], few: W[MOST] @ thread[1], y: ptr(K) @ block[1],
    values: ptr(V) @ block[1], positions: ptr(VO) @ block[1], many: int32 @ block[1], start: int32 @ block[1],
    flip: K @ block[1], lowest: K @ block[1],
):
    """Sort `many` words, `few[k]` the one of number `t + k * THREADS`, and write what belongs to them from `start` on."""
    t: int32 @ thread[1] = id()
    table: shared(uint32[max(THREADS // 32 * (33 << _DIGIT - 5), (33 << BUCKETS - 5) + 1)])
    sorted: shared(W[THREADS * MOST])
    mine: int32 @ thread[1] = max((many - t + THREADS - 1) // THREADS, 0)
    block.fill(table, 0, 33 << BUCKETS - 5)
    least: W @ thread[1] = ~W(0)
    most: W @ thread[1] = 0
    with group(thread[1]):
        for k in range(MOST):
            if k < mine:
                least = min(least, few[k])
                most = max(most, few[k])
    low: W @ block[1]
    high: W @ block[1]
    low, high = find_span(least, most, WARPS=THREADS // 32)
    shift: int32 @ block[1] = max(8 * W.bytes - int32(clz(high - low if many > 0 else W(0))) - BUCKETS, 0)
    scale: float32 @ block[1] = 0
    if KIND != INTEGER and many > 0:
        scale = scale_of(low, high, lowest, BUCKETS=BUCKETS)

    @requires(thread[1])
    def bucket(word: W @ thread[1]) -> int32 @ thread[1]:
        """Which bucket a word belongs to."""
        return bucket_between(word, low, shift, scale, lowest, BUCKETS=BUCKETS, KIND=KIND)

    crowded: bool @ block[1] = put_in_buckets(
        few, table, sorted, mine, THREADS=THREADS, BUCKETS=BUCKETS, BATCH=BATCH, BUCKET=bucket,
    )
    if crowded:
        sort_by_digits(few, table, sorted, many, low, high, K=K, THREADS=THREADS, BATCH=BATCH)
    with (
        partition(y, thread[1], offset=lambda place: place, races="none") as result,
        partition(values, thread[1], offset=lambda place: place, races="none") as value_result,
        partition(positions, thread[1], offset=lambda place: place, races="none") as position_result,
        group(thread[1]),
    ):
        for begin in range(0, MOST, BATCH):
            if begin * THREADS < many:
                some: W[BATCH]
                spots: int32[BATCH]
                me: int32 = t + begin * THREADS
                if crowded:
                    for k in range(BATCH):
                        spots[k] = me + k * THREADS if me + k * THREADS < many else -1
                        some[k] = sorted[me + k * THREADS] if me + k * THREADS < many else 0
                else:
                    positions_in_buckets(table, sorted, some, spots, me, THREADS, many, BUCKET=bucket)
                for k in range(BATCH):
                    write_word(
                        x, given, result, value_result, position_result, some[k], start + spots[k] if spots[k] >= 0 else -1,
                        flip, lowest, VALUES=VALUES, KIND=KIND,
                    )


@prism.device
@template(W=dtype, ITEMS=constexpr(int), MOST=constexpr(int), THREADS=constexpr(int))
@requires(block[PARTS], thread["THREADS"])
def send_to_parts(
    words: W[ITEMS] @ thread[1], chosen: uint32[ITEMS] @ thread[1], number: uint32 @ thread[1], few: W[MOST] @ thread[1],
    found: int32[4] @ block[1], picked: shared(W[PARTS, THREADS * MOST]) @ block[PARTS],
    told: shared(uint32[PARTS, TOLD]) @ block[PARTS], full: shared(uint32[PARTS, 1]) @ block[PARTS],
) -> uint32 @ block[PARTS]:
    """Send each word that is chosen to the block of its part: `few[k]` becomes the block's word of number `t + k * THREADS`.

    `number`, of thread `t`: how many words of part `t` the block has, and of thread `PARTS` how many below the range. `found`:
    where the range begins, and the block's part, and where the range ends; how many words the part has.
    Returns: whether a part has more than `THREADS * MOST` words, which are not all there then, or words don't tell the order.
    """
    ROOM: constexpr(int) = THREADS * MOST
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    with partition(told, block[1], lambda d: (b, d)) as own, group(block[1]):
        with partition(own, thread[1], offset=t) as mine, group(thread[1]):
            if t < TOLD:
                mine[0] = number
    with (
        partition(picked, block[1], lambda place: (place // ROOM, place % ROOM), races="none") as all,
        partition(full, block[1], lambda i: (b, i)) as mark, group(block[1]),
    ):
        bases: shared(uint32[PARTS + 1])
        sums: shared(uint32[PARTS + 1])
        with partition(bases, thread[1], offset=t) as base, partition(sums, thread[1], offset=t) as whole, group(thread[1]):
            if t <= PARTS:
                before: uint32 = 0
                sum: uint32 = 0
                for v in range(PARTS):
                    its: uint32 = told[v, t]
                    before = before + (its if v < b else 0)
                    sum = sum + its
                base[0] = before
                whole[0] = sum
        with partition(all, thread[1], lambda place: place, races="none") as target, group(thread[1]):
            for k in range(ITEMS):
                if chosen[k] != ELSEWHERE:
                    which: int32 = int32(chosen[k] & PARTS - 1)
                    spot: int32 = int32(bases[which] + (chosen[k] >> 3))
                    if spot < ROOM:
                        target[which * ROOM + spot] = words[k]
        found[0] = int32(sums[PARTS] & SPECIAL - 1)
        found[1] = found[0]
        found[2] = found[0]
        for d in range(PARTS):
            found[1] = found[1] + (int32(sums[d]) if d < b else 0)
            found[2] = found[2] + int32(sums[d])
        found[3] = int32(sums[b])
        with partition(mark, thread[1], offset=t) as own, group(thread[1]):
            if t < 1:
                longest: uint32 = 0
                for d in range(PARTS):
                    longest = max(longest, sums[d])
                own[0] = 1 if longest > ROOM or sums[PARTS] >= SPECIAL else 0
    crowded: uint32 @ block[PARTS] = full[0, 0]  # as all blocks say
    with group(thread[1]):
        for k in range(MOST):
            few[k] = picked[b, t + k * THREADS] if t + k * THREADS < found[3] else 0
    return crowded


@prism.device
@template(
    K=dtype, W=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    BATCH=constexpr(int), KIND=constexpr(int),
)
@requires(block[PARTS], thread["THREADS"])
def sort_all(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], words: W[ITEMS] @ thread[1], y: ptr(K) @ block[PARTS],
    values: ptr(V) @ block[PARTS], positions: ptr(VO) @ block[PARTS], place: int32 @ thread[1], found: int32[4] @ block[1],
    flip: K @ block[PARTS], lowest: K @ block[PARTS],
):
    """Sort the words of a cluster, of which a thread holds every 32nd from `place` on, and write what belongs to its range."""
    sort_held(
        words, words, 0, 0, KIND=INTEGER, VALUES=NONE, BLOCKS=PARTS, THREADS=THREADS, BATCH=min(BATCH, ITEMS),
        FIRST=4 if W.bytes > K.bytes else 0,
    )
    with (
        partition(y, block[1], offset=lambda place: place, races="none") as keys,
        partition(values, block[1], offset=lambda place: place, races="none") as beside,
        partition(positions, block[1], offset=lambda place: place, races="none") as below,
        group(block[1]),
    ):
        with (
            partition(keys, thread[1], offset=lambda place: place, races="none") as result,
            partition(beside, thread[1], offset=lambda place: place, races="none") as value_result,
            partition(below, thread[1], offset=lambda place: place, races="none") as position_result,
            group(thread[1]),
        ):
            for k in range(ITEMS):
                here: int32 = place + 32 * k
                write_word(
                    x, given, result, value_result, position_result, words[k],
                    here if here >= found[0] and here < found[2] else -1, flip, lowest, VALUES=VALUES, KIND=KIND,
                )


@prism.kernel
@template(
    K=dtype, W=dtype, V=dtype, VO=dtype, VALUES=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), MOST=constexpr(int), BATCH=constexpr(int), KIND=constexpr(int, default=INTEGER),
    SAMPLES=constexpr(int, default=_SAMPLES), BUCKETS=constexpr(int, default=_BUCKETS),
)
@requires(grid[1], block[PARTS], thread["THREADS"])
@attr("__launch_bounds__(THREADS, 1)")
def sort_ranges(
    x: ptr(const(K)) @ grid[1], y: ptr(K) @ grid[1], given: ptr(const(V)) @ grid[1], values: ptr(V) @ grid[1],
    positions: ptr(VO) @ grid[1], n: int32 @ grid[1], level: int32 @ grid[1], flip: K @ grid[1],
    lowest: K @ grid[1],
):
    """Sort `n` elements, at least `SAMPLES` and at most `PARTS * THREADS * ITEMS`.

    Perspective: grid, `1 << level` blocks of `THREADS` threads, in clusters of `PARTS`: the ranges are as many.
    Shapes:      `x`: bits of numbers, which `flip` and `lowest` put in order: see `prism.kernels.sort.order`. `KIND`: INTEGER, or
                 one of floats, of 4 bytes. `VALUES`: NONE; GIVEN, `values` become the elements of `given`, each where its number
                 goes; POSITIONS, `positions` become where the numbers stood, and `y` is not written. `W`: words that are sorted;
                 as large as `K`, of keys alone; or uint64, a key and where it stood, of numbers of up to 4 bytes. A part has
                 room for `THREADS * MOST` words, and `BATCH` divides `MOST`. Results are no memory that is read.
    Cost:        a read of all elements by each cluster, a write of an element; two barriers of the cluster. Of floats without
                 places each cluster sorts all keys where one of them is -0.0 or NaN, as it does where a part is too full.
    Source:      Frazer and McKellar, "Samplesort: a sampling approach to minimal storage tree sorting".
    Test:        tests/kernels/test_sort_ranges.py, tests/gpu/test_sort.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    static_assert(PARTS * TILE <= 1 << _PLACES, "a word has room for a place")
    static_assert(KIND == INTEGER or K.bytes == 4, "buckets are of float32")
    static_assert(VALUES == NONE or W.bytes > K.bytes, "places tell what belongs to a key, and the order of equal ones")
    c: int32 @ block[PARTS] = id()
    part: int32 @ grid[1] = SAMPLES >> level  # samples of a part
    with (
        partition(y, block[PARTS], races="none") as range_keys,
        partition(values, block[PARTS], races="none") as range_values,
        partition(positions, block[PARTS], races="none") as range_positions,
        group(block[PARTS]),
    ):
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = id() % THREADS
        place: int32 @ thread[1] = b * TILE + t // 32 * (32 * ITEMS) + t % 32
        words: W[ITEMS] @ thread[1]
        chosen: uint32[ITEMS] @ thread[1]
        few: W[MOST] @ thread[1]
        found: int32[4] @ block[1]
        number: uint32 @ thread[1] = 0
        picked: shared(W[PARTS, THREADS * MOST])
        told: shared(uint32[PARTS, TOLD])
        full: shared(uint32[PARTS, 1])
        with group(block[1]):
            bins: shared(uint32[TOLD])
            ordered: shared(W[SAMPLES])
            sample: W[SAMPLES // THREADS] @ thread[1]
            load_words(x, words, sample, place, n, flip, lowest, THREADS=THREADS, KIND=KIND)
            sort_sample(sample, ordered, flip, lowest, THREADS=THREADS, BUCKETS=BUCKETS, KIND=KIND)
            choose_parts(
                words, chosen, ordered, bins, place, n, c * PARTS * part, part, flip, lowest, THREADS=THREADS, SAMPLES=SAMPLES,
                TIED=W.bytes == K.bytes, KIND=KIND,
            )
            number = bins[min(t, PARTS)]
        crowded: uint32 @ block[PARTS] = send_to_parts(words, chosen, number, few, found, picked, told, full, THREADS=THREADS)
        if crowded != 0:
            if KIND != INTEGER and W.bytes == K.bytes:  # with places, as of zeros and NaNs these tell the order
                placed: uint64[ITEMS] @ thread[1]
                with group(thread[1]):
                    for k in range(ITEMS):
                        here: int32 = place + 32 * k
                        placed[k] = word_of(x[here], here, flip, lowest, W=uint64, KIND=KIND) if here < n else ~uint64(0)
                sort_all(
                    x, given, placed, range_keys, range_values, range_positions, place, found, flip, lowest, VALUES=VALUES,
                    THREADS=THREADS, BATCH=BATCH, KIND=KIND,
                )
            else:
                sort_all(
                    x, given, words, range_keys, range_values, range_positions, place, found, flip, lowest, VALUES=VALUES,
                    THREADS=THREADS, BATCH=BATCH, KIND=KIND,
                )
        else:
            with (
                partition(range_keys, block[1], offset=lambda place: place, races="none") as results,
                partition(range_values, block[1], offset=lambda place: place, races="none") as value_results,
                partition(range_positions, block[1], offset=lambda place: place, races="none") as position_results,
                group(block[1]),
            ):
                sort_part(
                    x, given, few, results, value_results, position_results, found[3], found[1], flip, lowest, VALUES=VALUES,
                    THREADS=THREADS, BATCH=BATCH, BUCKETS=BUCKETS, KIND=KIND,
                )


EXAMPLES = {
    "sort_ranges": {
        "K": "uint32", "W": "uint32", "V": "uint32", "VO": "int64", "VALUES": NONE, "THREADS": 512, "ITEMS": 16,
        "MOST": 6, "BATCH": 2,
    },
}
