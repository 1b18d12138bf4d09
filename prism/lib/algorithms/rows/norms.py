"""What the norms of rows come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Machine, X, Y, nothing
from prism.kernels import rows as kernels
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.plan import number_of
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.topk.calls import copy_to
from prism.runtime.arrays import ArrayInfo

SUM = "sum"
"""What the sum with the residual is called, of results."""


def norm(function: str, x: Any, weight: Any, bias: Any, eps: float, residual: Any, out: Any, stream: Any) -> Any:
    """Return what `function` does, which is `rms_norm` or `layer_norm`.

    Raises:
        TypeError, ValueError: as these.
    """
    if residual is not None and out is not None:
        arguments.require_pair(out)
        return copy_to(function, norm(function, x, weight, bias, eps, residual, None, stream), tuple(out), stream)
    more = {"weight": weight, "bias": bias, "residual": residual}
    given = {"x": x} | {name: array for name, array in more.items() if array is not None}
    asked = (function, tuple(given), repr(eps))
    if (known := repeat.run_many(asked, (*given.values(), out), stream)) is not None:
        return known
    small = number_of(eps, "eps", 0.0)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _decide(function, small, arrays, result, machine)

    return call(function, asked, given, decide, out, stream)


def _decide(
    function: str, eps: float, arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine
) -> Decision:
    given, added = arrays["x"], arrays.get("residual")
    seen = {name: plans.rows_of(name, arrays[name], machine) for name in ("x", "residual") if name in arrays}
    if added is not None:
        plans.require_alike("residual", added, "x", given)
    columns = {name: arrays[name] for name in ("weight", "bias") if name in arrays}
    weighed = column_type(columns, given)
    if result is not None:
        arguments.require_result(result, given.scalar, given.shape)
    unlike = (*(name for name, rows in seen.items() if rows is None), *arguments.not_plain(columns))
    if unlike:
        return Decision(copied=unlike)
    results = tuple(Result(given.shape, dtype_of(given.scalar, given)) for _ in seen)
    names = (OUT, SUM)[: len(results)]
    if not given.size:
        return Decision(results, names)
    every = [rows for rows in seen.values() if rows is not None]
    rows, kind = every[0], plans.number_type((given.scalar, weighed))
    width = plans.width_of(every, result, tuple(columns.values()))
    shared = plans.sharing_wide(every, width, kind, machine, weights=len(columns))
    flags = {"WEIGHT": "weight" in arrays, "BIAS": "bias" in arrays, "RESIDUAL": added is not None}
    template = template_of(given.scalar, weighed, kind, function == "layer_norm") | flags
    memory = {
        "x": X, "y": Y, "residual": Buffer("residual") if added is not None else nothing(given.scalar),
        "sum": Buffer(SUM) if added is not None else nothing(given.scalar),
    } | {name: Buffer(name) if name in arrays else nothing(weighed) for name in ("weight", "bias")}  # fmt: skip
    numbers = {"stride": rows.stride, "residual_stride": every[-1].stride, "eps": eps, "share": 1 / rows.n}
    plan = plans.launch(kernels.norm_rows, template, {**memory, **numbers}, rows, shared, machine)
    return Decision(results, names, plan)


def template_of(scalar: str, weighed: str, kind: str, centred: bool) -> dict[str, Any]:
    """Return the template arguments of a norm that follow from arrays' types, and from what is computed in."""
    sums = plans.sums_of(kind, (scalar,))
    own = sums["P"] if centred else sums["D"]
    return {"TI": scalar, "W": weighed, "CENTRED": centred, "G": plans.guess_of(scalar), "S": own} | sums


def column_type(columns: Mapping[str, ArrayInfo], given: ArrayInfo) -> str:
    """Return the type of `weight` and `bias`; that of `x`, where there are none."""
    found = given.scalar
    for name, one in columns.items():
        if one.scalar not in plans.FLOATS:
            raise TypeError(f"`{name}` must be of a float type, not of {one.scalar}")
        if one.shape != given.shape[-1:]:
            raise ValueError(
                f"`{name}` must have shape {given.shape[-1:]}, an element for each of a row's, not {one.shape}"
            )
        found = one.scalar
    if len({one.scalar for one in columns.values()}) > 1:
        raise TypeError("`bias` must be of the dtype of `weight`: " + ", ".join(one.scalar for one in columns.values()))
    return found


__all__ = ["column_type", "norm", "template_of"]
