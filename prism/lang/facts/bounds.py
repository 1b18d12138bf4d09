"""The least and the greatest value that a number can have, and what an integer type can hold."""

from __future__ import annotations

import functools
from math import inf

from prism.lang.tree import Scalar

Bounds = tuple[float, float]
"""The least and the greatest value, both included; infinite where not known."""
NOTHING: Bounds = (-inf, inf)


def span(type_: Scalar) -> Bounds:
    """Return the least and the greatest value of an integer type."""
    return _span(type_.kind == "uint", type_.bits)


@functools.lru_cache(maxsize=32)
def _span(unsigned: bool, bits: int) -> Bounds:
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def fits(bounds: Bounds, type_: Scalar) -> bool:
    """Whether all values within bounds are a type's."""
    least, most = span(type_)
    return least <= bounds[0] and bounds[1] <= most


def both(one: Bounds, two: Bounds) -> Bounds:
    """Return the bounds of what is within both."""
    return max(one[0], two[0]), min(one[1], two[1])


def interval(op: str, one: Bounds, two: Bounds) -> Bounds:
    """Return the bounds of a sum, difference or product, before it wraps."""
    if op == "+":
        return one[0] + two[0], one[1] + two[1]
    if op == "-":
        return one[0] - two[1], one[1] - two[0]
    # A product is linear in each factor, so it is least and greatest where both are at their ends: [-2, 3] * [-5, 1] is
    # [-15, 10]. 0 times a number that is not known is 0.
    ends = [a * b if a and b else 0 for a in one for b in two]
    return min(ends), max(ends)
