"""How reductions are cut into blocks, loads and units."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Configuration:
    """Of a whole array: `threads` a block, `blocks` a multiprocessor, `rows` loads under way a thread, `ahead` asked for before.

    `apart`: one block a multiprocessor, so that those of the next launch find room beside them, and ask for what they take.
    `fewest`: loads a thread, at least, before a second block is worth its while. `words`: published words that a lane asks for at
    once. `once`: a thread has no more than its `rows` loads.
    """

    threads: int
    blocks: int
    rows: int
    fewest: int = 2
    words: int = 9
    once: bool = False
    ahead: int = 0
    apart: bool = False

    def template(self) -> dict[str, int]:
        """Return the kernel's template arguments that this decides."""
        return {
            "THREADS": self.threads, "BLOCKS": self.blocks, "ROWS": self.rows, "AHEAD": self.ahead, "WORDS": self.words,
            "ONCE": self.once,
        }  # fmt: skip


@dataclass(frozen=True)
class Cutting:
    """A kernel along an axis: blocks of up to `threads`, `blocks` a multiprocessor; `rows` loads a unit, `units` a thread."""

    threads: int
    blocks: int
    rows: int
    units: int = 1

    def template(self) -> dict[str, int]:
        """Return the kernel's template arguments that this decides."""
        return {"THREADS": self.threads, "BLOCKS": self.blocks, "ROWS": self.rows, "UNITS": self.units}


@dataclass(frozen=True)
class Form:
    """Both kernels of a form, of vectors of `width` elements: for `long` axes, and for `short` ones, of many units a thread."""

    width: int
    long: Cutting
    short: Cutting


@dataclass(frozen=True)
class AxisConfiguration:
    """Along an axis: vectors that lie along it (`rows`) or across (`columns`), and elements one by one, however they lie.

    Blocks are of `threads`, or of a few more; a multiprocessor has `blocks` of those at once, which is what plans go by.
    """

    rows: Form
    columns: Form
    single: Form
    threads: int = 128
    blocks: int = 5


# By the size of the elements that are read. About 40 KiB must be under way on a multiprocessor for memory to be busy all the
# time; these have 64 to 128 KiB. Small elements leave fewer registers for loads: each is widened in one of its own.
DEVICE = {
    1: Configuration(threads=512, blocks=2, rows=4),
    2: Configuration(threads=512, blocks=2, rows=4),
    4: Configuration(threads=512, blocks=2, rows=8, ahead=10),
    8: Configuration(threads=512, blocks=2, rows=8, ahead=10),
    16: Configuration(threads=256, blocks=2, rows=8),
}

# Short arrays, of which each thread has at most so many loads, all under way at once: the first of these numbers of threads a
# block that makes no more than so many blocks; the last of them by the size of an element. Measured on one H200, by graphs of
# launches, from 2^10 to 2^20 elements of 4 and 8 bytes: one block does best up to 32 KiB; then every multiprocessor should have a
# block before blocks become larger. 2^20 int32 take 2.6 us by 128 blocks of 512 threads, 2.8 us by 256 of 256.
SHORT_ROWS = 4
SHORT = ((128, 1), (256, 1), (512, 1), (128, 128), (256, 128))
SHORT_LAST = {1: (512, 512), 2: (512, 512), 4: (512, 128), 8: (512, 256), 16: (512, 512)}

# For other reductions than sums of 4 and 8 bytes: one kernel, launched with as many threads and blocks as those.
SHORT_OTHERS = Configuration(512, 1, SHORT_ROWS, once=True, ahead=1)


def short(vectors: int, size: int) -> tuple[Configuration, int] | None:
    """Return how so many vectors of elements of `size` bytes are reduced at once, and by how many blocks; None: too many."""
    for threads, limit in (*SHORT, SHORT_LAST[size]):
        blocks = max(1, -(-vectors // (threads * SHORT_ROWS)))
        if blocks <= limit:
            each = max(1, -(-vectors // (threads * blocks)))
            words = 1 if blocks <= 33 else 4 if blocks <= 129 else 9
            return Configuration(threads, 1, 1 << (each - 1).bit_length(), words=words, once=True, ahead=1), blocks
    return None


# Longer ones, of up to so many vectors; what is longer still, and not here, goes by `DEVICE`. By the size of what is added up,
# which for int32 is 8 bytes: 2048 threads a multiprocessor have not the registers for that. Behind each: microseconds on one
# H200, and how many times as fast as CUB's sum that is, of int32 and float32, or int64 and float64. Few kernels: where another
# one was less than 2 % faster, the next row's does.
_MOST = Configuration(threads=1024, blocks=1, rows=8, words=5, ahead=5)
_FEWER = Configuration(threads=1024, blocks=1, rows=4, words=5, ahead=4)
MIDDLE = {
    4: (
        (
            1 << 19,
            Configuration(threads=1024, blocks=2, rows=4, words=5, ahead=3, apart=True),
        ),  # 2^21: 3.53, 1.59; 3.71, 1.55
        (1 << 20, _FEWER),  # 2^22: 5.09, 1.54; 5.28, 1.50
        (3 << 20, _MOST),  # 2^23: 8.52, 1.37; 8.62, 1.36
    ),
    8: (
        (1 << 20, _FEWER),  # 2^21: 5.26, 1.51; 5.02, 1.57
        (3 << 20, _MOST),  # 2^22: 8.66, 1.31; 8.37, 1.35
    ),
}


def middle(vectors: int, size: int, sums: int) -> Configuration:
    """Return how so many vectors, more than `short` takes, of elements of `size` bytes are reduced in values of `sums` bytes."""
    rows = MIDDLE.get(max(size, sums), ()) if size in MIDDLE else ()
    return next((known for most, known in rows if vectors <= most), DEVICE[size])


_LONG_SHARE = 24  # rows a block: of longer ones, one more or less is lost among the unevenness of memory


def blocks_for(rows: int, most: int) -> int:
    """Return how many blocks, of at most `most`, share so many rows of vectors.

    Equal shares end at the same time, where `most` blocks would leave some with a row more than others: so it is the fewest
    blocks that have the same longest share, if those are nearly all. On an H200, 2^23 int32 take 8.43 us by 128 blocks, 8.75
    by 132; but 16.8 MiB take 6.32 us by 132 and 6.70 by 120, and 198 MiB 46.9 by 132 and 47.7 by 131.
    """
    share = -(-rows // most)
    equal = -(-rows // share)
    return equal if share <= _LONG_SHARE and equal >= 0.94 * most else min(rows, most)


# Where tensor cores add up a warp's float64: on GPUs that have many units for such numbers. On one H200 two products and an
# addition take 89 clocks in a warp alone, in 32 at once 305; five shuffles, with an addition each, 220 and 352. Others have few
# of these units (sm_86, sm_89, sm_103, sm_120), or none.
TENSOR = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a")


def candidates(size: int) -> list[Configuration]:
    """Return what `prism tune reduce` tries for elements of `size` bytes; the present choice is the first.

    From 16 to 160 KiB are under way on a multiprocessor.
    """
    found = [DEVICE[size]]
    for threads in (256, 512, 1024):
        for blocks in (1, 2, 3, 4):
            for rows in (2, 4, 8, 16):
                if threads * blocks <= 2048 and 16 << 10 <= 16 * rows * threads * blocks <= 160 << 10:
                    found.append(replace(DEVICE[size], threads=threads, blocks=blocks, rows=rows))
    return list(dict.fromkeys(found))


def _axis(size: int, width: int, loads: int) -> AxisConfiguration:
    """Return how elements of `size` bytes are reduced along an axis, by so many `loads` of `width` elements a thread."""
    few = min(4, loads // 2)
    beside = min(few, max(1, 16 // width))  # units of columns: each keeps as many sums as a vector has elements
    blocks = 4 if size < 4 else 5  # small integers, widened, would spill on Blackwell
    rows = Form(width, Cutting(128, blocks, loads), Cutting(128, blocks, loads // few, few))
    long = Cutting(512, 2, loads) if size in (4, 8) else Cutting(128, 5, loads)  # 512: for `AT_ONCE`
    columns = Form(width, long, Cutting(128, 4, loads // beside, beside) if beside > 1 else long)
    single = (Cutting(128, 6, 16), Cutting(128, 6, 4, 4)) if size < 16 else (Cutting(128, 5, 4), Cutting(128, 5, 2, 2))
    return AxisConfiguration(rows, columns, Form(1, *single))


# Few kernels, that serve all shapes. Small elements leave fewer registers for loads: each is widened in one of its own.
AXIS = {1: _axis(1, 16, 4), 2: _axis(2, 8, 8), 4: _axis(4, 4, 8), 8: _axis(8, 2, 8), 16: _axis(16, 1, 4)}

# Few results along axis 0, of at most so many elements each, at once: threads a block, and of a warp's lanes those that work
# along the axis. One launch of at most `AT_ONCE_BLOCKS` blocks takes (1024, 1024) of float32 in 2.5 us, where two launches took
# 3.5; (64, 256) 1.2 us against 2.1, (4096, 1024) 5.8 against 8.7. (4096, 256) takes as long: longer axes of fewer results than
# `AT_ONCE_RESULTS` are left to two. Measured on one H200.
AT_ONCE = ((128, 128, 4), (256, 256, 4), (512, 256, 8), (4096, 512, 8))
AT_ONCE_BLOCKS = 264
AT_ONCE_RESULTS = 512
AT_ONCE_MOST = 2048


def at_once(n: int, inner: int) -> tuple[int, int] | None:
    """Return the threads a block and the lanes along the axis with which one launch reduces `n` times `inner`; None: two do."""
    if n > AT_ONCE_MOST and inner < AT_ONCE_RESULTS:
        return None
    return next(((threads, lanes) for most, threads, lanes in AT_ONCE if n <= most), None)


def _search(width: int, blocks: int = 5, units: int = 2) -> AxisConfiguration:
    """Return how positions are found in vectors of `width`: in short rows by so many `blocks`, `units` a thread."""
    columns, single = Cutting(128, 5, 4), Cutting(128, 6, 8)
    rows = Form(width, Cutting(128, 5, min(8, 32 // width)), Cutting(128, blocks, 4, units))
    return AxisConfiguration(rows, Form(width, columns, columns), Form(1, single, single))


# What a thread has loaded at once it looks through a second time, so it keeps all of it, small elements each in a register. In
# columns a position is kept with each place in a vector; where these are small, comparing takes as long as loading.
SEARCH = {1: _search(8, units=1), 2: _search(8, blocks=4), 4: _search(4), 8: _search(2), 16: _search(1)}

# Positions in a whole array, by the size of an element: how many of them a vector has, and the launch, which is like a sum's.
# Microseconds on one H200, and in how many others were: 2^20 int64 5.2, by two blocks of 512 threads a multiprocessor 6.0; 2^24
# int16 10.1, by three of 256 11.8, though for sm_100 and sm_120 some kernels of 2 bytes then spill 8 bytes.
WHOLE_SEARCH = {
    1: (8, Configuration(threads=256, blocks=3, rows=4, ahead=4)),
    2: (8, Configuration(threads=512, blocks=2, rows=4, ahead=4)),
    4: (4, Configuration(threads=1024, blocks=1, rows=4, ahead=4)),
    8: (2, Configuration(threads=1024, blocks=1, rows=4, ahead=4, words=4)),
}

# The reference machine runs all threads of a block in one NumPy operation.
HOST = Configuration(threads=1024, blocks=1, rows=8)
HOST_WIDTH = 4
_HOST_FORM = Form(1, Cutting(1024, 1, 8), Cutting(1024, 1, 4, 4))
HOST_AXIS = AxisConfiguration(_HOST_FORM, _HOST_FORM, _HOST_FORM, threads=1024, blocks=1)
