"""Elements moved between two orders of axes where rows of the target begin anywhere: each is written from a sector's start.

A sector of 32 bytes that two blocks write, each a part of it, takes as long as two. So a tile has a sector's rows of x more than
a block writes, and of each row of y the block writes what begins at a multiple of 32 bytes in it. Of elements of 1 and 2 bytes a
word is two aligned words, shifted, where it is read and where it is written.
"""

from prism.kernels.transform.tiles import turn
from prism.lang import (
    attr, bitcast, block, const, constexpr, dtype, funnel_shift_right, grid, group, id, int32, int64, load_vector, partition,
    prism, ptr, requires, shared, store_vector, template, thread, uint32, vector,
)  # fmt: skip

THREADS = 256
SECTOR = 32  # bytes that memory is written by


@prism.device
@requires(thread[1])
@template(T=dtype, R=constexpr(int))
def load_slowly(x: ptr(const(T)) @ thread[1], at: int64 @ thread[1], few: int32 @ thread[1]) -> uint32 @ thread[1]:
    """The word of `few` elements from `x[at]` on, one by one."""
    found: uint32 = 0
    for k in range(R):
        if k < few:
            found = found | uint32(x[at + k]) << (8 * T.bytes * k)
    return found


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, WORDS=constexpr(int), R=constexpr(int), WARPS=constexpr(int))
def load_words(
    x: ptr(const(T)) @ thread[1], corner: int64 @ thread[1], apart: int64 @ thread[1], column: int32 @ thread[1],
    group: int32 @ thread[1], above: int32 @ thread[1], below: int32 @ thread[1], wide: int32 @ thread[1],
    past: int32 @ thread[1], inside: bool @ thread[1], words: W[WORDS] @ thread[1],
):
    """Put the words of `R` rows of group `group`, and of each `WARPS` groups further, into `words`.

    `corner`: where row 0 begins. Rows are there from -`above` on and below `below`, and `wide` columns; instead of others these
    are read. `inside`: all aligned words that have a part of the tile are there. `past`: as of `move_words`.
    """
    low: W[WORDS]
    high: W[WORDS]
    if R == 1:
        for k in range(WORDS):
            words[k] = x[corner + min(max(group + k * WARPS, -above), below - 1) * apart + min(column, wide - 1)]
    elif inside:
        for k in range(WORDS):  # all loads before what they are used for
            i: int32 = min(max((group + k // R * WARPS) * R + k % R, -above), below - 1)
            at: int64 = corner + i * apart + min(column, wide - 1)
            shift: int32 = int32((at + past) & R - 1)
            low[k] = bitcast(load_vector(x[at - shift], R), W)
            high[k] = bitcast(load_vector(x[at - shift + R], R), W)
        for k in range(WORDS):
            i: int32 = min(max((group + k // R * WARPS) * R + k % R, -above), below - 1)
            shift: int32 = int32((corner + i * apart + min(column, wide - 1) + past) & R - 1)
            words[k] = funnel_shift_right(low[k], high[k], uint32(8 * T.bytes * shift))
    else:
        for k in range(WORDS):
            i: int32 = min(max((group + k // R * WARPS) * R + k % R, -above), below - 1)
            words[k] = load_slowly(x, corner + i * apart + column, wide - column, R=R)


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, WORDS=constexpr(int), R=constexpr(int), WARPS=constexpr(int))
def load_inner_words(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], apart: int64 @ thread[1], past: int32 @ thread[1],
    words: W[WORDS] @ thread[1],
):
    """What `load_words` does where all is there; `first`: where the thread's first word begins."""
    low: W[WORDS]
    high: W[WORDS]
    shifts: int32[WORDS]
    at: int64 = first
    for k in range(WORDS):  # all loads before what they are used for
        if R == 1:
            words[k] = x[at]
        else:
            shifts[k] = int32((at + past) & R - 1)
            low[k] = bitcast(load_vector(x[at - shifts[k]], R), W)
            high[k] = bitcast(load_vector(x[at - shifts[k] + R], R), W)
        at = at + (apart if k % R < R - 1 else (WARPS * R - R + 1) * apart)
    if R > 1:
        for k in range(WORDS):
            words[k] = funnel_shift_right(low[k], high[k], uint32(8 * T.bytes * shifts[k]))


@prism.kernel
@template(T=dtype, W=dtype, ROWS=constexpr(int), ACROSS=constexpr(int), BLOCKS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def move_words(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x0: int64 @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1],
    x_apart: int64 @ grid[1], y_apart: int64 @ grid[1], n1: uint32 @ grid[1], n2: uint32 @ grid[1], n3: uint32 @ grid[1],
    x1: int64 @ grid[1], x2: int64 @ grid[1], x3: int64 @ grid[1], y1: int64 @ grid[1], y2: int64 @ grid[1], y3: int64 @ grid[1],
    x_past: int32 @ grid[1], y_past: int32 @ grid[1], length: int64 @ grid[1],
):
    """What `move_tiles` does, with `x_near` and `y_near` 1, wherever rows begin.

    Perspective: grid, a block for each tile of `ROWS` rows of x and `ACROSS` words: as many tiles down as `rows`, and a sector's
                 less one, take.
    Shapes:      `W`: a word of at least 4 bytes of elements. `x_past`, `y_past`: how many elements x and y begin past a multiple
                 of 4, and of 32 bytes; that of y counts for speed, and modulo 4 bytes. `length`: of x.
    Cost:        one pass, and a sector's rows more for each tile, which the block above has read; one barrier.
    Test:        tests/kernels/test_move_tiles.py
    """
    R: constexpr(int) = W.bytes // T.bytes  # elements of a word
    HALO: constexpr(int) = SECTOR // T.bytes
    HIGH: constexpr(int) = (ROWS + HALO) // R
    PITCH: constexpr(int) = HIGH // 2 * 2 + 1  # odd: then words of a row of x are in banks of their own
    COLUMNS: constexpr(int) = ACROSS * R
    WARPS: constexpr(int) = THREADS // 32
    EACH: constexpr(int) = HIGH * (ACROSS // 32) // WARPS  # groups of `R` rows of 32 words, of a warp
    HEIGHT: constexpr(int) = ROWS // R  # words of a row of y
    ASIDE: constexpr(int) = THREADS // HEIGHT  # rows of y that threads write at a time
    across: uint32 @ grid[1] = uint32((columns - 1) // COLUMNS + 1)
    down: uint32 @ grid[1] = uint32((rows + (HALO - 2)) // ROWS + 1)
    number: uint32 @ block[1] = id()
    outer: uint32 @ block[1] = number // across
    c: uint32 @ block[1] = outer // down
    b: uint32 @ block[1] = c // n3
    a: uint32 @ block[1] = b // n2
    left: int64 @ block[1] = int64(number - outer * across) * COLUMNS
    top: int64 @ block[1] = int64(outer - c * down) * ROWS
    from_x: int64 @ block[1] = x0 + int64(a) * x1 + int64(b - a * n2) * x2 + int64(c - b * n3) * x3 + top * x_apart + left
    to_y: int64 @ block[1] = int64(a) * y1 + int64(b - a * n2) * y2 + int64(c - b * n3) * y3 + left * y_apart
    wide: int32 @ block[1] = int32(min(columns - left, COLUMNS))
    below: int32 @ block[1] = int32(min(rows - top, ROWS))
    above: int32 @ block[1] = int32(min(top, HALO))
    reach: int64 @ block[1] = (below - 1 + above) * x_apart
    lowest: int64 @ block[1] = from_x - above * x_apart + min(reach, 0)
    inside: bool @ block[1] = lowest >= R and lowest + max(reach, -reach) + wide + 2 * R <= length
    full: bool @ block[1] = inside and above == HALO and below == ROWS and wide == COLUMNS
    with partition(y, block[1], lambda i: to_y + i, races="none") as target, group(block[1]):
        tile: shared(W[COLUMNS, PITCH])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda j, i: (j, i), races="none") as mine, group(thread[1]):
            lane: int32 = t % 32
            half: int32 = t // 32 % (ACROSS // 32)
            first: int32 = t // 32 // (ACROSS // 32)
            raw: W[EACH * R]
            if full:
                load_inner_words(
                    x, from_x + (first * R - HALO) * x_apart + (half * 32 + lane) * R, x_apart, x_past, raw, R=R,
                    WARPS=WARPS // (ACROSS // 32),
                )  # fmt: skip
            else:
                load_words(
                    x, from_x, x_apart, (half * 32 + lane) * R, first - HALO // R, above, below, wide, x_past, inside, raw, R=R,
                    WARPS=WARPS // (ACROSS // 32),
                )  # fmt: skip
            for v in range(EACH):
                some: W[R]
                for r in range(R):
                    some[r] = raw[v * R + r]
                if R > 1:
                    turn(some, R=R)
                for r in range(R):
                    mine[(half * R + r) * 32 + lane, first + v * (WARPS // (ACROSS // 32))] = some[r]
        with partition(target, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
            p: int32 = t % HEIGHT
            line: int64 = (t // HEIGHT) * y_apart + top + p * R  # where a row's word goes, but for its shift
            shift: int32 = int32((to_y + line - p * R + y_past) & HALO - 1)
            for v in range(COLUMNS // ASIDE):
                j: int32 = t // HEIGHT + v * ASIDE
                row: int32 = (j // (32 * R) * R + j % R) * 32 + j // R % 32
                at: int32 = HALO - shift + p * R
                if full or j < wide:
                    word: W = tile[row, at // R]
                    if R > 1:  # of which a part may lie in the next one
                        word = funnel_shift_right(word, tile[row, (at + R - 1) // R], uint32(8 * T.bytes * (at % R)))
                    i: int64 = top - shift + p * R
                    if full or (i >= 0 and i + R <= rows):
                        if R > 1:
                            store_vector(mine[line - shift], bitcast(word, vector(T, R)))
                        else:
                            mine[line - shift] = word
                    elif R > 1:
                        for k in range(R):
                            if i + k >= 0 and i + k < rows:
                                mine[line - shift + k] = T(word >> (8 * T.bytes * k))
                line = line + ASIDE * y_apart
                shift = (shift + int32((ASIDE * y_apart) & HALO - 1)) & HALO - 1


EXAMPLES = {"move_words": {"T": "uint8", "W": "uint32", "ROWS": 128, "ACROSS": 32, "BLOCKS": 3}}
