"""Elements that are kept, and where they are: `select`, `compress`, `extract`, `nonzero` and its like, `unique_consecutive`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch
from prism.lang.surface import Kernel
from prism.lang.surface.views import Compute
from prism.lang.types import Scalar
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.scan.plan import number_of
from prism.lib.algorithms.select import plan as plans
from prism.lib.algorithms.select.plan import KEPT, Kind
from prism.runtime.arrays import ArrayInfo, is_array, require_axes

_INT64 = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class _Mode:
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


def _mode(count: bool, size: Any, fill_value: Any) -> _Mode:
    if size is None:
        return _Mode(bool(count), None, fill_value)
    if count:
        raise ValueError("`count` and `size` are two ways to give a result of unknown length: pass one of them")
    try:
        size = index(size)
    except TypeError:
        raise TypeError(f"`size` must be an integer, not {type(size).__name__}") from None
    if size < 0:
        raise ValueError(f"`size` must not be negative: {size}")
    return _Mode(False, size, fill_value)


def select(
    x: Any, condition: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the elements of an array that a mask, or a function of them, says to keep: `x[mask]`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape; its elements are taken in C order. Of any dtype of 1, 2, 4, 8 or 16 bytes, structs too.
    condition : array, lazy array, device function or lambda
        A mask of the shape of `x`, of bools or numbers: what is not zero is kept. Or a function of one element, as of
        `prism.lib.lazy.map`; `x` is then read once.
    count : bool, default False
        Leave the number of elements where it is computed: see below.
    size : int, optional
        How many elements the result has: see below.
    fill_value : number, default 0
        With `size`, what stands behind those that are kept.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of one dimension, of the dtype of `x`: the elements that are kept, in their order. By default it has as many; it is the
        beginning of an array of the size of `x`, which lives as long. With `count` a pair: an array of the size of `x`, of which
        only the first elements are set, and an array of one int64 that says how many. With `size` the first `size` of those
        that are kept, or all of them and `fill_value` behind.

    Raises
    ------
    TypeError
        `x` or `condition` is none of these, or of a dtype that is not supported; they are of two libraries, or one is on the
        host; `size` is no integer.
    ValueError
        They have two shapes, or are on two GPUs; `size` is negative, or given with `count`; `stream` for arrays on the host.
    OverflowError
        `fill_value` is out of the range of the dtype.

    Notes
    -----
    One pass: each element and flag is read once. By default the kernel writes the number into the host's memory, and a call on
    arrays of a GPU waits for that. With `count` or `size` it does not wait, and can be captured in a CUDA graph.

    Examples
    --------
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> prism.lib.select(x, x > 2)
    array([3, 4, 5])
    >>> prism.lib.select(x, lambda e: e % 2 != 0)
    array([3, 1, 1, 5])
    >>> prism.lib.select(x, x > 2, size=4, fill_value=-1)
    array([ 3,  4,  5, -1])
    """
    mode = _mode(count, size, fill_value)
    if is_array(condition) or isinstance(condition, LazyArray):
        function = _function_of(x, condition)
        if function is None:
            return _compress("select", {"x": x, "mask": condition}, mode, stream, {"mask": "condition"}, alike=True)
        return _own(x, function, mode, stream)
    from prism.lib import lazy

    if not callable(condition) and not isinstance(condition, Scalar):
        raise TypeError(f"`condition` must be an array or a function, not {type(condition).__name__}")
    mask = lazy.map(condition, x)
    function = _function_of(x, mask)
    if function is None:
        return _compress("select", {"x": x, "mask": mask}, mode, stream, {"mask": "condition"}, alike=True)
    return _own(x, function, mode, stream)


def compress(
    condition: Any, x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the elements of an array at which a condition is not zero: `numpy.compress(condition, x)`.

    Parameters
    ----------
    condition : array of NumPy, CuPy or torch, or lazy array
        Of one dimension, of bools or numbers. Elements of `x` behind its end are not kept.
    x : array or lazy array
        Of the library and device of `condition`, of any shape: its elements are taken in C order.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        As of `prism.lib.select`.

    Raises
    ------
    TypeError, OverflowError
        As `prism.lib.select`.
    ValueError
        `condition` has another number of dimensions, or is longer than `x`; else as `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.compress(np.array([True, False, True]), np.array([3, 1, 4, 1, 5]))
    array([3, 4])
    """
    mode = _mode(count, size, fill_value)
    return _compress("compress", {"mask": condition, "x": x}, mode, stream, {"mask": "condition"}, flat=True)


def extract(
    condition: Any, x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the elements of an array at which a condition is not zero: `numpy.extract(condition, x)`.

    Parameters
    ----------
    condition : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools or numbers: its elements are taken in C order, as those of `x`.
    x : array or lazy array
        Of the library and device of `condition`.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        As of `prism.lib.select`.

    Raises
    ------
    TypeError, OverflowError
        As `prism.lib.select`.
    ValueError
        `condition` has more elements than `x`; else as `prism.lib.select`.

    Examples
    --------
    >>> x = np.arange(6).reshape(2, 3)
    >>> prism.lib.extract(x % 2 == 0, x)
    array([0, 2, 4])
    """
    mode = _mode(count, size, fill_value)
    return _compress("extract", {"mask": condition, "x": x}, mode, stream, {"mask": "condition"})


def unique_consecutive(
    x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the first element of each run of equal elements: `torch.unique_consecutive(x)`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools or numbers: its elements are taken in C order. A run ends where an element differs from the one
        before (`!=`), so every NaN is one.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        As of `prism.lib.select`.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.unique_consecutive(np.array([7, 7, 8, 8, 7]))
    array([7, 8, 7])
    """
    mode = _mode(count, size, fill_value)
    asked = ("unique_consecutive", mode.key)
    if (known := _again(asked, mode, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        mask, compared = plans.tested_as(given, "x")
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        kind = Kind(mask, mask, compared=compared, own=True, edges=True)
        return _values(kind, given.size, given, None, mode, machine)

    return call("unique_consecutive", asked, {"x": x}, decide, None, stream)


def flatnonzero(
    x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the positions, in C order, of the elements that are not zero: `numpy.flatnonzero(x)`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools or numbers. NaN is not zero.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        As of `prism.lib.select`, of int64.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.flatnonzero(np.array([3, 0, 4, 0, 5]))
    array([0, 2, 4])
    """
    return _places("flatnonzero", x, _mode(count, size, fill_value), stream)


def nonzero(x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None) -> Any:
    """Return the indices of the elements that are not zero, an array for each axis: `numpy.nonzero(x)`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of at least one dimension, of bools or numbers. NaN is not zero.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    tuple of arrays
        One for each axis, each as of `prism.lib.select`, of int64; with `count` the number behind them.

    Raises
    ------
    TypeError, OverflowError
        As `prism.lib.select`.
    ValueError
        `x` has no dimensions; else as `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.nonzero(np.array([[3, 0], [0, 5]]))
    (array([0, 1]), array([0, 1]))
    """
    mode = _mode(count, size, fill_value)
    shape = _shape_of(x, "nonzero")
    if len(shape) > 1:
        return _indices("nonzero", x, shape, mode, stream)
    found = _places("flatnonzero", x, mode, stream)
    return found if isinstance(found, tuple) else (found,)


def argwhere(x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None) -> Any:
    """Return the indices of the elements that are not zero, a row for each: `numpy.argwhere(x)`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of at least one dimension, of bools or numbers. NaN is not zero.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        Of int64, with a row for each element and a column for each axis; else as of `prism.lib.select`.

    Raises
    ------
    TypeError, OverflowError
        As `prism.lib.select`.
    ValueError
        `x` has no dimensions; else as `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.argwhere(np.array([[3, 0], [0, 5]]))
    array([[0, 0],
           [1, 1]])
    """
    return _indices("argwhere", x, _shape_of(x, "argwhere"), _mode(count, size, fill_value), stream)


# -- Values ---------------------------------------------------------------------------------------------------------------


def _compress(
    function: str, arrays: dict[str, Any], mode: _Mode, stream: Any, called: Mapping[str, str], *, alike: bool = False,
    flat: bool = False,
) -> Any:  # fmt: skip
    """Return what a mask keeps; `alike`: it must have the shape of `x`, `flat`: it must have one dimension."""
    asked = (function, mode.key)
    if (known := _again(asked, mode, tuple(arrays.values()), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, mask = arrays["x"], arrays["mask"]
        kind = _of_memory(given)
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


def _own(x: Any, function: Kernel, mode: _Mode, stream: Any) -> Any:
    """Return the elements of which a function gives true."""
    asked = ("select", function, mode.key)
    if (known := _again(asked, mode, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        _of_memory(given)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        kind = Kind(given.scalar, given.scalar, compared=given.scalar, own=True, test=function)
        return _values(kind, given.size, given, None, mode, machine)

    return call("select", asked, {"x": x}, decide, None, stream)


def _function_of(x: Any, mask: Any) -> Kernel | None:
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


def _of_memory(given: ArrayInfo) -> Kind:
    """Return the types that elements of an array are moved as."""
    try:
        moved = plans.moved_as(given)
    except TypeError:
        raise TypeError(f"`x` has dtype {given.dtype}, which is not supported") from None
    return Kind(moved, moved)


def _values(kind: Kind, n: int, given: ArrayInfo, mask: ArrayInfo | None, mode: _Mode, machine: Machine) -> Decision:
    """Return how elements are selected of the first `n`."""
    dtype = dtype_of(given.scalar, given)
    if mode.size is None:
        results = (Result((n,), dtype), Result((1,), _INT64))
        if not n:
            return Decision(results, (OUT, KEPT), fill=0, cut=mode.cut)
        step, words, tag = plans.select(kind, n, n, machine, given, mask, Buffer(OUT), Buffer(KEPT))
        return Decision(results, (OUT, KEPT), Plan((step,), words, tag), cut=mode.cut)
    value, fixed = _fill_of(mode.fill, given), (Result((mode.size,), dtype),)
    if not (n and mode.size):
        return Decision(fixed, fill=value)
    scratch = Scratch()
    kept = scratch.take("int64", 1)
    step, words, tag = plans.select(kind, n, mode.size, machine, given, mask, Buffer(OUT), kept)
    scalar = "uint8" if given.scalar == "bool" else given.scalar
    behind = plans.fill(scalar, Buffer(OUT), kept, mode.size, _launched(value, scalar), host=machine.host)
    return Decision(fixed, plan=Plan((step, behind), words, tag, scratch.used))


def _fill_of(value: Any, given: ArrayInfo) -> Any:
    """Return what is filled with, as a number of an array's dtype.

    Raises:
        TypeError: it is none.
        OverflowError: it is out of range.
    """
    if given.scalar == "bfloat16":
        return float(value)
    if given.dtype.names is not None:
        return np.zeros((), given.dtype)[()] if value == 0 else np.array(value, given.dtype)[()]
    try:
        return given.dtype.type(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`fill_value` is {value!r}, which is no {given.scalar}: {error}") from None


def _launched(value: Any, scalar: str) -> Any:
    """Return a number as a launch takes it."""
    if isinstance(value, float):
        return value
    return np.uint8(value).item() if scalar == "uint8" and value.dtype == bool else number_of(value)


# -- Positions ------------------------------------------------------------------------------------------------------------


def _places(function: str, x: Any, mode: _Mode, stream: Any) -> Any:
    """Return the positions of elements that are not zero."""
    asked = (function, mode.key)
    if (known := _again(asked, mode, (x,), stream)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _positions(arrays["x"], (), mode, machine, rows=False)

    return call(function, asked, {"x": x}, decide, None, stream)


def _indices(function: str, x: Any, shape: tuple[int, ...], mode: _Mode, stream: Any) -> Any:
    """Return the indices along axes of elements that are not zero: with `argwhere` as rows."""
    rows = function == "argwhere"
    if mode.cut:  # in two calls: so the indices take no more memory than they must
        flat = _places("flatnonzero", x, mode, stream)
        found = _axes_of(function, flat, shape, rows, stream)
        return found if rows or isinstance(found, tuple) else (found,)
    asked = (function, mode.key)
    if (known := _again(asked, mode, (x,), stream, one=rows)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _positions(arrays["x"], shape, mode, machine, rows=rows)

    return call(function, asked, {"x": x}, decide, None, stream)


def _axes_of(function: str, flat: Any, shape: tuple[int, ...], rows: bool, stream: Any) -> Any:
    """Return the indices of positions."""
    asked = (function, "axes", shape)
    one = rows or len(shape) == 1
    if (
        stream is None
        and (known := (repeat.run if one else repeat.run_many)(asked, *_arguments(one, flat))) is not None
    ):
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        many = arrays["x"].size
        results, names, outs, step = _index_arrays(shape, many, rows)
        if not many:
            return Decision(results, names)
        steps = plans.axes(shape, Buffer("x"), None, many, outs, step, host=machine.host)
        return Decision(results, names, Plan(tuple(steps)))

    return call(function, asked, {"x": flat}, decide, None, stream)


def _arguments(one: bool, x: Any) -> tuple[Any, ...]:
    return (x, None) if one else ((x, None),)


def _index_arrays(
    shape: tuple[int, ...], many: int, rows: bool
) -> tuple[tuple[Result, ...], tuple[str, ...], list[Buffer], int]:
    """Return the results that hold indices, their names, where those of each axis begin, and how far apart they are."""
    axes = len(shape)
    if rows:
        return (Result((many, axes), _INT64),), (OUT,), [Buffer(OUT, 8 * k) for k in range(axes)], axes
    names = tuple(f"{OUT}{k}" for k in range(axes))
    return tuple(Result((many,), _INT64) for _ in names), names, [*map(Buffer, names)], 1


def _positions(given: ArrayInfo, shape: tuple[int, ...], mode: _Mode, machine: Machine, *, rows: bool) -> Decision:
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


def _shape_of(x: Any, function: str) -> tuple[int, ...]:
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


def _again(asked: tuple[Any, ...], mode: _Mode, arrays: tuple[Any, ...], stream: Any, *, one: bool = True) -> Any:
    """Do what an earlier call did for such arrays; None where there was none. `one`: with a size there is one result."""
    if stream is not None:
        return None
    if mode.size is not None and one and len(arrays) == 1:
        return repeat.run(asked, arrays[0], None)
    return repeat.run_many(asked, (*arrays, None))


__all__ = ["argwhere", "compress", "extract", "flatnonzero", "nonzero", "select", "unique_consecutive"]
