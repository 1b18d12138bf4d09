"""What an operation on rows comes to: one launch, by how the rows lie and how wide they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism.host.lazies import LazyInfo
from prism.host.plan import Buffer, Machine, Plan, Step, instance_of, size_of
from prism.kernels.rows.configurations import CLUSTERS, Sharing, share
from prism.lang.surface import Kernel
from prism.lib.views import View, view_of
from prism.runtime.arrays import ArrayInfo

FLOATS = ("float16", "bfloat16", "float32", "float64")
_VECTOR = 16  # bytes
_MOST = 2**31 - 2**16
"""The widest row: columns are 32-bit numbers, and the last vectors stick out."""


@dataclass(frozen=True, slots=True)
class Rows:
    """An array seen as `many` rows of `n` elements, each `stride` elements behind the one before."""

    many: int
    n: int
    stride: int
    scalar: str
    begins: int  # bytes past a multiple of 16


def rows_of(name: str, given: ArrayInfo, machine: Machine) -> Rows | None:
    """Return an array as rows along its last axis; None where it must be copied first.

    Raises:
        TypeError: it is of no float type.
        ValueError: it has no axis, or rows are too long.
    """
    if given.scalar not in FLOATS:
        raise TypeError(f"`{name}` must be of {', '.join(FLOATS[:-1])} or {FLOATS[-1]}, not of {given.scalar}")
    if not given.shape:
        raise ValueError(f"`{name}` has no axes: there are no rows")
    n = given.shape[-1]
    if n > _MOST:
        raise ValueError(f"`{name}` has rows of {n} elements, more than {_MOST}")
    if isinstance(given, LazyInfo) or 0 in given.shape:
        return Rows(math.prod(given.shape[:-1]), n, n, given.scalar, 0)
    view = view_of(name, given).rows()
    if not given.natural or view is None or not view.rows_dense or (machine.host and not given.contiguous):
        return None
    return Rows(view.shape[0], n, _step(view), given.scalar, view.begins)


def _step(view: View) -> int:
    return view.shape[1] if view.shape[0] == 1 else view.strides[0] // view.size


def past(given: ArrayInfo | None) -> int:
    """Return how many bytes an array begins past a multiple of 16; one that is made begins at one."""
    return 0 if given is None or isinstance(given, LazyInfo) else given.pointer % _VECTOR


def width_of(rows: Sequence[Rows], result: ArrayInfo | None, columns: Sequence[ArrayInfo] = ()) -> int:
    """Return how many elements are loaded at once: those of 16 bytes, or fewer, as rows' lengths and places allow."""
    width = _VECTOR // max(size_of(one.scalar) for one in rows)
    while width > 1:
        lying = all(
            one.n % width == 0
            and (one.stride % width == 0 or one.many <= 1)
            and one.begins % min(width * size_of(one.scalar), _VECTOR) == 0
            for one in rows
        )
        beside = [result] if result is not None else []
        if lying and all(past(one) % min(width * one.dtype.itemsize, _VECTOR) == 0 for one in [*beside, *columns]):
            break
        width //= 2
    return width


def sharing(n: int, width: int, scalar: str, machine: Machine) -> Sharing:
    """Return who shares a row of `n` elements, loaded by vectors of `width`, and computed with in the type `scalar`."""
    if machine.host:  # runs all threads of a block in one NumPy operation
        return share(n, width, 8, 1024, (1,), 8)
    old = int("".join(filter(str.isdigit, machine.arch)) or 0) < 90
    items = max(32 // (size_of(scalar) // 4), width)
    return share(n, width, items, 512, (1,) if old else CLUSTERS, max(8, width))


def number_type(scalars: Sequence[str]) -> str:
    """Return what is computed in: float32, or float64 where an array is of that."""
    return "float64" if "float64" in scalars else "float32"


def launch(
    kernel: Kernel, template: Mapping[str, Any], arguments: Mapping[str, Any], rows: Rows, found: Sharing
) -> Plan:
    """Return the plan of one launch on rows that are shared so."""
    how = {
        "ITEMS": found.items,
        "WIDTH": found.width,
        "BLOCKS": found.blocks,
        "THREADS": found.most,
        "RESIDENT": found.resident,
        "LONG": found.long,
    }
    blocks = found.blocks * rows.many if found.wide else math.ceil((rows.many << found.lanes) / found.threads)
    numbers = {"rows": rows.many, "n": rows.n, "lanes": found.lanes, "wide": found.wide, "ahead": 0}
    step = Step(instance_of(kernel, {**template, **how}), blocks, found.threads, {**arguments, **numbers})
    return Plan((step,))


__all__ = ["FLOATS", "Buffer", "Rows", "launch", "number_type", "past", "rows_of", "sharing", "width_of"]
