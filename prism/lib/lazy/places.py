"""Lazy arrays of positions: what others are read at, and put together by."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prism.lang.surface.views import Position
from prism.lang.types import SCALARS
from prism.lib.lazy.array import BOOL, INT64, POSITION, Lazy, at, compute, convert, of_number

UINT32 = SCALARS["uint32"]


def positions(shape: tuple[int, ...], shift: int = 0) -> Lazy:
    """Return the position of each element, in C order, or so many behind it; a shift is part of the kernel."""
    return Lazy(Position(shift) if shift else POSITION, INT64, shape)


def divide(place: Lazy, by: int) -> Lazy:
    """Return positions that are not negative divided by a number, in 32 bits where these hold all positions."""
    narrow = place.value == POSITION and max(math.prod(place.shape), by) < 1 << 32
    scalar = UINT32 if narrow else INT64
    found = compute("//", scalar, (convert(place, scalar), of_number(by, scalar, place.shape)))
    return convert(found, INT64)


def choose(condition: Lazy, one: Lazy, other: Lazy) -> Lazy:
    """Return one where a condition is true, else the other; what is not returned is not read."""
    return compute("if", one.scalar, (convert(condition, BOOL), one, convert(other, one.scalar)))


def join(parts: Sequence[Lazy], axis: int) -> Lazy:
    """Return arrays of one dtype, whose shapes differ along an axis alone, one behind the other: `numpy.concatenate`."""
    shape = parts[0].shape
    before, inner = shape[:axis], math.prod(shape[axis + 1 :])
    whole = (*before, sum(part.shape[axis] for part in parts), *shape[axis + 1 :])
    full = [part for part in parts if part.size] or list(parts[:1])
    rows = [part.shape[axis] * inner for part in full]
    row = (
        divide(positions(whole), sum(rows)) if math.prod(before) > 1 else None
    )  # which run of `axis` and what is behind
    within = positions(whole) if row is None else positions(whole) - row * sum(rows)
    found, begin = None, sum(rows)
    for part, many in reversed(list(zip(full, rows, strict=True))):
        begin -= many
        place = within - begin if row is None else row * many + within - begin
        piece = at(part, place if row is not None or begin else positions(whole))
        found = piece if found is None else choose(within < begin + many, piece, found)
    assert found is not None
    return found


__all__ = ["choose", "divide", "positions", "join"]
