"""Reductions of whole arrays and along axes: `reduce` with any operator, and those that NumPy names."""

from __future__ import annotations

import functools
from typing import Any

from prism.host import arguments
from prism.host.repeat import noting
from prism.kernels.reduce import maps
from prism.lib import operators
from prism.lib.algorithms.reduce.calls import NotAtOnce, Reduction, call
from prism.lib.operators import Operator, operator_of

_SUM = Reduction("sum", operators.add, promoted=True)
_PROD = Reduction("prod", operators.multiply, promoted=True)
_EMPTY = "zero-size array to reduction operation {} which has no identity"
_MAX = Reduction("max", operators.maximum, message=_EMPTY.format("maximum"))
_MIN = Reduction("min", operators.minimum, message=_EMPTY.format("minimum"))
_ARGMAX = Reduction("argmax", None, largest=True, message="attempt to get argmax of an empty sequence")
_ARGMIN = Reduction("argmin", None, message="attempt to get argmin of an empty sequence")
_ANY = Reduction("any", operators.bitwise_or, truth=True)
_ALL = Reduction("all", operators.bitwise_and, truth=True)
COUNT = Reduction("count_nonzero", operators.add, truth=True, counted=True)
EXTREMES = Reduction(
    "minmax", Operator(maps.extremes, identity=0, name="minmax", commutative=True), both=True, message=_MIN.message
)
_ARGBOTH = Reduction("argminmax", None, both=True, message=_ARGMIN.message)
NAMED = (_SUM, _PROD, _MAX, _MIN, _ANY, _ALL, COUNT)
OPERATORS = tuple(Reduction("reduce", operator) for operator in operators.BY_NAME.values())
"""What `reduce` does by an operator's name."""


def reduce(
    x: Any,
    op: str | Operator = "add",
    *,
    axis: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the combination of an array's elements, all of them or along axes: by default their sum.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, complex64 or complex128; of a struct of
        1, 2, 4, 8 or 16 bytes, with an operator of your own. Of any strides. Not modified.
    op : str or Operator, default "add"
        One of "add", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor", or a
        `prism.lib.Operator` of a device function of your own, which is applied in C order unless it says it is commutative.
    axis : int or tuple of int, optional
        What to reduce; all axes by default. An empty tuple reduces none: the result is a copy.
    keepdims : bool, default False
        Leave the reduced axes in the result, of extent 1.
    initial : number, optional
        What to combine with each result, on the left; also the result of no elements. Converted to the dtype, as by NumPy.
    dtype : dtype, optional
        What to convert elements to, to compute in, and the result's. By default that of `x`: sums of small integers wrap in
        their own type, unlike those of `prism.lib.sum`. Of bools `add` is or, `multiply` is and.
    out : array, optional
        Where to put the result: of `x`'s library and device, of its shape, of any dtype of numbers. It may overlap `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array or scalar
        `out`, if given. Else an array of `x`'s library and on its device; of NumPy's, a scalar where no axes are left, and of
        CuPy and torch, an array of no dimensions. Its axes lie in memory as those of `x` do.

    Raises
    ------
    TypeError
        `x` or `out` is no array, or of a dtype that is not supported (object); one of them is on the
        host and the other on a GPU; `op` is neither a name nor an Operator; `initial` is no such number.
    ValueError
        There are no elements, and `op` is a minimum or maximum without `initial`; `axis` names an axis twice; `out` has another
        shape, is read-only, or is on another GPU; `op` names no operator; `stream` for arrays on the host.
    OverflowError
        `initial` is out of the range of an integer dtype.
    AxisError
        `x` has no such axis.

    Notes
    -----
    Every element is read once. Results are the same, bit for bit, whenever the same call is made on the same GPU: nothing
    depends on which blocks are done first. They may differ between GPUs, the CPU, strides and alignments, as floats do when they
    are grouped in another way. float16 and bfloat16 are computed in float32, and rounded once. Integers wrap.

    A NumPy array runs on the reference machine on the CPU, a CuPy array or torch tensor on its GPU, from the same kernels
    (`prism.kernels.reduce`). Nothing is copied between host and device, and nothing waits for the GPU. After the first call of a
    kind a call allocates only its result, and can be captured in a CUDA graph. An array is copied first only where its axes
    don't make up three: those before, along and beside the reduction, each with one stride.

    Examples
    --------
    >>> import numpy as np, prism
    >>> x = np.array([[3, 1, 4], [1, 5, 9]])
    >>> int(prism.lib.reduce(x))
    23
    >>> prism.lib.reduce(x, "maximum", axis=0)
    array([3, 5, 9])
    >>> prism.lib.reduce(x, "multiply", axis=1, keepdims=True)
    array([[12],
           [45]])
    """
    return call(_reduction(op), x, axis, keepdims, dtype, initial, out, stream, "x")


def _reduction(op: Any) -> Reduction:
    try:
        return _reduction_of(op)
    except TypeError:  # what can't be looked up is no operator either, or its identity is no number
        return _reduction_of.__wrapped__(op)


@functools.lru_cache(maxsize=1024)
def _reduction_of(op: Any) -> Reduction:
    operator = operator_of(op)
    message = _EMPTY.format(operator.name) if operator in (operators.minimum, operators.maximum) else ""
    return Reduction("reduce", operator, message=message)


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    stream: Any = None,
) -> Any:
    """Return the sum of an array's elements, of all or along axes, as `numpy.sum` and `cupy.sum` do.

    Bool and small integers are added up in int64 or uint64, and wrap there; float16 and bfloat16 in float32. `dtype` is what to
    compute in, and the result's: sums in bool are or. Where only `out` is given, that is the common dtype of both. The sum of no
    elements is 0. The rest, and what is raised, is as of `prism.lib.reduce`: among it, that equal calls
    give equal results, bit for bit.

    With `where`, an array or lazy array of bools that broadcasts to the shape of `a`, only elements where it is true count. So it
    is for those reductions below that have it: the mask is read beside the elements, and nothing is copied.

    Examples
    --------
    >>> prism.lib.sum(np.array([[100, 27], [1, 0]], np.int8))
    np.int64(128)
    >>> prism.lib.sum(np.array([[1.5, 2], [3, 4]]), axis=0)
    array([4.5, 6. ])
    """
    if where is not True:
        a = _leave_out(a, where, 0, "add")
    return call(_SUM, a, axis, keepdims, dtype, initial, out, stream)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    stream: Any = None,
) -> Any:
    """Return the product of an array's elements, of all or along axes, as `numpy.prod` does; dtypes as of `prism.lib.sum`.

    The product of no elements is 1. The rest, and what is raised, is as of `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.prod(np.array([2, 3, 4]))
    np.int64(24)
    """
    if where is not True:
        a = _leave_out(a, where, 1, "multiply")
    return call(_PROD, a, axis, keepdims, dtype, initial, out, stream)


def max(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    stream: Any = None,
) -> Any:
    """Return the largest element, of all or along axes, as `numpy.max` does; NaN where there is one.

    The result has the dtype of `a`: bool or any of numbers, complex ones ordered by real parts, then by imaginary ones. Raises
    ValueError where there are no elements, and no `initial`; with `where` it takes `initial`. The rest is as of
    `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.max(np.array([[3, 1], [4, 1]]), axis=1)
    array([3, 4])
    """
    if where is not True:
        a = _leave_out(a, where, initial, "maximum")
    return call(_MAX, a, axis, keepdims, None, initial, out, stream)


def min(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    stream: Any = None,
) -> Any:
    """Return the smallest element, of all or along axes, as `numpy.min` does; NaN where there is one.

    The result has the dtype of `a`: bool or any of numbers, complex ones ordered by real parts, then by imaginary ones. Raises
    ValueError where there are no elements, and no `initial`; with `where` it takes `initial`. The rest is as of
    `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.min(np.array([3.0, np.nan, 1.0]))
    np.float64(nan)
    """
    if where is not True:
        a = _leave_out(a, where, initial, "minimum")
    return call(_MIN, a, axis, keepdims, None, initial, out, stream)


def argmax(
    a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False, dtype: Any = None, stream: Any = None
) -> Any:
    """Return where the largest element is, along one axis or in the array in C order, as `numpy.argmax` does.

    Of equal elements the first counts, and NaN as larger than all others. `a` is of bool or numbers, complex ones as of
    `prism.lib.max`. Positions are int64, or of `dtype`, a type of integers that the caller knows to have them all, or converted
    to `out`, whose dtype must cast safely to int64: another is a TypeError, as are several axes; no elements to choose from are
    a ValueError. The rest is as of `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.argmax(np.array([3, 1, 4, 1, 4]))
    np.int64(2)
    >>> prism.lib.argmax(np.array([[3, 1], [4, 5]]), axis=1, dtype=np.int32)
    array([0, 1], dtype=int32)
    """
    return _position(_ARGMAX, a, axis, out, keepdims, dtype, stream)


def argmin(
    a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False, dtype: Any = None, stream: Any = None
) -> Any:
    """Return where the smallest element is, along one axis or in the array in C order, as `numpy.argmin` does.

    Of equal elements the first counts, and NaN as smaller than all others. `a` is of bool or numbers, complex ones as of
    `prism.lib.max`. The rest is as of `prism.lib.argmax`.

    Examples
    --------
    >>> prism.lib.argmin(np.array([[3, 1], [4, 5]]), axis=1)
    array([1, 0])
    """
    return _position(_ARGMIN, a, axis, out, keepdims, dtype, stream)


def _position(what: Reduction, a: Any, axis: Any, out: Any, keepdims: bool, dtype: Any, stream: Any) -> Any:
    """Return where an element is, in a dtype."""
    axis = axis if axis is None else _one(axis)
    if dtype is None or out is not None:
        return call(what, a, axis, keepdims, None, None, out, stream)
    to = arguments.dtype_of(dtype)
    if to.kind not in "iu":
        raise TypeError(f"`dtype` must be of integers, as positions are, not {to}")
    found = call(what, a, axis, keepdims, to, None, None, stream)
    if hasattr(found, "astype"):  # NumPy's and CuPy's; what the kernel has stored so is not copied
        return found if found.dtype == to else found.astype(to)
    from prism.lib import lazy
    from prism.lib.algorithms.transform.api import evaluate

    return found if arguments.facts_of(found, "a").dtype == to else evaluate(lazy.cast(found, to), stream=stream)


def minmax(a: Any, axis: Any = None, *, keepdims: bool = False, stream: Any = None) -> tuple[Any, Any]:
    """Return the smallest and the largest element, of all or along axes: what `min` and `max` give, in one pass.

    The two are parts of one array. Of complex numbers it is `min` and then `max`.

    Examples
    --------
    >>> prism.lib.minmax(np.array([3, 1, 4, 1, 5]))
    (np.int64(1), np.int64(5))
    """
    both = _at_once(EXTREMES, a, axis, keepdims, stream)
    if both is None:
        return min(a, axis, None, keepdims, stream=stream), max(a, axis, None, keepdims, stream=stream)
    return both


def argminmax(a: Any, axis: Any = None, *, keepdims: bool = False, stream: Any = None) -> tuple[Any, Any]:
    """Return where the smallest and the largest element are: what `argmin` and `argmax` give.

    In one pass, the two as parts of one array, over a whole contiguous array of a GPU, and not of complex numbers. Else it is
    `argmin` and then `argmax`.

    Examples
    --------
    >>> prism.lib.argminmax(np.array([3, 1, 4, 1, 5]))
    (np.int64(1), np.int64(4))
    """
    both = None if axis is not None else _at_once(_ARGBOTH, a, None, keepdims, stream)
    if both is not None:
        return both
    found = argmin(a, axis, keepdims=keepdims, stream=stream)
    return found, argmax(a, axis, keepdims=keepdims, stream=stream)


def _at_once(what: Reduction, a: Any, axis: Any, keepdims: bool, stream: Any) -> tuple[Any, Any] | None:
    """Return both extremes, or where they are; None where they are found one after the other, as while a plan is made."""
    if noting.get() is not None:
        return None
    try:
        found = call(what, a, axis, keepdims, None, None, None, stream)
    except NotAtOnce:
        return None
    return (found[0], found[1]) if len(found.shape) == 1 else (found[..., 0], found[..., 1])


def _leave_out(a: Any, where: Any, neutral: Any, name: str) -> Any:
    from prism.lib.algorithms.reduce.where import leave_out  # lazy arrays, which other calls do without

    return leave_out(a, where, neutral, name)


def _one(axis: Any) -> Any:
    if isinstance(axis, tuple):
        raise TypeError("`axis` must be one axis, an integer or None, not a tuple")
    return axis


def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = True, *, stream: Any = None
) -> Any:
    """Return whether an element is not zero, of all or along axes, as `numpy.any` does; NaN isn't zero.

    `a` is of bool or numbers, and the result of bool. All elements are read. The result of no elements is
    False. The rest, and what is raised, is as of `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.any(np.array([[0, 0], [0, 2]]), axis=1)
    array([False,  True])
    """
    if where is not True:
        a = _leave_out(a, where, False, "any")
    return call(_ANY, a, axis, keepdims, None, None, out, stream)


def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = True, *, stream: Any = None
) -> Any:
    """Return whether no element is zero, of all or along axes, as `numpy.all` does; NaN isn't zero.

    `a` is of bool or numbers, and the result of bool. All elements are read. The result of no elements is
    True. The rest, and what is raised, is as of `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.all(np.array([[1, 0], [3, 2]]), axis=1)
    array([False,  True])
    """
    if where is not True:
        a = _leave_out(a, where, True, "all")
    return call(_ALL, a, axis, keepdims, None, None, out, stream)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None, stream: Any = None) -> Any:
    """Return how many elements are not zero, of all or along axes, as `numpy.count_nonzero` does; int64.

    `a` is of bool or numbers. The rest, and what is raised, is as of `prism.lib.reduce`.

    Examples
    --------
    >>> prism.lib.count_nonzero(np.array([[1, 0], [3, 2]]), axis=0)
    array([2, 1])
    """
    return call(COUNT, a, axis, keepdims, None, None, out, stream)


__all__ = [
    "all", "any", "argmax", "argmin", "argminmax", "count_nonzero", "max", "min", "minmax", "prod", "reduce", "sum",
]  # fmt: skip
