"""The elements of a tile: loaded, and the bin of each; of those that are in none, `size`."""

from prism.lang import (
    bitcast, block, const, constexpr, count, dtype, float32, float64, group, id, int32, load_vector, partition, prism, ptr,
    requires, template, thread, uint8, uint32,
)
from prism.kernels.histogram.bins import (
    Even, bin_of_rank, distance, edge_bin, limit_of, near_edge, quick_bin, settle_bin,
)
from prism.lib.thread import operators
from prism.lib.thread.words import words_of


@prism.device
@requires(block[1], thread[32])
@template(TE=dtype, E=dtype, INTEGRAL=constexpr(bool), LIMITS=constexpr(bool), THREADS=constexpr(int))
def fill_edges(
    edges: ptr(const(TE)) @ block[1], size: int32 @ block[1], rule: Even @ block[1], table: ptr(E) @ block[1]
) -> int32 @ block[1]:
    """Write `size + 1` edges into a table in shared memory; return how many of them count.

    Perspective: block, of `THREADS` threads.
    Shapes:      `LIMITS`: the table has the least numbers of type `E` that are not below each edge, or above the last, and those
                 count that there are. Else it has the edges themselves.
    Cost:        `size / threads` reads a thread; where there are limits, that of `block.reduce`.
    Test:        tests/kernels/test_histogram.py
    """
    t: int32 @ thread[1] = id()
    limits: int32 @ thread[1] = 0
    with partition(table, thread[1], offset=t) as mine, group(thread[1]):
        for j in range(t, size + 1, THREADS):
            if LIMITS:
                limit: E = 0
                there: bool = False
                limit, there = limit_of(float64(edges[j]), j == size, rule, E=E, INTEGRAL=INTEGRAL)
                mine[j - t] = limit
                limits = limits + (1 if there else 0)
            else:
                mine[j - t] = E(edges[j])
    return block.reduce(limits, OP=operators.add) if LIMITS else size + 1


@prism.device
@requires(block[1], thread[32])
@template(TI=dtype, WORDS=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int))
def load_words(
    x: ptr(const(TI)) @ block[1], words: uint32[WORDS] @ thread[1], valid: int32 @ block[1], skew: int32 @ block[1],
    before: int32 @ block[1],
):
    """What `block.load_tile` loads of elements of 8 bits, four in a word, the lowest first; those that are not there are 0."""
    first: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
    whole: bool @ block[1] = skew == 0 and before == 0 and valid >= count(thread[1]) * ITEMS
    with group(thread[1]):
        if WIDTH == 16 and whole:
            for j in range(ITEMS // WIDTH):
                row: uint32[4]
                words_of(load_vector(x[first + j * 32 * WIDTH], WIDTH), row)
                for i in range(4):
                    words[4 * j + i] = row[i]
        else:
            for i in range(WORDS):
                words[i] = 0
            for j in range(WORDS, unroll=False):  # words move down: so their numbers are constants
                for i in range(WORDS - 1):
                    words[i] = words[i + 1]
                words[WORDS - 1] = 0
                for k in range(4):
                    place: int32 = first + (4 * j + k) // WIDTH * (32 * WIDTH) + (4 * j + k) % WIDTH
                    if before <= place and place < valid:
                        words[WORDS - 1] = words[WORDS - 1] | uint32(bitcast(x[place], uint8)) << 8 * k


@prism.device
@requires(thread[1])
@template(WORDS=constexpr(int), ITEMS=constexpr(int))
def bytes_of(words: uint32[WORDS] @ thread[1], positions: int32[ITEMS] @ thread[1]):
    """Elements of 8 bits, four in a word, as the numbers that their bits are."""
    for k in range(ITEMS):
        positions[k] = int32(words[k // 4] >> 8 * (k % 4) & 255)


@prism.device
@requires(thread[1])
@template(TI=dtype, W=dtype, U=dtype, MOST=constexpr(bool), ITEMS=constexpr(int))
def integers_of(
    items: TI[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], size: int32 @ thread[1], largest: U @ thread[1]
) -> U @ thread[1]:
    """Integers as the bins that they are; returns the largest of all and of `largest`, with `MOST`."""
    found: U = largest
    for k in range(ITEMS):
        number: U = bitcast(W(items[k]), U)
        positions[k] = int32(number) if number < U(size) else size
        if MOST:
            found = max(found, number)  # what is behind the last element is 0
    return found


@prism.device
@requires(thread[1])
@template(TI=dtype, W=dtype, U=dtype, ITEMS=constexpr(int))
def distances(items: TI[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], rule: Even @ thread[1]):
    """How far integers are from the least one that is kept; one more than `rule.span` where they are not kept."""
    for k in range(ITEMS):
        positions[k] = int32(min(distance(items[k], rule, W=W, U=U), U(rule.span) + 1))


@prism.device
@requires(thread[1])
@template(
    TI=dtype, TE=dtype, T=dtype, G=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool), SURE=constexpr(bool),
    FIXED=constexpr(bool), EXACT=constexpr(bool), ITEMS=constexpr(int),
)
def even_bins(
    items: TI[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], size: int32 @ thread[1],
    edges: ptr(const(TE)) @ thread[1], rule: Even @ thread[1],
):
    """Bins of equal width: quick ones, and of numbers near an edge those that the edge says; none of `EXACT` ones.

    So many are computed as `QUAD` says before it is looked whether all are sure.
    """
    QUAD: constexpr(int) = 4 if ITEMS % 4 == 0 else 1
    for q in range(ITEMS // QUAD):
        doubt: uint32 = 0
        for k in range(q * QUAD, (q + 1) * QUAD):
            place: int32 = 0
            sure: bool = False
            place, sure = quick_bin(items[k], size, rule, G=G, W=W, U=U, INTEGRAL=INTEGRAL, SURE=SURE, FIXED=FIXED)
            positions[k] = size if EXACT else place
            doubt = doubt | uint32(0 if sure else 1) << k % QUAD
        if not SURE and not EXACT and doubt != 0:
            for k in range(q * QUAD, (q + 1) * QUAD):
                if doubt >> k % QUAD & 1 != 0:
                    e: int32 = near_edge(items[k], size, rule, G=G, W=W, U=U, INTEGRAL=INTEGRAL)
                    positions[k] = settle_bin(items[k], e, T(edges[e]), size, rule, W=W, U=U, INTEGRAL=INTEGRAL)


@prism.device
@requires(thread[1])
@template(TI=dtype, G=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool), ITEMS=constexpr(int))
def near_bins(
    items: TI[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], size: int32 @ thread[1],
    table: ptr(const(TI)) @ thread[1], rule: Even @ thread[1],
):
    """Bins of equal width, of which a table has limits, as `fill_edges` wrote them: by the limit of the nearest edge alone."""
    for k in range(ITEMS):
        e: int32 = near_edge(items[k], size, rule, G=G, W=W, U=U, INTEGRAL=INTEGRAL)
        b: int32 = e - (0 if items[k] >= table[e] else 1)
        if INTEGRAL:
            positions[k] = b if distance(items[k], rule, W=W, U=U) <= U(rule.span) else size
        else:
            positions[k] = int32(min(uint32(b), uint32(size)))  # -1 is below the first


@prism.device
@requires(thread[1])
@template(TI=dtype, E=dtype, LIMITS=constexpr(bool), CELLS=constexpr(int), ITEMS=constexpr(int))
def bins_of_table(
    items: TI[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], size: int32 @ thread[1],
    table: ptr(const(E)) @ thread[1], guide: ptr(const(uint32)) @ thread[1], offset: float32 @ thread[1],
    scale: float32 @ thread[1],
):
    """Bins between edges, by what `fill_edges` and `block.fill_guide` wrote, and returned."""
    values: E[ITEMS]
    for k in range(ITEMS):
        values[k] = E(items[k])
    thread.search(table, guide, values, positions, offset, scale, CELLS=CELLS)
    for k in range(ITEMS):
        if LIMITS:
            positions[k] = int32(min(uint32(positions[k]) - 1, uint32(size)))  # 0 is below the first
        else:
            positions[k] = bin_of_rank(positions[k], size, values[k], table[size])


@prism.device
@requires(thread[1])
@template(TI=dtype, TE=dtype, E=dtype, ITEMS=constexpr(int))
def bins_of_edges(
    items: TI[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], size: int32 @ thread[1],
    edges: ptr(const(TE)) @ thread[1],
):
    """Bins between edges that there is no room for in shared memory."""
    for k in range(ITEMS):
        positions[k] = edge_bin(E(items[k]), size, edges)
