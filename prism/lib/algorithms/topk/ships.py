"""Which kernels of top_k ship: of usual types, in both orders."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels import topk as kernels
from prism.kernels.topk.configurations import MERGE
from prism.lib.algorithms.topk.plan import Task, configuration, template_of
from prism.runtime.instance import Instance

_TYPES = ("int32", "int64", "float32", "float64", "float16", "bfloat16")
_ROWS = (1 << 10, 1 << 13, 1 << 20)
_MOST = (64, 1000)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    found: dict[Instance, None] = {}
    for scalar in _TYPES:
        for largest in (False, True):
            task = Task(scalar, largest)
            for n in _ROWS:
                for k in _MOST:
                    if (c := configuration(task, n, k, gpu)) is not None:
                        for named in (False, True):
                            found[instance_of(kernels.top_rows, template_of(task, c, vectors=True, named=named))] = None
            threads, items = MERGE
            found[instance_of(kernels.merge_rows, {**task.template(), "ITEMS": items, "THREADS": threads})] = None
    yield from found


__all__ = ["instances"]
