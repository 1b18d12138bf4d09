"""Stores through partitions that say `races="allow"`: two units may store one value to one element, and neither is ordered.

A store's *parts* are the partitions of its name, outermost first: of each the unit, and whether it says so. Two threads part at
the first of them that gives them different units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.regions import CodedArray, Parts, Region
from prism.lang.tree import Symbol
from prism.lang.types.perspective import Level
from prism.lang.types.shorts import bits_of


def parts_of(symbol: Symbol) -> Parts:
    """Return the partitions of a name, outermost first."""
    found = []
    while symbol.view is not None:
        if not symbol.view.alias:
            found.append((symbol.view.unit, symbol.view.races == "allow"))
        symbol = symbol.view.source
    return tuple(reversed(found))


def allows_overlap(parts: Parts) -> bool:
    """Whether any of the partitions says that an overlap is meant."""
    return any(allowed for _, allowed in parts)


def excuse(parts: Parts, threads: int) -> Callable[[Any, Any], Any]:
    """Return what tells of two threads, by their numbers in the grid, whether they part where an overlap is meant."""

    def excused(one: Any, two: Any) -> Any:
        found: Any = False
        together: Any = True
        for unit, allowed in parts:
            if unit.level == Level.THREAD:
                apart = (one // threads != two // threads) | (one % threads // unit.size != two % threads // unit.size)
            else:
                apart = one // threads // unit.size != two // threads // unit.size
            found = found | (together & apart & allowed)
            together = together & ~apart
        return found

    return excused


def same_value(region: Region, at: Any, values: Any) -> tuple[Any, Any]:
    """Return which elements have the value to be stored already, and which entry stores the last at the same element.

    `values`: one an entry of `at`, or one for all.
    """
    new = _bytes(region, values, len(at))
    old = _bytes(region, None, len(at), at)
    if len(at) and (at[1:] > at[:-1]).all():  # as mostly: each element once
        return (new == old).all(axis=1), np.arange(len(at))
    _, inverse = np.unique(at, return_inverse=True)
    last = np.zeros(len(at), np.int64)
    last[inverse] = np.arange(len(at))
    last = last[inverse]
    return (new == old).all(axis=1), np.where((new == new[last]).all(axis=1), np.arange(len(at)), last)


def _bytes(region: Region, values: Any, count: int, at: Any = None) -> Any:
    """Return the bytes of values as they are stored, or of the elements `at`: a row an entry."""
    data = region.data
    if isinstance(data, CodedArray):
        coded = data.scalar.coded  # else of bools
        found = data.bits[at] if at is not None else bits_of(values, data.scalar) if coded else values
        dtype, row = data.bits.dtype, data.bits.shape[1:]
    else:
        found, dtype, row = (data[at] if at is not None else values), data.dtype, data.shape[1:]
    if at is None:
        room = np.zeros((count, *row), dtype)
        room[...] = found
        found = room
    return np.ascontiguousarray(found).view(np.uint8).reshape(count, -1)
