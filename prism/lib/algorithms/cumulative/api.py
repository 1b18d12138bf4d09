"""Cumulative sums, products and extrema, with NumPy's signatures, promotion and errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prism.host import arguments, memory, repeat
from prism.host.axes import c_strides, normal_axis
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Clear, Machine, move_steps, size_of
from prism.lib.algorithms.scan import api as scans
from prism.lib.records import common_dtype
from prism.runtime.arrays import BFLOAT16, ArrayInfo, is_array
from prism.runtime.streams import choose_stream

_NAMES = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
_API_NAMES = {"add": "cumulative_sum", "multiply": "cumulative_prod"}


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, stream: Any = None) -> Any:
    """Return the cumulative sum of an array's elements along an axis, as `numpy.cumsum` and `cupy.cumsum` do.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch
        Of bool, an integer type, float16, bfloat16, float32, float64, complex64 or complex128.
    axis : int, optional
        The axis to sum along. By default all elements are taken in C order, and the result has one dimension.
    dtype : dtype, optional
        The result's, and what sums are computed in. By default, with `out`, the common dtype of both; else int64 for bool and
        smaller signed integers, uint64 for smaller unsigned ones, and else that of `a`.
    out : array, optional
        Where to put the result, of its shape and of any dtype, strides included; of `a`'s library, and on its device.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        `out`, if given; else a new array. That of a transposed array has its layout.

    Raises
    ------
    TypeError
        `a` or `out` is no array, or of a dtype that is not supported (object); one of them is on the host and the other on a
        GPU.
    ValueError
        `out` has another shape, is read-only, or is on another GPU; `a` has no such `axis` (`numpy.exceptions.AxisError`);
        `stream` for arrays on the host.

    Notes
    -----
    As `prism.lib.scan`: one pass, whatever the axis. Sums of floats of 16 bits are computed in float32.

    Examples
    --------
    >>> a = np.array([[3, 1, 4], [1, 5, 9]], dtype=np.int8)
    >>> prism.lib.cumsum(a, axis=1)
    array([[ 3,  4,  8],
           [ 1,  6, 15]])
    >>> prism.lib.cumsum(a)
    array([ 3,  4,  8,  9, 14, 23])
    """
    return _cumulative("add", a, axis, dtype, out, stream)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, stream: Any = None) -> Any:
    """Return the cumulative product of an array's elements along an axis, as `numpy.cumprod` and `cupy.cumprod` do.

    Parameters, results and errors are those of `prism.lib.cumsum`.

    Examples
    --------
    >>> prism.lib.cumprod(np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    return _cumulative("multiply", a, axis, dtype, out, stream)


def cummax(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, stream: Any = None) -> Any:
    """Return the largest element so far along an axis, as `numpy.maximum.accumulate` does: NaN from the first NaN on.

    Parameters, results and errors are those of `prism.lib.cumsum`, but the result has the dtype of `a` by default, and all
    elements are taken where `axis` is None. Complex numbers are ordered by real parts, then by imaginary ones.

    Examples
    --------
    >>> prism.lib.cummax(np.array([1.0, 3.0, 2.0, np.nan, 4.0]))
    array([ 1.,  3.,  3., nan, nan])
    """
    return _cumulative("maximum", a, axis, dtype, out, stream)


def cummin(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, stream: Any = None) -> Any:
    """Return the smallest element so far along an axis, as `numpy.minimum.accumulate` does: NaN from the first NaN on.

    Parameters, results and errors are those of `prism.lib.cummax`.

    Examples
    --------
    >>> prism.lib.cummin(np.array([3, 1, 2]))
    array([3, 1, 1])
    """
    return _cumulative("minimum", a, axis, dtype, out, stream)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
    stream: Any = None,
) -> Any:
    """Return the cumulative sum along an axis, as the array API's `cumulative_sum` does.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        As for `prism.lib.cumsum`.
    axis : int, optional
        The axis to sum along: needed where there are several.
    dtype, out, stream
        As for `prism.lib.cumsum`.
    include_initial : bool, default False
        Begin with 0: the result is longer by one along `axis`.

    Returns
    -------
    array
        `out`, if given; else a new array, of the shape of `x` but for `include_initial`.

    Raises
    ------
    ValueError
        `axis` is not given, and `x` has more than one dimension; and as `prism.lib.cumsum`.
    TypeError
        As `prism.lib.cumsum`.

    Examples
    --------
    >>> prism.lib.cumulative_sum(np.array([3, 1, 4]), include_initial=True)
    array([0, 3, 4, 8])
    """
    return _array_api("add", x, axis, dtype, out, include_initial, stream)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
    stream: Any = None,
) -> Any:
    """Return the cumulative product along an axis, as the array API's `cumulative_prod` does; see `prism.lib.cumulative_sum`.

    Examples
    --------
    >>> prism.lib.cumulative_prod(np.array([3, 1, 4]), include_initial=True)
    array([ 1,  3,  3, 12])
    """
    return _array_api("multiply", x, axis, dtype, out, include_initial, stream)


# -- What they share ------------------------------------------------------------------------------------------------------


def _cumulative(
    op: str, a: Any, axis: Any, dtype: Any, out: Any, stream: Any, names: dict[str, str] = _NAMES, name: str = "a"
) -> Any:
    """Scan `a`, which the caller's caller knows as `name`, by what `names` has for the operator."""
    asked = ("cumulative", op, axis, type(axis), dtype, name)
    if stream is None and (known := repeat.run(asked, a, out)) is not None:
        return known
    return _cumulative_anew(asked, op, a, axis, dtype, out, stream, names, name)


def _cumulative_anew(
    asked: tuple[Any, ...],
    op: str,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    stream: Any,
    names: dict[str, str],
    name: str,
) -> Any:
    """Do what `_cumulative` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        along = None if axis is None else normal_axis(axis, max(1, len(given.shape)))
        if result is not None:
            arguments.require_shape(result, scans.shape_of(given, along))
        if (kind := scans.conversion(given, _result_dtype(op, given, dtype, result))) is not None:
            return Decision(copied=("x",), converted=kind)
        task, begin = _task(op, given, dtype, result, scans.Called(names[op], name))
        fits = result is not None and result.contiguous and result.natural and result.scalar == task.result
        found = scans.decide_scan(given, task, begin, along, result if fits else None, machine)
        return found if fits or result is None else replace(found, beside=True)

    return call(names[op], asked, {"x": a}, decide, out, stream, called={"x": name})


def sum_dtype(given: ArrayInfo) -> str:
    """Return the name of the dtype that sums and products of an array have by default: NumPy's."""
    kind = given.dtype.kind
    return "int64" if kind in "bi" else "uint64" if kind == "u" else given.scalar


def _task(op: str, given: ArrayInfo, dtype: Any, result: ArrayInfo | None, called: scans.Called) -> tuple[Any, Any]:
    """Return what to compute, and what it begins with."""
    asked = _result_dtype(op, given, dtype, result)
    if dtype is None:
        called = called._replace(dtype="out")
    same = arguments.scalar_of(asked) == given.scalar
    return scans.task_of(op, given, None if same else asked, called=called)


def _result_dtype(op: str, given: ArrayInfo, asked: Any, result: ArrayInfo | None) -> Any:
    if asked is not None:
        return asked
    if op not in ("add", "multiply"):
        return given.scalar
    if result is None:
        return sum_dtype(given)
    numbers = result.dtype.kind in "biufc" and given.dtype.kind in "biufc"
    return (
        common_dtype(given.dtype, result.dtype) if numbers or BFLOAT16 in (result.dtype, given.dtype) else result.scalar
    )


def _array_api(op: str, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool, stream: Any) -> Any:
    if not include_initial and (axis is not None or len(getattr(x, "shape", (0, 0))) <= 1):
        return _cumulative(op, x, 0 if axis is None else axis, dtype, out, stream, _API_NAMES, "x")
    asked = ("cumulative behind its first", op, axis, type(axis), dtype)
    if include_initial and stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    given = arguments.describe_all({"x": x}, {})["x"]
    if axis is None:
        if len(given.shape) > 1:
            raise ValueError(f"`axis` must be given: `x` has {len(given.shape)} dimensions")
        axis = 0
    if not include_initial:  # what has no shape before it is described
        return _cumulative(op, x, axis, dtype, out, stream, _API_NAMES, "x")
    along = normal_axis(axis, max(1, len(given.shape)))
    shape = list(given.shape or (1,))
    shape[along] += 1
    if op == "add" and given.size and math.prod(shape[:along]) == 1 and given.contiguous and is_array(x):
        return _behind_zero(asked, x, along, dtype, out, stream)
    result = None if out is None else arguments.describe_result(out, {"x": given}, {})
    if result is not None:
        arguments.require_shape(result, tuple(shape))
    wanted: Any = scans.conversion(given, _result_dtype(op, given, dtype, result))
    if wanted is None:
        task, _ = _task(op, given, dtype, result, scans.Called(_API_NAMES[op]))
        wanted = scans.dtype_of(task.result, given)
    behind = (slice(None),) * along
    with memory.working(given, None if stream is None else choose_stream(stream, (given,))):
        whole = memory.empty_as(given, tuple(shape), wanted) if result is None else out
        rest = whole[(*behind, slice(1, None))]
        _cumulative(op, x, along, wanted, rest.reshape(-1) if not given.shape else rest, stream, _API_NAMES, "x")
        whole[(*behind, slice(0, 1))] = 0 if op == "add" else 1  # last: it may be an element of `x`
    return whole


def _behind_zero(asked: tuple[Any, ...], x: Any, along: int, dtype: Any, out: Any, stream: Any) -> Any:
    """Return cumulative sums behind a zero, where all of them lie behind all zeros: one call, that clears these."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        extents = given.shape or (1,)
        shape = (*extents[:along], extents[along] + 1, *extents[along + 1 :])
        if result is not None:
            arguments.require_shape(result, shape)
        if (kind := scans.conversion(given, _result_dtype("add", given, dtype, result))) is not None:
            return Decision(copied=("x",), converted=kind)
        task, begin = _task("add", given, dtype, result, scans.Called(_API_NAMES["add"], "x"))
        fits = result is not None and result.contiguous and result.natural and result.scalar == task.result
        made, zeros = scans.dtype_of(task.result, given), math.prod(extents[along + 1 :])
        first = result.pointer if result is not None and fits else 0
        past = zeros * size_of(task.result)
        steps = tuple(step * made.itemsize for step in c_strides(extents))
        rest = replace(given, dtype=made, pointer=first + past, shape=extents, strides=steps)
        found = scans.decide_scan(given, task, begin, along, rest, machine)
        if found.plan is None:
            return found

        def behind(buffer: Buffer) -> Buffer:
            return replace(buffer, offset=buffer.offset + past) if buffer.name == OUT else buffer

        sums = move_steps(found.plan.steps, behind)
        plan = replace(found.plan, steps=(Clear(Buffer(OUT, 0, task.result, zeros)), *sums))
        results, beside = (Result(shape, made),), result is not None and not fits
        return replace(found, results=results, plan=plan, in_place=(), beside=beside)

    return call("cumulative_sum", asked, {"x": x}, decide, out, stream)


__all__ = ["cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "sum_dtype"]
