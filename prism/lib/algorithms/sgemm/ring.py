"""The sixth variant of `sgemm`: copies of what is better copied first, the ring, and the sum of its parts.

`ring` is Hopper's; `ring_async`, for Ampere and later, copies any operand as it lies.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import Buffer, Map, Scratch, Step, instance_of
from prism.kernels.sgemm import Layout
from prism.kernels.sgemm import pack as packing
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.ring import ring
from prism.kernels.sgemm.ring_async import ring_async
from prism.kernels.sgemm.sums import ADDERS, combine
from prism.lib.algorithms.sgemm.matrices import SIZE, WIDE, Matrix, Product
from prism.runtime.instance import Instance

ARCH = "sm_90a"
FIRST = 80
"""The first architecture that has `cp.async`."""


def has_async(arch: str) -> bool:
    """Return whether an architecture, as in `sm_90a`, has `cp.async`."""
    return int(arch.removeprefix("sm_").rstrip("af")) >= FIRST


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix as the ring's tiles lie: `outer` k, of `inner` rows of A, or columns of B, elements `steps` apart.

    `way`: what copies it into the tiles. `packed`: it is copied first, so that tensor copies can.
    """

    matrix: Matrix
    outer: int
    inner: int
    steps: tuple[int, int]
    way: rings.Way
    packed: bool = False

    @property
    def even(self) -> bool:
        """Whether elements lie side by side along k, and rows begin at multiples of 16 bytes."""
        return self.way.along and self.matrix.first % WIDE == 0 and (self.inner == 1 or self.steps[1] % WIDE == 0)

    @property
    def pitch(self) -> int:
        """Elements from a row to the next, of what the ring reads."""
        return -(-self.inner // WIDE) * WIDE if self.packed else self.steps[0]


def operand(matrix: Matrix, extents: tuple[int, int], steps: tuple[int, int], batches: int) -> Operand:
    """Return a matrix of so many k and rows or columns: by tensor copies if they can take it, else by threads."""
    outer, inner = extents

    def begin_at(piece: int) -> bool:
        """Whether all rows begin at multiples of so many elements."""
        return (
            (steps[1] == 1 or inner == 1) and (outer == 1 or (steps[0] % piece == 0 and steps[0] >= inner))
            and matrix.first % piece == 0 and (batches == 1 or matrix.matrices % piece == 0)
        )  # fmt: skip

    pairs = begin_at(2) and inner % 2 == 0
    side = rings.ACROSS if steps[1] != 1 and inner > 1 else rings.PAIRS if pairs else rings.DENSE
    return Operand(
        matrix, outer, inner, steps, rings.TENSOR if begin_at(WIDE) else rings.ALONG if steps[0] == 1 else side
    )


def copies(a: Operand, b: Operand) -> Iterator[tuple[Operand, Operand]]:
    """Return the ways to copy operands into tiles: as they lie, by threads what tensor copies can't take, or that packed first.

    Threads copy a row-major A, or a column-major B beside it, without much loss; of a large product, what begins anywhere is
    better packed first, and so is a column-major B beside a column-major A (docs/sgemm.md).
    """

    def packed(one: Operand) -> Operand:
        return replace(one, way=rings.TENSOR, packed=True)

    spills = a.way.tensor and not (b.way.tensor or b.way.along)  # in tiles of 96 and 64 rows
    yield replace(a, way=rings.PAIRS) if spills else a, b
    left = a if a.way.tensor or a.even else packed(a)
    right = b if b.way.tensor or (b.even and not left.way.tensor) else packed(b)
    if left.packed or right.packed:
        yield left, right


@dataclass(frozen=True, slots=True)
class Staged:
    """How a ring makes a product. `wide`: rows of the result can be written by fours; `layouts`: how A and B lie, for
    `ring_async`, or None.
    """

    product: Product
    a: Operand
    b: Operand
    cut: rings.Cut
    wide: bool
    processors: int
    layouts: tuple[Layout, Layout] | None

    @property
    def clocks(self) -> float:
        """About how long it takes, on one H200."""
        m, n, _ = self.product.sizes
        taken = taken_by_copies(self.a, self.b) if self.layouts is None else (rings.EVEN, 0.0)
        wide = self.wide or self.layouts is not None
        found: float = self.product.batches * rings.clocks(self.cut, m, n, self.processors, taken, wide=wide)
        if self.layouts is not None:
            found *= 1 + rings.ODD_ASYNC * sum(not layout.wide for layout in self.layouts)
        for one in (self.a, self.b):
            found += self.times(one) * rings.copy_clocks(one.outer * one.inner) if one.packed else 0.0
        return found

    def of(self, product: Product) -> Staged:
        """Return the same for another product, whose matrices lie alike."""
        a, b = replace(self.a, matrix=product.a), replace(self.b, matrix=product.b)
        return replace(self, product=product, a=a, b=b)

    def times(self, one: Operand) -> int:
        """Return how many matrices of an operand there are."""
        return self.product.batches if one.matrix.matrices else 1

    def kernel(self, wide: bool, beta: bool) -> Instance:
        """Return the ring's kernel."""
        return instance_for(self.cut.configuration, *(self.layouts or (self.a.way, self.b.way)), wide, beta)

    def steps(self, scratch: Scratch) -> Iterator[Step]:
        """Return the launches. In the room there are a copy of A, one of B, and the parts, for one product after the other."""
        cut, (m, n, k) = self.cut, self.product.sizes
        found, alpha, beta = cut.configuration, self.product.alpha, self.product.beta
        room_a, room_b = (
            scratch.take("float32", one.outer * one.pitch) if one.packed else None for one in (self.a, self.b)
        )
        parts = scratch.take("float32", 2 * cut.blocks * found.bm * found.bn)
        sizes = {"m": m, "n": n, "group_m": rings.TALL}
        for p in range(self.product.batches):
            for one, room in ((self.a, room_a), (self.b, room_b)):
                if room is not None and p < self.times(one):
                    yield _copy(one, p, room)
            given = {**sizes, "k": k, **_inputs("A", "a", self.a, p, room_a), **_inputs("B", "b", self.b, p, room_b)}
            out = {"out": self.product.c.buffer(p), "stride": self.product.c.rows, "alpha": alpha, "beta": beta}
            if cut.whole:
                whole = {**given, **out, "tile": 0, "end": cut.whole, "share": cut.steps}
                yield Step(self.kernel(self.wide, beta != 0), rings.grid(cut, self.processors), found.threads, whole)
            if cut.blocks:  # parts are of whole vectors, and added to nothing
                split = {**given, "out": parts, "stride": found.bn, "alpha": 1.0, "beta": 0.0}
                split |= {"tile": cut.whole, "end": cut.tiles, "share": cut.share}
                yield Step(self.kernel(True, False), cut.blocks, found.threads, split)
                split = cut.split(self.processors)
                added = {**sizes, **out, "parts": parts, "tile": cut.whole, "steps": cut.steps, "share": cut.share}
                kernel = adder(found, self.wide, beta != 0, split)
                yield Step(kernel, cut.adders * split, ADDERS, added)


def arrange(
    product: Product, processors: int, tensor: bool, cut: rings.Cut | None = None, hopper: bool = False
) -> Staged:
    """Return how a ring makes products, with tensor copies or without; K is at least 1, and the result's rows are dense.

    `cut`: the tiles, by default as it suits the shape, on a Hopper GPU or another.
    """
    a, b, (m, n, k) = product.a, product.b, product.sizes
    layouts = product.layouts
    wide = layouts[2].wide and n % WIDE == 0
    if not tensor:
        left, right = (
            Operand(a, k, m, (a.columns, a.rows), rings.ACROSS), Operand(b, k, n, (b.rows, b.columns), rings.ACROSS)
        )  # fmt: skip
        cut = cut or rings.choose(m, n, k, processors, rings.HOPPER_TILES if hopper else rings.ASYNC_TILES)
        lie = (layouts[0], a.rows == 1), (layouts[1], b.columns == 1)
        one, other = (lay._replace(dense=side and not (lay.along or lay.wide)) for lay, side in lie)
        return Staged(product, left, right, cut, wide, processors, (one, other))
    return min(arrangements(product, processors, cut), key=lambda staged: staged.clocks)


def arrangements(product: Product, processors: int, cut: rings.Cut | None = None) -> list[Staged]:
    """Return the ways to make products with tensor copies: operands copied first, or not."""
    a, b, (m, n, k), batches = product.a, product.b, product.sizes, product.batches
    wide = product.layouts[2].wide and n % WIDE == 0
    left = operand(a, (k, m), (a.columns, a.rows), batches)
    right = operand(b, (k, n), (b.rows, b.columns), batches)
    among = (*rings.TILES, *rings.MORE, *(rings.FEW_ROWS if m <= rings.FEW else ()))
    found = []
    for one, other in copies(left, right):
        chosen = cut or rings.choose(m, n, k, processors, among, taken_by_copies(one, other), wide=wide)
        found.append(Staged(product, one, other, chosen, wide, processors, None))
    return found


def taken_by_copies(a: Operand, b: Operand) -> tuple[float, float]:
    """Return the clocks that an element of a tile of A, and of B, takes to copy."""
    taken: tuple[float, float] = rings.copies_of(a.way, b.way, even_a=a.even, even_b=b.even)
    return taken


def on_host(product: Product, tensor: bool) -> Staged:
    """Return how a ring makes products on the reference machine: with small tiles, and without parts."""
    tile = rings.HOST if tensor else rings.ASYNC_HOST
    cut = rings.cut_in(tile, *product.sizes, product.sizes[2])
    return replace(arrange(product, 132, tensor, cut), wide=False, processors=2)


@functools.lru_cache(maxsize=1024)
def instance_for(cut: rings.Tile, a: rings.Way | Layout, b: rings.Way | Layout, wide: bool, beta: bool) -> Instance:
    """Return the kernel that a configuration names, cut into its tiles, for operands that are copied, or lie, so."""
    assert isinstance(cut, rings.RingConfiguration | rings.AsyncConfiguration)
    kernel = ring_async if isinstance(cut, rings.AsyncConfiguration) else ring
    return instance_of(kernel, cut.template(a, b, wide=wide, beta=beta))


def adder(cut: rings.Tile, wide: bool, beta: bool, split: int = 1) -> Instance:
    """Return the kernel that adds up parts of a configuration's tiles."""
    return instance_of(combine, cut.adder(wide=wide, beta=beta, split=split))


def packer(transposed: bool) -> Instance:
    """Return the kernel that copies an operand into dense rows."""
    return instance_of(packing.pack, {"T": "float32", "TRANSPOSE": transposed})


def _copy(one: Operand, p: int, room: Buffer) -> Step:
    """Return the launch that copies the p-th matrix of an operand to a place in the room."""
    rs, cs = one.steps
    given = {"x": one.matrix.buffer(p), "rs": rs, "cs": cs, "m": one.outer, "n": one.inner}
    blocks = -(-one.outer // packing.SIDE) * -(-one.inner // packing.SIDE)
    return Step(packer(abs(rs) < abs(cs)), blocks, packing.THREADS, {**given, "out": room, "stride": one.pitch})


def _inputs(name: str, short: str, one: Operand, p: int, room: Buffer | None) -> dict[str, Any]:
    """Return the arguments of the p-th matrix of an operand: a map of it or of its copy, or it and its strides."""
    memory, strides = room or one.matrix.buffer(p), (one.matrix.rows, one.matrix.columns)
    if not one.way.tensor:
        return {name: memory, f"rs_{short}": strides[0], f"cs_{short}": strides[1]}
    lying = Map(memory, (one.outer, one.inner), (SIZE * one.pitch, SIZE))
    return {name: lying, f"rs_{short}": 0, f"cs_{short}": 0}
