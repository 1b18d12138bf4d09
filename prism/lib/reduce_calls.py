"""The common part of all reductions: arguments checked, a call prepared once for its kind, and run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.lang.types.structs import dtype_called, struct_of
from prism.lib import plans, repeat, result_arrays
from prism.lib.axes import collapse, drop_axes, normal_axes
from prism.lib.operators import Operator, number_in
from prism.lib.records import is_record, record_dtype, require_numbers
from prism.lib.reduce_device import Gpu, Ready
from prism.lib.reduce_plans import plan_reduction, plan_search, stages
from prism.lib.reduce_steps import Buffer, Plan, Search, Work
from prism.lib.reference import run
from prism.lib.scan_plans import number_of
from prism.runtime.arrays import BFLOAT16, CODED, ArrayInfo, describe, one_place, require_writable
from prism.runtime.capture import require_outside
from prism.runtime.instance import Instance
from prism.runtime.streams import choose_stream, order

_MOST_CALLS = 4096
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


@dataclass(frozen=True, slots=True)
class _Call:
    """What is decided once for a kind of call. `shape` and `dtype` are the result's.

    `copied`: the array must be copied first. `apart`: the result can't be written where it is to be. `fill`: what the result
    is where nothing is reduced. `reach`: the bytes that the array takes, from its first element to before and behind it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    copied: bool = False
    apart: bool = False
    fill: Any = None
    reach: tuple[int, int] = (0, 0)
    nbytes: int = 0
    plan: Plan | None = None
    given: str = ""
    result: str = ""
    ready: Ready | None = None


_CALLS: dict[Any, _Call] = {}


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
    if stream is None and initial is None:
        known = repeat.run(x, out, (what, axis, type(axis), keepdims, dtype))
        if known is not None:
            return known
    asked = (axis, keepdims, dtype, initial)
    given = _describe(x, name)
    result = None if out is None else _describe(out, "out")
    known = (
        what, given.library, given.dtype, given.shape, given.strides, given.pointer & 15, given.device, type(axis), axis,
        keepdims, dtype, None if initial is None else _key_of(initial),
        None if result is None else (result.library, result.dtype, result.shape, result.strides, result.readonly, result.device),
    )  # fmt: skip
    try:
        found, kept = _CALLS.get(known), True
    except TypeError:  # what can't be looked up, as a list of axes, is wrong, or a rare spelling
        found, kept = None, False
    if found is None:
        result_arrays.require_known(given, name)
        if given.device is not None:
            require_outside(choose_stream(stream, (given,)), f"this {what.name}")
        found = _prepare(what, given, axis, keepdims, dtype, initial, result, name)
        if kept:
            if len(_CALLS) >= _MOST_CALLS:
                _CALLS.clear()
            _CALLS[known] = found
    if given.device is None:
        if stream is not None:
            raise ValueError(f"`stream` is for arrays on a GPU, and `{name}` is on the host")
        return _on_host(what, found, given, result, asked)
    return _on_device(what, found, given, result, stream, asked)


def _key_of(initial: Any) -> tuple[Any, ...]:
    """Return what an initial value is known by: exactly itself, which the text of a NumPy record is not."""
    exact = initial.tobytes() if isinstance(initial, np.generic | np.ndarray) else repr(initial)
    return type(initial), getattr(initial, "dtype", None), exact


def _describe(array: Any, name: str) -> ArrayInfo:
    """Return the facts of an array; bfloat16, whosever it is, is called by one dtype."""
    found = describe(array, name)
    return replace(found, dtype=BFLOAT16) if found.dtype.kind == "V" and found.scalar == "bfloat16" else found


def forget() -> None:
    """Forget all calls, for who changes how plans are made."""
    _CALLS.clear()
    repeat.forget()


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _prepare(
    what: Reduction,
    given: ArrayInfo,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    initial: Any,
    result: ArrayInfo | None,
    name: str,
) -> _Call:
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
        _check_out(given, result, shape, name)
    truth = given.dtype.kind == "b" and dtype is None and compute.itemsize == 1
    start = None if initial is None else _initial(initial, compute, truth)
    if what.message and start is None and any(given.shape[k] == 0 for k in axes):
        raise ValueError(what.message)  # as NumPy, even where there are no results
    if 0 in shape:
        return _Call(shape, stored)
    if 0 in given.shape:
        return _Call(shape, stored, fill=_of_nothing(what, compute, start))
    known = _Call(
        shape,
        stored,
        apart=result is not None and not (result.contiguous and result.dtype.isnative),
        reach=_reach(given),
        nbytes=_nbytes(shape, stored),
    )
    planned = _plan(what, given, axes, compute, stored, start)
    return replace(known, copied=True) if planned is None else replace(known, **planned)


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
) -> dict[str, Any] | None:
    """Return how to reduce an array, as fields of a call; None where it must be copied first."""
    size = given.dtype.itemsize
    if given.pointer % size or any(s % size for s in given.strides) or not given.dtype.isnative:
        return None
    if given.device is None and not given.contiguous:
        return None
    strides = tuple(s // size for s in given.strides)
    machine = _Host() if given.device is None else Gpu(given.device)
    scalar = _scalar(given.dtype)
    if what.operator is None:
        stage = collapse(given.shape, strides, axes)
        if stage is None:
            return None
        plan = plan_search(search_of(what.largest, given.dtype), stage, given.pointer & 15, machine)
        read, written = scalar, "int64"
    else:
        found = stages(given.shape, strides, axes, what.operator.commutative)
        if found is None:
            return None
        work = _work(what, given.dtype, compute, _scalar(stored), start)
        plan = plan_reduction(work, found, given.pointer & 15, machine)
        read, written = work.given, work.result
    ready = None if given.device is None else Ready(plan, given.device)
    return {"plan": plan, "given": read, "result": written, "ready": ready}


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
    if str(asked) in ("bfloat16", "torch.bfloat16") or getattr(asked, "__name__", "") == "bfloat16":
        return BFLOAT16
    try:
        wanted = np.dtype(str(asked).removeprefix("torch.") if type(asked).__module__ == "torch" else asked)
    except TypeError as error:
        raise TypeError(f"`dtype`: {error}") from None
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


def _check_out(given: ArrayInfo, result: ArrayInfo, shape: tuple[int, ...], name: str) -> None:
    one_place({name: given, "out": result})
    if result.library != given.library:
        raise TypeError(f"`out` must be an array of {given.library}, as `{name}` is, not of {result.library}")
    if result.shape != shape:
        raise ValueError(f"`out` must have shape {shape}, the result's, not {result.shape}")
    require_writable(result, "out")


def _initial(initial: Any, compute: np.dtype[Any], truth: bool) -> Any:
    """Return what is combined with the result, as a number of the dtype that is computed in; `truth`: it must be a bool."""
    if (struct := struct_of(compute)) is not None:
        try:
            return struct.to_library(struct.value(initial))
        except (OverflowError, ValueError, TypeError) as error:
            raise TypeError(f"`initial`: {error}") from error
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


def _nbytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def _reach(given: ArrayInfo) -> tuple[int, int]:
    """Return the bytes that an array takes before its first element, and from there on."""
    spans = [(extent - 1) * stride for extent, stride in zip(given.shape, given.strides, strict=True)]
    before = -sum(span for span in spans if span < 0)
    return before, sum(span for span in spans if span > 0) + given.dtype.itemsize


# -- Running --------------------------------------------------------------------------------------------------------------


def _source(given: ArrayInfo) -> Any:
    """Return a C-contiguous copy of an array."""
    copy = result_arrays.empty(
        given, given.shape, given.dtype if given.dtype == BFLOAT16 else given.dtype.newbyteorder("=")
    )
    copy[...] = given.owner
    return copy


def _needs_copy(found: _Call, given: ArrayInfo, result: ArrayInfo | None) -> bool:
    """Whether the result must be made elsewhere and copied: it has other strides, or lies where elements are still read."""
    if result is None:
        return False
    before, behind = found.reach
    start = result.pointer
    return found.apart or (start < given.pointer + behind and given.pointer - before < start + found.nbytes)


class _Host:
    """The reference machine."""

    host = True
    arch = ""
    multiprocessors = 1

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks run at once."""
        return 1


def _on_host(what: Reduction, found: _Call, given: ArrayInfo, result: ArrayInfo | None, rest: tuple[Any, ...]) -> Any:
    if found.copied:
        axis, keepdims, dtype, initial = rest
        out = None if result is None else result.owner
        return call(what, _source(given), axis, keepdims, dtype, initial, out, None)
    apart = _needs_copy(found, given, result)
    y = result_arrays.empty(given, found.shape, found.dtype) if result is None or apart else result.owner
    if found.fill is not None:
        y[...] = found.fill
    elif found.plan is not None:
        _interpret(found, given.owner, y)
    if result is not None:
        if apart:
            result.owner[...] = y
        return result.owner
    return y if found.shape else y[()]


def _interpret(found: _Call, x: Any, y: Any) -> None:
    """Run the steps of a plan on contiguous NumPy arrays."""
    assert found.plan is not None
    held = {
        "x": x.reshape(-1).view(dtype_called(found.given)),
        "y": y.reshape(-1).view(dtype_called(found.result)),
        "words": np.zeros(0, np.uint64),  # for one block alone
        "control": np.zeros(0, np.uint32),
    }
    scratch: dict[Buffer, Any] = {}
    for step in found.plan.steps:
        arrays = []
        for buffer in step.buffers:
            if buffer.name == "scratch" and buffer not in scratch:
                scratch[buffer] = np.empty(buffer.count, dtype_called(buffer.dtype))
            arrays.append(scratch[buffer] if buffer.name == "scratch" else held[buffer.name])
        run(step.program, step.blocks, step.threads, (*arrays, *step.numbers))


def _on_device(
    what: Reduction, found: _Call, given: ArrayInfo, result: ArrayInfo | None, stream: Any, rest: tuple[Any, ...]
) -> Any:
    handle = choose_stream(stream, (given,))
    order((given,) if result is None else (given, result), handle)
    if result is not None and found.ready is not None and not _needs_copy(found, given, result):
        found.ready(given.pointer, result.pointer, handle)
        _keep(what, found, given, result.owner, rest, made=False)
        return result.owner
    with result_arrays.working(given, None if stream is None else handle):
        if found.copied:
            axis, keepdims, dtype, initial = rest
            out = None if result is None else result.owner
            return call(what, _source(given), axis, keepdims, dtype, initial, out, stream)
        y = result_arrays.empty(given, found.shape, found.dtype)
        if found.fill is not None:
            y[...] = found.fill
        elif found.ready is not None:
            found.ready(given.pointer, describe(y, "out").pointer, handle)
        if result is None:
            _keep(what, found, given, y, rest, made=True)
            return y
        result.owner[...] = y
        return result.owner


def _keep(what: Reduction, found: _Call, given: ArrayInfo, y: Any, rest: tuple[Any, ...], *, made: bool) -> None:
    """Keep what was launched on the array and its result for the next such call."""
    axis, keepdims, dtype, initial = rest
    if found.ready is None:
        return
    launch, spans = found.ready.launch(), (*found.reach, found.nbytes)
    plans.note(launch, spans, in_place=False)
    if initial is None:
        asked = (what, axis, type(axis), keepdims, dtype)
        repeat.keep(given.library, given.owner, y, asked, launch, spans, in_place=False, made=made)
