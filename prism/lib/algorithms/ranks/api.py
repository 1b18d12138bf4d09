"""Elements of some rank along axes: `kthvalue`, partitions, medians and quantiles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from prism.host import arguments, floats
from prism.host.arguments import require_integer, require_pair
from prism.host.axes import axis_or_whole, normal_axis
from prism.lib.algorithms.ranks.calls import kth, part_at, require_order, sorted_up_to, values_of
from prism.lib.algorithms.ranks.quantiles import is_float, median_of, quantiles_of, wanted_of


def kthvalue(x: Any, k: int, axis: Any = -1, *, keepdims: bool = False, out: Any = None, stream: Any = None) -> Any:
    """Return the `k`-th smallest element along an axis, and its position: `torch.kthvalue`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape and strides; of bool, an integer type or a float type of 16 bits or more.
    k : int
        Which, from 1 to the size of the axis.
    axis : int or None, default -1
        Along which axis; None: `x` is taken in C order, as one axis.
    keepdims : bool, default False
        Leave the axis, of extent 1.
    out : pair of arrays, optional
        Where to put the elements and the positions, by copies: of their shapes and dtypes, with any strides.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    values, indices : array
        The elements, of the dtype of `x`, and their positions along the axis, int64. `out`, if given.

    Raises
    ------
    TypeError
        `x` is no array, or of a dtype without an order; `k` is no integer; `out` is no pair of arrays of these dtypes.
    ValueError
        `k` is out of range; `out` has other shapes; `stream` for arrays on the host. Of an axis that `x` does not have:
        `numpy.exceptions.AxisError`.

    Notes
    -----
    The element of rank `k - 1` in the order of `prism.lib.top_k` with `largest=False`: NaN stands last, equal ones stand as they
    lie. So the position is the same in every run. A long row is read once, by all multiprocessors: what stands between two bounds
    that a sample says is kept, and the element is found in it. Nothing waits for the host.

    Examples
    --------
    >>> prism.lib.kthvalue(np.array([3, 1, 4, 1, 5]), 3)
    (np.int64(3), np.int64(0))
    """
    require_pair(out)
    found = kth("kthvalue", x, require_integer(k, "k", bools=False), axis, keepdims, out, stream)
    return tuple(one[()] if isinstance(one, np.ndarray) and not one.shape and out is None else one for one in found)


def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None, *, stream: Any = None
) -> Any:
    """Return an array in which some elements along an axis stand where a sort puts them: `numpy.partition`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        As `x` of `prism.lib.kthvalue`, or of complex numbers.
    kth : int or sequence of ints
        Which: what is not larger stands before each of them, what is not smaller behind. Negative ones count from the end.
    axis : int or None, default -1
        Along which axis; None: `a` is taken in C order, as one axis.
    kind : {"introselect"}
        Accepted, as NumPy has it.
    order : None
        Accepted, as NumPy has it: of arrays with fields, which have no order here.
    stream : stream or int, optional
        As for `prism.lib.kthvalue`.

    Returns
    -------
    array
        Of the shape and dtype of `a`; of one axis, where `axis` is None.

    Raises
    ------
    TypeError
        As `prism.lib.kthvalue`; `kth` is no integer, or sequence of them.
    ValueError
        `kth` is out of range; `kind` is another, or `order` is given. Of an axis that `a` does not have:
        `numpy.exceptions.AxisError`.

    Notes
    -----
    The same result in every run: of a long row, what is before the element, and what is behind it, stands as it did. Rows of up
    to 4096 elements, of 8 bytes 2048, are sorted, and complex numbers. NaN stands last.

    Examples
    --------
    >>> prism.lib.partition(np.array([3, 1, 4, 1, 5]), 2)[2]
    np.int64(3)
    """
    return _part("partition", a, kth, axis, kind, order, stream)


def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None, *, stream: Any = None
) -> Any:
    """Return the positions of the elements of `prism.lib.partition`, int64: `numpy.argpartition`. All else is as there.

    Examples
    --------
    >>> prism.lib.argpartition(np.array([3, 1, 4, 1, 5]), 2)[2]
    np.int64(0)
    """
    return _part("argpartition", a, kth, axis, kind, order, stream)


def median(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
    *,
    stream: Any = None,
) -> Any:
    """Return the median of an array, or along axes: `numpy.median`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        As `x` of `prism.lib.kthvalue`.
    axis : int, tuple of ints or None, default None
        Along which axes; None: of all elements.
    out : array, optional
        Where to put the result: of its shape, and of a dtype of its kind, with any strides.
    overwrite_input : bool, default False
        Accepted, as NumPy has it: `a` stays as it is.
    keepdims : bool, default False
        Leave the axes, of extent 1.
    stream : stream or int, optional
        As for `prism.lib.kthvalue`.

    Returns
    -------
    array
        Of the dtype of `a` where that is a float type, else float64: the element in the middle, or half the sum of the two there.
        NaN, where there is one, or no elements. `out`, if given.

    Raises
    ------
    TypeError
        As `prism.lib.kthvalue`; the result is not cast to the dtype of `out`.
    ValueError
        `out` has another shape; `stream` for arrays on the host. Of an axis that `a` does not have:
        `numpy.exceptions.AxisError`.

    Notes
    -----
    Nothing is sorted: a long row is read once, as by `prism.lib.kthvalue`. Nothing waits for the host.

    Examples
    --------
    >>> prism.lib.median(np.array([3, 1, 4, 1]))
    np.float64(2.0)
    """
    return _median("median", a, axis, out, keepdims, stream)


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, stream: Any = None,
) -> Any:  # fmt: skip
    """Return quantiles of an array, or along axes: `numpy.quantile`.

    Parameters
    ----------
    a, axis, out, overwrite_input, keepdims, stream
        As for `prism.lib.median`.
    q : number, or array of NumPy or list of numbers
        Which quantiles, from 0 to 1, of up to two axes.
    method : str, default "linear"
        How a quantile between two elements is computed: any of NumPy's names.

    Returns
    -------
    array
        The axes of `q` come first. Of the dtype that NumPy gives. NaN, where there is one. `out`, if given.

    Raises
    ------
    TypeError
        As `prism.lib.median`; `q` is no number, or array of them; bools are to be interpolated.
    ValueError
        A quantile is out of range; there is no such method; else as `prism.lib.median`.
    IndexError
        There are no elements.

    Notes
    -----
    As NumPy computes it, but for integers whose difference their own dtype does not hold: NumPy's wraps. Each quantile reads a
    long row once. Nothing waits for the host.

    Examples
    --------
    >>> prism.lib.quantile(np.array([3, 1, 4, 1, 5]), [0, 0.25, 0.6])
    array([1. , 1. , 3.4])
    """
    return _quantile("quantile", a, q, axis, out, method, keepdims, stream)


def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, stream: Any = None,
) -> Any:  # fmt: skip
    """Return percentiles of an array, or along axes: `prism.lib.quantile`, of hundredths.

    Examples
    --------
    >>> prism.lib.percentile(np.array([3, 1, 4, 1, 5]), 60)
    np.float64(3.4)
    """
    return _quantile("percentile", a, q, axis, out, method, keepdims, stream)


def nanmedian(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
    *,
    stream: Any = None,
) -> Any:
    """Return the median of the elements that are not NaN: `numpy.nanmedian`. All else is as of `prism.lib.median`.

    NaN, where all elements are: on the host with NumPy's RuntimeWarning. The elements that are not NaN are counted first: that
    reads all once more.

    Examples
    --------
    >>> prism.lib.nanmedian(np.array([3, 1, np.nan, 4, 1]))
    np.float64(2.0)
    """
    return _median("nanmedian", a, axis, out, keepdims, stream)


def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, stream: Any = None,
) -> Any:  # fmt: skip
    """Return quantiles of the elements that are not NaN: `numpy.nanquantile`. All else is as of `prism.lib.quantile`.

    NaN, where all elements are: on the host with NumPy's RuntimeWarning. The elements that are not NaN are counted first: that
    reads all once more.

    Examples
    --------
    >>> prism.lib.nanquantile(np.array([3, 1, np.nan, 4, 1]), 0.5)
    np.float64(2.0)
    """
    return _quantile("nanquantile", a, q, axis, out, method, keepdims, stream)


def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, stream: Any = None,
) -> Any:  # fmt: skip
    """Return percentiles of the elements that are not NaN: `prism.lib.nanquantile`, of hundredths.

    Examples
    --------
    >>> prism.lib.nanpercentile(np.array([3, 1, np.nan, 4, 1]), 50)
    np.float64(2.0)
    """
    return _quantile("nanpercentile", a, q, axis, out, method, keepdims, stream)


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _median(name: str, a: Any, axis: Any, out: Any, keepdims: bool, stream: Any) -> Any:
    skip = name == "nanmedian"
    made = values_of(name, a, axis, keepdims, (), (), _choose_median, out, stream, skip=skip, empty=np.nan)
    return floats.warn_as(made, lambda: getattr(np, name)(a, axis), a)


def _choose_median(n: int, dtype: np.dtype[Any], skip: bool) -> Any:
    return [median_of(n, dtype, skip)], dtype if is_float(dtype) else np.dtype(np.float64)


def _quantile(name: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, stream: Any) -> Any:
    asked = quantiles_of(q, method, hundred=name.endswith("percentile"))
    skip = name.startswith("nan")
    empty, choose = np.nan if skip else None, functools.partial(wanted_of, asked)
    made = values_of(name, a, axis, keepdims, asked.key, asked.q.shape, choose, out, stream, skip=skip, empty=empty)
    return floats.warn_as(made, lambda: getattr(np, name)(a, q, axis, method=method), a)


def _part(name: str, a: Any, at: Any, axis: Any, kind: str, order: Any, stream: Any) -> Any:
    from prism.lib.algorithms.sort.api import argsort, sort
    from prism.lib.algorithms.topk.api import top_k

    if kind != "introselect":
        raise ValueError(f"`kind` must be 'introselect', not {kind!r}")
    if order is not None:
        raise ValueError("`order` is for arrays with fields, whose elements have no order here")
    a = arguments.array_of(a)
    info = arguments.facts_of(a, "a")
    if not info.scalar.startswith("complex"):
        require_order(info)
    if name == "argpartition":
        axis = axis_or_whole(axis, len(info.shape))
    shape = info.shape if axis is not None else (info.size,)
    along = normal_axis(axis if axis is not None else 0, len(shape))
    ranks = _ranks(at, shape[along])
    last = max(ranks, default=0)
    if info.scalar.startswith("complex"):  # sorted, all stand where they should
        return (sort if name == "partition" else argsort)(a, axis, stream=stream)
    if len(ranks) < 2 or shape[along] <= sorted_up_to(info):
        return part_at(name, a, last, axis, stream)
    # what is not behind the last of them is sorted: then all others stand where they should
    values, places = (part_at(one, a, last, axis, stream) for one in ("partition", "argpartition"))
    front = (*(slice(None),) * along, slice(0, last + 1))
    first, order_of = top_k(values[front], last + 1, axis=along, largest=False, stream=stream)
    if name == "partition":
        values[front] = first
        return values
    from prism.lib.algorithms.take.api import take_along_axis

    places[front] = take_along_axis(places[front], order_of, along, stream=stream)
    return places


def _ranks(at: Any, n: int) -> set[int]:
    """Return the ranks that `kth` names, each in `range(n)`.

    Raises:
        TypeError: they are no integers.
        ValueError: one is out of range.
    """
    found = np.asarray(at)
    if found.dtype.kind not in "iu" and not (found.dtype.kind == "b" and found.ndim == 0):
        raise TypeError("`kth`: Partition index must be integer")
    if found.ndim > 1:
        raise ValueError("`kth` must be an integer, or a sequence of integers")
    for one in found.ravel():
        if n and not -n <= one < n:
            raise ValueError(f"kth(={int(one)}) out of bounds ({n})")
    return {int(one) % n for one in found.ravel()} if n else set()


__all__ = [
    "argpartition", "kthvalue", "median", "nanmedian", "nanpercentile", "nanquantile", "partition", "percentile", "quantile",
]  # fmt: skip
