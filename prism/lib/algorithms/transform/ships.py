"""Which kernels of transposes ship: those of each size of elements and form of tiles."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.lib.algorithms.transform.transposes import FLAT, NARROW, SQUARE, kernel_for
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    return itertools.starmap(kernel_for, itertools.product((1, 2, 4, 8, 16), (NARROW, SQUARE, FLAT)))
