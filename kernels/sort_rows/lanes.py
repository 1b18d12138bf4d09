"""Short rows, each sorted by a group of lanes in registers: one read, one write, and no barrier but those of warps."""

from prism.lang import (
    attr, ballot, block, const, constexpr, count, dtype, grid, group, id, int32, int64, load_vector, partition, popcount,
    prism, ptr, requires, shared, shuffle, store_vector, template, thread, uint32, vector, warp,
)
from prism.kernels.sort_rows.elements import ALONE, before, behind_all, bits_of, element_of, key_of, least_zero, pack, place_of
from prism.kernels.sort_rows.segments import BACK, GATHERED, NONE, ROWS, SEGMENTS, bounds_of


@prism.device
@requires(thread[1])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int))
def store_run(y: ptr(T) @ thread[1], at: int64 @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ thread[1]):
    """Put `items` to `y[at]` and behind, those below `valid`, a multiple of `WIDTH`; `y[at]` is aligned to `WIDTH` elements."""
    STEP: constexpr(int) = min(WIDTH, max(16 // T.bytes, 1))
    for j in range(ITEMS // STEP):
        if j * STEP < valid:
            if STEP > 1:
                word: vector(T, STEP)
                for k in range(STEP):
                    word[k] = items[j * STEP + k]
                store_vector(y[at + j * STEP], word)
            else:
                y[at + j] = items[j]


@prism.device
@requires(thread[32])
@template(T=dtype, E=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), DESCENDING=constexpr(bool))
def order_zeros(
    x: ptr(const(T)) @ thread[32], begin: int64 @ thread[1], length: int32 @ thread[1], items: E[ITEMS] @ thread[1],
    run: ptr(E) @ thread[32],
):
    """Give the zeros of sorted rows their signs in the order in which they lie: -0.0 is equal to 0.0."""
    lane: int32 @ thread[1] = id()
    first: int32 @ thread[1] = lane // SIZE * SIZE  # of the lanes that have the row
    own: uint32 @ thread[1] = uint32((int64(1) << SIZE) - 1) << uint32(first)
    before_this: uint32 @ thread[1] = own & (uint32(1) << uint32(lane)) - 1
    least: E @ thread[1] = least_zero(T=T, E=E, DESCENDING=DESCENDING)
    below: int32 @ thread[1] = 0  # elements before the zeros
    for k in range(ITEMS):
        less: uint32 @ thread[32] = ballot(items[k] < least)
        below = below + popcount(less & own)
    zeros: int32 @ thread[1] = 0
    with partition(run, thread[1], offset=lambda i: i, races="none") as signs:
        for k in range(ITEMS):
            key: E @ thread[1] = 0
            with group(thread[1]):
                if k * SIZE + (lane - first) < length:
                    key = E(key_of(x[begin + (k * SIZE + (lane - first))], U=E, DESCENDING=DESCENDING, TIED=False))
            found: uint32 @ thread[32] = ballot(key - least <= 1)
            with group(thread[1]):
                if key - least <= 1:
                    signs[first * ITEMS + zeros + popcount(found & before_this)] = key
            zeros = zeros + popcount(found & own)
    with group(thread[1]):
        for k in range(ITEMS):
            place: int32 = (lane - first) * ITEMS + k - below
            if 0 <= place and place < zeros:
                items[k] = run[first * ITEMS + place]


@prism.device
@requires(thread[32])
@template(
    T=dtype, U=dtype, E=dtype, SIZE=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int), DESCENDING=constexpr(bool),
    FORM=constexpr(int), MIXED=constexpr(bool),
)
def load_rows(
    x: ptr(const(T)) @ thread[32], begin: int64 @ thread[1], length: int32 @ thread[1], whole: bool @ thread[32],
    items: E[ITEMS] @ thread[1],
) -> bool @ thread[1]:
    """What is sorted of the elements of each row, and something behind all where there are fewer; `MIXED`: whether one is -0.0.

    `whole`: rows begin where vectors do, and are whole ones.
    """
    lane: int32 @ thread[1] = id()
    l: int32 @ thread[1] = lane % SIZE
    minus: bool @ thread[1] = False
    with group(thread[1]):
        if WIDTH > 1 and whole:
            for j in range(ITEMS // WIDTH):
                first: int32 = (j * SIZE + l) * WIDTH
                if first < length:
                    word: vector(T, WIDTH) = load_vector(x[begin + first], WIDTH)
                    for k in range(WIDTH):
                        items[j * WIDTH + k] = pack(word[k], first + k, U=U, E=E, DESCENDING=DESCENDING, FORM=FORM)
                        if MIXED:
                            minus = minus or bits_of(word[k], U=U) == U(1) << (8 * T.bytes - 1)
                else:
                    for k in range(WIDTH):
                        items[j * WIDTH + k] = behind_all(E=E)
        else:
            for k in range(ITEMS):
                items[k] = behind_all(E=E)
                if k * SIZE + l < length:
                    raw: T = x[begin + (k * SIZE + l)]
                    items[k] = pack(raw, k * SIZE + l, U=U, E=E, DESCENDING=DESCENDING, FORM=FORM)
                    if MIXED:
                        minus = minus or bits_of(raw, U=U) == U(1) << (8 * T.bytes - 1)
    return minus


@prism.device
@requires(thread[1])
@template(
    T=dtype, E=dtype, V=dtype, I=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), DESCENDING=constexpr(bool),
    FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
)
def store_own(
    x: ptr(const(T)) @ thread[1], values: ptr(const(V)) @ thread[1], y: ptr(T) @ thread[1], positions: ptr(I) @ thread[1],
    moved: ptr(V) @ thread[1], begin: int64 @ thread[1], at: int64 @ thread[1], valid: int32 @ thread[1],
    items: E[ITEMS] @ thread[1],
):
    """Write a thread's elements of a row that begins at `begin` from `at` on, those that are `valid`, as vectors."""
    sorted: T[ITEMS if KEYS != NONE else 1]
    numbers: I[ITEMS if PLACES else 1]
    beside: V[ITEMS if VALUES else 1]
    for k in range(ITEMS):
        if KEYS == BACK:
            sorted[k] = element_of(items[k], T=T, DESCENDING=DESCENDING)
        if FORM != ALONE and k < valid:
            there: int64 = int64(place_of(items[k]))
            if KEYS == GATHERED:
                sorted[k] = x[begin + there]
            if VALUES:
                beside[k] = values[begin + there]
            if PLACES:
                numbers[k] = I(there)
    if KEYS != NONE:
        store_run(y, at, sorted, valid, WIDTH=WIDTH)
    if PLACES:
        store_run(positions, at, numbers, valid, WIDTH=WIDTH)
    if VALUES:
        store_run(moved, at, beside, valid, WIDTH=WIDTH)


@prism.device
@requires(thread[32])
@template(
    T=dtype, E=dtype, V=dtype, I=dtype, SIZE=constexpr(int), ITEMS=constexpr(int), DESCENDING=constexpr(bool),
    FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool), VALUES=constexpr(bool),
)
def store_spread(
    x: ptr(const(T)) @ thread[32], values: ptr(const(V)) @ thread[32], y: ptr(T) @ thread[32], positions: ptr(I) @ thread[32],
    moved: ptr(V) @ thread[32], begin: int64 @ thread[1], length: int32 @ thread[1], items: E[ITEMS] @ thread[1],
):
    """Write the elements of a warp's rows, which lie side by side in its lanes: lane by lane."""
    SPAN: constexpr(int) = SIZE * ITEMS
    lane: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=lambda i: i, races="none") as target, \
         partition(positions, thread[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, thread[1], offset=lambda i: i, races="none") as value_target:
        for k in range(ITEMS):
            source: int32 @ thread[1] = (k * 32 + lane) // SPAN * SIZE
            start: int64 @ thread[1] = begin if SIZE == 32 else shuffle(begin, source)
            there: int32 @ thread[1] = length if SIZE == 32 else shuffle(length, source)
            with group(thread[1]):
                column: int32 = (k * 32 + lane) % SPAN
                if column < there:
                    if KEYS == BACK:
                        target[start + column] = element_of(items[k], T=T, DESCENDING=DESCENDING)
                    if FORM != ALONE:
                        place: int64 = int64(place_of(items[k]))
                        if KEYS == GATHERED:
                            target[start + column] = x[start + place]
                        if VALUES:
                            value_target[start + column] = values[start + place]
                        if PLACES:
                            place_target[start + column] = I(place)


@prism.device
@requires(block[1], thread[32])
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, SIZE=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    THREADS=constexpr(int), DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool),
    VALUES=constexpr(bool), MODE=constexpr(int), LISTED=constexpr(bool), MIXED=constexpr(bool),
)
def sort_own_rows(
    x: ptr(const(T)) @ block[1], values: ptr(const(V)) @ block[1], y: ptr(T) @ block[1], positions: ptr(I) @ block[1],
    moved: ptr(V) @ block[1], starts: ptr(const(O)) @ block[1], ends: ptr(const(O)) @ block[1],
    listed: ptr(const(int32)) @ block[1], total: int64 @ grid[1], here: int64 @ block[1], blocks: int64 @ grid[1],
    rows: int64 @ grid[1], columns: int64 @ grid[1], n: int64 @ grid[1], least: int64 @ grid[1], most: int64 @ grid[1],
):
    """Sort the rows of block `here` of `blocks`, as `sort_rows_by_lanes` does, of `total` ones, or of that many in `listed`."""
    GROUPS: constexpr(int) = THREADS // SIZE  # rows a block has at once
    RUN: constexpr(int) = (33 - ITEMS % 2) * ITEMS  # room that a warp's elements are handed round in
    t: int32 @ thread[1] = id()
    w: int32 @ warp[1] = id()
    l: int32 @ thread[1] = t % SIZE
    room: shared(E[THREADS // 32 * RUN])
    # Where the next rows lie is asked for while these are sorted.
    next_begin: int64 @ thread[1] = 0
    next_length: int64 @ thread[1] = 0

    @requires(thread[1])
    def row_at(turn: int64 @ thread[1]) -> (int64, int64) @ thread[1]:
        row: int64 = turn * GROUPS + t // SIZE
        if LISTED:
            row = int64(listed[row]) if row < total else rows
        last: int64 = min(row, rows - 1)
        start: int64 = int64(starts[last]) if MODE == SEGMENTS else int64(0)
        end: int64 = int64(ends[last]) if MODE == SEGMENTS else int64(0)
        return bounds_of(row, rows, start, end, columns, n, least, most, MODE=MODE)

    with group(thread[1]):
        next_begin, next_length = row_at(here)
    with partition(y, warp[1], offset=lambda i: i, races="none") as target, \
         partition(positions, warp[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, warp[1], offset=lambda i: i, races="none") as value_target:
        for tile in range(here, (total + (GROUPS - 1)) // GROUPS, blocks):
            begin: int64 @ thread[1] = next_begin
            length: int32 @ thread[1] = int32(next_length)
            with group(thread[1]):
                next_begin, next_length = row_at(tile + blocks)
            with partition(room, warp[1], offset=w * RUN) as run, group(warp[1]):
                items: E[ITEMS] @ thread[1]
                whole: bool @ warp[1] = WIDTH > 1
                if WIDTH > 1 and MODE == SEGMENTS:
                    whole = ballot((int32(begin & int64(WIDTH - 1)) | length & WIDTH - 1) != 0) == 0
                minus: bool @ thread[1] = load_rows(x, begin, length, whole, items, U=U, SIZE=SIZE, WIDTH=WIDTH,
                                                    DESCENDING=DESCENDING, FORM=FORM, MIXED=MIXED)
                warp.sort(items, SIZE=SIZE, LESS=before, TOTAL=True)
                if MIXED:
                    some: uint32 @ warp[1] = ballot(minus)
                    if some != 0:
                        order_zeros(x, begin, length, items, run, SIZE=SIZE, DESCENDING=DESCENDING)
                if WIDTH > 1 and whole:
                    with partition(target, thread[1], offset=lambda i: i, races="none") as own, \
                         partition(place_target, thread[1], offset=lambda i: i, races="none") as own_places, \
                         partition(value_target, thread[1], offset=lambda i: i, races="none") as own_values, group(thread[1]):
                        store_own(x, values, own, own_places, own_values, begin, begin + l * ITEMS, length - l * ITEMS, items,
                                  WIDTH=WIDTH, DESCENDING=DESCENDING, FORM=FORM, KEYS=KEYS, PLACES=PLACES, VALUES=VALUES)
                else:
                    warp.blocked_to_striped_in(run, items)
                    store_spread(x, values, target, place_target, value_target, begin, length, items, SIZE=SIZE,
                                 DESCENDING=DESCENDING, FORM=FORM, KEYS=KEYS, PLACES=PLACES, VALUES=VALUES)


@prism.kernel
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, SIZE=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
    THREADS=constexpr(int), DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int), PLACES=constexpr(bool),
    VALUES=constexpr(bool), MODE=constexpr(int), LISTED=constexpr(bool), MIXED=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def sort_rows_by_lanes(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], cleared: ptr(int32) @ grid[1], rows: int64 @ grid[1], columns: int64 @ grid[1],
    n: int64 @ grid[1], least: int64 @ grid[1], most: int64 @ grid[1], first_listed: int64 @ grid[1], number: int32 @ grid[1],
):
    """Sort rows of at most `SIZE * ITEMS` elements, each by `SIZE` lanes.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      `x`, `y`, `positions`, `values`, `moved`: `n` elements; none that is written is memory of one that is read. By
                 `MODE`: `rows` rows of `columns` elements, side by side; or of the `rows` segments from `starts[s]` to `ends[s]`
                 those from `least` to `most` elements long. `LISTED`: of these, the `listed_many[number]` whose numbers
                 `listed` has from `first_listed` on. `KEYS`: `y` becomes the sorted elements, by their keys or from where they
                 lie; `PLACES`: `positions`, where in the row they were; `VALUES`: `moved`, `values` in their order. `E` is what
                 is sorted, by `FORM`: the key, of type `U`, or that and the position, then the order is stable. `MIXED`: of
                 floats that are `ALONE`, whose zeros keep their order too. Of segments that are not `LISTED` eight words of
                 `cleared` become 0, for a kernel behind.
    Errors:      with `WIDTH` above 1 all arrays are aligned to so many elements, or 16 bytes; `columns` is a multiple.
    Test:        tests/kernels/test_sort_rows.py
    """
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    total: int64 @ grid[1] = rows
    if LISTED:
        total = int64(listed_many[number])
    with partition(y, block[1], offset=lambda i: i, races="none") as target, \
         partition(positions, block[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, block[1], offset=lambda i: i, races="none") as value_target, \
         partition(cleared, thread[1], offset=lambda i: i, races="none") as words, \
         partition(listed, block[1], offset=first_listed) as own_list, group(block[1]):
        t: int32 @ thread[1] = id()
        if MODE == SEGMENTS and not LISTED:
            with group(thread[1]):
                if here == 0 and t < 8:
                    words[t] = 0
        sort_own_rows(
            x, values, target, place_target, value_target, starts, ends, own_list, total, here, blocks, rows, columns, n, least,
            most, U=U, E=E, SIZE=SIZE, ITEMS=ITEMS, WIDTH=WIDTH, THREADS=THREADS, DESCENDING=DESCENDING, FORM=FORM, KEYS=KEYS,
            PLACES=PLACES, VALUES=VALUES, MODE=MODE, LISTED=LISTED, MIXED=MIXED,
        )


@prism.kernel
@template(
    T=dtype, U=dtype, E=dtype, V=dtype, I=dtype, O=dtype, SIZE=constexpr(int), ITEMS=constexpr(int),
    SECOND_SIZE=constexpr(int), SECOND_ITEMS=constexpr(int), THIRD_SIZE=constexpr(int), THIRD_ITEMS=constexpr(int),
    WIDTH=constexpr(int), THREADS=constexpr(int), DESCENDING=constexpr(bool), FORM=constexpr(int), KEYS=constexpr(int),
    PLACES=constexpr(bool), VALUES=constexpr(bool), MIXED=constexpr(bool),
)
@requires(grid[1], block[1], thread["THREADS"])
@attr("__launch_bounds__(THREADS)")
def sort_listed_by_lanes(
    x: ptr(const(T)) @ grid[1], values: ptr(const(V)) @ grid[1], y: ptr(T) @ grid[1], positions: ptr(I) @ grid[1],
    moved: ptr(V) @ grid[1], starts: ptr(const(O)) @ grid[1], ends: ptr(const(O)) @ grid[1], listed: ptr(const(int32)) @ grid[1],
    listed_many: ptr(const(int32)) @ grid[1], rows: int64 @ grid[1], n: int64 @ grid[1],
):
    """Sort the segments of the first three lists of `bin_segments`.

    Perspective: grid, of any number of blocks of `THREADS` threads.
    Shapes:      as of `sort_rows_by_lanes`, of segments. List `c` is `listed[c * rows]` and behind, `listed_many[c]` numbers, of
                 segments that the size and the items of its own are enough for.
    Test:        tests/lib/algorithms/sort_rows/test_api.py
    """
    blocks: int64 @ grid[1] = int64(count(block[1]))
    here: int64 @ block[1] = id()
    shortest: int64 @ grid[1] = int64(listed_many[0])
    middle: int64 @ grid[1] = int64(listed_many[1])
    longest: int64 @ grid[1] = int64(listed_many[2])
    with partition(y, block[1], offset=lambda i: i, races="none") as target, \
         partition(positions, block[1], offset=lambda i: i, races="none") as place_target, \
         partition(moved, block[1], offset=lambda i: i, races="none") as value_target, group(block[1]):
        with partition(listed, block[1]) as own_list:
            sort_own_rows(
                x, values, target, place_target, value_target, starts, ends, own_list, shortest, here, blocks, rows,
                0, n, 1, n, U=U, E=E, SIZE=SIZE, ITEMS=ITEMS, WIDTH=WIDTH, THREADS=THREADS, DESCENDING=DESCENDING, FORM=FORM,
                KEYS=KEYS, PLACES=PLACES, VALUES=VALUES, MODE=SEGMENTS, LISTED=True, MIXED=MIXED,
            )
        with partition(listed, block[1], offset=rows) as own_list:
            sort_own_rows(
                x, values, target, place_target, value_target, starts, ends, own_list, middle, here, blocks, rows,
                0, n, 1, n, U=U, E=E, SIZE=SECOND_SIZE, ITEMS=SECOND_ITEMS, WIDTH=WIDTH, THREADS=THREADS, DESCENDING=DESCENDING,
                FORM=FORM, KEYS=KEYS, PLACES=PLACES, VALUES=VALUES, MODE=SEGMENTS, LISTED=True, MIXED=MIXED,
            )
        with partition(listed, block[1], offset=2 * rows) as own_list:
            sort_own_rows(
                x, values, target, place_target, value_target, starts, ends, own_list, longest, here, blocks, rows,
                0, n, 1, n, U=U, E=E, SIZE=THIRD_SIZE, ITEMS=THIRD_ITEMS, WIDTH=WIDTH, THREADS=THREADS, DESCENDING=DESCENDING,
                FORM=FORM, KEYS=KEYS, PLACES=PLACES, VALUES=VALUES, MODE=SEGMENTS, LISTED=True, MIXED=MIXED,
            )


EXAMPLES = {
    "sort_rows_by_lanes": {
        "T": "float32", "U": "uint32", "E": "uint32", "V": "float32", "I": "int64", "O": "int64", "SIZE": 32, "ITEMS": 8,
        "WIDTH": 4, "THREADS": 256, "DESCENDING": False, "FORM": ALONE, "KEYS": BACK, "PLACES": False, "VALUES": False,
        "MODE": ROWS, "LISTED": False, "MIXED": True,
    },
    "sort_listed_by_lanes": {
        "T": "float32", "U": "uint32", "E": "uint32", "V": "float32", "I": "int64", "O": "int64",
        "SIZE": 4, "ITEMS": 8, "SECOND_SIZE": 8, "SECOND_ITEMS": 8, "THIRD_SIZE": 16, "THIRD_ITEMS": 16, "WIDTH": 1,
        "THREADS": 256, "DESCENDING": False,
        "FORM": ALONE, "KEYS": BACK, "PLACES": False, "VALUES": False, "MIXED": True,
    },
}
