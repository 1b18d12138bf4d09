"""Calls of selections: what each comes to, in the three ways in which a result of unknown length is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np

from prism.host import arguments, memory, repeat
from prism.host.arguments import require_integer
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch
from prism.lang.surface import Kernel
from prism.lang.surface.views import Compute
from prism.lang.types import Scalar
from prism.lang.types.structs import scalar_called
from prism.lib.algorithms.reduce.calls import count_plan
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.scan.plan import number_of
from prism.lib.algorithms.select import plan as plans
from prism.lib.algorithms.select.plan import KEPT, LENGTHS, Kind
from prism.runtime.arrays import ArrayInfo, require_axes
from prism.runtime.streams import choose_stream

_INT64 = np.dtype(np.int64)
_MOST = 256  # dtypes that are kept
_scalars: dict[Any, Scalar | None] = {}


@dataclass(frozen=True, slots=True)
class Mode:
    """How a result of unknown length is given: cut, beside its number, or of a fixed size."""

    count: bool
    size: int | None
    fill: Any

    @property
    def cut(self) -> bool:
        return not self.count and self.size is None

    @property
    def key(self) -> tuple[Any, ...]:
        return self.count, self.size, None if self.size is None else arguments.exactly(self.fill)


_COUNTED, _CUT = Mode(True, None, 0), Mode(False, None, 0)
POSITIONS: tuple[Any, ...] = ("flatnonzero", _CUT.key)
"""What positions, cut to their number, are looked up by."""


def mode_of(count: bool, size: Any, fill_value: Any) -> Mode:
    """Return how a call wants its results.

    Raises:
        TypeError: `size` is no integer.
        ValueError: it is negative, or `count` is asked for too.
    """
    if size is None:
        return _COUNTED if count else _CUT  # made once: every call asks
    if count:
        raise ValueError("`count` and `size` are two ways to give a result of unknown length: pass one of them")
    size = require_integer(size, "size")
    if size < 0:
        raise ValueError(f"`size` must not be negative: {size}")
    return Mode(False, size, fill_value)


# -- Values ---------------------------------------------------------------------------------------------------------------


def select_by_mask(
    function: str, arrays: dict[str, Any], mode: Mode, stream: Any, called: Mapping[str, str], *, alike: bool = False,
    flat: bool = False,
) -> Any:  # fmt: skip
    """Return what a mask keeps; `alike`: it must have the shape of `x`, `flat`: it must have one dimension."""
    asked = (function, mode.key)
    if (known := repeat_call(asked, tuple(arrays.values()), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, mask = arrays["x"], arrays["mask"]
        kind = memory_kind(given)
        read, compared = plans.tested_as(mask, "condition")
        if alike and mask.shape != given.shape:
            raise ValueError(f"`condition` must have shape {given.shape}, as `x`, not {mask.shape}")
        if flat:
            require_axes(mask, "condition", 1)
        if mask.size > given.size:
            raise ValueError(f"`condition` has {mask.size} elements, and `x` has {given.size}")
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        return _values(replace(kind, mask=read, compared=compared), mask.size, given, mask, mode, machine)

    return call(function, asked, arrays, decide, None, stream, called=called)


def select_by_function(x: Any, function: Kernel, mode: Mode, stream: Any, number: Any = None) -> Any:
    """Return the elements of which a function gives true; `number`: a lazy array of what it is given besides."""
    asked = ("select", function, mode.key)
    given = {"x": x} if number is None else {"x": x, "mask": number}
    if (known := repeat_call(asked, tuple(given.values()), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        info = arrays["x"]
        memory_kind(info)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        kind = replace(plans.own_kind(info), test=function)
        if number is not None:
            kind = replace(kind, mask=arrays["mask"].scalar, number=True)
        return _values(kind, info.size, info, None, mode, machine)

    return call("select", asked, given, decide, None, stream)


def function_to_apply(condition: Any, name: str = "condition") -> Any:
    """Return a condition that is a function as what is applied to elements.

    Raises:
        TypeError: it is none.
    """
    from prism.lib.lazy.closures import Applied

    if not callable(condition) and not isinstance(condition, Scalar):
        raise TypeError(f"`{name}` must be an array or a function, not {type(condition).__name__}")
    return Applied(condition)


def scalar_in_memory(x: Any) -> Scalar | None:
    """Return the kernels' type of an array's elements; None of a lazy one, or where there is none."""
    if isinstance(x, LazyArray):
        return None
    dtype = getattr(x, "dtype", None)  # all that it follows from; a list has none
    if dtype in _scalars:
        return _scalars[dtype]
    found = scalar_called(arguments.facts_of(x, "x").scalar)
    if dtype is not None:
        if len(_scalars) >= _MOST:
            _scalars.clear()
        _scalars[dtype] = found
    return found


def function_of(x: Any, mask: Any) -> Kernel | None:
    """Return the function of bools whose values for the elements of `x` a mask is; None where it is something else."""
    from prism.lib.lazy.array import BOOL, Lazy, of

    if not isinstance(mask, Lazy) or mask.scalar != BOOL or mask.numbers or isinstance(x, Lazy):
        return None
    match mask.value:
        case Compute(what=Kernel() as function, parts=(one,)) if mask.shape == tuple(x.shape):
            same = of(x)
            found = len(mask.leaves) == 1 and same.value == one and not same.numbers
            alike = found and (same.leaves[0].pointer, same.leaves[0].dtype) == (
                mask.leaves[0].pointer,
                mask.leaves[0].dtype,
            )
            return function if alike else None
        case _:
            return None


def unique(x: Any, mode: Mode, stream: Any) -> Any:
    """Return the first element of each run."""
    asked = ("unique_consecutive", mode.key)
    if (known := repeat_call(asked, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        mask, compared = plans.tested_as(given, "x")
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        kind = Kind(mask, mask, compared=compared, own=True, edges=True)
        return _values(kind, given.size, given, None, mode, machine)

    return call("unique_consecutive", asked, {"x": x}, decide, None, stream)


def encode(x: Any, mode: Mode, stream: Any) -> Any:
    """Return the element of each run, and how long it is."""
    asked = ("run_length_encode", mode.key)
    if (known := repeat_call(asked, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        read, compared = plans.tested_as(given, "x")
        require_axes(given, "x", 1)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        return _runs(Kind(read, read, compared=compared, own=True, edges=True), given, mode, machine)

    return call("run_length_encode", asked, {"x": x}, decide, None, stream)


def _runs(kind: Kind, given: ArrayInfo, mode: Mode, machine: Machine) -> Decision:
    """Return how runs are found, of at least one element; of a fixed number of them, zeros stand behind the lengths."""
    n, host, scratch = given.size, machine.host, Scratch()
    room = n if mode.size is None else mode.size
    names, results = [OUT, LENGTHS], [Result((room,), dtype_of(given.scalar, given)), Result((room,), _INT64)]
    if mode.size is None:
        names, results = [*names, KEPT], [*results, Result((1,), _INT64)]
    if not (n and room):
        return Decision(tuple(results), tuple(names), fill=0, cut=mode.cut)
    kept = Buffer(KEPT) if mode.size is None else scratch.take("int64", 1)
    step, words, tag = plans.encode(kind, given, room, machine, kept)
    steps = [step]
    if mode.size is not None:
        scalar = "uint8" if given.scalar == "bool" else given.scalar
        value = number_in_launch(fill_of(mode.fill, given), scalar)
        steps.append(plans.fill(scalar, Buffer(OUT), kept, room, value, host=host))
        steps.append(plans.fill("int64", Buffer(LENGTHS), kept, room, 0, host=host))
    return Decision(tuple(results), tuple(names), Plan(tuple(steps), words, tag, scratch.used), cut=mode.cut)


def unique_pairs(keys: Any, values: Any, mode: Mode, stream: Any) -> Any:
    """Return the key and the first value of each run."""
    asked = ("unique_by_key", mode.key)
    if (known := repeat_call(asked, (keys, values), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        labels, given = arrays["keys"], arrays["x"]
        plans.tested_as(labels, "keys")
        memory_kind(given, "values")
        arguments.require_one_shape(labels, given)
        copied = arguments.not_plain(arrays)
        return Decision(copied=copied) if copied else _pairs(labels, given, mode, machine)

    return call("unique_by_key", asked, {"keys": keys, "x": values}, decide, None, stream, called={"x": "values"})


def _pairs(labels: ArrayInfo, given: ArrayInfo, mode: Mode, machine: Machine) -> Decision:
    """Return how the first of each run of keys is selected, of keys and of values."""
    n, host, scratch = given.size, machine.host, Scratch()
    room = n if mode.size is None else mode.size
    names, ends, fills = ["unique", OUT], [Result((1,), _INT64)], list[Any]()
    results = [Result((room,), dtype_of(one.scalar, one)) for one in (labels, given)]
    if mode.size is None:
        names, results = [*names, KEPT], [*results, *ends]
    else:
        fills = [fill_of(mode.fill, one) for one in (labels, given)]
    if not (n and room):
        return Decision(tuple(results), tuple(names), fill=mode.fill if fills else 0, cut=mode.cut)
    read, compared = plans.tested_as(labels, "keys")
    kinds = Kind(read, read, compared=compared, own=True, edges=True), memory_kind(given, "values")
    kept = Buffer(KEPT) if mode.size is None else scratch.take("int64", 1)
    step, words, tag = plans.unique_pairs(kinds, labels, given, room, machine, Buffer(OUT), kept)
    steps = [step]
    for one, name, value in zip((labels, given), names, fills, strict=False):
        scalar = "uint8" if one.scalar == "bool" else one.scalar
        steps.append(plans.fill(scalar, Buffer(name), kept, room, number_in_launch(value, scalar), host=host))
    return Decision(tuple(results), tuple(names), Plan(tuple(steps), words, tag, scratch.used), cut=mode.cut)


def split(x: Any, mask: Any, stream: Any) -> Any:
    """Return what a mask keeps and the rest behind it, and how many are kept."""
    if stream is None and (known := repeat.run_many(("split with its number",), (x, mask, None))) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, marks = arrays["x"], arrays["mask"]
        read, compared = plans.tested_as(marks, "condition")
        kind = replace(memory_kind(given), mask=read, compared=compared)
        if marks.shape != given.shape:
            raise ValueError(f"`condition` must have shape {given.shape}, as `x`, not {marks.shape}")
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result((given.size,), dtype_of(given.scalar, given)), Result((1,), _INT64))
        if not given.size:
            return Decision(results, (OUT, KEPT), fill=0)
        counting = count_plan(marks, "mask", KEPT, machine)
        return Decision(results, (OUT, KEPT), plans.split(kind, given, marks, counting, machine))

    return call(
        "split", ("split with its number",), {"x": x, "mask": mask}, decide, None, stream, called={"mask": "condition"}
    )


def number_on_host(number: Any, stream: Any) -> int:
    """Return the one number of an array, when it is there: of a GPU's this waits for the stream that it was made on."""
    if stream is not None:
        info = arguments.facts_of(number, "number")
        with memory.working(info, choose_stream(stream, (info,))):
            return int(number[0])
    return int(number[0])


def memory_kind(given: ArrayInfo, name: str = "x") -> Kind:
    """Return the types that elements of an array are moved as."""
    moved = plans.moved_as(given, name)
    return Kind(moved, moved)


def _values(kind: Kind, n: int, given: ArrayInfo, mask: ArrayInfo | None, mode: Mode, machine: Machine) -> Decision:
    """Return how elements are selected of the first `n`."""
    dtype = dtype_of(given.scalar, given)
    if mode.size is None:
        results = (Result((n,), dtype), Result((1,), _INT64))
        if not n:
            return Decision(results, (OUT, KEPT), fill=0, cut=mode.cut)
        step, words, tag = plans.select(kind, n, n, machine, given, mask, Buffer(OUT), Buffer(KEPT))
        return Decision(results, (OUT, KEPT), Plan((step,), words, tag), cut=mode.cut)
    value, fixed = fill_of(mode.fill, given), (Result((mode.size,), dtype),)
    if not (n and mode.size):
        return Decision(fixed, fill=value)
    scratch = Scratch()
    kept = scratch.take("int64", 1)
    step, words, tag = plans.select(kind, n, mode.size, machine, given, mask, Buffer(OUT), kept)
    scalar = "uint8" if given.scalar == "bool" else given.scalar
    behind = plans.fill(scalar, Buffer(OUT), kept, mode.size, number_in_launch(value, scalar), host=machine.host)
    return Decision(fixed, plan=Plan((step, behind), words, tag, scratch.used))


def fill_of(value: Any, given: ArrayInfo) -> Any:
    """Return what is filled with, as a number of an array's dtype.

    Raises:
        TypeError: it is none.
        OverflowError: it is out of range.
    """
    small = given.scalar == "bfloat16"
    if given.dtype.names is not None and not small:
        return np.zeros((), given.dtype)[()] if value == 0 else np.array(value, given.dtype)[()]
    try:
        return float(value) if small else given.dtype.type(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`fill_value` is {value!r}, which is no {given.scalar}: {error}") from None


def number_in_launch(value: Any, scalar: str) -> Any:
    """Return a number as a launch takes it."""
    if isinstance(value, float):
        return value
    return np.uint8(value).item() if scalar == "uint8" and value.dtype == bool else number_of(value)


# -- Positions ------------------------------------------------------------------------------------------------------------


def find_positions(function: str, x: Any, mode: Mode, stream: Any) -> Any:
    """Return the positions of elements that are not zero."""
    asked = (function, mode.key)
    if (known := repeat_call(asked, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _positions(arrays["x"], (), mode, machine, rows=False)

    return call(function, asked, {"x": x}, decide, None, stream)


def find_indices(function: str, x: Any, shape: tuple[int, ...], mode: Mode, stream: Any) -> Any:
    """Return the indices along axes of elements that are not zero: with `argwhere` as rows."""
    rows = function == "argwhere"
    if mode.cut:  # in two calls: so the indices take no more memory than they must
        flat = find_positions("flatnonzero", x, mode, stream)
        found = _axes_of(function, flat, shape, rows, stream)
        return found if rows or isinstance(found, tuple) else (found,)
    asked = (function, mode.key)
    if (known := repeat_call(asked, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _positions(arrays["x"], shape, mode, machine, rows=rows)

    return call(function, asked, {"x": x}, decide, None, stream)


def _axes_of(function: str, flat: Any, shape: tuple[int, ...], rows: bool, stream: Any) -> Any:
    """Return the indices of positions."""
    asked = (function, "axes", shape)
    if stream is None and (known := repeat.run(asked, flat)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        many = arrays["x"].size
        results, names, outs, step = _index_arrays(shape, many, rows)
        if not many:
            return Decision(results, names)
        steps = plans.axes(shape, Buffer("x"), None, many, outs, step, host=machine.host)
        return Decision(results, names, Plan(tuple(steps)))

    return call(function, asked, {"x": flat}, decide, None, stream)


def _index_arrays(
    shape: tuple[int, ...], many: int, rows: bool
) -> tuple[tuple[Result, ...], tuple[str, ...], list[Buffer], int]:
    """Return the results that hold indices, their names, where those of each axis begin, and how far apart they are."""
    axes = len(shape)
    if rows:
        return (Result((many, axes), _INT64),), (OUT,), [Buffer(OUT, 8 * k) for k in range(axes)], axes
    names = tuple(f"{OUT}{k}" for k in range(axes))
    return tuple(Result((many,), _INT64) for _ in names), names, [*map(Buffer, names)], 1


def _positions(given: ArrayInfo, shape: tuple[int, ...], mode: Mode, machine: Machine, *, rows: bool) -> Decision:
    """Return how positions are found, flat ones without a `shape`."""
    mask, compared = plans.tested_as(given, "x")
    if copied := arguments.not_plain({"x": given}):
        return Decision(copied=copied)
    n, kind, scratch = given.size, Kind(mask=mask, compared=compared, places=True), Scratch()
    room = n if mode.size is None else mode.size
    results, names, outs, step = (
        _index_arrays(shape, room, rows) if shape else ((Result((room,), _INT64),), (OUT,), [Buffer(OUT)], 1)
    )
    if mode.size is None:
        results, names, kept = (*results, Result((1,), _INT64)), (*names, KEPT), Buffer(KEPT)
    else:
        kept = scratch.take("int64", 1)
    value = 0 if mode.size is None else _position(mode.fill)
    if not (n and room):
        return Decision(results, names, fill=value, cut=mode.cut)
    places = scratch.take("int64", min(n, room)) if shape else Buffer(OUT)
    first, words, tag = plans.select(kind, n, min(n, room), machine, None, given, places, kept)
    steps = [first]
    if shape:
        steps += plans.axes(shape, places, kept, min(n, room), outs, step, host=machine.host)
    if mode.size is not None:
        each = step if rows else 1
        for one in [Buffer(OUT)] if rows or not shape else outs:
            steps.append(plans.fill("int64", one, kept, room * each, int(value), each, host=machine.host))
    return Decision(results, names, Plan(tuple(steps), words, tag, scratch.used), cut=mode.cut)


def _position(value: Any) -> int:
    """Return what positions are filled with.

    Raises:
        TypeError: it is no integer.
    """
    try:
        return int(np.int64(index(value)))
    except TypeError:
        raise TypeError(f"`fill_value` is {value!r}, and positions are of int64") from None


def shape_of(x: Any, function: str) -> tuple[int, ...]:
    """Return the shape of an array that has axes.

    Raises:
        TypeError: it is none.
        ValueError: it has no axes.
    """
    shape = getattr(x, "shape", None)
    if shape is None:
        shape = arguments.facts_of(x, "x").shape
    if not len(shape):
        raise ValueError(f"`x` has no dimensions, and {function} gives an index for each: pass x.reshape(1)")
    return tuple(shape)


def repeat_call(asked: tuple[Any, ...], arrays: tuple[Any, ...], stream: Any) -> Any:
    """Do what an earlier call did for such arrays; None where there was none."""
    return repeat.run_many(asked, (*arrays, None)) if stream is None else None


__all__ = [
    "POSITIONS", "Mode", "encode", "fill_of", "find_indices", "find_positions", "function_of", "function_to_apply",
    "memory_kind", "mode_of", "number_in_launch", "number_on_host", "repeat_call", "scalar_in_memory", "select_by_function",
    "select_by_mask", "shape_of", "split", "unique", "unique_pairs",
]  # fmt: skip
