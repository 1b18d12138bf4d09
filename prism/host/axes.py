"""Axes of arrays, for what works along some of them: which are meant, and how few steps reach all elements."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.exceptions import AxisError

Run: TypeAlias = tuple[int, int]
"""Elements at equal distances: how many, and how far apart, in elements."""


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that an `axis` argument names, each in `range(ndim)`, in rising order; None names all of them.

    Raises:
        TypeError: it is neither None, an integer nor a tuple of integers.
        AxisError: the array has no such axis.
        ValueError: an axis is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple):
        found = [normal_axis(one, ndim) for one in axis]
        if len(set(found)) != len(found):
            raise ValueError("duplicate value in 'axis'")
        return tuple(sorted(found))
    return (normal_axis(axis, ndim),)


def normal_axis(axis: Any, ndim: int) -> int:
    """Return the axis that an integer names, in `range(ndim)`; negative ones count from the last.

    Raises:
        TypeError: it is no integer.
        AxisError: the array has no such axis.
    """
    try:
        if isinstance(axis, bool):
            raise TypeError
        index = operator.index(axis)
    except TypeError:
        kind = type(axis).__qualname__
        raise TypeError(f"`axis` must be an integer, a tuple of integers or None, not {kind}") from None
    if not -ndim <= index < ndim:
        raise AxisError(index, ndim)
    return index % ndim


def axis_or_whole(axis: Any, ndim: int) -> int | None:
    """Return the axis as `normal_axis`; None, for the whole array: of None, and of axes 0 and -1 of an array without axes.

    NumPy takes those there, in functions that take None too.

    Raises:
        TypeError, AxisError: as `normal_axis`.
    """
    if axis is None or (ndim == 0 and not isinstance(axis, bool) and axis in (0, -1)):
        return None
    return normal_axis(axis, ndim)


def drop_axes(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool = False) -> tuple[int, ...]:
    """Return a shape less some axes; `keepdims` leaves them, of extent 1."""
    if keepdims:
        return tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    return tuple(extent for k, extent in enumerate(shape) if k not in axes)


@dataclass(frozen=True, slots=True)
class Collapsed:
    """An array as three axes `(outer, n, inner)`: what runs along the middle one, for each pair of the others.

    Element `k` along the axis `n`, for the pair `(o, i)`, is element `o * outer_stride + k * n_stride + i * inner_stride` of
    the array's memory. What belongs to the pair is element `o * outer_step + i * inner_step` of the C-contiguous array of the
    axes that are left. Strides are in elements, and may be zero or negative; that of an extent of 1 is 0.

    Of a C-contiguous array and adjacent axes these are the products of the extents before, among and behind them, and the
    inner stride is 1; but where the axes are the last ones there is no inner axis (1), and `n_stride` is 1.
    """

    outer: int
    n: int
    inner: int
    outer_stride: int
    n_stride: int
    inner_stride: int
    outer_step: int
    inner_step: int

    @property
    def results(self) -> int:
        """How many pairs `(o, i)` there are."""
        return self.outer * self.inner


def collapse(shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...]) -> Collapsed | None:
    """Return an array of so many elements, so far apart, as `(outer, n, inner)`, where `axes` become `n` in C order.

    None where three axes don't do. `axes` are as from `normal_axes`, `strides` in elements.
    """
    kept = merge([(shape[k], strides[k]) for k in range(len(shape)) if k not in axes])
    taken = merge([(shape[k], strides[k]) for k in axes])
    if len(kept) > 2 or len(taken) > 1:
        return None
    (n, n_stride) = taken[0] if taken else (1, 0)
    if len(kept) == 2:
        first, last = kept
        if abs(first[1]) < abs(last[1]):  # neighbours in memory go to neighbouring threads: they are the inner axis
            return Collapsed(last[0], n, first[0], last[1], n_stride, first[1], 1, last[0])
        return Collapsed(first[0], n, last[0], first[1], n_stride, last[1], last[0], 1)
    extent, stride = kept[0] if kept else (1, 0)
    if n > 1 and abs(stride) > abs(n_stride):
        return Collapsed(extent, n, 1, stride, n_stride, 0, 1, 1)
    return Collapsed(1, n, extent, 0, n_stride, stride, extent, 1)


def merge(runs: list[Run]) -> list[Run]:
    """Return the fewest runs that reach the same elements in the same order; none of extent 1, and one of 0 if any is."""
    if any(extent == 0 for extent, _ in runs):
        return [(0, 0)]
    found: list[Run] = []
    for extent, stride in runs:
        if extent == 1:
            continue
        if found and found[-1][1] == extent * stride:
            found[-1] = (found[-1][0] * extent, stride)
        else:
            found.append((extent, stride))
    return found


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a C-contiguous array, in elements."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
