"""How one element of each of many ranks is combined, out of the messages that they send, and how ranks of a host send these."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host.arguments import scalar_of
from prism.host.plan import Buffer, Number, Plan, Step, instance_of, size_of
from prism.kernels import ranks as kernels
from prism.lib.algorithms.scan.plan import Task, number_of

HEAD, MESSAGE = kernels.HEAD * 8, kernels.MESSAGE * 8
"""Bytes of what a rank says of its call, and of its message, with an element behind the head."""
LANES = 32
"""Of the block that combines them: floats of more ranks than two are grouped by these."""
NAMES = ("told", "known", "y", "answer")
"""The arrays of a plan: what has come, what is known, the result, and where the host looks."""
TOLD = ("said", "boxes", "told", "heard", "call", "looks")
"""What a step that tells takes: addresses, the call's number, and how often it looks at each word; below 0 until it has come."""
_THREADS = 256


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


def telling(nbytes: int, rank: int, ranks: int, room: int) -> Step:
    """Return the step that tells so many bytes to ranks, through memory that has `room` words for each of them in a call."""
    arrays: dict[str, Any] = dict(zip(("said", "boxes", "told", "answer"), map(Buffer, TOLD), strict=False))
    arrays |= {"call": Number("call", dtype="uint32"), "looks": Number("looks", dtype="int64")}
    arrays |= {"many": nbytes // 4, "rank": rank, "ranks": ranks, "room": room}
    return Step(instance_of(kernels.exchange_ranks, {"THREADS": _THREADS}), 1, _THREADS, arrays)


__all__ = ["HEAD", "LANES", "MESSAGE", "NAMES", "TOLD", "combining", "telling"]
