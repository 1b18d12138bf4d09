"""Which kernels ship that take elements at indices: of each size of elements."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels.transform import gather
from prism.lib.algorithms.take.plan import INDICES, template_of
from prism.runtime.instance import Instance

_MOVED = ("uint8", "uint16", "uint32", "uint64", "complex128")


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for moved, index in itertools.product(_MOVED, INDICES):
        yield instance_of(gather, template_of(moved, index))
