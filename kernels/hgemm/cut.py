"""How a product is cut into tiles, as the kernels see it: a record of constants, from which the layouts of all tiles follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

DEPTH = 128
"""Elements of K that have one scale, where scales are of blocks."""
ROUND = 32
"""Elements that a warp copies at a time."""

SHORT = 128 * 96
"""Elements of a tile whose step takes about as long as it takes to ask for the next one, at most."""

IN_SHARES = 4
"""What a kernel's `BATCH` is where its products are shares of K."""


@dataclass(frozen=True)
class Cut:
    """Tiles of `bm x bn` of the result, `bk` of K at a time, of which there are `stages`; the sums leave in slabs of columns.

    A tile of A has K outside, as its rows, where `transpose_a`, else inside, and one of B likewise: where its K is outside, its
    rows have `columns_b` elements, those of whole spans of `span_b` bytes. A slab has `slab` columns, or where `trans` rows,
    permuted within `span` bytes; there are `slabs` of them. `ahead` products are under way when the next begin.
    """

    bm: int
    bn: int
    bk: int
    stages: int
    ahead: int
    consumers: int
    transpose_a: bool
    transpose_b: bool
    columns_b: int
    span_b: int
    trans: bool
    cluster_m: int = 1
    cluster_n: int = 1
    parts: int = 1
    slab: int = 0
    slabs: int = 0
    span: int = 0
    worker_registers: int = 0
    helper_registers: int = 0

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.cluster_m * self.cluster_n * self.parts

    @property
    def warps(self) -> int:
        """Warps that multiply."""
        return 4 * self.consumers

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup's are helpers."""
        return 128 * (self.consumers + 1)

    @property
    def rows(self) -> int:
        """Rows of a warpgroup."""
        return self.bm // self.consumers

    @property
    def rows_a(self) -> int:
        """Rows of a tile of A in memory."""
        return self.bk if self.transpose_a else self.bm

    @property
    def columns_a(self) -> int:
        """Columns of a tile of A in memory."""
        return self.bm if self.transpose_a else self.bk

    @property
    def rows_b(self) -> int:
        """Rows of a tile of B in memory."""
        return self.bk if self.transpose_b else self.bn

    @property
    def part_a(self) -> int:
        """Rows of a tile of A that one block of a cluster brings, for all that share it."""
        return self.rows_a // self.cluster_n

    @property
    def part_b(self) -> int:
        """The same of B."""
        return self.rows_b // self.cluster_m

    @property
    def share_a(self) -> int:
        """Which blocks a part of A goes to, as a mask; 0: to the one that brings it. Where `crosses`, counted from that one."""
        return sum(1 << self.cluster_m * j for j in range(self.cluster_n)) if self.cluster_n > 1 else 0

    @property
    def share_b(self) -> int:
        """The same of B."""
        return (1 << self.cluster_m) - 1 if self.cluster_m > 1 else 0

    @property
    def crosses(self) -> bool:
        """Whether blocks share A in one direction, and B in the other: what one brings is then for some of its cluster alone."""
        return self.cluster_m > 1 and self.cluster_n > 1

    @property
    def unrolls(self) -> bool:
        """Whether some steps are a trip of the loop: of short ones, where blocks wait for each other in each."""
        if self.parts > 1:
            return self.bm == 128 and self.bn == 64
        return self.cluster > 1 and self.bm * self.bn <= SHORT

    @property
    def slab_rows(self) -> int:
        """Rows of a slab in memory."""
        return self.slab if self.trans else self.bm

    @property
    def slab_columns(self) -> int:
        """Columns of a slab in memory."""
        return self.bm if self.trans else self.slab

    @property
    def pieces(self) -> int:
        """Pieces of 8 x 8 elements of a slab that a warp stores at a time."""
        return 4 if self.slab % 16 == 0 else 2

    @property
    def wide(self) -> int:
        """Columns of a slab, to whole rounds of a warp."""
        return (self.slab + 31) // 32 * 32


@dataclass(frozen=True)
class Blocks:
    """Scales of blocks, each of `DEPTH` of K (scales.py): one for each `a` rows of A, and for each `b` columns of B.

    These are 1 or `DEPTH`; 0: there are no scales of blocks. `outside_a`, `outside_b`: K is the outer extent of the matrix of
    scales. `rounds_a`, `rounds_b`: room for the scales of a step of a tile, `ROUND` each.
    """

    a: int = 0
    b: int = 0
    outside_a: bool = False
    outside_b: bool = False

    rounds_a: int = 0
    rounds_b: int = 0

    @property
    def factors(self) -> int:
        """Scales of a step."""
        return ROUND * (self.rounds_a + self.rounds_b)

    def fit(self, bm: int, bn: int) -> Blocks:
        """Return the same with room for the scales of a tile."""
        rounds_a, rounds_b = (1 if each == DEPTH else -(-many // ROUND) for each, many in ((self.a, bm), (self.b, bn)))
        return replace(self, rounds_a=rounds_a, rounds_b=rounds_b)


NO_BLOCKS = Blocks()


@dataclass(frozen=True)
class Terms:
    """What sums are multiplied with, and what is added: a scale of A and of B, C times beta where `beta`, a bias.

    Of scales 0: none, 1: one of all, 2: one of each row of A, or column of B. Of a bias 0: none, 1: one a column, 2: one a row.
    """

    scale_a: int = 0
    scale_b: int = 0
    bias: int = 0
    beta: bool = False
