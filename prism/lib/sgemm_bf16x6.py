"""`sgemm` by the tensor cores: each float32 as three bfloat16, of whose nine products six matter; small ones come first."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.kernels.hgemm import HOST, NN, Configuration, blocks, choose, group_m, hgemm, identity
from prism.kernels.sgemm import split as planes
from prism.lib.matmul_layouts import NO_BIAS, NO_SCALE
from prism.lib.reference import run
from prism.lib.sgemm_matrices import SIZE, Matrix
from prism.lib.sgemm_ring import Call, Step
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance, instance
from prism.runtime.tensor_maps import PIECE, encode

NAME = "bf16x6"
ARCH = "sm_90a"
CHUNK = 2048
"""Elements of K that the tensor cores add up, who drop what does not fit; beyond it sums are added as float32.

Measured with elements from 0 to 1: at most half of the error that is allowed, where 4096 would make 0.84 of it (docs/sgemm.md).
"""
DEEP = 16
"""The elements of K in a plane are a multiple of it."""
ALONG = 8
"""So are the elements of a row of B's planes: rows begin at multiples of 16 bytes."""
HALF = 2
"""Bytes of a bfloat16."""


def require(arch: str) -> None:
    """Check that a GPU can do it.

    Raises:
        ValueError: it is no Hopper.
    """
    if arch != ARCH:
        raise ValueError(f"`precision` is {NAME}, which needs a Hopper GPU ({ARCH}), and this one is {arch}")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of K, `depth` elements of it from `first` on; `beta` is the factor of what was there before."""

    first: int
    depth: int
    beta: float

    @property
    def plane(self) -> int:
        """Elements of K in a plane."""
        return -(-self.depth // DEEP) * DEEP

    @property
    def k(self) -> int:
        """Elements of K in all planes."""
        found: int = planes.PLANES * self.plane
        return found


@dataclass(frozen=True, slots=True)
class Product:
    """A batch of products, m x n x k, as the tensor cores make them. K is at least 1, and the result's rows are dense."""

    a: Matrix
    b: Matrix
    c: Matrix
    batches: int
    sizes: tuple[int, int, int]
    factors: tuple[float, float]

    @property
    def direct(self) -> bool:
        """Whether tensor copies can write the result; else it is made in the room, and added from there."""
        steps = (self.c.first, self.c.rows, self.sizes[1], self.c.matrices if self.batches > 1 else 0)
        return all(step * SIZE % PIECE == 0 for step in steps)

    @property
    def width(self) -> int:
        """Elements of a row of B's planes, and of a result in the room."""
        return -(-self.sizes[1] // ALONG) * ALONG

    @property
    def columns(self) -> int:
        """Columns that are written: those of the result, or in the room also what is behind them."""
        return self.sizes[1] if self.direct else self.width

    def parts(self, beta: float | None = None) -> list[Part]:
        """Return the parts of K, about as long as one another; `beta`: the first one's, by default as on a GPU."""
        if beta is None:
            beta = self.factors[1] if self.direct else 0.0
        k = self.sizes[2]
        depth = -(-k // -(-k // CHUNK) // DEEP) * DEEP
        return [Part(first, min(depth, k - first), 1.0 if first else beta) for first in range(0, k, depth)]

    def planes_of(self, p: int, part: Part, left: bool) -> tuple[Matrix, tuple[int, ...]]:
        """Return a part of the p-th A (`left`) or B, and the numbers that `split` takes of it."""
        m, n, _ = self.sizes
        found = self.a if left else self.b
        along_k = found.columns if left else found.rows
        found = found._replace(start=found.start + p * found.matrices + part.first * along_k)
        valid = (m, part.depth) if left else (part.depth, n)
        written = (m, part.plane) if left else (part.plane, self.width)
        apart = (part.k, part.plane) if left else (self.width, part.plane * self.width)
        return found, (found.rows, found.columns, *valid, *written, *(step // planes.WORD for step in apart))

    def cut(self, part: Part, processors: int) -> Configuration:
        """Return how a part's product is cut into tiles."""
        found: Configuration = choose(self.sizes[0], self.columns, part.k, processors, layout=NN)
        return found

    def instances(self, processors: int) -> Iterator[Instance]:
        """Return the kernels that it takes on a GPU."""
        yield from (splitter(True, _down(self.a)), splitter(False, _down(self.b)))
        for part in self.parts():
            yield multiplier(part.beta != 0, self.cut(part, processors))
        if not self.direct:
            yield settler(self.factors[1] != 0)

    # -- on a GPU -----------------------------------------------------------------------------------------------------

    def on_device(self, where: ArrayInfo, processors: int) -> Call:
        """Return the launches that it comes down to on a GPU, their kernels ready."""
        m, n, _ = self.sizes
        parts = self.parts()
        k = max(part.k for part in parts) * HALF // SIZE
        rooms = (m * k, k * self.width, 0 if self.direct else m * self.width)
        steps = [step for p in range(self.batches) for step in self._launches(p, parts, rooms, where, processors)]
        return Call(replace(where, owner=None), sum(rooms), tuple(steps))

    def _launches(
        self, p: int, parts: list[Part], rooms: tuple[int, int, int], where: ArrayInfo, processors: int
    ) -> Iterator[Step]:
        """Return the launches of the p-th product. In the room there are A's planes, B's, and the result if it isn't direct."""
        assert where.device is not None
        out, behind = self.c.argument() + SIZE * p * self.c.matrices, SIZE * (rooms[0] + rooms[1])
        for part in parts:
            for left, place in ((True, 0), (False, SIZE * rooms[0])):
                if len(parts) > 1 or p == 0 or (self.a if left else self.b).matrices:
                    yield self._split(p, part, left, place, where.device)
            yield self._multiply(part, SIZE * rooms[0], out if self.direct else behind, where, processors)
        if not self.direct:
            beta, (m, n, _) = self.factors[1], self.sizes
            values = (self.width, m, n, out, self.c.rows, beta)
            launcher = settler(beta != 0).launcher(where.device)
            yield Step(launcher, _blocks(m, n), planes.THREADS, lambda base: (base + behind, *values))

    def _split(self, p: int, part: Part, left: bool, place: int, device: int) -> Step:
        """Return the launch that makes an operand's planes, at a place in the room."""
        found, numbers = self.planes_of(p, part, left)
        source, kernel = found.argument(), splitter(left, _down(found)).launcher(device)
        return Step(kernel, _blocks(*numbers[4:6]), planes.THREADS, lambda base: (source, *numbers, base + place))

    def _multiply(self, part: Part, right: int, out: int, where: ArrayInfo, processors: int) -> Step:
        """Return the launch that multiplies the planes: B's `right` bytes into the room, as `out` is where it isn't direct."""
        assert where.device is not None
        (m, _, _), n, cut = self.sizes, self.columns, self.cut(part, processors)
        pitch = self.c.rows if self.direct else self.width
        launcher = multiplier(part.beta != 0, cut).launcher(where.device)
        rows, columns = (n, m) if cut.transposes_out(NN) else (m, n)
        down, across = cut.tiles(rows, columns)
        many = blocks(cut, down, across, processors)
        of_a, of_b, of_c, of_out = launcher.entry.parameters[:4]
        if cut.transposes_out(NN):
            of_a, of_b = of_b, of_a

        def mapped(parameter: Any, pointer: int, rows: int, columns: int, step: int) -> bytes:
            shape, strides = (rows, columns), (step, parameter.numpy.itemsize)
            return encode(parameter, replace(where, pointer=pointer, shape=shape, strides=strides, owner=None))

        @functools.lru_cache(maxsize=4)  # the room is mostly where it was in the call before
        def values(base: int) -> tuple[Any, ...]:
            target = out if self.direct else base + out
            left = mapped(of_a, base, m, part.k, part.k * HALF)
            other = mapped(of_b, base + right, part.k, n, self.width * HALF)
            before = mapped(of_c, target, m, n, pitch * SIZE) if part.beta else bytes(128)
            result = mapped(of_out, target, m, n, pitch * SIZE)
            numbers = (rows, columns, part.k, group_m(cut, down, across, processors), 0, self.factors[0], part.beta)
            operands = (other, left) if cut.transposes_out(NN) else (left, other)
            return (*operands, before, result, target, pitch, base, *numbers, base, base)  # no bias, no scales

        return Step(launcher, many, cut.threads, values)

    # -- on the host --------------------------------------------------------------------------------------------------

    def on_host(self) -> None:
        """Run it on the reference machine."""
        (m, n, _), (alpha, beta) = self.sizes, self.factors
        for p in range(self.batches):
            sums = np.zeros((m, self.width), np.float32)
            for part in self.parts(0.0):
                a, b = (self._planes_on_host(p, part, left) for left in (True, False))
                program = multiplier(part.beta != 0, HOST).program
                numbers = (self.width, np.zeros(1, np.uint16), m, self.width, part.k, 1, 0, alpha, part.beta)
                scales = (np.zeros(1, np.float32),) * 2
                run(program, HOST.cluster, HOST.threads, (a, b, sums, sums, sums.reshape(-1), *numbers, *scales))
            out = self.c.argument()[p * self.c.matrices :]
            values = (sums.reshape(-1), self.width, m, n, out, self.c.rows, beta)
            run(settler(beta != 0).program, _blocks(m, n), planes.THREADS, values)

    def _planes_on_host(self, p: int, part: Part, left: bool) -> Any:
        """Return an operand's planes, as the bits of bfloat16."""
        found, numbers = self.planes_of(p, part, left)
        shape = (self.sizes[0], part.k) if left else (part.k, self.width)
        made = np.zeros(shape, np.uint16)
        values = (found.argument(), *numbers, made.reshape(-1).view(np.uint64))
        run(splitter(left, _down(found)).program, _blocks(*numbers[4:6]), planes.THREADS, values)
        return made


def _blocks(rows: int, columns: int) -> int:
    found: int = -(-rows // planes.SIDE) * -(-columns // planes.SIDE)
    return found


def _down(matrix: Matrix) -> bool:
    """Whether a matrix is read down its columns."""
    return abs(matrix.rows) < abs(matrix.columns)


# -- Kernels --------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def multiplier(beta: bool, cut: Configuration) -> Instance:
    """Return the kernel that multiplies the planes, cut into tiles by a configuration."""
    trans = cut.transposes_out(NN)
    layout = cut.template(transpose_a=trans, transpose_b=not trans, out_bytes=SIZE, trans=trans)
    facts = {"T": "bfloat16", "TB": "bfloat16", "TBIAS": "bfloat16", "OUT": "float32", "PLAIN": False, "BETA": beta}
    facts |= {"SCALE_A": NO_SCALE, "SCALE_B": NO_SCALE, "BIAS": NO_BIAS, "BATCH": 0}
    return instance(hgemm, tuple(sorted({**facts, "EPILOGUE": identity, **layout}.items())))


def splitter(left: bool, down: bool) -> Instance:
    """Return the kernel that makes the planes of A (`left`) or B, read down their columns or along their rows."""
    return instance(planes.split, (("LEFT", left), ("TRANSPOSE", down)))


def settler(beta: bool) -> Instance:
    """Return the kernel that brings a result where tensor copies can't."""
    return instance(planes.settle, (("BETA", beta),))
