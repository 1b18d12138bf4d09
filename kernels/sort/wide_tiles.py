"""How a pass by a wide digit moves a tile of floats: from memory into registers, and, in order, to where its digits belong.

What goes along has no room in shared memory beside keys. So a key's place in its tile goes with it; once keys are written, values
are put where keys were, as they came, and each is found by the place.
"""

from prism.lang import (
    block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread, uint16,
    uint32, wrapping_add, wrapping_subtract,
)
from prism.kernels.sort.order import INTEGER, digit
from prism.kernels.sort.parts import GIVEN, NONE, PLACES, POSITIONS, load_ordered, load_part
from prism.lib.thread import extent

BITS = 10
"""Of a digit: a word of 32 bits holds three."""


@prism.device
@requires(thread[1])
@template(K=dtype)
def rising(bits: K @ thread[1], flip: K @ thread[1]) -> K @ thread[1]:
    """The bits of a float as an integer in the same order, or, with all bits in `flip`, in the other one."""
    SIGN: constexpr(int) = 1 << 8 * K.bytes - 1
    return bits ^ (~K(0) if bits >= K(SIGN) else K(SIGN)) ^ flip


@prism.device
@requires(thread[1])
@template(K=dtype)
def bits_of(key: K @ thread[1], flip: K @ thread[1]) -> K @ thread[1]:
    """What `rising` was given."""
    SIGN: constexpr(int) = 1 << 8 * K.bytes - 1
    found: K = key ^ flip
    return found ^ (K(SIGN) if found >= K(SIGN) else ~K(0))


@prism.device
@requires(thread[1])
@template(K=dtype)
def pack(key: K @ thread[1], state: K[5] @ thread[1], zero: K @ thread[1]) -> K @ thread[1]:
    """A key without the gaps of exponents that don't occur. `zero`: the least key of the exponent of 0.0."""
    part: K = state[0] if key < zero else state[1] if key - zero < K(1 << 23) else state[2]
    return wrapping_add(key, part)


@prism.device
@requires(thread[1])
@template(K=dtype)
def unpack(word: K @ thread[1], state: K[5] @ thread[1]) -> K @ thread[1]:
    """The key that `pack` was given."""
    return wrapping_subtract(word, state[0] if word < state[3] else state[1] if word < state[4] else state[2])


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, C=dtype, DIGITS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int), LAST=constexpr(bool),
)
def write_wide(
    tile: ptr(const(K)) @ block[1], ids: ptr(const(uint16)) @ block[1], targets: ptr(const(C)) @ block[1],
    y: ptr(K) @ block[1], digits: uint32[DIGITS] @ thread[1], many: int32 @ block[1], shift: int32 @ block[1],
    flip: K @ block[1], state: K[5] @ thread[1], sure: bool @ block[1],
) -> bool @ block[1]:
    """As `write_digits`, of keys; the `LAST` pass writes floats, and none beside POSITIONS. `digits`: those of what it wrote."""
    BESIDE: constexpr(int) = NONE if VALUES == NONE else PLACES
    t: int32 @ thread[1] = id()
    wrong: bool @ thread[1] = False
    with partition(y, thread[1], offset=lambda place: place, races="none") as out, group(thread[1]):
        for begin in range(0, ITEMS, BATCH):
            keys: K[BATCH]
            items: K[BATCH]  # nothing goes along
            spots: C[BATCH]
            here: int32 = begin * THREADS + t
            found: bool = load_ordered(
                tile, tile, ids, keys, items, here, shift, K(0), sure, KIND=INTEGER, VALUES=BESIDE, THREADS=THREADS, BITS=BITS,
            )
            wrong = found or wrong
            for k in range(BATCH):
                d: int32 = digit(keys[k], shift, K(0), KIND=INTEGER, BITS=BITS)
                spots[k] = targets[d] + C(here + k * THREADS)
                if VALUES != NONE:
                    others: uint32 = 0 if (begin + k) % 3 == 0 else digits[(begin + k) // 3]
                    digits[(begin + k) // 3] = others | uint32(d) << (begin + k) % 3 * BITS
            if LAST:
                for k in range(BATCH):
                    keys[k] = bits_of(unpack(keys[k], state), flip)
            if VALUES != POSITIONS or not LAST:
                for k in range(BATCH):
                    if many == THREADS * ITEMS or here + k * THREADS < many:
                        out[int64(spots[k])] = keys[k]
    return block.any(wrong)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, C=dtype, DIGITS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int),
)
def write_where(
    tile: ptr(const(K)) @ block[1], ids: ptr(const(uint16)) @ block[1], targets: ptr(const(C)) @ block[1],
    spare: ptr(K) @ block[1], y: ptr(K) @ block[1], digits: uint32[DIGITS] @ thread[1], many: int32 @ block[1],
    shift: int32 @ block[1], flip: K @ block[1], state: K[5] @ thread[1], sure: bool @ block[1], behind: int32 @ block[1],
) -> bool @ block[1]:
    """Write a tile to where the pass behind finds it; the last one: floats. `behind`: how many passes move something behind."""
    wrong: bool @ block[1] = False
    if behind % 2 == 1:
        wrong = write_wide(
            tile, ids, targets, spare, digits, many, shift, flip, state, sure, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS,
            BATCH=BATCH, LAST=False,
        )
    elif behind > 0:
        wrong = write_wide(
            tile, ids, targets, y, digits, many, shift, flip, state, sure, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS,
            BATCH=BATCH, LAST=False,
        )
    else:
        wrong = write_wide(
            tile, ids, targets, y, digits, many, shift, flip, state, sure, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS,
            BATCH=BATCH, LAST=True,
        )
    return wrong


@prism.device
@requires(block[1], thread[32])
@template(V=dtype, ITEMS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int))
def load_beside(
    given: ptr(const(V)) @ grid[1], value_spare: ptr(V) @ block[1], values: ptr(V) @ block[1], items: V[ITEMS] @ thread[1],
    tile: int32 @ block[1], n: int64 @ block[1], first: bool @ block[1], behind: int32 @ block[1],
):
    """Load what goes along with a tile from where the pass before left it: no positions, where keys stand as they came."""
    start: int64 @ block[1] = int64(tile) * (THREADS * ITEMS)
    many: int32 @ block[1] = extent(tile, n, TILE=THREADS * ITEMS)
    if first:
        if VALUES == GIVEN:
            with partition(given, block[1], offset=start) as source:
                load_part(source, items, many)
    elif behind % 2 == 1:
        with partition(values, block[1], offset=start) as source:
            load_part(source, items, many)
    else:
        with partition(value_spare, block[1], offset=start) as source:
            load_part(source, items, many)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, VO=dtype, C=dtype, DIGITS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int),
)
def write_beside(
    room: ptr(const(K)) @ block[1], ids: ptr(const(uint16)) @ block[1], targets: ptr(const(C)) @ block[1],
    y: ptr(VO) @ block[1], digits: uint32[DIGITS] @ thread[1], many: int32 @ block[1], start: K @ block[1],
    first: bool @ block[1],
):
    """Write what goes along with a tile's keys to where these are: what `room` has; of the `first` POSITIONS the place."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=lambda place: place, races="none") as out, group(thread[1]):
        for begin in range(0, ITEMS, BATCH):
            items: K[BATCH]
            spots: C[BATCH]
            here: int32 = begin * THREADS + t
            for k in range(BATCH):
                place: int32 = int32(ids[here + k * THREADS])
                if VALUES == POSITIONS:
                    items[k] = start + K(place) if first else room[place]
                else:
                    items[k] = room[place]
            for k in range(BATCH):
                d: int32 = int32(digits[(begin + k) // 3] >> (begin + k) % 3 * BITS) & (1 << BITS) - 1
                spots[k] = targets[d] + C(here + k * THREADS)
            for k in range(BATCH):
                if many == THREADS * ITEMS or here + k * THREADS < many:
                    out[int64(spots[k])] = VO(items[k])


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, V=dtype, VO=dtype, C=dtype, DIGITS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), BATCH=constexpr(int),
)
def move_beside(
    room: ptr(const(K)) @ block[1], ids: ptr(const(uint16)) @ block[1], targets: ptr(const(C)) @ block[1],
    value_spare: ptr(V) @ block[1], values: ptr(V) @ block[1], positions: ptr(VO) @ block[1],
    digits: uint32[DIGITS] @ thread[1], tile: int32 @ block[1], n: int64 @ block[1], first: bool @ block[1],
    behind: int32 @ block[1],
):
    """Write what goes along with a tile's keys, which `room` has as it came, to where the pass behind finds it, or the result."""
    start: K @ block[1] = K(tile) * (THREADS * ITEMS)
    many: int32 @ block[1] = extent(tile, n, TILE=THREADS * ITEMS)
    if behind % 2 == 1:
        write_beside(
            room, ids, targets, value_spare, digits, many, start, first, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )
    elif VALUES == GIVEN or behind > 0:
        write_beside(
            room, ids, targets, values, digits, many, start, first, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )
    else:
        write_beside(
            room, ids, targets, positions, digits, many, start, first, VALUES=VALUES, THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH,
        )


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, V=dtype, ITEMS=constexpr(int))
def put_beside(room: ptr(K) @ block[1], items: V[ITEMS] @ thread[1]):
    """Put what `load_beside` has loaded where a tile's keys were."""
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    with partition(room, thread[1], offset=at, races="none") as own, group(thread[1]):
        for k in range(ITEMS):
            own[32 * k] = K(items[k])


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def load_words(
    x: ptr(const(K)) @ grid[1], spare: ptr(K) @ block[1], y: ptr(K) @ block[1], keys: K[ITEMS] @ thread[1],
    tile: int32 @ block[1], n: int64 @ block[1], first: bool @ block[1], behind: int32 @ block[1],
):
    """Load a tile from where the pass before left it: floats where none has moved anything (`first`)."""
    start: int64 @ block[1] = int64(tile) * (THREADS * ITEMS)
    many: int32 @ block[1] = extent(tile, n, TILE=THREADS * ITEMS)
    if first:
        with partition(x, block[1], offset=start) as source:
            load_part(source, keys, many)
    elif behind % 2 == 1:
        with partition(y, block[1], offset=start) as source:
            load_part(source, keys, many)
    else:
        with partition(spare, block[1], offset=start) as source:
            load_part(source, keys, many)


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def make_words(
    keys: K[ITEMS] @ thread[1], tile: int32 @ block[1], n: int64 @ block[1], flip: K @ block[1], state: K[5] @ thread[1],
    first: bool @ block[1],
):
    """Pack the floats that `load_words` has loaded; where the tile ends, the last keys follow."""
    zero: K @ block[1] = K(256 if flip == 0 else 255) << 23
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    many: int32 @ block[1] = extent(tile, n, TILE=THREADS * ITEMS)
    if first:
        for k in range(ITEMS):
            keys[k] = pack(rising(keys[k], flip), state, zero)
    if many < THREADS * ITEMS:
        for k in range(ITEMS):
            keys[k] = keys[k] if 32 * k < many - at else ~K(0)  # behind all that are there
