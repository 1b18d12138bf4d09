"""Which kernels of scans ship, those of the cumulative functions among them.

Of whole arrays, of all sizes in powers of two: sums of all dtypes; products and running extremes of those that most arrays have.
Along the last axis: what the cumulative functions do of these. Along others: sums, of those dtypes and of bools. All others, as
scans of bits, are compiled when they are first asked for, which takes some 0.3 s, once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from prism.host.plan import Machine
from prism.lib import operators
from prism.lib.algorithms.scan import plan
from prism.lib.algorithms.scan.api import SUPPORTED
from prism.lib.algorithms.scan.plan import Shape, Task, Way
from prism.runtime.instance import Instance, instance

COMMON = ("int32", "int64", "float32", "float64")
"""The dtypes that are most used."""
USUAL = (*COMMON, "float16", "bfloat16")
"""Those that most arrays of numbers have."""
_LOG = 28  # sizes up to 2**28
_PROMOTED = {
    "bool": "int64",
    **{f"int{n}": "int64" for n in (8, 16, 32)},
    **{f"uint{n}": "uint64" for n in (8, 16, 32)},
}


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for task in _tasks():
        yield from map(kernel_of, _ways(task, gpu.multiprocessors))
        if ships_along_columns(task):
            yield from (instance(kernel, tuple(template.items())) for kernel, template in plan.all_columns(task))


def kernel_of(way: Way) -> Instance:
    """Return the kernel of a way, with its template."""
    return instance(way.kernel, tuple(way.template.items()))


def _tasks() -> Iterator[Task]:
    """What the cumulative functions compute, and `scan`."""
    for dtype in (*SUPPORTED, "bool"):
        yield Task(operators.add, dtype, _PROMOTED.get(dtype, dtype))
    yield from (Task(operators.add, dtype, dtype) for dtype in SUPPORTED)
    numbers = [one for one in operators.BY_NAME.values() if not one.integral and one is not operators.add]
    for operator, dtype in itertools.product(numbers, USUAL):
        yield Task(operator, dtype, dtype)
    yield Task(operators.multiply, "int32", "int64")


def ships(task: Task) -> bool:
    """Whether the kernels that scan whole arrays ship, and rows: what the cumulative functions, and `scan`, take for a dtype."""
    return task.operator is operators.add or task.given in USUAL


def ships_along_columns(task: Task) -> bool:
    """Whether those do that scan along another axis than the last one."""
    return task.operator is operators.add and _cumulative(task) and task.given in (*USUAL, "bool")


def _ways(task: Task, processors: int) -> Iterator[Way]:
    for log in range(8, _LOG + 1):
        yield plan.on_device(task, Shape(1, 1 << log, 1, True), processors)
    if _cumulative(task):
        yield plan.on_device(task, Shape(1 << 13, 1 << 13, 1, True), processors)
    if task.operator is operators.add:
        yield plan.many_tiles(replace(task, exclusive=True), Shape(1, 1 << _LOG, 1, True))


def _cumulative(task: Task) -> bool:
    """Whether `cumsum`, `cumprod`, `cummax` or `cummin` computes this by default."""
    if task.operator in (operators.add, operators.multiply):
        return task.result == _PROMOTED.get(task.given, task.given)
    return task.operator in (operators.maximum, operators.minimum)
