"""Batches of products on the tensor cores: which products of two matrices they come down to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from prism.lib import matmul_warm as warm
from prism.lib.matmul_arguments import MOST
from prism.lib.matmul_layouts import ROWS, Call, Job, empty, fits_tensor_copy, rows_dense
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.overlap import overlap

Made = tuple[Any, warm.Again | None]
"""A result, and the call that makes it again, if nothing but launches did."""


def multiply_batch(
    job: Job, one: Callable[[Job], Made], all_of: Callable[[Call], warm.Again | None] = lambda call: None
) -> Made:
    """Make a job's result by `one`, which makes a product of two matrices; its axes before the last two are a batch.

    `all_of` makes a batch's results at once, or, where it can't, returns None. The result of a batch is made beside `out` where
    `out` is still to be read.
    """
    batch = np.broadcast_shapes(job.a.shape[:-2], job.b.shape[:-2])
    if not batch:
        return one(job)
    target = job.out
    reads = [job.a, job.b, job.bias, None if job.c is None or _same(job.c, target) else job.c]
    if target is None or any(info is not None and overlap(info, target) for info in reads):
        target = describe(empty(job.a, (*batch, job.a.shape[-2], job.b.shape[-1]), job.kind))
    call = _all_made(replace(job, out=target), batch, one, all_of) if target.size else None
    if job.out is None or target is job.out:
        return target.owner, call
    job.out.owner[...] = target.owner
    return job.out.owner, None


def _all_made(
    job: Job, batch: tuple[int, ...], one: Callable[[Job], Made], all_of: Callable[[Call], warm.Again | None]
) -> warm.Again | None:  # fmt: skip
    """Make a batch's results, in as few launches as can be, and return the call that makes them again."""
    single = _one_product(job, batch)
    if single is not None:
        return one(single)[1]
    together = stack(job, batch)
    call = None if together is None else all_of(together)
    if call is not None:
        return call
    calls = [one(each)[1] for each in products(job, batch)]
    return None if None in calls else warm.Calls(tuple(found for found in calls if found is not None))


def _same(info: ArrayInfo, out: ArrayInfo | None) -> bool:
    """Whether `c` is the result itself, each element of which is read before it is written."""
    return out is not None and info.pointer == out.pointer and info.shape == out.shape and info.strides == out.strides


def products(job: Job, batch: tuple[int, ...]) -> Iterator[Job]:
    """Return the products of two matrices that a batch is made of."""
    for index in np.ndindex(batch):
        a, b, c, out = (None if info is None else _matrix(info, index) for info in (job.a, job.b, job.c, job.out))
        assert a is not None and b is not None
        yield replace(job, a=a, b=b, c=c, out=out)


def _one_product(job: Job, batch: tuple[int, ...]) -> Job | None:
    """Return a batch as the one product that it is, all rows of `a` below each other; None where it is not."""
    if prod(job.b.shape[:-2]) != 1 or prod(job.a.shape[:-2]) != prod(batch) or job.per == ROWS:
        return None
    if prod(job.a.shape[:-1]) > MOST:
        return None
    rows = [None if info is None else _as_one_matrix(info) for info in (job.a, job.c, job.out)]
    if any(found is None and info is not None for found, info in zip(rows, (job.a, job.c, job.out), strict=True)):
        return None
    a, c, out = rows
    assert a is not None
    return replace(job, a=a, b=_matrix(job.b, (0,) * len(batch)), c=c, out=out)


def stack(job: Job, batch: tuple[int, ...]) -> Call | None:
    """Return a batch as one launch; None where the matrices don't lie below each other, or tensor copies don't take them."""
    assert job.out is not None
    m, n, k, count = *job.out.shape[-2:], job.a.shape[-1], prod(batch)
    left, right = _stack(job.a, count, 1, job.k_inside), _stack(job.b, count, 0, job.k_inside)
    out, before = _rows(job.out), None if job.c is None else _rows(job.c)
    if left is None or right is None or out is None or not rows_dense(out):
        return None
    if job.c is not None and (before is None or not fits_tensor_copy(before, 1)):
        return None
    if k == 0 or count * max(m, n, k) > MOST or (job.bias is not None and not job.bias.contiguous):
        return None
    (a, a_outside, apart), (b, b_outside, b_apart) = left, right
    bias = a if job.bias is None else job.bias
    which = int(apart) + 2 * int(b_apart)
    outside = a_outside, b_outside
    return Call(a, b, job.kinds, before, out, bias, job.per, *outside, job.out.owner, False, which, count)


def _stack(info: ArrayInfo, count: int, along_k: int, k_inside: bool) -> tuple[ArrayInfo, bool, bool] | None:
    """Return an operand's matrices as one, whether K is its outer extent, and whether there is a matrix for each product."""
    many = prod(info.shape[:-2])
    if many not in (1, count):
        return None
    *shape, down, across = info.shape
    *strides, apart, beside = info.strides
    transposed = replace(info, shape=(*shape, across, down), strides=(*strides, beside, apart))
    for view, axis in ((info, 0), (transposed, 1)):
        rows = _rows(view)
        if rows is not None and fits_tensor_copy(rows, 1) and not (k_inside and axis == along_k):
            return rows, axis == along_k, many > 1
    return None


def _as_one_matrix(info: ArrayInfo) -> ArrayInfo | None:
    """Return an array of matrices as one matrix, where one stride leads from each row to the next."""
    found = _rows(info)
    return None if found is None else replace(found, owner=info.owner.reshape(found.shape))


def _rows(info: ArrayInfo) -> ArrayInfo | None:
    """Return what `_as_one_matrix` does, but for the owner."""
    step = end = 0  # bytes to the next row, and to the first row behind those looked at
    for extent, stride in zip(info.shape[-2::-1], info.strides[-2::-1], strict=True):
        if extent == 1:
            continue
        if step and stride != end:
            return None
        step, end = step or stride, stride * extent
    shape = (prod(info.shape[:-1]), info.shape[-1])
    strides = (step or info.shape[-1] * info.dtype.itemsize, info.strides[-1])
    return replace(info, shape=shape, strides=strides)


def _matrix(info: ArrayInfo, index: tuple[int, ...]) -> ArrayInfo:
    """Return the matrix of a batch that is broadcast to where `index` points."""
    axes = len(info.shape) - 2
    at = tuple(0 if extent == 1 else i for i, extent in zip(index[len(index) - axes :], info.shape, strict=False))
    pointer = info.pointer + sum(i * stride for i, stride in zip(at, info.strides, strict=False))
    return replace(info, pointer=pointer, shape=info.shape[axes:], strides=info.strides[axes:], owner=info.owner[at])
