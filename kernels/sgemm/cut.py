"""How `ring` and `ring_async` cut a product into tiles: records of constants, from which the layouts of tiles follow."""

from __future__ import annotations

from dataclasses import dataclass

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
    def across(self) -> int:
        """Warps side by side, which multiply."""
        return self.bn // (8 * self.columns)

    @property
    def warps(self) -> int:
        """Warps that multiply, each 32 rows of the tile."""
        return self.bm // 32 * self.across

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps


@dataclass(frozen=True)
class RingCut(TileCut):
    """Tiles of `ring`, which helpers copy: by tensor copies, or by threads, adjacent ones `along` K or across it."""

    tensor_a: bool
    along_a: bool
    tensor_b: bool
    along_b: bool
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
    """Tiles of `ring_async`, which all threads copy: adjacent ones `along` K, or across it, four elements at a time if `wide`."""

    along_a: bool
    wide_a: bool
    along_b: bool
    wide_b: bool

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
