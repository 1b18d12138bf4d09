"""Which kernels of top_k ship: of usual types, in both orders."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels import topk as kernels
from prism.kernels.topk.configurations import MERGE
from prism.lib.algorithms.topk.plan import Task, configuration, template_of
from prism.runtime.instance import Instance

_TYPES = ("float32", "float16", "bfloat16", "int32", "int64")
_SHAPES = ((1 << 13, 64), (1 << 20, 64), (1 << 20, 1000))  # rows, and how many of their elements


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
        threads, items = MERGE
        found[instance_of(kernels.merge_rows, {**task.template(), "ITEMS": items, "THREADS": threads})] = None
    yield from found


__all__ = ["instances"]
