"""What functions of ranks have in common: how an array is seen as rows, and where results go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prism.host import memory
from prism.host.axes import Collapsed, c_strides, collapse
from prism.host.lazies import LazyInfo
from prism.host.plan import Machine
from prism.lib.algorithms.transform.calls import transform
from prism.runtime.arrays import ArrayInfo

if TYPE_CHECKING:
    from prism.lib.lazy.array import Lazy


def flat_axis(given: ArrayInfo) -> tuple[tuple[int, ...], int]:
    """Return the shape of an array that is taken in C order as one axis, and that axis."""
    return (math.prod(given.shape),), 0


def rows_along(given: ArrayInfo, shape: tuple[int, ...], along: int, machine: Machine) -> Collapsed | None:
    """Return an array, taken in a shape, as rows along an axis; None where it must be copied first."""
    if isinstance(given, LazyInfo) or not given.natural:
        return None
    strides = tuple(step // given.dtype.itemsize for step in given.strides)
    if shape != given.shape:
        if not given.contiguous:
            return None
        strides = c_strides(shape)
    if machine.host and not is_dense(given):
        return None
    return collapse(shape, strides, (along,))


def is_dense(given: ArrayInfo) -> bool:
    """Whether elements lie one after the other, with axes in some order."""
    axes = memory.memory_order(given.shape, given.strides)
    lying = replace(given, shape=tuple(given.shape[k] for k in axes), strides=tuple(given.strides[k] for k in axes))
    return lying.contiguous


def copy_to(name: str, found: tuple[Any, ...], out: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
    """Copy results to arrays that the caller gave, and return these."""

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        return arrays["x"]

    for one, target in zip(found, out, strict=True):
        transform(name, ("copy",), {"x": one}, compose, target, stream)
    return out


__all__ = ["rows_along", "copy_to", "flat_axis", "is_dense"]
