"""A block ranks the elements of a tile, and finds the element of some rank."""

from prism.lang import (
    atomic_add, atomic_or, ballot, block, broadcast, constexpr, count, dtype, first_set, function, group, id, int32, partition,
    popcount, prism, ptr, requires, shared, shuffle, static_assert, template, thread, uint32, warp,
)
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(
    ITEMS=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int), WIDTH=constexpr(int, default=lambda ITEMS: ITEMS),
)
def radix_rank(digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1]):
    """Say in `ranks` where each element stands once the tile is sorted by its digit; equal ones keep their order.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + k` in thread `t`; with `WIDTH=1` element `(t / 32 * ITEMS + k) * 32 + t % 32`. A
                 digit is in `0 ... 2^BITS - 1`; `BITS`: 1 to 8.
    Cost:        that of `block.radix_rank_counts`.
    Errors:      another digit would be counted elsewhere; the reference machine says so.
    Source:      Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".
    Test:        tests/lib/block/test_rank.py, tests/lib/block/test_sort.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    SHARE: constexpr(int) = ((1 << BITS) + THREADS - 1) // THREADS
    counts: int32[SHARE] @ thread[1]
    begins: int32[SHARE] @ thread[1]
    radix_rank_counts(digits, ranks, counts, begins, THREADS=THREADS, BITS=BITS, WIDTH=WIDTH)


@prism.device
@requires(block[1], thread[32])
@template(
    ITEMS=constexpr(int), SHARE=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int),
    WIDTH=constexpr(int, default=lambda ITEMS: ITEMS),
)
def radix_rank_counts(
    digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], counts: int32[SHARE] @ thread[1],
    begins: int32[SHARE] @ thread[1],
):
    """As `block.radix_rank`; and say how often each digit occurs in the tile, and what rank its first element has.

    Perspective: block, of `THREADS` threads.
    Shapes:      `digits`, `ranks`: as of `block.radix_rank`. `counts[j]`, `begins[j]` of thread `t` are of digit
                 `t * SHARE + j`; of what is no digit, 0 and how many elements there are. `SHARE`: `2^BITS / THREADS`, rounded
                 up. So with at least `2^BITS` threads each has one digit, as `grid.publish_digits` takes it.
    Cost:        two atomic additions in shared memory an element, and a third operation to find the lanes of equal digits: an
                 atomic or; or `BITS` votes, where one digit has more than a quarter of the tile, and of at most 4 bits. Four
                 barriers of the block, three of at most 4 bits. `2^BITS` words of shared memory a warp, or twice as many.
                 Blocked elements go through shared memory once more, forth and back.
    Source:      Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".
    Test:        tests/lib/block/test_rank.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(1 <= BITS <= 8, "a digit has 1 to 8 bits")
    static_assert(SHARE == ((1 << BITS) + THREADS - 1) // THREADS, "`SHARE` is how many digits a thread has")
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    static_assert(WIDTH == 1 or WIDTH == ITEMS, "`WIDTH` is 1 or `ITEMS`")
    if WIDTH == 1:
        rank_rows(digits, ranks, counts, begins, THREADS=THREADS, BITS=BITS)
    else:
        rows: int32[ITEMS] @ thread[1]
        for k in range(ITEMS):
            rows[k] = digits[k]
        block.blocked_to_warp_striped(rows, THREADS=THREADS)
        rank_rows(rows, ranks, counts, begins, THREADS=THREADS, BITS=BITS)
        block.warp_striped_to_blocked(ranks, THREADS=THREADS)


@prism.device
@requires(block[1], thread[32])
@template(ITEMS=constexpr(int), SHARE=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int))
def rank_rows(
    digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], counts: int32[SHARE] @ thread[1],
    begins: int32[SHARE] @ thread[1],
):
    """`block.radix_rank_counts` of elements that lie row by row: each warp counts its digits, learns where its own go, ranks."""
    DIGITS: constexpr(int) = 1 << BITS
    WARPS: constexpr(int) = THREADS // 32
    VOTES: constexpr(bool) = BITS <= 4  # few digits are equal in many lanes, and take few votes
    table: shared(int32[WARPS * DIGITS]) @ block[1]  # how often a warp has a digit; then, the rank of its next element
    masks: shared(uint32[WARPS * (1 if VOTES else DIGITS)]) @ block[1]  # the lanes that have a digit
    w: int32 @ thread[32] = id()
    with (
        partition(table, thread[32], offset=w * DIGITS) as own,
        partition(masks, thread[32], offset=w * (1 if VOTES else DIGITS)) as lanes,
        group(thread[32]),
    ):
        lane: int32 @ thread[1] = id()
        with partition(own, thread[1], offset=lane) as cells, partition(lanes, thread[1], offset=lane) as words, group(thread[1]):
            for d in range(0, DIGITS - lane, 32):
                cells[d] = 0
                if not VOTES:
                    words[d] = 0
        with group(thread[1]):
            for k in range(ITEMS):
                atomic_add(own[digits[k]], 1, scope="block")
    count_digits(table, counts, begins, THREADS=THREADS, DIGITS=DIGITS)
    crowded: bool @ block[1] = VOTES
    if not VOTES:
        often: bool @ thread[1] = False
        for j in range(SHARE):
            often = often or counts[j] > THREADS * ITEMS // 4
        crowded = block.any(often)
    with (
        partition(table, thread[32], offset=w * DIGITS) as own,
        partition(masks, thread[32], offset=w * (1 if VOTES else DIGITS)) as lanes,
        group(thread[32]),
    ):
        lane: int32 @ thread[1] = id()
        for k in range(ITEMS):
            peers: uint32 @ thread[1] = 0
            if crowded:
                peers = peers_by_votes(digits[k], BITS=BITS)
            else:
                peers = peers_by_mask(lanes, digits[k])
            leader: int32 @ thread[1] = int32(first_set(peers)) - 1
            before: int32 @ thread[1] = 0
            with group(thread[1]):
                if lane == leader:
                    before = atomic_add(own[digits[k]], int32(popcount(peers)), scope="block")
            begin: int32 @ thread[1] = shuffle(before, leader)
            ranks[k] = begin + int32(popcount(peers & (uint32(1) << uint32(lane)) - 1))


@prism.device
@requires(block[1], thread[32])
@template(SHARE=constexpr(int), THREADS=constexpr(int), DIGITS=constexpr(int))
def count_digits(
    table: ptr(int32) @ block[1], counts: int32[SHARE] @ thread[1], begins: int32[SHARE] @ thread[1],
):
    """How often each of a thread's digits is there, and where they begin; of how often a warp has a digit, where its own do."""
    WARPS: constexpr(int) = THREADS // 32
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        for j in range(SHARE):
            counts[j] = 0
            if t * SHARE + j < DIGITS:
                for v in range(WARPS):
                    counts[j] = counts[j] + table[v * DIGITS + t * SHARE + j]
            begins[j] = counts[j]
    block.scan(begins, 0, WIDTH=SHARE, OP=operators.add, EXCLUSIVE=True)
    with partition(table, thread[1], offset=t * SHARE, races="none") as column, group(thread[1]):
        for j in range(SHARE):
            if t * SHARE + j < DIGITS:
                next: int32 = begins[j]
                for v in range(WARPS):
                    here: int32 = column[v * DIGITS + j]
                    column[v * DIGITS + j] = next
                    next = next + here


@prism.device
@requires(thread[32])
@template(BITS=constexpr(int))
def peers_by_votes(digit: int32 @ thread[1]) -> uint32 @ thread[1]:
    """The lanes of the warp that have this digit, a vote for each bit."""
    peers: uint32 @ thread[1] = ~uint32(0)
    for bit in range(BITS):
        mine: bool @ thread[1] = (digit >> bit & 1) != 0
        votes: uint32 @ thread[32] = ballot(mine)
        peers = peers & (votes if mine else ~votes)
    return peers


@prism.device
@requires(thread[32])
def peers_by_mask(lanes: ptr(uint32) @ thread[32], digit: int32 @ thread[1]) -> uint32 @ thread[1]:
    """The lanes of the warp that have this digit: each sets its bit of `lanes[digit]`. All words are 0 before, and after."""
    lane: int32 @ thread[1] = id()
    with group(thread[1]):
        atomic_or(lanes[digit], uint32(1) << uint32(lane), scope="block")
    peers: uint32 @ thread[1] = 0
    with group(thread[1]):
        peers = lanes[digit]
    with partition(lanes, thread[1], offset=lambda d: d, races="none") as cell, group(thread[1]):
        if lane == int32(first_set(peers)) - 1:
            cell[digit] = 0
    return peers


@prism.device
@requires(block[1], thread[32])
@template(N=dtype, U=dtype, KEY=function, COUNTS=function, BITS=constexpr(int), THREADS=constexpr(int))
def select_rank(n: N @ block[1], rank: N @ block[1]) -> (U, N, N) @ block[1]:
    """The key of rank `rank`, from 0 on, of elements `0 ... n - 1`; how many keys are less, and how many are equal to it.

    Digits of 8 bits are counted from the highest on, of the elements whose digits so far are those of the key that is looked for.

    Perspective: block, of `THREADS` threads.
    Shapes:      `KEY(i)` gives element `i`'s key, an unsigned integer `U` below `2^BITS`, and `COUNTS(i)` whether it is one of
                 those that are ranked: functions of a thread, of an `N`: int32 or int64. Of the ranked ones there are more than
                 `rank`, and fewer than 2^32. `BITS`: a multiple of 8.
    Cost:        of each 8 bits, `n / THREADS` calls of both functions a thread, as many atomic additions in shared memory at
                 most, a scan of a warp and two barriers; and two more. 256 words of shared memory for each 8 bits, and 8.
    Source:      Alabi, Blanchard et al., "Fast k-selection algorithms for graphics processing units".
    Test:        tests/lib/block/test_select.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    static_assert(BITS % 8 == 0 and BITS <= 8 * U.bytes, "a key has whole digits")
    PASSES: constexpr(int) = BITS // 8
    t: int32 @ thread[1] = id()
    lane: int32 @ thread[1] = t % 32
    bins: shared(uint32[256 * PASSES]) @ block[1]
    key: shared(U[1]) @ block[1]
    numbers: shared(N[2]) @ block[1]
    prefix: U @ thread[32] = 0  # each warp finds the same: so none waits for another one
    below: N @ thread[32] = 0
    equal: N @ thread[32] = n
    block.fill(bins, 0, 256 * PASSES, THREADS=THREADS)
    for step in range(PASSES, unroll=False):
        shift: U @ block[1] = U(BITS - 8 - 8 * step)
        with group(thread[1]):
            for first in range(N(t), n, 4 * THREADS):
                ones: U[4]
                counts_too: bool[4]
                for a in range(4):  # all are read before any is counted
                    counts_too[a] = False
                    if first + a * THREADS < n:
                        counts_too[a] = COUNTS(first + a * THREADS)
                        ones[a] = KEY(first + a * THREADS)
                for a in range(4):
                    if counts_too[a] and ones[a] >> shift >> U(8) == prefix:
                        digit: int32 = int32(ones[a] >> shift & U(255))  # lanes have eight each: every eighth lie side by side
                        atomic_add(bins[step * 256 + digit % 8 * 32 + digit // 8], 1, scope="block")
        with group(thread[32]):
            counts: uint32[8] @ thread[1]
            before: uint32[8] @ thread[1]
            with group(thread[1]):
                for j in range(8):
                    counts[j] = bins[step * 256 + j * 32 + lane]
                    before[j] = counts[j]
            warp.scan(before, 0, WIDTH=8, OP=operators.add, EXCLUSIVE=True)
            left: N @ thread[32] = rank - below
            digit: int32 @ thread[1] = -1
            less: uint32 @ thread[1] = 0
            many: uint32 @ thread[1] = 0
            with group(thread[1]):
                for j in range(8):
                    if N(before[j]) <= left < N(before[j]) + N(counts[j]):
                        digit = lane * 8 + j
                        less = before[j]
                        many = counts[j]
            here: int32 @ thread[32] = max(int32(first_set(ballot(digit >= 0))) - 1, 0)
            prefix = prefix << U(8) | U(broadcast(digit, here))
            below = below + N(broadcast(less, here))
            equal = N(broadcast(many, here))
    with partition(key, thread[1], offset=0, races="none") as cell, partition(numbers, thread[1], offset=0, races="none") as pair:
        with group(thread[1]):
            if t == 0:
                cell[0] = prefix
                pair[0] = below
                pair[1] = equal
    return key[0], numbers[0], numbers[1]


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, U=dtype, KEY=function, BITS=constexpr(int), ITEMS=constexpr(int), THREADS=constexpr(int),
)
def top_k(items: T[ITEMS] @ thread[1], k: int32 @ block[1]):
    """Put the `k` elements of the tile whose keys are the least close together, in their order; of equal ones the first.

    Perspective: block, of `THREADS` threads.
    Shapes:      blocked: element `t * ITEMS + j` in `items[j]` of thread `t`. Afterwards number `j * THREADS + t` of the `k` is
                 in `items[j]` of thread `t`, and places behind them have what they had. `KEY` gives an unsigned integer `U` below
                 `2^BITS`, as for `block.radix_sort`: one that complements it for the largest. `k`: from 1 to `THREADS * ITEMS`.
                 `ITEMS`: at most 32.
    Cost:        `block.select_rank`, a `block.scan`, and `block.compact`; `THREADS * ITEMS` keys of shared memory more.
    Source:      Alabi, Blanchard et al., "Fast k-selection algorithms for graphics processing units".
    Test:        tests/lib/block/test_select.py
    """
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    t: int32 @ thread[1] = id()
    keys: shared(U[THREADS * ITEMS]) @ block[1]
    with partition(keys, thread[1], offset=t * ITEMS) as own, group(thread[1]):
        for j in range(ITEMS):
            own[j] = KEY(items[j])

    @requires(thread[1])
    def key_at(i: int32 @ thread[1]) -> U @ thread[1]:
        return keys[i]

    @requires(thread[1])
    def every(i: int32 @ thread[1]) -> bool @ thread[1]:
        return True

    bound: U @ block[1] = 0
    below: int32 @ block[1] = 0
    equal: int32 @ block[1] = 0
    bound, below, equal = select_rank(
        THREADS * ITEMS, k - 1, U=U, KEY=key_at, COUNTS=every, BITS=BITS, THREADS=THREADS,
    )
    ties: int32[ITEMS] @ thread[1]
    flags: uint32 @ thread[1] = 0
    with group(thread[1]):
        for j in range(ITEMS):
            ties[j] = 1 if KEY(items[j]) == bound else 0
    block.scan(ties, 0, WIDTH=ITEMS, OP=operators.add, EXCLUSIVE=True)
    with group(thread[1]):
        for j in range(ITEMS):
            key: U = KEY(items[j])
            taken: bool = key < bound or (key == bound and ties[j] < k - below)
            flags = flags | (uint32(1) << j if taken else uint32(0))
    block.compact(items, flags, WIDTH=ITEMS, THREADS=THREADS)
