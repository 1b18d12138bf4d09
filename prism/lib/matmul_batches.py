"""Batches of products on the tensor cores: which products of two matrices they come down to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from prism.lib import matmul_warm as warm
from prism.lib.matmul_layouts import ROWS, Job, empty, overlap
from prism.runtime.arrays import ArrayInfo, describe

Made = tuple[Any, warm.Again | None]
"""A result, and the call that makes it again, if nothing but launches did."""


def made(job: Job, one: Callable[[Job], Made]) -> Made:
    """Make a job's result by `one`, which makes a product of two matrices; its axes before the last two are a batch.

    The result of a batch is made beside `out` where `out` is still to be read.
    """
    batch = np.broadcast_shapes(job.a.shape[:-2], job.b.shape[:-2])
    if not batch:
        return one(job)
    target = job.out
    reads = [job.a, job.b, job.bias, None if job.c is None or _same(job.c, target) else job.c]
    if target is None or any(info is not None and overlap(info, target) for info in reads):
        target = describe(empty(job.a, (*batch, job.a.shape[-2], job.b.shape[-1]), job.kind))
    calls = [one(each)[1] for each in products(replace(job, out=target), batch)] if target.size else []
    call = warm.Calls(tuple(found for found in calls if found is not None)) if calls and None not in calls else None
    if job.out is None or target is job.out:
        return target.owner, call
    job.out.owner[...] = target.owner
    return job.out.owner, None


def _same(info: ArrayInfo, out: ArrayInfo | None) -> bool:
    """Whether `c` is the result itself, each element of which is read before it is written."""
    return out is not None and info.pointer == out.pointer and info.shape == out.shape and info.strides == out.strides


def products(job: Job, batch: tuple[int, ...]) -> Iterator[Job]:
    """Return the products of two matrices that a batch takes: one, where there is one `b` and rows follow one another."""
    found = _one_product(job, batch)
    if found is not None:
        yield found
        return
    for index in np.ndindex(batch):
        a, b, c, out = (None if info is None else _matrix(info, index) for info in (job.a, job.b, job.c, job.out))
        assert a is not None and b is not None
        yield replace(job, a=a, b=b, c=c, out=out)


def _one_product(job: Job, batch: tuple[int, ...]) -> Job | None:
    """Return a batch as the one product that it is, all rows of `a` below each other; None where it is not."""
    if prod(job.b.shape[:-2]) != 1 or prod(job.a.shape[:-2]) != prod(batch) or job.per == ROWS:
        return None
    rows = [None if info is None else _below(info) for info in (job.a, job.c, job.out)]
    if any(found is None and info is not None for found, info in zip(rows, (job.a, job.c, job.out), strict=True)):
        return None
    a, c, out = rows
    assert a is not None
    return replace(job, a=a, b=_matrix(job.b, (0,) * len(batch)), c=c, out=out)


def _below(info: ArrayInfo) -> ArrayInfo | None:
    """Return an array of matrices as one matrix, where one stride leads from each row to the next."""
    step = end = 0  # bytes to the next row, and to the first row behind those looked at
    for extent, stride in zip(info.shape[-2::-1], info.strides[-2::-1], strict=True):
        if extent == 1:
            continue
        if step and stride != end:
            return None
        step, end = step or stride, stride * extent
    shape = (prod(info.shape[:-1]), info.shape[-1])
    strides = (step or info.shape[-1] * info.dtype.itemsize, info.strides[-1])
    return replace(info, shape=shape, strides=strides, owner=info.owner.reshape(shape))


def _matrix(info: ArrayInfo, index: tuple[int, ...]) -> ArrayInfo:
    """Return the matrix of a batch that is broadcast to where `index` points."""
    axes = len(info.shape) - 2
    at = tuple(0 if extent == 1 else i for i, extent in zip(index[len(index) - axes :], info.shape, strict=False))
    pointer = info.pointer + sum(i * stride for i, stride in zip(at, info.strides, strict=False))
    return replace(info, pointer=pointer, shape=info.shape[axes:], strides=info.strides[axes:], owner=info.owner[at])
