"""How products in float32 are cut up: the five variants' tiles, and which of them suits a shape."""

import functools
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple


class Layout(NamedTuple):
    """How a kernel reads a matrix, or writes one.

    `along`: adjacent threads take elements that are adjacent along K. `wide`: along that axis (of the result: its rows) elements
    lie side by side, and begin at multiples of 16 bytes: four make an access. `dense`: they lie so, across K, and begin anywhere.
    """

    along: bool
    wide: bool
    dense: bool = False


@dataclass(frozen=True)
class Configuration:
    """A variant, and its tile of `bm x bn` elements of the result a block of `threads`, in steps of `bk` along K.

    A thread has `tm x tn` elements; where there are warp tiles, they are `wm x wn`, and a thread has 4 x 4 elements in each of
    its warp's sub-tiles of `step_m x step_n`; `unroll` elements along K are multiplied without a jump. `blocks` a multiprocessor,
    which then does `rate` multiply-adds a clock, of 128 that there could be.
    """

    variant: str
    threads: int
    bm: int
    bn: int
    bk: int = 1
    tm: int = 1
    tn: int = 1
    wm: int = 0
    wn: int = 0
    step_m: int = 16
    step_n: int = 32
    unroll: int = 16
    blocks: int = 1
    rate: int = 102

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        warp = f" warp {self.wm}x{self.wn} by {self.step_m}x{self.step_n} u{self.unroll}" if self.wm else ""
        return f"{self.variant} {self.bm}x{self.bn}x{self.bk}{warp} t{self.threads} b{self.blocks}"

    @property
    def counted(self) -> bool:
        """Whether the kernel is told how many products there are: threads, unlike blocks, may be more than needed."""
        return self.variant in ("naive", "coalesced")

    def grid(self, batches: int, m: int, n: int) -> int:
        """Return how many blocks compute a batch of products."""
        if self.variant == "naive":
            return ceil(batches * m * n / self.threads)
        return batches * ceil(m / self.bm) * ceil(n / self.bn)

    def template(self, a: Layout, b: Layout, c: Layout) -> dict[str, Any]:
        """Return the kernel's template arguments, for matrices that lie so."""
        if self.variant == "naive":
            return {}
        if self.variant == "coalesced":
            return {"TILE": self.bm}
        cut = {"BM": self.bm, "BN": self.bn, "BK": self.bk, "THREADS": self.threads, "BLOCKS": self.blocks}
        cut |= {"ALONG_A": a.along, "ALONG_B": b.along}
        if self.variant == "warps":
            cut |= {"WM": self.wm, "WN": self.wn, "STEP_M": self.step_m, "STEP_N": self.step_n, "UNROLL": self.unroll}
        else:
            cut |= {"TM": self.tm, "TN": self.tn}
        return cut if self.variant == "tiled" else cut | {"WIDE_A": a.wide, "WIDE_B": b.wide, "WIDE_C": c.wide}


def warp_tiles(bm: int, bn: int, wm: int, wn: int, blocks: int, bk: int = 16, **rest: int) -> Configuration:
    """Return a configuration of the fifth variant."""
    return Configuration("warps", 32 * (bm // wm) * (bn // wn), bm, bn, bk, wm=wm, wn=wn, blocks=blocks, **rest)


SQUARES = {"threads": 256, "bm": 128, "bn": 128, "bk": 8, "tm": 8, "tn": 8, "blocks": 2}

# The lesson's, each for every shape.
LESSON = {
    "naive": Configuration("naive", 256, 1, 1),
    "coalesced": Configuration("coalesced", 1024, 32, 32),
    "tiled": Configuration("tiled", **SQUARES),
    "vectorized": Configuration("vectorized", **SQUARES),
    "warps": warp_tiles(256, 128, 64, 64, 1, rate=109),
}

# What a shape is given, as measured on an H200 (docs/sgemm.md). Large tiles load the least a product; small ones keep all
# multiprocessors busy with small results, and long steps hide the time of their loads.
TILES = (
    LESSON["warps"],
    warp_tiles(128, 128, 64, 64, 2),
    warp_tiles(64, 64, 32, 32, 4, step_m=32, step_n=16),
    warp_tiles(128, 64, 64, 32, 3, step_m=32, step_n=16),
    warp_tiles(32, 32, 32, 16, 8, bk=32, step_m=32, step_n=16, rate=70),
)

# The reference machine's work is by statement: this one has the fewest.
HOST = LESSON["tiled"]

LAUNCH = 4000  # clocks before the first product, and after the last tile
STEP = 700  # clocks of a step along K beside its products: barriers, and loads that are waited for


def clocks(found: Configuration, batches: int, m: int, n: int, k: int, processors: int) -> float:
    """Return about how long products take, in clocks."""
    blocks = found.grid(batches, m, n)
    rounds = ceil(blocks / (processors * found.blocks))
    together = min(found.blocks, ceil(blocks / processors))
    step = found.bm * found.bn * found.bk / found.rate * together + STEP
    return LAUNCH + rounds * ceil(k / found.bk) * step


@functools.lru_cache(maxsize=4096)
def choose(batches: int, m: int, n: int, k: int, processors: int) -> Configuration:
    """Return the configuration that suits products of a shape, on a device of so many multiprocessors."""
    return min(TILES, key=lambda c: clocks(c, batches, m, n, k, processors))
