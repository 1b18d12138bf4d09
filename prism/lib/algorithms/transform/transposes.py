"""Matrices with their axes exchanged, as a step of a plan."""

from __future__ import annotations

import math

from prism.host.plan import Plan, Step, X, Y, instance_of, size_of
from prism.kernels.transform import transpose
from prism.runtime.instance import Instance

_THREADS = 256
_NARROW = 8  # rows or columns of a tile of matrices that have few
NARROW, SQUARE, FLAT = "narrow", "square", "flat"


def kernel_for(size: int, form: str) -> Instance:
    """Return the kernel that exchanges axes of elements of 1, 2, 4, 8 or 16 bytes, whatever they are, by tiles of a form."""
    moved, tile = (f"uint{8 * size}", 4096) if size <= 8 else ("complex128", 1024)  # as much as shared memory holds
    few = {NARROW: tile // _NARROW, SQUARE: math.isqrt(tile), FLAT: _NARROW}[form]
    apart = 16 if form == FLAT else 4  # bytes between rows: then elements of a column are in banks of their own
    pitch = tile // few + max(1, apart // size)
    return instance_of(transpose, {"T": moved, "ROWS": few, "COLUMNS": tile // few, "PITCH": pitch})


def exchange(scalar: str, many: int, rows: int, columns: int) -> Plan:
    """Return the plan that makes of `many` matrices, C-contiguous, one behind the other, those of `columns` x `rows`."""
    form = NARROW if columns <= 2 * _NARROW else FLAT if rows <= 2 * _NARROW else SQUARE
    kernel = kernel_for(size_of(scalar), form)
    tile = dict(kernel.template)
    blocks = many * -(-rows // tile["ROWS"]) * -(-columns // tile["COLUMNS"])
    return Plan((Step(kernel, blocks, _THREADS, {"x": X, "y": Y, "rows": rows, "columns": columns}),))


__all__ = ["FLAT", "NARROW", "SQUARE", "exchange", "kernel_for"]
