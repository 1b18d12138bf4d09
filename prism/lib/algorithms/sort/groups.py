"""When whole numbers are sorted by groups of their highest bits, rather than by all digits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from prism.host.plan import Buffer, Machine, Scratch, Step, instance_of, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort_rows import ROOM

_FEWEST = 1 << 23  # of 2^22, that are not spread evenly, what is tried first costs more than it gains of others


def sorts(key: int, kind: int, carried: int, n: int, many: int, in_place: bool, machine: Machine) -> bool:
    """Whether `n` keys of so many bytes are sorted so, where they are spread evenly."""
    if machine.host or many > 1 or kind != kernels.INTEGER or in_place or machine.arch in ROOM or key != 4:
        return False
    return carried == kernels.NONE and n >= _FEWEST and room_of(n) <= kernels.GROUPED.room


def room_of(n: int) -> int:
    """Return how many of `n` keys a group has room for: of random ones one has more with a probability below 10^-12."""
    mean: float = n / kernels.MANY_GROUPS
    return -(-math.ceil(mean + 8 * math.sqrt(mean)) // 32) * 32


def zeros(counts: str, number: int, scratch: Scratch) -> tuple[Buffer, ...]:
    """Return memory that is cleared at once, and its parts: counts of digits, two marks, and where groups end."""
    size = number * size_of(counts) // 4
    whole = scratch.take("uint32", size + 64 + kernels.MANY_GROUPS)

    def part(begin: int, dtype: str, many: int) -> Buffer:
        return Buffer(whole.name, whole.offset + 4 * begin, dtype, many)

    ends = part(size + 64, "uint32", kernels.MANY_GROUPS)
    return whole, part(0, counts, number), part(size, "uint32", 2), ends


def steps(
    found: dict[str, Any], room: Buffer, count: Step, passes: list[Step], ends: Buffer, machine: Machine
) -> list[Step]:
    """Return the steps that sort. `found`: arguments of `passes`, by bytes; `room`: for all groups."""
    marks, n, flip, each = found["moved"], found["n"], found["flip"], room_of(found["n"])
    failed = Buffer(marks.name, marks.offset + 4, "uint32", 1)
    c, key = kernels.GROUPED, room.dtype
    move = instance_of(kernels.move_to_groups, {"K": key, "THREADS": c.moving, "ITEMS": c.items, "BLOCKS": c.movers})
    sort = instance_of(
        kernels.sort_groups, {"K": key, "THREADS": c.threads, "MOST": c.most, "BUCKETS": c.buckets, "BLOCKS": c.blocks}
    )
    tiles = -(-n // (c.moving * c.items))
    again = instance_of(kernels.count_digits, {**dict(count.instance.template), "ASKED": True})
    shared = {"x": found["x"], "spare": room, "ends": ends, "failed": failed, "room": each, "flip": flip}
    return [
        Step(move, min(tiles, machine.wave(move, c.moving)), c.moving, {**shared, "n": n}),
        Step(sort, machine.wave(sort, c.threads), c.threads, {**shared, "y": found["y"]}),
        replace(count, instance=again, arguments={**count.arguments, "asked": failed}),
        *(replace(one, arguments={**one.arguments, "window": -1}) for one in passes),
    ]


__all__ = ["room_of", "sorts", "steps", "zeros"]
