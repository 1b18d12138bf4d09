"""Which kernels of transposes ship: those of each size of elements."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine
from prism.lib.algorithms.transform.transposes import kernel_for
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    return map(kernel_for, (1, 2, 4, 8, 16))
