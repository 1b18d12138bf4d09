"""What softmax, its logarithm and their gradients come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import Buffer, Machine, X, Y
from prism.kernels import rows as kernels
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.axis import along_last
from prism.lib.algorithms.rows.masks import apply_mask
from prism.lib.algorithms.rows.plan import number_of, wanted_type
from prism.lib.algorithms.scan.api import dtype_of
from prism.runtime.arrays import ArrayInfo

_SHORT = 2048  # elements of a row, up to which gradients of rows in turn are no faster


def softmax(function: str, x: Any, axis: int, scale: float | None, mask: Any, dtype: Any, out: Any, stream: Any) -> Any:
    """Return what `function` does, which is `softmax` or `log_softmax`.

    Raises:
        TypeError, ValueError: as these.
    """
    if mask is not None:
        x, dtype, scale = apply_mask(x, scale, mask, dtype)
    asked = (function, axis, type(axis), scale if scale is None else repr(scale), dtype)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    factor = number_of(scale, "scale", 1.0)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        rows = plans.rows_of("x", given, machine)
        wanted = wanted_type(dtype, result, given.scalar)
        if result is not None:
            arguments.require_result(result, wanted, given.shape)
        if rows is None:
            return Decision(copied=("x",))
        results = (Result(given.shape, dtype_of(wanted, given)),)
        if not given.size:
            return Decision(results)
        kind = plans.number_type((given.scalar, wanted))
        width = plans.width_of([rows], result)
        shared = plans.sharing_wide([rows], width, kind, machine)
        template = template_of(given.scalar, wanted, function == "log_softmax")
        numbers = {"stride": rows.stride, "scale": factor, "least": -np.inf}
        plan = plans.launch(kernels.softmax_rows, template, {"x": X, "y": Y, **numbers}, rows, shared, machine)
        return Decision(results, plan=plan)

    def make(given: Any, target: Any) -> Any:
        return call(function, asked, {"x": given}, decide, target, stream)

    return along_last(function, (x,), axis, make, out, stream)


def template_of(scalar: str, wanted: str, log: bool) -> dict[str, Any]:
    """Return the template arguments of softmax that follow from arrays' types."""
    kind = plans.number_type((scalar, wanted))
    sums = plans.sums_of(kind, (scalar, wanted))
    pair = plans.types_of(kind)["P"]
    return {
        "TI": scalar,
        "TO": wanted,
        "LOG": log,
        "ONCE": sums["D"] == "float32",
        "A": kind,
        "D": sums["D"],
        "P": pair,
    }


def softmax_backward(
    function: str, dout: Any, result: Any, axis: int, scale: float | None, out: Any, stream: Any
) -> Any:
    """Return what `function` does, which is `softmax_backward` or `log_softmax_backward`.

    Raises:
        TypeError, ValueError: as these.
    """
    asked = (function, axis, type(axis), scale if scale is None else repr(scale))
    if (known := repeat.run_many(asked, (dout, result, out), stream)) is not None:
        return known
    factor = number_of(scale, "scale", 1.0)

    def decide(arrays: Mapping[str, ArrayInfo], target: ArrayInfo | None, machine: Machine) -> Decision:
        given, other = arrays["result"], arrays["dout"]
        rows, beside = (plans.rows_of(name, arrays[name], machine) for name in ("result", "dout"))
        plans.require_alike("dout", other, "result", given)
        if target is not None:
            arguments.require_result(target, given.scalar, given.shape)
        if rows is None or beside is None:
            return Decision(copied=tuple(name for name, one in (("result", rows), ("dout", beside)) if one is None))
        results = (Result(given.shape, dtype_of(given.scalar, given)),)
        if not given.size:
            return Decision(results)
        kind = plans.number_type((given.scalar,))
        width = plans.width_of([rows, beside], target)
        ahead = plans.sharing_ahead([rows, beside], width, kind, machine) if rows.n > _SHORT else None
        shared = ahead or plans.sharing_wide([rows, beside], width, kind, machine)
        sums = plans.sums_of(kind, (given.scalar,))
        template = {
            "TI": given.scalar,
            "TO": given.scalar,
            "A": kind,
            "D": sums["D"],
            "LOG": function == "log_softmax_backward",
        }
        memory = {"y": Buffer("result"), "dy": Buffer("dout"), "dx": Y}
        numbers = {"stride": rows.stride, "dy_stride": beside.stride, "scale": factor}
        kernel = kernels.softmax_backward_rows
        return Decision(results, plan=plans.launch(kernel, template, memory | numbers, rows, shared, machine))

    def make(given: Any, other: Any, target: Any) -> Any:
        return call(function, asked, {"dout": other, "result": given}, decide, target, stream)

    return along_last(function, (result, dout), axis, make, out, stream)


__all__ = ["softmax", "softmax_backward", "template_of"]
