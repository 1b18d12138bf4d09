"""What an operation on rows that the caller gives comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import Buffer, Machine, X, Y, nothing
from prism.kernels import rows as kernels
from prism.lib import operators
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.plan import wanted_type
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.lazy.closures import callable_of
from prism.lib.operators import Operator
from prism.runtime.arrays import ArrayInfo

_NAMED = {
    "sum": operators.add, "mean": operators.add, "max": operators.maximum, "min": operators.minimum, "prod": operators.multiply,
}  # fmt: skip
_NEUTRAL = {operators.maximum: -np.inf, operators.minimum: np.inf}
_MOST_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class _Reduction:
    operator: Operator
    mean: bool
    map: Any  # None: the element itself


def run(
    x: Any,
    function: Any,
    first: Any,
    second: Any,
    columns: Sequence[Any],
    keep: bool,
    dtype: Any,
    out: Any,
    stream: Any,
) -> Any:
    """Return what `prism.lib.rows` does.

    Raises:
        CompileError, TypeError, ValueError: as that.
    """
    asked_for = [_reduction(first, "first")]
    if second is not None:
        asked_for.append(_reduction(second, "second"))
    reductions = tuple(asked_for)
    if len(columns) > _MOST_COLUMNS:
        raise ValueError(
            f"`columns` are at most {_MOST_COLUMNS}, not {len(columns)}; put several in one by `prism.lib.lazy.zip`"
        )
    if keep and second is None:
        raise ValueError("`keep` is of what a second reduction makes of elements, and there is none")
    applied = callable_of(function)
    names = ("c", "d")[: len(columns)]
    given = {"x": x} | dict(zip(names, columns, strict=True))
    asked = ("rows", applied, reductions, bool(keep), dtype, len(columns))
    if (known := repeat.run_many(asked, (*given.values(), out), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _decide(applied, reductions, bool(keep), dtype, arrays, result, machine)

    return call("rows", asked, given, decide, out, stream, called={"c": "columns[0]", "d": "columns[1]"})


def _reduction(asked: Any, called: str) -> _Reduction:
    """Return what is asked for as a reduction, by the argument that is `called` so."""
    pair = asked if isinstance(asked, tuple | list) else (asked,)
    if len(pair) not in (1, 2):
        raise ValueError(f"`{called}` is how elements are combined, and a function of them, not {len(pair)} things")
    name = pair[0]
    if isinstance(name, Operator):
        if not name.commutative or not isinstance(name.identity, int | float):
            raise ValueError(f"`{called}`: the operator `{name.name}` must be commutative, and its identity a number")
        found = name
    elif isinstance(name, str) and name in _NAMED:
        found = _NAMED[name]
    else:
        raise ValueError(f"`{called}` is {', '.join(map(repr, _NAMED))}, or an operator, not {name!r}")
    return _Reduction(found, name == "mean", callable_of(pair[1]) if len(pair) == 2 else None)


def _decide(
    function: Any, reductions: tuple[_Reduction, ...], keep: bool, dtype: Any, arrays: Mapping[str, ArrayInfo],
    result: ArrayInfo | None, machine: Machine,
) -> Decision:  # fmt: skip
    given = arrays["x"]
    seen = plans.rows_of("x", given, machine)
    columns = {name: arrays[name] for name in ("c", "d") if name in arrays}
    for number, one in enumerate(columns.values()):
        if one.scalar not in plans.FLOATS:
            raise TypeError(f"`columns[{number}]` must be of a float type, not of {one.scalar}")
        if one.shape != given.shape[-1:]:
            raise ValueError(f"`columns[{number}]` must have shape {given.shape[-1:]}, not {one.shape}")
    wanted = wanted_type(dtype, result, given.scalar)
    if result is not None:
        arguments.require_result(result, wanted, given.shape)
    unlike = arguments.not_plain(columns)
    if seen is None or unlike:
        return Decision(copied=(*(("x",) if seen is None else ()), *unlike))
    results = (Result(given.shape, dtype_of(wanted, given)),)
    if not given.size:
        return Decision(results)
    types = {name: columns[name].scalar if name in columns else given.scalar for name in ("c", "d")}
    kind = plans.number_type((given.scalar, wanted, *types.values()))
    first, second = reductions[0], reductions[-1]
    template = {
        "TI": given.scalar, "TO": wanted, "C": types["c"], "D": types["d"], "STAGES": len(reductions),
        "COLUMNS": len(columns), "KEEP": keep, "MEAN": first.mean, "MEAN2": second.mean, "FUNCTION": function,
        "FIRST": first.map or _ITSELF, "OP": first.operator.function, "SECOND": second.map or _ITSELF2,
        "OP2": second.operator.function,
    } | plans.types_of(kind)  # fmt: skip
    if len(reductions) == 1:
        template["SECOND"] = _ITSELF2
    memory = {"x": X, "y": Y} | {name: Buffer(name) if name in columns else nothing(types[name]) for name in ("c", "d")}
    numbers = {
        "stride": seen.stride, "share": 1 / seen.n, "identity": _neutral(first.operator), "identity2": _neutral(second.operator),
    }  # fmt: skip
    shared = plans.sharing_wide([seen], plans.width_of([seen], result), kind, machine)
    return Decision(results, plan=plans.launch(kernels.own_rows, template, memory | numbers, seen, shared, machine))


def _neutral(operator: Operator) -> float:
    found = _NEUTRAL.get(operator)
    return (
        float(operator.identity(np.dtype(np.float64)) if callable(operator.identity) else operator.identity)
        if found is None
        else found
    )


_ITSELF, _ITSELF2 = callable_of(lambda x: x), callable_of(lambda x, a: x)

__all__ = ["run"]
