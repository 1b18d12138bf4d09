"""Reductions of some elements: what `where=` leaves out is taken for what changes nothing, where it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host.arguments import array_of
from prism.lib.lazy.array import BOOL, Lazy, broadcast, compute, of, of_number
from prism.lib.lazy.places import choose


def leave_out(a: Any, where: Any, neutral: Any, name: str) -> Any:
    """Return an array as a lazy one that has `neutral` where a mask is not true; `name` is the reduction's.

    Raises:
        TypeError: the mask is not of bools; an argument is no array.
        ValueError: the mask does not broadcast to the shape of the array; there is no neutral element, and no `initial`.
    """
    if where is True:
        return a
    if neutral is None:
        raise ValueError(
            f"reduction operation {name} does not have an identity, so to use a where mask one has to specify 'initial'"
        )
    x, mask = of(array_of(a), "a"), of(array_of(where), "where")
    if mask.scalar != BOOL:
        raise TypeError(f"`where` must be of bool, not of {mask.scalar}")
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        shape = ()
    if shape != x.shape:
        raise ValueError(f"`where` of shape {mask.shape} does not broadcast to {x.shape}, the shape of `a`")
    return choose(broadcast(mask, shape), x, broadcast(number_like(neutral, x), shape))


def number_like(value: Any, x: Lazy) -> Lazy:
    """Return a number of an array's dtype."""
    if x.dtype.kind != "c":
        return of_number(
            bool(value) if x.scalar == BOOL else x.dtype.type(value).item() if x.dtype.kind in "iuf" else float(value),
            x.scalar,
        )
    whole = complex(value)
    part = of(np.zeros(0, x.dtype).real.dtype.type(0)).scalar
    return compute(x.scalar, x.scalar, [of_number(whole.real, part), of_number(whole.imag, part)])


__all__ = ["leave_out", "number_like"]
