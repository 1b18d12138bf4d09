"""`prism.lib.softmax`, `log_softmax`, `rms_norm`, `layer_norm`, and `rows`, an operation of the caller's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Buffer, Machine, X, Y, nothing
from prism.kernels import rows as kernels
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.axis import along_last
from prism.lib.algorithms.rows.masks import masked
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.topk.calls import copy_to
from prism.runtime.arrays import ArrayInfo

SUM = "sum"
"""What the sum with the residual is called, of results."""


def softmax(
    x: Any, axis: int = -1, *, scale: float | None = None, mask: Any = None, dtype: Any = None, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return the exponentials of an array's elements, divided by their sum along an axis.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of float16, bfloat16, float32 or float64, with at least one axis, of any strides. Rows are along `axis`; those along the
        last axis whose elements lie side by side are read as they are, others are copied first.
    axis : int, default -1
        The axis along which results add up to 1.
    scale : float, optional
        What elements are multiplied by first.
    mask : array, optional
        Of a shape that broadcasts to `x`'s. Of bool: what is not True takes no part, and becomes 0. Of floats: it is added, after
        `scale`.
    dtype : dtype, optional
        The result's; by default `out`'s, or that of `x`.
    out : array, optional
        Where to put the result.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of `x`'s shape and library; `out`, if given.

    Raises
    ------
    TypeError
        `x` or `out` is no array, or of a dtype that is not supported; `mask` is neither of bool nor of floats; arrays of two
        libraries, or on the host and on a GPU.
    ValueError
        `x` has no such `axis` (`numpy.exceptions.AxisError`), or none at all; `mask` does not broadcast to `x`; `out` has another
        shape, is read-only, or is on another GPU.

    Notes
    -----
    Each element is read once, and written once; rows of more than 262,144 elements (131,072 of float64) are read three times. It
    is computed in float32, that of float64 in float64, and rounded once. The largest element is taken away first, so nothing
    overflows. A row with NaN or inf, or of -inf alone, becomes NaN, as torch's. With `mask` a kernel is compiled at its first use.

    Examples
    --------
    >>> prism.lib.softmax(np.array([[0, np.log(3)], [5, 5]], np.float32))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]], dtype=float32)
    """
    return _softmax("softmax", x, axis, scale, mask, dtype, out, stream)


def log_softmax(
    x: Any, axis: int = -1, *, scale: float | None = None, mask: Any = None, dtype: Any = None, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return the logarithm of `softmax`, made without it: small numbers are exact.

    Parameters, results and errors are those of `prism.lib.softmax`.

    Examples
    --------
    >>> prism.lib.log_softmax(np.array([0, 1000], np.float32))
    array([-1000.,     0.], dtype=float32)
    """
    return _softmax("log_softmax", x, axis, scale, mask, dtype, out, stream)


def _softmax(
    function: str, x: Any, axis: int, scale: float | None, mask: Any, dtype: Any, out: Any, stream: Any
) -> Any:
    if mask is not None:
        x, dtype, scale = masked(x, scale, mask, dtype)
    asked = (function, axis, type(axis), scale if scale is None else repr(scale), dtype)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    factor = _number(scale, "scale", 1.0)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        rows = plans.rows_of("x", given, machine)
        wanted = _wanted(dtype, result, given.scalar)
        if result is not None:
            arguments.require_result(result, wanted, given.shape)
        if rows is None:
            return Decision(copied=("x",))
        results = (Result(given.shape, dtype_of(wanted, given)),)
        if not given.size:
            return Decision(results)
        kind = plans.number_type((given.scalar, wanted))
        shared = plans.sharing(rows.n, plans.width_of([rows], result), kind, machine)
        template = {"TI": given.scalar, "TO": wanted, "A": kind, "LOG": function == "log_softmax"}
        numbers = {"stride": rows.stride, "scale": factor, "least": -np.inf}
        plan = plans.launch(kernels.softmax_rows, template, {"x": X, "y": Y, **numbers}, rows, shared)
        return Decision(results, plan=plan)

    def make(given: Any, target: Any) -> Any:
        return call(function, asked, {"x": given}, decide, target, stream)

    return along_last(function, x, axis, make, out, stream)


def rms_norm(
    x: Any, weight: Any = None, *, eps: float = 1e-5, residual: Any = None, out: Any = None, stream: Any = None
) -> Any:
    """Return an array's rows, each divided by the root of the mean of its squares, times `weight`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of float16, bfloat16, float32 or float64; rows are along its last axis.
    weight : array, optional
        Of one axis, an element for each of a row's; of any of these dtypes.
    eps : float
        What is added to the mean of squares.
    residual : array, optional
        Of `x`'s shape and dtype: the sum of both stands for `x`, and is returned, too.
    out : array, or pair of arrays, optional
        Where to put the result; with `residual` a pair, the second for the sum.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array, or pair of arrays
        Of `x`'s shape and dtype; with `residual` the second is `x + residual`.

    Raises
    ------
    TypeError
        An argument is no array, or of a dtype that is not supported; arrays of two libraries, or on the host and on a GPU.
    ValueError
        Shapes don't fit; `out` has another shape, is read-only, or is on another GPU.

    Notes
    -----
    Each element is read once, and written once; rows of more than 262,144 elements are read twice. It is computed in float32,
    that of float64 in float64, and rounded once; a sum with `residual` is rounded first.

    Examples
    --------
    >>> prism.lib.rms_norm(np.array([[3, 4], [0, 8]], np.float32) / 5, np.array([5, 10], np.float32), eps=0.0).round(4)
    array([[ 4.2426, 11.3137],
           [ 0.    , 14.1421]], dtype=float32)
    """
    return _norm("rms_norm", x, weight, None, eps, residual, out, stream)


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5, residual: Any = None, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return an array's rows, each made of mean 0 and variance 1, times `weight`, plus `bias`.

    Parameters
    ----------
    x, weight, residual, out, stream
        As of `prism.lib.rms_norm`.
    bias : array, optional
        As `weight`, and of its dtype.
    eps : float
        What is added to the variance.

    Returns
    -------
    array, or pair of arrays
        As of `prism.lib.rms_norm`.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.rms_norm`.

    Notes
    -----
    As of `prism.lib.rms_norm`, but that rows too long to be held are read three times. The mean is taken away before squares are
    added up, so the variance of numbers far from 0 is right.

    Examples
    --------
    >>> prism.lib.layer_norm(np.array([[1, 3], [8, 8]], np.float32), eps=0.0625).round(4)
    array([[-0.9701,  0.9701],
           [ 0.    ,  0.    ]], dtype=float32)
    """
    return _norm("layer_norm", x, weight, bias, eps, residual, out, stream)


def _norm(
    function: str, x: Any, weight: Any, bias: Any, eps: float, residual: Any, out: Any, stream: Any
) -> Any:
    if residual is not None and out is not None:
        arguments.require_pair(out)
        return copy_to(function, _norm(function, x, weight, bias, eps, residual, None, stream), tuple(out), stream)
    more = {"weight": weight, "bias": bias, "residual": residual}
    given = {"x": x} | {name: array for name, array in more.items() if array is not None}
    asked = (function, tuple(given), repr(eps))
    if (known := repeat.run_many(asked, (*given.values(), out), stream)) is not None:
        return known
    small = _number(eps, "eps", 0.0)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        return _decide_norm(function, small, arrays, result, machine)

    return call(function, asked, given, decide, out, stream)


def _decide_norm(
    function: str, eps: float, arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine
) -> Decision:
    given, added = arrays["x"], arrays.get("residual")
    seen = {name: plans.rows_of(name, arrays[name], machine) for name in ("x", "residual") if name in arrays}
    if added is not None and (added.shape != given.shape or added.scalar != given.scalar):
        wrong = TypeError if added.shape == given.shape else ValueError
        raise wrong(
            f"`residual` is of {added.scalar} and shape {added.shape}; `x` is of {given.scalar} and shape {given.shape}"
        )
    columns = {name: arrays[name] for name in ("weight", "bias") if name in arrays}
    weighed = _column_type(columns, given)
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
    shared = plans.sharing(rows.n, plans.width_of(every, result, tuple(columns.values())), kind, machine)
    template = {
        "TI": given.scalar, "W": weighed, "A": kind, "CENTRED": function == "layer_norm", "WEIGHT": "weight" in arrays,
        "BIAS": "bias" in arrays, "RESIDUAL": added is not None,
    }  # fmt: skip
    memory = {
        "x": X, "y": Y, "residual": Buffer("residual") if added is not None else nothing(given.scalar),
        "sum": Buffer(SUM) if added is not None else nothing(given.scalar),
    } | {name: Buffer(name) if name in arrays else nothing(weighed) for name in ("weight", "bias")}  # fmt: skip
    numbers = {"stride": rows.stride, "residual_stride": every[-1].stride, "eps": eps, "share": 1 / rows.n}
    return Decision(results, names, plans.launch(kernels.norm_rows, template, {**memory, **numbers}, rows, shared))


def _column_type(columns: Mapping[str, ArrayInfo], given: ArrayInfo) -> str:
    """Return the type of `weight` and `bias`; that of `x`, where there are none."""
    found = given.scalar
    for name, one in columns.items():
        if one.scalar not in plans.FLOATS:
            raise TypeError(f"`{name}` must be of a float type, not of {one.scalar}")
        if one.shape != given.shape[-1:]:
            raise ValueError(f"`{name}` must have shape {given.shape[-1:]}, an element for each of a row's, not {one.shape}")
        found = one.scalar
    if len({one.scalar for one in columns.values()}) > 1:
        raise TypeError("`bias` must be of the dtype of `weight`: " + ", ".join(one.scalar for one in columns.values()))
    return found


def _wanted(dtype: Any, result: ArrayInfo | None, scalar: str) -> str:
    """Return the type of a result: what is asked for, or `out`'s, or the array's."""
    found = arguments.scalar_of(dtype) if dtype is not None else scalar if result is None else result.scalar
    if found not in plans.FLOATS:
        raise TypeError(f"`{'out' if dtype is None else 'dtype'}` must be of a float type, not {found}")
    return found


def _number(value: Any, name: str, otherwise: float) -> float:
    """Return a number that is given; TypeError: it is none."""
    if value is None:
        return otherwise
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"`{name}` must be a number, not {type(value).__qualname__}")
    return float(value)


__all__ = ["layer_norm", "log_softmax", "rms_norm", "softmax"]
