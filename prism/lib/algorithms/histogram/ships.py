"""Which kernels of histograms ship: those of counts of usual types, in bins of which there are copies in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from prism.host.plan import Machine, instance_of
from prism.kernels import histogram as kernels
from prism.kernels.histogram.configurations import GUESSED, PREPARE
from prism.lib.algorithms.histogram.plan import Task
from prism.lib.algorithms.histogram.rules import even_bins
from prism.runtime.instance import Instance

_SIZES = (1 << 28, 1 << 24, 1 << 20)
_EVEN = ("uint8", "int32", "int64", "float32", "float64")
_INTEGERS = ("uint8", "int32", "int64")


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    found: dict[Instance, None] = {}
    for task in _tasks():
        for n in _SIZES:
            found[instance_of(kernels.histogram, task.template(*task.configuration(n, gpu)))] = None
        types = {"TE": "float32", "T": "float32", "L": "float64"}
        if task.bins is not None:
            types = {"TE": task.bins.edges.name, "T": task.bins.edges.name, "L": task.bins.computed.name}
        found[instance_of(kernels.prepare, {**types, "S": task.sums, "THREADS": PREPARE})] = None
    yield from found


def _tasks() -> Iterator[Task]:
    for size in (100, 1000, 4000):
        for scalar in _EVEN:
            kind = np.dtype(scalar)
            yield Task(scalar, size, kernels.EVEN, bins=even_bins(kind, 0.0, 1.0, size))  # a range
            yield Task(scalar, size, kernels.EVEN, bins=even_bins(kind, kind.type(0), kind.type(100), size))  # none
        for scalar in _INTEGERS:
            yield Task(scalar, size, kernels.IDENTITY)
        yield Task("float32", size, kernels.EDGES, edges="float32", compared="float32")
    for scalar in _INTEGERS:
        yield Task(scalar, GUESSED, kernels.IDENTITY, most=True)


__all__ = ["instances"]
