"""The one launch that negates an array."""

from __future__ import annotations

from prism.host.plan import Plan, Step, X, Y, instance_of, size_of
from prism.kernels.negate import DEVICE, negate
from prism.runtime.instance import Instance


def kernel_of(dtype: str) -> Instance:
    """Return the kernel for a dtype."""
    return instance_of(negate, {"T": dtype, "THREADS": DEVICE[size_of(dtype)].threads})


def plan(dtype: str, size: int) -> Plan:
    """Return the plan for so many elements."""
    threads = DEVICE[size_of(dtype)].threads
    return Plan((Step(kernel_of(dtype), -(-size // threads), threads, {"x": X, "y": Y, "n": size}),))
