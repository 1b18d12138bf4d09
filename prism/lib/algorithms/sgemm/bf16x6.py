"""`sgemm` by the tensor cores: each float32 as three bfloat16, of whose nine products six matter; small ones come first."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prism.host.plan import NO_MAP, Buffer, Machine, Map, Scratch, Step, instance_of, nothing
from prism.kernels.hgemm import HOST, NN, Configuration, blocks, choose, group_m, identity
from prism.kernels.sgemm import split as planes
from prism.lib.algorithms.hgemm.plan import instance_for
from prism.lib.algorithms.hgemm.product import NO_BIAS
from prism.lib.algorithms.sgemm.matrices import SIZE, Matrix, Product
from prism.runtime.instance import Instance
from prism.runtime.tensor_maps import PIECE

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
        return int(planes.PLANES * self.plane)


@dataclass(frozen=True, slots=True)
class Planes:
    """How the tensor cores make a product. K is at least 1, and the result's rows are dense."""

    product: Product

    @property
    def direct(self) -> bool:
        """Whether tensor copies can write the result; else it is made in the room, and added from there."""
        c, batches = self.product.c, self.product.batches
        steps = (c.first, c.rows, self.product.sizes[1], c.matrices if batches > 1 else 0)
        return all(step * SIZE % PIECE == 0 for step in steps)

    @property
    def width(self) -> int:
        """Elements of a row of B's planes, and of a result in the room."""
        return -(-self.product.sizes[1] // ALONG) * ALONG

    @property
    def columns(self) -> int:
        """Columns that are written: those of the result, or in the room also what is behind them."""
        return self.product.sizes[1] if self.direct else self.width

    def parts(self) -> list[Part]:
        """Return the parts of K, about as long as one another."""
        k, beta = self.product.sizes[2], self.product.beta if self.direct else 0.0
        depth = -(-k // -(-k // CHUNK) // DEEP) * DEEP
        return [Part(first, min(depth, k - first), 1.0 if first else beta) for first in range(0, k, depth)]

    def split(self, p: int, part: Part, left: bool, room: Buffer) -> Step:
        """Return the launch that makes a part of the planes of the p-th A (`left`) or B, in the room."""
        m, n, _ = self.product.sizes
        one = self.product.a if left else self.product.b
        source = one.buffer(p, part.first * (one.columns if left else one.rows))
        valid = (m, part.depth) if left else (part.depth, n)
        rows, columns = (m, part.plane) if left else (part.plane, self.width)
        stride, apart = (part.k, part.plane) if left else (self.width, part.plane * self.width)
        given = {"x": source, "rs": one.rows, "cs": one.columns, "m": valid[0], "n": valid[1], "out": room}
        given |= {"rows": rows, "columns": columns, "stride": stride // planes.WORD, "apart": apart // planes.WORD}
        return Step(splitter(left, _down(one)), _blocks(rows, columns), planes.THREADS, given)

    def multiply(
        self, part: Part, cut: Configuration, processors: int, rooms: tuple[Buffer, Buffer], target: Buffer
    ) -> Step:
        """Return the launch that multiplies planes in the room; `target` is the result, or a place in the room."""
        (m, _, _), n, width = self.product.sizes, self.columns, self.width
        pitch = self.product.c.rows if self.direct else width
        left = Map(rooms[0], (m, part.k), (part.k * HALF, HALF))
        right = Map(rooms[1], (part.k, n), (width * HALF, HALF))
        result = Map(target, (m, n), (pitch * SIZE, SIZE))
        trans = cut.transposes_out(NN)
        rows, columns = (n, m) if trans else (m, n)
        down, across = cut.tiles(rows, columns)
        given: dict[str, Any] = {"map_a": right if trans else left, "map_b": left if trans else right}
        given |= {"map_c": result if part.beta else NO_MAP, "map_out": result, "out": target, "stride": pitch}
        given |= {"m": rows, "n": columns, "k": part.k, "group_m": group_m(cut, down, across, processors)}
        given |= {"prefetch_k": 0, "alpha": self.product.alpha, "beta": part.beta, "bias": nothing("bfloat16")}
        given |= {"scale_a": nothing("float32"), "scale_b": nothing("float32")}
        many = blocks(cut, down, across, processors)
        return Step(multiplier(part.beta != 0, cut), many, cut.threads, given)


def steps_of(product: Product, machine: Machine, scratch: Scratch) -> Iterator[Step]:
    """Return the launches of a product. In the room there are A's planes, B's, and the result if it isn't direct.

    Raises:
        ValueError: the GPU is no Hopper.
    """
    if not machine.host and machine.arch != ARCH:
        raise ValueError(f"`precision` is {NAME}, which needs a Hopper GPU ({ARCH}), and this one is {machine.arch}")
    found, (m, n, _), processors = Planes(product), product.sizes, machine.multiprocessors
    parts, width = found.parts(), found.width
    k = max(part.k for part in parts)
    rooms = scratch.take("bfloat16", m * k), scratch.take("bfloat16", k * width)
    behind = None if found.direct else scratch.take("float32", m * width)
    for p in range(product.batches):
        out = product.c.buffer(p)
        for part in parts:
            for left, one, room in ((True, product.a, rooms[0]), (False, product.b, rooms[1])):
                if len(parts) > 1 or p == 0 or one.matrices:
                    yield found.split(p, part, left, room)
            cut = HOST if machine.host else choose(m, found.columns, part.k, processors, layout=NN)
            yield found.multiply(part, cut, processors, rooms, behind or out)
        if behind is not None:
            given = {"x": behind, "pitch": width, "m": m, "n": n, "out": out, "stride": product.c.rows}
            kernel = settler(product.beta != 0)
            yield Step(kernel, _blocks(m, n), planes.THREADS, {**given, "beta": product.beta})


def _blocks(rows: int, columns: int) -> int:
    return int(-(-rows // planes.SIDE) * -(-columns // planes.SIDE))


def _down(matrix: Matrix) -> bool:
    """Whether a matrix is read down its columns."""
    return abs(matrix.rows) < abs(matrix.columns)


# -- Kernels --------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def multiplier(beta: bool, cut: Configuration) -> Instance:
    """Return the kernel that multiplies the planes, cut into tiles by a configuration."""
    trans = cut.transposes_out(NN)
    layout = trans, not trans
    return instance_for("bfloat16", "float32", layout, False, beta, NO_BIAS, identity, cut, trans=trans)


def splitter(left: bool, down: bool) -> Instance:
    """Return the kernel that makes the planes of A (`left`) or B, read down their columns or along their rows."""
    return instance_of(planes.split, {"LEFT": left, "TRANSPOSE": down})


def settler(beta: bool) -> Instance:
    """Return the kernel that brings a result where tensor copies can't."""
    return instance_of(planes.settle, {"BETA": beta})
