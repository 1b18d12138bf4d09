"""How an array is sorted that all blocks of a GPU hold at once: by shares of its keys, where that can be; else by digits."""

from __future__ import annotations

from typing import Any

from prism.host.plan import Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort import GIVEN, NONE, POSITIONS
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.sort_rows.plan import Names


def sorts(key: int, value: int, carried: int, n: int, machine: Machine) -> bool:
    """Whether blocks that all run at once sort `n` keys of so many bytes, beside values of so many."""
    if machine.host or machine.arch in ROOM:  # GPUs of little shared memory have a table of their own
        return False
    return kernels.resident_of(key, value, carried, n, machine.multiprocessors) is not None


def rows(
    key: str, value: str, position: str, carried: int, n: int, machine: Machine, names: Names, *, kind: int, flip: int,
    lowest: int,
) -> Plan:  # fmt: skip
    """Return the plan that sorts `n` keys in one launch; keys of 4 bytes alone by shares, and in another where that fails.

    Scratch: as many keys, and values where some go along, and 512 bytes a tile and byte of a key; of positions two of each, of 4
    bytes. Results may be what is read.
    """
    c = kernels.resident_of(size_of(key), size_of(value), carried, n, machine.multiprocessors)
    assert c is not None
    scratch, tiles = Scratch(), -(-n // (c.threads * c.items))
    size = size_of(key)
    template = {
        "K": key, "V": value, "VO": position, "KIND": kind, "VALUES": carried, "THREADS": c.threads, "ITEMS": c.items,
        "BATCH": min(c.items, 4),
    }  # fmt: skip
    numbers = scratch.take("uint32", 128 * size * tiles)
    spare = scratch.take(key, n)
    value_spare = nothing(value) if carried == NONE else scratch.take(value, n)
    placed = carried == POSITIONS
    arguments: dict[str, Any] = {
        "x": names.x, "spare": spare, "y": scratch.take(key, n) if placed else names.y,
        "given": names.values if carried == GIVEN else nothing(value), "value_spare": value_spare,
        "values": scratch.take(value, n) if placed else names.moved if carried == GIVEN else nothing(value),
        "positions": names.places if placed else nothing(position), "numbers": numbers, "n": n, "tiles": tiles,
        "last": max(0, 8 * size - 16), "flip": flip, "lowest": lowest,
    }  # fmt: skip
    # Floats of more than 2^18 gain nothing, and lose what is tried first where a number is there often.
    share = kernels.share_of(size, carried, n, c) if True else None
    if share is None:
        instance = instance_of(kernels.sort_resident, template)
        step = Step(instance, tiles, c.threads, {**arguments, "asked": nothing("uint32")})
        return Plan((step,), scratch=scratch.used)
    failed = scratch.take("uint32", tiles)
    own = {"K": key, "KIND": kind, "THREADS": c.threads, "ITEMS": c.items, "MOST": share.most, "BUCKETS": share.buckets}
    by_shares = instance_of(kernels.sort_shares, own)
    given = {name: arguments[name] for name in ("x", "spare", "y", "numbers", "n", "tiles", "flip", "lowest")}
    again = instance_of(kernels.sort_resident, {**template, "ASKED": True})
    steps = (
        Step(by_shares, tiles, c.threads, {**given, "failed": failed}),
        Step(again, tiles, c.threads, {**arguments, "asked": failed}),
    )
    return Plan(steps, scratch=scratch.used)


__all__ = ["rows", "sorts"]
