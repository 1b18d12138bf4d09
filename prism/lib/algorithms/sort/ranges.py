"""How few elements are sorted in one launch: clusters read all keys, and each sorts a range of them."""

from __future__ import annotations

from prism.host.plan import Machine, Plan, Step, instance_of
from prism.kernels import sort as kernels
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.sort.elements import Elements
from prism.lib.algorithms.sort_rows.plan import Names


def sorts(of: Elements, n: int, machine: Machine) -> bool:
    """Whether clusters sort `n` elements by ranges; GPUs have clusters from 9.0 on."""
    if machine.host or machine.arch in ROOM:
        return False
    return kernels.ranges_of(of.size, of.kind, of.carried, n) is not None


def rows(of: Elements, n: int, names: Names) -> Plan:
    """Return the plan that sorts `n` elements in one launch. It takes no scratch memory."""
    c = kernels.ranges_of(of.size, of.kind, of.carried, n)
    assert c is not None
    template = {
        **of.template, "W": c.word, "THREADS": c.threads, "ITEMS": c.items, "MOST": c.most, "BATCH": c.batch,
        "KIND": min(of.kind, kernels.FLOAT),
    }  # fmt: skip
    instance = instance_of(kernels.sort_ranges, template)
    return Plan((Step(instance, 1 << c.level, c.threads, {**of.arguments(names), "n": n, "level": c.level}),))


__all__ = ["rows", "sorts"]
