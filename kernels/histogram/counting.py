"""Counting in one pass: blocks count in shared memory, in copies of the bins, and add up in global memory.

Numbers of 8 bits are counted by their value first: a block finds the bin of each value once, when all is counted. So are integers
of which no more are in the range than there are bins. Of others bins are computed quickly; those that are not sure are compared
with an edge. Of more bins than there is shared memory for a block counts frequent ones there.
"""

from prism.lang import (
    atomic_max, attr, block, const, constexpr, count, dtype, float32, grid, group, id, int32, int64, partition, prism, ptr,
    requires, shared, template, thread, uint8, uint32,
)
from prism.kernels.histogram.adding import add_exactly, add_in_memory, add_values
from prism.kernels.histogram.bins import EVEN, IDENTITY, Even, edge_bin, edge_of
from prism.kernels.histogram.frequent import add_frequent, choose_frequent, count_frequent
from prism.kernels.histogram.handing import hand_over
from prism.kernels.histogram.lanes import fill_bounds, fill_narrow_guide, positions_of_lanes
from prism.kernels.histogram.tiles import (
    bins_of_edges, bins_of_table, bytes_of, distances, even_bins, fill_edges, integers_of, load_words, near_bins,
)
from prism.lib.thread import extent, operators


@prism.kernel
@template(
    TI=dtype, TW=dtype, TE=dtype, E=dtype, C=dtype, S=dtype, T=dtype, D=dtype, L=dtype, G=dtype, W=dtype, U=dtype,
    KIND=constexpr(int), INTEGRAL=constexpr(bool), LATE=constexpr(bool), WEIGHTED=constexpr(bool), MOST=constexpr(bool),
    SURE=constexpr(bool, default=False), VALUES=constexpr(bool, default=False), FIXED=constexpr(bool, default=False),
    EXACT=constexpr(bool, default=False), LIMITS=constexpr(bool, default=False), CELLS=constexpr(int, default=1),
    SLOTS=constexpr(int), COPIES=constexpr(int), TABLE=constexpr(int), THREADS=constexpr(int), ITEMS=constexpr(int),
    WIDTH=constexpr(int), BLOCKS=constexpr(int), OFTEN=constexpr(int, default=0), NEAR=constexpr(bool, default=False),
    LANES=constexpr(int, default=0), EARLY=constexpr(bool, default=False),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def histogram(
    x: ptr(const(TI)) @ grid[1], weights: ptr(const(TW)) @ grid[1], edges: ptr(const(TE)) @ grid[1], counts: ptr(S) @ grid[1],
    n: int64 @ grid[1], size: int32 @ grid[1], skew: int32 @ grid[1],
    weight_skew: int32 @ grid[1], rule: Even @ grid[1], otherwise: TI @ grid[1], nothing: C @ grid[1],
    result: ptr(int64) @ grid[1], length: ptr(int64) @ grid[1], least: int64 @ grid[1],
):
    """Add to `counts[b]` how many of the `n` elements of `x` are in bin `b`, of `size`; `WEIGHTED`: the sum of their weights.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `KIND`: IDENTITY, an integer is its bin's number; EVEN, `rule` says where edges are; EDGES, they are `size + 1`
                 sorted `edges`, compared in the type `E`. `T`, `D`, `L`, `G`, `W`, `U`: types that bins are computed in, see
                 `prism.kernels.histogram.bins`; of those that are not sure `edges` are read too. `LATE`: elements are integers of
                 8 bits, and counted by their value. `VALUES`: of EVEN ones, integers from `rule.least` on, `rule.span` more, are.
                 `SURE`: `rule` says each bin for sure; `FIXED`: by a product. `EXACT`: no quick bin is sure. `SLOTS`: numbers of
                 type `C` in shared memory, at least `COPIES` for each bin and for none, of `LATE` ones 256, of `VALUES` for each
                 of these and for others; 0: counts are added in global memory at once, but for those of `OFTEN` bins at most that
                 each block meets in its first tile. `TABLE`: of EDGES, room for them there, with a guide of `CELLS`; 0: they are
                 looked for in global memory. `NEAR`: of EVEN ones, room for them too, and no guide: quick bins may be sure, and
                 elements are compared with the nearest edge; a float is in the range that is between the outer edges. `LIMITS`,
                 with `NEAR` always: float64 has these edges, `E` is `TI`, and of integers `rule.low` and `rule.high` are the
                 least and the largest. `LANES`, with `LIMITS`, of EDGES: so many edges
                 and counts, 32 side by side for each rank, of `size + 2`, and one more; `CELLS` are of 2 bytes then.
                 `EARLY`: the first tile is asked for before counts are cleared. `MOST`: of IDENTITY, `counts[size]` is raised to
                 the largest element, taken without a sign, or to `2^63 - 1`; what is counted is handed over to `result` and
                 `length`, as `hand_over` says, which are not used without.
                 `skew`: how many elements `x` begins past one that is aligned to `WIDTH` of them; -1: it
                 is not known. `weight_skew`: the same of the weight that is `skew` before the first. `otherwise`, `nothing`: any
                 numbers; with `MOST` 0.
    Numerics:    counts are exact. Weights of a bin are added in any order, in `C` and then in `S`.
    Test:        tests/kernels/test_histogram.py, tests/gpu/test_histogram.py
    """
    TILE: constexpr(int) = THREADS * ITEMS
    shift: int32 @ grid[1] = max(skew, 0)  # tiles begin so many elements earlier: where vectors are aligned
    end: int64 @ grid[1] = n + shift
    tiles: int32 @ grid[1] = int32((end + (TILE - 1)) // TILE)
    blocks: int32 @ grid[1] = count(block[1])
    me: int32 @ block[1] = id()
    with (
        partition(result, block[1], offset=0, races="none") as handed,  # the last block's alone
        partition(length, block[1], offset=0, races="none") as said, group(block[1]),
    ):
        t: int32 @ thread[1] = id()
        copy: int32 @ thread[1] = t & COPIES - 1
        at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
        many: int32 = 256 if LATE else int32(rule.span) + 2 if VALUES else size + 1  # the last one is of what is in no bin
        bins: shared(C[SLOTS if SLOTS > 0 else 1])
        table: shared(E[TABLE if TABLE > 0 else 1])
        guide: shared(uint32[CELLS if TABLE > 0 and not NEAR and LANES == 0 else 1])
        narrow_guide: shared(uint8[2 * CELLS if LANES > 0 else 16], align=16)
        bounds: shared(E[LANES if LANES > 0 else 1])
        limits: int32 @ block[1] = 0  # how many there are in the table
        offset: float32 @ block[1] = 0  # of the guide's cells
        scale: float32 @ block[1] = 0
        keys: shared(int32[OFTEN if OFTEN > 0 else 1])
        often: shared(uint32[OFTEN if OFTEN > 0 else 1])
        WORDS: constexpr(int) = ITEMS // 4 if LATE else 1
        ahead: TI[ITEMS if not LATE else 1] @ thread[1]  # the following tile
        ahead_words: uint32[WORDS] @ thread[1]  # of elements of 8 bits: they take too many registers one by one
        ahead_weights: C[ITEMS] @ thread[1]
        largest: U @ thread[1] = 0
        missing: int64 @ block[1] = 0  # elements that tiles have none of: of `LATE` ones they are 0, and counted

        @requires(block[1], thread["THREADS"])
        def begin():
            """Clear counts in shared memory; bring edges there, and make a guide to them."""
            nonlocal offset, scale, limits
            if SLOTS > 0:
                block.fill(bins, 0, LANES if LANES > 0 else many * COPIES)
            if OFTEN > 0:
                block.fill(keys, -1, OFTEN)
                block.fill(often, 0, OFTEN)
            if TABLE > 0:
                known: int32 @ block[1] = fill_edges(
                    edges, size, rule, table, INTEGRAL=INTEGRAL, LIMITS=LIMITS, THREADS=THREADS,
                )
                if LANES > 0:
                    limits = known
                    fill_bounds(table, known, bounds, rule, INTEGRAL=INTEGRAL, LANES=LANES, THREADS=THREADS)
                    offset, scale = fill_narrow_guide(table, known, narrow_guide, rule, INTEGRAL=INTEGRAL, CELLS=CELLS)
                elif not NEAR and known > 0:
                    offset, scale = block.fill_guide(table, known, guide, CELLS=CELLS)
                elif not NEAR:
                    block.fill(guide, 0, CELLS)

        @requires(block[1], thread["THREADS"])
        def load(tile: int32 @ block[1]):
            """Bring a tile's elements into registers, and their weights."""
            there: int32 @ block[1] = extent(tile, end, TILE=TILE)
            before: int32 @ block[1] = shift if tile == 0 else 0
            with partition(x, block[1], offset=int64(tile) * TILE - shift) as source:
                if LATE:
                    load_words(source, ahead_words, there, skew - shift, before, ITEMS=ITEMS, WIDTH=WIDTH)
                else:
                    block.load_tile(
                        source, ahead, there, otherwise, skew - shift, before, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                    )
            if WEIGHTED:
                with partition(weights, block[1], offset=int64(tile) * TILE - shift) as source:
                    block.load_tile(
                        source, ahead_weights, there, nothing, weight_skew, before, WIDTH=WIDTH, REVERSE=False, SPARE=False,
                    )

        @requires(thread[1])
        def find_bins(
            items: TI[ITEMS if not LATE else 1] @ thread[1], words: uint32[WORDS] @ thread[1],
            positions: int32[ITEMS] @ thread[1],
        ):
            """The bin of each element, or its value, of those that are counted by it."""
            nonlocal largest
            if LATE:
                bytes_of(words, positions)
            elif KIND == IDENTITY:
                largest = integers_of(items, positions, size, largest, W=W, U=U, MOST=MOST)
            elif VALUES:
                distances(items, positions, rule, W=W, U=U)
            elif KIND == EVEN and NEAR:
                near_bins(items, positions, size, table, rule, G=G, W=W, U=U, INTEGRAL=INTEGRAL)
            elif KIND == EVEN:
                even_bins(
                    items, positions, size, edges, rule, T=T, G=G, W=W, U=U, INTEGRAL=INTEGRAL, SURE=SURE, FIXED=FIXED,
                    EXACT=EXACT,
                )
            elif LANES > 0:
                positions_of_lanes(
                    items, positions, narrow_guide, bounds, table, limits, t & 31, offset, scale, INTEGRAL=INTEGRAL,
                    CELLS=CELLS,
                )
            elif TABLE > 0:
                bins_of_table(items, positions, size, table, guide, offset, scale, LIMITS=LIMITS, CELLS=CELLS)
            else:
                bins_of_edges(items, positions, size, edges, E=E)

        @requires(thread[1])
        def leave_out(positions: int32[ITEMS] @ thread[1], head: int32 @ thread[1], whole: int32 @ thread[1]):
            """What is before a tile's first element, or behind its last one, is in no bin."""
            for k in range(ITEMS):
                place: int32 = at + (k // WIDTH * (32 * WIDTH) + k % WIDTH)
                there: bool = head <= place and place < whole
                positions[k] = positions[k] if there else (t & 31 if LANES > 0 else many - 1)

        @requires(block[1], thread["THREADS"])
        def count_bins(tile: int32 @ block[1], positions: int32[ITEMS] @ thread[1], heavy: C[ITEMS] @ thread[1]):
            """Count a tile's elements in their bins, or add up their weights: in shared memory, or in that of the grid."""
            if SLOTS > 0:
                if WEIGHTED:
                    block.add_weights(positions, heavy, bins, many, COPIES=COPIES, WITHIN=True)
                else:
                    block.histogram(positions, bins, many, COPIES=COPIES if LANES == 0 else 1, WITHIN=True)
            elif WEIGHTED:
                add_in_memory(positions, heavy, counts, size)
            else:
                if tile == me:
                    choose_frequent(positions, keys, size, SLOTS=OFTEN)
                count_frequent(positions, keys, often, counts, size, SLOTS=OFTEN)
            if EXACT:
                add_exactly(
                    x, weights, bins, counts, int64(tile) * TILE - shift + at, n, size, copy, rule, T=T, D=D, L=L, W=W, U=U,
                    INTEGRAL=INTEGRAL, WEIGHTED=WEIGHTED, ROOM=SLOTS > 0, COPIES=COPIES, ITEMS=ITEMS, WIDTH=WIDTH,
                )

        @requires(block[1], thread["THREADS"])
        def count_tile(tile: int32 @ block[1]):
            """Count the tile that was loaded, while the block's next one comes."""
            nonlocal missing
            items: TI[ITEMS if not LATE else 1] @ thread[1]
            words: uint32[WORDS] @ thread[1]
            heavy: C[ITEMS] @ thread[1]
            if LATE:
                for k in range(WORDS):
                    words[k] = ahead_words[k]
            else:
                for k in range(ITEMS):
                    items[k] = ahead[k]
            if WEIGHTED:
                for k in range(ITEMS):
                    heavy[k] = ahead_weights[k]
            whole: int32 @ block[1] = extent(tile, end, TILE=TILE)
            head: int32 @ block[1] = shift if tile == 0 else 0
            missing = missing + (TILE - (whole - head))
            if tile + blocks < tiles:
                load(tile + blocks)
            positions: int32[ITEMS] @ thread[1]
            with group(thread[1]):
                find_bins(items, words, positions)
                if not LATE and (whole < TILE or head > 0):
                    leave_out(positions, head, whole)
            count_bins(tile, positions, heavy)

        @requires(block[1], thread["THREADS"])
        def add_up():
            """Add what the block has counted to `counts`, and raise the largest element to its own."""
            nonlocal largest
            if LATE or VALUES:
                largest = add_values(
                    bins, counts, edges, 256 if LATE else many - 1, missing, size, largest, rule, TI=TI, E=E, T=T, D=D, L=L,
                    W=W, U=U, KIND=KIND, INTEGRAL=INTEGRAL, LATE=LATE, WEIGHTED=WEIGHTED, MOST=MOST, COPIES=COPIES,
                    THREADS=THREADS,
                )
            elif LANES > 0:
                with partition(bins, block[1], offset=32) as counted:  # of rank 1 and more
                    grid.histogram(counted, counts, size, COPIES=32)
            elif SLOTS > 0:
                grid.histogram(bins, counts, size, COPIES=COPIES)
            elif OFTEN > 0:
                add_frequent(keys, often, counts, SLOTS=OFTEN)
            if MOST:
                most: U @ block[1] = block.reduce(largest, OP=operators.maximum)
                with group(thread[1]):
                    if t == 0:
                        atomic_max(counts[size], int64(min(most, U((1 << 63) - 1)) if U.bytes == 8 else most))
                hand_over(counts, handed, said, size, least, blocks, THREADS=THREADS)

        if not EARLY:
            begin()
        if me < tiles:
            load(me)
        if EARLY:
            begin()
        for tile in range(me, tiles, blocks):
            count_tile(tile)
        add_up()


@prism.kernel
@template(S=dtype, TE=dtype, T=dtype, L=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def prepare(
    counts: ptr(S) @ grid[1], edges: ptr(TE) @ grid[1], size: int32 @ grid[1], many: int64 @ grid[1], rule: Even @ grid[1],
):
    """Make `counts[0] ... counts[many - 1]` 0, and `edges` those of `size` even bins; of none, where `size` is 0.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `edges`: `size + 1`, of the type `T` in memory of `TE`; `L`, `rule`: as of `histogram`.
    Test:        tests/kernels/test_histogram.py
    """
    i: int64 @ thread[1] = id()
    threads: int64 @ grid[1] = count(thread[1])
    with partition(counts, thread[1], races="none") as mine, partition(edges, thread[1], races="none") as own, group(thread[1]):
        for b in range(i, many, threads):
            mine[b] = 0
        if size > 0:
            for b in range(i, size + 1, threads):
                own[b] = TE(edge_of(int32(b), size, rule, T=T, L=L))


@prism.kernel
@template(TE=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def check_edges(edges: ptr(const(TE)) @ grid[1], length: ptr(int64) @ grid[1], size: int64 @ grid[1]):
    """Make `length[0]` how many bins there are between `size + 1` edges: `size`, or 0 where they fall somewhere, or one is NaN.

    Perspective: grid, of one block of `THREADS` threads.
    Shapes:      `size`: at least 1.
    Test:        tests/kernels/test_histogram.py
    """
    with partition(length, block[1], races="none") as out, group(block[1]):
        t: int32 @ thread[1] = id()
        wrong: bool @ thread[1] = False
        with group(thread[1]):
            for j in range(int64(t), size, THREADS):
                wrong = wrong or not (edges[j] <= edges[j + 1])
        fall: bool @ block[1] = block.any(wrong)
        block.fill(out, int64(0) if fall else size, 1)


@prism.kernel
@template(TI=dtype, TE=dtype, E=dtype, FIRST=constexpr(bool), THREADS=constexpr(int))
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def place(
    x: ptr(const(TI)) @ grid[1], edges: ptr(const(TE)) @ grid[1], positions: ptr(int32) @ grid[1], n: int64 @ grid[1],
    size: int32 @ grid[1], total: int32 @ grid[1],
):
    """Make `positions[i]` the place of a cell in one more dimension: `size` times what it was, and the bin of `x[i]`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `positions`: `n` elements. `edges`: `size + 1`, sorted, compared in the type `E`. `FIRST`: positions were 0.
                 `total`: how many cells there are; it stands for the place of an element that is in none.
    Test:        tests/kernels/test_histogram.py
    """
    i: int64 @ thread[1] = id()
    threads: int64 @ grid[1] = count(thread[1])
    with partition(positions, thread[1], races="none") as mine, group(thread[1]):
        for k in range(i, n, threads):
            b: int32 = edge_bin(E(x[k]), size, edges)
            before: int32 = 0
            if not FIRST:
                before = mine[k]
            mine[k] = total if b == size or before == total else before * size + b


EXAMPLES = {
    "check_edges": {"TE": "float64", "THREADS": 256},
    "histogram": {
        "TI": "uint8", "TW": "uint8", "TE": "float32", "E": "float32", "C": "uint32", "S": "int64", "T": "float32",
        "D": "float64", "L": "float64", "G": "float32", "W": "int32", "U": "uint32", "KIND": EVEN, "INTEGRAL": False,
        "LATE": False, "WEIGHTED": False, "MOST": False, "SLOTS": 9216, "COPIES": 32, "TABLE": 0, "THREADS": 512, "ITEMS": 16,
        "WIDTH": 4, "BLOCKS": 2,
    },
    "place": {"TI": "float32", "TE": "float64", "E": "float64", "FIRST": False, "THREADS": 256},
    "prepare": {"S": "int64", "TE": "float32", "T": "float32", "L": "float64", "THREADS": 256},
}
