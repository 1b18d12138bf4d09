"""Bins between edges that are few: a guide of very narrow cells, and of the bounds and the counts a copy for each lane.

Where a value's cell has no bound the guide says its rank. Else the value is compared with the lowest bound there, which stands
where its count stands, in a table beside: each lane has its own, so that no two of a warp meet in a bank. Ranks are counted: one
for what is below the first edge too. Cells with several bounds are rare, and their values looked for among these.
"""

from prism.lang import (
    bitcast, block, const, constexpr, count, dtype, float32, fma, group, id, int32, load_vector, partition, prism, ptr, requires,
    shared, template, thread, uint8, uint16, uint32,
)
from prism.kernels.histogram.bins import Even
from prism.lib.block.search import below_cell, cells_of
from prism.lib.thread.search import MAGIC, cell_of

RANK = 0x3FE0
"""The bits of an entry of the guide that say how many limits are below the cell: where a lane's own of that rank stands."""
SOME, SEVERAL = 0x4000, 0x8000
"""An entry is this or more where its cell has a limit, and where it has several that are looked at one by one."""
MANY = 31
"""The bits of an entry that say how many limits its cell has; all are set of so many, or more."""


@prism.device
@requires(thread[1])
@template(E=dtype, INTEGRAL=constexpr(bool))
def reaches(value: E @ thread[1], bound: E @ thread[1]) -> bool @ thread[1]:
    """Whether a value is not below the limit that a bound stands for: the limit itself, of integers one less."""
    return value > bound if INTEGRAL else bound <= value


@prism.device
@requires(block[1], thread[32])
@template(E=dtype, INTEGRAL=constexpr(bool), LANES=constexpr(int), THREADS=constexpr(int))
def fill_bounds(
    table: ptr(const(E)) @ block[1], known: int32 @ block[1], bounds: shared(E[LANES]) @ block[1], rule: Even @ block[1],
):
    """Write what stands for each of `known` sorted limits, 32 times side by side; behind them what nothing reaches.

    Perspective: block, of `THREADS` threads.
    Shapes:      of integers `rule.low` and `rule.high` are the least and the largest; nothing is compared with the least.
    Cost:        `LANES / THREADS` reads and writes a thread; no barrier.
    """
    t: int32 @ thread[1] = id()
    with partition(bounds, thread[1], offset=t) as mine, group(thread[1]):
        for i in range(t, LANES, THREADS):
            j: int32 = i // 32
            if INTEGRAL:
                limit: E = table[j] if j < known else E(rule.high)
                mine[i - t] = E(limit - 1) if j < known and limit > E(rule.low) else limit
            else:
                mine[i - t] = table[j] if j < known else bitcast(uint32(0x7FC00000), float32)


@prism.device
@requires(block[1], thread[32])
@template(E=dtype, INTEGRAL=constexpr(bool), CELLS=constexpr(int))
def fill_narrow_guide(
    table: ptr(const(E)) @ block[1], known: int32 @ block[1], guide: shared(uint8[2 * CELLS]) @ block[1],
    rule: Even @ block[1],
) -> (float32, float32) @ block[1]:
    """Write for each of `CELLS` cells, of equal width, which of `known` limits are in it; return what `cells_of` does of halves.

    Perspective: block, of any number of threads.
    Shapes:      `rule`: as of `fill_bounds`. The least integer is no limit that is compared with: it is below each cell.
    Cost:        as of `block.fill_guide`.
    """
    offset: float32 @ block[1] = 0
    scale: float32 @ block[1] = 0
    if known > 0:
        offset, scale = cells_of(table, known, CELLS=2 * CELLS)
    each: int32 @ block[1] = (CELLS + (count(thread[1]) - 1)) // count(thread[1])
    c: int32 @ thread[1] = id() * each  # a thread's first cell: its cells are side by side
    with partition(guide, thread[1], offset=2 * c) as mine, group(thread[1]):
        begin: int32 = below_cell(table, known, 2 * c, 0, offset, scale, CELLS=2 * CELLS)
        if INTEGRAL:
            while begin < known and table[begin] == E(rule.low):
                begin = begin + 1
        for k in range(min(each, CELLS - c)):
            end: int32 = begin
            if begin < known:
                if cell_of(table[begin], offset, scale, CELLS=2 * CELLS) < 2 * (c + k + 1):
                    end = below_cell(table, known, 2 * (c + k + 1), begin + 1, offset, scale, CELLS=2 * CELLS)
            entry: uint32 = uint32(32 * begin) | uint32(min(end - begin, MANY))
            several: bool = end > begin + 1
            if several and INTEGRAL:  # of edges between two integers the limits are equal: a value reaches all or none
                several = table[begin] != table[end - 1] or end - begin >= MANY
            entry = entry | (SOME if end > begin else 0) | (SEVERAL if several else 0)
            mine[2 * k] = uint8(entry & 255)
            mine[2 * k + 1] = uint8(entry >> 8)
            begin = end
    return offset, scale


@prism.device
@requires(thread[1])
@template(E=dtype, INTEGRAL=constexpr(bool), CELLS=constexpr(int), ITEMS=constexpr(int))
def positions_of_lanes(
    values: E[ITEMS] @ thread[1], positions: int32[ITEMS] @ thread[1], guide: ptr(const(uint8)) @ thread[1],
    bounds: ptr(const(E)) @ thread[1], table: ptr(const(E)) @ thread[1], known: int32 @ thread[1], lane: int32 @ thread[1],
    offset: float32 @ thread[1], scale: float32 @ thread[1],
):
    """The place of each value's count: 32 times its rank, how many of the `known` limits it reaches, and the lane.

    NaN reaches none.

    Perspective: thread.
    Cost:        of a value a read of the guide; one of the lane's own bound where its cell has one.
    """
    QUAD: constexpr(int) = 4 if ITEMS % 4 == 0 else ITEMS
    for q in range(ITEMS // QUAD):
        most: uint32 = 0
        for k in range(q * QUAD, (q + 1) * QUAD):
            entry: uint32 = entry_of(values[k], guide, offset, scale, CELLS=CELLS)
            place: int32 = int32(entry & RANK) | lane
            if entry >= SOME:
                up: int32 = int32(entry & MANY) * 32 if INTEGRAL else 32
                place = place + up if reaches(values[k], bounds[place], INTEGRAL=INTEGRAL) else place
            most = max(most, entry)
            positions[k] = place
        if most >= SEVERAL:
            for k in range(q * QUAD, (q + 1) * QUAD):
                entry: uint32 = entry_of(values[k], guide, offset, scale, CELLS=CELLS)
                many: int32 = int32(entry & MANY)
                low: int32 = int32((entry & RANK) >> 5)
                high: int32 = known if many == MANY else low + many
                if entry >= SEVERAL:
                    while low < high:
                        middle: int32 = (low + high) // 2
                        if table[middle] <= values[k]:
                            low = middle + 1
                        else:
                            high = middle
                    positions[k] = 32 * low + lane


@prism.device
@requires(thread[1])
@template(E=dtype, CELLS=constexpr(int))
def entry_of(
    value: E @ thread[1], guide: ptr(const(uint8)) @ thread[1], offset: float32 @ thread[1], scale: float32 @ thread[1]
) -> uint32 @ thread[1]:
    """What the guide says of a value's cell. The number of a half cell, as `thread.cell_of` has it, is a place in the guide."""
    at: float32 = fma(float32(value), scale, offset)
    low: float32 = at if at > MAGIC else float32(MAGIC)
    bits: uint32 = bitcast(min(low, float32(MAGIC + (2 * CELLS - 1))), uint32)
    return uint32(bitcast(load_vector(guide[int32(bits & uint32(2 * CELLS - 2))], 2), uint16))
