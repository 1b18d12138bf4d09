"""How a product is cut into tiles: a record of sizes, and what follows from them."""

from dataclasses import dataclass, replace
from math import ceil

from prism.kernels.hgemm.cut import NO_BLOCKS, Blocks, Cut, Terms

Layout = tuple[bool, bool]
NN, TN = (False, True), (True, True)  # whether `a` and `b` have K outside: T has the elements of a column side by side
SPAN = 128  # bytes that the tensor copy engine permutes pieces in: a row of an operand's tile, and of a slab
NO_TERMS = Terms()
PACKED = "", " pack a", " pack b", " pack ab"
ROOM = 226 * 1024  # bytes of shared memory that a block has on Hopper, less what barriers take


@dataclass(frozen=True)
class Configuration:
    """A tile of `bm x bn` elements of the result, `bk` of K at a time (of 8-bit inputs twice that), with `stages` of these in
    shared memory.

    A block has `consumers` warpgroups that multiply, and one of helpers. `ahead` products are under way when the next
    begin. The sums are rounded and stored in slabs of a tile's columns, at most `span` bytes of each row, of which there are
    `slabs`, or fewer if there is no room. `cluster_m` blocks share the columns of a tile, or `cluster_n` its rows: each
    copies a part of what they share, for all of them. Or `parts` blocks make one tile, each of a part of K, by another kernel.
    Or K is in `shares`, which blocks make one by one, and another kernel adds up.
    `trans`: the product is made as its transpose wherever `a` has K inside; `straight`: nowhere.
    `packed`: operands that are copied first, to have K inside, in rows that begin with sectors: 1 is `a`, 2 `b`, 3 both.
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
    shares: int = 1
    packed: int = 0

    @property
    def threads(self) -> int:
        """Threads a block."""
        return 128 * (self.consumers + 1)

    @property
    def cluster(self) -> int:
        """Blocks a cluster."""
        return self.cluster_m * self.cluster_n * self.parts

    def packed_layout(self, layout: Layout) -> Layout:
        """Return the layout of the operands that the kernel reads, of those of a layout."""
        return layout[0] and not self.packed & 1, layout[1] and not self.packed & 2

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
        wide = not layout[0] and (padded or self.bm * self.bn > 128 * 256)
        return not self.straight and (self.trans or wide)

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        facts = {"w": self.consumers, "s": self.stages, "a": self.ahead, "slabs": self.slabs}
        cluster = f" c{self.cluster_m}x{self.cluster_n}" if self.cluster > self.parts else ""
        cluster += f" p{self.parts}" if self.parts > 1 else f" k{self.shares}" if self.shares > 1 else ""
        cluster += " t" if self.trans else " straight" if self.straight else ""
        cluster += PACKED[self.packed]
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
        terms: Terms = NO_TERMS, blocks: Blocks = NO_BLOCKS,
    ) -> Cut:  # fmt: skip
        """Return the tiles as the kernels see them, for operands that have K inside, or outside.

        Scales and a bias, which `terms` says, are read ahead, of two slabs, and scales of `blocks` with the tiles: they take
        room from the slabs.
        """
        bk, columns = self.bk * 2 // in_bytes, self.b_columns if transpose_b else self.bn
        found = Cut(
            self.bm, self.bn, bk, self.stages, self.ahead, self.consumers, transpose_a, transpose_b,
            columns_b=self.b_columns if transpose_b else bk, span_b=self.span_b if transpose_b else SPAN, trans=trans,
            cluster_m=self.cluster_m, cluster_n=self.cluster_n, parts=self.parts,
        )  # fmt: skip
        if self.parts > 1:
            return found
        by_row, by_column = (terms.scale_a > 0) + (terms.bias == 2), (terms.scale_b > 0) + (terms.bias == 1)
        ahead = 2 * 4 * (by_row * self.bm + by_column * ceil(self.span // out_bytes / 32) * 32)  # bytes
        ahead += self.stages * 4 * blocks.factors
        room = (ROOM - self.stages * (self.bm + columns) * self.bk * 2 - ahead) // self.bm  # bytes of each row
        slab = self.slab(out_bytes, added=(trans or self.straight) and terms.beta, room=room)
        most = 8 if slab == 8 and out_bytes == 2 and self.bn > 64 else 4  # five or seven make wide tiles spill
        slabs = min(most, min(self.slabs * self.span, room) // (slab * out_bytes))
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
