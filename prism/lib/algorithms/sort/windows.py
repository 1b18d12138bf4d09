"""When keys are sorted by their two highest digits, and then by windows in shared memory, rather than by all digits."""

from __future__ import annotations

from typing import Any

from prism.host.plan import Buffer, Clear, Machine, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import sort as kernels

_FEWEST = {(4, 0): 1 << 27, (8, 0): 1 << 24, (4, 4): 1 << 24, (8, 4): 1 << 24}
"""By the bytes of a key, and of a given value or 0: how many there are at least. With fewer all passes take as long, or less:
2^24 keys of 4 bytes 285 us both ways, 2^27 1.81 ms and 2.00. Others were not measured."""
_FEWEST_PLACES = {4: 1 << 27, 8: 1 << 24}
"""The same with positions, by the bytes of a key: 2^28 of 4 take 5.56 ms, 6.66 by all passes."""


def sorts(key: int, value: str, kind: int, carried: int, n: int, many: int, in_place: bool, machine: Machine) -> bool:
    """Whether `n` keys of `key` bytes are sorted so, where a sample finds them random enough."""
    if machine.host or many > 1 or kind != kernels.INTEGER or in_place:
        return False
    fewest = _FEWEST.get((key, 0 if carried == kernels.NONE else size_of(value)))
    if fewest is not None and carried == kernels.POSITIONS:
        fewest = _FEWEST_PLACES[key]
    return fewest is not None and n >= fewest and kernels.window_of(key, carried, n) is not None


def zeros(counts: str, number: int, scratch: Scratch) -> tuple[Buffer, Buffer, Buffer, Buffer, Buffer]:
    """Return memory that is cleared at once, and its parts: counts of digits, two marks, largest windows, and samples."""
    size = number * size_of(counts) // 4
    whole = scratch.take("uint32", size + 64 + kernels.GROUPS + 1)

    def part(begin: int, dtype: str, many: int) -> Buffer:
        return Buffer(whole.name, whole.offset + 4 * begin, dtype, many)

    return (
        whole,
        part(0, counts, number),
        part(size, "uint32", 2),
        part(size + 16, "uint32", kernels.LEVELS),
        part(size + 64, "uint32", kernels.GROUPS + 1),
    )


def steps(
    template: dict[str, Any], found: dict[str, Any], passes: list[Step], largest: Buffer, samples: Buffer, machine: Machine,
    scratch: Scratch,
) -> list[Step | Clear]:  # fmt: skip
    """Return the steps that sort, behind that which counts digits. `passes`: by all digits; `found`: their arguments."""
    key, counts, carried = size_of(template["K"]), template["C"], template["VALUES"]
    c = kernels.window_of(key, carried, found["n"])
    assert c is not None
    shared = {"counts": found["counts"], "n": found["n"], "window": c.tile}
    order = {"flip": found["flip"], "lowest": found["lowest"]}
    moved = found["moved"]
    marks = (moved, Buffer(moved.name, moved.offset + 4, "uint32", 1))
    bounds = scratch.take(counts, kernels.GROUPS + 1)
    sample = instance_of(kernels.sample_windows, {"K": template["K"], "C": counts, "KIND": template["KIND"]})
    find = instance_of(kernels.find_windows, {"K": template["K"], "C": counts})
    own = {name: template[name] for name in ("K", "V", "VO", "C", "KIND", "VALUES")}
    sort = instance_of(
        kernels.sort_windows,
        {
            **own,
            "THREADS": c.threads,
            "ITEMS": c.items,
            "BATCH": c.batch,
            "BLOCKS": c.blocks,
            "BITS": c.bits,
            "BUCKETS": c.buckets,
        },
    )
    sampling = min(machine.wave(sample, 256), -(-found["n"] // (256 * 256)))
    alike = found["n"] // kernels.SAMPLED // 4 if (key, carried) == (4, kernels.NONE) else (1 << 32) - 1
    first = [Step(one.instance, one.blocks, one.threads, {**one.arguments, "window": c.tile}) for one in passes]
    again = [Step(one.instance, one.blocks, one.threads, {**one.arguments, "window": -1}) for one in passes]
    return [
        Step(
            sample, sampling, 256,
            {"x": found["x"], "samples": samples, "crowded": marks[0], "alike": alike, **shared, **order},
        ),
        *first,
        Step(find, 256, 256, {"y": found["y"], "bounds": bounds, "largest": largest, "moved": moved, **shared}),
        Step(
            sort, machine.wave(sort, c.threads), c.threads,
            {
                "y": found["y"], "values": found["values"] if carried != kernels.NONE else nothing(template["V"]),
                "positions": found["positions"], "bounds": bounds, "largest": largest, "moved": moved, "failed": marks[1],
                **shared, **order,
            },
        ),
        *again,
    ]  # fmt: skip


__all__ = ["sorts", "steps", "zeros"]
