"""Elements of 1 and 2 bytes moved between two orders of axes where rows begin anywhere: by words of 4 bytes, shifted into place.

A word of a row of x is two aligned ones, shifted; so is a word of a row of y, of words of the tile. Blocks have rows of y from a
multiple of 4 bytes on, each row from its own: a tile reaches a word further back for that.
"""

from prism.lang import (
    attr, bitcast, block, const, constexpr, dtype, funnel_shift_right, grid, group, id, int32, int64, load_vector, partition, prism,
    ptr, requires, shared, store_vector, template, thread, uint32, vector,
)  # fmt: skip
from prism.kernels.transform.tiles import turn

THREADS = 256


@prism("device")
@requires(thread[1])
@template(T=dtype)
def load_word(x: ptr(const(T)) @ thread[1], at: int64 @ thread[1], few: int32 @ thread[1]) -> uint32 @ thread[1]:
    """The word of `few` elements from `x[at]` on, one by one."""
    found: uint32 = 0
    for k in range(4 // T.bytes):
        if k < few:
            found = found | uint32(x[at + k]) << (8 * T.bytes * k)
    return found


@prism("device")
@requires(thread[1])
@template(T=dtype, WORDS=constexpr(int), R=constexpr(int))
def load_words(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], apart: int64 @ thread[1], top: int32 @ thread[1], above: int32 @ thread[1],
    rows: int32 @ thread[1], few: int32 @ thread[1], past: int32 @ thread[1], length: int64 @ thread[1], inside: bool @ thread[1], words: uint32[WORDS] @ thread[1],
):
    """Put words of `few` elements into `words`, `R` rows of x, and again so many, 8 * R below them; the first is row `top`.

    `first`: where row 0 begins for this thread; rows are there from `above` ones above it up to `rows`. `inside`: all aligned words that have the tile's elements are there.
    """
    low: uint32[WORDS] = {0}
    high: uint32[WORDS] = {0}
    if inside:
        for k in range(WORDS):  # all loads before what they are used for
            i: int32 = top + k / R * (8 * R) + k % R
            if -above <= i and i < rows and few > 0:
                at: int64 = first + i * apart
                shift: int32 = int32((at + past) & R - 1)
                low[k] = bitcast(load_vector(x[at - shift], R), uint32)
                high[k] = bitcast(load_vector(x[at - shift + R], R), uint32)
        for k in range(WORDS):
            i: int32 = top + k / R * (8 * R) + k % R
            shift: int32 = int32((first + i * apart + past) & R - 1)
            words[k] = funnel_shift_right(low[k], high[k], uint32(8 * T.bytes * shift))
    else:
        for k in range(WORDS):
            i: int32 = top + k / R * (8 * R) + k % R
            words[k] = load_word(x, first + i * apart, few) if -above <= i and i < rows and few > 0 else uint32(0)


@prism("global")
@template(T=dtype, ROWS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def move_words(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x0: int64 @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1],
    x_apart: int64 @ grid[1], y_apart: int64 @ grid[1], n1: int32 @ grid[1], n2: int32 @ grid[1], n3: int32 @ grid[1],
    x1: int64 @ grid[1], x2: int64 @ grid[1], x3: int64 @ grid[1], y1: int64 @ grid[1], y2: int64 @ grid[1], y3: int64 @ grid[1],
    x_past: int32 @ grid[1], y_past: int32 @ grid[1], length: int64 @ grid[1],
):
    """What `move_tiles` does, with `x_near` and `y_near` 1, of elements of 1 or 2 bytes.

    Perspective: grid, a block for each tile of `ROWS` x 32 words of elements: as many tiles down as `rows` and a word's elements
                 but one take.
    Shapes:      `x_past`, `y_past`: how many elements x and y begin past a multiple of 4 bytes. `length`: of x.
    Cost:        one pass, and a word's rows more for each tile; a tile of shared memory, one barrier.
    Test:        tests/kernels/test_move_tiles.py
    """
    R: constexpr(int) = 4 // T.bytes  # elements of a word
    COLUMNS: constexpr(int) = 32 * R
    HIGH: constexpr(int) = ROWS // R
    EACH: constexpr(int) = 4 * HIGH // 32  # words of a thread, of each of R rows
    across: uint32 @ grid[1] = uint32((columns - 1) / COLUMNS + 1)
    down: uint32 @ grid[1] = uint32((rows + (R - 2)) / ROWS + 1)
    number: uint32 @ block[1] = id()
    left: int64 @ block[1] = int64(number % across) * COLUMNS
    outer: uint32 @ block[1] = number / across
    top: int64 @ block[1] = int64(outer % down) * ROWS
    a: uint32 @ block[1] = outer / down
    b: uint32 @ block[1] = a / uint32(n3)
    c: uint32 @ block[1] = b / uint32(n2)
    from_x: int64 @ block[1] = x0 + int64(a % uint32(n3)) * x3 + int64(b % uint32(n2)) * x2 + int64(c) * x1
    to_y: int64 @ block[1] = int64(a % uint32(n3)) * y3 + int64(b % uint32(n2)) * y2 + int64(c) * y1
    wide: int32 @ block[1] = int32(min(columns - left, COLUMNS))
    below: int32 @ block[1] = int32(min(rows - top, ROWS))
    over: int32 @ block[1] = int32(min(top, R))  # rows above the tile that it begins with
    corner: int64 @ block[1] = from_x + top * x_apart + left
    reach: int64 @ block[1] = (below - 1 + over) * x_apart
    lowest: int64 @ block[1] = corner - over * x_apart + min(reach, 0)
    inside: bool @ block[1] = lowest >= R and lowest + max(reach, -reach) + wide + 2 * R <= length
    with partition(y, block[1], lambda i: i, races="none") as target, group(block[1]):
        tile: shared(uint32[COLUMNS, HIGH + 1])
        t: int32 @ thread[1] = id()
        lane: int32 @ thread[1] = t % 32
        w: int32 @ thread[1] = t / 32
        with partition(tile, thread[1], lambda j, i: (j, i), races="none") as mine, group(thread[1]):
            few: int32 = wide - R * lane
            first: int64 = corner + R * lane
            raw: uint32[EACH * R]
            load_words(x, first, x_apart, (w - 1) * R, over, below, few, x_past, length, inside, raw, R=R)
            last: uint32[R]
            load_words(x, first, x_apart, (HIGH - 1) * R if w == 0 else below, over, below, few, x_past, length, inside, last, R=R)
            for v in range(EACH):
                words: uint32[R]
                for r in range(R):
                    words[r] = raw[v * R + r]
                turn(words, R=R)
                for r in range(R):
                    mine[32 * r + lane, w + 8 * v] = words[r]
            if w == 0:
                turn(last, R=R)
                for r in range(R):
                    mine[32 * r + lane, HIGH] = last[r]
        with partition(target, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
            for v in range(COLUMNS * HIGH // THREADS, unroll=True):
                q: int32 = t + v * THREADS
                j: int32 = q / HIGH
                p: int32 = q % HIGH
                if j < wide:
                    row: int64 = to_y + (left + j) * y_apart
                    shift: int32 = int32((row + top + y_past) % R)
                    at: int64 = top + p * R - shift
                    low: uint32 = tile[j % R * 32 + j / R, p]
                    high: uint32 = tile[j % R * 32 + j / R, p + 1]
                    word: uint32 = funnel_shift_right(low, high, uint32(8 * T.bytes * (R - shift))) if shift > 0 else high
                    if at >= 0 and at + R <= rows:
                        store_vector(mine[row + at], bitcast(word, vector(T, R)))
                    else:
                        for k in range(R):
                            if 0 <= at + k < rows:
                                mine[row + at + k] = T(word >> (8 * T.bytes * k))


EXAMPLES = {"move_words": {"T": "uint8", "ROWS": 128}}
