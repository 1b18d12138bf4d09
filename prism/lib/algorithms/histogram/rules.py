"""Where the bins of a histogram are, as NumPy decides: from its number of bins and its range to what a kernel is told."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from prism.kernels.histogram import Even

_FLOATS = ("float16", "float32", "float64")
_MOST_CHECKED = 1 << 16  # bins, where whole numbers on edges are looked at one by one
_NEAR = ("float32", "int32", "uint32")
_NEVER = 1e30
"""A margin that no bin is sure with."""


@dataclass(frozen=True, slots=True)
class Bins:
    """Even bins of numbers of a dtype: types, see `prism.kernels.histogram`, and the kernel's `Even`.

    `empty`: no number is in one. `sure`: each bin is sure, however quickly it is computed. `near`: numbers of 32 bits may be
    compared with the nearest edge alone: no other lies between them and their quick distance, and the range is that of the edges.
    """

    edges: np.dtype[Any]
    divided: np.dtype[Any]
    computed: np.dtype[Any]
    rule: Any
    empty: bool
    sure: bool = False
    fixed: bool = False
    near: bool = False

    @property
    def exact(self) -> bool:
        """Whether no bin is sure that is computed quickly."""
        return bool(self.rule["margin"] >= 1)

    def template(self, quick: str) -> dict[str, str]:
        """Return the kernel's types; `quick`: what bins are first computed in."""
        return {"T": self.edges.name, "D": self.divided.name, "L": self.computed.name, "G": quick}


def limits_of(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the outermost edges, as NumPy's, of a range that the caller gives.

    Raises:
        ValueError: the second is smaller than the first, or one is not finite.
    """
    if low > high:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def even_bins(given: np.dtype[Any], first: Any, last: Any, size: int) -> Bins:
    """Return even bins of numbers of a dtype, as NumPy's `histogram` has them.

    Raises:
        TypeError: the edges are of a type that kernels have not.
        ValueError: there are more bins than numbers between the outermost edges.
    """
    sample = np.zeros(0, given)
    edges_dtype = np.result_type(first, last, sample)
    if np.issubdtype(edges_dtype, np.integer):
        edges_dtype = np.result_type(edges_dtype, float)
    if edges_dtype.name not in _FLOATS:
        raise TypeError(f"`range`: edges would be of {edges_dtype}, which is not supported")
    edges = np.linspace(first, last, size + 1, dtype=edges_dtype)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {size} finite-sized bins.")
    start, stop = np.asanyarray(first), np.asanyarray(last)
    computed = np.linspace(first, last, 2).dtype
    delta = np.subtract(stop, start, dtype=computed)
    denominator = _difference(last, first)
    divided = np.result_type(edges_dtype, denominator.dtype)
    rule = np.zeros((), np.dtype(Even))
    rule["first"] = edges_dtype.type(first)
    rule["start"] = computed.type(first)
    rule["stop"] = edges[-1]
    rule["step"] = delta[()] / size
    rule["denominator"] = divided.type(denominator)
    with np.errstate(over="ignore"):
        rule["numerator"] = divided.type(size)
    if given.kind in "iu":
        least, most = _kept(given, first, last)
        rule["low"], rule["high"] = np.iinfo(given).min, np.iinfo(given).max
        near = bool(edges[0] >= rule["low"] and edges[-1] < rule["high"])
        rule["least"] = np.array(least % (1 << 64), np.uint64).view(np.int64)
        rule["span"] = max(most - least, 0)
        empty = most < least
    else:
        rule["low"] = np.result_type(sample, first).type(first)
        rule["high"] = np.result_type(sample, last).type(last)
        least, empty = 0, False
        near = bool(rule["low"] == edges[0] and rule["high"] == edges[-1])
    sure = _set_quick(rule, given, edges, (divided, computed), (first, last), least)
    sure = sure or (bool(rule["margin"] < 1) and _is_exact(rule, given, edges, (first, last)))
    near = near and given.name in _NEAR and not sure and bool(rule["margin"] < 1)
    return Bins(edges_dtype, divided, computed, rule[()], empty, sure, bool(rule["factor"]), near)


def _difference(last: Any, first: Any) -> Any:
    """Return `last - first` as NumPy divides by it: of signed integers the unsigned difference."""
    kind = np.result_type(last, first)
    a, b = np.asarray(last, kind), np.asarray(first, kind)
    if kind.kind == "i":
        return np.subtract(a, b, casting="unsafe", dtype=np.dtype(f"u{kind.itemsize}"))
    return np.subtract(a, b, dtype=kind)


def _kept(given: np.dtype[Any], first: Any, last: Any) -> tuple[int, int]:
    """Return the least and the largest integer of a dtype that NumPy finds in a range, by comparing as it does."""
    limits = np.iinfo(given)

    def least_that(holds: Any) -> int:
        low, high = int(limits.min), int(limits.max) + 1
        while low < high:
            middle = (low + high) // 2
            if holds(given.type(middle)):
                high = middle
            else:
                low = middle + 1
        return low

    return least_that(lambda x: x >= first), least_that(lambda x: not x <= last) - 1


def _set_quick(
    rule: Any, given: np.dtype[Any], edges: Any, types: tuple[Any, Any], limits: tuple[Any, Any], least: int
) -> bool:
    """Set what quick bins are computed with, and how far from a whole number they are sure; whether all of integers are.

    They are off by the roundings of their own arithmetic, of NumPy's edges, and of the limits that elements are compared with.
    """
    first, last = map(_exactly, limits)
    divided, computed = types
    size, width, largest = len(edges) - 1, last - first, max(abs(first), abs(last))
    integral = given.kind in "iu"
    narrow = integral or given.itemsize < 8  # computed in 32 bits
    unit = 2.0**-24 if narrow else 2.0**-53  # what a rounding is off by
    scale, relative = _float(size / width), _float(largest / width) * size
    ideal = float(first) + np.arange(size + 1) * float(width / size)
    with np.errstate(all="ignore"):
        margin = size * 5 * unit + relative * 2.0**-49
        margin += float(np.abs(edges.astype(np.float64) - ideal).max()) * scale
        if not integral:
            margin += relative * 2 * unit
            margin += max(abs(float(rule["low"]) - float(first)), abs(float(rule["high"]) - float(last))) * scale
    small = _float(largest) < (1e37 if narrow else 1e307) and scale < (1e30 if narrow else 1e300)
    kind = float(np.finfo(edges.dtype).eps)
    theirs = size * (kind + 2 * float(np.finfo(divided).eps)) + (relative * kind if integral else 0)
    if not (margin < 0.25 and theirs < 0.5 and small):  # else NumPy may be off by more than the bins beside
        rule["margin"] = _NEVER
        return False
    shift = _shift(edges, first, width, largest) if integral and computed == edges.dtype == np.float64 else 0
    rule["scale"], rule["margin"] = scale, margin
    if not integral:
        lowest = (rule["low"][()], edges[0], np.float32(first) if narrow else first)
        rule["least_sure"] = float(first) if all(_exactly(one) == first for one in lowest) else np.inf
    rule["offset"] = float((least - first + shift) * size / width)
    if shift > 0 and _set_product(rule, size / width, (least - first + shift) * size / width, shift * size / width):
        return True
    return shift > 0 and margin < 0.5 * float(shift * size / width)


def _set_product(rule: Any, scale: Fraction, offset: Fraction, slack: Fraction) -> bool:
    """Set what integers' distances are multiplied by in 64 bits, where that is off by less than they are from an edge."""
    span, power = int(rule["span"]), next((p for p in range(62, 31, -1) if scale * 2**p < 1 << 31), 0)
    factor, addend = round(scale * 2**power), round(offset * 2**power)
    off = span * abs(Fraction(factor, 2**power) - scale) + abs(Fraction(addend, 2**power) - offset)
    if not power or off >= slack or span >= (1 << 32) - 1 or not 0 <= addend < 1 << 63:
        return False
    rule["factor"], rule["addend"], rule["power"] = factor, addend, power
    return True


def _is_exact(rule: Any, given: np.dtype[Any], edges: Any, limits: tuple[Any, Any]) -> bool:
    """Whether a float's distance in bins is computed without any rounding, and edges are where they would be without any.

    So it is where the first is 0, and as many as a power of two are in a unit, or a unit is as many bins.
    """
    first, last = map(_exactly, limits)
    if given.kind != "f" or first != 0 or not all(map(_is_power_of_two, (last / (len(edges) - 1)).as_integer_ratio())):
        return False
    ideal = np.arange(len(edges)) * float(last / (len(edges) - 1))
    whole = _exactly(rule["low"][()]) == 0 and _exactly(rule["high"][()]) == last
    return whole and np.array_equal(edges.astype(np.float64), ideal)


def _is_power_of_two(number: int) -> bool:
    return number & number - 1 == 0


def _float(value: Fraction) -> float:
    """Return a number in 64 bits; infinity where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _shift(edges: Any, first: Fraction, width: Fraction, largest: Fraction) -> Fraction:
    """Return what is added to integers so that those on edges are as far from an edge as those beside.

    Distances of integers from the edges are multiples of `1 / q`: half of that. It is 0 where `linspace` rounded such an edge up,
    so that the integer is below it, and where edges are no such numbers.
    """
    size = len(edges) - 1
    if first.denominator != 1 or width.denominator != 1 or size > _MOST_CHECKED:
        return Fraction(0)
    step = width / size
    q = step.denominator
    if q * largest > 1 << 49:
        return Fraction(0)
    every = zip(range(0, size, q), edges[:-1:q].tolist(), strict=True)
    if any(edge > first + k * step for k, edge in every):
        return Fraction(0)
    return Fraction(1, 2 * q)


def _exactly(value: Any) -> Fraction:
    return Fraction(value.item() if isinstance(value, np.generic | np.ndarray) else value)


__all__ = ["Bins", "even_bins", "limits_of"]
