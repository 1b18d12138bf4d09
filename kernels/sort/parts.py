"""What a pass of the radix sort is made of."""

from prism.lang import (
    atomic_add, atomic_max, ballot, block, broadcast, const, constexpr, count, dtype, first_set, grid, group, id, int32, int64,
    match_any, partition, popcount, prefetch, prism, ptr, requires, shuffle, split, template, thread, uint16, uint32,
)
from prism.kernels.sort.order import decode, digit
from prism.lib.thread import extent, operators

NONE, POSITIONS, GIVEN = 0, 1, 2
"""What goes where its key goes: nothing, the position where the key stood, or an element of another array."""


@prism("device")
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


@prism("device")
@requires(block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def load_part(x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], many: int32 @ block[1]):
    """Load a tile of `many` elements, a run of `32 * ITEMS` each warp: lane `l` has its element `32 * k + l` in `items[k]`."""
    threads: int32 @ block[1] = count(thread[1])
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    with partition(x, thread[1], offset=at) as mine, group(thread[1]):
        if many == threads * ITEMS:
            for k in range(ITEMS):
                items[k] = mine[32 * k]
        else:
            for k in range(ITEMS):
                items[k] = mine[32 * k] if 32 * k < many - at else 0


@prism("device")
@requires(block[1], thread[32])
@template(K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), BOTH=constexpr(bool), TILE=constexpr(int))
def load_both(
    x: ptr(K) @ block[1], values: ptr(V) @ block[1], keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1],
    start: int64 @ block[1], many: int32 @ block[1], later: int32 @ block[1], n: int64 @ block[1],
):
    """Load a tile of keys, and of values with `BOTH`, from `start` on; ask for tile `later` to be brought into the L2."""
    with partition(x, block[1], offset=start) as source:
        load_part(source, keys, many)
    if BOTH:
        with partition(values, block[1], offset=start) as source:
            load_part(source, items, many)
    match split(thread):
        case 1:
            prefetch(x[int64(later) * TILE], extent(later, n, TILE=TILE))
            if BOTH:
                prefetch(values[int64(later) * TILE], extent(later, n, TILE=TILE))


@prism("device")
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


@prism("device")
@requires(block[1], thread[32])
@template(BATCH=constexpr(int))
def rank(
    table: ptr(uint32) @ block[1], digits: int32[BATCH] @ thread[1], ranks: uint32[BATCH] @ thread[1], common: int32 @ block[1],
):
    """Rank a batch by additions to `table`, which has where each warp's part of a digit goes on.

    Equal digits of a row of the warp are in the order in which its lanes add. Where very many have the digit `common`, not
    negative, these are counted by votes: additions to one place come one after the other.
    """
    w: int32 @ thread[32] = id()
    if common >= 0:
        rank_common(table, digits, ranks, common)
    else:
        with group(thread[1]):
            for k in range(BATCH):
                ranks[k] = atomic_add(table[w * 256 + digits[k]], 1, scope="block")


@prism("device")
@requires(block[1], thread[32])
@template(BATCH=constexpr(int))
def rank_common(
    table: ptr(uint32) @ block[1], digits: int32[BATCH] @ thread[1], ranks: uint32[BATCH] @ thread[1], common: int32 @ block[1],
):
    """Rank a batch: elements of the digit `common` by votes, the others by additions."""
    w: int32 @ thread[32] = id()
    lane: int32 @ thread[1] = id() % 32
    with partition(table, thread[32], offset=w * 256, races="none") as own, group(thread[32]):
        count_here: uint32 @ thread[1] = 0
        with group(thread[1]):
            count_here = own[common]
        begin: uint32 @ thread[32] = broadcast(count_here, 0)
        sum: uint32 @ thread[32] = begin
        for k in range(BATCH):
            mine: bool @ thread[1] = digits[k] == common
            votes: uint32 @ thread[32] = ballot(mine)
            with group(thread[1]):
                if mine:
                    ranks[k] = sum + uint32(popcount(votes & (uint32(1) << uint32(lane)) - 1))
                else:
                    ranks[k] = atomic_add(own[digits[k]], 1, scope="block")
            sum = sum + uint32(popcount(votes))
        with group(thread[1]):
            if lane == 0:
                atomic_add(own[common], sum - begin, scope="block")


@prism("device")
@requires(block[1], thread[32])
@template(BATCH=constexpr(int))
def rank_in_order(table: ptr(uint32) @ block[1], digits: int32[BATCH] @ thread[1], ranks: uint32[BATCH] @ thread[1]):
    """Rank a batch in the order of the lanes, whatever the order of additions is."""
    w: int32 @ thread[32] = id()
    lane: int32 @ thread[1] = id() % 32
    with partition(table, thread[32], offset=w * 256, races="none") as own, group(thread[32]):
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


@prism("device")
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, C=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int),
)
def write_digits(
    tile: ptr(const(K)) @ block[1], values: ptr(const(V)) @ block[1], ids: ptr(const(uint16)) @ block[1],
    targets: ptr(const(C)) @ block[1], y: ptr(K) @ block[1], value_y: ptr(V) @ block[1], many: int32 @ block[1],
    shift: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1], last: bool @ block[1],
) -> bool @ block[1]:
    """Write the `many` elements of a tile where their digits belong; say whether two of them stand in the wrong order.

    Element `i`, of digit `d`, goes to `targets[d] + i`. `last`: bits of numbers are written.
    """
    t: int32 @ thread[1] = id()
    wrong: bool @ thread[1] = False
    with (
        partition(y, thread[1], offset=lambda place: place, races="none") as out,
        partition(value_y, thread[1], offset=lambda place: place, races="none") as value_out,
        group(thread[1]),
    ):
        for begin in range(0, ITEMS, BATCH):
            keys: K[BATCH]
            items: V[BATCH]
            spots: C[BATCH]
            here: int32 = begin * THREADS + t
            found: bool = load_ordered(
                tile, values, ids, keys, items, here, shift, lowest, KIND=KIND, VALUES=VALUES, THREADS=THREADS,
            )
            wrong = found or wrong
            for k in range(BATCH):
                spots[k] = targets[digit(keys[k], shift, lowest, KIND=KIND)] + C(here + k * THREADS)
            if last:
                for k in range(BATCH):
                    keys[k] = decode(keys[k], flip, lowest, KIND=KIND)
            for k in range(BATCH):
                if many == THREADS * ITEMS or here + k * THREADS < many:
                    out[int64(spots[k])] = keys[k]
                    if VALUES != NONE:
                        value_out[int64(spots[k])] = items[k]
    return block.any(wrong)


@prism("device")
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, C=dtype, KIND=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int), BATCH=constexpr(int),
)
def write_positions(
    tile: ptr(const(K)) @ block[1], values: ptr(const(V)) @ block[1], ids: ptr(const(uint16)) @ block[1],
    targets: ptr(const(C)) @ block[1], y: ptr(VO) @ block[1], many: int32 @ block[1], shift: int32 @ block[1],
    lowest: K @ block[1],
) -> bool @ block[1]:
    """As `write_digits`, of positions alone."""
    t: int32 @ thread[1] = id()
    wrong: bool @ thread[1] = False
    with partition(y, thread[1], offset=lambda place: place, races="none") as out, group(thread[1]):
        for begin in range(0, ITEMS, BATCH):
            keys: K[BATCH]
            items: V[BATCH]
            spots: C[BATCH]
            here: int32 = begin * THREADS + t
            found: bool = load_ordered(
                tile, values, ids, keys, items, here, shift, lowest, KIND=KIND, VALUES=POSITIONS, THREADS=THREADS,
            )
            wrong = found or wrong
            for k in range(BATCH):
                spots[k] = targets[digit(keys[k], shift, lowest, KIND=KIND)] + C(here + k * THREADS)
            for k in range(BATCH):
                if many == THREADS * ITEMS or here + k * THREADS < many:
                    out[int64(spots[k])] = VO(items[k])
    return block.any(wrong)


@prism("device")
@requires(thread[1])
@template(K=dtype, V=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), BATCH=constexpr(int))
def load_ordered(
    tile: ptr(const(K)) @ thread[1], values: ptr(const(V)) @ thread[1], ids: ptr(const(uint16)) @ thread[1],
    keys: K[BATCH] @ thread[1], items: V[BATCH] @ thread[1], at: int32 @ thread[1], shift: int32 @ thread[1],
    lowest: K @ thread[1],
) -> bool @ thread[1]:
    """Load elements `at`, `at + THREADS` ... of a tile; say whether one stands in the wrong order with the one before it.

    Keys came in the order of the digits below, and equal ones in that of their positions. So they must be in the order of all
    bits up to this digit's, and then of their positions, where these go along. Beside given values it is the order in which
    they were loaded.
    What is behind the last element is never in a wrong order: it has the largest key.
    """
    before: K[BATCH]
    wrong: bool = False
    mask: K = ~K(0) >> (8 * K.bytes - 8 - shift)
    for k in range(BATCH):
        keys[k] = tile[at + k * THREADS]
        before[k] = tile[max(at + k * THREADS - 1, 0)]
        if VALUES != NONE:
            items[k] = values[at + k * THREADS]
    if VALUES == NONE:
        for k in range(BATCH):
            wrong = (before[k] & mask) > (keys[k] & mask) or wrong
    elif VALUES == POSITIONS:
        other: V[BATCH]
        for k in range(BATCH):
            other[k] = values[max(at + k * THREADS - 1, 0)]
        for k in range(BATCH):
            same: bool = (before[k] & mask) == (keys[k] & mask)
            wrong = (before[k] & mask) > (keys[k] & mask) or (same and other[k] > items[k]) or wrong
    else:
        mine: uint16[BATCH]
        theirs: uint16[BATCH]
        for k in range(BATCH):
            mine[k] = ids[at + k * THREADS]
            theirs[k] = ids[max(at + k * THREADS - 1, 0)]
        for k in range(BATCH):
            same: bool = digit(keys[k], shift, lowest, KIND=KIND) == digit(before[k], shift, lowest, KIND=KIND)
            wrong = (same and theirs[k] > mine[k]) or wrong
    return wrong


@prism("device")
@requires(block[1], thread[32])
@template(K=dtype, V=dtype, KIND=constexpr(int), VALUES=constexpr(int))
def mend(
    tile: ptr(K) @ block[1], values: ptr(V) @ block[1], ids: ptr(uint16) @ block[1], many: int32 @ block[1],
    shift: int32 @ block[1], lowest: K @ block[1],
):
    """Let neighbours that stand in the wrong order change targets: pairs that begin at even targets, and then all others.

    Only elements of one row of a warp can: after at most 32 calls all are right.
    """
    t: int32 @ thread[1] = id()
    threads: int32 @ block[1] = count(thread[1])
    mask: K @ block[1] = ~K(0) >> (8 * K.bytes - 8 - shift)
    for odd in range(2):
        with (
            partition(tile, thread[1], offset=2 * t + odd) as pair,
            partition(values, thread[1], offset=2 * t + odd) as value_pair,
            partition(ids, thread[1], offset=2 * t + odd) as id_pair,
            group(thread[1]),
        ):
            for i in range(0, many - 1 - 2 * t - odd, 2 * threads):
                a: K = pair[i]
                b: K = pair[i + 1]
                wrong: bool = (a & mask) > (b & mask)
                if VALUES == POSITIONS:
                    wrong = wrong or ((a & mask) == (b & mask) and value_pair[i] > value_pair[i + 1])
                elif VALUES == GIVEN:
                    same: bool = digit(a, shift, lowest, KIND=KIND) == digit(b, shift, lowest, KIND=KIND)
                    wrong = same and id_pair[i] > id_pair[i + 1]
                if wrong:
                    pair[i] = b
                    pair[i + 1] = a
                    if VALUES != NONE:
                        value: V = value_pair[i]
                        value_pair[i] = value_pair[i + 1]
                        value_pair[i + 1] = value
                    if VALUES == GIVEN:
                        number: uint16 = id_pair[i]
                        id_pair[i] = id_pair[i + 1]
                        id_pair[i + 1] = number
