"""Arrays as rows of elements that lie side by side, for what works on each row, or on each element, by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable

from prism.host.axes import merge
from prism.runtime.arrays import ArrayInfo

WIDEST = 16  # bytes that a thread moves at once


def rows_of(info: ArrayInfo) -> int | None:
    """Return how many elements apart the rows of an array are, which are its last axis; None where no one such number is.

    None too where it is negative.
    0 where there is one row. Elements of a row lie side by side, as kernels read them.
    """
    size = info.dtype.itemsize
    if not info.shape or not info.size:
        return 0 if info.natural else None
    if not info.natural or (info.shape[-1] != 1 and info.strides[-1] != size):
        return None
    apart = merge(list(zip(info.shape[:-1], info.strides[:-1], strict=True)))
    if len(apart) > 1 or any(step % size or step < 0 for _, step in apart):
        return None
    return apart[0][1] // size if apart else 0


def width_of(sizes: Iterable[int], numbers: Iterable[int], starts: Iterable[int]) -> int:
    """Return how many elements a thread moves at once: as many as in 16 bytes of the widest, or 1.

    All `numbers` are of elements, and are multiples of that; `starts` are addresses, of which 16 bytes' multiples count.
    """
    most = WIDEST // max(sizes)
    return most if math.gcd(most, *numbers) == most and not any(start % WIDEST for start in starts) else 1


__all__ = ["rows_of", "width_of"]
