"""How an array is sorted that all blocks of a GPU hold at once: by shares of its keys, where that can be; else by digits."""

from __future__ import annotations

from typing import Any

from prism.host.plan import Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort import NONE, POSITIONS
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.sort.elements import Elements
from prism.lib.algorithms.sort_rows.plan import Names


def sorts(of: Elements, n: int, machine: Machine) -> bool:
    """Whether blocks that all run at once sort `n` elements."""
    if machine.host or machine.arch in ROOM:  # GPUs of little shared memory have a table of their own
        return False
    return _shape(of, n, machine) is not None


def rows(of: Elements, n: int, machine: Machine, names: Names) -> Plan:
    """Return the plan that sorts `n` elements in one launch; keys of 4 bytes alone by shares, and in another where that fails.

    Scratch: as many keys, and values where some go along, and 512 bytes a tile and byte of a key; of positions two of each, of 4
    bytes. Results may be what is read.
    """
    c = _shape(of, n, machine)
    assert c is not None
    scratch, tiles = Scratch(), -(-n // (c.threads * c.items))
    template = {
        **of.template, "KIND": of.kind, "THREADS": c.threads, "ITEMS": c.items, "BATCH": min(c.items, 4),
    }  # fmt: skip
    numbers = scratch.take("uint32", 128 * of.size * tiles)
    spare = scratch.take(of.key, n)
    value_spare = nothing(of.value) if of.carried == NONE else scratch.take(of.value, n)
    arguments: dict[str, Any] = {
        **of.arguments(names), "spare": spare, "value_spare": value_spare, "numbers": numbers, "n": n, "tiles": tiles,
        "last": max(0, 8 * of.size - 16),
    }  # fmt: skip
    if of.carried == POSITIONS:
        arguments |= {"y": scratch.take(of.key, n), "values": scratch.take(of.value, n)}
    # More than 2^19 floats gain 5 % at most, and lose a fifth where a number is there often: what is tried first is lost then.
    share = kernels.share_of(of.size, of.carried, n, c) if of.kind == kernels.INTEGER or c.items < 16 else None
    if share is None:
        instance = instance_of(kernels.sort_resident, template)
        step = Step(instance, tiles, c.threads, {**arguments, "asked": nothing("uint32")})
        return Plan((step,), scratch=scratch.used)
    failed = scratch.take("uint32", tiles)
    own = {
        "K": of.key, "KIND": of.kind, "THREADS": c.threads, "ITEMS": c.items, "MOST": share.most, "BUCKETS": share.buckets,
    }  # fmt: skip
    by_shares = instance_of(kernels.sort_shares, own)
    given = {name: arguments[name] for name in ("x", "spare", "y", "numbers", "n", "tiles", "flip", "lowest")}
    again = instance_of(kernels.sort_resident, {**template, "ASKED": True})
    steps = (
        Step(by_shares, tiles, c.threads, {**given, "failed": failed}),
        Step(again, tiles, c.threads, {**arguments, "asked": failed}),
    )
    return Plan(steps, scratch=scratch.used)


def _shape(of: Elements, n: int, machine: Machine) -> kernels.Shape | None:
    blocks = machine.multiprocessors
    found: kernels.Shape | None = kernels.resident_of(of.size, size_of(of.value), of.carried, n, blocks)
    return found


__all__ = ["rows", "sorts"]
