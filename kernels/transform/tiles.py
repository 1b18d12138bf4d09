"""Elements moved between two orders of axes: the innermost of the source is not the target's, so tiles go through shared memory.

Both sides are moved 16 bytes a thread, where they lie so. Elements of 1 and 2 bytes are put together in registers first: a word
has those of 4 or 2 rows, and the tile is one of words.
"""

from prism.lang import (
    attr, bitcast, block, byte_permute, const, constexpr, dtype, grid, group, id, int32, int64, load_vector, partition, prism,
    ptr,
    requires, shared, store_vector, template, thread, uint32, vector,
)


@prism.device
@requires(thread[1])
@template(R=constexpr(int))
def turn(words: uint32[R] @ thread[1]):
    """Of words of `R` rows, each with as many elements, make those of columns: bytes of four words, or halves of two."""
    if R == 4:
        low: uint32 = byte_permute(words[0], words[1], 0x5140)
        high: uint32 = byte_permute(words[0], words[1], 0x7362)
        low2: uint32 = byte_permute(words[2], words[3], 0x5140)
        high2: uint32 = byte_permute(words[2], words[3], 0x7362)
        words = [
            byte_permute(low, low2, 0x5410), byte_permute(low, low2, 0x7632), byte_permute(high, high2, 0x5410),
            byte_permute(high, high2, 0x7632),
        ]  # fmt: skip
    if R == 2:
        words = [byte_permute(words[0], words[1], 0x5410), byte_permute(words[0], words[1], 0x7632)]


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, ROWS=constexpr(int), COLUMNS=constexpr(int), PITCH=constexpr(int), THREADS=constexpr(int))
def load_vectors(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], apart: int64 @ thread[1], high: int32 @ thread[1],
    wide: int32 @ thread[1],
    t: int32 @ thread[1], tile: ptr(W) @ thread[1],
):
    """Put the tile whose corner is `x[first]` where it has x's columns for rows: column j in row `j % V * (COLUMNS / V) + j / V`.

    Then the eight threads that hold vectors of one row of x write to different banks, and with them those of four rows.
    """
    V: constexpr(int) = 16 // T.bytes
    R: constexpr(int) = W.bytes // T.bytes
    P: constexpr(int) = 16 // W.bytes
    ACROSS: constexpr(int) = COLUMNS // V
    LOADS: constexpr(int) = ACROSS * (ROWS // R) // THREADS
    raw: W[LOADS * P * R]
    for v in range(LOADS):  # all loads before the first store, and no branches between them
        q: int32 = t + v * THREADS
        j: int32 = min((q % 8 + q // 32 % (ACROSS // 8) * 8) * V, wide - V)
        i: int32 = (q // 8 % 4 + q // (4 * ACROSS) * 4) * R
        for r in range(R):
            if V == 1:
                raw[v] = x[first + min(i, high - 1) * apart + j]
            else:
                words: vector(W, P) = bitcast(load_vector(x[first + min(i + r, high - 1) * apart + j], V), vector(W, P))
                for k in range(P):
                    raw[(v * P + k) * R + r] = words[k]
    for v in range(LOADS):
        q: int32 = t + v * THREADS
        j: int32 = q % 8 + q // 32 % (ACROSS // 8) * 8
        i: int32 = q // 8 % 4 + q // (4 * ACROSS) * 4
        for k in range(P):
            some: W[R]
            for r in range(R):
                some[r] = raw[(v * P + k) * R + r]
            if R > 1:
                turn(some, R=R)
            for r in range(R):
                tile[((k * R + r) * ACROSS + j) * PITCH + i] = some[r]


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, ROWS=constexpr(int), COLUMNS=constexpr(int), PITCH=constexpr(int), THREADS=constexpr(int))
def load_elements(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], apart: int64 @ thread[1], near: int64 @ thread[1],
    high: int32 @ thread[1],
    wide: int32 @ thread[1], t: int32 @ thread[1], tile: ptr(W) @ thread[1],
):
    """Put the tile whose corner is `x[first]` where it has x's columns for rows; a thread reads one column."""
    R: constexpr(int) = W.bytes // T.bytes
    DOWN: constexpr(int) = THREADS // COLUMNS  # words that threads read one below the other
    j: int32 = t % COLUMNS
    raw: W[COLUMNS * (ROWS // R) // THREADS] = {0}
    for v in range(COLUMNS * (ROWS // R) // THREADS):
        for r in range(R):
            i: int32 = (t // COLUMNS + v * DOWN) * R + r
            if i < high and j < wide:
                if R > 1:
                    raw[v] = raw[v] | uint32(x[first + i * apart + j * near]) << (8 * T.bytes * r)
                else:
                    raw[v] = x[first + i * apart + j * near]
    for v in range(COLUMNS * (ROWS // R) // THREADS):
        tile[j * PITCH + t // COLUMNS + v * DOWN] = raw[v]


@prism.kernel
@template(
    T=dtype, W=dtype, ROWS=constexpr(int), COLUMNS=constexpr(int), VECTORS=constexpr(bool), THREADS=constexpr(int),
    BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def move_tiles(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x0: int64 @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1],
    x_apart: int64 @ grid[1], x_near: int64 @ grid[1], y_apart: int64 @ grid[1], y_near: int64 @ grid[1], n1: uint32 @ grid[1],
    n2: uint32 @ grid[1], n3: uint32 @ grid[1], x1: int64 @ grid[1], x2: int64 @ grid[1], x3: int64 @ grid[1],
    y1: int64 @ grid[1],
    y2: int64 @ grid[1], y3: int64 @ grid[1],
):
    """`y[j * y_apart + i * y_near + (a, b, c) . (y1, y2, y3)] = x[x0 + i * x_apart + j * x_near + (a, b, c) . (x1, x2, x3)]`.

    Perspective: grid, a block for each tile of `ROWS` x `COLUMNS` elements, for each a, b, c below n1, n2, n3.
    Shapes:      i below `rows`, j below `columns`, both at least 1. `W`: a word of at least 4 bytes of elements.
    Cost:        one pass; a tile of shared memory, one barrier.
    Errors:      where `VECTORS`, `x_near` and `y_near` are 1, and x, y, all other steps in them, `rows` and `columns` multiples
                 of 16 bytes.
    Test:        tests/kernels/test_move_tiles.py
    """
    V: constexpr(int) = 16 // T.bytes  # elements of a vector
    R: constexpr(int) = W.bytes // T.bytes  # elements of a word
    P: constexpr(int) = 16 // W.bytes  # words of a vector
    PITCH: constexpr(int) = ROWS // R + (P if VECTORS else 1)  # words of a row of the tile, which is a column of x
    across: uint32 @ grid[1] = uint32((columns - 1) // COLUMNS + 1)
    down: uint32 @ grid[1] = uint32((rows - 1) // ROWS + 1)
    number: uint32 @ block[1] = id()
    outer: uint32 @ block[1] = number // across
    c: uint32 @ block[1] = outer // down
    left: int64 @ block[1] = int64(number - outer * across) * COLUMNS
    top: int64 @ block[1] = int64(outer - c * down) * ROWS
    b: uint32 @ block[1] = c // n3
    a: uint32 @ block[1] = b // n2
    in_x: int64 @ block[1] = top * x_apart + left * x_near
    from_x: int64 @ block[1] = x0 + int64(a) * x1 + int64(b - a * n2) * x2 + int64(c - b * n3) * x3 + in_x
    to_y: int64 @ block[1] = int64(a) * y1 + int64(b - a * n2) * y2 + int64(c - b * n3) * y3 + left * y_apart + top * y_near
    high: int32 @ block[1] = int32(min(rows - top, ROWS))
    wide: int32 @ block[1] = int32(min(columns - left, COLUMNS))
    with partition(y, block[1], lambda i: to_y + i, races="none") as target, group(block[1]):
        tile: shared(W[COLUMNS * PITCH])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
            if VECTORS:
                load_vectors(x, from_x, x_apart, high, wide, t, mine, ROWS=ROWS, COLUMNS=COLUMNS, PITCH=PITCH, THREADS=THREADS)
            else:
                load_elements(
                    x, from_x, x_apart, x_near, high, wide, t, mine, ROWS=ROWS, COLUMNS=COLUMNS, PITCH=PITCH, THREADS=THREADS,
                )
        with partition(target, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
            if VECTORS:
                for v in range(COLUMNS * ROWS // V // THREADS, unroll=True):
                    j: int32 = (t + v * THREADS) // (ROWS // V)
                    i: int32 = (t + v * THREADS) % (ROWS // V) * V
                    row: int32 = j % V * (COLUMNS // V) + j // V
                    if i < high and j < wide:
                        if V == 1:
                            mine[j * y_apart + i] = tile[row * PITCH + i]
                        else:
                            words: vector(W, P) = load_vector(tile[row * PITCH + i // R], P)
                            store_vector(mine[j * y_apart + i], bitcast(words, vector(T, V)))
            else:
                for v in range(COLUMNS * ROWS // THREADS):
                    j: int32 = t // ROWS + v * (THREADS // ROWS)
                    i: int32 = t % ROWS
                    if i < high and j < wide:
                        word: W = tile[j * PITCH + i // R]
                        mine[j * y_apart + i * y_near] = T(word >> (8 * T.bytes * (i % R))) if R > 1 else word


EXAMPLES = {
    "move_tiles": {"T": "uint16", "W": "uint32", "ROWS": 128, "COLUMNS": 128, "VECTORS": True, "THREADS": 256, "BLOCKS": 4},
}
