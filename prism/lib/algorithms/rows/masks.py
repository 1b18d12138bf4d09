"""What a mask and a scale make of an array: a lazy one, computed where the softmax reads it."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.types import SCALARS
from prism.lib.algorithms.rows.plan import FLOATS
from prism.lib.lazy.array import BOOL, Lazy, broadcast, convert, of, of_number
from prism.lib.lazy.places import choose


def apply_mask(x: Any, scale: Any, mask: Any, dtype: Any) -> tuple[Lazy, Any, None]:
    """Return an array that has -inf where a mask has False, or to which a mask is added; and the dtype that the result has.

    Raises:
        TypeError: the mask is neither of bool nor of floats, or no array.
        ValueError: it does not broadcast to the shape of the array.
    """
    given, covered = of(x, "x"), of(mask, "mask")
    if given.scalar.name not in FLOATS:
        raise TypeError(f"`x` must be of {', '.join(FLOATS[:-1])} or {FLOATS[-1]}, not of {given.scalar}")
    if covered.scalar != BOOL and covered.scalar.name not in FLOATS:
        raise TypeError(f"`mask` must be of bool or of a float type, not of {covered.scalar}")
    try:
        shape = np.broadcast_shapes(given.shape, covered.shape)
    except ValueError:
        shape = ()
    if shape != given.shape:
        raise ValueError(f"`mask` of shape {covered.shape} does not broadcast to {given.shape}, the shape of `x`")
    wide = SCALARS["float64" if given.scalar.name == "float64" else "float32"]
    number = convert(given, wide)
    if scale is not None:
        number = number * of_number(float(scale), wide)
    covered = broadcast(covered, shape)
    if covered.scalar == BOOL:
        found = choose(covered, number, broadcast(of_number(-np.inf, wide), shape))
    else:
        found = number + convert(covered, wide)
    return found, given.scalar.name if dtype is None else dtype, None


__all__ = ["apply_mask"]
