"""The common part of all reductions: their arguments, and what is decided of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import arguments, memory, numbers, repeat
from prism.host import call as host
from prism.host.axes import collapse, drop_axes, normal_axes
from prism.host.call import Decision, Result
from prism.host.plan import OUT, Machine, Number, Plan, Step, move_steps
from prism.lang.types.structs import dtype_called, make, scalar_called, struct_of
from prism.lib import operators
from prism.lib.algorithms.reduce.plan import plan_reduction, plan_search, plan_search_of_both, stages
from prism.lib.algorithms.reduce.steps import Search, Work
from prism.lib.algorithms.scan.plan import number_of
from prism.lib.operators import Operator
from prism.lib.records import common_dtype, is_record, record_dtype, require_numbers
from prism.runtime.arrays import BFLOAT16, CODED, ArrayInfo

_HALVES = (np.dtype("float16"), BFLOAT16)


@dataclass(frozen=True, eq=False)
class Reduction:
    """One of the reductions, compared by identity.

    `operator` is None where a position is looked for: of the largest element, or of the smallest.

    `promoted`: small integers are added up in 64 bits. `truth`: elements are true or false. `counted`: true ones are counted.
    `both`: two extremes are looked for, and the result has them along one axis more. `message`: what is said of an empty array,
    which has no result; else it has the operator's identity.
    """

    name: str
    operator: Operator | None
    promoted: bool = False
    truth: bool = False
    counted: bool = False
    largest: bool = False
    both: bool = False
    message: str = ""


class NotAtOnce(Exception):
    """Both extremes of such elements are looked for one after the other."""


_OR, _AND = (Reduction("reduce", one, truth=True) for one in (operators.bitwise_or, operators.bitwise_and))
_OF_BOOLS = {
    operators.add: _OR, operators.maximum: _OR, operators.bitwise_or: _OR, operators.multiply: _AND, operators.minimum: _AND,
    operators.bitwise_and: _AND, operators.bitwise_xor: Reduction("reduce", operators.bitwise_xor, truth=True),
}  # fmt: skip
"""What operators are of bools."""
# Of complex numbers the first NaN counts, so their order does.
_OF_COMPLEX = {one: replace(one, commutative=False) for one in (operators.maximum, operators.minimum)}


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
    bits = None if initial is None else _bits_of(what, initial, x, dtype, out)
    begins = bits is not None or (None if initial is None else arguments.exactly(initial))
    asked = (what, axis, type(axis), keepdims, dtype, begins)
    if stream is None and (known := repeat.run(asked, x, out, number=bits)) is not None:
        return known
    return _call_anew(asked, what, x, axis, keepdims, dtype, initial, out, stream, name, bits)


def _call_anew(
    asked: tuple[Any, ...],
    what: Reduction,
    x: Any,
    axis: Any,
    keepdims: bool,
    dtype: Any,
    initial: Any,
    out: Any,
    stream: Any,
    name: str,
    bits: int | None,
) -> Any:
    """Do what `call` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        numbered = bits is not None
        return decide_reduction(
            what, arrays["x"], axis, keepdims, dtype, initial, result, name, machine, numbered=numbered
        )

    given = None if bits is None else {"initial": bits}
    return host.call(what.name, asked, {"x": x}, decide, out, stream, called={"x": name}, numbers=given)


# -- Arguments ------------------------------------------------------------------------------------------------------------


def decide_reduction(
    what: Reduction,
    given: ArrayInfo,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    initial: Any,
    result: ArrayInfo | None,
    name: str,
    machine: Machine,
    *,
    numbered: bool = False,
) -> Decision:
    """Return what is decided once for a kind of call, its arguments checked.

    `numbered`: the plan takes `initial` as a number of the call, whatever it is.
    """
    asked = _asked(what, given.dtype, dtype, result, name)
    what, stored = asked.what, asked.stored
    ndim = len(given.shape)
    scalar = ndim == 0 and isinstance(axis, int | np.integer) and axis in (0, -1)
    axes = () if scalar else normal_axes(axis, ndim)  # as NumPy
    shape = drop_axes(given.shape, axes, bool(keepdims))
    if what.both and asked.wanted.kind == "c":
        raise NotAtOnce
    if result is not None:
        arguments.require_shape(result, shape)
    start = None if initial is None else _initial(initial, asked)
    if what.message and start is None and any(given.shape[k] == 0 for k in axes):
        raise ValueError(what.message)  # as NumPy, even where there are no results
    if asked.converted is not None:
        return Decision(copied=("x",), converted=asked.converted)
    if 0 in given.shape:
        made = (Result((*shape, 2) if what.both else shape, stored),)
        return Decision(made, fill=None if 0 in shape else _of_nothing(what, asked.compute, start), beside=asked.beside)
    lying = memory.memory_order(given.shape, given.strides) if what.operator is not None else tuple(range(ndim))
    kept = tuple(k for k in lying if keepdims or k not in axes)
    plan = _plan(what, given, axes, tuple(k for k in lying if k not in axes), asked, start, machine, numbered)
    if plan is None:
        anyhow = what.operator is None or given.dtype.names or _is_dense(given)
        return Decision(
            copied=("x",), converted=None if anyhow else _native(given.dtype)
        )  # its axes as they lie, if they do
    if asked.positions != "int64" and _stores(plan, asked.positions):
        asked, stored = replace(asked, beside=False), np.dtype(asked.positions)
    left = sorted(kept)
    back = tuple(kept.index(k) for k in left)
    extents = tuple(shape[left.index(k)] for k in kept)
    if what.both:
        extents, back = (*extents, 2), (*back, len(back))
    made = (Result(extents, stored, None if kept == tuple(left) else back),)
    beside = asked.beside or (result is not None and not _takes(result, made[0].axes))
    warned = "reduce" if what.operator in (operators.add, operators.multiply) and not what.truth else ""
    return Decision(made, plan=plan, beside=beside, warned=warned)


def _stores(plan: Plan, positions: str) -> bool:
    """Whether a search stores positions as such integers."""
    return any(isinstance(step, Step) and dict(step.instance.template).get("TO") == positions for step in plan.steps)


def _takes(result: ArrayInfo, axes: tuple[int, ...] | None) -> bool:
    """Whether kernels can write a result of such axes where it is to be."""
    return result.contiguous and result.natural and axes is None


def count_plan(given: ArrayInfo, name: str, result: str, machine: Machine) -> Plan:
    """Return the plan that counts what is not zero of an array called `name`, contiguous and not empty, into `result`."""
    counting = Reduction("count_nonzero", operators.add, truth=True, counted=True)
    found = decide_reduction(counting, given, None, False, None, None, None, name, machine).plan
    assert found is not None
    names = {"x": name, OUT: result}

    steps = move_steps(found.steps, lambda buffer: replace(buffer, name=names.get(buffer.name, buffer.name)))
    return replace(found, steps=steps)


def _of_nothing(what: Reduction, compute: np.dtype[Any], start: Any) -> Any:
    """Return the result of no elements."""
    if start is not None:
        return bool(start) if what.truth and not what.counted else number_of(start)
    assert what.operator is not None
    identity = what.operator.identity_of(compute, shown=True)
    return bool(identity) if what.truth and not what.counted else number_of(identity)


def _plan(
    what: Reduction,
    given: ArrayInfo,
    axes: tuple[int, ...],
    lying: tuple[int, ...],
    asked: Asked,
    start: Any,
    machine: Machine,
    numbered: bool,
) -> Plan | None:
    """Return how to reduce `axes` of an array, the results of the others `lying` in that order; None: it must be copied first."""
    size = given.dtype.itemsize
    if given.pointer % size or any(s % size for s in given.strides) or not given.dtype.isnative:
        return None
    if machine.host and not _is_dense(given):
        return None
    order = list(range(len(given.shape)))
    for place, k in zip(sorted(lying), lying, strict=True):
        order[place] = k
    shape, strides = tuple(given.shape[k] for k in order), tuple(given.strides[k] // size for k in order)
    if what.operator is None:
        stage = collapse(shape, strides, axes)
        if what.both:
            least, most = (search_of(largest, given.dtype) for largest in (False, True))
            both = None if stage is None else plan_search_of_both(least, most, stage, given.pointer & 15, machine)
            if both is None:
                raise NotAtOnce
            return both
        sought = search_of(what.largest, given.dtype)
        to = "int64" if machine.host else asked.positions
        return None if stage is None else plan_search(sought, stage, given.pointer & 15, machine, to)
    found = stages(shape, strides, axes, what.operator.commutative)
    work = _work(what, given.dtype, asked.compute, _scalar(asked.stored), start)
    if numbered:
        work = replace(work, initial=Number("initial", dtype=work.dtype))
    return None if found is None else plan_reduction(work, found, given.pointer & 15, machine)


def _is_dense(given: ArrayInfo) -> bool:
    """Whether elements lie one after the other, with axes in some order."""
    axes = memory.memory_order(given.shape, given.strides)
    lying = replace(given, shape=tuple(given.shape[k] for k in axes), strides=tuple(given.strides[k] for k in axes))
    return lying.contiguous and given.natural


# -- Types ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reduction computes of a dtype. `wanted` is what the caller asks for, `compute` what kernels combine.

    `stored`: the result's dtype, as kernels write it. `converted`: what elements must be first. `beside`: what is stored must be
    converted to that of `out`. `positions`: the integers of `out`, in which some kernels store positions.
    """

    what: Reduction
    wanted: np.dtype[Any]
    compute: np.dtype[Any]
    stored: np.dtype[Any]
    converted: np.dtype[Any] | None = None
    beside: bool = False
    positions: str = "int64"


def _asked(what: Reduction, given: np.dtype[Any], dtype: Any, result: ArrayInfo | None, name: str) -> Asked:
    """Return what to compute of elements of a dtype.

    Raises:
        TypeError: of what can't be computed.
    """
    own = given if given.names else given.newbyteorder("=")
    if given != BFLOAT16 and (given.kind not in "biufc" or given.itemsize > (16 if given.kind == "c" else 8)):
        if given.kind != "V" or what.name != "reduce" or not is_record(_scalar(given)):
            shown = _scalar(given) if _scalar(given) in CODED else given
            raise TypeError(f"`{name}` has dtype {shown}, which {what.name} does not support")
        assert what.operator is not None
        require_numbers(what.operator, _scalar(given))
        own = record_dtype(given, dtype, result, name, what.name)
        return Asked(what, own, own, own)
    if what.operator is None:
        if result is not None and not np.can_cast(result.dtype, np.int64, "safe"):
            raise TypeError(f"`out` must be of int64, as positions are, or of what fits it, not of {result.dtype}")
        compute, positions = np.dtype("uint8") if given.kind == "b" else _wider(own), np.dtype("int64")
        other = result is not None and result.dtype != positions
        to = _scalar(result.dtype) if result is not None and result.dtype.kind in "iu" else "int64"
        to = to if result is not None or dtype is None else np.dtype(dtype).name
        return Asked(what, own, compute, positions, beside=other, positions=to)
    wanted = _wanted(what, own, dtype, result)
    what = _of_kind(what, wanted)
    converted = wanted if not what.truth and "c" in (own.kind, wanted.kind) and own != wanted else None
    stored = _stored(wanted, result)
    if what.truth:
        compute = np.dtype("uint64" if what.counted else "uint32")
    else:
        compute = np.dtype("uint8") if wanted.kind == "b" else _wider(wanted)
    return Asked(what, wanted, compute, stored, converted, result is not None and stored != _native(result.dtype))


def _of_kind(what: Reduction, wanted: np.dtype[Any]) -> Reduction:
    """Return what a reduction is in a dtype: of bools `or` and `and`, of complex numbers one in order.

    Raises:
        TypeError: its operator is not for the dtype.
    """
    assert what.operator is not None
    if what.truth or what.both:
        return what
    if wanted.kind == "b":  # that of `max` is `any`, by the same kernels
        if what.operator not in _OF_BOOLS:
            text = f"`op`: `{what.operator.name}` is not for bools"
            raise TypeError(f"{text}: pass dtype= to convert, as dtype=numpy.int64")
        return replace(_OF_BOOLS[what.operator], name=what.name, message=what.message)
    if what.operator.integral and wanted.kind not in "biu":
        raise TypeError(f"`op`: `{what.operator.name}` is for integers, and the dtype is {wanted}")
    if wanted.kind == "c" and what.operator in _OF_COMPLEX:
        return replace(what, operator=_OF_COMPLEX[what.operator])
    return what


def _wanted(what: Reduction, given: np.dtype[Any], asked: Any, result: ArrayInfo | None) -> np.dtype[Any]:
    """Return the dtype that elements are combined in, as the caller sees it."""
    if what.truth:
        return np.dtype("int64" if what.counted else "bool")
    if asked is not None:
        wanted = arguments.dtype_of(asked)
        if wanted != BFLOAT16 and (wanted.kind not in "biufc" or wanted.itemsize > (16 if wanted.kind == "c" else 8)):
            raise TypeError(f"`dtype` is dtype {wanted}, which {what.name} does not support")
        return _native(wanted)
    if what.promoted and result is not None and result.dtype.kind in "biufcV":
        return common_dtype(given, result.dtype)
    if what.promoted and given.kind in "biu":
        return np.dtype("uint64" if given.kind == "u" else "int64")
    return given


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype == BFLOAT16 else dtype.newbyteorder("=")


def _wider(wanted: np.dtype[Any]) -> np.dtype[Any]:
    """Return what a dtype is computed in: halves in float32, all others in themselves."""
    return np.dtype("float32") if wanted in _HALVES else wanted


def _stored(natural: np.dtype[Any], result: ArrayInfo | None) -> np.dtype[Any]:
    """Return the dtype in which kernels write a result: that of `out` where they convert to it as NumPy does."""
    if result is None:
        return natural
    into = _native(result.dtype)
    if BFLOAT16 in (natural, into):
        fits = into == BFLOAT16 or into.kind == "f"
    else:
        fits = into.kind in "biuf" and natural.kind != "c" and into.itemsize <= 8
        fits = fits and np.can_cast(natural, into, "same_kind")
    if into != BFLOAT16 and into.kind not in "biufc":
        raise TypeError(f"`out` is of {result.scalar}, and the result is of {natural}")
    return into if fits else natural


def _initial(initial: Any, asked: Asked) -> Any:
    """Return what is combined with the result, as a number of the dtype that is computed in: converted as by NumPy."""
    wanted = asked.wanted
    if wanted.names and (record := arguments.record_in(initial, _scalar(wanted), "initial")) is not None:
        return record
    if not isinstance(initial, int) and (np.ndim(initial) or np.asarray(initial).dtype.kind not in "biufc"):
        raise TypeError(f"`initial` must be a number of {wanted}, not {initial!r}")
    room = np.empty((), np.float32 if wanted == BFLOAT16 else wanted)
    try:
        room[()] = initial
    except (OverflowError, ValueError, TypeError) as error:
        raise type(error)(f"`initial`: {error}") from error
    return room.astype(asked.compute)[()]


def _bits_of(what: Reduction, initial: Any, x: Any, dtype: Any, out: Any) -> int | None:
    """Return the bits of an initial value in the kernels' type, so that one plan does for all; None as `numbers.bits_of`.

    None, too, where there are no elements: then the result follows from the value.
    """
    if 0 in getattr(x, "shape", ()):
        return None

    def way(given: ArrayInfo, result: ArrayInfo | None) -> Callable[[Any], Any]:
        of, asked = given.dtype, _asked(what, given.dtype, dtype, result, "a")

        def convert(value: Any) -> Any:
            work = _work(asked.what, of, asked.compute, _scalar(asked.stored), _initial(value, asked))
            return np.array(work.initial, dtype_called(work.dtype))

        return convert

    return numbers.bits_of((what, dtype), initial, way, x, out)


def _work(what: Reduction, of: np.dtype[Any], compute: np.dtype[Any], stored: str, initial: Any) -> Work:
    """Return what kernels compute of a dtype; signed and unsigned integers share one where the operator allows it.

    Bools count as 1 where their byte is not 0.

    Floats that are converted to integers don't: a negative one has no unsigned integer. Where they are true or false they do.
    """
    operator, given = what.operator, _scalar(of)
    assert operator is not None
    if what.both:
        element = scalar_called(stored)
        assert element is not None
        pair = make("pair", (("f0", element), ("f1", element)))
        none = pair.value((_weakest(of, False), _weakest(of, True)))
        return Work(operator, given, pair.key, pair.key, none, none, of.kind == "b", both=True)
    identity = operator.identity_of(compute)
    start = identity if initial is None else initial
    if operator.modular and compute.kind in "iu" and (what.truth or not given.startswith(("float", "bfloat"))):
        compute = np.dtype(f"u{compute.itemsize}")
        identity, start = identity.astype(compute), start.astype(compute)
        if what.truth or given.removeprefix("u") == compute.name.removeprefix("u"):
            given = given if given.startswith(("u", "f", "b", "c")) else f"u{given}"
        if stored.removeprefix("u") == compute.name.removeprefix("u"):
            stored = compute.name
    nonzero = what.truth or of.kind == "b"
    return Work(operator, given, _scalar(compute), stored, number_of(identity), number_of(start), nonzero)


def work_of(what: Reduction, given: np.dtype[Any]) -> Work | None:
    """Return what kernels compute for elements of a dtype, where nothing else is asked for; None: they don't."""
    try:
        asked = _asked(what, given, None, None, "a")
    except TypeError:
        return None
    return None if asked.what is not what else _work(what, given, asked.compute, _scalar(asked.stored), None)


def search_of(largest: bool, given: np.dtype[Any]) -> Search:
    """Return what kernels look for among elements of a dtype."""
    compute = np.dtype("uint8") if given.kind == "b" else _wider(given)
    return Search(largest, _scalar(given), _scalar(compute), _weakest(compute, largest), given.kind == "b")


def _weakest(compute: np.dtype[Any], largest: bool) -> Any:
    """Return the number that beats no other."""
    if compute.kind == "b":
        return 0 if largest else 1
    if compute.kind in "fc" or compute == BFLOAT16:
        least = -np.inf if largest else np.inf
        return least if compute.kind != "c" else compute.type(complex(least, least))
    limits = np.iinfo(compute)
    return int(limits.min if largest else limits.max)


def _scalar(dtype: np.dtype[Any]) -> str:
    """Return the kernels' name of a dtype; bool is one byte, 0 or 1."""
    if dtype.names and CODED.get(dtype.names[0]) == dtype:
        return dtype.names[0]
    struct = struct_of(dtype)
    return struct.key if struct is not None else "uint8" if dtype.kind == "b" else dtype.name
