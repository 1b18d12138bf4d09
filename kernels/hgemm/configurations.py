"""How products are cut into tiles: the tiles that there are, and which of them suits a shape."""

import functools
from math import ceil, gcd, prod, sqrt

from prism.kernels.hgemm.configuration import SPAN, TN, Configuration, Layout

# A warpgroup's sums live in its registers. The wide tiles take the least of shared memory, of the L2 and of power, and stand
# first; the others are there for results that would leave multiprocessors idle in the last round, or all the time.
TILES = (
    Configuration(128, 256, 3, ahead=0, slabs=4),
    Configuration(256, 200, 3, ahead=0, span=80),
    Configuration(256, 168, 3, ahead=0, span=112),
    Configuration(256, 192, 3, ahead=0, slabs=3, span=64, straight=True),
    Configuration(256, 160, 3, ahead=0, slabs=3, span=64, straight=True),
    Configuration(192, 192, 3, 3, ahead=0, slabs=3),
    Configuration(192, 144, 4, 3, ahead=0),
    Configuration(128, 192, 4, ahead=0, slabs=3),
    Configuration(128, 160, 5),
    Configuration(192, 96, 5, 3, ahead=0, span=64),
    Configuration(128, 128, 6),
    Configuration(128, 96, 7),
    Configuration(128, 64, 8),
    Configuration(64, 128, 8, 1),
    Configuration(64, 96, 8, 1),
    Configuration(64, 72, 8, 1),
    Configuration(64, 64, 6, 1, bk=128),
    Configuration(64, 32, 8, 1, bk=128, span=64),
)

# Where rows of an operand begin inside the L2's sectors reading is what binds: pairs of blocks that share it join the others.
SHARING = (
    Configuration(128, 256, 4, ahead=0, cluster_m=2),
    Configuration(128, 192, 5, ahead=0, slabs=1, cluster_m=2),
    Configuration(128, 96, 7, cluster_n=2),
)

# Of few rows, where `a` has K inside: what is wide, `b`, is read once, by tiles of 64 of its columns and all of the rows.
FEW = 256
NARROW = (
    Configuration(64, 16, 10, 1, bk=128, trans=True),
    Configuration(64, 16, 5, 1, bk=128, trans=True),
    Configuration(64, 48, 7, 1, bk=128, trans=True),
    Configuration(64, 80, 8, 1, trans=True),
    Configuration(64, 112, 8, 1, trans=True),
    Configuration(64, 160, 7, 1, trans=True),
    Configuration(64, 192, 6, 1, trans=True),
    Configuration(64, 224, 6, 1, trans=True),
)

# Where `a` has K inside the widest are turned: one of them that is not.
STRAIGHT = (Configuration(256, 168, 3, ahead=0, span=112, straight=True),)

# Where besides `b` has K outside: tiles whose columns fit what is wide, though they be padded.
PADDED = (
    Configuration(128, 224, 3, ahead=0, slabs=4, straight=True),
    Configuration(128, 160, 4, ahead=0, slabs=4, span=64, straight=True),
)

# Where both have K inside, as weights do that are kept n x k: more such, and tiles that fit what is wide, of any columns.
FITTED = (
    Configuration(64, 32, 8, 1, bk=128, trans=True),
    Configuration(64, 96, 8, 1, trans=True),
    Configuration(64, 40, 7, 1, bk=128),
    Configuration(64, 48, 7, 1, bk=128),
    Configuration(64, 80, 8, 1),
    Configuration(64, 112, 8, 1),
    Configuration(128, 48, 8),
    Configuration(128, 80, 7),
    Configuration(128, 112, 6),
    Configuration(128, 144, 5),
    Configuration(128, 224, 3, ahead=0, slabs=4),
)

# Of a small result and a long K: blocks that each take a part of K (parts.py), where no sums are read beside theirs.
PARTED = (
    *(Configuration(64, 64, 5, 1, bk=128, parts=parts) for parts in (2, 4, 8)),
    *(Configuration(128, 64, 7, parts=parts) for parts in (2, 4, 8)),
    *(Configuration(128, 128, 4, parts=parts) for parts in (2, 4)),
)
NARROW_PARTED = (
    *(Configuration(64, 32, 7, 1, bk=128, parts=parts, trans=True) for parts in (2, 4, 8)),
    *(Configuration(64, 16, 9, 1, bk=128, parts=parts, trans=True) for parts in (2, 4)),
)
FITTED_PARTED = (Configuration(64, 80, 7, 1, parts=2), Configuration(128, 112, 5, parts=2))


def cuts(layout: Layout, *, parted: bool = False) -> tuple[Configuration, ...]:
    """Return the tiles that there are for a product of two matrices of this layout, all of K at once or in parts."""
    if layout[0]:
        return PARTED if parted else TILES
    if parted:
        return (*PARTED, *NARROW_PARTED, *(() if layout[1] else FITTED_PARTED))
    return (*TILES, *NARROW, *STRAIGHT, *(PADDED if layout[1] else FITTED))


# What was fastest of those tried for these shapes (m x n x k, or the side of a cube), on an H200: `prism tune hgemm` prints
# this table, docs/hgemm.md how it was measured.
MEASURED = {
    "512": Configuration(bm=64, bn=32, stages=8, consumers=1, bk=128, span=64),
    "768": Configuration(bm=64, bn=72, stages=8, consumers=1),
    "1024": Configuration(bn=64, stages=8),
    "1280": Configuration(bn=128, stages=6),
    "1536": Configuration(bm=192, bn=96, stages=5, consumers=3, ahead=0, span=64),
    "2048": Configuration(stages=3, ahead=0, slabs=4),
    "2304": Configuration(bm=256, bn=168, stages=3, ahead=0, span=112),
    "2560": Configuration(bm=256, bn=200, stages=3, ahead=0, span=80),
    "3072": Configuration(bm=192, bn=192, stages=3, consumers=3, ahead=0, slabs=3),
    "4096": Configuration(stages=3, ahead=0, slabs=4),
    "5120": Configuration(bm=256, bn=200, stages=3, ahead=0, span=80),
    "8192": Configuration(bm=256, bn=200, stages=3, ahead=0, span=80),
    "16384": Configuration(bm=256, bn=200, stages=3, ahead=0, span=80),
    "4096x14336x4096": Configuration(stages=3, ahead=0, slabs=4),
    "8192x1024x8192": Configuration(stages=3, ahead=0, slabs=4),
    "256x4096x4096": Configuration(bn=64, stages=8),
    "64x8192x8192": Configuration(bm=64, bn=64, stages=6, consumers=1, bk=128),
    "4104x4096x4104": Configuration(stages=3, ahead=0, slabs=4),
}
PROCESSORS = 132  # of the GPU that was measured

# The reference machine's work is by statement, not by element: few tiles.
HOST = Configuration(128, 256, 2, ahead=0)

# The model, for every other shape, in clocks of 1980 MHz: fitted to 122 products of random shapes, and held to what was measured
# of others before (tests/kernels/test_hgemm_choice.py).
PRODUCTS = 2048  # multiply-adds a clock of a multiprocessor
BYTES = 88  # bytes a clock that the L2 gives each of them, while all ask
INSIDE = 2.4  # times as long takes an operand whose rows begin inside sectors
NARROW_SPANS = 1.35  # times, or more, takes one whose columns are in spans of 64 bytes: 12816 x 2048 x 2944 TN was half slower
SHARED = 128  # and shared memory: what wgmma reads of it, and copies write
MEMORY = 17.5  # bytes a clock, of the GPU's memory, for each: what operands take at least
BESIDE = 0.3  # of the clocks that a tile's work takes, where reading takes longer
AGAIN = 0.23  # of that more for each further tile of a narrow result, which reads all of the wide operand again
BEYOND = 0.0723  # more, for each 128 bytes of a row beyond the operand's last that a block asks for
PARTLY = 1.5  # times that for a row of K of an `a` that has it outside, and less than 64 rows
SHORT = 512  # rows or columns: of longer results products hide it, as far as was measured
BOUND = 0.18  # of the clocks that shared memory would take longer than the products
WAIT = 22  # of a step, in which nothing is multiplied: where no product is left under way; twice that of one warpgroup alone
PAIR = 36.8  # of a step, that blocks of a cluster wait for each other
LAUNCH = 4600  # before the first product and after the last
STORE, PLAIN = 0.04, 1.0  # an element of a tile, to round and store it; without tensor copies
FREED = 0.07  # more, of those that have no room until others are stored
POWER = 0.33  # of the time that loads take, though products hide it: what they draw lowers the clock
MEET, EACH, ADD = 1400, 250, 0.35  # blocks with parts of K meet, each more costs more, and so do the elements they add up
CLOSE = 1.01  # closer ones the model can't tell apart
SURE = 1.1  # nor a tile whose K is in parts from one of all of K
SECTOR = 16  # elements: 32 bytes
LATE = 1500  # more, launched when what is before has ended
ALMOST = 0.95  # of the multiprocessors: rather that many with whole columns of tiles than all of them
NEAR = 0.7  # of the time that the multiprocessors take: where memory takes longer, it binds


def clocks(
    found: Configuration, m: int, n: int, k: int, processors: int, batches: int = 1, layout: Layout = (False, False)
) -> float:  # fmt: skip
    """Return about how long a product takes, in clocks, or so many of that shape in one launch."""
    if batches == 1 and found.transposes_out(layout):
        m, n, layout = n, m, layout[::-1]
    slabs = min(1.0, found.slabs * found.span / (2 * found.bn))  # of a tile's columns, of 16 bits
    after = (STORE + FREED * (1 - slabs) if batches == 1 or found.whole(m) else PLAIN) * found.bm * found.bn
    if found.parts > 1:
        after = MEET + EACH * found.parts + ADD * found.bm * found.bn
    rounds, steps, busy, least = _work(found, m, n, k, processors, batches, layout)
    zeros = BEYOND * steps * found.parts * wasted_spans(found, m, n, layout)
    hidden, shown = (0.0, zeros) if min(m, n) <= SHORT else (zeros, 0.0)
    longest = max(busy, least + BESIDE * busy + hidden) + shown
    late = LATE if batches == 1 and follows_late(found, m, n, k, processors, layout) else 0
    return LAUNCH + late + rounds * after + longest


def _work(
    found: Configuration, m: int, n: int, k: int, processors: int, batches: int, layout: Layout
) -> tuple[int, int, float, float]:  # fmt: skip
    """Return the tiles of a block that has the most, the steps of each, the clocks that these take, and those of the memory."""
    rounds = ceil(batches * prod(found.tiles(m, n)) / resident_clusters(found, processors))
    steps = ceil(ceil(k / found.bk) / found.parts)
    least = 0.0 if batches > 1 else read_cost(found, m, n) * 2 * k * (m + n) / (MEMORY * processors)
    return rounds, steps, rounds * steps * step_clocks(found, layout[1], rows_in_sectors(m, n, k, layout)), least


def follows_late(found: Configuration, m: int, n: int, k: int, processors: int, layout: Layout) -> bool:
    """Return whether a product is to be launched when what is before it has ended, and not early: as it is made, turned or not.

    Where memory binds, and more than half of the multiprocessors have a block, but not nearly all: the next product's first
    blocks would be beside those that run, share their ways to memory and keep what they have, the others come last, 3 to
    20 % slower on the whole. Two blocks that have room on a multiprocessor are all there in time.
    """
    blocks = prod(found.tiles(m, n))
    if found.cluster > 1 or not found.alone or not processors < 2 * blocks <= processors * 7 // 4:
        return False
    _, _, busy, least = _work(found, m, n, k, processors, 1, layout)
    return least > NEAR * busy


def read_cost(found: Configuration, m: int, n: int) -> float:
    """Return how many times longer than memory needs it takes to read operands: a narrow result in several tiles takes longer."""
    short, extent = min((m, found.bm), (n, found.bn))
    return 1 + AGAIN * (ceil(short / extent) - 1) if short <= FEW else 1.0


def wasted_spans(found: Configuration, m: int, n: int, layout: Layout) -> float:
    """Return how many spans of 128 bytes all blocks ask for in a step that are in rows beyond an operand's last.

    They get zeros, but not for nothing: 64 blocks of 64 x 64 that each want one row take 1.7 times as long as if they wanted 64.
    """
    down, across = found.tiles(m, n)
    rows = (0 if layout[0] else across * (-m % found.bm)) + (0 if layout[1] else down * (-n % found.bn))
    partly = across * found.bk / found.cluster_n if layout[0] and m < SPAN // 2 else 0.0
    return rows * 2 * found.bk / SPAN + PARTLY * partly


def resident_clusters(found: Configuration, processors: int) -> int:
    """Return how many clusters run at once: of four or eight blocks fewer, for each is within a part of the chip.

    On an H200, of 132 multiprocessors, 30 of four run at once, and 15 of eight, as its driver says.
    """
    return (processors if found.cluster <= 2 else processors * 10 // 11) // found.cluster


def rows_in_sectors(m: int, n: int, k: int, layout: Layout) -> tuple[bool, bool]:
    """Return whether rows of `a` and of `b`, one after the other in memory, begin inside the L2's sectors.

    Rows that are no multiple of 16 bytes are copied, to where they don't.
    """
    return (m if layout[0] else k) % SECTOR == SECTOR // 2, (n if layout[1] else k) % SECTOR == SECTOR // 2


def step_clocks(
    found: Configuration, k_outside: bool = False, rows_inside: tuple[bool, bool] = (False, False)
) -> float:  # fmt: skip
    """Return about how long a block takes for `bk` of K, which `b` has outside or inside.

    A wgmma, of 64 rows, reads all of the columns from shared memory. Rows of most padded tiles begin inside the L2's lines of 128
    bytes, and take two for each. `rows_inside`: as `rows_in_sectors`.
    """
    row, columns = 2 * found.bk, found.b_columns if k_outside else found.bn
    lines = columns * (2 - gcd(2 * found.bn, SPAN) / SPAN) if columns > found.bn else columns
    of_a, of_b = (INSIDE if odd else 1.0 for odd in rows_inside)
    of_b *= NARROW_SPANS if k_outside and found.span_b < SPAN else 1.0
    loads = (of_a * found.bm / found.cluster_n + of_b * lines / found.cluster_m) * row / BYTES
    busy = max(found.bm * found.bn * found.bk / PRODUCTS, loads)
    shared = (found.bm / 64 * (64 + columns) + found.bm + columns) * row / SHARED
    wait = 2 * WAIT if found.consumers == 1 else WAIT if found.ahead == 0 else 0
    return busy + BOUND * max(0.0, shared - busy) + wait + (PAIR if found.cluster > found.parts else 0) + POWER * loads


def shape_key(m: int, n: int, k: int, layout: Layout) -> str:
    """Return a shape and a layout as `prism tune hgemm --shapes` names them: N has a row's elements side by side."""
    return f"{m}x{n}x{k} {'T' if layout[0] else 'N'}{'N' if layout[1] else 'T'}"


def measured_for(m: int, n: int, k: int, processors: int, layout: Layout) -> Configuration | None:
    """Return what was measured for a shape, on a device of so many multiprocessors."""
    found = MEASURED.get(str(m) if m == n == k else f"{m}x{n}x{k}")
    if found is None or processors != PROCESSORS or (layout == TN and found.b_columns > found.bn):
        return None
    return found


@functools.lru_cache(maxsize=4096)
def choose(
    m: int, n: int, k: int, processors: int, batches: int = 1, layout: Layout = (False, False), *, parted: bool = False
) -> Configuration:  # fmt: skip
    """Return the configuration that suits a shape, on a device of so many multiprocessors: measured, or else modelled.

    `batches`: so many products of that shape are one launch. `layout`: whether `a` and `b` have K outside. `parted`: whether
    K may be in parts. What single products have besides is in singles.py.
    """
    found = measured_for(m, n, k, processors, layout) if batches == 1 else None
    return found or choose_by_model(m, n, k, processors, batches, layout, parted=parted)


def choose_by_model(
    m: int, n: int, k: int, processors: int, batches: int = 1, layout: Layout = (False, False), *, parted: bool = False
) -> Configuration:  # fmt: skip
    """Return the first tile that is, by the model, about as fast as the fastest."""
    sharing = SHARING if batches == 1 and any(rows_in_sectors(m, n, k, layout)) else ()
    fitting = [found for found in cuts(layout) if m <= FEW or found not in NARROW]
    some = (*fitting, *sharing) if batches == 1 else [found for found in TILES if k % found.bk == 0]
    times = {found: clocks(found, m, n, k, processors, batches, layout) for found in some or TILES}  # a step is of one product
    least = min(times.values())
    if parted and batches == 1:
        room = [found for found in cuts(layout, parted=True) if resident_clusters(found, processors) > 0]
        times |= {found: SURE * clocks(found, m, n, k, processors, layout=layout) for found in room}
    best = min(times.values())
    return next(found for found in times if times[found] <= (CLOSE * best if best == least else best))


def group_m(found: Configuration, down: int, across: int, processors: int) -> int:
    """Return how many clusters' tiles, of a result's `down`, to go down before going right: a round is about a square.

    In a narrow result of more than a round no more than there are `across`: 0.6 to 1.5 % faster, in 8192 x 1024 x 8192,
    8192 x 2048 x 8192, 16384 x 1024 x 4096 and 16384 x 512 x 4096 on an H200.
    """
    side = sqrt(processors * found.bm * found.bn)
    most = across if down * across * found.cluster > processors else down
    return max(1, min(down, most, round(side / (found.bm * found.cluster_m))))


def blocks(found: Configuration, down: int, across: int, processors: int, batches: int = 1) -> int:
    """Return how many blocks are launched: as many as run at once, or some fewer where each round is whole columns of tiles so.

    4096 x 4096 are 512 tiles of 128 x 256: four rounds of 128 blocks read 126 MB, of 132 they read 144 MB (docs/hgemm.md).
    """
    tiles = batches * down * across
    if found.parts > 1:
        return tiles * found.cluster
    most = min(tiles, max(1, resident_clusters(found, processors)))
    rounds = ceil(tiles / most)
    each = tiles // rounds
    full = tiles % rounds == 0 and each % group_m(found, down, across, processors) == 0
    return (each if batches == 1 and full and each >= ALMOST * most else most) * found.cluster


def prefetch_steps(found: Configuration, m: int, n: int, k: int, processors: int) -> int:
    """Return for how many steps of K the tiles are asked for early: one by each of the first blocks, before it waits.

    Of products of one round, which leave some multiprocessors idle: there the next product's first blocks begin early.
    """
    tiles, steps = found.tiles(m, n), ceil(k / found.bk)
    if prod(tiles) > processors or found.cluster > 1:
        return 0
    most = prod(tiles) // sum(tiles)
    return steps if steps <= most else min(most, 3)
