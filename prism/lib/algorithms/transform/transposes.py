"""Matrices with their axes exchanged, as a step of a plan."""

from __future__ import annotations

from prism.host.plan import Plan, Step, X, Y, instance_of, size_of
from prism.kernels.transform import transpose
from prism.runtime.instance import Instance

_THREADS = 256


def kernel_for(size: int) -> Instance:
    """Return the kernel that exchanges axes of elements of 1, 2, 4, 8 or 16 bytes, whatever they are."""
    moved = f"uint{8 * size}" if size <= 8 else "complex128"
    side = 64 if size <= 8 else 32  # as much as shared memory holds
    return instance_of(transpose, {"T": moved, "SIDE": side, "PITCH": side + max(1, 4 // size)})


def exchange(scalar: str, many: int, rows: int, columns: int) -> Plan:
    """Return the plan that makes of `many` matrices, C-contiguous, one behind the other, those of `columns` x `rows`."""
    kernel = kernel_for(size_of(scalar))
    side = dict(kernel.template)["SIDE"]
    blocks = many * -(-rows // side) * -(-columns // side)
    return Plan((Step(kernel, blocks, _THREADS, {"x": X, "y": Y, "rows": rows, "columns": columns}),))


__all__ = ["exchange", "kernel_for"]
