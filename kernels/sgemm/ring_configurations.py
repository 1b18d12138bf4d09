"""How `ring` cuts products up: the tiles that there are, and which of them suits a shape, as measured on an H200."""

import functools
from dataclasses import dataclass, replace
from math import ceil
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
    bk: int = 32
    stages: int = 4
    columns: int = 16
    registers: int = 232
    blocks: int = 1
    rate: float = 105
    alone: float = 105
    unroll: int = 2

    @property
    def threads(self) -> int:
        """Threads a block: a warp for each 32 rows of 8 * `columns` elements, and four that copy."""
        return 32 * (self.bm // 32 * (self.bn // (LANES * self.columns)) + 4)

    @property
    def shared_bytes(self) -> int:
        """Shared memory a block, without its barriers."""
        return self.stages * (self.bm + self.bn) * self.bk * 4

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
            "UNROLL": self.unroll, "THREADS": self.threads, "BLOCKS": self.blocks, "WORKER_REGISTERS": self.registers,
            "HELPER_REGISTERS": 40, "WIDE": wide, "BETA": beta,
        }  # fmt: skip


LARGE = RingConfiguration()
LONG = replace(LARGE, bk=64, stages=2, rate=107, alone=107)  # half the turns of the ring
FLAT = RingConfiguration(64, 128, columns=8, registers=200, blocks=2, rate=93, alone=85)
NARROW = replace(FLAT, bm=128, bn=64)
SMALL = RingConfiguration(64, 64, columns=4, registers=200, blocks=2, rate=73, alone=65)

TILES = {False: (LARGE, FLAT, NARROW, SMALL), True: (LONG, FLAT, NARROW, SMALL)}
"""By whether `a` lies transposed. `LONG` was not measured where it does not; the model of docs/sgemm.md gives it 2 % there."""

TALL = 8  # tiles that are taken down before those at their right
LAUNCH = 5300  # clocks of a launch, before the first product and after the last tile
COMBINE = 2500  # the same of `combine`, which begins where `ring` ends
BYTES = 2200  # of parts that all multiprocessors write, and read again, a clock

MEASURED = {
    # m, n, k, whether `a` is transposed: configuration, parts, TFLOP/s, beside cuBLAS. H200, 1980 MHz, graphs of launches.
    # At 2048 and 8192 vectors of `b` were loaded after other rows than now; at 4096 that costs up to 0.5 %.
    (2048, 2048, 2048, True): (LONG, 1, 53.5, 1.059),
    (4096, 4096, 4096, True): (LONG, 1, 54.4, 1.061),
    (8192, 8192, 8192, True): (LONG, 1, 54.5, 1.064),
    (2048, 2048, 2048, False): (LARGE, 1, 52.6, 1.044),
    (4096, 4096, 4096, False): (LARGE, 1, 53.5, 1.048),
    (8192, 8192, 8192, False): (LARGE, 1, 53.6, 1.049),
    (256, 256, 256, False): (SMALL, 8, 5.6, 1.109),
    (512, 512, 512, False): (FLAT, 4, 22.6, 1.071),
    (1024, 1024, 1024, False): (FLAT, 2, 41.3, 1.067),
    (1000, 1000, 1000, False): (FLAT, 2, 38.7, 0.966),
    (4096, 64, 4096, False): (NARROW, 8, 41.2, 1.118),
    (64, 4096, 4096, False): (FLAT, 8, 41.2, 1.040),
    (8192, 128, 1024, False): (FLAT, 2, 40.4, 1.055),
}


class Cut(NamedTuple):
    """A configuration, how much of K is added up at a time, and how many parts that makes: more than 1 for `combine`."""

    configuration: RingConfiguration
    length: int
    parts: int


def clocks(cut: Cut, m: int, n: int, processors: int) -> float:
    """Return about how long a product takes, in clocks."""
    found = cut.configuration
    each = ceil(found.tiles(m, n) * cut.parts / processors)
    work = each * found.bm * found.bn * cut.length / (found.rate if each > 1 else found.alone)
    return LAUNCH + work + (COMBINE + 2 * 4 * m * n * cut.parts / BYTES if cut.parts > 1 else 0)


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, transpose_a: bool = False, processors: int = 132) -> Cut:
    """Return how a product of matrices of m x k and k x n is cut up; all are at least 1."""
    cuts = []
    for found in TILES[transpose_a]:
        for parts in (1, 2, 4, 8, 16):
            length = ceil(ceil(k / parts) / found.bk) * found.bk
            cuts.append(Cut(found, length, ceil(k / length)))
    return min(cuts, key=lambda cut: clocks(cut, m, n, processors))


def grid(cut: Cut, m: int, n: int, processors: int) -> int:
    """Return how many blocks run: no more than the device holds at a time, each of which goes on to further tiles."""
    return min(cut.configuration.tiles(m, n) * cut.parts, processors * cut.configuration.blocks)
