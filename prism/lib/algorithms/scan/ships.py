"""Which kernels of scans ship, those of the cumulative functions among them.

Of whole arrays: by every operator of numbers that has a name, of all dtypes and of all sizes in powers of two; those of bits are
compiled when they are first asked for. Along axes: what the cumulative functions do, but other ones than sums along the last
axis alone.
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
        if _cumulative(task) and task.operator is operators.add:
            yield from (instance(kernel, tuple(template.items())) for kernel, template in plan.all_columns(task))


def kernel_of(way: Way) -> Instance:
    """Return the kernel of a way, with its template."""
    return instance(way.kernel, tuple(way.template.items()))


def _tasks() -> Iterator[Task]:
    """What the cumulative functions compute, and `scan`, of every dtype."""
    for operator, dtype in itertools.product((operators.add, operators.multiply), SUPPORTED):
        yield Task(operator, dtype, _PROMOTED.get(dtype, dtype))
    numbers = [operator for operator in operators.BY_NAME.values() if not operator.integral]
    yield from (Task(operator, dtype, dtype) for operator, dtype in itertools.product(numbers, SUPPORTED))
    yield from (Task(operator, "bool", "int64") for operator in (operators.add, operators.multiply))
    yield from (Task(operator, "bool", "bool") for operator in (operators.maximum, operators.minimum))


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
