"""How rows are sorted that no block holds, but the shared memory of a cluster of blocks does."""

from __future__ import annotations

from prism.host.plan import Machine, Plan, Step, instance_of, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort import NONE
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.sort.elements import Elements
from prism.lib.algorithms.sort_rows.plan import Names

_FEW = 16
_MOST = (1 << 31) // kernels.CLUSTER_BLOCKS  # rows of a launch


def sorts(of: Elements, many: int, columns: int, held: int, machine: Machine) -> bool:
    """Whether clusters sort `many` rows of `columns` elements; GPUs have clusters from 9.0 on.

    `held`: how many columns a block holds.
    """
    if machine.host or machine.arch in ROOM or many > _MOST:
        return False
    few = columns > held // 2 and many <= _FEW  # rows that blocks hold: these would be sorted by few of them
    return (columns > held or few) and _shape(of, columns, many) is not None


def rows(of: Elements, many: int, columns: int, names: Names) -> Plan:
    """Return the plan that sorts `many` rows in one launch. It takes no scratch memory."""
    c = _shape(of, columns, many)
    assert c is not None
    template = {
        **of.template, "KIND": of.kind, "BLOCKS": kernels.CLUSTER_BLOCKS, "THREADS": c.threads, "ITEMS": c.items,
        "BATCH": min(c.items, 8 if of.carried == NONE else 4),
    }  # fmt: skip
    instance = instance_of(kernels.sort_cluster, template)
    return Plan((Step(instance, kernels.CLUSTER_BLOCKS * many, c.threads, {**of.arguments(names), "n": columns}),))


def _shape(of: Elements, columns: int, many: int) -> kernels.Shape | None:
    found: kernels.Shape | None = kernels.cluster_of(of.size, size_of(of.value), of.carried, columns, many)
    return found


__all__ = ["rows", "sorts"]
