"""Where values belong in a sorted table: its top levels stand in shared memory, as a tree, and below are rows of 32 bytes.

The table is cut into groups of `FAN` elements, these into groups of `FAN`, and so on, `depth` times, until the last elements of
groups, but for that of the last group, fit the tree. `sample` writes the tree in the order of a heap, where a level's nodes stand
side by side, so that lanes that are at one level read different banks. A value goes down the tree, and then reads one row, the
last elements of a group's groups, for each of the depths: the last row is of the table itself. Several values of a thread are
under way.
"""

from prism.lang import (
    attr, ballot, block, broadcast, clz, complex64, complex128, const, constexpr, count, dtype, float32, float64, grid, group, id,
    int32, int64, load_vector, partition, prism, ptr, requires, shared, shuffle, template, thread, vector,
)
from prism.kernels.merge.orders import complex_less
from prism.lib.thread import operators


@prism.device
@requires(thread[1])
@template(C=dtype, RIGHT=constexpr(bool))
def is_before(x: C @ thread[1], value: C @ thread[1]) -> bool @ thread[1]:
    """Whether an element stands before where a value belongs; of a value that is no NaN: NaN stands last."""
    return x <= value if RIGHT else x < value


@prism.device
@requires(thread[1])
def number_of(node: int32 @ thread[1], levels: int32 @ thread[1]) -> int64 @ thread[1]:
    """The number of a node among all, in their order, from 1 on; of node 0, which is none, any number."""
    above: int32 = 31 - int32(clz(max(node, 1)))  # of the levels
    return int64((2 * (max(node, 1) - (1 << above)) + 1) << (levels - 1 - above))


@prism.device
@requires(thread[1])
@template(T=dtype, C=dtype)
def sound_of(x: ptr(const(T)) @ thread[1], n: int64 @ thread[1]) -> int64 @ thread[1]:
    """How many of the `n` elements of a table, at least one, are no NaN."""
    high: int64 = n
    if C == float32 or C == float64:
        last: C = C(x[n - 1])
        low: int64 = n if last == last else 0
        while low < high:
            middle: int64 = (low + high) // 2
            found: C = C(x[middle])
            if found == found:
                low = middle + 1
            else:
                high = middle
    return high


@prism.device
@requires(thread[1])
@template(C=dtype, RIGHT=constexpr(bool), LOG=constexpr(int))
def row_step(
    rows: ptr(const(C)) @ thread[1], base: int64 @ thread[1], final: int64 @ thread[1], spot: int64 @ thread[1],
    value: C @ thread[1],
) -> int64 @ thread[1]:
    """From a group, by its number, to the one of its groups that a value belongs to: by a row of those from `rows[base]` on.

    `final`: where their last row begins.
    """
    WIDE: constexpr(int) = min(1 << LOG, 16 // C.bytes)
    row: int64 = min(spot << LOG, final)
    more: int32 = 0
    for j in range((1 << LOG) // WIDE):
        word: vector(C, WIDE) = load_vector(rows[base + row + j * WIDE], WIDE)
        for i in range(WIDE):
            more = more + (1 if is_before(word[i], value, RIGHT=RIGHT) else 0)
    return row + more


@prism.device
@requires(thread[32])
@template(C=dtype, RIGHT=constexpr(bool), LOG=constexpr(int), ITEMS=constexpr(int))
def common_path(
    tree: ptr(const(C)) @ thread[32], rows: ptr(const(C)) @ thread[32], values: C[ITEMS] @ thread[1], n: int64 @ thread[32],
    levels: int32 @ thread[32], depth: int32 @ thread[32], left: int32 @ thread[1],
) -> (int32, int32, int64) @ thread[32]:
    """How far all values of a warp go together: the lowest node of the tree, and the steps behind its leaf, with the last group.

    Where all values lie between the first and the last one, as those of sorted needles do, these two alone go down to find it.
    Else, and where they part in the tree, there are no steps. `left`: 0, which the compiler does not know.
    """
    lane: int32 @ thread[1] = id()
    low: C @ thread[32] = broadcast(values[0], 0)
    high: C @ thread[32] = broadcast(values[ITEMS - 1], 31)
    outside: bool @ thread[1] = False
    with group(thread[1]):
        for k in range(ITEMS):
            outside = outside or not (low <= values[k] and values[k] <= high)  # NaN is
    node: int32 @ thread[32] = 1
    steps: int32 @ thread[32] = 0
    spot: int64 @ thread[32] = 0
    if ballot(outside) == 0:
        end: C @ thread[1] = low if lane < 16 else high
        found: int32 @ thread[1] = 1
        with group(thread[1]):
            for _ in range(levels):
                before: bool = is_before(tree[found], end, RIGHT=RIGHT)
                found = 2 * found + (1 if before else left)
        first: int32 @ thread[32] = broadcast(found, 0)
        node = first >> (32 - int32(clz(first ^ broadcast(found, 31))))
        spot = int64(node - (1 << levels))
        base: int64 @ thread[32] = 0
        alike: bool @ thread[32] = node >= 1 << levels
        while alike and steps < depth - 1:
            final: int64 @ thread[32] = (n - 1) >> ((depth - 1 - steps) * LOG) >> LOG << LOG
            here: int64 @ thread[1] = row_step(rows, base, final, spot, end, RIGHT=RIGHT, LOG=LOG)
            lower: int64 @ thread[32] = broadcast(here, 0)
            alike = lower == broadcast(here, 31)
            if alike:
                spot = lower
                steps = steps + 1
                base = base + final + (1 << LOG)
    return node, steps, spot


@prism.kernel
@template(T=dtype, C=dtype, LOG=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def sample(
    x: ptr(const(T)) @ grid[1], nodes: ptr(C) @ grid[1], rows: ptr(C) @ grid[1], sound: ptr(int64) @ grid[1], n: int64 @ grid[1],
    levels: int32 @ grid[1], depth: int32 @ grid[1],
):
    """Make what `lookup` reads of a table: the tree, the rows between it and the table, and how many elements are no NaN.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: `n` elements, at least one, sorted, NaN last. `nodes`: `1 << levels`, at least 2; node `i` has nodes
                 `2 * i` and `2 * i + 1` below it, from 1 on. `rows`: for each step `FAN**k`, k from `depth - 1` to 1, the last
                 elements of so many; the last again, to a multiple of `FAN`, which is `1 << LOG`. `sound`: one word.
    Test:        tests/kernels/test_lookup.py
    """
    threads: int64 @ grid[1] = int64(count(block[1])) * THREADS
    me: int64 @ thread[1] = id()
    step: int64 @ grid[1] = int64(1) << (depth * LOG)
    with partition(nodes, thread[1], offset=me) as mine, group(thread[1]):
        for i in range(0, (int64(1) << levels) - me, threads):
            mine[i] = C(x[min(number_of(int32(i + me), levels) * step, n) - 1])
    base: int64 @ grid[1] = 0
    for _ in range(depth - 1):
        step = step >> LOG
        many: int64 @ grid[1] = ((n - 1) // step // (1 << LOG) + 1) << LOG
        with partition(rows, thread[1], offset=base + me) as mine, group(thread[1]):
            for i in range(0, many - me, threads):
                mine[i] = C(x[min((i + me + 1) * step, n) - 1])
        base = base + many
    with partition(sound, thread[1], offset=me) as mine, group(thread[1]):
        if me == 0:
            mine[0] = sound_of(x, n, C=C)


@prism.kernel
@template(
    T=dtype, V=dtype, C=dtype, RIGHT=constexpr(bool), LOG=constexpr(int), NODES=constexpr(int), THREADS=constexpr(int),
    ITEMS=constexpr(int), BLOCKS=constexpr(int),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def lookup(
    x: ptr(const(T)) @ grid[1], nodes: ptr(const(C)) @ grid[1], rows: ptr(const(C)) @ grid[1], sound: ptr(const(int64)) @ grid[1],
    v: ptr(const(V)) @ grid[1], y: ptr(int64) @ grid[1], n: int64 @ grid[1], m: int64 @ grid[1], levels: int32 @ grid[1],
    depth: int32 @ grid[1], first: int64 @ grid[1], sign: int32 @ grid[1], skew: int32 @ grid[1],
    x_aligned: bool @ grid[1], y_aligned: bool @ grid[1], otherwise: C @ grid[1],
):
    """`y[i]` becomes `first + sign *` how many elements of the table are less than `v[i]`; with `RIGHT` not greater.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`: `n` elements, at least one, sorted, NaN last; `v`, `y`: `m`. NaN is greater than all else, and equal to
                 itself. `C`: what is compared. `nodes`, `rows`, `sound`, `levels`, `depth`: as `sample` makes them; `1 << levels`
                 groups, at most `NODES`, of `FAN**depth` elements hold the table. With `depth` 0 it is the tree itself, and the
                 first three are not read. `skew`: how many elements `v` begins past one that is aligned to 2; -1: it is not
                 known. `otherwise`: any number.
    Errors:      if `x_aligned`, `x` must be, to 16 bytes or `FAN` elements; `rows` to `FAN` elements; if `y_aligned`, `y` to 2.
    Test:        tests/kernels/test_lookup.py
    """
    FAN: constexpr(int) = 1 << LOG
    TILE: constexpr(int) = THREADS * ITEMS
    STEP: constexpr(int) = min(FAN, 16 // T.bytes)  # elements of a vector of the table
    blocks: int32 @ grid[1] = count(block[1])
    here: int32 @ block[1] = id()
    tiles: int64 @ grid[1] = (m + (TILE - 1)) // TILE
    with partition(y, block[1], races="none") as out, group(block[1]):
        tree: shared(C[NODES])
        t: int32 @ thread[1] = id()
        left: int32 @ thread[1] = shuffle(0, t % 32)  # 0, which the compiler does not know: see below
        with partition(tree, thread[1], t) as slots, group(thread[1]):
            for i in range(0, (1 << levels) - t, THREADS):
                slots[i] = nodes[i + t] if depth > 0 else C(x[min(number_of(i + t, levels), n) - 1])
        unordered: int64 @ thread[1] = n  # where NaN belongs
        if not RIGHT:
            unordered = sound[0] if depth > 0 else sound_of(x, n, C=C)
        last: C @ block[1] = C(x[n - 1])
        for tile in range(int64(here), tiles, int64(blocks)):
            many: int32 @ block[1] = int32(min(m - tile * TILE, TILE))
            values: C[ITEMS] @ thread[1]
            spots: int64[ITEMS] @ thread[1]
            with partition(v, block[1], offset=tile * TILE) as source:
                block.load_tile(source, values, many, otherwise, skew, 0, WIDTH=2, REVERSE=False, SPARE=True)
            found: int32[ITEMS] @ thread[1]
            node: int32 @ thread[32] = 1
            below: int32 @ thread[32] = levels
            steps: int32 @ thread[32] = 0  # behind the tree, that all values of the warp have made
            shared_spot: int64 @ thread[32] = 0
            if C.bytes == 8:
                with group(thread[32]):
                    node, steps, shared_spot = common_path(tree, rows, values, n, levels, depth, left, RIGHT=RIGHT, LOG=LOG)
                    below = levels - 31 + int32(clz(node))
            with partition(tree, thread[1], offset=0, races="none") as own, group(thread[1]):
                for k in range(ITEMS):
                    found[k] = node
                # From node `i` to `2 * i`, or the one behind it: a choice of two numbers, and one instruction that doubles and
                # adds. Of 1 and 0 the compiler makes one more.
                for _ in range(below):
                    for k in range(ITEMS):
                        before: bool = is_before(own[found[k]], values[k], RIGHT=RIGHT)
                        found[k] = 2 * found[k] + (1 if before else left)
            with group(thread[1]):
                if depth == 0:  # positions of 32 bits
                    for k in range(ITEMS):
                        spot: int32 = found[k] - (1 << levels)
                        if spot >= int32(n) - 1:
                            spot = int32(n) if is_before(last, values[k], RIGHT=RIGHT) else int32(n) - 1
                        if values[k] != values[k]:
                            spot = int32(unordered)
                        spots[k] = first + int64(sign) * int64(spot)
                else:
                    base: int64 = 0
                    for k in range(ITEMS):
                        spots[k] = int64(found[k] - (1 << levels))
                        if C.bytes == 8:
                            spots[k] = shared_spot if steps > 0 else spots[k]
                    for d in range(depth - 1):
                        final: int64 = (n - 1) >> ((depth - 1 - d) * LOG) >> LOG << LOG  # where the last row begins
                        if C.bytes != 8 or d >= steps:
                            for k in range(ITEMS):
                                spots[k] = row_step(rows, base, final, spots[k], values[k], RIGHT=RIGHT, LOG=LOG)
                        base = base + final + FAN
                    for k in range(ITEMS):
                        row: int64 = min(spots[k] << LOG, (n - 1) >> LOG << LOG)
                        more: int32 = 0
                        if x_aligned and row + FAN <= n:
                            for j in range(FAN // STEP):
                                word: vector(T, STEP) = load_vector(x[row + j * STEP], STEP)
                                for i in range(STEP):
                                    more = more + (1 if is_before(C(word[i]), values[k], RIGHT=RIGHT) else 0)
                        else:
                            for i in range(FAN):
                                if row + i < n:
                                    more = more + (1 if is_before(C(x[row + i]), values[k], RIGHT=RIGHT) else 0)
                        spots[k] = row + more
                        if values[k] != values[k]:
                            spots[k] = unordered
                        spots[k] = first + int64(sign) * spots[k]
            with partition(out, block[1], tile * TILE, races="none") as target:
                block.store_tile(target, spots, many, y_aligned, 0, WIDTH=2, REVERSE=False, KEPT=False)


@prism.kernel
@template(T=dtype, V=dtype, C=dtype, RIGHT=constexpr(bool), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def lookup_few(
    x: ptr(const(T)) @ grid[1], v: ptr(const(V)) @ grid[1], y: ptr(int64) @ grid[1], n: int64 @ grid[1], m: int64 @ grid[1],
    first: int64 @ grid[1], sign: int64 @ grid[1],
):
    """What `lookup` does, of few values: each goes through the table alone, and nothing is made before.

    Perspective: grid, a block for each `THREADS` values.
    Shapes:      as of `lookup`; `n` may be 0. All three types may be one of complex numbers.
    Test:        tests/kernels/test_lookup.py
    """
    me: int64 @ thread[1] = id()
    with partition(y, thread[1], offset=me) as mine, group(thread[1]):
        if me < m:
            value: C = C(v[me])
            low: int64 = 0
            high: int64 = n
            while low < high:
                middle: int64 = (low + high) // 2
                found: C = C(x[middle])
                if (not stands_before(value, found)) if RIGHT else stands_before(found, value):
                    low = middle + 1
                else:
                    high = middle
            mine[0] = first + sign * low


@prism.device
@requires(thread[1])
@template(C=dtype)
def stands_before(a: C @ thread[1], b: C @ thread[1]) -> bool @ thread[1]:
    """Whether `a` stands before `b` in a sorted table: NaN last, complex numbers in NumPy's order."""
    if C == complex64 or C == complex128:
        return complex_less(a, b)
    else:
        return operators.less(a, b)


EXAMPLES = {
    "sample": {"T": "float32", "C": "float32", "LOG": 3, "THREADS": 256},
    "lookup": {
        "T": "float32", "V": "float32", "C": "float32", "RIGHT": False, "LOG": 3, "NODES": 8192, "THREADS": 512, "ITEMS": 8,
        "BLOCKS": 2,
    },
    "lookup_few": {"T": "float32", "V": "float32", "C": "float32", "RIGHT": False, "THREADS": 256},
}  # fmt: skip
