"""Which threads of a block stand together: masks, and indices relative to the current unit.

A mask is True (all threads of the block), False (none), or a Boolean array with one entry a thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Mask = Any


def anywhere(truths: Any) -> bool:
    """Whether any of an array of bools is true. Of as many as a block's threads, its bytes tell ten times as quickly as `any`."""
    return 1 in truths.tobytes()


def everywhere(truths: Any) -> bool:
    """Whether all of an array of bools are true."""
    return 0 not in truths.tobytes()


def settle(mask: Any) -> Mask:
    """Return a Boolean array as a mask: True or False where all entries agree."""
    return False if not anywhere(mask) else True if everywhere(mask) else mask


def both(mask: Mask, condition: Any) -> Mask:
    """Return the threads of `mask` for which the array `condition` holds."""
    if mask is False or condition is False:
        return False
    if condition is True:
        return mask
    return settle(condition if mask is True else mask & condition)


def minus(mask: Mask, gone: Mask) -> Mask:
    """Return the threads of `mask` that are not in `gone`."""
    if gone is False:
        return mask
    if gone is True or mask is False:
        return False
    return settle(~gone if mask is True else mask & ~gone)


def union(left: Mask, right: Mask) -> Mask:
    """Return the threads of either mask."""
    if left is False:
        return right
    if right is False or left is True:
        return left
    return True if right is True else settle(left | right)


_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


def first_outside(index: Any, extent: int, lanes: Any) -> tuple[int, int] | None:
    """Return the first index outside an extent and its thread, or None; `index` is one for all of `lanes`, or one each."""
    if not isinstance(index, np.ndarray) or not index.ndim:
        return None if 0 <= index < extent or not len(lanes) else (int(index), int(lanes[0]))
    unsigned = _UNSIGNED.get(index.dtype)  # in which what is negative is large: one comparison
    bad = (index < 0) | (index >= extent) if unsigned is None else index.view(unsigned) >= extent
    if not anywhere(bad):
        return None
    at = int(bad.argmax())
    return int(index[at]), int(lanes[at])


def unwrap(index: Any) -> Any:
    """Return an index, or one a thread, as it is.

    Raises:
        IndexError: one is negative. NumPy would count it from the end, and raises this for those beyond the end.
    """
    if isinstance(index, np.ndarray) and index.ndim:
        if anywhere(below := index < 0):
            raise IndexError(f"index {index[below][0]} is out of bounds: it is negative")
        # NumPy would take 2^64 - 1 for -1.
        if index.dtype == np.uint64 and anywhere(above := index > np.uint64(_MOST)):
            raise IndexError(f"index {index[above][0]} is out of bounds")
    elif index < 0:
        raise IndexError(f"index {index} is out of bounds: it is negative")
    return index


_MOST = np.int64(2**63 - 1)


def _beyond_if_negative(index: Any) -> Any:
    """Return indices as NumPy takes them quickest, what is negative as an index beyond any end: -1 becomes 2^63 - 1.

    That costs a fraction of a comparison, and NumPy looks for what is beyond the end anyway.
    """
    if index.dtype != np.int64:
        if index.dtype != np.int32:
            return unwrap(index)
        index = index.astype(np.int64)
    return index & _MOST


def take(data: Any, index: Any) -> Any:
    """Return the elements at indices, one a thread.

    Raises:
        IndexError: one is negative, or beyond the end.
    """
    try:
        return data[_beyond_if_negative(index)]
    except IndexError:
        unwrap(index)  # which says what was negative
        raise


def put(data: Any, index: Any, value: Any) -> None:
    """Write elements at indices, one a thread.

    Raises:
        IndexError: one is negative, or beyond the end. Nothing is written then.
    """
    try:
        data[_beyond_if_negative(index)] = value
    except IndexError:
        unwrap(index)
        raise


class Lanes:
    """Indices of a block's threads relative to the unit that the code speaks for; what derives from it is kept."""

    __slots__ = ("arms", "groups", "index", "numbers")

    def __init__(self, index: Any) -> None:
        self.index = index
        self.groups: dict[int, Lanes] = {}
        self.arms: dict[tuple[int, int], tuple[Lanes, Mask]] = {}
        self.numbers: dict[int, Any] = {}

    def group(self, size: int) -> Lanes:
        """Return the lanes inside each unit of `size` threads."""
        found = self.groups.get(size)
        if found is None:
            found = self.groups[size] = Lanes(self.index % np.int32(size))
        return found

    def arm(self, first: int, size: int) -> tuple[Lanes, Mask]:
        """Return the lanes inside a split's arm, and the threads that run it."""
        found = self.arms.get((first, size))
        if found is None:
            inside = (self.index >= first) & (self.index < first + size)
            found = self.arms[first, size] = (Lanes(self.index - np.int32(first)), settle(inside))
        return found

    def ids(self, size: int) -> Any:
        """Return for each thread the number of its unit of `size` threads."""
        found = self.numbers.get(size)
        if found is None:
            found = self.numbers[size] = self.index // np.int32(size)
        return found
