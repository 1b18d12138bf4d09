"""What the gradients of norms come to: one launch for rows, and a reduction for each weight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from prism.host import arguments, repeat
from prism.host.axes import Collapsed
from prism.host.call import Decision, Result, call
from prism.host.machine import machine_of
from prism.host.plan import Buffer, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import rows as kernels
from prism.kernels.rows.columns import THREADS
from prism.kernels.rows.configurations import LONG
from prism.lib import operators
from prism.lib.algorithms.reduce.axis_plan import along_axis
from prism.lib.algorithms.reduce.steps import Work
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.norms import column_type
from prism.lib.algorithms.rows.plan import number_of
from prism.lib.algorithms.rows.wide import wide_backward
from prism.lib.algorithms.scan.api import dtype_of
from prism.runtime.arrays import ArrayInfo

_HELD = 16_384  # elements of a row that some block always holds
_VECTOR = 16  # bytes
_GROUPS = 150  # of rows, up to which both weights' sums are added up in one launch
_GRADIENTS = ("dx", "dweight", "dbias")


def norm_backward(function: str, dout: Any, x: Any, weight: Any, bias: bool, eps: float, stream: Any) -> Any:
    """Return what `function` does, which is `rms_norm_backward` or `layer_norm_backward`.

    Raises:
        TypeError, ValueError: as these.
    """
    given = {"dout": dout, "x": x} | ({} if weight is None else {"weight": weight})
    asked = (function, tuple(given), bias, repr(eps))
    if (known := repeat.run_many(asked, (*given.values(), None), stream)) is not None:
        return known
    small, centred = number_of(eps, "eps", 0.0), function == "layer_norm_backward"
    shape = tuple(getattr(x, "shape", ()))
    if math.prod(shape) and shape and shape[-1] > _HELD:
        infos = arguments.describe_all(given, {})
        plans.require_alike("dout", infos["dout"], "x", infos["x"])
        weighed = column_type({"weight": infos["weight"]} if weight is not None else {}, infos["x"])
        kind = plans.number_type((infos["x"].scalar, weighed))
        if plans.sharing(x.shape[-1], 1, kind, machine_of(infos["x"]), inputs=2).way == LONG:
            found = wide_backward(x, dout, weight, centred, bias, small, kind, weighed, stream)
            return found if len(found) > 1 else found[0]

    def decide(arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine) -> Decision:
        return _decide(centred, bias, small, arrays, machine)

    return call(function, asked, given, decide, None, stream)


def _decide(centred: bool, bias: bool, eps: float, arrays: Mapping[str, ArrayInfo], machine: Machine) -> Decision:
    given, dout = arrays["x"], arrays["dout"]
    rows, beside = (plans.rows_of(name, arrays[name], machine) for name in ("x", "dout"))
    plans.require_alike("dout", dout, "x", given)
    columns = {"weight": arrays["weight"]} if "weight" in arrays else {}
    weighed = column_type(columns, given)
    copied = tuple(name for name, one in (("x", rows), ("dout", beside)) if one is None)
    if rows is None or beside is None or arguments.not_plain(columns):
        return Decision(copied=(*copied, *arguments.not_plain(columns)))
    wanted = {"dx": True, "dweight": bool(columns), "dbias": bias}
    names = tuple(name for name in _GRADIENTS if wanted[name])
    column = Result(given.shape[-1:], dtype_of(weighed, given))
    results = (Result(given.shape, dtype_of(given.scalar, given)), *(column for _ in names[1:]))
    if not given.size:
        return Decision(results, names, fill=0)
    kind = plans.number_type((given.scalar, weighed))
    types = plans.sums_of(kind, (given.scalar,))
    width = plans.width_of([rows, beside], None, tuple(columns.values()))
    shared = plans.in_turn([rows, beside], width, kind, machine, sums=len(names) - 1)
    short = size_of(given.scalar) == 2
    shared, full = plans.fill(rows.n, shared, sums=len(names) - 1, short=short)
    slopes = plans.struct_of(types["D"], "total", "weighed", "squares", "products")
    template = {
        "TI": given.scalar, "W": weighed, "A": kind, "D": types["D"], "G": plans.guess_of(given.scalar),
        "S": slopes if centred else types["P"], "F": slopes,
        "CENTRED": centred, "WEIGHT": bool(columns), "BIAS": bias,
        "FULL": full,
    } | plans.template_of(shared)  # fmt: skip
    kernel = instance_of(kernels.norm_backward_rows, template)
    step = min(plans.clusters_of(shared, kernel, machine), plans.groups_of(rows, shared))
    groups = step if shared.wide else step * (shared.threads >> shared.lanes)
    scratch = Scratch()
    sums = {name: scratch.take(kind, groups * rows.n) if wanted[name] else nothing(kind) for name in _GRADIENTS[1:]}
    arguments_of = {
        "x": Buffer("x"), "dy": Buffer("dout"), "weight": Buffer("weight") if columns else nothing(weighed), "dx": Buffer("dx"),
        "weights": sums["dweight"], "biases": sums["dbias"], "rows": rows.many, "n": rows.n, "stride": rows.stride,
        "dy_stride": beside.stride, "step": step, "eps": eps, "share": 1 / rows.n,
        "lanes": shared.lanes,
    }  # fmt: skip
    steps = [Step(kernel, step * shared.blocks, shared.threads, arguments_of)]
    if groups <= _GROUPS and len(names) > 1:
        steps.append(_sums_step(kind, weighed, groups, rows.n, [sums[name] for name in names[1:]], names[1:]))
    else:
        for name in names[1:]:
            work = Work(operators.add, kind, kind, weighed, 0.0, 0.0)
            stage = Collapsed(1, groups, rows.n, 0, rows.n, 1, 0, 1)
            steps += along_axis(work, stage, 0, sums[name], Buffer(name, dtype=weighed, count=rows.n), scratch, machine)
    return Decision(results, names, plan=Plan(tuple(steps), scratch=scratch.used))


def _sums_step(kind: str, weighed: str, groups: int, n: int, sums: Sequence[Buffer], names: Sequence[str]) -> Step:
    """Return what adds up what all groups of rows have found for each column: of one weight, or of two at once.

    A thread has some four groups' columns, so that what there is to read is under way at once.
    """
    width = next(width for width in (4, 2, 1) if n % width == 0 and width * size_of(kind) <= _VECTOR)
    splits = 2 ** min(max(round(math.log2(max(groups / 4, 1))), 0), 6)
    each = -(-n // (THREADS // splits * width))
    template = {"A": kind, "W": weighed, "BOTH": len(names) > 1, "SPLITS": splits, "WIDTH": width}
    results = [Buffer(name, dtype=weighed, count=n) for name in names]
    memory = {"first": sums[0], "second": sums[-1], "y": results[0], "z": results[-1]}
    numbers = {"groups": groups, "n": n, "each": each}
    return Step(instance_of(kernels.sum_groups, template), each * len(names), THREADS, {**memory, **numbers})


__all__ = ["norm_backward"]
