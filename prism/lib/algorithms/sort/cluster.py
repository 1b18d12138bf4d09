"""How rows are sorted that no block holds, but the shared memory of a cluster of blocks does."""

from __future__ import annotations

from typing import Any

from prism.host.plan import Machine, Plan, Step, instance_of, nothing, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort import GIVEN, NONE, POSITIONS
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.sort_rows.plan import Names

_FEW = 16
_MOST = (1 << 31) // kernels.CLUSTER_BLOCKS  # rows of a launch


def sorts(key: int, value: int, carried: int, many: int, columns: int, held: int, machine: Machine) -> bool:
    """Whether clusters sort `many` rows of keys of so many bytes, beside values of so many; GPUs have clusters from 9.0 on.

    `held`: how many columns a block holds.
    """
    if machine.host or machine.arch in ROOM or many > _MOST:
        return False
    few = columns > held // 2 and many <= _FEW  # rows that blocks hold: these would be sorted by few of them
    return (columns > held or few) and kernels.cluster_of(key, value, carried, columns, many) is not None


def rows(
    key: str, value: str, position: str, carried: int, many: int, columns: int, names: Names, *, kind: int, flip: int,
    lowest: int,
) -> Plan:  # fmt: skip
    """Return the plan that sorts `many` rows of keys in one launch. It takes no scratch memory."""
    c = kernels.cluster_of(size_of(key), size_of(value), carried, columns, many)
    assert c is not None
    template = {
        "K": key, "V": value, "VO": position, "KIND": kind, "VALUES": carried, "BLOCKS": kernels.CLUSTER_BLOCKS,
        "THREADS": c.threads, "ITEMS": c.items, "BATCH": min(c.items, 8 if carried == NONE else 4),
    }  # fmt: skip
    arguments: dict[str, Any] = {
        "x": names.x, "y": nothing(key) if carried == POSITIONS else names.y,
        "given": names.values if carried == GIVEN else nothing(value),
        "values": names.moved if carried == GIVEN else nothing(value),
        "positions": names.places if carried == POSITIONS else nothing(position), "n": columns, "flip": flip, "lowest": lowest,
    }  # fmt: skip
    instance = instance_of(kernels.sort_cluster, template)
    return Plan((Step(instance, kernels.CLUSTER_BLOCKS * many, c.threads, arguments),))


__all__ = ["rows", "sorts"]
