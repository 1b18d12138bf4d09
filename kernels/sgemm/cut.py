"""How `ring` and `ring_async` cut a product into tiles: records of constants, from which the layouts of tiles follow."""

from __future__ import annotations

from dataclasses import dataclass

ADDERS = 256
"""Threads of a block of `combine`."""
PAD = 4
"""Elements that a row of a tile is longer where threads copy it: what a warp copies, 8 in k by 4, is then of 32 banks."""


@dataclass(frozen=True)
class TileCut:
    """Tiles of `bm x bn` of the result, `bk` of K at a time, of which there are `stages`; a thread has 8 by `columns` elements.

    `blocks`: how many are to fit a multiprocessor.
    """

    bm: int
    bn: int
    bk: int
    stages: int
    columns: int
    blocks: int

    @property
    def down(self) -> int:
        """Lanes of a warp above each other: it has 8 rows of the tile times that."""
        return min(4, self.bm // 8)

    @property
    def wide(self) -> int:
        """Columns of the tile that a warp has."""
        return 32 // self.down * self.columns

    @property
    def across(self) -> int:
        """Warps side by side, which multiply."""
        return self.bn // self.wide

    @property
    def warps(self) -> int:
        """Warps that multiply."""
        return self.bm // (8 * self.down) * self.across

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps


@dataclass(frozen=True)
class RingCut(TileCut):
    """Tiles of `ring`, which helpers copy: by tensor copies, or by threads, adjacent ones `along` K or across it.

    Where elements lie side by side across it, `dense`, a thread copies `each` of them at a time, one or two.
    """

    tensor_a: bool
    along_a: bool
    each_a: int
    dense_a: bool
    tensor_b: bool
    along_b: bool
    each_b: int
    dense_b: bool
    worker_registers: int
    helper_registers: int

    @property
    def threads(self) -> int:
        """Threads of a block: a warpgroup more are helpers."""
        return 32 * self.warps + 128

    @property
    def width_a(self) -> int:
        """Elements of a row of a tile of A."""
        return self.bm if self.tensor_a else self.bm + PAD

    @property
    def width_b(self) -> int:
        """Elements of a row of a tile of B."""
        return self.bn if self.tensor_b else self.bn + PAD

    @property
    def unroll(self) -> int:
        """Rows that a thread copies in a trip of its loop."""
        return 2 if self.columns == 16 else 1


@dataclass(frozen=True)
class AsyncCut(TileCut):
    """Tiles of `ring_async`, which all threads copy: adjacent ones `along` K, or across it, four elements at a time if `wide`.

    `dense`: elements lie side by side across K, and are copied one by one.
    """

    along_a: bool
    wide_a: bool
    dense_a: bool
    along_b: bool
    wide_b: bool
    dense_b: bool

    @property
    def width_a(self) -> int:
        """Elements of a row of a tile of A."""
        return self.bm + PAD

    @property
    def width_b(self) -> int:
        """Elements of a row of a tile of B."""
        return self.bn + PAD

    @property
    def each_a(self) -> int:
        """Elements of A that are copied at a time."""
        return 4 if self.wide_a and not self.along_a else 1

    @property
    def each_b(self) -> int:
        """The same of B."""
        return 4 if self.wide_b and not self.along_b else 1

    @property
    def side_a(self) -> bool:
        """Whether elements of A are known to lie side by side across K."""
        return self.dense_a or (self.wide_a and not self.along_a)

    @property
    def side_b(self) -> bool:
        """The same of B."""
        return self.dense_b or (self.wide_b and not self.along_b)

    @property
    def lanes_a(self) -> int:
        """Threads side by side, across K, that copy what lies side by side: of one warp where addresses differ by constants."""
        return 32 if self.dense_a else self.bm // self.each_a

    @property
    def lanes_b(self) -> int:
        """The same of B."""
        return 32 if self.dense_b else self.bn // self.each_b


FEW_THREADS = 256
"""Threads of a block of `few`."""
EACH = 4
"""Elements that a thread of `few` has of a column of B, or of a row, in each step."""


@dataclass(frozen=True)
class FewCut:
    """How `few` makes products of at most `rows` rows, by clusters of `parts` blocks, each of which has a part of K.

    `along`: elements of B lie side by side along K, and a warp has `side` of its columns. Else they lie across, and of a warp
    `lanes` are side by side, the others below each other: a lane has four columns, of some k. They are read `vector` at a time;
    where that is 0, elements lie anywhere.
    """

    rows: int
    parts: int = 1
    along: bool = False
    vector: int = 0
    lanes: int = 32
    side: int = 4

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        more = f" s{self.side}" * (self.side < 4) + f" l{self.lanes}" * (self.lanes < 32)
        return f"few {self.rows} p{self.parts}{more}"

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return FEW_THREADS // 32

    @property
    def piece(self) -> int:
        """Elements that a thread reads at a time."""
        return max(1, self.vector)

    @property
    def columns(self) -> int:
        """Columns of the result that a thread has sums of."""
        return self.side if self.along else EACH

    @property
    def width(self) -> int:
        """Columns of a block."""
        return self.warps * self.side if self.along else self.lanes * EACH

    @property
    def depth(self) -> int:
        """Elements of K that shared memory has of A."""
        return max(512, 4096 // self.rows)

    @property
    def step(self) -> int:
        """What a part of K is a multiple of: so much a block has of each load of its threads."""
        return 32 * EACH if self.along else self.warps * 32 // self.lanes

    @property
    def ahead(self) -> int:
        """Steps that a thread loads at a time."""
        if self.along:
            most = 8 if self.rows * self.side <= 4 else 4
            return max(1, min(most // self.side, self.depth // self.step))
        return 8 if self.rows <= 4 else 4

    @property
    def held(self) -> int:
        """Vectors of B that a thread has of them."""
        return self.ahead * (self.side if self.along else 1)

    @property
    def blocks(self) -> int:
        """Blocks a multiprocessor, at least."""
        if self.rows > 8:
            return 1
        return 3 if self.rows == 1 and self.vector else 2

    @property
    def rows_a(self) -> int:
        """Rows of A in shared memory."""
        return self.rows if self.along else self.depth

    @property
    def columns_a(self) -> int:
        """Columns of A in shared memory."""
        return self.depth if self.along else self.rows
