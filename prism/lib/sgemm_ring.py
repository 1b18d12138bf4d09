"""The sixth variant of `sgemm`: copies of what is better copied first, the ring, and the sum of its parts.

`Ring` is Hopper's; `AsyncRing`, for Ampere and later, copies any operand as it lies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import memory
from prism.kernels.sgemm import Layout
from prism.kernels.sgemm import pack as packing
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.ring import ring
from prism.kernels.sgemm.ring_async import ring_async
from prism.kernels.sgemm.sums import ADDERS, combine
from prism.lib.reference import run
from prism.lib.sgemm_matrices import SIZE, WIDE, Matrix
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance, instance
from prism.runtime.launch import Launcher
from prism.runtime.tensor_maps import encode

ARCH = "sm_90a"
FIRST = 80
"""The first architecture that has `cp.async`."""
Inputs = Callable[[int], tuple[Any, ...]]
"""What a kernel is given of A or B, or both, where the call's room begins at an address."""


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

    @property
    def room(self) -> int:
        """Elements of the copy."""
        return self.outer * self.pitch if self.packed else 0

    @property
    def transposed(self) -> bool:
        """Whether the copy is read down its columns."""
        return abs(self.steps[0]) < abs(self.steps[1])

    @property
    def copies(self) -> tuple[int, int]:
        """Blocks and threads of the copy."""
        return -(-self.outer // packing.SIDE) * -(-self.inner // packing.SIDE), packing.THREADS


def operand(matrix: Matrix, extents: tuple[int, int], steps: tuple[int, int], batches: int) -> Operand:
    """Return a matrix of so many k and rows or columns: by tensor copies if they can take it, else by threads."""
    outer, inner = extents
    dense = steps[1] == 1 or inner == 1
    apart = outer == 1 or (steps[0] % WIDE == 0 and steps[0] >= inner)
    begins = matrix.first % WIDE == 0 and (batches == 1 or matrix.matrices % WIDE == 0)
    threads = rings.ALONG if steps[0] == 1 else rings.ACROSS
    return Operand(matrix, outer, inner, steps, rings.TENSOR if dense and apart and begins else threads)


def choose_copies(a: Operand, b: Operand, batches: int, clocks: float) -> tuple[Operand, Operand]:
    """Return the operands of products that take so many clocks, with a copy first of what gains by it.

    Threads copy a row-major A, or a column-major B beside it, without much loss; of a large product, what begins anywhere is
    better copied first, and so is a column-major B beside a column-major A (`rings.LOSS` has the figures).
    """

    def packed(one: Operand) -> Operand:
        copies = batches if one.matrix.matrices else 1
        gains = copies * rings.copy_clocks(one.outer * one.inner) < rings.LOSS * clocks
        return replace(one, way=rings.TENSOR, packed=True) if gains else one

    left = a if a.way.tensor or a.even else packed(a)
    right = b if b.way.tensor or (b.even and not left.way.tensor) else packed(b)
    if (left.way, right.way) in rings.WAYS:
        return left, right
    left = replace(a, way=rings.ACROSS) if a.way.tensor else a
    return left, b if (left.way, b.way) in rings.WAYS else replace(b, way=rings.ACROSS)


@dataclass(frozen=True, slots=True)
class Ring:
    """A batch of products as the ring makes them. `wide`: rows of the result can be written by fours."""

    a: Operand
    b: Operand
    c: Matrix
    batches: int
    sizes: tuple[int, int, int]
    factors: tuple[float, float]
    cut: rings.Cut
    wide: bool
    processors: int

    @property
    def clocks(self) -> float:
        """About how long it takes, on one H200."""
        m, n, _ = self.sizes
        found: float = self.batches * rings.clocks(self.cut, m, n, self.processors)
        for one in (self.a, self.b):
            found += self.times(one) * rings.copy_clocks(one.outer * one.inner) if one.packed else 0.0
        return found

    def times(self, one: Operand) -> int:
        """Return how many matrices of an operand there are."""
        return self.batches if one.matrix.matrices else 1

    def instances(self) -> Iterator[Instance]:
        """Return the kernels that it takes."""
        for one in (self.a, self.b):
            if one.packed:
                yield packer(one.transposed)
        if self.cut.whole:
            yield self.main
        if self.cut.blocks:
            yield self.splitter
            yield adder(self.cut.configuration, self.wide, self.factors[1] != 0)

    @property
    def main(self) -> Instance:
        """The ring's kernel, for tiles that are done whole."""
        return self.kernel(self.wide, self.factors[1] != 0)

    @property
    def splitter(self) -> Instance:
        """The ring's kernel, for parts: they are of whole vectors, and added to nothing."""
        return self.kernel(True, False)

    def kernel(self, wide: bool, beta: bool) -> Instance:
        """Return the ring's kernel."""
        return instance_for(self.cut.configuration, self.a.way, self.b.way, wide, beta)

    def on_device(self, where: ArrayInfo) -> Call:
        """Return the launches that it comes down to on a GPU, their kernels ready."""
        assert where.device is not None
        found = self.cut.configuration
        parts = 2 * self.cut.blocks * found.bm * found.bn
        steps = [step for p in range(self.batches) for step in self._launches(p, where)]
        return Call(replace(where, owner=None), self.a.room + self.b.room + parts, tuple(steps))

    def _launches(self, p: int, where: ArrayInfo) -> Iterator[Step]:
        """Return the launches of the p-th product. In the room there are a copy of A, one of B, and the parts."""
        assert where.device is not None
        (m, n, k), (alpha, beta), cut = self.sizes, self.factors, self.cut
        found, room = cut.configuration, self.a.room + self.b.room
        for one, place in ((self.a, 0), (self.b, self.a.room)):
            if one.packed and p < self.times(one):
                yield _copy(one, p, place, where.device)
        out = self.c.argument() + SIZE * p * self.c.matrices
        if cut.whole:
            main, given = self._ready(self.main, p, where)
            rest = (0, cut.whole, cut.steps, rings.TALL, alpha, beta)

            def whole(base: int) -> tuple[Any, ...]:
                return (*given(base), out, self.c.rows, m, n, k, *rest)

            yield Step(main, rings.grid(cut, self.processors), found.threads, whole)
        if cut.blocks:
            splitter, bound = self._ready(self.splitter, p, where)

            def split(base: int) -> tuple[Any, ...]:
                parts, shares = base + SIZE * room, (cut.whole, cut.tiles, cut.share, rings.TALL)
                return (*bound(base), parts, found.bn, m, n, k, *shares, 1.0, 0.0)

            def added(base: int) -> tuple[Any, ...]:
                sizes = self.c.rows, m, n, cut.whole, cut.steps, cut.share
                return (base + SIZE * room, out, *sizes, rings.TALL, alpha, beta)

            yield Step(splitter, cut.blocks, found.threads, split)
            sums = adder(found, self.wide, beta != 0).launcher(where.device)
            each = found.bm * found.bn // (found.vectors * WIDE * ADDERS)
            yield Step(sums, (cut.tiles - cut.whole) * each, ADDERS, added)

    def _ready(self, kernel: Instance, p: int, where: ArrayInfo) -> tuple[Launcher, Inputs]:
        """Return a kernel's launcher, and what gives it the p-th A and B."""
        assert where.device is not None
        launcher = kernel.launcher(where.device)
        of_a, _, _, of_b = launcher.entry.parameters[:4]
        left, right = _inputs_of(self.a, p, 0, of_a, where), _inputs_of(self.b, p, self.a.room, of_b, where)
        return launcher, lambda base: (*left(base), *right(base))

    def on_host(self) -> None:
        """Run the ring on the reference machine, with small tiles, and without parts."""
        (m, n, k), (alpha, beta), cut = self.sizes, self.factors, rings.cut_in(self.small, *self.sizes, self.sizes[2])
        small = replace(self, cut=cut, wide=False)
        rest = (0, cut.tiles, cut.steps, rings.TALL, alpha, beta)
        for p in range(self.batches):
            out = self.c.argument()[p * self.c.matrices :]
            run(small.main.program, 2, cut.configuration.threads, (*small.inputs(p), out, self.c.rows, m, n, k, *rest))

    @property
    def small(self) -> rings.Tile:
        """The reference machine's tile."""
        return rings.HOST

    def inputs(self, p: int) -> tuple[Any, ...]:
        """Return what stands for the p-th A and B on the host, and their strides."""
        left, right = (
            (_array(one, p), 0, 0) if one.way.tensor else _matrix_at(one.matrix, p) for one in (self.a, self.b)
        )
        return (*left, *right)


@dataclass(frozen=True, slots=True)
class AsyncRing(Ring):
    """The same by `ring_async`: nothing is copied first. `layouts`: how A and B are copied in."""

    layouts: tuple[Layout, Layout]

    def kernel(self, wide: bool, beta: bool) -> Instance:
        """Return the ring's kernel."""
        return async_for(self.cut.configuration, *self.layouts, wide, beta)

    def _ready(self, kernel: Instance, p: int, where: ArrayInfo) -> tuple[Launcher, Inputs]:
        """Return a kernel's launcher, and what gives it the p-th A and B."""
        assert where.device is not None
        given = self.inputs(p)
        return kernel.launcher(where.device), lambda _: given

    @property
    def small(self) -> rings.Tile:
        """The reference machine's tile."""
        return rings.ASYNC_HOST

    def inputs(self, p: int) -> tuple[Any, ...]:
        """Return the p-th A and B, and their strides."""
        return (*_matrix_at(self.a.matrix, p), *_matrix_at(self.b.matrix, p))


def arrange(
    a: Matrix, b: Matrix, c: Matrix, batches: int, sizes: tuple[int, int, int], factors: tuple[float, float], wide: bool,
    processors: int,
) -> Ring:  # fmt: skip
    """Return how the ring makes products; K is at least 1, and the result's rows are dense."""
    m, n, k = sizes
    cut = rings.choose(m, n, k, processors)
    left = operand(a, (k, m), (a.columns, a.rows), batches)
    right = operand(b, (k, n), (b.rows, b.columns), batches)
    left, right = choose_copies(left, right, batches, batches * rings.clocks(cut, m, n, processors))
    return Ring(left, right, c, batches, sizes, factors, cut, wide and n % WIDE == 0, processors)


def arranged_async(
    a: Matrix, b: Matrix, c: Matrix, batches: int, sizes: tuple[int, int, int], factors: tuple[float, float],
    layouts: tuple[Layout, Layout], wide: bool, processors: int,
) -> AsyncRing:  # fmt: skip
    """Return how the ring without tensor copies makes products; K is at least 1, and the result's rows are dense."""
    m, n, k = sizes
    left = Operand(a, k, m, (a.columns, a.rows), rings.ACROSS)
    right = Operand(b, k, n, (b.rows, b.columns), rings.ACROSS)
    cut = rings.choose(m, n, k, processors, rings.ASYNC_TILES)
    return AsyncRing(left, right, c, batches, sizes, factors, cut, wide and n % WIDE == 0, processors, layouts)


@functools.lru_cache(maxsize=1024)
def instance_for(cut: rings.Tile, a: rings.Way, b: rings.Way, wide: bool, beta: bool) -> Instance:
    """Return the ring's kernel, cut into tiles by a configuration, for operands that are copied so."""
    assert isinstance(cut, rings.RingConfiguration)
    return instance(ring, tuple(sorted(cut.template(a, b, wide=wide, beta=beta).items())))


@functools.lru_cache(maxsize=1024)
def async_for(cut: rings.Tile, a: Layout, b: Layout, wide: bool, beta: bool) -> Instance:
    """Return the kernel without tensor copies, cut into tiles by a configuration, for operands that lie so."""
    assert isinstance(cut, rings.AsyncConfiguration)
    return instance(ring_async, tuple(sorted(cut.template(a, b, wide=wide, beta=beta).items())))


def adder(cut: rings.Tile, wide: bool, beta: bool) -> Instance:
    """Return the kernel that adds up parts of a configuration's tiles."""
    return instance(combine, tuple(sorted(cut.adder(wide=wide, beta=beta).items())))


def packer(transposed: bool) -> Instance:
    """Return the kernel that copies an operand into dense rows."""
    return instance(packing.pack, (("TRANSPOSE", transposed),))


def _array(one: Operand, p: int) -> Any:
    """Return a matrix on the host, as the ring reads it."""
    steps = tuple(SIZE * step for step in one.steps)
    memory = one.matrix.argument()[p * one.matrix.matrices :]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(memory, (one.outer, one.inner), steps))


def _matrix_at(matrix: Matrix, p: int) -> tuple[Any, int, int]:
    """Return the p-th of an operand's matrices, and its strides."""
    first = p * matrix.matrices
    memory = matrix.argument()
    return memory[first:] if matrix.info.device is None else memory + SIZE * first, matrix.rows, matrix.columns


# -- Launches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A launch, whose values depend on where the call's room lies."""

    launch: Launcher
    blocks: int
    threads: int
    values: Callable[[int], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Call:
    """Launches, one after the other; `room`: elements of memory for what lies between them."""

    where: ArrayInfo
    room: int
    steps: tuple[Step, ...]

    def make(self, stream: int) -> None:
        """Launch on a stream; the room is the array library's, who has it back when the stream has done with it."""
        held, base = memory.scratch(self.where, SIZE * self.room, stream) if self.room else (None, 0)
        for step in self.steps:
            step.launch(step.blocks, step.threads, stream, step.values(base))
        del held


def _copy(one: Operand, p: int, place: int, device: int) -> Step:
    """Return the launch that copies the p-th matrix of an operand to a place in the room."""
    source = one.matrix.argument() + SIZE * p * one.matrix.matrices

    def values(base: int) -> tuple[Any, ...]:
        return (source, *one.steps, one.outer, one.inner, base + SIZE * place, one.pitch)

    return Step(packer(one.transposed).launcher(device), *one.copies, values)


def _inputs_of(one: Operand, p: int, place: int, parameter: Any, where: ArrayInfo) -> Inputs:
    """Return what makes the kernel's arguments of the p-th matrix of an operand: a map of it or its copy, or it, and strides."""
    if not one.way.tensor:
        walked = _matrix_at(one.matrix, p)
        return lambda _: walked

    def made(pointer: int) -> tuple[Any, ...]:
        strides = (SIZE * one.pitch, SIZE)
        return encode(parameter, replace(where, pointer=pointer, shape=(one.outer, one.inner), strides=strides)), 0, 0

    if one.packed:
        return lambda base: made(base + SIZE * place)
    fixed = made(one.matrix.argument() + SIZE * p * one.matrix.matrices)
    return lambda _: fixed
