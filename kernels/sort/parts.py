"""How a pass of the radix sort moves a tile: from memory into registers, and to where its digits belong."""

from prism.lang import (
    block, claim, const, constexpr, count, dtype, function, grid, group, id, int32, int64, one, partition, prefetch, prism, ptr,
    requires, split, template, thread, uint16,
)
from prism.kernels.sort.order import decode, digit, encode
from prism.lib.thread import extent

NONE, POSITIONS, GIVEN, PLACES = 0, 1, 2, 3
"""What goes where its key goes: nothing, the position where the key stood, or an element of another array. In shared memory
alone, PLACES: where the key stood in its tile, by which the rest is found."""

_MOST_CALLS = 64
"""How often a tile is written at most: 33 times are enough to mend it, where nobody else writes to it."""


@prism.device
@requires(thread[1])
@template(TILE=constexpr(int), ROWS=constexpr(bool))
def within_row(tile: int32 @ thread[1], n: int64 @ thread[1]) -> int32 @ thread[1]:
    """Which tile of its row a tile is, of rows of `n` elements with `ROWS`; else of the one row that there is."""
    return tile % int32((n + (TILE - 1)) // TILE) if ROWS else tile


@prism.device
@requires(thread[1])
@template(TILE=constexpr(int), ROWS=constexpr(bool))
def place_of(tile: int32 @ thread[1], n: int64 @ thread[1], rows: int32 @ thread[1]) -> (int64, int32) @ thread[1]:
    """Where a tile begins, and how many elements it has: none beyond the last row. A row of `n` elements begins a tile."""
    if not ROWS:
        return int64(tile) * TILE, extent(tile, n, TILE=TILE)
    else:
        row: int32 = tile // int32((n + (TILE - 1)) // TILE)
        within: int32 = within_row(tile, n, TILE=TILE, ROWS=ROWS)
        return row * n + int64(within) * TILE, extent(within, n, TILE=TILE) if row < rows else 0


@prism.device
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


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), BOTH=constexpr(bool), SOON=constexpr(bool))
def load_both(
    x: ptr(K) @ block[1], values: ptr(V) @ block[1], keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1],
    start: int64 @ block[1], many: int32 @ block[1], later: int64 @ block[1], more: int32 @ block[1],
):
    """Load `many` keys, and values with `BOTH`, from `start` on; with `SOON` ask for `more` from `later` on to be in the L2."""
    with partition(x, block[1], offset=start) as source:
        load_part(source, keys, many)
    if BOTH:
        with partition(values, block[1], offset=start) as source:
            load_part(source, items, many)
    if SOON:
        match split(thread):
            case 1:
                prefetch(x[later], more)
                if BOTH:
                    prefetch(values[later], more)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    ROWS=constexpr(bool), SOON=constexpr(bool),
)
def fetch_tile(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], spare: ptr(K) @ block[1], value_spare: ptr(V) @ block[1],
    y: ptr(K) @ block[1], values: ptr(V) @ block[1], keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1],
    tile: int32 @ block[1], later: int32 @ block[1], n: int64 @ block[1], rows: int32 @ block[1], first: bool @ block[1],
    behind: int32 @ block[1],
):
    """Load a tile from where the pass before left it, and with `SOON` ask for tile `later` to be brought into the L2.

    `first`: no pass has moved anything so far; `behind`: how many will, behind this one.
    """
    start: int64 @ block[1] = 0
    many: int32 @ block[1] = 0
    soon: int64 @ block[1] = 0  # about what this block draws next
    more: int32 @ block[1] = 0
    start, many = place_of(tile, n, rows, TILE=THREADS * ITEMS, ROWS=ROWS)
    if SOON:
        soon, more = place_of(later, n, rows, TILE=THREADS * ITEMS, ROWS=ROWS)
    if first:
        with partition(x, block[1], offset=start) as source:
            load_part(source, keys, many)
        if VALUES == GIVEN:
            with partition(given, block[1], offset=start) as source:
                load_part(source, items, many)
        if SOON:
            match split(thread):
                case 1:
                    prefetch(x[soon], more)
                    if VALUES == GIVEN:
                        prefetch(given[soon], more)
    elif behind % 2 == 1:
        load_both(y, values, keys, items, start, many, soon, more, BOTH=VALUES != NONE, SOON=SOON)
    else:
        load_both(spare, value_spare, keys, items, start, many, soon, more, BOTH=VALUES != NONE, SOON=SOON)


@prism.device
@requires(block[1], thread[1])
@template(K=dtype, TILE=constexpr(int), ROWS=constexpr(bool))
def ask_for_keys(
    x: ptr(const(K)) @ grid[1], spare: ptr(K) @ block[1], y: ptr(K) @ block[1], tile: int32 @ block[1], n: int64 @ block[1],
    rows: int32 @ block[1], first: bool @ block[1], behind: int32 @ block[1],
):
    """Ask for the keys of a tile to be brought into the L2, from where `fetch_tile` loads them."""
    start: int64 @ block[1] = 0
    many: int32 @ block[1] = 0
    start, many = place_of(tile, n, rows, TILE=TILE, ROWS=ROWS)
    match split(thread):
        case 1:
            if first:
                prefetch(x[start], many)
            elif behind % 2 == 1:
                prefetch(y[start], many)
            else:
                prefetch(spare[start], many)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, ITEMS=constexpr(int), NUMBER=constexpr(int), KIND=constexpr(int), VALUES=constexpr(int),
    THREADS=constexpr(int),
)
def make_keys(
    keys: K[ITEMS] @ thread[1], items: V[NUMBER] @ thread[1], within: int32 @ block[1], n: int64 @ block[1], flip: K @ block[1],
    lowest: K @ block[1], first: bool @ block[1],
):
    """Make keys of a tile's bits, and positions, where no pass has moved anything (`first`); where it ends, the last keys follow.

    `within`: which tile of its row of `n` elements it is.
    """
    TILE: constexpr(int) = THREADS * ITEMS
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    many: int32 @ block[1] = extent(within, n, TILE=TILE)
    if first:
        for k in range(ITEMS):
            keys[k] = encode(keys[k], flip, lowest, KIND=KIND)
            if VALUES == POSITIONS:
                items[k] = V(int64(within) * TILE + at + 32 * k)
    if many < TILE:
        for k in range(ITEMS):
            there: bool @ thread[1] = 32 * k < many - at
            keys[k] = keys[k] if there else ~K(0)  # behind all that are there
            if VALUES == POSITIONS:
                items[k] = items[k] if there else ~V(0)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, C=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int),
)
def write_digits(
    tile: ptr(const(K)) @ block[1], values: ptr(const(V)) @ block[1], ids: ptr(const(uint16)) @ block[1],
    targets: ptr(const(C)) @ block[1], y: ptr(K) @ block[1], value_y: ptr(V) @ block[1], many: int32 @ block[1],
    shift: int32 @ block[1], flip: K @ block[1], lowest: K @ block[1], last: bool @ block[1], sure: bool @ block[1] = False,
    low: int32 @ block[1] = -1,
) -> bool @ block[1]:
    """Write the `many` elements of a tile where their digits belong; say whether two of them stand in the wrong order.

    Element `i`, of digit `d`, goes to `targets[d] + i`. `last`: bits of numbers are written. `sure`: the order of keys alone is
    not looked at.
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
                tile, values, ids, keys, items, here, shift, lowest, sure, low, KIND=KIND, VALUES=VALUES, THREADS=THREADS,
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


@prism.device
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


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, C=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), BATCH=constexpr(int),
)
def write_tile(
    tile: ptr(const(K)) @ block[1], beside: ptr(const(V)) @ block[1], ids: ptr(const(uint16)) @ block[1],
    targets: ptr(const(C)) @ block[1], spare: ptr(K) @ block[1], value_spare: ptr(V) @ block[1], y: ptr(K) @ block[1],
    values: ptr(V) @ block[1], positions: ptr(VO) @ block[1], many: int32 @ block[1], shift: int32 @ block[1],
    flip: K @ block[1], lowest: K @ block[1], behind: int32 @ block[1], sure: bool @ block[1], low: int32 @ block[1],
) -> bool @ block[1]:
    """Write the `many` elements of a tile as `write_digits` does, to where the pass behind finds them; the last one: results.

    `behind`: how many passes behind this one move something. `sure`: as of `write_digits`. `low`: as of `moved_bits`; where it
    is not negative windows are sorted behind the last pass, of keys.
    """
    wrong: bool @ block[1] = False
    if behind % 2 == 1:
        wrong = write_digits(
            tile, beside, ids, targets, spare, value_spare, many, shift, flip, lowest, False, sure, low, KIND=KIND, VALUES=VALUES,
            THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )
    elif VALUES != POSITIONS:
        wrong = write_digits(
            tile, beside, ids, targets, y, values, many, shift, flip, lowest, behind == 0 and low < 0, sure, low, KIND=KIND,
            VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )
    elif behind > 0 or low >= 0:
        wrong = write_digits(
            tile, beside, ids, targets, y, values, many, shift, flip, lowest, False, sure, low, KIND=KIND, VALUES=VALUES,
            THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )
    else:
        wrong = write_positions(
            tile, beside, ids, targets, positions, many, shift, lowest, KIND=KIND, THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )
    return wrong


@prism.device
@requires(thread[1])
@template(K=dtype, BITS=constexpr(int, default=8))
def moved_bits(shift: int32 @ thread[1], low: int32 @ thread[1]) -> K @ thread[1]:
    """The bits of a key by which elements stand in order after the pass of bits `shift` and up: those from digit `low` on."""
    below: K = ~K(0) << 8 * max(low, 0)
    return ~K(0) >> (8 * K.bytes - BITS - shift) & below


@prism.device
@requires(thread[1])
@template(
    K=dtype, V=dtype, KIND=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), BATCH=constexpr(int),
    BITS=constexpr(int, default=8),
)
def load_ordered(
    tile: ptr(const(K)) @ thread[1], values: ptr(const(V)) @ thread[1], ids: ptr(const(uint16)) @ thread[1],
    keys: K[BATCH] @ thread[1], items: V[BATCH] @ thread[1], at: int32 @ thread[1], shift: int32 @ thread[1],
    lowest: K @ thread[1], sure: bool @ thread[1] = False, low: int32 @ thread[1] = -1,
) -> bool @ thread[1]:
    """Load elements `at`, `at + THREADS` ... of a tile; say whether one stands in the wrong order with the one before it.

    Keys came in the order of the digits below, and equal ones in that of their positions. So they must be in the order of all
    bits up to this digit's, and then of their positions, where these go along. Beside given values it is the order in which
    they were loaded.
    What is behind the last element is never in a wrong order: it has the largest key. `sure`: keys alone are not looked at.
    """
    before: K[BATCH]
    wrong: bool = False
    mask: K = moved_bits(shift, low, K=K, BITS=BITS)
    for k in range(BATCH):
        keys[k] = tile[at + k * THREADS]
        if VALUES != NONE and VALUES != PLACES:
            items[k] = values[at + k * THREADS]
    if VALUES != NONE or not sure:
        for k in range(BATCH):
            before[k] = tile[max(at - 1, 0) if k == 0 else at + (k * THREADS - 1)]
    if VALUES == NONE:
        if not sure:
            for k in range(BATCH):
                wrong = (before[k] & mask) > (keys[k] & mask) or wrong
    elif VALUES == POSITIONS:
        other: V[BATCH]
        for k in range(BATCH):
            other[k] = values[max(at - 1, 0) if k == 0 else at + (k * THREADS - 1)]
        for k in range(BATCH):
            same: bool = (before[k] & mask) == (keys[k] & mask)
            wrong = (before[k] & mask) > (keys[k] & mask) or (same and other[k] > items[k]) or wrong
    else:
        mine: uint16[BATCH]
        theirs: uint16[BATCH]
        for k in range(BATCH):
            mine[k] = ids[at + k * THREADS]
            theirs[k] = ids[max(at - 1, 0) if k == 0 else at + (k * THREADS - 1)]
        for k in range(BATCH):
            same: bool = digit(keys[k], shift, lowest, KIND=KIND, BITS=BITS) == digit(
                before[k], shift, lowest, KIND=KIND, BITS=BITS,
            )
            wrong = (same and theirs[k] > mine[k]) or wrong
    return wrong


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, V=dtype, KIND=constexpr(int), VALUES=constexpr(int), BITS=constexpr(int, default=8))
def mend(
    tile: ptr(K) @ block[1], values: ptr(V) @ block[1], ids: ptr(uint16) @ block[1], end: int32 @ block[1],
    shift: int32 @ block[1], lowest: K @ block[1], low: int32 @ block[1] = -1,
):
    """Let neighbours that stand in the wrong order change targets: pairs that begin at even targets, and then all others.

    `end`: of what may stand before the last element. Only elements of one row of a warp can change: at most 32 calls mend all.
    """
    t: int32 @ thread[1] = id()
    threads: int32 @ block[1] = count(thread[1])
    mask: K @ block[1] = moved_bits(shift, low, K=K, BITS=BITS)
    for odd in range(2):
        with (
            partition(tile, thread[1], offset=2 * t + odd) as pair,
            partition(values, thread[1], offset=2 * t + odd) as value_pair,
            partition(ids, thread[1], offset=2 * t + odd) as id_pair,
            group(thread[1]),
        ):
            for i in range(0, end - 1 - 2 * t - odd, 2 * threads):
                a: K = pair[i]
                b: K = pair[i + 1]
                wrong: bool = (a & mask) > (b & mask)
                if VALUES == POSITIONS:
                    wrong = wrong or ((a & mask) == (b & mask) and value_pair[i] > value_pair[i + 1])
                elif VALUES != NONE:
                    same: bool = digit(a, shift, lowest, KIND=KIND, BITS=BITS) == digit(b, shift, lowest, KIND=KIND, BITS=BITS)
                    wrong = same and id_pair[i] > id_pair[i + 1]
                if wrong:
                    pair[i] = b
                    pair[i + 1] = a
                    if VALUES != NONE and VALUES != PLACES:
                        value: V = value_pair[i]
                        value_pair[i] = value_pair[i + 1]
                        value_pair[i + 1] = value
                    if VALUES == GIVEN or VALUES == PLACES:
                        number: uint16 = id_pair[i]
                        id_pair[i] = id_pair[i + 1]
                        id_pair[i + 1] = number


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, WHOLE=constexpr(int))
def settle(tile: ptr(K) @ block[1], many: int32 @ block[1]):
    """Exchange keys behind the `many` first ones of a tile with keys that stand there for none, and are equal by their digit.

    Only elements of one row of a warp change targets, so a key is at most 32 too far.
    """
    t: int32 @ thread[1] = id()
    behind: bool @ thread[1] = False
    with group(thread[1]):
        if t < 32 and many + t < WHOLE:
            behind = tile[many + t] != ~K(0)
    if block.any(behind):
        with claim(tile, thread[1]) as own, one(thread):
            free: int32 = max(many - 32, 0)
            for i in range(many, min(many + 32, WHOLE)):
                key: K = own[i]
                if key != ~K(0):
                    while free < many - 1 and own[free] != ~K(0):
                        free = free + 1
                    own[i] = own[free]
                    own[free] = key


@prism.device
@requires(block[1], thread["THREADS"])
@template(
    K=dtype, V=dtype, KIND=constexpr(int), VALUES=constexpr(int), WHOLE=constexpr(int), THREADS=constexpr(int), WRITE=function,
    BITS=constexpr(int, default=8),
)
def write_in_order(
    tile: ptr(K) @ block[1], values: ptr(V) @ block[1], ids: ptr(uint16) @ block[1], many: int32 @ block[1],
    shift: int32 @ block[1], lowest: K @ block[1], sure: bool @ block[1], low: int32 @ block[1] = -1,
):
    """Write the `many` first elements of a tile of `WHOLE` by `WRITE`, and mend it, until it is in order. `sure`: it is at once.

    `WRITE`: with the tile, it writes all, and says whether two elements stand in the wrong order.
    """
    if VALUES == NONE:  # beside values keys that stand for none are told from others
        if many < WHOLE:
            settle(tile, many, WHOLE=WHOLE)
    calls: int32 @ block[1] = 0
    while True:
        wrong: bool @ block[1] = WRITE(tile, values, ids)
        calls = calls + 1
        if not wrong or sure or calls == _MOST_CALLS:
            break
        mend(tile, values, ids, min(many + 32, WHOLE), shift, lowest, low, KIND=KIND, VALUES=VALUES, BITS=BITS)
