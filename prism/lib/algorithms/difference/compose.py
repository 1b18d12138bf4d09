"""Differences as lazy arrays: what is read where, of arrays in C order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism.lang.surface.views import Leaf
from prism.lang.types.structs import scalar_called
from prism.lib.lazy.array import BOOL, Lazy, at, convert
from prism.lib.lazy.closures import Applied
from prism.lib.lazy.expressions import make
from prism.lib.lazy.functions import apply
from prism.lib.lazy.places import choose, divide, positions
from prism.lib.thread import operators


def subtract(x: Lazy, y: Lazy) -> Lazy:
    """Return `x - y` in their dtype, of bools `x != y`, as NumPy's `diff`."""
    return apply(operators.not_equal if x.scalar == BOOL else operators.subtract, (x, y))


def differences(x: Lazy, axis: int) -> Lazy:
    """Return how far each element along an axis is behind the one before it."""
    inner, extent = math.prod(x.shape[axis + 1 :]), max(x.shape[axis] - 1, 0)
    shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    if math.prod(x.shape[:axis]) > 1:  # rows of the result are `inner` shorter than those of `x`
        place = positions(shape) + divide(positions(shape), extent * inner) * inner
        return subtract(at(x, place + inner), at(x, place))
    before = Lazy(x.value, x.scalar, shape, x.leaves, x.numbers)
    if inner == 1:
        return subtract(at(x, positions(shape, 1)), before)
    if not isinstance(x.value, Leaf) or x.leaves[0].owner is not None:
        return subtract(at(x, positions(shape) + inner), before)
    (leaf,), size = (
        x.leaves,
        x.dtype.itemsize,
    )  # the same memory from there on: of it too vectors are loaded, if it is aligned
    many = max(leaf.size - inner, 0)
    behind = replace(leaf, pointer=leaf.pointer + inner * size, shape=(many,), strides=(size,))
    return subtract(Lazy(make(Leaf, 0, behind.pointer % 16 == 0), x.scalar, shape, (behind,)), before)


def neighbours(x: Lazy, function: Applied | None, *, right: bool) -> Lazy:
    """Return a function of each element and the one before it, or behind it; of the first, or last, the element itself."""
    beside = at(x, positions(x.shape, 1 if right else -1))
    found = subtract(x, beside) if function is None else function.apply((x, beside))
    alone = positions(x.shape) == (x.size - 1 if right else 0)
    return choose(alone, convert(x, found.scalar), found)


def promote(parts: Sequence[Lazy]) -> list[Lazy]:
    """Return lazy arrays in the dtype that `numpy.concatenate` gives.

    Raises:
        TypeError: there is none.
    """
    if len({part.scalar for part in parts}) == 1:
        return list(parts)
    scalar = scalar_called(np.result_type(*(part.dtype for part in parts)).name)
    if scalar is None:
        raise TypeError(f"arrays of {' and '.join(str(part.scalar) for part in parts)} have no dtype in common")
    return [convert(part, scalar) for part in parts]


__all__ = ["differences", "neighbours", "promote", "subtract"]
