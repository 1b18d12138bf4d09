"""How a pass by a wide digit moves a tile of floats: from memory into registers, and, in order, to where its digits belong.

What goes along with a key lies in one word with it, in the lower half: so both are moved at once.
"""

from prism.lang import (
    block, const, constexpr, dtype, grid, group, id, int32, int64, partition, prefetch, prism, ptr, requires, split, template,
    thread, uint16, wrapping_add, wrapping_subtract,
)
from prism.kernels.sort.order import INTEGER, digit
from prism.kernels.sort.parts import GIVEN, NONE, PLACES, POSITIONS, load_ordered, load_part
from prism.lib.thread import extent

BITS = 10
"""Of a digit: a word of 32 bits holds three."""
NAN = 0xFFC00000
"""Of the exponent of the infinity that is last, and above it."""
LAST = 511 << 23
"""The key of the infinity that is last; that of the first one has the exponent 0."""


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
def is_nan(bits: K @ thread[1]) -> bool @ thread[1]:
    """Whether the float of these bits is NaN."""
    return bits << 1 > K(255 << 24)


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
@requires(thread[1])
@template(K=dtype)
def pack_any(
    bits: K @ thread[1], state: K[5] @ thread[1], last: K @ thread[1], zero: K @ thread[1], flip: K @ thread[1]
) -> K @ thread[1]:
    """What `pack` makes of a float that may be infinite, or NaN, whose key is `NAN`. `last`: what the last exponent's gets."""
    key: K = K(NAN) if is_nan(bits) else rising(bits, flip)
    part: K = state[0] if key < zero else state[1] if key - zero < K(1 << 23) else state[2]
    part = last if key >= K(LAST) else part
    return wrapping_add(key, part if key >= K(1 << 23) else K(0))


@prism.device
@requires(thread[1])
@template(K=dtype)
def unpack_any(word: K @ thread[1], state: K[5] @ thread[1], more: K[4] @ thread[1], flip: K @ thread[1]) -> K @ thread[1]:
    """The float that `pack_any` was given. `more`: of what `begin_wide` has left, from 6 on."""
    part: K = state[0] if word < state[3] else state[1] if word < state[4] else state[2]
    part = more[0] if word >= more[1] else part
    key: K = wrapping_subtract(word, part if word >= more[2] else K(0))
    return more[3] if key == K(NAN) else bits_of(key, flip)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, W=dtype, V=dtype, ITEMS=constexpr(int), VALUES=constexpr(int), THREADS=constexpr(int),
)
def load_words(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], spare: ptr(W) @ block[1], between: ptr(W) @ block[1],
    words: W[ITEMS] @ thread[1], tile: int32 @ block[1], n: int64 @ block[1], first: bool @ block[1], behind: int32 @ block[1],
):
    """Load a tile from where the pass before left it: floats where none has moved anything (`first`), and what goes along."""
    LOWER: constexpr(int) = 8 * (W.bytes - K.bytes)
    start: int64 @ block[1] = int64(tile) * (THREADS * ITEMS)
    many: int32 @ block[1] = extent(tile, n, TILE=THREADS * ITEMS)
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    if first:
        floats: K[ITEMS] @ thread[1]
        items: V[ITEMS if VALUES == GIVEN else 1] @ thread[1]
        with partition(x, block[1], offset=start) as source:
            load_part(source, floats, many)
        if VALUES == GIVEN:
            with partition(given, block[1], offset=start) as source:
                load_part(source, items, many)
        for k in range(ITEMS):
            words[k] = W(floats[k]) << LOWER
            if VALUES == GIVEN:
                words[k] = words[k] | W(items[k])
            elif VALUES == POSITIONS:
                words[k] = words[k] | W(start + at + 32 * k)
    elif behind % 2 == 1:
        with partition(between, block[1], offset=start) as source:
            load_part(source, words, many)
    else:
        with partition(spare, block[1], offset=start) as source:
            load_part(source, words, many)


@prism.device
@requires(block[1], thread[1])
@template(K=dtype, W=dtype, V=dtype, VALUES=constexpr(int), TILE=constexpr(int))
def ask_for_words(
    x: ptr(const(K)) @ grid[1], given: ptr(const(V)) @ grid[1], spare: ptr(W) @ block[1], between: ptr(W) @ block[1],
    tile: int32 @ block[1], n: int64 @ block[1], first: bool @ block[1], behind: int32 @ block[1],
):
    """Ask for a tile to be brought into the L2, from where `load_words` loads it."""
    start: int64 @ block[1] = int64(tile) * TILE
    many: int32 @ block[1] = extent(tile, n, TILE=TILE)
    match split(thread):
        case 1:
            if first:
                prefetch(x[start], many)
                if VALUES == GIVEN:
                    prefetch(given[start], many)
            elif behind % 2 == 1:
                prefetch(between[start], many)
            else:
                prefetch(spare[start], many)


@prism.device
@requires(block[1], thread[32])
@template(K=dtype, W=dtype, ITEMS=constexpr(int), THREADS=constexpr(int))
def make_words(
    words: W[ITEMS] @ thread[1], tile: int32 @ block[1], n: int64 @ block[1], flip: K @ block[1], state: K[5] @ thread[1],
    more: ptr(const(K)) @ grid[1], any: bool @ block[1], first: bool @ block[1],
):
    """Pack the floats that `load_words` has loaded; where the tile ends, the last keys follow. `any`: they are of `pack_any`."""
    LOWER: constexpr(int) = 8 * (W.bytes - K.bytes)
    zero: K @ block[1] = K(256 if flip == 0 else 255) << 23
    at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=1)
    many: int32 @ block[1] = extent(tile, n, TILE=THREADS * ITEMS)
    if first:
        if any:
            last: K @ block[1] = more[6]
            for k in range(ITEMS):
                key: K @ thread[1] = pack_any(K(words[k] >> LOWER), state, last, zero, flip)
                words[k] = W(key) << LOWER | words[k] & W((1 << LOWER) - 1)
        else:
            for k in range(ITEMS):
                key: K @ thread[1] = pack(rising(K(words[k] >> LOWER), flip), state, zero)
                words[k] = W(key) << LOWER | words[k] & W((1 << LOWER) - 1)
    if many < THREADS * ITEMS:
        for k in range(ITEMS):
            words[k] = words[k] if 32 * k < many - at else ~W(0)  # behind all that are there


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, W=dtype, V=dtype, VO=dtype, C=dtype, VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int), LAST=constexpr(bool), ANY=constexpr(bool),
)
def write_wide(
    tile: ptr(const(W)) @ block[1], ids: ptr(const(uint16)) @ block[1], targets: ptr(const(C)) @ block[1],
    to: ptr(W) @ block[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1], positions: ptr(VO) @ block[1],
    many: int32 @ block[1], shift: int32 @ block[1], flip: K @ block[1], state: K[5] @ thread[1],
    more: ptr(const(K)) @ grid[1], sure: bool @ block[1],
) -> bool @ block[1]:
    """As `write_digits`, of words; the `LAST` pass writes floats and what goes along, of POSITIONS these alone.

    `ANY`: as `any` of `make_words`.
    """
    LOWER: constexpr(int) = 8 * (W.bytes - K.bytes)
    t: int32 @ thread[1] = id()
    wrong: bool @ thread[1] = False
    rest: K[4] @ thread[1]
    for k in range(4):
        rest[k] = more[6 + k] if ANY else 0
    with (
        partition(to, thread[1], offset=lambda place: place, races="none") as out,
        partition(y, thread[1], offset=lambda place: place, races="none") as keys,
        partition(values, thread[1], offset=lambda place: place, races="none") as beside,
        partition(positions, thread[1], offset=lambda place: place, races="none") as result,
        group(thread[1]),
    ):
        for begin in range(0, ITEMS, BATCH):
            words: W[BATCH]
            items: W[BATCH]  # nothing goes along
            spots: C[BATCH]
            here: int32 = begin * THREADS + t
            found: bool = load_ordered(
                tile, tile, ids, words, items, here, shift, W(0), sure, KIND=INTEGER, VALUES=PLACES if VALUES == GIVEN else NONE,
                THREADS=THREADS, BITS=BITS,
            )
            wrong = found or wrong
            for k in range(BATCH):
                spots[k] = targets[digit(words[k], shift, W(0), KIND=INTEGER, BITS=BITS)] + C(here + k * THREADS)
            for k in range(BATCH):
                if many == THREADS * ITEMS or here + k * THREADS < many:
                    if not LAST:
                        out[int64(spots[k])] = words[k]
                    elif VALUES == POSITIONS:
                        result[int64(spots[k])] = VO(words[k] & W((1 << LOWER) - 1))
                    else:
                        word: K = K(words[k] >> LOWER)
                        if ANY:
                            keys[int64(spots[k])] = unpack_any(word, state, rest, flip)
                        else:
                            keys[int64(spots[k])] = bits_of(unpack(word, state), flip)
                        if VALUES == GIVEN:
                            beside[int64(spots[k])] = V(words[k] & W((1 << LOWER) - 1))
    return block.any(wrong)


@prism.device
@requires(block[1], thread[32])
@template(
    K=dtype, W=dtype, V=dtype, VO=dtype, C=dtype, VALUES=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    BATCH=constexpr(int),
)
def write_where(
    tile: ptr(const(W)) @ block[1], ids: ptr(const(uint16)) @ block[1], targets: ptr(const(C)) @ block[1],
    spare: ptr(W) @ block[1], between: ptr(W) @ block[1], y: ptr(K) @ block[1], values: ptr(V) @ block[1],
    positions: ptr(VO) @ block[1], many: int32 @ block[1], shift: int32 @ block[1], flip: K @ block[1],
    state: K[5] @ thread[1], more: ptr(const(K)) @ grid[1], any: bool @ block[1], sure: bool @ block[1],
    behind: int32 @ block[1],
) -> bool @ block[1]:
    """Write a tile to where the pass behind finds it; the last one: results. `behind`: how many passes move something behind."""
    wrong: bool @ block[1] = False
    if behind % 2 == 1:
        wrong = write_wide(
            tile, ids, targets, spare, y, values, positions, many, shift, flip, state, more, sure, VALUES=VALUES,
            THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH, LAST=False, ANY=False,
        )
    elif behind > 0:
        wrong = write_wide(
            tile, ids, targets, between, y, values, positions, many, shift, flip, state, more, sure, VALUES=VALUES,
            THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH, LAST=False, ANY=False,
        )
    elif VALUES == POSITIONS or not any:
        wrong = write_wide(
            tile, ids, targets, between, y, values, positions, many, shift, flip, state, more, sure, VALUES=VALUES,
            THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH, LAST=True, ANY=False,
        )
    else:
        wrong = write_wide(
            tile, ids, targets, between, y, values, positions, many, shift, flip, state, more, sure, VALUES=VALUES,
            THREADS=THREADS, ITEMS=ITEMS, BATCH=BATCH, LAST=True, ANY=True,
        )
    return wrong


__all__ = [
    "BITS", "LAST", "NAN", "ask_for_words", "bits_of", "is_nan", "load_words", "make_words", "pack", "pack_any", "rising",
    "unpack", "unpack_any", "write_where",
]
