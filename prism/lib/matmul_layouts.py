"""How the matrices of a product lie in memory, and what the kernel is given: copied only where tensor copies can't take them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.lang.surface import Kernel
from prism.lib.matmul_arguments import eight_bits
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.overlap import overlap
from prism.runtime.tensor_maps import PIECE, SECTOR

NO_BIAS, COLUMNS, ROWS = 0, 1, 2
"""What a bias has an element for."""

PER_TRANS = {NO_BIAS: NO_BIAS, COLUMNS: ROWS, ROWS: COLUMNS}
"""The same of the transposed result."""

NO_SCALE, ONE_SCALE, EACH_SCALE = 0, 1, 2
"""What scales of an operand there are: one of all, or one of each of the result's rows or columns."""


def how_many(scale: ArrayInfo | None) -> int:
    """Return which of these an array is."""
    return NO_SCALE if scale is None else ONE_SCALE if scale.size == 1 else EACH_SCALE


def other(kinds: tuple[str, str]) -> str:
    """Return the dtype of `b` where it is not that of `a`, or the empty string."""
    return "" if kinds[0] == kinds[1] else kinds[1]


@dataclass(frozen=True, slots=True)
class Job:
    """A checked call: `per` says what the bias has an element for, `kind` is the result's dtype."""

    a: ArrayInfo
    b: ArrayInfo
    c: ArrayInfo | None
    bias: ArrayInfo | None
    per: int
    out: ArrayInfo | None
    kind: str
    alpha: float
    beta: float
    epilogue: Kernel
    scale_a: ArrayInfo | None = None
    scale_b: ArrayInfo | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """m, n, k."""
        return self.a.shape[0], self.b.shape[1], self.a.shape[1]

    @property
    def kinds(self) -> tuple[str, str]:
        """The dtypes of the operands."""
        return self.a.scalar, self.b.scalar

    @property
    def k_inside(self) -> bool:
        """Whether operands must have K inside: those of 8-bit floats."""
        return eight_bits(self.a.scalar)


@dataclass(frozen=True, slots=True)
class Call:
    """What the kernel is given: matrices as their tensor maps have them, their dtypes; `plain`: it writes without a map.

    `result` is what the caller gets; where `copied`, what the kernel makes is copied there. Of `batches` products the matrices
    lie below each other, those of `a` where `batch` is 1 or 3, those of `b` where it is 2 or 3; where not, all have the same.
    Where `trans`, the kernel makes out^T: its `a` is the caller's b^T, and so on; `out` and `c` stay as they are.
    """

    a: ArrayInfo
    b: ArrayInfo
    kinds: tuple[str, str]
    c: ArrayInfo | None
    out: ArrayInfo
    bias: ArrayInfo
    per: int
    transpose_a: bool
    transpose_b: bool
    result: Any
    copied: bool
    batch: int = 0
    batches: int = 1
    trans: bool = False
    scale_a: ArrayInfo | None = None
    scale_b: ArrayInfo | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """m, n, k of a product, as the kernel makes it."""
        k = self.a.shape[0 if self.transpose_a else 1]
        apart = self.transpose_a and self.batch % 2 == 1
        rows, columns = self.out.shape[0] // self.batches, self.out.shape[1]
        m, n = (columns, rows) if self.trans else (rows, columns)
        return m, n, k // self.batches if apart else k

    def turn(self) -> Call:
        """Return the same product, not of a batch, that the kernel makes as its transpose."""
        a_outside, b_outside = self.transpose_b, self.transpose_a
        found = replace(self, a=self.b, b=self.a, kinds=self.kinds[::-1], transpose_a=a_outside, transpose_b=b_outside)
        return replace(found, per=PER_TRANS[self.per], trans=True, scale_a=self.scale_b, scale_b=self.scale_a)

    def takes_own_arrays(self, job: Job) -> bool:
        """Whether the kernel is given the caller's own arrays alone: the same call again makes no copy and no new array."""
        kept = {self.a.pointer, self.b.pointer} == {job.a.pointer, job.b.pointer} and not self.copied
        same = self.c is None or job.c is None or self.c.pointer == job.c.pointer
        scales = _pointers(self.scale_a, self.scale_b) == _pointers(job.scale_a, job.scale_b)  # turning exchanges them
        return kept and same and scales and (job.bias is None or job.bias.pointer == self.bias.pointer)

    @property
    def beta(self) -> bool:
        """Whether `c` is read."""
        return self.c is not None

    @property
    def plain(self) -> bool:
        """Whether tensor copies can't write the result: not at all, or not without writing beyond its rows."""
        return not fits_tensor_copy(self.out, 1) or self.out.shape[1] * self.out.dtype.itemsize % PIECE != 0

    @property
    def stride(self) -> int:
        """Elements from a row of the result to the next."""
        return self.out.strides[0] // self.out.dtype.itemsize

    @property
    def maps(self) -> tuple[Any, Any, Any, Any]:
        """What the kernel's tensor maps are made of; what it doesn't use is bytes of no meaning."""
        unused = bytes(128)
        return self.a, self.b, unused if self.c is None else self.c, unused if self.plain else self.out


def _pointers(*infos: ArrayInfo | None) -> set[int]:
    return {info.pointer for info in infos if info is not None}


def arrange(job: Job) -> Call:
    """Return how the kernel makes a result: operands copied where they must be, the result beside `out` where it must be."""
    if job.out is not None and job.out.size and not fits_tensor_copy(job.out, 1) and fits_tensor_copy(job.out, 0):
        job = _transpose(job)
    m, n, _ = job.shape
    a, b = operands(job)
    left, transpose_a = _operand(a, 1, job.k_inside)
    right, transpose_b = _operand(b, 0, job.k_inside)
    bias = left if job.bias is None else _dense(job.bias)
    before = job.c if job.c is None or fits_tensor_copy(job.c, 1) else describe(_pad(job.c))
    scales = [None if info is None else _dense(info) for info in (job.scale_a, job.scale_b)]
    reads = left, right, bias, *(info for info in scales if info is not None)
    target = (
        job.out if job.out is not None and _usable(job.out, before, reads) else describe(empty(a, (m, n), job.kind))
    )
    result = target.owner if job.out is None else job.out.owner
    copied = job.out is not None and target is not job.out
    return Call(
        left, right, job.kinds, before, target, bias, job.per, transpose_a, transpose_b, result, copied,
        scale_a=scales[0], scale_b=scales[1],
    )  # fmt: skip


def _transpose(job: Job) -> Job:
    """Return the transposed product: for a result whose columns, not its rows, lie one after the other."""
    trans = [None if info is None else transpose(info) for info in (job.b, job.a, job.c, job.out)]
    a, b, before, out = trans
    assert a is not None and b is not None
    per = PER_TRANS[job.per]
    return replace(job, a=a, b=b, c=before, out=out, per=per, scale_a=job.scale_b, scale_b=job.scale_a)


def transpose(info: ArrayInfo) -> ArrayInfo:
    """Return the same memory with the last two axes exchanged."""
    *before, rows, columns = info.shape
    *apart, down, across = info.strides
    shape, strides = (*before, columns, rows), (*apart, across, down)
    return replace(info, shape=shape, strides=strides, owner=info.owner.swapaxes(-1, -2))


def operands(job: Job) -> tuple[ArrayInfo, ArrayInfo]:
    """Return what is multiplied; where there is nothing to add up, zeros."""
    m, n, k = job.shape
    if k:
        return job.a, job.b
    a, b = (describe(empty(job.a, shape, job.a.scalar, zeros=True)) for shape in ((m, 8), (8, n)))
    return a, b


# -- operands ---------------------------------------------------------------------------------------------------------


def fits_tensor_copy(info: ArrayInfo, axis: int) -> bool:
    """Whether tensor copies take a matrix as it is, its elements along an axis one after the other."""
    size, apart = info.dtype.itemsize, info.strides[1 - axis]
    dense = info.strides[axis] == size or info.shape[axis] == 1
    rows = apart % PIECE == 0 and apart >= info.shape[axis] * size
    return dense and info.pointer % PIECE == 0 and (rows or info.shape[1 - axis] == 1)


def _operand(info: ArrayInfo, along_k: int, k_inside: bool) -> tuple[ArrayInfo, bool]:
    """Return a matrix as its tensor map has it, outer extent first, and whether that is K, its axis `along_k`."""
    if k_inside and not fits_tensor_copy(info, along_k):
        info = describe(_pad(info)) if along_k else transpose(describe(_pad(transpose(info))))
    elif not fits_tensor_copy(info, 0) and not fits_tensor_copy(info, 1):
        info = describe(_pad(info))
    k_outside = not fits_tensor_copy(info, along_k)
    outer = along_k if k_outside else 1 - along_k
    axes = (outer, 1 - outer)
    shape, strides = tuple(info.shape[axis] for axis in axes), tuple(info.strides[axis] for axis in axes)
    return replace(info, shape=shape, strides=strides), k_outside


def _pad(info: ArrayInfo) -> Any:
    """Return a copy of a matrix whose rows begin at multiples of 32 bytes: with a sector of the L2."""
    rows, columns = info.shape
    copy = empty(info, (rows, _room(columns, info.dtype.itemsize)), info.scalar)[:, :columns]
    copy[...] = info.owner
    return copy


def _room(columns: int, size: int) -> int:
    """Return how many elements a row has that ends with a sector."""
    return -(-columns * size // SECTOR) * SECTOR // size


def _dense(info: ArrayInfo) -> ArrayInfo:
    """Return an array, or a copy of it, whose elements lie one after the other."""
    if info.contiguous:
        return info
    flat = info.owner.reshape(-1)
    return describe(flat.clone() if info.library == "torch" else flat.copy())


def empty(info: ArrayInfo, shape: tuple[int, ...], kind: str, zeros: bool = False) -> Any:
    """Return a new array in the library, and on the device, of `info`."""
    if info.library == "torch":
        torch = sys.modules["torch"]
        make = torch.zeros if zeros else torch.empty
        dtype = info.owner.dtype if kind == info.scalar else getattr(torch, kind)
        return make(shape, dtype=dtype, device=info.owner.device)
    dtype = info.owner.dtype if kind == info.scalar else np.dtype(kind)
    library = np if info.library == "numpy" else sys.modules["cupy"]
    return (library.zeros if zeros else library.empty)(shape, dtype.newbyteorder("="))


# -- the result -------------------------------------------------------------------------------------------------------


def _usable(out: ArrayInfo, before: ArrayInfo | None, reads: tuple[ArrayInfo, ...]) -> bool:
    """Whether the kernel may write into `out`: its rows are dense, and nothing is overwritten before it is read."""
    if before is not None and (before.pointer != out.pointer or before.strides != out.strides):
        reads = (*reads, before)  # of the same memory, each element is read before it is written
    return rows_dense(out) and not any(overlap(info, out) for info in reads)


def rows_dense(info: ArrayInfo) -> bool:
    """Whether the elements of a matrix's rows lie one after the other, and rows don't overlap."""
    size = info.dtype.itemsize
    dense = info.strides[-1] == size or info.shape[-1] == 1
    return dense and (info.strides[-2] >= info.shape[-1] * size or info.shape[-2] == 1)
