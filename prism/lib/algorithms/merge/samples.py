"""When a sort by any order puts elements into parts by samples first, rather than merges tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from prism.host.plan import Buffer, Clear, Machine, Scratch, Step, instance_of, nothing
from prism.kernels import merge as kernels
from prism.lib.algorithms.select.plan import zero

_THREADS = 256
"""Of a block that takes samples."""


def takes(size: int, values: bool, n: int, machine: Machine) -> bool:
    """Whether samples part `n` elements of so many bytes, alone or with values."""
    c = kernels.parting(size, values=values, host=machine.host)
    return c is not None and c.fewest <= n <= 3 * c.mean // 2 * kernels.SEGMENTS**2


def steps(
    kind: Any, n: int, machine: Machine, given: tuple[Buffer, Buffer], out: tuple[Buffer, Buffer], scratch: Scratch,
    sort_samples: Callable[..., Any],
) -> tuple[Step | Clear, ...]:  # fmt: skip
    """Return the launches that sort `n` elements, and values beside them: by parts, parts of these, and merges within each.

    `sort_samples`: `merge.plan.by_merging`, of keys alone.
    """
    c = kernels.parting(kind.size, values=bool(kind.values), host=machine.host)
    assert c is not None
    bits = min(max((-(-n // c.mean) - 1).bit_length(), 4), 16)  # of a part's number: two at least of each level
    outer, inner = bits - bits // 2, bits // 2
    parts, many = 1 << bits, c.samples << bits
    nowhere, numbers = nothing(kind.moved), scratch.take("uint8", n)
    spare = scratch.take(kind.keys, n), scratch.take(kind.values, n) if kind.values else nowhere
    taken, samples = scratch.take(kind.keys, many), scratch.take(kind.keys, many)
    taking = instance_of(kernels.take_samples, {"T": kind.keys, "THREADS": _THREADS})
    found: list[Step | Clear] = [
        Step(
            taking, -(-many // _THREADS), _THREADS, {"x": given[0], "samples": taken, "apart": n // many, "many": many}
        ),
        *sort_samples(replace(kind, values=""), many, machine, (taken, nowhere), (samples, nowhere), scratch),
    ]
    tile, template = c.threads * c.items, {"T": kind.keys, "THREADS": c.threads, "ITEMS": c.items}
    beside = {"V": kind.moved, "VALUES": bool(kind.values)}
    segments = scratch.take("uint32", 2 * kernels.SEGMENTS + 2)
    whole = -(-n // tile)

    def part(
        source: tuple[Buffer, Buffer], target: tuple[Buffer, Buffer], tiles: int, level: int, apart: int, within: bool
    ) -> tuple[Buffer, Buffer]:
        """Put elements into the parts of one level; return counts, and their sums."""
        places = tiles << level
        chunks = -(-places // kernels.CHUNK)
        counts, sums = scratch.take("uint32", places), scratch.take("uint32", chunks)
        shared = {"x": source[0], "segments": segments, "numbers": numbers, "counts": counts, "n": n, "bits": level}
        search = {"LESS": kind.less, "BATCH": c.batch, "BLOCKS": c.counting, "STAY": c.stay}
        counting = instance_of(kernels.count_parts, {**template, **search, "INNER": within})
        moving = instance_of(kernels.move_parts, {**template, **beside, "BLOCKS": c.blocks, "INNER": within})
        counted = {**shared, "samples": samples, "apart": apart, "tiles": tiles}
        found.append(Step(counting, -(-tiles // c.stay), c.threads, counted))
        found.extend(_sum(counts, sums, places, scratch))
        moved = {"y": target[0], "x_values": source[1], "y_values": target[1], "sums": sums}
        found.append(Step(moving, tiles, c.threads, {**shared, **moved}))
        return counts, sums

    counts, sums = part(given, spare, whole, outer, c.samples << inner, False)
    dividing = instance_of(kernels.find_segments, {"TILE": tile})
    divided = {"counts": counts, "sums": sums, "segments": segments, "n": n, "tiles": whole, "bits": outer}
    found.append(Step(dividing, 1, 256, divided))
    counts, sums = part(spare, out, whole + (1 << outer), inner, c.samples, True)
    sorting = instance_of(
        kernels.sort_parts,
        {
            **beside, "T": kind.keys, "LESS": kind.less, "FEW": c.few, "MORE": c.more, "ITEMS": c.most, "THREADS": c.sorters,
            "BLOCKS": c.sorting,
        },
    )  # fmt: skip
    last = {"y": out[0], "spare": spare[0], "y_values": out[1], "spare_values": spare[1], "nothing": zero(kind.moved)}
    last |= {"samples": samples, "segments": segments, "counts": counts, "sums": sums}
    found.append(Step(sorting, parts, c.sorters, {**last, "apart": c.samples, "bits": inner, "parts": parts}))
    return tuple(found)


def _sum(counts: Buffer, sums: Buffer, many: int, scratch: Scratch) -> tuple[Step, ...]:
    """Return the launches that add up counts, chunk by chunk, and then the chunks' sums."""
    adding = instance_of(kernels.add_counts, {"THREADS": kernels.ADDERS, "ITEMS": kernels.CHUNK // kernels.ADDERS})
    every = scratch.take("uint32", 1)
    return (
        Step(adding, sums.count, kernels.ADDERS, {"counts": counts, "sums": sums, "many": many}),
        Step(adding, 1, kernels.ADDERS, {"counts": sums, "sums": every, "many": sums.count}),
    )


__all__ = ["steps", "takes"]
