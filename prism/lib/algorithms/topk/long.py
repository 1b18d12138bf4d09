"""Which kernels find the first elements of rows: of long ones, which all blocks read, and of others."""

from __future__ import annotations

import math

from prism.host.axes import Collapsed
from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch, Step, instance_of, size_of
from prism.kernels import topk as kernels
from prism.kernels.topk import configurations
from prism.kernels.topk.configurations import Configuration
from prism.lib.algorithms.topk.plan import (
    INDICES,
    Task,
    configuration,
    in_parts,
    in_runs,
    limit_of,
    most_before,
    rank_of,
    value_of,
)  # fmt: skip
from prism.lib.algorithms.topk.registers import held_by, top_held

_UNLIKELY = 16.0  # the row is read again with a probability below `exp(-16)`
_MOST_SAMPLED = 8  # elements of a lane, of each group
_APART = 256  # an element of so many is looked at


def top_rows(task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine) -> Plan:
    """Return the plan that finds the first `k` elements of rows, in their order, and their positions.

    `behind`: elements that stand behind the axis of the rows; `skew`: as many elements as `x` begins past an aligned one.
    """
    scratch = Scratch()
    if configuration(task, view.n, k, machine) is None:
        steps = in_runs(task, view, behind, k, skew, machine, (Buffer("x"), None), scratch)
    elif not machine.host and is_long(task, view.n, k, machine):
        steps = top_long(task, view, behind, k, skew, machine, scratch)
    elif c := held_by(task, view, behind, k, skew, machine):
        steps = top_held(task, view, c, k, skew, machine, scratch)
    else:
        steps = in_parts(task, view, behind, k, skew, machine, scratch)
    return Plan(tuple(steps), scratch=scratch.used)


def is_long(task: Task, n: int, k: int, machine: Machine) -> bool:
    """Whether rows are long enough, and a block can put so many elements in order."""
    return configurations.LONG <= n <= 1 << 30 and k <= 4096 and finish_of(task, k, 0, machine)[0] > 0


def sample_of(n: int, k: int) -> tuple[int, int, int]:
    """Return the groups of a sample, how many elements a lane looks at, and the rank of the bound among the groups' first."""
    groups = max(64, min(1 << (n // (_APART * 32)).bit_length() - 1, kernels.GROUPS))
    while True:
        each = max(1, min(n // (_APART * 32 * groups), _MOST_SAMPLED))
        rank = rank_of(k * 32 * groups * each / n, _UNLIKELY)
        if 4 * rank <= groups or groups == kernels.GROUPS:
            return groups, each, min(rank, groups - 1)
        groups *= 2


def finish_of(task: Task, k: int, expected: int, machine: Machine) -> tuple[int, int]:
    """Return how many elements the last block holds, 0 where there is no room, and how many a thread puts in order."""
    threads = configurations.FINISHING
    each = 1 << (-(-k // threads) - 1).bit_length()
    most = min(configurations.FINISHED, limit_of(machine)) // task.entry
    held = 1 << (min(max(2 * expected, k, 512), most) - 1).bit_length()
    while held >= k and task.bytes(Configuration(threads, 1, held, each)) > limit_of(machine):
        held //= 2
    return (held if held >= k else 0), each


def top_long(
    task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine, scratch: Scratch
) -> list[Step]:
    """Return the steps that find the first `k` elements of rows: a sample, one read, what is kept; and where it failed again."""
    rows, entry = view.results, f"struct{{key:{task.key},place:uint32}}"
    groups, each, rank = sample_of(view.n, k)
    share = 32 * groups * each / view.n
    room = min(view.n, max(math.ceil(1.5 * most_before(rank, _UNLIKELY) / share) + 1024, 1))
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
    given = {
        "x": Buffer("x"),
        "keys": firsts[0],
        "spots": firsts[1],
        "counts": counts,
        "n": view.n,
        "each": each,
        **lie,
    }
    steps.append(Step(sampling, blocks, threads, given))
    bits = 8 * size_of(task.bits)
    choosing = instance_of(kernels.choose_bounds, {"U": task.key, "BITS": bits, "GROUPS": groups, "THREADS": threads})
    given = {"keys": firsts[0], "spots": firsts[1], "bounds": bounds, "lasts": lasts, "rank": rank, "rows": rows}
    steps.append(Step(choosing, rows, threads, given))
    threads, blocks, loops, stage = configurations.STREAM
    width = 16 // size_of(task.bits) if view.n_stride == 1 else 1
    ahead = 2 if width == 16 else 4
    template = {
        **order, "V": value_of(task.scalar), "E": entry, "WIDTH": width, "AHEAD": ahead, "LOOPS": loops,
        "STAGE": stage // task.entry, "THREADS": threads, "BLOCKS": blocks,
    }  # fmt: skip
    keeping = instance_of(kernels.keep_before, template)
    parts = max(1, -(-view.n // (width * ahead * threads * loops)))
    given = {
        "x": Buffer("x"), "bounds": bounds, "lasts": lasts, "counts": counts, "kept": kept, "spots": spots, "n": view.n,
        "room": room, "parts": parts, "skew": skew, **lie,
    }  # fmt: skip
    steps.append(Step(keeping, min(rows * parts, machine.wave(keeping, threads)), threads, given))
    held, kept_each = finish_of(task, k, math.ceil(rank / share), machine)
    template = {
        "B": task.bits, "U": task.key, "E": entry, "ROOM": held, "KEPT": kept_each, "THREADS": configurations.FINISHING,
        "BLOCKS": 1,
    }  # fmt: skip
    given = {
        "x": Buffer("x"), "kept": kept, "spots": spots, "counts": counts, "failed": failed, "y": Buffer(OUT),
        "indices": Buffer(INDICES), "k": k, "room": room, "outer_step": view.outer_step, "inner_step": view.inner_step,
        "behind": behind, **lie,
    }  # fmt: skip
    steps.append(Step(instance_of(kernels.top_kept, template), rows, configurations.FINISHING, given))
    return steps + in_parts(task, view, behind, k, skew, machine, scratch, failed)


__all__ = ["finish_of", "is_long", "sample_of", "top_long", "top_rows"]
