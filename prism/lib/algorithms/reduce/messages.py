"""How one element of each of many ranks is combined, out of the messages that they send (`prism.dist`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host.arguments import scalar_of
from prism.host.plan import Buffer, Plan, Step, instance_of, size_of
from prism.kernels import ranks as kernels
from prism.lib.algorithms.scan.plan import Task, number_of

HEAD, MESSAGE = kernels.HEAD * 8, kernels.MESSAGE * 8
"""Bytes of what a rank says of its call, and of its message, with an element behind the head."""
LANES = 32
"""Of the block that combines them: floats of more ranks than two are grouped by these."""
NAMES = ("told", "known", "y", "answer")
"""The arrays of a plan: what has come, what is known, the result, and where the host looks."""


def combining(task: Task, result: np.dtype[Any] | None, size: int, span: tuple[int, int], initial: Any) -> Plan:
    """Return how the elements of ranks from `span[0]` to `span[1]`, which may be before it, are combined; `size`: of all ranks.

    `result`: the dtype that is stored, if it is not the task's.
    """
    told, known, made, answer = map(Buffer, NAMES)
    given, computed, same = task.types
    first, last = span
    template = {
        "TI": given, "T": computed, "TO": same if result is None else scalar_of(result, "dtype"),
        "B": f"uint{8 * initial.dtype.itemsize}", "OP": task.operator.function, "THREADS": LANES,
        "APART": MESSAGE // size_of(given), "REVERSE": first > last,
    }  # fmt: skip
    numbers = {"ranks": size, "first": min(first, last), "last": max(first, last)}
    numbers |= {"identity": number_of(task.identity()), "initial": number_of(initial)}
    arrays = {"told": told, "known": known, "elements": Buffer(told.name, HEAD), "y": made, "answer": answer}
    return Plan((Step(instance_of(kernels.combine_ranks, template), 1, LANES, {**arrays, **numbers}),))


__all__ = ["HEAD", "LANES", "MESSAGE", "NAMES", "combining"]
