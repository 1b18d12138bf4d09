"""The common part of all reductions: their arguments, and what is decided of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host import call as host
from prism.host.axes import collapse, drop_axes, normal_axes
from prism.host.call import Decision, Result
from prism.host.plan import OUT, Buffer, Machine, Plan, Step
from prism.lang.types.structs import struct_of
from prism.lib import operators
from prism.lib.algorithms.reduce.plan import plan_reduction, plan_search, stages
from prism.lib.algorithms.reduce.steps import Search, Work
from prism.lib.algorithms.scan.plan import number_of
from prism.lib.operators import Operator, number_in
from prism.lib.records import is_record, record_dtype, require_numbers
from prism.runtime.arrays import BFLOAT16, CODED, ArrayInfo

_HALVES = (np.dtype("float16"), BFLOAT16)


@dataclass(frozen=True, eq=False)
class Reduction:
    """One of the reductions, compared by identity.

    `operator` is None where a position is looked for: of the largest element, or of the smallest.

    `promoted`: small integers are added up in 64 bits. `truth`: elements are true or false. `counted`: true ones are counted.
    `message`: what is said of an empty array, which has no result; else it has the operator's identity.
    """

    name: str
    operator: Operator | None
    promoted: bool = False
    truth: bool = False
    counted: bool = False
    largest: bool = False
    takes_bool: bool = True
    message: str = ""


def call(
    what: Reduction,
    x: Any,
    axis: Any,
    keepdims: bool,
    dtype: Any,
    initial: Any,
    out: Any,
    stream: Any,
    name: str = "a",
) -> Any:
    """Return a reduction of `x`; `name` is what the caller calls it, for errors."""
    asked = (what, axis, type(axis), keepdims, dtype, None if initial is None else arguments.exactly(initial))
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _decide(what, arrays["x"], axis, keepdims, dtype, initial, result, name, machine)

    return host.call(what.name, asked, {"x": x}, decide, out, stream, called={"x": name})


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _decide(
    what: Reduction,
    given: ArrayInfo,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    initial: Any,
    result: ArrayInfo | None,
    name: str,
    machine: Machine,
) -> Decision:
    """Return what is decided once for a kind of call, its arguments checked."""
    record = _is_record(given, what)
    number = given.dtype == BFLOAT16 or (given.dtype.kind in "biuf" and given.dtype.itemsize <= 8)
    if not number and not record:
        kind = given.scalar if given.scalar in CODED else given.dtype
        raise TypeError(f"`{name}` has dtype {kind}, which {what.name} does not support")
    ndim = len(given.shape)
    scalar = ndim == 0 and isinstance(axis, int | np.integer) and axis in (0, -1)
    axes = () if scalar else normal_axes(axis, ndim)  # as NumPy
    shape = drop_axes(given.shape, axes, bool(keepdims))
    if record:
        compute = stored = record_dtype(given, dtype, result, name, what.name)
    else:
        compute, stored = _types(what, given.dtype, dtype, result, name)
    if result is not None:
        arguments.require_shape(result, shape)
    truth = given.dtype.kind == "b" and dtype is None and compute.itemsize == 1
    start = None if initial is None else _initial(initial, compute, truth)
    if what.message and start is None and any(given.shape[k] == 0 for k in axes):
        raise ValueError(what.message)  # as NumPy, even where there are no results
    results = (Result(shape, stored),)
    if 0 in given.shape:
        return Decision(results, fill=None if 0 in shape else _of_nothing(what, compute, start))
    plan = _plan(what, given, axes, compute, stored, start, machine)
    if plan is None:
        return Decision(copied=("x",))
    return Decision(results, plan=plan, beside=result is not None and not (result.contiguous and result.natural))


def count_plan(given: ArrayInfo, name: str, result: str, machine: Machine) -> Plan:
    """Return the plan that counts what is not zero of an array called `name`, contiguous and not empty, into `result`."""
    counting = Reduction("count_nonzero", operators.add, truth=True, counted=True)
    found = _decide(counting, given, None, False, None, None, None, name, machine).plan
    assert found is not None
    names = {"x": name, OUT: result}

    def called(value: Any) -> Any:
        return replace(value, name=names.get(value.name, value.name)) if isinstance(value, Buffer) else value

    steps = [
        replace(step, arguments={key: called(value) for key, value in step.arguments.items()})
        if isinstance(step, Step)
        else replace(step, buffer=called(step.buffer))
        for step in found.steps
    ]
    return replace(found, steps=tuple(steps))


def _of_nothing(what: Reduction, compute: np.dtype[Any], start: Any) -> Any:
    """Return the result of no elements."""
    if start is not None:
        return number_of(start)
    assert what.operator is not None
    identity = what.operator.identity_of(compute, shown=True)
    return bool(identity) if what.truth and not what.counted else number_of(identity)


def _plan(
    what: Reduction,
    given: ArrayInfo,
    axes: tuple[int, ...],
    compute: np.dtype[Any],
    stored: np.dtype[Any],
    start: Any,
    machine: Machine,
) -> Plan | None:
    """Return how to reduce an array; None where it must be copied first."""
    size = given.dtype.itemsize
    if given.pointer % size or any(s % size for s in given.strides) or not given.dtype.isnative:
        return None
    if machine.host and not given.contiguous:
        return None
    strides = tuple(s // size for s in given.strides)
    if what.operator is None:
        stage = collapse(given.shape, strides, axes)
        return (
            None
            if stage is None
            else plan_search(search_of(what.largest, given.dtype), stage, given.pointer & 15, machine)
        )
    found = stages(given.shape, strides, axes, what.operator.commutative)
    work = _work(what, given.dtype, compute, _scalar(stored), start)
    return None if found is None else plan_reduction(work, found, given.pointer & 15, machine)


def _types(
    what: Reduction, given: np.dtype[Any], asked: Any, result: ArrayInfo | None, name: str
) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype to compute in, and the result's."""
    if what.operator is None:
        if result is not None and result.dtype != np.dtype("int64"):
            raise TypeError(f"`out` must be of int64, as positions are, not of {result.dtype}")
        return _wider(given) if given.kind != "b" else np.dtype("uint8"), np.dtype("int64")
    if what.truth:
        natural = np.dtype("int64" if what.counted else "bool")
        stored = natural if result is None else _storable(natural, result, what)
        return np.dtype("uint64" if what.counted else "uint32"), stored
    if asked is not None:
        wanted = _requested_dtype(asked, given, what, name)
    elif what.promoted and result is not None:
        wanted = result.dtype.newbyteorder("=")
    elif what.promoted:
        wanted = _sum_dtype(given)
    else:
        wanted = given.newbyteorder("=")
    _require_computable(what, wanted, given, asked is not None, name)
    if what.operator.integral and wanted.kind not in "biu":
        raise TypeError(f"`op`: `{what.operator.name}` is for integers, and the dtype is {wanted}")
    stored = wanted if result is None else _storable(wanted, result, what)
    return np.dtype("uint8") if wanted.kind == "b" else _wider(wanted), stored


def _require_computable(what: Reduction, wanted: np.dtype[Any], given: np.dtype[Any], asked: bool, name: str) -> None:
    """Check what is to be computed in: what the caller `asked` for, or `out` decides, or the array."""
    if wanted.kind == "b" and (not what.takes_bool or what.promoted):
        whose = "`dtype` is" if asked else "`out` is of" if what.promoted else f"`{name}` is of"
        raise TypeError(
            f"{whose} bool, in which {what.name} does not compute; pass dtype= to convert, as dtype=numpy.int64"
        )
    if wanted.kind == "c":
        raise TypeError(f"`out` is of {wanted}, to which {what.name} does not convert {given}")


def _is_record(given: ArrayInfo, what: Reduction) -> bool:
    """Whether elements are structs, or complex, that this reduction takes."""
    if given.dtype.kind not in "cV" or given.dtype == BFLOAT16 or what.operator is None or what.truth:
        return False
    if not is_record(given.scalar):
        return False
    if what.name == "reduce":
        require_numbers(what.operator, given.scalar)
    return what.name in ("reduce", "sum", "prod") and (what.name == "reduce" or given.dtype.kind == "c")


def _requested_dtype(asked: Any, given: np.dtype[Any], what: Reduction, name: str) -> np.dtype[Any]:
    """Return the dtype that the caller asks for."""
    wanted = arguments.dtype_of(asked)
    if wanted == BFLOAT16:
        return BFLOAT16
    if wanted.kind == "c" and (what.name == "reduce" or what.promoted):
        raise TypeError(f"`dtype` is dtype {wanted}, to which {what.name} does not convert {given}")
    if wanted.kind not in "biuf" or wanted.itemsize > 8:
        raise TypeError(f"`dtype` is dtype {wanted}, which {what.name} does not support")
    return wanted.newbyteorder("=")


def _sum_dtype(given: np.dtype[Any]) -> np.dtype[Any]:
    """Return what sums and products of a dtype are made in, as by NumPy."""
    if given.kind in "bi":
        return np.dtype("int64")
    return np.dtype("uint64") if given.kind == "u" else given.newbyteorder("=")


def _wider(wanted: np.dtype[Any]) -> np.dtype[Any]:
    """Return what a dtype is computed in: halves in float32, all others in themselves."""
    return np.dtype("float32") if wanted in _HALVES else wanted.newbyteorder("=")


def _storable(natural: np.dtype[Any], result: ArrayInfo, what: Reduction) -> np.dtype[Any]:
    """Return the dtype of `out`, which must be able to hold a result."""
    into = result.dtype.newbyteorder("=")
    if BFLOAT16 in (natural, into):
        fits = natural == into or (natural.kind in "biuf" and into == BFLOAT16) or into.kind == "f"
    else:
        fits = into.kind in "biuf" and into.itemsize <= 8 and np.can_cast(natural, into, "same_kind")
    if not fits:
        raise TypeError(f"`out` is of {result.scalar}, and the result of {what.name} is of {natural}")
    return into


def _initial(initial: Any, compute: np.dtype[Any], truth: bool) -> Any:
    """Return what is combined with the result, as a number of the dtype that is computed in; `truth`: it must be a bool."""
    if (record := arguments.record_in(initial, _scalar(compute), "initial")) is not None:
        return record
    kind = np.dtype("bool") if truth else compute
    try:
        return compute.type(number_in(initial, kind))
    except (OverflowError, ValueError, TypeError) as error:
        raise TypeError(f"`initial`, {initial!r}, is no {kind}") from error


def _work(what: Reduction, of: np.dtype[Any], compute: np.dtype[Any], stored: str, initial: Any) -> Work:
    """Return what kernels compute of a dtype; signed and unsigned integers share one where the operator allows it.

    Bools count as 1 where their byte is not 0.

    Floats that are converted to integers don't: a negative one has no unsigned integer.
    """
    operator, given = what.operator, _scalar(of)
    assert operator is not None
    identity = operator.identity_of(compute)
    start = identity if initial is None else initial
    if operator.modular and compute.kind in "iu" and not given.startswith(("float", "bfloat")):
        compute = np.dtype(f"u{compute.itemsize}")
        identity, start = identity.astype(compute), start.astype(compute)
        if what.truth or given.removeprefix("u") == compute.name.removeprefix("u"):
            given = given if given.startswith(("u", "f", "b")) else f"u{given}"
        if stored.removeprefix("u") == compute.name.removeprefix("u"):
            stored = compute.name
    nonzero = what.truth or of.kind == "b"
    return Work(operator, given, _scalar(compute), stored, number_of(identity), number_of(start), nonzero)


def work_of(what: Reduction, given: np.dtype[Any]) -> Work | None:
    """Return what kernels compute for elements of a dtype, where nothing else is asked for; None: they don't."""
    try:
        compute, stored = _types(what, given, None, None, "a")
    except TypeError:
        return None
    return _work(what, given, compute, _scalar(stored), None)


def search_of(largest: bool, given: np.dtype[Any]) -> Search:
    """Return what kernels look for among elements of a dtype."""
    compute = np.dtype("uint8") if given.kind == "b" else _wider(given)
    return Search(largest, _scalar(given), _scalar(compute), _weakest(compute, largest), given.kind == "b")


def _weakest(compute: np.dtype[Any], largest: bool) -> Any:
    """Return the number that beats no other."""
    if compute.kind == "f":
        return -np.inf if largest else np.inf
    limits = np.iinfo(compute)
    return int(limits.min if largest else limits.max)


def _scalar(dtype: np.dtype[Any]) -> str:
    """Return the kernels' name of a dtype; bool is one byte, 0 or 1."""
    if dtype == BFLOAT16:
        return "bfloat16"
    struct = struct_of(dtype)
    return struct.key if struct is not None else "uint8" if dtype.kind == "b" else dtype.name
