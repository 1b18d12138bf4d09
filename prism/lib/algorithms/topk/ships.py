"""Which kernels of top_k ship: of usual types, in both orders."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.axes import Collapsed
from prism.host.plan import Machine, Scratch, Step, instance_of
from prism.kernels import topk as kernels
from prism.kernels.topk.configurations import MERGE
from prism.lib.algorithms.topk.long import top_long
from prism.lib.algorithms.topk.plan import Task, configuration, template_of
from prism.runtime.instance import Instance

_TYPES = ("float32", "float16", "bfloat16", "int64")
_SHAPES = ((1 << 13, 64), (1 << 17, 64), (1 << 17, 1000))  # rows, and how many of their elements
_LONG = ((1 << 24, 64),)


class UnaskedGpu:
    """A GPU that is not asked how many blocks it runs at once: no kernel is loaded for that."""

    host = False

    def __init__(self, gpu: Machine) -> None:
        self.arch, self.multiprocessors = gpu.arch, gpu.multiprocessors

    def wave(self, instance: Instance, threads: int) -> int:
        """Return a number of blocks."""
        return 2 * self.multiprocessors


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    found: dict[Instance, None] = {}
    for task in (Task("float32"), *(Task(scalar, True) for scalar in _TYPES)):
        for n, k in _SHAPES:
            c = configuration(task, n, k, gpu)
            if c is None:
                continue
            found[instance_of(kernels.top_rows, template_of(task, c, vectors=True))] = None
            if c.sample:  # and what parts have come to
                rest = configuration(task, 1 << 14, k, gpu)
                found |= {
                    instance_of(kernels.top_rows, template_of(task, one, vectors=True, named=True)): None
                    for one in (c, rest)
                    if one is not None
                }
        for n, k in _LONG:
            for step in top_long(task, Collapsed(1, n, 1, 0, 1, 0, 1, 1), 1, k, 0, UnaskedGpu(gpu), Scratch()):
                assert isinstance(step, Step)
                found[step.instance] = None
        threads, items = MERGE
        found[instance_of(kernels.merge_rows, {**task.template(), "ITEMS": items, "THREADS": threads})] = None
    yield from found


__all__ = ["UnaskedGpu", "instances"]
