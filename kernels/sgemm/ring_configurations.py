"""How `ring` and `ring_async` cut products up: the tiles that there are, and which suits a shape, as measured on an H200."""

import functools
from dataclasses import dataclass, replace
from math import ceil, lcm
from typing import Any, NamedTuple

from prism.kernels.sgemm.configurations import Layout
from prism.kernels.sgemm.cut import ADDERS, PAD, AsyncCut, RingCut

ROWS = 8  # of a thread


@dataclass(frozen=True)
class Tile:
    """A tile of `bm x bn` elements of the result, `bk` of K at a time, with `stages` of these in shared memory.

    A thread has 8 x `columns` elements. `blocks` a multiprocessor do `rate` multiply-adds a clock together, of 128 that there
    could be; one alone does `alone`. All together takes `factor` times as long as is counted so.
    """

    bm: int = 128
    bn: int = 256
    bk: int = 64
    stages: int = 2
    columns: int = 16
    blocks: int = 1
    rate: float = 107
    alone: float = 107
    factor: float = 1.0
    launch: int = 3820  # clocks before the first product and after the last tile

    @property
    def workers(self) -> int:
        """Threads that multiply: a warp for each 32 rows of 8 * `columns` elements."""
        return self.bm * self.bn // (ROWS * self.columns)

    @property
    def threads(self) -> int:
        """Threads a block."""
        return self.workers

    @property
    def vectors(self) -> int:
        """Vectors of 16 bytes that a thread of `combine` makes: one of a small tile, so that there are more threads.

        Two are below each other: rows of the tile must divide what a block's threads have at a time.
        """
        return 1 if self.bm * self.bn <= 4096 or 1024 % self.bn else 2

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        return f"{self.bm}x{self.bn}x{self.bk} c{self.columns} s{self.stages} b{self.blocks}"

    def tiles(self, m: int, n: int) -> int:
        """Return how many tiles a result has."""
        return ceil(m / self.bm) * ceil(n / self.bn)

    def adder(self, *, wide: bool, beta: bool, split: int = 1) -> dict[str, Any]:
        """Return `combine`'s template arguments."""
        return {"BM": self.bm, "BN": self.bn, "VECTORS": self.vectors, "SPLIT": split, "WIDE": wide, "BETA": beta}


class Way(NamedTuple):
    """How `ring` copies an operand: by tensor copies, or by threads, adjacent ones `along` k or across it.

    Where elements lie side by side across it, `dense`, `each` of them at a time.
    """

    tensor: bool
    along: bool = False
    each: int = 1
    dense: bool = False


TENSOR, ALONG, ACROSS = Way(True), Way(False, True), Way(False, False)
DENSE, PAIRS = Way(False, False, 1, True), Way(False, False, 2, True)
WAYS = (
    (TENSOR, TENSOR), (TENSOR, ALONG), (ALONG, TENSOR), (ALONG, ALONG), (ALONG, DENSE), (DENSE, ALONG), (DENSE, DENSE),
)  # fmt: skip
"""What A and B are copied by, mostly."""


@dataclass(frozen=True)
class RingConfiguration(Tile):
    """A tile of `ring`. A thread that multiplies has `registers`, one of the other four warps 40."""

    registers: int = 232

    @property
    def threads(self) -> int:
        """Threads a block."""
        return self.workers + 128

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        return f"ring {super().name}"

    def shared_bytes(self, a: Way, b: Way) -> int:
        """Return the shared memory a block, without its barriers."""
        return self.stages * (self.bm + self.bn + PAD * ((not a.tensor) + (not b.tensor))) * self.bk * 4

    def template(self, a: Way, b: Way, *, wide: bool, beta: bool) -> dict[str, Any]:
        """Return the kernel's template arguments. Not `beta` where parts are added up afterwards."""
        sizes = self.bm, self.bn, self.bk, self.stages, self.columns, self.blocks
        return {"CUT": RingCut(*sizes, *a, *b, self.registers, 40), "WIDE": wide, "BETA": beta}


@dataclass(frozen=True)
class AsyncConfiguration(Tile):
    """A tile of `ring_async`, whose threads all copy and multiply, in the shared memory that every GPU since Ampere has."""

    @property
    def shared_bytes(self) -> int:
        """Shared memory a block."""
        return self.stages * (self.bm + self.bn + 2 * PAD) * self.bk * 4

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        return f"async {super().name}"

    def template(self, a: Layout, b: Layout, *, wide: bool, beta: bool) -> dict[str, Any]:
        """Return the kernel's template arguments, for operands that lie so."""
        sizes = self.bm, self.bn, self.bk, self.stages, self.columns, self.blocks
        return {"CUT": AsyncCut(*sizes, *a, *b), "WIDE": wide, "BETA": beta}


LARGE = RingConfiguration(rate=107, alone=104, factor=1.01)
FLAT = RingConfiguration(64, 128, 32, 4, columns=8, registers=200, blocks=2, rate=95, alone=74.5, factor=1.02)
NARROW = replace(FLAT, bm=128, bn=64)
SMALL = RingConfiguration(64, 64, 32, 4, columns=4, registers=200, blocks=2, rate=80.5, alone=63.5, factor=1.06)
TILES: tuple[Tile, ...] = (LARGE, FLAT, NARROW, SMALL)
FEW_ROWS: tuple[Tile, ...] = (
    RingConfiguration(16, 256, 32, 4, columns=4, registers=200, blocks=2, rate=45, alone=51.5, factor=1.01),
    RingConfiguration(32, 256, 32, 3, columns=8, registers=200, blocks=2, rate=87, alone=77.5, factor=1.06),
    RingConfiguration(32, 128, 32, 4, columns=4, registers=200, blocks=2, rate=65, alone=56, factor=1.0),
)
MORE: tuple[Tile, ...] = (
    RingConfiguration(96, 256, 32, 3, columns=8, registers=144, blocks=1, rate=92, alone=89, factor=0.91),
    RingConfiguration(128, 32, 32, 4, columns=4, registers=200, blocks=2, rate=82, alone=59, factor=1.13),
    RingConfiguration(128, 64, 32, 4, columns=4, registers=96, blocks=2, rate=83, alone=65.5, factor=0.98),
    RingConfiguration(128, 128, 32, 3, columns=16, registers=216, blocks=2, rate=105, alone=80),
    RingConfiguration(128, 96, 32, 3, columns=12, registers=200, blocks=2, rate=101, alone=78),
    RingConfiguration(64, 192, 32, 3, columns=12, registers=200, blocks=2, rate=101, alone=78),
)
"""Tiles that fit what is narrow, or short: they are compiled when they are first asked for."""
FEW = 160  # rows of the result, of which these have fewer in vain

# Rates as measured on an H200. Of the second and third four blocks fit a multiprocessor of sm_80 or sm_90, two one of sm_86 and
# sm_89, whose shared memory is less. Of the fourth more than two fit; 256 shares of it took 3 to 7 %
# longer at 512 than by this rate, and a quarter longer at 768.
ASYNC_FLAT = AsyncConfiguration(64, 128, 16, 3, columns=8, blocks=4, rate=86, alone=70, launch=4500)
ASYNC_TILES: tuple[Tile, ...] = (
    AsyncConfiguration(bk=32, rate=90, alone=90, launch=4500),
    ASYNC_FLAT,
    replace(ASYNC_FLAT, bm=128, bn=64, rate=82, alone=65),
    AsyncConfiguration(64, 64, 16, 3, columns=4, blocks=2, rate=65, alone=60, launch=4500),
)
HOPPER_TILES: tuple[Tile, ...] = tuple(
    replace(tile, rate=rate, alone=alone, factor=factor, launch=3820)
    for tile, (rate, alone, factor) in zip(
        ASYNC_TILES, ((87, 88.5, 1.025), (65.5, 56, 0.803), (73.5, 61, 0.919), (52.5, 47.5, 0.87)), strict=True
    )
)
"""The same on Hopper, where they are among what any shape may take."""

# The reference machine's: its work is by statement.
HOST = RingConfiguration(64, 64, 32, 2, columns=4, registers=200)
ASYNC_HOST = AsyncConfiguration(64, 64, 16, 2, columns=4)

TALL = 8  # tiles that are taken down before those at their right
COMBINE = 2560  # clocks of the launch of `combine`, which begins where `ring` ends
BYTES = 2340  # that all multiprocessors write, or read again, a clock
EIGHT = 8  # of a step's k as many as there are, to whole eights
SPREAD = 0.044  # more, for an element not stored by fours
STORE_LARGE, STORE, STORE_SMALL = 0.67, 0.28, 0.044  # the same of `ring_async`: of 16, 8 or 4 columns a thread
EVEN, ODD, ACROSS_K = 0.0029, 0.053, 0.185  # for an element of a tile that threads copy: along K, or across it (`copies_of`)
SIDE_BY_SIDE = 0.03  # across it, where elements lie so: addresses differ by constants
MIXED, BESIDE = 0.01, 0.11  # more, for one of B along K beside an A that is copied across it, or by tensor copies
MEMORY = 11.2  # bytes a clock of the GPU's memory, for each multiprocessor: what operands take at least
BATCH = 650  # clocks of each further batch of parts that a thread of `combine` loads; a batch is 8 vectors
PARTS = (2, 4, 8, 16)
SPLIT = 8  # threads that add up parts of an element, at most

MEASURED = {
    # m, n, k: configuration, steps of a share, microseconds, beside cuBLAS. H200, 1980 MHz, past the L2, NVRTC 13.5, NN.
    (256, 256, 256): (SMALL, 1, 5.5, 1.486),
    (512, 512, 512): (SMALL, 4, 12.9, 1.058),
    (768, 768, 768): (FLAT, 7, 28.5, 1.163),
    (1000, 1000, 1000): (LARGE, 4, 52.3, 1.157),
    (1024, 1024, 1024): (LARGE, 4, 51.6, 1.190),
    (1536, 1536, 1536): (LARGE, 14, 158.6, 1.172),
    (4096, 64, 4096): (NARROW, 16, 55.0, 1.054),
    (64, 4096, 4096): (FLAT, 16, 52.4, 1.038),
    (8192, 128, 1024): (NARROW, 16, 53.3, 1.119),
    (2048, 2048, 2048): (LARGE, 32, 324.2, 1.048),
    (128, 128, 8192): (SMALL, 8, 14.1, 1.021),
    (3000, 3000, 3000): (LARGE, 9, 1050.5, 1.180),
    (3072, 3072, 3072): (LARGE, 9, 1066.0, 1.203),
    (4096, 4096, 4096): (LARGE, 57, 2505.8, 1.072),
    (8192, 8192, 8192): (LARGE, 66, 19757.5, 1.090),
}


class Cut(NamedTuple):
    """How a product of so many `tiles`, of so many `steps` of K each, is cut up.

    The first `whole` tiles are a block's each. Of the others' steps a block does `share`, which may be of two tiles.
    """

    configuration: Tile
    tiles: int
    steps: int
    whole: int
    share: int
    k: int = 0

    @property
    def blocks(self) -> int:
        """Blocks that share the tiles that are no block's whole."""
        return ceil((self.tiles - self.whole) * self.steps / self.share)

    @property
    def parts(self) -> int:
        """How many sums these tiles are added up from; a share that is of two tiles makes two."""
        rest = (self.tiles - self.whole) * self.steps
        return self.tiles - self.whole + self.blocks - ceil(rest / lcm(self.steps, self.share))

    @property
    def adders(self) -> int:
        """Blocks of `combine`, if a thread adds up all parts of its elements."""
        tile = self.configuration
        return (self.tiles - self.whole) * (tile.bm * tile.bn // (4 * tile.vectors * ADDERS))

    def split(self, processors: int) -> int:
        """Return how many threads add up parts of an element: several where tiles are few, and parts many."""
        tile, split = self.configuration, 1
        most = SPLIT if tile.vectors == 1 else min(SPLIT, 4 * ADDERS // tile.bn)
        while split < most and self.adders * split < processors and self.steps > 8 * split * self.share:
            split *= 2
        return split

    def is_crowded(self, processors: int) -> bool:
        """Whether shares may lie two on one multiprocessor and none on another: they begin where a kernel before leaves room.

        That was seen, and it takes twice as long; what is in `MEASURED` was not seen to do so. Where more than two fit, `clocks`
        has it so for any number of shares: 256 of 64x128x16 lay by fours, and took twice as long.
        """
        return self.configuration.blocks == 2 and processors // 2 < self.blocks <= processors

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        split = f" share {self.share} of {self.steps}" if self.whole < self.tiles else ""
        return self.configuration.name + (f" whole {self.whole}" if self.whole and split else "") + split


def cut_in(found: Tile, m: int, n: int, k: int, share: int, wave: int = 0) -> Cut:
    """Return a product cut up: rounds of `wave` tiles are done whole, and what remains in shares of so many steps."""
    tiles, steps = found.tiles(m, n), ceil(k / found.bk)
    whole = tiles // wave * wave if wave else 0
    deep = k if isinstance(found, RingConfiguration) else steps * found.bk
    return Cut(found, tiles, steps, tiles if share >= steps else whole, min(share, steps), deep)


def cuts(m: int, n: int, k: int, processors: int = 132, among: tuple[Tile, ...] = TILES) -> list[Cut]:
    """Return the ways to cut up a product of matrices of m x k and k x n; all are at least 1."""
    ways = []
    for found in among:
        tiles, steps, wave = found.tiles(m, n), ceil(k / found.bk), processors * found.blocks
        least = ceil(tiles % wave * steps / wave)  # so that blocks have as much to do as each other
        shares = [least or steps, *(ceil(steps / parts) for parts in PARTS if tiles < wave)]
        shares = [share for share in shares if share >= least and wave * steps < 2**30]  # steps have 32-bit numbers
        ways += [cut_in(found, m, n, k, share, wave) for share in (steps, *shares)]
    return [cut for cut in dict.fromkeys(ways) if not cut.is_crowded(processors)]


def clocks(
    cut: Cut, m: int, n: int, processors: int, copies: tuple[float, float] = (EVEN, 0.0), *, wide: bool = True
) -> float:  # fmt: skip
    """Return about how long a product takes, in clocks; `wide`: if its result is stored by fours.

    `copies`: what an element of a tile of A, and of B, takes to copy (`copies_of`).
    """
    found = cut.configuration
    tile, wave = found.bm * found.bn, processors * found.blocks
    k = cut.k or cut.steps * found.bk
    exchange = STORE_LARGE if found.columns == 16 else STORE if found.columns == 8 else STORE_SMALL
    store = 0.0 if wide else (SPREAD if isinstance(found, RingConfiguration) else exchange) * tile
    by_threads = found.bm * copies[0] + found.bn * copies[1]  # of a k of a tile

    def one(depth: int, rate: float) -> float:
        return tile * (ceil(depth / EIGHT) * EIGHT) / rate + depth * by_threads + store

    each = ceil(cut.whole / processors)
    busy = each * one(k, found.alone if each == 1 else found.rate)
    after = 4 * tile * cut.whole / BYTES
    if cut.whole < cut.tiles:
        few = cut.blocks <= processors and found.blocks <= 2
        each = 1 if few else found.blocks * ceil(cut.blocks / wave)
        busy += each * one(min(k, cut.share * found.bk), found.alone if few else found.rate) - each * store
        batches = ceil(ceil(cut.steps / cut.share) / (8 // found.vectors * cut.split(processors)))
        after += COMBINE + BATCH * (batches - 1) + (found.launch / 2 if cut.whole else 0)
        after += 4 * tile * (2 * cut.parts + cut.tiles - cut.whole) / BYTES
    return found.factor * (found.launch + max(busy, 4 * k * (m + n) / (MEMORY * processors)) + after)


def copies_of(a: Way, b: Way, *, even_a: bool, even_b: bool) -> tuple[float, float]:
    """Return the clocks that an element of a tile of A, and of B, adds where threads copy it.

    `even_a`, `even_b`: whether it lies along K, in rows that begin at multiples of 16 bytes.
    """

    def one(way: Way, even: bool) -> float:
        across = SIDE_BY_SIDE / way.each if way.dense else ACROSS_K
        return 0.0 if way.tensor else (EVEN if even else ODD) if way.along else across

    mixed = 0.0 if not b.along or a.along else BESIDE if a.tensor else MIXED
    return one(a, even_a), one(b, even_b) + mixed


ODD_ASYNC = 0.055  # of what is counted of `ring_async` more, for each operand that is not whole words
COPIED = 1115  # bytes that a copy of an operand reads and writes a clock


def copy_clocks(elements: int) -> float:
    """Return about how long the copy of an operand takes, in clocks: a launch, and a pass over its memory."""
    return COMBINE + 2 * 4 * elements / COPIED


@functools.lru_cache(maxsize=4096)
def choose(
    m: int, n: int, k: int, processors: int = 132, among: tuple[Tile, ...] = TILES,
    copies: tuple[float, float] = (EVEN, 0.0), *, wide: bool = True,
) -> Cut:  # fmt: skip
    """Return how a product is cut up: as measured, or what is best by `clocks`, of operands that are copied and stored so."""
    known = MEASURED.get((m, n, k)) if processors == 132 and LARGE in among else None
    if known is not None:
        return cut_in(known[0], m, n, k, known[1], processors * known[0].blocks)
    ways = cuts(m, n, k, processors, among)
    return min(ways, key=lambda cut: clocks(cut, m, n, processors, copies, wide=wide))


def grid(cut: Cut, processors: int) -> int:
    """Return how many blocks do the whole tiles: no more than run at a time, each of which goes on to further tiles."""
    return min(cut.whole, processors * cut.configuration.blocks)
