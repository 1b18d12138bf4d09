"""How a tile is put in the order of a digit: its digits counted, and elements ranked, in shared memory."""

from prism.lang import (
    atomic_add, atomic_max, ballot, block, broadcast, const, constexpr, count, dtype, first_set, grid, group, id, int32, int64,
    match_any, partition, popcount, prism, ptr, requires, shuffle, template, thread, uint16, uint32,
)
from prism.kernels.sort.order import FLOAT, digit, minus_zero
from prism.kernels.sort.parts import GIVEN, NONE
from prism.lib.thread import operators


@prism.device
@requires(block[1], thread[32])
@template(C=dtype, PASSES=constexpr(int))
def digits_passed(counts: ptr(const(C)) @ grid[1], n: int64 @ block[1]) -> uint32 @ block[1]:
    """The passes, as bits, whose digit all `n` keys share: they are passed over. Never all: the last one writes results."""
    ALL: constexpr(int) = (1 << PASSES) - 1
    t: int32 @ thread[1] = id()
    shared_by_all: uint32 @ thread[1] = 0
    with group(thread[1]):
        if t < 256:
            for p in range(PASSES):
                shared_by_all = shared_by_all | uint32(1 if int64(counts[p * 256 + t]) == n else 0) << p
    passed: uint32 @ block[1] = block.reduce(shared_by_all, OP=operators.bitwise_or)
    return passed & ALL >> 1 if passed == ALL else passed


@prism.device
@requires(block[1], thread[32])
@template(C=dtype, PASSES=constexpr(int))
def digits_before_windows(
    counts: ptr(const(C)) @ grid[1], n: int64 @ block[1], window: int32 @ block[1], crowded: bool @ block[1],
) -> uint32 @ block[1]:
    """The passes, as bits, that are passed over where `sort_windows` may follow; from bit 16 on the lower of its digits, and 1.

    That is 0 where it does not follow: where the digits in which keys differ are few, or not side by side, or 256 windows of
    `window` elements would be too few for those of one digit, or that is known of some other ones: `crowded`.
    """
    ALL: constexpr(int) = (1 << PASSES) - 1
    FEWEST: constexpr(int) = 4 if PASSES == 8 else 3  # digits: a third pass of 8 bytes takes less than windows of one digit
    t: int32 @ thread[1] = id()
    threads: int32 @ block[1] = count(thread[1])
    found: uint32 @ thread[1] = 0
    with group(thread[1]):
        for d in range(t, 256, threads):
            for p in range(PASSES):
                number: int64 = int64(counts[p * 256 + d])
                full: uint32 = 1 if number > int64(window) * 256 else 0
                found = found | uint32(1 if number == n else 0) << p | full << p + PASSES
    either: uint32 @ block[1] = block.reduce(found, OP=operators.bitwise_or)
    passed: uint32 @ block[1] = either & ALL
    low: int32 @ block[1] = -1
    for p in range(1, PASSES):
        if passed >> p & 1 == 0:
            low = p - 1
    enough: bool @ block[1] = low >= 0 and popcount(passed) <= PASSES - FEWEST
    if enough and passed >> low & 1 == 0 and either >> low + PASSES & 3 == 0 and not crowded:
        return ALL & ~(uint32(3) << low) | uint32(low + 1) << 16
    else:
        return passed & ALL >> 1 if passed == ALL else passed


@prism.device
@requires(block[1], thread[1])
@template(PASSES=constexpr(int))
def not_moved(moved: ptr(const(uint32)) @ grid[1]) -> uint32 @ block[1]:
    """As `digits_passed`, of rows: `moved[0]` is of `begin_rows`, and says whether an even number of passes must move them."""
    ALL: constexpr(int) = (1 << PASSES) - 1
    word: uint32 @ block[1] = moved[0]
    passed: uint32 @ block[1] = ~word & ALL
    if word >> 31 == 0:
        return passed & ALL >> 1 if passed == ALL else passed
    elif passed == ALL:
        return passed & ~uint32(3)
    else:
        return passed & passed - 1 if popcount(passed) % 2 == 1 else passed  # without the first one


@prism.device
@requires(block[1], thread[32])
@template(THREADS=constexpr(int), TILE=constexpr(int))
def begin_digits(
    table: ptr(uint32) @ block[1], common: ptr(int32) @ block[1], found: uint32[2] @ thread[1], flag: bool @ thread[1],
) -> bool @ block[1]:
    """Make of how often each warp has a digit where the warp's part of it begins in the tile.

    `table[w * 256 + d]` is of warp `w` and digit `d`. Thread `t` finds how often digit `t` occurs in the tile, and where it
    begins. A digit of more than a quarter of the tile is put into `common[0]`.

    Returns: whether any thread's `flag` is set.
    """
    WARPS: constexpr(int) = THREADS // 32
    FLAG: constexpr(int) = 1 << 20  # above all sums: a tile has fewer elements
    t: int32 @ thread[1] = id()
    sums: uint32[1] @ thread[1]
    total: uint32 @ thread[1] = 0
    with group(thread[1]):
        if t < 256:
            for v in range(WARPS):
                total = total + table[v * 256 + t]
            if total > TILE // 4:
                atomic_max(common[0], t, scope="block")
    sums[0] = total + (FLAG if flag else 0)
    all: uint32 @ block[1] = block.scan(sums, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
    begin: uint32 @ thread[1] = sums[0] & FLAG - 1
    with partition(table, thread[1], offset=t, races="none") as own, group(thread[1]):
        if t < 256:
            at: uint32 = begin
            for v in range(WARPS):
                here: uint32 = own[v * 256]  # read again: registers are few
                own[v * 256] = at
                at = at + here
    found[0] = total
    found[1] = begin
    return all >= FLAG


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), KIND=constexpr(int), THREADS=constexpr(int))
def count_tile(
    table: ptr(uint32) @ block[1], common: ptr(int32) @ block[1], keys: K[ITEMS] @ thread[1], found: uint32[2] @ thread[1],
    shift: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1],
) -> bool @ block[1]:
    """Count the digits of a tile, and find where each begins: `table`, `common` and `found` become what `begin_digits` leaves.

    Returns: whether ranks must be in the order of the lanes, as there is a key of -0.0.
    """
    WARPS: constexpr(int) = THREADS // 32
    w: int32 @ thread[32] = id()
    careful: bool @ thread[1] = False
    block.fill(table, 0, WARPS * 256)
    block.fill(common, -1, 1)
    with group(thread[1]):
        for k in range(ITEMS):
            atomic_add(table[w * 256 + digit(keys[k], shift, lowest, KIND=KIND)], 1, scope="block")
            if KIND == FLOAT:
                careful = careful or keys[k] == minus_zero(flip, lowest)
    return begin_digits(table, common, found, careful, THREADS=THREADS, TILE=THREADS * ITEMS)


@prism.device
@requires(thread[32])
@template(K=dtype, ITEMS=constexpr(int), KIND=constexpr(int), BATCH=constexpr(int))
def rank_batch(
    own: ptr(uint32) @ thread[32], keys: K[ITEMS] @ thread[1], begin: int32 @ thread[32], ranks: uint32[BATCH] @ thread[1],
    shift: int32 @ thread[32], lowest: K @ thread[32], often: int32 @ thread[32], slowly: bool @ thread[32],
):
    """Rank a batch of a tile, each thread's elements from `begin` on, in the order of its digits; all is under way at once.

    `own`: the warp's part of the table. `often`, `slowly`: a digit that very many have, and what `count_tile` says.
    """
    digits: int32[BATCH] @ thread[1]
    for k in range(BATCH):
        digits[k] = digit(keys[begin + k], shift, lowest, KIND=KIND, AGAIN=True)
    if not slowly:
        rank(own, digits, ranks, often)
    if KIND == FLOAT:
        if slowly:
            rank_in_order(own, digits, ranks)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
    BATCH=constexpr(int),
)
def rank_tile(
    table: ptr(uint32) @ block[1], keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], sorted: ptr(K) @ block[1],
    beside: ptr(V) @ block[1], ids: ptr(uint16) @ block[1], start: int32 @ block[1], shift: int32 @ block[1],
    lowest: K @ block[1], often: int32 @ block[1], slowly: bool @ block[1],
):
    """Put a tile in the order of a digit into `sorted[start]` and behind, and beside it what goes along, and where it stood.

    Each warp does so by itself, with its part of the table: none waits for another one.
    """
    w: int32 @ thread[32] = id()
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    with (
        partition(table, thread[32], offset=w * 256) as own,
        partition(sorted, thread[1], offset=lambda rank: rank + start, races="none") as spot,
        partition(beside, thread[1], offset=lambda rank: rank + start, races="none") as value_spot,
        partition(ids, thread[1], offset=lambda rank: rank + start, races="none") as id_spot,
        group(thread[32]),
    ):
        for begin in range(0, ITEMS, BATCH):
            ranks: uint32[BATCH] @ thread[1]
            rank_batch(own, keys, begin, ranks, shift, lowest, often, slowly, KIND=KIND)
            with group(thread[1]):
                for k in range(BATCH):
                    spot[int32(ranks[k])] = keys[begin + k]
                    if VALUES != NONE:
                        value_spot[int32(ranks[k])] = items[begin + k]
                    if VALUES == GIVEN:
                        id_spot[int32(ranks[k])] = uint16(at + 32 * (begin + k))


@prism.device
@requires(thread[32])
@template(BATCH=constexpr(int), HALF=constexpr(int, default=0))
def rank(
    own: ptr(uint32) @ thread[32], digits: int32[BATCH] @ thread[1], ranks: uint32[BATCH] @ thread[1],
    common: int32 @ thread[32],
):
    """Rank a batch by additions to `own`, which has where the warp's part of each digit goes on; `HALF`: as of `word_of`.

    Equal digits of a row of the warp are in the order in which its lanes add. Where very many have the digit `common`, not
    negative, these are counted by votes: additions to one place come one after the other.
    """
    LOW: constexpr(int) = (1 << (32 if HALF == 0 else 16)) - 1
    if common >= 0:
        rank_common(own, digits, ranks, common, HALF=HALF)
    else:
        with group(thread[1]):
            for k in range(BATCH):
                half: int32 = half_of(digits[k], HALF=HALF)
                ranks[k] = atomic_add(own[word_of(digits[k], HALF=HALF)], uint32(1) << half, scope="block") >> half & LOW


@prism.device
@requires(thread[1])
@template(HALF=constexpr(int))
def word_of(digit: int32 @ thread[1]) -> int32 @ thread[1]:
    """The word of a table that counts a digit. `HALF`: 0; or a word counts two digits, that are so far apart."""
    return digit if HALF == 0 else digit & HALF - 1


@prism.device
@requires(thread[1])
@template(HALF=constexpr(int))
def half_of(digit: int32 @ thread[1]) -> int32 @ thread[1]:
    """From which bit on its word counts a digit: digits of the upper half stand in the upper halves of words."""
    return 0 if HALF == 0 else digit // HALF << 4


@prism.device
@requires(thread[32])
@template(BATCH=constexpr(int), HALF=constexpr(int))
def rank_common(
    own: ptr(uint32) @ thread[32], digits: int32[BATCH] @ thread[1], ranks: uint32[BATCH] @ thread[1],
    common: int32 @ thread[32],
):
    """Rank a batch: elements of the digit `common` by votes, the others by additions."""
    LOW: constexpr(int) = (1 << (32 if HALF == 0 else 16)) - 1
    lane: int32 @ thread[1] = id() % 32
    half: int32 @ thread[32] = half_of(common, HALF=HALF)
    count_here: uint32 @ thread[1] = 0
    with group(thread[1]):
        count_here = own[word_of(common, HALF=HALF)] >> half & LOW
    begin: uint32 @ thread[32] = broadcast(count_here, 0)
    sum: uint32 @ thread[32] = begin
    for k in range(BATCH):
        mine: bool @ thread[1] = digits[k] == common
        votes: uint32 @ thread[32] = ballot(mine)
        with group(thread[1]):
            if mine:
                ranks[k] = sum + uint32(popcount(votes & (uint32(1) << uint32(lane)) - 1))
            else:
                own_half: int32 = half_of(digits[k], HALF=HALF)
                ranks[k] = atomic_add(own[word_of(digits[k], HALF=HALF)], uint32(1) << own_half, scope="block") >> own_half & LOW
        sum = sum + uint32(popcount(votes))
    with group(thread[1]):
        if lane == 0:
            atomic_add(own[word_of(common, HALF=HALF)], sum - begin << half, scope="block")


@prism.device
@requires(thread[32])
@template(BATCH=constexpr(int))
def rank_in_order(own: ptr(uint32) @ thread[32], digits: int32[BATCH] @ thread[1], ranks: uint32[BATCH] @ thread[1]):
    """Rank a batch in the order of the lanes, whatever the order of additions is."""
    lane: int32 @ thread[1] = id() % 32
    for k in range(BATCH):
        peers: uint32 @ thread[1] = match_any(digits[k])
        leader: int32 @ thread[1] = int32(first_set(peers)) - 1
        before: uint32 @ thread[1] = 0
        with group(thread[1]):
            if lane == leader:
                before = atomic_add(own[digits[k]], uint32(popcount(peers)), scope="block")
        begin: uint32 @ thread[1] = shuffle(before, leader)
        with group(thread[1]):
            ranks[k] = begin + uint32(popcount(peers & (uint32(1) << uint32(lane)) - 1))
