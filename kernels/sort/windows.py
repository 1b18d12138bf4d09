"""The lower digits of a radix sort, by windows: what the passes by the two highest digits have put side by side is sorted on.

Random keys that differ in few of their upper bits are few: of 2^28 some 4096 share 16 bits. A block sorts so many in shared
memory, by all bits that are left, for a read and a write of each element: what a pass by one digit takes. A sample says whether
keys are so, and where one window turns out to have more elements than a block holds, all passes are made after all.
"""

from prism.lang import (
    atomic_add, atomic_max, atomic_or, attr, block, const, constexpr, count, dtype, first_set, grid, group, id, int32,
    int64, match_any, partition, popcount, prism, ptr, requires, shared, split, template, thread, uint32, warp,
)
from prism.kernels.sort.buckets import bucket_of, positions_in_buckets, put_in_buckets
from prism.kernels.sort.configurations import GROUPS
from prism.kernels.sort.fields import sort_fields
from prism.kernels.sort.order import INTEGER, decode, encode
from prism.kernels.sort.parts import GIVEN, NONE, POSITIONS
from prism.kernels.sort.ranking import digits_before_windows
from prism.lib.thread import operators

LEVELS = 6
"""Windows have 1, 2, 4 ... 32 groups."""
SAMPLED, MOST_SAMPLES = 256, 42
"""One key of so many is looked at. Of 4096, that a window has of uniform keys, 16 are; more than 42 are met once in 10^8."""
PLACE_BITS = 13
"""What tells where an element stood in its window."""
LOCAL_BITS = 30
"""Bits of digits within windows, at most, of all of them together. What they leave in disorder is sorted slowly."""


@prism.kernel
@template(K=dtype, C=dtype, KIND=constexpr(int))
@requires(grid[1], block[1], thread[256])
def sample_windows(
    x: ptr(const(K)) @ grid[1], counts: ptr(const(C)) @ grid[1], samples: ptr(uint32) @ grid[1], crowded: ptr(uint32) @ grid[1],
    n: int64 @ grid[1], window: int32 @ grid[1], alike: uint32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Put 1 into `crowded[0]` where very many of the `n` elements of `x` share their two highest digits.

    So it does where more than `alike` of those that are looked at share them with an element beside, as in sorted data: equal
    digits side by side are slow to count.

    Perspective: grid, of any number of blocks of 256 threads.
    Shapes:      `x`, `counts`: as of `sort_digit`. `samples`: `GROUPS + 1` words, and `crowded`: one; 0 before.
    Cost:        one read of `SAMPLED` elements.
    Test:        tests/kernels/test_sort_windows.py
    """
    b: int32 @ block[1] = id()
    warps: int64 @ grid[1] = count(thread[32])
    number: int64 @ grid[1] = n // SAMPLED
    with group(block[1]):
        low: int32 @ block[1] = int32(digits_before_windows(counts, n, window, False, PASSES=K.bytes) >> 16) - 1
        if low >= 0:
            w: int32 @ thread[32] = id()
            lane: int32 @ thread[1] = id() % 32
            with group(thread[32]):
                pairs: uint32 @ thread[1] = 0
                for begin in range((int64(b) * 8 + w) * 32, number, warps * 32):
                    place: int64 @ thread[1] = begin + lane
                    together: int32 @ thread[1] = -1
                    with group(thread[1]):
                        if place < number:
                            here: int64 = place * SAMPLED + (place * 149 & SAMPLED - 1)
                            key: K = encode(x[here], flip, lowest, KIND=KIND)
                            other: K = encode(x[here ^ 1], flip, lowest, KIND=KIND)
                            together = int32(key >> 8 * low) & GROUPS - 1
                            pairs = pairs + (1 if int32(other >> 8 * low) & GROUPS - 1 == together else 0)
                    peers: uint32 @ thread[1] = match_any(together)
                    with group(thread[1]):
                        if together >= 0 and lane == int32(first_set(peers)) - 1:
                            many: uint32 = uint32(popcount(peers))
                            if atomic_add(samples[together], many) + many > MOST_SAMPLES:
                                atomic_or(crowded[0], 1)
                all_pairs: uint32 @ thread[32] = warp.reduce(pairs, OP=operators.add)
                with group(thread[1]):
                    if lane == 0 and all_pairs > 0:
                        if atomic_add(samples[GROUPS], all_pairs) + all_pairs > alike:
                            atomic_or(crowded[0], 1)


@prism.kernel
@template(K=dtype, C=dtype)
@requires(grid[1], block[1], thread[256])
def find_windows(
    y: ptr(const(K)) @ grid[1], counts: ptr(const(C)) @ grid[1], bounds: ptr(C) @ grid[1], largest: ptr(uint32) @ grid[1],
    moved: ptr(const(uint32)) @ grid[1], n: int64 @ grid[1], window: int32 @ grid[1],
):
    """Find where in `y` the elements of each group begin, and how many the largest windows have.

    Perspective: grid, of 256 blocks of 256 threads.
    Shapes:      `y`: `n` keys that passes have put in the order of the two highest digits. `bounds`: `GROUPS + 1`. `largest`:
                 `LEVELS`, 0 before: of windows of 1, 2, 4 ... groups.
    Cost:        a binary search for each group.
    Test:        tests/kernels/test_sort_windows.py
    """
    b: int32 @ block[1] = id()
    with partition(bounds, block[1], offset=b * 256) as own_bounds, group(block[1]):
        crowded: bool @ block[1] = moved[0] != 0
        low: int32 @ block[1] = int32(digits_before_windows(counts, n, window, crowded, PASSES=K.bytes) >> 16) - 1
        if low >= 0:
            t: int32 @ thread[1] = id()
            here: shared(C[257])
            before: C @ thread[1] = counts[(low + 1) * 256 + t]
            start: C @ block[1] = block.reduce(before if t < b else C(0), OP=operators.add)
            number: C @ block[1] = counts[(low + 1) * 256 + b]
            end: C @ block[1] = start + number
            with (
                partition(here, thread[1], offset=t) as own, partition(own_bounds, thread[1], offset=t) as mine, group(thread[1]),
            ):
                at: C = start
                behind: C = end if t > 0 else start
                while at < behind:
                    middle: C = at + (behind - at) // 2
                    if int32(y[int64(middle)] >> 8 * low) & 255 < t:
                        at = middle + 1
                    else:
                        behind = middle
                own[0] = at
                mine[0] = at
                if t == 255:
                    own[1] = end
                    if b == 255:
                        mine[1] = end
            for level in range(LEVELS if number > 0 else 0):
                size: uint32 @ thread[1] = 0
                with group(thread[1]):
                    if t & (1 << level) - 1 == 0:
                        size = uint32(here[t + (1 << level)] - here[t])
                most: uint32 @ block[1] = block.reduce(size, OP=operators.maximum)
                match split(thread):
                    case 1:
                        atomic_max(largest[level], most)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
)
def load_window(
    y: ptr(const(K)) @ block[1], values: ptr(const(V)) @ block[1], words: K[ITEMS] @ thread[1], beside: ptr(V) @ block[1],
    rows: int32 @ block[1], many: int32 @ block[1], bits: int32 @ block[1],
):
    """Load a window's words: its keys, or their lower bits and where they stand, and beside them their values."""
    t: int32 @ thread[1] = id()
    at: int32 @ thread[1] = t // 32 * 32 * rows + t % 32
    with (
        partition(y, thread[1], offset=at) as own, partition(values, thread[1], offset=at) as own_values,
        partition(beside, thread[1], offset=at) as result, group(thread[1]),
    ):
        for k in range(ITEMS):
            words[k] = own[32 * k] if k < rows and 32 * k < many - at else ~K(0)  # behind all that are there
        if VALUES != NONE:
            for k in range(ITEMS):
                if k < rows and 32 * k < many - at:
                    words[k] = K(words[k] << 8 * K.bytes - bits) >> 8 * K.bytes - bits - PLACE_BITS | K(at + 32 * k)
                    result[32 * k] = own_values[32 * k]


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    BATCH=constexpr(int),
)
def write_window(
    sorted: ptr(const(K)) @ block[1], beside: ptr(const(V)) @ block[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1],
    positions: ptr(VO) @ block[1], many: int32 @ block[1], upper: K @ thread[1], flip: K @ block[1], lowest: K @ block[1],
) -> bool @ block[1]:
    """Write a window's results; say whether two words stand in the wrong order. `upper`: the bits that all its keys share."""
    t: int32 @ thread[1] = id()
    wrong: bool @ thread[1] = False
    with (
        partition(y, thread[1], offset=t) as result, partition(values, thread[1], offset=t) as value_result,
        partition(positions, thread[1], offset=t) as position_result, group(thread[1]),
    ):
        for begin in range(0, ITEMS, BATCH):
            if begin * THREADS < many:
                words: K[BATCH]
                before: K[BATCH]
                for k in range(BATCH):
                    here: int32 = (begin + k) * THREADS + t
                    words[k] = sorted[here] if here < many else ~K(0)
                    before[k] = sorted[max(here - 1, 0)] if here < many else 0
                for k in range(BATCH):
                    wrong = wrong or before[k] > words[k]
                    here: int32 = (begin + k) * THREADS
                    if here < many - t:
                        if VALUES != NONE:
                            place: int32 = int32(words[k]) & (1 << PLACE_BITS) - 1
                            if VALUES == GIVEN:
                                value_result[here] = beside[place]
                            else:
                                position_result[here] = VO(beside[place])
                            words[k] = words[k] >> PLACE_BITS | upper
                        if VALUES != POSITIONS:
                            result[here] = decode(words[k], flip, lowest, KIND=KIND)
    return block.any(wrong)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    BATCH=constexpr(int),
)
def sort_window(
    words: K[ITEMS] @ thread[1], table: ptr(uint32) @ block[1], sorted: ptr(K) @ block[1], beside: ptr(const(V)) @ block[1],
    y: ptr(K) @ block[1], values: ptr(V) @ block[1], positions: ptr(VO) @ block[1], rows: int32 @ block[1],
    mine: int32 @ thread[1], many: int32 @ block[1], upper: K @ thread[1], shift: int32 @ block[1], width: int32 @ block[1],
    passes: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Sort a window's words by `passes` digits of `width` bits, from bit `shift` on, and write its results.

    Where they are not in order then, as bits below differ, or lanes have added in another order, all is sorted again by all bits.
    """
    t: int32 @ thread[1] = id()
    slowly: bool @ block[1] = False
    while True:
        sort_fields(words, table, sorted, rows, mine, shift, width, passes, slowly, THREADS=THREADS, BATCH=BATCH)
        wrong: bool @ block[1] = write_window(
            sorted, beside, y, values, positions, many, upper, flip, lowest, ITEMS=ITEMS, KIND=KIND, VALUES=VALUES,
            THREADS=THREADS, BATCH=BATCH,
        )
        if slowly or not wrong:
            break
        slowly = True
        rows = (rows + BATCH - 1) // BATCH * BATCH
        mine = rows
        shift = 0
        width = 8
        passes = K.bytes
        with group(thread[1]):
            for k in range(ITEMS):
                place: int32 = (t // 32 * rows + k) * 32 + t % 32
                words[k] = sorted[place] if k < rows and place < many else ~K(0)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, ITEMS=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    BUCKETS=constexpr(int), BATCH=constexpr(int),
)
def write_buckets(
    table: ptr(const(uint32)) @ block[1], sorted: ptr(const(K)) @ block[1], beside: ptr(const(V)) @ block[1],
    y: ptr(K) @ block[1], values: ptr(V) @ block[1], positions: ptr(VO) @ block[1], many: int32 @ block[1], upper: K @ thread[1],
    shift: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
):
    """Write a window's results, of words as `put_in_buckets` has left them. `upper`: the bits that all its keys share."""
    t: int32 @ thread[1] = id()

    @requires(thread[1])
    def bucket(word: K @ thread[1]) -> int32 @ thread[1]:
        """Which bucket a word was put into."""
        return bucket_of(word, shift, BUCKETS=BUCKETS)

    with (
        partition(y, thread[1], offset=lambda place: place, races="none") as result,
        partition(values, thread[1], offset=lambda place: place, races="none") as value_result,
        partition(positions, thread[1], offset=lambda place: place, races="none") as position_result,
        group(thread[1]),
    ):
        for begin in range(0, ITEMS, BATCH):
            if begin * THREADS < many:
                words: K[BATCH]
                spots: int32[BATCH]
                positions_in_buckets(table, sorted, words, spots, begin * THREADS + t, THREADS, many, BUCKET=bucket)
                for k in range(BATCH):
                    if spots[k] >= 0:
                        word: K = words[k]
                        if VALUES != NONE:
                            place: int32 = int32(word) & (1 << PLACE_BITS) - 1
                            if VALUES == GIVEN:
                                value_result[spots[k]] = beside[place]
                            else:
                                position_result[spots[k]] = VO(beside[place])
                            word = word >> PLACE_BITS | upper
                        if VALUES != POSITIONS:
                            result[spots[k]] = decode(word, flip, lowest, KIND=KIND)


@prism.device
@requires(block[1], thread[1])
@template(K=dtype, VALUES=constexpr(int))
def level_of(largest: ptr(const(uint32)) @ grid[1], window: int32 @ block[1], low: int32 @ block[1]) -> int32 @ block[1]:
    """How many groups a window has, as a power of two: as many as none is too full of, and words have bits for."""
    level: int32 @ block[1] = 0
    for next in range(1, LEVELS):
        fits: bool @ block[1] = VALUES == NONE or 8 * low + next + PLACE_BITS <= 8 * K.bytes
        if fits and largest[next] <= uint32(window):
            level = next
    return level


@prism.device
@requires(block[1], thread[1])
@template(K=dtype, KIND=constexpr(int))
def make_numbers(
    y: ptr(K) @ block[1], n: int64 @ block[1], begin: int64 @ block[1], step: int64 @ block[1], flip: K @ block[1],
    lowest: K @ block[1],
):
    """Make numbers of `n` keys: thread `t` of those from `begin + t` on, `step` apart."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=lambda place: place, races="none") as own, group(thread[1]):
        for place in range(begin + t, n, step):
            own[place] = decode(own[place], flip, lowest, KIND=KIND)


@prism.kernel
@template(
    K=dtype, V=dtype, VO=dtype, C=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), BATCH=constexpr(int), BLOCKS=constexpr(int), BITS=constexpr(int), BUCKETS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def sort_windows(
    y: ptr(K) @ grid[1], values: ptr(V) @ grid[1], positions: ptr(VO) @ grid[1], counts: ptr(const(C)) @ grid[1],
    bounds: ptr(const(C)) @ grid[1], largest: ptr(const(uint32)) @ grid[1], moved: ptr(const(uint32)) @ grid[1],
    failed: ptr(uint32) @ grid[1], n: int64 @ grid[1], window: int32 @ grid[1], flip: K @ grid[1], lowest: K @ grid[1],
):
    """Sort each window by the bits of its keys that passes have not put in order, where it stands.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `y`, `values`: `n` keys, and what goes along, as passes have left them; they become the results, and of
                 POSITIONS `positions`. `bounds`, `largest`: of `find_windows`. `failed[0]` becomes 1 where a group has more than
                 `window` elements, `THREADS * ITEMS` at most; then keys alone are made numbers as they stand, and no more.
                 `BITS`: of a digit within a window, at least 8.
    Cost:        a read and a write of an element.
    Test:        tests/kernels/test_sort_windows.py, tests/gpu/test_sort.py
    """
    CAPACITY: constexpr(int) = THREADS * ITEMS
    WARPS: constexpr(int) = THREADS // 32
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with (
        partition(y, block[1], offset=lambda place: place, races="none") as all_keys,
        partition(values, block[1], offset=lambda place: place, races="none") as all_values,
        partition(positions, block[1], offset=lambda place: place, races="none") as all_positions,
        group(block[1]),
    ):
        much: bool @ block[1] = moved[0] != 0
        low: int32 @ block[1] = int32(digits_before_windows(counts, n, window, much, PASSES=K.bytes) >> 16) - 1
        t: int32 @ thread[1] = id()
        if low >= 0 and largest[0] > uint32(window):
            match split(thread):
                case 1:
                    atomic_or(failed[0], 1)
            if VALUES == NONE:  # passes may read them again, where they stand
                make_numbers(all_keys, n, int64(me) * THREADS, int64(blocks) * THREADS, flip, lowest, KIND=KIND)
        elif low >= 0:
            table: shared(uint32[max(WARPS * (33 << BITS - 5), (33 << max(BUCKETS - 5, 0)) + 1)])
            sorted: shared(K[CAPACITY])
            beside: shared(V[CAPACITY if VALUES != NONE else 1])
            words: K[ITEMS] @ thread[1]
            level: int32 @ block[1] = level_of(largest, window, low, K=K, VALUES=VALUES)
            bits: int32 @ block[1] = 8 * low + level  # that windows are sorted by
            many_passes: int32 @ block[1] = (min(bits, LOCAL_BITS) + BITS - 1) // BITS
            digit_bits: int32 @ block[1] = (min(bits, LOCAL_BITS) + many_passes - 1) // many_passes
            first_bit: int32 @ block[1] = max(bits - many_passes * digit_bits, 0) + (PLACE_BITS if VALUES != NONE else 0)
            lower: int32 @ block[1] = max(bits - BUCKETS, 0) + (PLACE_BITS if VALUES != NONE else 0)

            @requires(block[1], thread["THREADS"])
            def sort_one(start: int64 @ block[1], many: int32 @ block[1]):
                """Sort the `many` elements from `start` on by buckets; without these, or where they are crowded, by digits."""
                upper: K @ thread[1] = 0
                rows: int32 @ block[1] = (many + THREADS - 1) // THREADS
                mine: int32 @ thread[1] = max(min((many - t // 32 * 32 * rows - t % 32 + 31) // 32, rows), 0)
                with (
                    partition(all_keys, block[1], offset=start, races="none") as keys,
                    partition(all_values, block[1], offset=start if VALUES != NONE else 0, races="none") as items,
                    partition(all_positions, block[1], offset=start if VALUES == POSITIONS else 0, races="none") as placed,
                ):
                    with group(thread[1]):
                        if VALUES == GIVEN:
                            upper = keys[0] >> bits << bits
                    load_window(keys, items, words, beside, rows, many, bits, KIND=KIND, VALUES=VALUES, THREADS=THREADS)

                    @requires(block[1], thread["THREADS"])
                    def sort_by_digits():
                        """Sort it by digits, and write its results."""
                        sort_window(
                            words, table, sorted, beside, keys, items, placed, rows, mine, many, upper, first_bit, digit_bits,
                            many_passes, flip, lowest, KIND=KIND, VALUES=VALUES, THREADS=THREADS, BATCH=BATCH,
                        )

                    @requires(thread[1])
                    def bucket(word: K @ thread[1]) -> int32 @ thread[1]:
                        """Which bucket a word belongs to."""
                        return bucket_of(word, lower, BUCKETS=BUCKETS)

                    if BUCKETS == 0:
                        sort_by_digits()
                    else:
                        block.fill(table, 0, 33 << BUCKETS - 5)
                        crowded: bool @ block[1] = put_in_buckets(
                            words, table, sorted, mine, THREADS=THREADS, BUCKETS=BUCKETS, BATCH=BATCH, BUCKET=bucket,
                        )
                        if crowded:
                            sort_by_digits()
                        else:
                            write_buckets(
                                table, sorted, beside, keys, items, placed, many, upper, lower, flip, lowest, ITEMS=ITEMS,
                                KIND=KIND, VALUES=VALUES, THREADS=THREADS, BUCKETS=BUCKETS, BATCH=BATCH,
                            )

            for one in range(me, GROUPS >> level, blocks):
                start: int64 @ block[1] = int64(bounds[one << level])
                many: int32 @ block[1] = int32(int64(bounds[(one + 1) << level]) - start)
                if many > 0:
                    sort_one(start, many)


EXAMPLES = {
    "sample_windows": {"K": "uint32", "C": "uint32", "KIND": INTEGER},
    "find_windows": {"K": "uint32", "C": "uint32"},
    "sort_windows": {
        "K": "uint32", "V": "uint32", "VO": "int64", "C": "uint32", "KIND": INTEGER, "VALUES": NONE, "THREADS": 128, "ITEMS": 36,
        "BATCH": 4, "BLOCKS": 6, "BITS": 9, "BUCKETS": 11,
    },
}
