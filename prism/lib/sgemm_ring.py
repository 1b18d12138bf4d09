"""The sixth variant of `sgemm`: copies where tensor copies can't take an operand, the ring, and the sum of its parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.interpret import run
from prism.kernels.sgemm import pack as packing
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.ring import ADDERS, combine, ring
from prism.lib import own
from prism.lib.sgemm_matrices import SIZE, WIDE, Matrix
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance, instance
from prism.runtime.launch import Launcher
from prism.runtime.tensor_maps import encoded

ARCH = "sm_90a"


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix as the ring reads it, `outer x inner`, the given one's elements `steps` apart.

    `packed`: it is copied first, since its elements don't lie side by side along `inner`, or rows don't begin at multiples of 16
    bytes.
    """

    matrix: Matrix
    outer: int
    inner: int
    steps: tuple[int, int]
    packed: bool

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


def operand(matrix: Matrix, extents: tuple[int, int, int], turned: bool) -> Operand:
    """Return how a matrix of so many rows, columns and matrices is read: its columns as rows where `turned`."""
    rows, columns, batches = extents
    outer, inner = (columns, rows) if turned else (rows, columns)
    steps = (matrix.columns, matrix.rows) if turned else (matrix.rows, matrix.columns)
    dense = steps[1] == 1 or inner == 1
    apart = outer == 1 or (steps[0] % WIDE == 0 and steps[0] >= inner)
    begins = matrix.first % WIDE == 0 and (batches == 1 or matrix.matrices % WIDE == 0)
    return Operand(matrix, outer, inner, steps, not (dense and apart and begins))


@dataclass(frozen=True, slots=True)
class Ring:
    """A batch of products as the ring makes them. `wide`: rows of the result can be written by fours."""

    a: Operand
    b: Operand
    c: Matrix
    transpose_a: bool
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
        return instance_for(self.cut.configuration, self.transpose_a, self.wide, self.factors[1] != 0)

    @property
    def splitter(self) -> Instance:
        """The ring's kernel, for parts: they are of whole vectors, and added to nothing."""
        return instance_for(self.cut.configuration, self.transpose_a, True, False)

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
            main, maps = self._ready(self.main, p, where)
            rest = (0, cut.whole, cut.steps, rings.TALL, alpha, beta)

            def whole(base: int) -> tuple[Any, ...]:
                return (*(made(base) for made in maps), out, self.c.rows, m, n, k, *rest)

            yield Step(main, rings.grid(cut, self.processors), found.threads, whole)
        if cut.blocks:
            splitter, bound = self._ready(self.splitter, p, where)

            def split(base: int) -> tuple[Any, ...]:
                parts, shares = base + SIZE * room, (cut.whole, cut.tiles, cut.share, rings.TALL)
                return (*(made(base) for made in bound), parts, found.bn, m, n, k, *shares, 1.0, 0.0)

            def added(base: int) -> tuple[Any, ...]:
                sizes = self.c.rows, m, n, cut.whole, cut.steps, cut.share
                return (base + SIZE * room, out, *sizes, rings.TALL, alpha, beta)

            yield Step(splitter, cut.blocks, found.threads, split)
            sums = adder(found, self.wide, beta != 0).launcher(where.device)
            each = found.bm * found.bn // (found.vectors * WIDE * ADDERS)
            yield Step(sums, (cut.tiles - cut.whole) * each, ADDERS, added)

    def _ready(self, kernel: Instance, p: int, where: ArrayInfo) -> tuple[Launcher, list[Callable[[int], bytes]]]:
        """Return a kernel's launcher, and what makes its maps of the p-th A and B."""
        assert where.device is not None
        launcher = kernel.launcher(where.device)
        of_a, of_b = launcher.entry.parameters[:2]
        return launcher, [_map(self.a, p, 0, of_a, where), _map(self.b, p, self.a.room, of_b, where)]

    def on_host(self) -> None:
        """Run the ring on the reference machine, with small tiles, and without parts."""
        (m, n, k), (alpha, beta), host = self.sizes, self.factors, rings.HOST
        program = instance_for(host, False, False, beta != 0).program
        rest = (0, host.tiles(m, n), -(-k // host.bk), rings.TALL, alpha, beta)
        for p in range(self.batches):
            a, b = (_array(one, p) for one in (self.a, self.b))
            left = np.ascontiguousarray(a.T) if self.transpose_a else a
            out = self.c.argument()[p * self.c.matrices :]
            run(program, 2, host.threads, (left, b, out, self.c.rows, m, n, k, *rest))


def arranged(
    a: Matrix, b: Matrix, c: Matrix, batches: int, sizes: tuple[int, int, int], factors: tuple[float, float], wide: bool,
    processors: int,
) -> Ring:  # fmt: skip
    """Return how the ring makes products; K is at least 1, and the result's rows are dense.

    A lies as it is given, row by row or column by column; a column-major B is copied.
    """
    m, n, k = sizes
    down = [operand(a, (m, k, batches), turned) for turned in (False, True)]
    turned = down[0].packed and (not down[1].packed or abs(a.rows) < abs(a.columns))
    cut = rings.choose(m, n, k, processors)
    right = operand(b, (k, n, batches), False)
    return Ring(down[turned], right, c, turned, batches, sizes, factors, cut, wide and n % WIDE == 0, processors)


@functools.lru_cache(maxsize=1024)
def instance_for(cut: rings.RingConfiguration, transpose_a: bool, wide: bool, beta: bool) -> Instance:
    """Return the ring's kernel, cut into tiles by a configuration."""
    return instance(ring, tuple(sorted(cut.template(transpose_a=transpose_a, wide=wide, beta=beta).items())))


def adder(cut: rings.RingConfiguration, wide: bool, beta: bool) -> Instance:
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
        held, base = own.scratch(self.where, SIZE * self.room, stream) if self.room else (None, 0)
        for step in self.steps:
            step.launch(step.blocks, step.threads, stream, step.values(base))
        del held


def _copy(one: Operand, p: int, place: int, device: int) -> Step:
    """Return the launch that copies the p-th matrix of an operand to a place in the room."""
    source = one.matrix.argument() + SIZE * p * one.matrix.matrices

    def values(base: int) -> tuple[Any, ...]:
        return (source, *one.steps, one.outer, one.inner, base + SIZE * place, one.pitch)

    return Step(packer(one.transposed).launcher(device), *one.copies, values)


def _map(one: Operand, p: int, place: int, parameter: Any, where: ArrayInfo) -> Callable[[int], bytes]:
    """Return what makes the tensor map of the p-th matrix of an operand."""

    def made(pointer: int) -> bytes:
        strides = (SIZE * one.pitch, SIZE)
        return encoded(parameter, replace(where, pointer=pointer, shape=(one.outer, one.inner), strides=strides))

    if one.packed:
        return lambda base: made(base + SIZE * place)
    fixed = made(one.matrix.argument() + SIZE * p * one.matrix.matrices)
    return lambda _: fixed
