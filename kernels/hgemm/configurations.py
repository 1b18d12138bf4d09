"""How products are cut into tiles: the tiles that there are, and which of them suits a shape."""

import functools
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

SPAN = 128  # bytes that the tensor copy engine permutes pieces in: a row of an operand's tile, and of a slab


@dataclass(frozen=True)
class Configuration:
    """A tile of `bm x bn` elements of the result, `bk` of K at a time, with `stages` of these in shared memory.

    A block has `consumers` warpgroups that multiply, and one of helpers. `ahead` products are under way when the next
    begin. The sums are rounded and stored in slabs of `span` bytes a row, of which there are `slabs`. `cluster_m` blocks
    share the columns of a tile, or `cluster_n` its rows: each copies a part of what they share, for all of them.
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

    @property
    def threads(self) -> int:
        """Threads a block."""
        return 128 * (self.consumers + 1)

    @property
    def cluster(self) -> int:
        """Blocks a cluster."""
        return self.cluster_m * self.cluster_n

    @property
    def shared_bytes(self) -> int:
        """Shared memory a block, without its barriers."""
        return self.stages * (self.bm + self.bn) * self.bk * 2 + self.slabs * self.bm * self.span

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        facts = {"w": self.consumers, "s": self.stages, "a": self.ahead, "slabs": self.slabs}
        cluster = f" c{self.cluster_m}x{self.cluster_n}" if self.cluster > 1 else ""
        tile = f"{self.bm}x{self.bn}x{self.bk} "
        return tile + " ".join(f"{key}{value}" for key, value in facts.items() if value > 1 or key in "a") + cluster

    def fits(self, out_bytes: int) -> bool:
        """Whether a tile is cut into whole slabs of a result's elements of so many bytes."""
        return self.bn % (self.span // out_bytes) == 0

    def whole(self, m: int) -> bool:
        """Whether so many rows are whole clusters' tiles."""
        return m % (self.bm * self.cluster_m) == 0

    def tiles(self, m: int, n: int) -> tuple[int, int]:
        """Return how many clusters' tiles a result has, down and across."""
        return ceil(m / (self.bm * self.cluster_m)), ceil(n / (self.bn * self.cluster_n))

    def template(self, *, transpose_a: bool, transpose_b: bool, out_bytes: int) -> dict[str, Any]:
        """Return the kernel's template arguments that this decides, for operands that have K inside, or outside."""
        workers, helpers = self.registers()
        span_b = 64 if transpose_b and self.bn % 64 else SPAN
        return {
            "TRANSPOSE_A": transpose_a, "TRANSPOSE_B": transpose_b, "A_ROWS": self.bk if transpose_a else self.bm,
            "B_ROWS": self.bk if transpose_b else self.bn, "SPAN_B": span_b, "SLAB": self.span // out_bytes,
            "BM": self.bm, "BN": self.bn, "BK": self.bk, "STAGES": self.stages, "AHEAD": self.ahead, "SPAN": self.span,
            "SLABS": self.slabs, "CLUSTER_M": self.cluster_m, "CLUSTER_N": self.cluster_n, "CLUSTER": self.cluster,
            "CONSUMERS": self.consumers, "THREADS": self.threads, "WORKER_REGISTERS": workers, "HELPER_REGISTERS": helpers,
        }  # fmt: skip

    def registers(self) -> tuple[int, int]:
        """Return the registers of the threads that multiply, and of the others; zeros: as many as they start with."""
        return {1: (0, 0), 2: (224, 56), 3: (160, 32)}[self.consumers]


# A warpgroup's sums live in its registers. The wide tiles take the least of shared memory, of the L2 and of power, and stand
# first; the others are there for results that would leave multiprocessors idle in the last round, or all the time.
TILES = (
    Configuration(128, 256, 2, ahead=0, bk=128),
    Configuration(128, 256, 4, ahead=0),
    Configuration(256, 160, 2, ahead=0, slabs=1, span=64, bk=128),
    Configuration(192, 192, 2, 3, ahead=0, slabs=1, bk=128),
    Configuration(128, 192, 5, ahead=0, slabs=1),
    Configuration(192, 96, 5, 3, ahead=0, span=64),
    Configuration(128, 128, 6),
    Configuration(128, 64, 8),
    Configuration(64, 128, 8, 1),
    Configuration(64, 64, 6, 1, bk=128),
    Configuration(64, 32, 6, 1, bk=128, span=64),
)

# What was fastest of those tried for these shapes (m x n x k, or the side of a cube), on an H200: `prism tune hgemm` prints
# this table, docs/hgemm.md how it was measured.
MEASURED = {
    "512": Configuration(bm=64, bn=64, stages=6, consumers=1, bk=128),
    "768": Configuration(bn=64, stages=8),
    "1024": Configuration(bn=64, stages=8),
    "1280": Configuration(bn=128, stages=6),
    "1536": Configuration(bm=192, bn=96, stages=5, consumers=3, ahead=0, span=64),
    "2048": Configuration(ahead=0),
    "2304": Configuration(bn=192, stages=5, ahead=0, slabs=1),
    "2560": Configuration(stages=2, ahead=0, bk=128),
    "3072": Configuration(bm=192, bn=192, stages=2, consumers=3, ahead=0, slabs=1, bk=128),
    "4096": Configuration(stages=2, ahead=0, bk=128),
    "5120": Configuration(bm=256, bn=160, stages=2, ahead=0, slabs=1, span=64, bk=128),
    "8192": Configuration(stages=2, ahead=0, bk=128),
    "16384": Configuration(stages=2, ahead=0, bk=128),
    "4096x14336x4096": Configuration(stages=2, ahead=0, bk=128),
    "8192x1024x8192": Configuration(stages=2, ahead=0, bk=128),
    "256x4096x4096": Configuration(bn=64, stages=8),
    "64x8192x8192": Configuration(bm=64, bn=64, stages=6, consumers=1, bk=128),
    "4104x4096x4104": Configuration(ahead=0),
}
PROCESSORS = 132  # of the GPU that was measured

# The reference machine's work is by statement, not by element: few tiles.
HOST = Configuration(128, 256, 2, ahead=0)

# The model, for every other shape, fitted to the same measurements: in clocks of 1980 MHz.
PRODUCTS = 2048  # multiply-adds a clock of a multiprocessor
BYTES = 64  # bytes a clock that the L2 gives each of them, while all ask
SHARED = 128  # and shared memory: what wgmma reads of it, and copies write
BOUND = 0.6  # of the clocks that shared memory would take longer than the products
WAIT = 40  # of a step, in which nothing is multiplied: where no product is left under way, or one warpgroup multiplies
LAUNCH = 4000  # before the first product and after the last
STORE, PLAIN = 0.15, 1.0  # an element of a tile, to round and store it; without tensor copies
POWER = 0.05  # of the time that loads take, though products hide it: what they draw lowers the clock
PARTIAL = 0.8  # of a last round that few blocks have work in: the others' clock is higher meanwhile
CLOSE = 1.01  # closer ones the model can't tell apart


def clocks(found: Configuration, m: int, n: int, k: int, processors: int, batches: int = 1) -> float:
    """Return about how long a product takes, in clocks, or so many of that shape in one launch."""
    down, across = found.tiles(m, n)
    share = batches * down * across / (processors // found.cluster)  # of a block, in tiles
    rounds = max(1.0, PARTIAL * ceil(share) + (1 - PARTIAL) * share)
    store = STORE if batches == 1 or found.whole(m) else PLAIN
    return LAUNCH + rounds * (ceil(k / found.bk) * step_clocks(found) + store * found.bm * found.bn)


def step_clocks(found: Configuration) -> float:
    """Return about how long a block takes for `bk` of K. A wgmma, of 64 rows, reads all of the columns from shared memory."""
    row = 2 * found.bk
    loads = (found.bm / found.cluster_n + found.bn / found.cluster_m) * row / BYTES
    busy = max(found.bm * found.bn * found.bk / PRODUCTS, loads)
    shared = (found.bm / 64 * (64 + found.bn) + found.bm + found.bn) * row / SHARED
    wait = WAIT if found.ahead == 0 or found.consumers == 1 else 0
    return busy + BOUND * max(0.0, shared - busy) + wait + POWER * loads


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, processors: int, out_bytes: int = 2, batches: int = 1) -> Configuration:
    """Return the configuration that suits a shape, on a device of so many multiprocessors: measured, or else modelled.

    `batches`: so many products of that shape are one launch.
    """
    known = MEASURED.get(str(m) if m == n == k else f"{m}x{n}x{k}") if batches == 1 else None
    if known is not None and processors == PROCESSORS and known.fits(out_bytes):
        return known
    return modelled(m, n, k, processors, out_bytes, batches)


def modelled(m: int, n: int, k: int, processors: int, out_bytes: int = 2, batches: int = 1) -> Configuration:
    """Return the first of `TILES` that is, by the model, about as fast as the fastest."""
    whole = [found for found in TILES if batches == 1 or k % found.bk == 0]  # a step is of one product
    times = {found: clocks(found, m, n, k, processors, batches) for found in whole or TILES if found.fits(out_bytes)}
    return next(found for found in times if times[found] <= CLOSE * min(times.values()))


def tall(found: Configuration, tiles_m: int, processors: int) -> int:
    """Return how many clusters' tiles to go down before going right: so many that a round covers about a square."""
    side = sqrt(processors * found.bm * found.bn)
    return max(1, min(tiles_m, round(side / (found.bm * found.cluster_m))))
