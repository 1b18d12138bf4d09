"""Which kernels of copies ship: those of units of each size, by tiles and by pieces."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine
from prism.lib.algorithms.copies.plan import kernels
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    return kernels()
