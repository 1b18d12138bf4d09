"""How an array is cut into tiles for a pass of a radix sort."""

from typing import NamedTuple

from prism.kernels.sort.order import FIELD, INTEGER
from prism.kernels.sort.parts import GIVEN, NONE


class Configuration(NamedTuple):
    """Blocks of `threads` with `items` elements each, at least `blocks` of them a multiprocessor; `ahead`: of `sort_digit`.

    `apart`: in so many groups blocks begin, one after the other: see `begin_apart`.
    """

    threads: int
    items: int
    batch: int
    blocks: int
    words: int
    ahead: bool = True
    apart: int = 1

    @property
    def tile(self) -> int:
        """How many elements a tile has."""
        return self.threads * self.items


class Counting(NamedTuple):
    """Blocks of `threads` with vectors of `bytes`, that count in `copies`."""

    threads: int
    bytes: int
    copies: int


class Shape(NamedTuple):
    """Blocks of `threads` with `items` each."""

    threads: int
    items: int


COUNTING_KEYS = Shape(threads=768, items=16)
FILLING = Shape(threads=256, items=4)
FILLING_MANY = Shape(threads=256, items=8)
"""Of `fill_keys`: `items` vectors of 16 bytes a thread; the second one of 2^28 and more keys of 2 bytes: 400 us of these, 419
with 4, but 2^24 took 87 and 75."""
ZEROS = Shape(threads=512, items=32)


CLUSTER_BLOCKS = 8
_CLUSTER_THREADS = 512
_MOST_WORDS = 32
"""What a thread of a resident block holds at most, in registers."""


# A tile costs what its look-back takes, so tiles are as large as two of them in shared memory allow: in half of it, of two
# blocks, or in all. Few threads with many elements each are faster than more of them with fewer. Keys of 4 bytes, 2^28 of them on
# an H200: 256 threads with 48 4.0 ms, 384 with 26 4.4, 1024 with 20 5.4. With more bytes an element one block of 512 is faster
# than two of 256, as its tile is twice as large: keys of 8 bytes 13.1 ms for 13.7, pairs 7.8 for 9.8. With values of up to 4
# bytes one tile is held, that is larger, and leaves room for what is loaded: 2^27 pairs 3.70 ms with 32 elements a thread, 3.85
# with 40; with two tiles of 20 3.97. With positions 2^28 float32 6.86 ms with 32, 6.89 with 40, with two tiles of 24 7.15. Two
# blocks that hold one tile each wait for tiles before theirs: 4.98 ms. Blocks of keys alone that draw their next tile behind the
# look-back wait less: 384 threads with 32 keys took 4.17 ms where they took 7.41, and 256 with 72 took 3.62. Since a
# tile is loaded where it is put in order, and not at the end of the one before, registers hold 84: with windows 3.12 ms for 3.20.
_ALL, _LONG, _SHORT, _MOST, _ONE = 200 << 10, 96 << 10, 32 << 10, 48, 160 << 10
_BESIDE = 12 << 10  # bytes of a block of 256 threads beside its tiles
_SHORT_TILE = 4096
"""Of short arrays, at least: with fewer the look-back is longer. 2^20 keys of 4 bytes took 64 us with 2048, 49 with 4096."""
_LONG_TILES, _TILES_OF_ROW = 512, 4
"""Arrays of at least so many long tiles take them, where a row has so many: the last tile of each row is not full."""
_ALONE, _FIXED = (16, 32, 36, 40, 44, 48), 8
"""How many keys of 4 bytes a thread may have where nothing goes along, and how many more it could move in what a tile takes
besides: 2^22 of them took 122 us in four rounds of 16, 101 in two of 32; 2^21 74 in two of 16, 64 in one of 32."""
_ROUNDS = 16
"""Keys of 4 bytes alone of so many rounds at least take the longest tiles, of which one is held. 2^24, of four rounds, took as
long with them, and floats longer."""
HOST_SMALL = Configuration(threads=256, items=4, batch=2, blocks=1, words=2)
HOST_LARGE = Configuration(threads=1024, items=16, batch=16, blocks=1, words=2)
HOST_COUNTING = Counting(threads=256, bytes=16, copies=1)


def bytes_of(key: int, value: int, values: int) -> int:
    """Return what an element takes in shared memory: its key, and a value and its place where there is one."""
    return key + (0 if values == NONE else value + (2 if values == GIVEN else 0))


def configurations(key: int, value: int, values: int, room: int) -> tuple[Configuration, ...]:
    """Return how keys and values of so many bytes may be cut, into short tiles and longer ones; `room`: bytes of a block."""
    one = key <= 4 and values == NONE  # two blocks a multiprocessor
    batch = 8 if one else 4
    each = 2 * bytes_of(key, value, values)
    found = []
    short = min(max(_SHORT, each * _SHORT_TILE), _LONG)
    alone = key == 4 and value <= 4 and values != NONE  # one tile is held
    long = (256, 2, _LONG, True) if one else (512, 1, 2 * _ONE, False) if alone else (512, 1, _ALL, True)
    for threads, blocks, space, ahead in ((256, 2, short, True), long):
        beside = _BESIDE + (threads - 256) * 32
        items = min(space, (1 if ahead else 2) * (room - beside)) // (each * threads)
        items = min(32 if not ahead else _MOST if key >= 4 else 32 if values == NONE else 24, items)
        step = batch if items >= batch else 1
        found.append(Configuration(threads, items // step * step, step, blocks, 4 if one or values == NONE else 8, ahead))
    first, last = found
    if one and key == 4:
        between = (items for items in _ALONE if first.items < items < last.items)
        found[1:1] = [last._replace(items=items, batch=8 if items % 8 == 0 else 4) for items in between]
        items = min(84, (room // 2 - _BESIDE) // (256 * key)) // 4 * 4  # two blocks
        if items > last.items:
            found.append(Configuration(256, items, 4, 2, 2, ahead=False))
    return tuple(found)


def configuration_of(
    key: int, value: int, values: int, room: int, n: int, many: int, multiprocessors: int
) -> Configuration:
    """Return how `many` rows of `n` keys and values are cut.

    Of keys of 4 bytes alone so that the blocks of a GPU are busy in all rounds: the last one may be nearly empty.
    """
    found = configurations(key, value, values, room)
    short, long = found[0], found[-1]

    def rounds(c: Configuration) -> int:
        return -(-many * -(-n // c.tile) // (multiprocessors * c.blocks))

    if key == 4 and values == NONE:
        if not long.ahead and many == 1 and rounds(long) >= _ROUNDS:
            return long
        return min((c for c in found if c.ahead), key=lambda c: rounds(c) * c.threads * c.blocks * (c.items + _FIXED))
    enough = many * n >= _LONG_TILES * long.tile and (many == 1 or n >= _TILES_OF_ROW * long.tile)
    return long if enough else short


def cluster_of(key: int, value: int, values: int, n: int, many: int) -> Shape | None:
    """Return how clusters sort `many` rows of `n` keys and values of so many bytes; None where others do so faster.

    A cluster takes a sixteenth of a GPU: passes of the whole GPU are faster for one long row. On an H200: 2^16 keys of 4 bytes
    take 27 us and 30, 2^17 44 and 32; 2^15 pairs 27 and 30, 2^16 41 and 32; 2^16 keys of 8 bytes 67 and 52. And 2^14 keys of
    4 bytes take 16 us, in one block 31.
    """
    each = bytes_of(key, value, values) + key + (0 if values == NONE else value)  # a tile, and the one it is sorted in
    most = 8 if values != NONE or key > 4 else 16 if key == 4 else 32
    for items in (2, 4, 8, 16, 32):
        tile = _CLUSTER_THREADS * items
        if n <= CLUSTER_BLOCKS * tile:
            return Shape(_CLUSTER_THREADS, items) if tile * each <= _ALL and (many > 1 or items <= most) else None
    return None


class Ranges(NamedTuple):
    """Blocks of `threads`: `items` keys a thread are read, up to `most` a thread sorted, as words; `1 << level` blocks in all."""

    word: str
    threads: int
    items: int
    most: int
    batch: int
    level: int


def ranges_of(key: int, kind: int, values: int, n: int) -> Ranges | None:
    """Return how clusters sort `n` numbers of so many bytes by ranges, alone or with values; None where others do so faster."""
    if kind == FIELD or (key == 8 and values != NONE) or (key != 4 and kind != INTEGER):
        return None
    word = "uint32" if values == NONE and key == 4 else "uint64"
    for items, level in ((8, 5), (16, 6)):
        if n <= CLUSTER_BLOCKS * _CLUSTER_THREADS * items:
            return Ranges(word, _CLUSTER_THREADS, items, 6, 2, level)
    return None


def resident_of(key: int, value: int, values: int, n: int, blocks: int) -> Shape | None:
    """Return how so many blocks, that all run at once, hold `n` keys and values of so many bytes; None where they don't.

    Every block reads what all tiles have: few are better, as long as they are short. On an H200: 2^16 keys of 4 bytes take 23 us
    by 64 blocks, by a cluster of eight 27; 2^18 29 us by 64, 31 by 128; 2^20 42 us by 128, 46 by 64, by passes 49. Up to 2^19
    keys of 4 bytes alone have tiles of 4096 by shares: 300,007 uint32 take 21.9 us, in tiles of 8192 28.5, 2^19 24.9 and 30.2.
    """
    many = 128 if key == 4 and values == NONE else 64
    for threads, items, most in ((256, 4, 64), (512, 4, 64), (512, 8, many), (512, 16, blocks), (512, 32, blocks)):
        if n <= min(most, blocks) * threads * items:
            words = items * (max(key, 4) + (0 if values == NONE else max(value, 4))) // 4
            return Shape(threads, items) if words <= _MOST_WORDS else None
    return None


class Share(NamedTuple):
    """Up to `most` keys a thread are sorted, by `1 << buckets` buckets."""

    most: int
    buckets: int


def share_of(key: int, values: int, n: int, c: Shape) -> Share | None:
    """Return how blocks of shape `c` sort shares of `n` keys of so many bytes; None where they sort by digits at once.

    A share may have 2.5 times as many keys as the mean: of 16 of a sample more are there once in 10^6.
    """
    if key != 4 or values != NONE or c.threads != 512 or not 0 < -(-n // (c.threads * c.items)) <= 128:
        return None
    return {4: Share(12, 11), 8: Share(20, 12), 16: Share(40, 13)}.get(c.items)


class Groups(NamedTuple):
    """Blocks of `moving` threads with `items` keys each, `movers` a multiprocessor; then of `threads` with up to `most`.

    `buckets`: bits of a bucket of the latter, of which a multiprocessor has `blocks`.
    """

    moving: int
    items: int
    movers: int
    threads: int
    most: int
    buckets: int
    blocks: int

    @property
    def room(self) -> int:
        """How many keys a group has at most."""
        return self.threads * self.most


GROUPED = Groups(moving=512, items=48, movers=1, threads=512, most=36, buckets=13, blocks=1)
"""2^24 took 245 us; 292 with two blocks of 256 threads: their tiles have half as many keys, so half as many are written side by
side."""


class Window(NamedTuple):
    """Blocks of `threads` with `items` elements each, at least `blocks` of them a multiprocessor; digits have up to `bits`.

    `buckets`: bits of a bucket, where words are put into buckets at once; 0: they are sorted by digits.
    """

    threads: int
    items: int
    batch: int
    blocks: int
    bits: int
    buckets: int = 0

    @property
    def tile(self) -> int:
        """How many elements a window has at most."""
        return self.threads * self.items


GROUPS = 1 << 16
"""How many groups of equal digits there are, of the two highest."""
_FULLEST = 0.93
"""How full windows may be on average, of uniform keys: 6 standard deviations of 4096 are below the rest."""


def window_of(key: int, values: int, n: int) -> Window | None:
    """Return how windows are held that keys of so many bytes are sorted in; None where a group of them has more.

    Of keys of 8 bytes three digits are left: 50,000,017 take 1.25 ms by buckets, 1.44 by digits. Of 4 bytes two are left: 2^28
    took 3.76 to 3.92 ms by buckets, 3.41 by digits, and 10^8 with values 2.22 and 2.20. Beside values of 4 bytes 10^8 keys took
    2.20 ms with 28 elements a thread in six blocks, 2.43 with 36 in four. 2^28 keys of 8 bytes with values of 4 took 9.18 ms by
    buckets, 10.04 by digits, 21.1 by all passes.
    """
    if values == NONE:
        found = [Window(128, 36, 4, 6, 9) if key == 4 else Window(128, 36, 4, 4, 10, 11)]
    elif key == 8:
        found = [Window(128, 36, 4, 3, 10, 11)]
    else:
        found = [Window(128, 28, 4, 6, 9), Window(128, 36, 4, 4, 9)]
    return next((one for one in found if n <= _FULLEST * GROUPS * one.tile), None)


def wide_of(n: int, values: int) -> Configuration:
    """Return how `n` floats of 4 bytes are cut for passes by digits of 10 bits.

    2^28 took 3.29 ms with 92 a thread, 3.33 with 88 or 72; in two blocks of 256 threads with 72 3.91. 2^24 took 292 us with 64,
    and two words of the look-back at once, 302 with 88, 299 with one word. 2^28 with values took 5.93 ms with 36, 6.15 with 32,
    2^24 482 us and 478; positions of 2^28 5.13 ms with 44, 5.33 with 40, of 2^24 431 us, 423, and 413 with 32 and two words.
    Blocks that begin in three groups took 295 us of 2^24, in two 301, in four 304, in one 310; pairs 460 for 486, positions 394
    for 407.
    """
    if values == NONE:
        items, words = (92, 1) if n >= 1 << 25 else (64, 2)
    elif values == GIVEN:
        items, words = 36 if n >= 1 << 26 else 32, 1
    else:
        items, words = (44, 1) if n >= 1 << 26 else (32, 2)
    return Configuration(512, items, 4, 1, words, ahead=False, apart=3)


def counting(key: int, room: int) -> Counting:
    """Return how digits of keys of so many bytes are counted."""
    copies = 32
    while 1024 * key * copies > min(room - (4 << 10), 128 << 10):
        copies //= 2
    return Counting(threads=1024, bytes=min(32, 16 * key), copies=copies)


__all__ = [
    "CLUSTER_BLOCKS", "COUNTING_KEYS", "FILLING", "FILLING_MANY", "GROUPED", "GROUPS", "HOST_COUNTING", "HOST_LARGE",
    "HOST_SMALL", "ZEROS",
    "Configuration", "Counting", "Groups", "Ranges", "Shape", "Share", "Window", "cluster_of", "configuration_of",
    "configurations", "counting", "ranges_of", "resident_of", "share_of", "wide_of", "window_of",
]  # fmt: skip
