"""Which kernels of negation ship."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine
from prism.lib.algorithms.negate.plan import kernel_of
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    yield from map(kernel_of, ("int32", "float32"))
