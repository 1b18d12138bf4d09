"""How few elements are sorted in one launch: clusters read all keys, and each sorts a range of them."""

from __future__ import annotations

from typing import Any

from prism.host.plan import Machine, Plan, Step, instance_of, nothing, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort import GIVEN, POSITIONS
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.sort_rows.plan import Names


def sorts(key: int, kind: int, carried: int, n: int, machine: Machine) -> bool:
    """Whether clusters sort `n` keys of so many bytes by ranges, alone or with others; GPUs have clusters from 9.0 on."""
    if machine.host or machine.arch in ROOM:
        return False
    return kernels.ranges_of(key, kind, carried, n) is not None


def rows(
    key: str, value: str, position: str, carried: int, n: int, names: Names, *, kind: int, flip: int, lowest: int
) -> Plan:
    """Return the plan that sorts `n` keys in one launch. It takes no scratch memory."""
    c = kernels.ranges_of(size_of(key), kind, carried, n)
    assert c is not None
    template = {
        "K": key, "W": c.word, "V": value, "VO": position, "VALUES": carried, "THREADS": c.threads, "ITEMS": c.items,
        "MOST": c.most, "BATCH": c.batch, "KIND": min(kind, kernels.FLOAT),
    }  # fmt: skip
    arguments: dict[str, Any] = {
        "x": names.x, "y": nothing(key) if carried == POSITIONS else names.y,
        "given": names.values if carried == GIVEN else nothing(value),
        "values": names.moved if carried == GIVEN else nothing(value),
        "positions": names.places if carried == POSITIONS else nothing(position), "n": n, "level": c.level,
        "flip": flip, "lowest": lowest,
    }  # fmt: skip
    instance = instance_of(kernels.sort_ranges, template)
    return Plan((Step(instance, 1 << c.level, c.threads, arguments),))


__all__ = ["rows", "sorts"]
