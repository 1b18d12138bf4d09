"""The matrices of a product: how they lie, by the names of a call's arrays, and not where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from prism.host.axes import c_strides
from prism.host.plan import Buffer, Map
from prism.lang.types.structs import dtype_called
from prism.runtime.arrays import ArrayInfo
from prism.runtime.tensor_maps import PIECE

MOST = 2**31 - 2**10
"""The largest extent: kernels' sizes are 32-bit, and tiles stick out."""


@dataclass(frozen=True, slots=True)
class View:
    """An array of a call, or a part of it, from byte `offset` of the array called `name` on; `strides` are in bytes.

    `begins`: how many bytes that array begins past a multiple of 16. `transposed`: the last two axes are exchanged. `natural`:
    elements are as kernels read them.
    """

    name: str
    scalar: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    begins: int = 0
    offset: int = 0
    transposed: bool = False
    natural: bool = True

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return dtype_called(self.scalar).itemsize

    @property
    def aligned(self) -> bool:
        """Whether it begins at a multiple of 16 bytes."""
        return (self.begins + self.offset) % PIECE == 0

    @property
    def contiguous(self) -> bool:
        """Whether elements lie one after the other, the last axis innermost."""
        steps = zip(self.shape, self.strides, c_strides(self.shape), strict=True)
        return 0 in self.shape or all(extent == 1 or step == self.size * dense for extent, step, dense in steps)

    @property
    def dense(self) -> bool:
        """Whether elements lie one after the other, with axes in some order, as kernels read them."""
        axes = sorted(range(len(self.shape)), key=lambda k: (-self.strides[k], -self.shape[k]))
        shape, strides = tuple(self.shape[k] for k in axes), tuple(self.strides[k] for k in axes)
        return self.natural and replace(self, shape=shape, strides=strides).contiguous

    @property
    def rows_dense(self) -> bool:
        """Whether the elements of a matrix's rows lie one after the other, and rows don't overlap."""
        return self.inside and (self.strides[-2] >= self.shape[-1] * self.size or self.shape[-2] == 1)

    @property
    def buffer(self) -> Buffer:
        """The memory from its first element on."""
        return Buffer(self.name, self.offset, self.scalar, prod(self.shape))

    @property
    def map(self) -> Map:
        """Its tensor map."""
        return Map(self.buffer, self.shape, self.strides)

    def turn(self) -> View:
        """Return the same memory with the last two axes exchanged."""
        (*before, rows, columns), (*apart, down, across) = self.shape, self.strides
        shape, strides = (*before, columns, rows), (*apart, across, down)
        return replace(self, shape=shape, strides=strides, transposed=not self.transposed)

    def with_batch(self) -> View:
        """Return the same memory with four axes: of one batch, where it has three."""
        if len(self.shape) == 4:
            return self
        step = self.shape[0] * abs(self.strides[0])
        return replace(self, shape=(1, *self.shape), strides=(step, *self.strides))

    def with_order(self, axes: tuple[int, ...]) -> View:
        """Return the same memory, its axes in another order."""
        return replace(self, shape=tuple(self.shape[k] for k in axes), strides=tuple(self.strides[k] for k in axes))

    def matrix(self, index: tuple[int, ...]) -> View:
        """Return the matrix of a batch that is broadcast to where `index` points."""
        axes = len(self.shape) - 2
        at = tuple(0 if extent == 1 else i for i, extent in zip(index[len(index) - axes :], self.shape, strict=False))
        offset = self.offset + sum(i * stride for i, stride in zip(at, self.strides, strict=False))
        return replace(self, offset=offset, shape=self.shape[axes:], strides=self.strides[axes:])

    def rows(self) -> View | None:
        """Return an array of matrices as one matrix, where one stride leads from each row to the next."""
        step = end = 0  # bytes to the next row, and to the first row behind those looked at
        for extent, stride in zip(self.shape[-2::-1], self.strides[-2::-1], strict=True):
            if extent == 1:
                continue
            if step and stride != end:
                return None
            step, end = step or stride, stride * extent
        shape = (prod(self.shape[:-1]), self.shape[-1])
        return replace(self, shape=shape, strides=(step or shape[1] * self.size, self.strides[-1]))

    @property
    def apart(self) -> bool:
        """Whether no two elements are in one place, because of an axis that is broadcast."""
        return all(step > 0 for extent, step in zip(self.shape, self.strides, strict=True) if extent > 1)

    @property
    def inside(self) -> bool:
        """Whether the elements of the last axis lie one after the other."""
        return self.strides[-1] == self.size or self.shape[-1] == 1

    def fits_tensor_copies(self, host: bool) -> bool:
        """Whether tensor copies take an array of several axes as it is; the reference machine (`host`) takes what has no gaps."""
        if host:
            return self.dense
        steps = (step for extent, step in zip(self.shape[:-1], self.strides[:-1], strict=True) if extent > 1)
        rows = all(step % PIECE == 0 and 0 <= step < 1 << 40 for step in steps)
        return self.natural and self.aligned and self.inside and rows

    def fits_tensor_copy(self, axis: int) -> bool:
        """Whether tensor copies take a matrix as it is, its elements along an axis one after the other."""
        apart = self.strides[1 - axis]
        dense = self.strides[axis] == self.size or self.shape[axis] == 1
        rows = apart % PIECE == 0 and apart >= self.shape[axis] * self.size
        return dense and self.aligned and (rows or self.shape[1 - axis] == 1)


def view_of(name: str, info: ArrayInfo, scalar: str = "") -> View:
    """Return an array of a call; `scalar`: what its elements are, where its dtype doesn't say so."""
    begins = info.pointer % PIECE
    return View(name, scalar or info.scalar, info.shape, info.strides, begins, natural=info.natural)


def new_view(name: str, scalar: str, shape: tuple[int, ...], offset: int = 0) -> View:
    """Return an array that is made in C order, at a multiple of 16 bytes."""
    size = dtype_called(scalar).itemsize
    return View(name, scalar, shape, tuple(size * step for step in c_strides(shape)), offset=offset)


def with_axes(view: View, row: bool, column: bool) -> View:
    """Return an array with an axis of one row before its last, and one of one column behind it, where they are missing."""
    shape, strides = list(view.shape), list(view.strides)
    if column:
        shape, strides = [*shape, 1], [*strides, view.size]
    if row:
        shape.insert(-1, 1)
        strides.insert(-1, shape[-1] * abs(strides[-1]))
    return replace(view, shape=tuple(shape), strides=tuple(strides))
