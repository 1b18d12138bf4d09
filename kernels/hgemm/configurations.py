"""How products are cut into tiles: the tiles that there are, and which of them suits a shape."""

import functools
from dataclasses import dataclass, replace
from math import ceil, gcd, prod, sqrt

from prism.kernels.hgemm.cut import Cut, Terms

Layout = tuple[bool, bool]
NN, TN = (False, True), (True, True)  # whether `a` and `b` have K outside: T has the elements of a column side by side
SPAN = 128  # bytes that the tensor copy engine permutes pieces in: a row of an operand's tile, and of a slab
NO_TERMS = Terms()
ROOM = 226 * 1024  # bytes of shared memory that a block has on Hopper, less what barriers take


@dataclass(frozen=True)
class Configuration:
    """A tile of `bm x bn` elements of the result, `bk` of K at a time (of 8-bit inputs twice that), with `stages` of these in
    shared memory.

    A block has `consumers` warpgroups that multiply, and one of helpers. `ahead` products are under way when the next
    begin. The sums are rounded and stored in slabs of a tile's columns, at most `span` bytes of each row, of which there are
    `slabs`, or fewer if there is no room. `cluster_m` blocks share the columns of a tile, or `cluster_n` its rows: each
    copies a part of what they share, for all of them. Or `parts` blocks make one tile, each of a part of K, by another kernel.
    `trans`: the product is made as its transpose wherever `a` has K inside; `straight`: nowhere.
    """

    bm: int = 128
    bn: int = 256
    stages: int = 4
    consumers: int = 2
    cluster_m: int = 1
    cluster_n: int = 1
    ahead: int = 1
    slabs: int = 2
    span: int = SPAN
    bk: int = 64
    parts: int = 1
    trans: bool = False
    straight: bool = False

    @property
    def threads(self) -> int:
        """Threads a block."""
        return 128 * (self.consumers + 1)

    @property
    def cluster(self) -> int:
        """Blocks a cluster."""
        return self.cluster_m * self.cluster_n * self.parts

    @property
    def span_b(self) -> int:
        """Bytes of a span of a tile of `b` that has K outside: half of them where that makes its columns whole spans.

        Narrow spans are slow to read; a straight tile rather reads some columns in vain.
        """
        return SPAN // 2 if self.bn % (SPAN // 2) == SPAN // 4 and not self.straight else SPAN

    @property
    def alone(self) -> bool:
        """Whether a second block has no room beside one on a multiprocessor, for its registers or its shared memory."""
        copies = self.stages * (self.bm + self.bn) * self.bk * 2  # bytes; a sixteenth of all is for slabs
        return self.consumers > 1 or 2 * copies > ROOM * 15 // 16

    @property
    def b_columns(self) -> int:
        """Columns of such a tile, in whole spans: what is beyond `bn` is read and not used."""
        return ceil(self.bn / (self.span_b // 2)) * (self.span_b // 2)

    def transposes_out(self, layout: Layout) -> bool:
        """Whether a product is made as its transpose, where `a` has K inside: if columns of `b` were in parts of spans.

        The widest tiles whatever `b` has, for they store whole lines so: it brings 1 to 4 % (docs/hgemm.md).
        """
        padded = layout[1] and self.bn % (SPAN // 2) != 0
        return not (layout[0] or self.straight) and (self.trans or padded or self.bm * self.bn > 128 * 256)

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        facts = {"w": self.consumers, "s": self.stages, "a": self.ahead, "slabs": self.slabs}
        cluster = f" c{self.cluster_m}x{self.cluster_n}" if self.cluster > self.parts else ""
        cluster += f" p{self.parts}" if self.parts > 1 else ""
        cluster += " t" if self.trans else " straight" if self.straight else ""
        tile = f"{self.bm}x{self.bn}x{self.bk} "
        return tile + " ".join(f"{key}{value}" for key, value in facts.items() if value > 1 or key in "a") + cluster

    def slab(self, out_bytes: int, *, added: bool = False, room: int = ROOM) -> int:
        """Return how many columns a slab has, of a result's elements of so many bytes: a tile is cut into whole ones.

        A row of a slab has at most `room` bytes.
        Beside more than 160 sums a thread has no registers for more than 16 columns of float32 that are added to them; where
        `added` beside 80, for elements that a turned tile reads one by one, and beside 176 in a straight one.
        """
        sums = self.bm // self.consumers // 64 * self.bn // 2
        few = sums > 160 and out_bytes == 4 or added and sums > (176 if self.straight else 80)
        most = min(16 if few else self.span // out_bytes, room // out_bytes)
        return max(columns for columns in range(8, most + 1, 8) if self.bn % columns == 0)

    def whole(self, m: int) -> bool:
        """Whether so many rows are whole clusters' tiles."""
        return m % (self.bm * self.cluster_m) == 0

    def tiles(self, m: int, n: int) -> tuple[int, int]:
        """Return how many clusters' tiles a result has, down and across."""
        return ceil(m / (self.bm * self.cluster_m)), ceil(n / (self.bn * self.cluster_n))

    def cut(
        self, *, transpose_a: bool, transpose_b: bool, out_bytes: int, in_bytes: int = 2, trans: bool = False,
        terms: Terms = NO_TERMS,
    ) -> Cut:  # fmt: skip
        """Return the tiles as the kernels see them, for operands that have K inside, or outside.

        Scales and a bias, which `terms` says, are read ahead, of two slabs: they take room from the slabs.
        """
        bk, columns = self.bk * 2 // in_bytes, self.b_columns if transpose_b else self.bn
        found = Cut(
            self.bm, self.bn, bk, self.stages, self.ahead, self.consumers, transpose_a, transpose_b,
            columns_b=self.b_columns if transpose_b else bk, span_b=self.span_b if transpose_b else SPAN, trans=trans,
            cluster_m=self.cluster_m, cluster_n=self.cluster_n, parts=self.parts,
        )  # fmt: skip
        if self.parts > 1:
            assert self.bm // self.parts * self.bn % (128 * self.consumers) == 0, "all add up as many"
            return found
        by_row, by_column = (terms.scale_a > 0) + (terms.bias == 2), (terms.scale_b > 0) + (terms.bias == 1)
        ahead = 2 * 4 * (by_row * self.bm + by_column * ceil(self.span // out_bytes / 32) * 32)  # bytes
        room = (ROOM - self.stages * (self.bm + columns) * self.bk * 2 - ahead) // self.bm  # bytes of each row
        slab = self.slab(out_bytes, added=(trans or self.straight) and terms.beta, room=room)
        slabs = min(4, min(self.slabs * self.span, room) // (slab * out_bytes))  # five or seven make wide tiles spill
        span = SPAN if trans else next((n for n in (128, 64, 32) if slab * out_bytes % n == 0), 0)
        workers, helpers = self.registers()
        return replace(
            found, slab=slab, slabs=slabs, span=span, worker_registers=workers, helper_registers=helpers
        )

    def result(
        self, cut: Cut, out_bytes: int, *, by_row: int = 0, by_column: int = 0, pair: int = 0, results: int = 1
    ) -> Cut | None:
        """Return a tile of the result as an epilogue's kernel stores it (fused.py), where sums are cut as `cut` has it.

        `by_row`, `by_column`: bytes that the epilogue is given for a row and for a column, of two slabs, which take room from
        these. `pair`: of two sums an element. `results`: so many, each with its slabs. None: slabs can't be so, there is no
        room, or a tile of `b` that has K outside is of narrow spans, which the kernel's maps are not made for.
        """
        if cut.transpose_b and cut.span_b != SPAN:
            return None
        if pair and (self.cluster > 1 or (self.bm // self.consumers != 128 if pair == 2 else self.bn % 16 != 0)):
            return None
        bm, bn = self.bm // 2 if pair == 2 else self.bm, self.bn // 2 if pair == 1 else self.bn
        columns = cut.columns_b if cut.transpose_b else self.bn
        ahead = 2 * (by_row * bm + by_column * ceil(self.span // out_bytes / 32) * 32)  # bytes
        room = (ROOM - self.stages * (self.bm + columns) * self.bk * 2 - ahead) // (bm * results)  # bytes of each row
        most, each = min(self.span // max(out_bytes, 2), room // out_bytes), 8 if cut.trans or out_bytes > 1 else 16
        fitting = [columns for columns in range(each, most + 1, each) if bn % columns == 0]
        if not fitting:
            return None
        slab = max(fitting)
        slabs = min(4, max(1, min(self.slabs * self.span, room) // (slab * out_bytes)))
        row = (bm if cut.trans else slab) * out_bytes
        span = next((n for n in (SPAN, 64, 32) if row % n == 0), 0)
        return replace(cut, bm=bm, bn=bn, slab=slab, slabs=slabs, span=span)

    def registers(self) -> tuple[int, int]:
        """Return the registers of the threads that multiply, and of the others; zeros: as many as they start with."""
        sums = self.bm * self.bn // (128 * self.consumers)  # of a thread
        return {1: (0, 0), 2: (232, 40) if sums > 192 else (224, 56), 3: (160, 32)}[self.consumers]


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

# The model, for every other shape, fitted to the same measurements: in clocks of 1980 MHz.
PRODUCTS = 2048  # multiply-adds a clock of a multiprocessor
BYTES = 88  # bytes a clock that the L2 gives each of them, while all ask
INSIDE = 2.4  # times as long takes an operand whose rows begin inside sectors
SHARED = 128  # and shared memory: what wgmma reads of it, and copies write
MEMORY = 17.5  # bytes a clock, of the GPU's memory, for each: what operands take at least
BESIDE = 0.3  # of the clocks that a tile's work takes, where reading takes longer
AGAIN = 0.2  # of that more for each further tile of a narrow result, which reads all of the wide operand again
BEYOND = 0.085  # more, for each 128 bytes of a row beyond the operand's last that a block asks for
SHORT = 512  # rows or columns: of longer results products hide it, as far as was measured
BOUND = 0.18  # of the clocks that shared memory would take longer than the products
WAIT = 22  # of a step, in which nothing is multiplied: where no product is left under way; twice that of one warpgroup alone
PAIR = 16  # of a step, that blocks of a cluster wait for each other
LAUNCH = 4600  # before the first product and after the last
STORE, PLAIN = 0.04, 1.0  # an element of a tile, to round and store it; without tensor copies
FREED = 0.07  # more, of those that have no room until others are stored
POWER = 0.33  # of the time that loads take, though products hide it: what they draw lowers the clock
MEET, EACH, ADD = 2000, 250, 0.25  # blocks with parts of K meet, each more costs more, and so do the elements they add up
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


def wasted_spans(found: Configuration, m: int, n: int, layout: Layout) -> int:
    """Return how many spans of 128 bytes all blocks ask for in a step that are in rows beyond an operand's last.

    They get zeros, but not for nothing: 64 blocks of 64 x 64 that each want one row take 1.7 times as long as if they wanted 64.
    """
    down, across = found.tiles(m, n)
    rows = (0 if layout[0] else across * (-m % found.bm)) + (0 if layout[1] else down * (-n % found.bn))
    return rows * 2 * found.bk // SPAN


def resident_clusters(found: Configuration, processors: int) -> int:
    """Return how many clusters run at once: of four or eight blocks fewer, for each is within a part of the chip.

    On an H200, of 132 multiprocessors, 28 of four run at once, 32 don't; nor do 16 of eight.
    """
    return (processors if found.cluster <= 2 else processors * 7 // 8) // found.cluster


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
    loads = (of_a * found.bm / found.cluster_n + of_b * lines / found.cluster_m) * row / BYTES
    busy = max(found.bm * found.bn * found.bk / PRODUCTS, loads)
    shared = (found.bm / 64 * (64 + columns) + found.bm + columns) * row / SHARED
    wait = 2 * WAIT if found.consumers == 1 else WAIT if found.ahead == 0 else 0
    return busy + BOUND * max(0.0, shared - busy) + wait + (PAIR if found.cluster > found.parts else 0) + POWER * loads


@functools.lru_cache(maxsize=4096)
def choose(
    m: int, n: int, k: int, processors: int, batches: int = 1, layout: Layout = (False, False), *, parted: bool = False
) -> Configuration:  # fmt: skip
    """Return the configuration that suits a shape, on a device of so many multiprocessors: measured, or else modelled.

    `batches`: so many products of that shape are one launch. `layout`: whether `a` and `b` have K outside. `parted`: whether
    K may be in parts.
    """
    known = MEASURED.get(str(m) if m == n == k else f"{m}x{n}x{k}") if batches == 1 else None
    if known is None or processors != PROCESSORS or (layout == TN and known.b_columns > known.bn):
        return choose_by_model(m, n, k, processors, batches, layout, parted=parted)
    return known


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
    most = min(tiles, processors // found.cluster)
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
