"""How one element of each of many ranks is combined, out of the messages that they send, and how ranks of a host send these."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host.arguments import scalar_of
from prism.host.plan import Buffer, Number, Plan, Step, instance_of, size_of
from prism.kernels import ranks as kernels
from prism.lib.algorithms.scan.plan import Task, number_of

HEAD, MESSAGE = kernels.HEAD * 4, kernels.MESSAGE * 4
"""Bytes of what a rank says of its call, and of its message, with an element behind the head."""
LANES = 32
"""Of the block that combines them: floats of more ranks than two are grouped by these."""
NAMES = ("told", "known", "y", "answer")
"""The arrays of a plan: what has come, what is known, the result, and where the host looks."""
TOLD = ("said", "boxes", "told", "heard", "over", "call")
"""What a step that tells takes: addresses, and the call's number. `over`: where the host says that it must not wait any more."""
COUNTED = (*TOLD, "known", "counts", "behind", "rows", "y", "answer")
"""What a plan of counts takes: their address, where they go behind a message, where those of all come, and their sums."""
_THREADS = 256
"""Of a block that tells and hears: with 1,024, which all look over the bus at once, it took 20 us more for 2 KiB."""


def combining(task: Task, result: np.dtype[Any] | None, size: int, span: tuple[int, int], initial: Any) -> Plan:
    """Return how the elements of ranks from `span[0]` to `span[1]`, which may be before it, are combined; `size`: of all ranks.

    `result`: the dtype that is stored, if it is not the task's.
    """
    template, numbers = _of_elements(task, result, size, span, initial, LANES)
    arrays = dict(zip(NAMES, map(Buffer, NAMES), strict=True))
    return Plan((Step(instance_of(kernels.combine_ranks, template), 1, LANES, {**arrays, **numbers}),))


def hearing(
    task: Task, result: np.dtype[Any] | None, size: int, span: tuple[int, int], initial: Any, rank: int, room: int
) -> Plan:
    """Return what `combining` does, behind what `telling` does with a message."""
    template, numbers = _of_elements(task, result, size, span, initial, _THREADS)
    return Plan((Step(instance_of(kernels.hear_ranks, template), 1, _THREADS, {
        **_told("heard"), **dict(zip(NAMES, map(Buffer, NAMES), strict=True)), **numbers, "rank": rank, "room": room,
    }),))  # fmt: skip


def telling(nbytes: int, rank: int, ranks: int, room: int) -> Step:
    """Return the step that tells so many bytes to ranks, through memory that has `room` words for each of them in a call."""
    arrays = {**_told("answer"), "many": nbytes // 4, "rank": rank, "ranks": ranks, "room": room}
    return Step(instance_of(kernels.exchange_ranks, {"THREADS": _THREADS}), 1, _THREADS, arrays)


def counting(nbytes: int, rank: int, ranks: int, room: int) -> Plan:
    """Return what `telling` does with a message, and with so many bytes of counts behind it, int64: by `COUNTED`."""
    return Plan((Step(instance_of(kernels.count_ranks, {"THREADS": _THREADS}), 1, _THREADS, {
        **_told("heard"), **{name: Buffer(name) for name in COUNTED if name not in TOLD}, "many": nbytes // 4, "rank": rank,
        "ranks": ranks, "room": room,
    }),))  # fmt: skip


def _told(heard: str) -> dict[str, Any]:
    """Return what a step that tells takes, by the kernel's names; `heard`: what it calls where it says that it has heard all."""
    arrays: dict[str, Any] = {name: Buffer(name) for name in TOLD[:-1] if name != "heard"}
    return {**arrays, heard: Buffer("heard"), "call": Number("call", dtype="uint32")}


def _of_elements(
    task: Task, result: np.dtype[Any] | None, size: int, span: tuple[int, int], initial: Any, threads: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the template of what combines elements, and its numbers."""
    given, computed, same = task.types
    given = "uint8" if given == "bool" else given
    first, last = span
    template = {
        "TI": given, "T": computed, "TO": same if result is None else scalar_of(result, "dtype"),
        "B": f"uint{8 * initial.dtype.itemsize}", "BI": f"uint{8 * size_of(given)}", "OP": task.operator.function,
        "THREADS": threads, "LANES": LANES, "REVERSE": first > last,
    }  # fmt: skip
    numbers = {"ranks": size, "first": min(first, last), "last": max(first, last)}
    return template, numbers | {"identity": number_of(task.identity()), "initial": number_of(initial)}


__all__ = ["COUNTED", "HEAD", "LANES", "MESSAGE", "NAMES", "TOLD", "combining", "counting", "hearing", "telling"]
