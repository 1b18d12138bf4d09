"""Operations on rows: softmax, its logarithm, norms, their gradients, and `rows`, an operation of the caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism.lib.algorithms.rows.backward import norm_backward
from prism.lib.algorithms.rows.norms import norm
from prism.lib.algorithms.rows.norms_quantized import norm_quantized
from prism.lib.algorithms.rows.own import run
from prism.lib.algorithms.rows.softmax import softmax as _softmax
from prism.lib.algorithms.rows.softmax import softmax_backward as _softmax_backward


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
    overflows. A row with NaN or inf, or of -inf alone, becomes NaN, as torch's. With `mask` a kernel is compiled at its first
    use.

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


def rms_norm(
    x: Any, weight: Any = None, *, eps: float = 1e-5, residual: Any = None, dtype: Any = None, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
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
    dtype : {"float8_e4m3fn", "float8_e5m2", "int8"}, optional
        What the result is rounded to, each row divided by a scale, as by `quantize`; by default it has the dtype of `x`.
    out : array, or pair of arrays, optional
        Where to put the result; with `residual` a pair, the second for the sum.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array, or pair of arrays
        Of `x`'s shape and dtype; with `residual` the last is `x + residual`. With `dtype` the result is of that, and the second
        has the rows' scales, of float32: `quantize` of the norm, but that this is not rounded before.

    Raises
    ------
    TypeError
        An argument is no array, or of a dtype that is not supported; `dtype` is none of these; arrays of two libraries, or on
        the host and on a GPU.
    ValueError
        Shapes don't fit; `out` has another shape, is read-only, or is on another GPU, or is given with `dtype`.

    Notes
    -----
    Each element is read once, and written once; rows of more than 262,144 elements are read twice. It is computed in float32,
    that of float64 in float64, and rounded once; a sum with `residual` is rounded first. With `dtype` a kernel is compiled at
    its first use.

    Examples
    --------
    >>> prism.lib.rms_norm(np.array([[3, 4], [0, 8]], np.float32) / 5, np.array([5, 10], np.float32), eps=0.0).round(4)
    array([[ 4.2426, 11.3137],
           [ 0.    , 14.1421]], dtype=float32)
    >>> q, scales = prism.lib.rms_norm(np.array([[3, 4], [0, 8]], np.float32), eps=0.0, dtype="int8")
    >>> q
    array([[ 95, 127],
           [  0, 127]], dtype=int8)
    >>> scales.round(4)
    array([0.0089, 0.0111], dtype=float32)
    """
    if dtype is not None:
        return norm_quantized("rms_norm", x, weight, None, eps, residual, dtype, out, stream)
    return norm("rms_norm", x, weight, None, eps, residual, out, stream)


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5, residual: Any = None, dtype: Any = None, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return an array's rows, each made of mean 0 and variance 1, times `weight`, plus `bias`.

    Parameters
    ----------
    x, weight, residual, dtype, out, stream
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
    As of `prism.lib.rms_norm`. What elements are off a guess of the mean is added up, and its squares. So the variance of numbers
    far from 0 is right.

    Examples
    --------
    >>> prism.lib.layer_norm(np.array([[1, 3], [8, 8]], np.float32), eps=0.0625).round(4)
    array([[-0.9701,  0.9701],
           [ 0.    ,  0.    ]], dtype=float32)
    """
    if dtype is not None:
        return norm_quantized("layer_norm", x, weight, bias, eps, residual, dtype, out, stream)
    return norm("layer_norm", x, weight, bias, eps, residual, out, stream)


def rows(
    x: Any, f: Any, first: Any, second: Any = None, *, columns: Sequence[Any] = (), keep: bool = False, dtype: Any = None,
    out: Any = None, stream: Any = None,
) -> Any:  # fmt: skip
    """Return a function of each element of an array, and of what its row comes to.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of float16, bfloat16, float32 or float64; rows are along its last axis.
    f : device function or lambda
        Of an element, of what the first and the second reduction came to, and of the elements of `columns`: with all of these
        `f(x, a, b, c, d)`.
    first, second : str, or pair of str and function
        How a row's elements are combined: "sum", "mean", "max", "min" or "prod", or a commutative `prism.lib.Operator`; and what
        is combined of each: a device function or lambda of an element, by default the element itself. The second one's function
        knows what the first came to: `g(x, a)`. There need be no second.
    columns : sequence of arrays
        At most two, each of as many elements as a row, of any of these dtypes.
    keep : bool
        Whether `f` has, instead of an element, what the second reduction's function made of it.
    dtype : dtype, optional
        The result's; by default `out`'s, or that of `x`.
    out : array, optional
        Where to put the result.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of `x`'s shape.

    Raises
    ------
    CompileError
        A lambda has what Prism does not have; a function does not take such numbers.
    TypeError
        An argument is none of these, or an array of a dtype that is not supported.
    ValueError
        A reduction is none of these; shapes don't fit; `out` has another shape or is read-only.

    Notes
    -----
    Functions are of float32, or of float64 where an array is: each element is read once, and written once, and rounded once. Rows
    of more than 262,144 elements are read again for each reduction. A kernel is compiled at its first use; numbers that a lambda
    names are part of it.

    Examples
    --------
    >>> from prism.lang import exp
    >>> x = np.array([[0, np.log(3)], [5, 5]], np.float32)
    >>> prism.lib.rows(x, lambda x, top, total: exp(x - top) / total, "max", ("sum", lambda x, top: exp(x - top)))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]], dtype=float32)
    """
    return run(x, f, first, second, columns, keep, dtype, out, stream)


def softmax_backward(
    dout: Any, result: Any, axis: int = -1, *, scale: float | None = None, out: Any = None, stream: Any = None
) -> Any:
    """Return the gradient of what `softmax` was given, from that of what it returned.

    Parameters
    ----------
    dout : array of NumPy, CuPy or torch, or lazy array
        The gradient of `result`, of its shape and dtype.
    result : array
        What `prism.lib.softmax` returned. Where a mask was, it is 0, and so is the gradient.
    axis, scale
        As it was called.
    out : array, optional
        Where to put the gradient.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        ``scale * result * (dout - sum(dout * result))``, of the shape and dtype of `result`.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.softmax`; `dout` is of another shape or dtype than `result`.

    Examples
    --------
    >>> y = prism.lib.softmax(np.array([0, np.log(3)], np.float32))
    >>> prism.lib.softmax_backward(np.array([1, 0], np.float32), y)
    array([ 0.1875, -0.1875], dtype=float32)
    """
    return _softmax_backward("softmax_backward", dout, result, axis, scale, out, stream)


def log_softmax_backward(
    dout: Any, result: Any, axis: int = -1, *, scale: float | None = None, out: Any = None, stream: Any = None
) -> Any:
    """Return the gradient of what `log_softmax` was given, from that of what it returned.

    It is ``scale * (dout - exp(result) * sum(dout))``. Parameters, results and errors are those of `prism.lib.softmax_backward`.

    Examples
    --------
    >>> y = prism.lib.log_softmax(np.array([0, np.log(3)], np.float32))
    >>> prism.lib.log_softmax_backward(np.array([1, 0], np.float32), y)
    array([ 0.75, -0.75], dtype=float32)
    """
    return _softmax_backward("log_softmax_backward", dout, result, axis, scale, out, stream)


def rms_norm_backward(dout: Any, x: Any, weight: Any = None, *, eps: float = 1e-5, stream: Any = None) -> Any:
    """Return the gradients of what `rms_norm` was given, from that of what it returned.

    Parameters
    ----------
    dout : array of NumPy, CuPy or torch
        The gradient of the result, of `x`'s shape and dtype.
    x, weight, eps
        As of `prism.lib.rms_norm`; where there was a residual, `x` is the sum with it, which was returned.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array, or pair of arrays
        The gradient of `x`, of its shape and dtype; where there is a `weight`, that of it behind, of its dtype.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.rms_norm`; `dout` is of another shape or dtype than `x`.

    Notes
    -----
    `x` and `dout` are read once: what the row comes to is made again from them. The gradient of the weight is a sum over rows, of
    sums of some rows each, in an order that follows from shapes and the GPU: the same call gives the same bits.

    Examples
    --------
    >>> x, w = np.array([[3, 4], [4, 3]], np.float32), np.ones(2, np.float32)
    >>> dx, dw = prism.lib.rms_norm_backward(np.ones_like(x), x, w, eps=0.0)
    >>> dw.round(4)
    array([1.9799, 1.9799], dtype=float32)
    """
    return norm_backward("rms_norm_backward", dout, x, weight, False, eps, stream)


def layer_norm_backward(
    dout: Any, x: Any, weight: Any = None, *, bias: bool = False, eps: float = 1e-5, stream: Any = None
) -> Any:
    """Return the gradients of what `layer_norm` was given, from that of what it returned.

    Parameters
    ----------
    dout, x, weight, eps, stream
        As of `prism.lib.rms_norm_backward`.
    bias : bool
        Whether the gradient of the bias is returned, too.

    Returns
    -------
    array, or tuple of arrays
        The gradient of `x`; behind it those of `weight` and of the bias, as far as they are there. The bias's is of the dtype of
        `weight`, or of `x` where there is none.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.rms_norm_backward`.

    Notes
    -----
    As of `prism.lib.rms_norm_backward`.

    Examples
    --------
    >>> x = np.array([[1, 3], [5, 1]], np.float32)
    >>> dx, dbias = prism.lib.layer_norm_backward(np.ones_like(x), x, bias=True)
    >>> dbias
    array([2., 2.], dtype=float32)
    """
    return norm_backward("layer_norm_backward", dout, x, weight, bool(bias), eps, stream)


__all__ = [
    "layer_norm", "layer_norm_backward", "log_softmax", "log_softmax_backward", "rms_norm", "rms_norm_backward", "rows",
    "softmax", "softmax_backward",
]  # fmt: skip
