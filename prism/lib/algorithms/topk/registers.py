"""When rows are held in registers, and their first elements found by parts of what values they have."""

from __future__ import annotations

from prism.host.axes import Collapsed
from prism.host.plan import OUT, Buffer, Machine, Scratch, Step, instance_of
from prism.kernels import topk as kernels
from prism.kernels.topk import configurations
from prism.kernels.topk.configurations import Held
from prism.lib.algorithms.topk.plan import INDICES, Task, in_parts


def held_by(task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine) -> Held | None:
    """Return how blocks hold rows; None where others find their first elements: of few rows, or such as lie apart."""
    vectors = view.n_stride == 1 and view.inner == 1 and view.n % 4 == 0 and view.outer_stride % 4 == 0 and skew == 0
    if machine.host or task.scalar != "float32" or not vectors or behind > 1 or view.outer_step != 1:
        return None
    if view.outer < configurations.ROWS:
        return None
    found = (c for c in configurations.ROWS_HELD if view.n <= c.most and c.fewest <= k <= c.first)
    return next((c for c in found if k <= c.groups_of(view.n)), None)


def top_held(task: Task, view: Collapsed, c: Held, k: int, skew: int, machine: Machine, scratch: Scratch) -> list[Step]:
    """Return the steps that find the first `k` elements of rows which blocks hold; and of those where values lie too close."""
    failed = scratch.take("int64", view.outer)
    template = {
        "LARGEST": task.largest, "GROUPS": c.groups, "ITEMS": c.items, "BINS": c.bins, "ROOM": c.first + kernels.CROWD,
        "THREADS": c.threads, "BLOCKS": c.blocks,
    }  # fmt: skip
    given = {
        "x": Buffer("x"), "y": Buffer(OUT), "indices": Buffer(INDICES), "failed": failed, "n": view.n, "k": k,
        "stride": view.outer_stride,
    }  # fmt: skip
    step = Step(instance_of(kernels.top_held, template), view.outer, c.threads, given)
    return [step, *in_parts(task, view, 1, k, skew, machine, scratch, failed)]


__all__ = ["held_by", "top_held"]
