"""Which kernels find more of a row's first elements than one block sorts."""

from __future__ import annotations

from prism.host.axes import Collapsed
from prism.host.plan import Machine, Plan, Scratch
from prism.lib.algorithms.ranks.plan import Rows, Wanted, find, part
from prism.lib.algorithms.topk import long
from prism.lib.algorithms.topk.plan import Task, configuration, in_runs

_WORTH = 4  # as many times as many elements has a row of which the last one that is wanted is looked for first


def top_rows(task: Task, view: Collapsed, behind: int, k: int, skew: int, machine: Machine) -> Plan:
    """Return the plan that finds the first `k` elements of rows, in their order, and their positions: see `long.top_rows`.

    Of many, but few of a long row, the last one is found first; what comes before it is kept, and sorted.
    """
    if configuration(task, view.n, k, machine) is not None or view.n < _WORTH * k:
        return long.top_rows(task, view, behind, k, skew, machine)
    rows, scratch = Rows(task, view, skew), Scratch()
    many = view.results * k
    cuts = scratch.take(task.bits, view.results), scratch.take("int64", view.results)
    front = scratch.take(task.bits, many), scratch.take("int64", many)
    steps = find(rows, Wanted(k - 1, k - 1), machine, scratch, target=cuts)
    steps += part(rows, k - 1, cuts, front[0], 1, machine, scratch, indices=front[1])
    kept = Collapsed(view.results, k, 1, k, 1, 0, 1, 1)
    steps += in_runs(task, kept, behind, k, 0, machine, front, scratch)
    return Plan(tuple(steps), scratch=scratch.used)


__all__ = ["top_rows"]
