"""How `ring` cuts products up: the tiles that there are, and which of them suits a shape, as measured on an H200."""

import functools
from dataclasses import dataclass, replace
from math import ceil, lcm
from typing import Any, NamedTuple

SPAN = 128  # bytes that the tensor copy engine permutes pieces in: 32 elements of `a`
ROWS, LANES = 8, 8  # rows of a thread; lanes of a warp that lie side by side, and there are 4 such rows of them


@dataclass(frozen=True)
class RingConfiguration:
    """A tile of `bm x bn` elements of the result, `bk` of K at a time, with `stages` of these in shared memory.

    A thread has 8 x `columns` elements. `blocks` a multiprocessor do `rate` multiply-adds a clock together, of 128 that there
    could be; one alone does `alone`. A thread that multiplies has `registers`, one of the other four warps 40.
    """

    bm: int = 128
    bn: int = 256
    bk: int = 64
    stages: int = 2
    columns: int = 16
    registers: int = 232
    blocks: int = 1
    rate: float = 107
    alone: float = 107

    @property
    def threads(self) -> int:
        """Threads a block: a warp for each 32 rows of 8 * `columns` elements, and four that copy."""
        return 32 * (self.bm // 32 * (self.bn // (LANES * self.columns)) + 4)

    @property
    def shared_bytes(self) -> int:
        """Shared memory a block, without its barriers."""
        return self.stages * (self.bm + self.bn) * self.bk * 4

    @property
    def vectors(self) -> int:
        """Vectors of 16 bytes that a thread of `combine` makes: one of a small tile, so that there are more threads."""
        return 1 if self.bm * self.bn <= 4096 else 2

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        return f"ring {self.bm}x{self.bn}x{self.bk} c{self.columns} s{self.stages} b{self.blocks}"

    def tiles(self, m: int, n: int) -> int:
        """Return how many tiles a result has."""
        return ceil(m / self.bm) * ceil(n / self.bn)

    def template(self, *, transpose_a: bool, wide: bool, beta: bool) -> dict[str, Any]:
        """Return the kernel's template arguments. Not `beta` where parts are added up afterwards."""
        rows, columns = (self.bk, self.bm) if transpose_a else (self.bm, self.bk)
        return {
            "TRANSPOSE_A": transpose_a, "A_ROWS": rows, "A_COLUMNS": columns, "SPAN": 0 if transpose_a else SPAN,
            "BM": self.bm, "BN": self.bn, "BK": self.bk, "STAGES": self.stages, "COLUMNS": self.columns,
            "THREADS": self.threads, "BLOCKS": self.blocks, "WORKER_REGISTERS": self.registers, "HELPER_REGISTERS": 40,
            "WIDE": wide, "BETA": beta,
        }  # fmt: skip

    def adder(self, *, wide: bool, beta: bool) -> dict[str, Any]:
        """Return `combine`'s template arguments."""
        return {"BM": self.bm, "BN": self.bn, "VECTORS": self.vectors, "WIDE": wide, "BETA": beta}


LARGE = RingConfiguration()
FLAT = RingConfiguration(64, 128, 32, 4, columns=8, registers=200, blocks=2, rate=94, alone=85)
NARROW = replace(FLAT, bm=128, bn=64)
SMALL = RingConfiguration(64, 64, 32, 4, columns=4, registers=200, blocks=2, rate=73, alone=65)
TILES = (LARGE, FLAT, NARROW, SMALL)

# The reference machine's: its work is by statement.
HOST = RingConfiguration(64, 64, 32, 2, columns=4, registers=200)

TALL = 8  # tiles that are taken down before those at their right
LAUNCH = 4500  # clocks of a launch, before the first product and after the last tile
COMBINE = 1500  # the same of `combine`, which begins where `ring` ends
BYTES = 2200  # that all multiprocessors write, or read again, a clock
BATCH = 900  # clocks of each further batch of parts that a thread of `combine` loads; a batch is 8 vectors
PARTS = (2, 4, 8, 16)

MEASURED = {
    # m, n, k: configuration, steps of a share, microseconds, beside cuBLAS. H200, 1980 MHz, past the L2, NVRTC 13.5, NN.
    (256, 256, 256): (SMALL, 1, 5.30, 1.526),
    (512, 512, 512): (SMALL, 4, 12.37, 1.094),
    (768, 768, 768): (FLAT, 7, 28.50, 1.168),
    (1000, 1000, 1000): (LARGE, 4, 52.01, 1.144),
    (1024, 1024, 1024): (LARGE, 4, 51.19, 1.180),
    (1536, 1536, 1536): (LARGE, 14, 158.86, 1.168),
    (4096, 64, 4096): (NARROW, 16, 53.06, 1.096),
    (64, 4096, 4096): (FLAT, 16, 53.23, 1.020),
    (8192, 128, 1024): (NARROW, 16, 52.17, 1.136),
    (2048, 2048, 2048): (LARGE, 32, 325.45, 1.044),
    (128, 128, 8192): (SMALL, 8, 15.07, 0.978),
    (3000, 3000, 3000): (LARGE, 9, 1053.10, 1.173),
    (3072, 3072, 3072): (LARGE, 9, 1071.53, 1.195),
    (4096, 4096, 4096): (LARGE, 57, 2523.22, 1.059),
    (8192, 8192, 8192): (LARGE, 66, 19919.72, 1.076),
}


class Cut(NamedTuple):
    """How a product of so many `tiles`, of so many `steps` of K each, is cut up.

    The first `whole` tiles are a block's each. Of the others' steps a block does `share`, which may be of two tiles.
    """

    configuration: RingConfiguration
    tiles: int
    steps: int
    whole: int
    share: int

    @property
    def blocks(self) -> int:
        """Blocks that share the tiles that are no block's whole."""
        return ceil((self.tiles - self.whole) * self.steps / self.share)

    @property
    def parts(self) -> int:
        """How many sums these tiles are added up from; a share that is of two tiles makes two."""
        rest = (self.tiles - self.whole) * self.steps
        return self.tiles - self.whole + self.blocks - ceil(rest / lcm(self.steps, self.share))

    def crowded(self, processors: int) -> bool:
        """Whether shares may lie two on one multiprocessor and none on another: they begin where a kernel before leaves room.

        That was seen, and it takes twice as long; what is in `MEASURED` was not seen to do so.
        """
        return self.configuration.blocks > 1 and processors // 2 < self.blocks <= processors

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        split = f" share {self.share} of {self.steps}" if self.whole < self.tiles else ""
        return self.configuration.name + (f" whole {self.whole}" if self.whole and split else "") + split


def cut_in(found: RingConfiguration, m: int, n: int, k: int, share: int, wave: int = 0) -> Cut:
    """Return a product cut up: rounds of `wave` tiles are done whole, and what remains in shares of so many steps."""
    tiles, steps = found.tiles(m, n), ceil(k / found.bk)
    whole = tiles // wave * wave if wave else 0
    return Cut(found, tiles, steps, tiles if share >= steps else whole, min(share, steps))


def cuts(m: int, n: int, k: int, processors: int = 132) -> list[Cut]:
    """Return the ways to cut up a product of matrices of m x k and k x n; all are at least 1."""
    ways = []
    for found in TILES:
        tiles, steps, wave = found.tiles(m, n), ceil(k / found.bk), processors * found.blocks
        least = ceil(tiles % wave * steps / wave)  # so that blocks have as much to do as each other
        shares = [least or steps, *(ceil(steps / parts) for parts in PARTS if tiles < wave)]
        shares = [share for share in shares if share >= least and wave * steps < 2**30]  # steps have 32-bit numbers
        ways += [cut_in(found, m, n, k, share, wave) for share in (steps, *shares)]
    return [cut for cut in dict.fromkeys(ways) if not cut.crowded(processors)]


def clocks(cut: Cut, m: int, n: int, processors: int) -> float:
    """Return about how long a product takes, in clocks."""
    found = cut.configuration
    tile, wave = found.bm * found.bn, processors * found.blocks
    each = ceil(cut.whole / processors)
    spent = LAUNCH + each * tile * cut.steps * found.bk / (found.alone if each == 1 else found.rate)
    if cut.whole < cut.tiles:
        few = cut.blocks <= processors
        each = 1 if few else found.blocks * ceil(cut.blocks / wave)
        spent += each * tile * cut.share * found.bk / (found.alone if few else found.rate)
        batches = ceil(ceil(cut.steps / cut.share) / (8 // found.vectors))
        spent += COMBINE + BATCH * (batches - 1) + (LAUNCH / 2 if cut.whole else 0)
        spent += 4 * tile * (2 * cut.parts + cut.tiles - cut.whole) / BYTES
    return spent + 4 * tile * cut.whole / BYTES


def copy_clocks(elements: int) -> float:
    """Return about how long the copy of an operand takes, in clocks: a launch, and a pass over its memory."""
    return COMBINE + 2 * 4 * elements / BYTES


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, processors: int = 132) -> Cut:
    """Return how a product is cut up: as measured, or what is best by `clocks`."""
    known = MEASURED.get((m, n, k)) if processors == 132 else None
    if known is not None:
        return cut_in(known[0], m, n, k, known[1], processors * known[0].blocks)
    return min(cuts(m, n, k, processors), key=lambda cut: clocks(cut, m, n, processors))


def grid(cut: Cut, processors: int) -> int:
    """Return how many blocks do the whole tiles: no more than run at a time, each of which goes on to further tiles."""
    return min(cut.whole, processors * cut.configuration.blocks)
