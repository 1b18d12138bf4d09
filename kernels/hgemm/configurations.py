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
    `blocks` a multiprocessor.
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
    blocks: int = 1

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
        facts = {"w": self.consumers, "s": self.stages, "a": self.ahead, "slabs": self.slabs, "b": self.blocks}
        cluster = f" c{self.cluster_m}x{self.cluster_n}" if self.cluster > 1 else ""
        tile = f"{self.bm}x{self.bn}x{self.bk} "
        return tile + " ".join(f"{key}{value}" for key, value in facts.items() if value > 1 or key in "a") + cluster

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
            "CONSUMERS": self.consumers, "THREADS": self.threads, "BLOCKS": self.blocks, "WORKER_REGISTERS": workers,
            "HELPER_REGISTERS": helpers,
        }  # fmt: skip

    def registers(self) -> tuple[int, int]:
        """Return the registers of the threads that multiply, and of the others; zeros: as many as they start with."""
        if self.blocks > 1:
            return 200, 56
        return (224, 56) if self.consumers > 1 else (0, 0)


# A warpgroup's sums live in its registers. The wide tiles read the least of shared memory, and of the L2, a product; the
# others are there for results that would leave multiprocessors idle in the last round, or all the time.
TILES = (
    Configuration(128, 256, 3, cluster_m=2, slabs=4),
    Configuration(128, 256, 4),
    Configuration(128, 224, 4, span=64, slabs=4),
    Configuration(128, 192, 4, cluster_m=2),
    Configuration(128, 192, 4),
    Configuration(128, 160, 5, span=64, slabs=4),
    Configuration(128, 128, 6, cluster_m=2),
    Configuration(128, 128, 6),
    Configuration(128, 64, 8, cluster_n=2),
    Configuration(128, 64, 8),
    Configuration(64, 256, 5, 1),
    Configuration(64, 128, 8, 1),
    Configuration(64, 64, 12, 1, cluster_n=2),
    Configuration(64, 64, 6, 1, bk=128),
)

# The reference machine's work is by statement, not by element: few tiles.
HOST = Configuration(128, 256, 2, ahead=0)

PRODUCTS = 2048  # multiply-adds a clock of a multiprocessor
BYTES = 44  # bytes a clock that the L2 gives each of them, while all ask
LAUNCH = 5000  # clocks before the first product, and after the last tile
TILE = 1500  # clocks that the tensor cores idle between two tiles


def clocks(found: Configuration, m: int, n: int, k: int, processors: int) -> float:
    """Return about how long a product takes, in clocks."""
    down, across = found.tiles(m, n)
    rounds = ceil(down * across / (processors // found.cluster * found.blocks))
    products = found.bm * found.bn * found.bk / PRODUCTS
    loads = (found.bm / found.cluster_n + found.bn / found.cluster_m) * found.bk * 2 / BYTES
    return LAUNCH + rounds * (max(products, loads) * ceil(k / found.bk) + TILE)


@functools.lru_cache(maxsize=4096)
def choose(m: int, n: int, k: int, processors: int, out_bytes: int = 2) -> Configuration:
    """Return the configuration that suits a shape, on a device of so many multiprocessors."""
    fitting = [c for c in TILES if c.bn % (c.span // out_bytes) == 0]
    return min(fitting, key=lambda c: clocks(c, m, n, k, processors))


def tall(found: Configuration, tiles_m: int, processors: int) -> int:
    """Return how many clusters' tiles to go down before going right: so many that a round covers about a square."""
    side = sqrt(processors * found.bm * found.bn)
    return max(1, min(tiles_m, round(side / (found.bm * found.cluster_m))))
