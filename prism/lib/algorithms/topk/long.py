"""Which kernels find the first elements of few, long rows, which all blocks read."""

from __future__ import annotations

import math

from prism.host.axes import Collapsed
from prism.host.plan import OUT, Buffer, Machine, Scratch, Step, instance_of, size_of
from prism.kernels import topk as kernels
from prism.kernels.topk import configurations
from prism.lib.algorithms.topk.plan import INDICES, Task, in_parts, most_before, rank_of, value_of

_UNLIKELY = 16.0  # the row is read again with a probability below `exp(-16)`
_MOST_SAMPLED = 8  # elements of a lane, of each group


def top_long(
    task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine, scratch: Scratch
) -> list[Step]:
    """Return the steps that find the first `k` elements of rows: a sample, one read, what is kept; and where it failed again."""
    rows, entry, groups = view.results, f"struct{{key:{task.key},place:uint32}}", kernels.GROUPS
    each = max(1, min(view.n // (64 * 32 * groups), _MOST_SAMPLED))
    share = 32 * groups * each / view.n
    rank = min(rank_of(k * share, _UNLIKELY), groups - 1)
    room = min(view.n, math.ceil(1.5 * most_before(rank, _UNLIKELY) / share) + 4096)
    firsts = scratch.take(task.key, rows * groups), scratch.take("uint32", rows * groups)
    bounds, lasts = scratch.take(task.key, rows), scratch.take("int32", rows)
    counts, failed = scratch.take("int64", rows), scratch.take("int64", rows)
    kept, spots = scratch.take(task.key, rows * room), scratch.take("uint32", rows * room)
    lie = {
        "rows": rows, "inner": view.inner, "outer_stride": view.outer_stride, "n_stride": view.n_stride,
        "inner_stride": view.inner_stride,
    }  # fmt: skip
    order = task.template()
    steps = []
    threads = configurations.SAMPLING
    sampling = instance_of(kernels.sample_rows, {**order, "GROUPS": groups, "THREADS": threads})
    blocks = min(rows * groups * 32 // threads, machine.wave(sampling, threads))
    given = {"x": Buffer("x"), "keys": firsts[0], "spots": firsts[1], "counts": counts, "n": view.n, "each": each, **lie}
    steps.append(Step(sampling, blocks, threads, given))
    bits = 8 * size_of(task.bits)
    choosing = instance_of(kernels.choose_bounds, {"U": task.key, "BITS": bits, "GROUPS": groups, "THREADS": threads})
    given = {"keys": firsts[0], "spots": firsts[1], "bounds": bounds, "lasts": lasts, "rank": rank, "rows": rows}
    steps.append(Step(choosing, rows, threads, given))
    threads, blocks, loops, stage = configurations.STREAM
    width = 16 // size_of(task.bits) if view.n_stride == 1 else 1
    ahead = 2 if width == 16 else 4
    template = {
        **order, "V": value_of(task.scalar), "E": entry, "WIDTH": width, "AHEAD": ahead, "LOOPS": loops, "STAGE": stage,
        "THREADS": threads, "BLOCKS": blocks,
    }  # fmt: skip
    keeping = instance_of(kernels.keep_before, template)
    parts = max(1, -(-view.n // (width * ahead * threads * loops)))
    given = {
        "x": Buffer("x"), "bounds": bounds, "lasts": lasts, "counts": counts, "kept": kept, "spots": spots, "n": view.n,
        "room": room, "parts": parts, "skew": skew, **lie,
    }  # fmt: skip
    steps.append(Step(keeping, min(rows * parts, machine.wave(keeping, threads)), threads, given))
    threads = configurations.FINISHING
    many = 1 << (-(-k // threads) - 1).bit_length()
    held = configurations.FINISHED // task.entry
    template = {
        "B": task.bits, "U": task.key, "E": entry, "ROOM": held, "KEPT": many, "THREADS": threads, "BLOCKS": 1,
    }  # fmt: skip
    given = {
        "x": Buffer("x"), "kept": kept, "spots": spots, "counts": counts, "failed": failed, "y": Buffer(OUT),
        "indices": Buffer(INDICES), "k": k, "room": room, "outer_step": view.outer_step, "inner_step": view.inner_step,
        "behind": behind, **lie,
    }  # fmt: skip
    steps.append(Step(instance_of(kernels.top_kept, template), rows, threads, given))
    return steps + in_parts(task, view, behind, k, skew, machine, scratch, failed)


__all__ = ["top_long"]
