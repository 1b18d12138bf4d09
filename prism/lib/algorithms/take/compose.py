"""Elements at positions, as lazy arrays: which element each position of the result is."""

from __future__ import annotations

import math

import numpy as np

from prism.lang.types import SCALARS
from prism.lib.lazy.array import INT64, Lazy, at, broadcast, compute, convert, of_number
from prism.lib.lazy.places import choose, divide, positions

UINT64 = SCALARS["uint64"]
MODES = ("raise", "wrap", "clip")


def wrap_indices(places: Lazy, extent: int, mode: str) -> Lazy:
    """Return places below an extent: negative ones count from the end, and others become, by a mode, what is in range."""
    index = convert(places, INT64)
    if mode == "clip":
        return choose(index < 0, _number(0, index), choose(index < extent, index, _number(extent - 1, index)))
    rest = compute("%", INT64, (index, _number(extent, index)))  # as C: of the sign of the index
    around = choose(rest < 0, rest + extent, rest)
    if places.scalar.kind != "uint":
        around = choose(index < 0, choose(index < -extent, around, index + extent), around)
    inside = convert(index, UINT64) < of_number(extent, UINT64, index.shape)
    return choose(inside, index, around)  # nearly all are, and one comparison says so


def _number(value: int, like: Lazy) -> Lazy:
    return of_number(value, INT64, like.shape)


def coordinate(shape: tuple[int, ...], axis: int) -> Lazy:
    """Return the index along an axis of each element."""
    inner = math.prod(shape[axis + 1 :])
    index = positions(shape) if inner == 1 else divide(positions(shape), inner)
    if math.prod(shape[:axis]) <= 1:
        return index
    found: Lazy = index - divide(positions(shape), inner * shape[axis]) * shape[axis]
    return found


def take_axis(x: Lazy, places: Lazy, axis: int, mode: str) -> Lazy:
    """Return the parts of `x` at places along an axis: `numpy.take`."""
    before, behind, extent = x.shape[:axis], x.shape[axis + 1 :], x.shape[axis]
    shape = (*before, *places.shape, *behind)
    inner, many, outer = math.prod(behind), places.size, math.prod(before)
    flat = Lazy(places.value, places.scalar, (places.size,), places.leaves, places.numbers)
    if inner == outer == 1:
        return at(
            x, wrap_indices(Lazy(places.value, places.scalar, shape, places.leaves, places.numbers), extent, mode)
        )
    whole = (outer, many, inner)
    index = wrap_indices(at(flat, coordinate(whole, 1)), extent, mode)
    place = index if inner == 1 else index * inner + coordinate(whole, 2)
    if outer > 1:
        place = place + divide(positions(whole), many * inner) * (extent * inner)
    return at(x, Lazy(place.value, INT64, shape, place.leaves, place.numbers))


def take_along(x: Lazy, places: Lazy, axis: int) -> Lazy:
    """Return the elements of `x` at places along an axis: `numpy.take_along_axis`.

    Raises:
        ValueError: their shapes do not broadcast but for the axis.
    """
    one = tuple(1 if k == axis else extent for k, extent in enumerate(x.shape))
    shape = np.broadcast_shapes(one, places.shape)
    index = wrap_indices(broadcast(places, shape), x.shape[axis], "raise")
    place = index * math.prod(x.shape[axis + 1 :])
    for k, extent in enumerate(x.shape):
        if k != axis and extent > 1:
            place = place + coordinate(shape, k) * math.prod(x.shape[k + 1 :])
    return at(x, place)


def repeat_to(x: Lazy, shape: tuple[int, ...]) -> Lazy:
    """Return the elements of an array, again and again in C order, of a shape: `numpy.resize`."""
    if x.size == math.prod(shape):
        return Lazy(x.value, x.scalar, shape, x.leaves, x.numbers)
    if x.size == 1:
        return at(x, Lazy(of_number(0, INT64).value, INT64, shape, (), (0,)))
    index = positions(shape)
    return at(x, index - divide(index, x.size) * x.size)


__all__ = ["MODES", "coordinate", "repeat_to", "take_along", "take_axis", "wrap_indices"]
