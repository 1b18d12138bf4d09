"""How elements at indices are taken of arrays in memory, along a single axis: by one kernel for each of their sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from prism.host.plan import OUT, Buffer, Machine, Step, instance_of, size_of
from prism.kernels.transform import gather
from prism.lib.algorithms.scan.api import past
from prism.lib.algorithms.select.plan import moved_as
from prism.runtime.arrays import ArrayInfo

INDICES = ("int32", "int64")
"""Dtypes of indices that a kernel reads; others are composed."""
_THREADS, _VECTORS = 256, 2  # of a block, and of 16 bytes of indices that a thread has under way


def template_of(moved: str, index: str) -> dict[str, Any]:
    """Return the template of what takes elements that are moved as a type."""
    width = min(16 // size_of(index), max(1, 16 // size_of(moved)))
    return {"T": moved, "I": index, "THREADS": _THREADS, "ITEMS": _VECTORS * 16 // size_of(index), "WIDTH": width}


def take_flat(
    arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine, axis: int | None
) -> Sequence[Step] | None:
    """Return the step that takes elements of a whole array, or along the one axis that it has more than one element along.

    None where `indices` are none of those that it reads, or there are other axes.
    """
    x, places = arrays["a"], arrays.get("indices")
    if places is None or places.scalar not in INDICES:
        return None
    extent = x.size if axis is None else x.shape[axis]
    if extent != x.size:
        return None
    template = template_of(moved_as(x, "a"), places.scalar)
    blocks = math.ceil(places.size / (_THREADS * template["ITEMS"]))
    skew = -1 if machine.host or past(places) < 0 else past(places) % template["WIDTH"]
    numbers = {"extent": extent, "n": places.size, "skew": skew, "y_aligned": not machine.host and past(result) == 0}
    buffers = {"x": Buffer("a"), "positions": Buffer("indices"), "y": Buffer(OUT)}
    return (Step(instance_of(gather, template), blocks, _THREADS, {**buffers, **numbers}),)


__all__ = ["INDICES", "take_flat", "template_of"]
