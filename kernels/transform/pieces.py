"""Elements moved between any two layouts, a piece of up to four axes a block: what has few elements along an axis goes this way.

The threads of a block read a piece in the order in which it lies in the source, and write it in the order of the target. Shared
memory is between them, with an element's room left out behind those of all banks: steps of any size then reach different banks.
"""

from prism.lang import (
    attr, bitcast, block, const, constexpr, dtype, grid, group, id, int32, int64, load_vector, partition, prism, ptr, requires,
    shared,
    store_vector, struct, template, thread, uint32, uint64, vector,
)  # fmt: skip

THREADS = 256
STRAIGHT, SINGLE, RUNS, GATHERED, SCATTERED = range(5)
"""How a piece is moved: without shared memory; element by element; both sides by vectors of 16 bytes where it is one run on both;
where it is one run in the source, and has rows of vectors in the target; and the other way round."""


@struct
class Extents:
    """Four extents of a piece, the last innermost, and what numbers are divided by them with."""

    a: int32
    b: int32
    c: int32
    d: int32
    by_b: uint32
    by_c: uint32
    by_d: uint32


@struct
class Index:
    """An index of a piece, or how far apart elements of it are in shared memory."""

    a: int32
    b: int32
    c: int32
    d: int32


@prism.device
@requires(thread[1])
def inverse(divisor: int32 @ thread[1]) -> uint32 @ thread[1]:
    """What `quotient` multiplies by: 2^32 / divisor, rounded up; 0 of 1."""
    return uint32(0xFFFFFFFF) // uint32(divisor) + uint32(1)


@prism.device
@requires(thread[1])
def quotient(n: int32 @ thread[1], inverse: uint32 @ thread[1]) -> int32 @ thread[1]:
    """n / divisor, both below 2^16: then n times the error of the inverse is too little to show."""
    return n if inverse == 0 else int32(uint64(n) * inverse >> 32)


@prism.device
@requires(thread[1])
def extents_of(
    n: Index @ thread[1], by_b: uint32 @ thread[1], by_c: uint32 @ thread[1], by_d: uint32 @ thread[1], whole: bool @ thread[1],
) -> Extents @ thread[1]:
    """Four extents, of a piece that is as large as most, whose inverses are given, or is not `whole`."""
    return Extents(
        n.a, n.b, n.c, n.d, by_b if whole else inverse(n.b), by_c if whole else inverse(n.c), by_d if whole else inverse(n.d),
    )  # fmt: skip


@prism.device
@requires(thread[1])
def index_of(n: int32 @ thread[1], extents: Extents @ thread[1]) -> Index @ thread[1]:
    """The index of element `n` in C order."""
    rest: int32 = quotient(n, extents.by_d)
    upper: int32 = quotient(rest, extents.by_c)
    top: int32 = quotient(upper, extents.by_b)
    return Index(top, upper - top * extents.b, rest - upper * extents.c, n - rest * extents.d)


@prism.device
@requires(thread[1])
def choose(
    which: int32 @ thread[1], a: int32 @ thread[1], b: int32 @ thread[1], c: int32 @ thread[1], d: int32 @ thread[1],
) -> int32 @ thread[1]:
    """One of four, by its number."""
    return (a if which == 0 else b) if which < 2 else (c if which == 2 else d)


@prism.device
@requires(thread[1])
def pick(order: Index @ thread[1], of: Index @ thread[1]) -> Index @ thread[1]:
    """Four numbers in another order."""
    return Index(
        choose(order.a, of.a, of.b, of.c, of.d), choose(order.b, of.a, of.b, of.c, of.d), choose(order.c, of.a, of.b, of.c, of.d),
        choose(order.d, of.a, of.b, of.c, of.d),
    )  # fmt: skip


@prism.device
@requires(thread[1])
def dense(extents: Index @ thread[1]) -> Index @ thread[1]:
    """How far apart elements of a piece are that lies in C order."""
    return Index(extents.b * extents.c * extents.d, extents.c * extents.d, extents.d, 1)


@prism.device
@requires(thread[1])
def inner(one: Index @ thread[1], other: Index @ thread[1]) -> int32 @ thread[1]:
    """Where an index is."""
    return one.a * other.a + one.b * other.b + one.c * other.c + one.d * other.d


@prism.device
@requires(thread[1])
@template(SIZE=constexpr(int))
def bank_place(n: int32 @ thread[1]) -> int32 @ thread[1]:
    """Where element `n` of so many bytes is, when one word is left out behind those of all banks."""
    return n + n // (128 // SIZE) * max(1, 4 // SIZE)


@prism.kernel
@template(T=dtype, W=dtype, EACH=constexpr(int), WAY=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def move_pieces(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], x0: int64 @ grid[1],
    n1: int64 @ grid[1], n2: int64 @ grid[1], n3: int64 @ grid[1], n4: int64 @ grid[1],
    t1: int32 @ grid[1], t2: int32 @ grid[1], t3: int32 @ grid[1], t4: int32 @ grid[1],
    c1: uint32 @ grid[1], c2: uint32 @ grid[1], c3: uint32 @ grid[1], c4: uint32 @ grid[1],
    x1: int64 @ grid[1], x2: int64 @ grid[1], x3: int64 @ grid[1], x4: int64 @ grid[1],
    y1: int64 @ grid[1], y2: int64 @ grid[1], y3: int64 @ grid[1], y4: int64 @ grid[1],
    o1: int32 @ grid[1], o2: int32 @ grid[1], o3: int32 @ grid[1], o4: int32 @ grid[1],
    m2: uint32 @ grid[1], m3: uint32 @ grid[1], m4: uint32 @ grid[1], k2: uint32 @ grid[1], k3: uint32 @ grid[1],
    k4: uint32 @ grid[1],
    n5: uint32 @ grid[1], n6: uint32 @ grid[1], n7: uint32 @ grid[1],
    x5: int64 @ grid[1], x6: int64 @ grid[1], x7: int64 @ grid[1],
    y5: int64 @ grid[1], y6: int64 @ grid[1], y7: int64 @ grid[1],
):
    """`y[index . (y1, ..., y7)] = x[x0 + index . (x1, ..., x7)]` for each index below (n1, ..., n7).

    Perspective: grid, a block for each piece of t1 x t2 x t3 x t4 indices, at most `EACH * THREADS`, and each of the other axes.
    Shapes:      axes 1 to 4 as they lie in y, the last innermost; c1 to c4: how many pieces there are along them. o1 to o4:
                 which of them (0 to 3) lie in x from the outermost to the innermost. m2 to m4, k2 to k4: `inverse` of t2 to t4,
                 and of those in the order of x; of vectors, where rows are of them. `W`: a word of at least 4 bytes of elements.
    Cost:        one pass; unless `STRAIGHT` a piece of shared memory, one barrier.
    Errors:      where a side is moved by vectors, pieces begin at multiples of 16 bytes of it, and so do rows of a side that has
                 rows. A piece reaches over less than 2^31 elements of x and of y.
    Test:        tests/kernels/test_move_pieces.py
    """
    V: constexpr(int) = 16 // T.bytes
    TILE: constexpr(int) = EACH * THREADS
    p4: uint32 @ block[1] = id()
    p3: uint32 @ block[1] = p4 // c4
    p2: uint32 @ block[1] = p3 // c3
    p1: uint32 @ block[1] = p2 // c2
    p7: uint32 @ block[1] = p1 // c1
    p6: uint32 @ block[1] = p7 // n7
    p5: uint32 @ block[1] = p6 // n6
    s1: int64 @ block[1] = int64(p1 - p7 * c1) * t1
    s2: int64 @ block[1] = int64(p2 - p1 * c2) * t2
    s3: int64 @ block[1] = int64(p3 - p2 * c3) * t3
    s4: int64 @ block[1] = int64(p4 - p3 * c4) * t4
    s6: int64 @ block[1] = int64(p6 - p5 * n6)
    s7: int64 @ block[1] = int64(p7 - p6 * n7)
    from_x: int64 @ block[1] = x0 + s1 * x1 + s2 * x2 + s3 * x3 + s4 * x4 + int64(p5) * x5 + s6 * x6 + s7 * x7
    to_y: int64 @ block[1] = s1 * y1 + s2 * y2 + s3 * y3 + s4 * y4 + int64(p5) * y5 + s6 * y6 + s7 * y7
    r1: int32 @ block[1] = int32(min(n1 - s1, t1))
    r2: int32 @ block[1] = int32(min(n2 - s2, t2))
    r3: int32 @ block[1] = int32(min(n3 - s3, t3))
    r4: int32 @ block[1] = int32(min(n4 - s4, t4))
    many: int32 @ block[1] = r1 * r2 * r3 * r4
    whole: bool @ block[1] = r2 == t2 and r3 == t3 and r4 == t4 and r1 == t1
    written: Extents @ block[1] = extents_of(Index(r1, r2, r3, r4 // V if WAY == GATHERED else r4), m2, m3, m4, whole)
    in_y: Index @ block[1] = Index(int32(y1), int32(y2), int32(y3), int32(y4))
    in_x: Index @ block[1] = Index(int32(x1), int32(x2), int32(x3), int32(x4))
    with partition(y, block[1], lambda i: to_y + i, races="none") as target, group(block[1]):
        t: int32 @ thread[1] = id()
        if WAY == STRAIGHT:
            with partition(target, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
                move_each(x, from_x, in_x, mine, in_y, many, t, written, W=W, EACH=EACH)
        else:
            tile: shared(T[TILE + TILE // (128 // T.bytes) * max(1, 4 // T.bytes)])
            order: Index @ block[1] = Index(o1, o2, o3, o4)
            lies: Index @ block[1] = pick(order, Index(r1, r2, r3, r4))
            apart: Index @ block[1] = steps_in(order, dense(lies))
            with partition(tile, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
                if WAY == RUNS or WAY == GATHERED:
                    load_run(x, from_x, many, t, mine, W=W, EACH=EACH)
                else:
                    across: Index = pick(order, dense(Index(r1, r2, r3, r4)))
                    if WAY == SCATTERED:
                        read: Extents = extents_of(Index(lies.a, lies.b, lies.c, lies.d // V), k2, k3, k4, whole)
                        load_rows(x, from_x, pick(order, in_x), many, t, read, across, mine, W=W, EACH=EACH)
                    else:
                        read: Extents = extents_of(lies, k2, k3, k4, whole)
                        load_each(x, from_x, pick(order, in_x), many, t, read, across, mine, W=W, EACH=EACH)
            with partition(target, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
                if WAY == RUNS:
                    gather_run(tile, mine, many, t, written, apart, EACH=EACH)
                elif WAY == GATHERED:
                    gather_rows(tile, mine, in_y, many, t, written, apart, EACH=EACH)
                elif WAY == SCATTERED:
                    store_run(tile, mine, many, t, W=W, EACH=EACH)
                else:
                    store_each(tile, mine, in_y, many, t, written, EACH=EACH)


@prism.device
@requires(thread[1])
def steps_in(order: Index @ thread[1], read: Index @ thread[1]) -> Index @ thread[1]:
    """How far apart elements are along the axes of y, in a piece that lies as in x: the other way round than `pick`."""
    a: int32 = read.a if order.a == 0 else (read.b if order.b == 0 else (read.c if order.c == 0 else read.d))
    b: int32 = read.a if order.a == 1 else (read.b if order.b == 1 else (read.c if order.c == 1 else read.d))
    c: int32 = read.a if order.a == 2 else (read.b if order.b == 2 else (read.c if order.c == 2 else read.d))
    d: int32 = read.a if order.a == 3 else (read.b if order.b == 3 else (read.c if order.c == 3 else read.d))
    return Index(a, b, c, d)


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, EACH=constexpr(int))
def move_each(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], in_x: Index @ thread[1], y: ptr(T) @ thread[1],
    in_y: Index @ thread[1],
    many: int32 @ thread[1], t: int32 @ thread[1], written: Extents @ thread[1],
):
    """Write elements as they are read."""
    items: W[EACH]
    spots: int32[EACH]
    for v in range(EACH):  # all loads before the first store
        if t + v * THREADS < many:
            i: Index = index_of(t + v * THREADS, written)
            items[v] = W(x[first + inner(i, in_x)])
            spots[v] = inner(i, in_y)
    for v in range(EACH):
        if t + v * THREADS < many:
            y[spots[v]] = T(items[v])


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, EACH=constexpr(int))
def load_each(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], in_x: Index @ thread[1], many: int32 @ thread[1],
    t: int32 @ thread[1],
    read: Extents @ thread[1], apart: Index @ thread[1], tile: ptr(T) @ thread[1],
):
    """Put elements in the order of x where they are in the order of y."""
    items: W[EACH]
    spots: int32[EACH]
    for v in range(EACH):  # all loads before the first store
        if t + v * THREADS < many:
            i: Index = index_of(t + v * THREADS, read)
            items[v] = W(x[first + inner(i, in_x)])
            spots[v] = bank_place(inner(i, apart), SIZE=T.bytes)
    for v in range(EACH):
        if t + v * THREADS < many:
            tile[spots[v]] = T(items[v])


@prism.device
@requires(thread[1])
@template(T=dtype, EACH=constexpr(int))
def store_each(
    tile: ptr(const(T)) @ thread[1], y: ptr(T) @ thread[1], in_y: Index @ thread[1], many: int32 @ thread[1],
    t: int32 @ thread[1],
    written: Extents @ thread[1],
):
    """Write elements, which are in the order of y."""
    for v in range(EACH):
        if t + v * THREADS < many:
            y[inner(index_of(t + v * THREADS, written), in_y)] = tile[bank_place(t + v * THREADS, SIZE=T.bytes)]


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, EACH=constexpr(int))
def load_run(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], many: int32 @ thread[1], t: int32 @ thread[1],
    tile: ptr(T) @ thread[1]
):
    """Put elements that lie one behind the other in x where they are in that order; the first at a multiple of 16 bytes."""
    V: constexpr(int) = 16 // T.bytes
    R: constexpr(int) = W.bytes // T.bytes
    P: constexpr(int) = 16 // W.bytes
    raw: W[P * (EACH // V)]
    for v in range(EACH // V):
        at: int32 = (t + v * THREADS) * V
        if at + V <= many:
            words: vector(W, P) = bitcast(load_vector(x[first + at], V), vector(W, P))
            for k in range(P):
                raw[P * v + k] = words[k]
    for v in range(EACH // V):
        at: int32 = (t + v * THREADS) * V
        if at + V <= many:
            for k in range(P):
                if R > 1:
                    store_vector(tile[bank_place(at, SIZE=T.bytes) + R * k], bitcast(raw[P * v + k], vector(T, R)))
                else:
                    tile[bank_place(at, SIZE=T.bytes) + k] = raw[P * v + k]
        else:
            for k in range(at, many, unroll=False):
                tile[bank_place(k, SIZE=T.bytes)] = x[first + k]


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, EACH=constexpr(int))
def store_run(tile: ptr(const(T)) @ thread[1], y: ptr(T) @ thread[1], many: int32 @ thread[1], t: int32 @ thread[1]):
    """Write elements one behind the other, which are in that order; the first at a multiple of 16 bytes."""
    V: constexpr(int) = 16 // T.bytes
    R: constexpr(int) = W.bytes // T.bytes
    P: constexpr(int) = 16 // W.bytes
    for v in range(EACH // V, unroll=True):
        at: int32 = (t + v * THREADS) * V
        if at + V <= many:
            words: vector(W, P)
            for k in range(P):
                if R > 1:
                    words[k] = bitcast(load_vector(tile[bank_place(at, SIZE=T.bytes) + R * k], R), W)
                else:
                    words[k] = tile[bank_place(at, SIZE=T.bytes) + k]
            store_vector(y[at], bitcast(words, vector(T, V)))
        else:
            for k in range(at, many, unroll=False):
                y[k] = tile[bank_place(k, SIZE=T.bytes)]


@prism.device
@requires(thread[1])
@template(T=dtype, EACH=constexpr(int))
def gather_run(
    tile: ptr(const(T)) @ thread[1], y: ptr(T) @ thread[1], many: int32 @ thread[1], t: int32 @ thread[1],
    written: Extents @ thread[1], apart: Index @ thread[1],
):
    """Write elements one behind the other, which are `apart` in the tile; the first at a multiple of 16 bytes."""
    V: constexpr(int) = 16 // T.bytes
    over_d: int32 = apart.c - written.d * apart.d  # from behind the last along an axis to the next along the one before
    over_c: int32 = apart.b - written.c * apart.c
    over_b: int32 = apart.a - written.b * apart.b
    for v in range(EACH // V):
        first: int32 = (t + v * THREADS) * V
        if first + V <= many:
            i: Index = index_of(first, written)
            at: int32 = inner(i, apart)
            left_d: int32 = written.d - i.d
            left_c: int32 = written.c - i.c
            left_b: int32 = written.b - i.b
            whole: vector(T, V)
            for k in range(V):
                whole[k] = tile[bank_place(at, SIZE=T.bytes)]
                left_d = left_d - 1
                at = at + (apart.d + over_d if left_d == 0 else apart.d)
                left_c = left_c - 1 if left_d == 0 else left_c
                left_d = written.d if left_d == 0 else left_d
                if left_c == 0:
                    left_c = written.c
                    left_b = left_b - 1
                    at = at + (over_c + over_b if left_b == 0 else over_c)
                    left_b = written.b if left_b == 0 else left_b
            store_vector(y[first], whole)
        else:
            for k in range(first, many, unroll=False):
                y[k] = tile[bank_place(inner(index_of(k, written), apart), SIZE=T.bytes)]


@prism.device
@requires(thread[1])
@template(T=dtype, EACH=constexpr(int))
def gather_rows(
    tile: ptr(const(T)) @ thread[1], y: ptr(T) @ thread[1], in_y: Index @ thread[1], many: int32 @ thread[1],
    t: int32 @ thread[1],
    rows: Extents @ thread[1], apart: Index @ thread[1],
):
    """Write rows by vectors, whose elements are `apart` in the tile; `rows` are counted in vectors."""
    V: constexpr(int) = 16 // T.bytes
    for v in range(EACH // V, unroll=True):
        q: int32 = t + v * THREADS
        if q * V < many:
            i: Index = index_of(q, rows)
            i.d = i.d * V
            at: int32 = inner(i, apart)
            whole: vector(T, V)
            for k in range(V):
                whole[k] = tile[bank_place(at + k * apart.d, SIZE=T.bytes)]
            store_vector(y[inner(i, in_y)], whole)


@prism.device
@requires(thread[1])
@template(T=dtype, W=dtype, EACH=constexpr(int))
def load_rows(
    x: ptr(const(T)) @ thread[1], first: int64 @ thread[1], in_x: Index @ thread[1], many: int32 @ thread[1],
    t: int32 @ thread[1],
    rows: Extents @ thread[1], apart: Index @ thread[1], tile: ptr(T) @ thread[1],
):
    """Put rows of x, read by vectors, where they are in the order of y; `rows` are counted in vectors."""
    V: constexpr(int) = 16 // T.bytes
    P: constexpr(int) = 16 // W.bytes
    raw: W[P * (EACH // V)]
    spots: int32[EACH // V]
    for v in range(EACH // V):
        q: int32 = t + v * THREADS
        if q * V < many:
            i: Index = index_of(q, rows)
            i.d = i.d * V
            spots[v] = inner(i, apart)
            words: vector(W, P) = bitcast(load_vector(x[first + inner(i, in_x)], V), vector(W, P))
            for k in range(P):
                raw[P * v + k] = words[k]
    for v in range(EACH // V):
        if (t + v * THREADS) * V < many:
            words: vector(W, P)
            for k in range(P):
                words[k] = raw[P * v + k]
            whole: vector(T, V) = bitcast(words, vector(T, V))
            for k in range(V):
                tile[bank_place(spots[v] + k * apart.d, SIZE=T.bytes)] = whole[k]


EXAMPLES = {"move_pieces": {"T": "uint32", "W": "uint32", "EACH": 16, "WAY": SINGLE}}
