"""Elements that are kept, by a mask, a function or runs; and where those are that are not zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.axes import axis_or_whole
from prism.host.lazies import LazyArray
from prism.lib.algorithms.select import calls
from prism.lib.algorithms.select.into import (
    condition_along,
    fits_along,
    fitting,
    given_array,
    most_kept,
    put_exactly,
    put_first,
)
from prism.lib.algorithms.select.parts import mask_of, split_apart
from prism.lib.algorithms.select.runs import unique_runs
from prism.lib.algorithms.take.api import take
from prism.runtime.arrays import is_array


def select(
    x: Any, condition: Any, *, out: Any = None, count: bool = False, size: int | None = None, fill_value: Any = 0,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return the elements of an array that a mask, or a function of them, says to keep: `x[mask]`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape; its elements are taken in C order. Of any dtype of 1, 2, 4, 8 or 16 bytes, structs too.
    condition : array, lazy array, device function or lambda
        A mask of the shape of `x`, of bools or numbers: what is not zero is kept. Or a function of one element, as of
        `prism.lib.lazy.map`; `x` is then read once; once more, from the caches, by a lambda that names several numbers.
    out : array, optional
        Where to put what is kept, by a copy: of the dtype of `x` and of as many elements or more, or of `size`. It may be `x`: in
        place. The result is its beginning; with `count` it is itself, and only the elements that are kept are set in it.
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
        host; `size` is no integer; `out` is of another dtype or library.
    ValueError
        `out` has too few elements, or has several axes and is not in C order. `x` and `condition` have two shapes,
        or are on two GPUs; `size` is negative, or given with `count`; `stream` for arrays on the host.
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
    mode = calls.mode_of(count, size, fill_value)
    if out is not None:
        return put_first(_select(x, condition, mode, stream), out, most_kept(np.shape(x), mode), mode, stream)
    return _select(x, condition, mode, stream)


def _select(x: Any, condition: Any, mode: calls.Mode, stream: Any) -> Any:
    condition = arguments.array_of(condition)
    if is_array(condition) or isinstance(condition, LazyArray):
        function = calls.function_of(x, condition)
        if function is None:
            return calls.select_by_mask(
                "select", {"x": x, "mask": condition}, mode, stream, {"mask": "condition"}, alike=True
            )
        return calls.select_by_function(x, function, mode, stream)
    applied = calls.function_to_apply(condition)
    asked = ("select", applied.what, mode.key)
    if applied.what is not None and (known := calls.repeat_call(asked, (x,), stream)) is not None:
        return known
    if (scalar := calls.scalar_in_memory(x)) is not None and (found := applied.with_number(scalar)) is not None:
        return calls.select_by_function(x, found[0], mode, stream, found[1])
    mask = applied.map_over(x)
    function = calls.function_of(x, mask)
    if function is None:
        return calls.select_by_mask("select", {"x": x, "mask": mask}, mode, stream, {"mask": "condition"}, alike=True)
    return calls.select_by_function(x, function, mode, stream)


def split(x: Any, condition: Any, *, count: bool = False, stream: Any = None) -> Any:
    """Return the elements of an array that a mask, or a function of them, says, and the others: `x[mask]` and `x[~mask]`.

    Parameters
    ----------
    x, condition
        As for `prism.lib.select`.
    count : bool, default False
        Leave the number of elements where it is computed: see below.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    selected, rest : array
        Of one dimension, of the dtype of `x`, both in their order: each the beginning of an array of the size of `x`, which lives
        as long. With `count` one array of that size, of which the first elements are those that are selected and the others the
        rest, and an array of one int64 that says how many are selected.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.select`.

    Notes
    -----
    One pass: each element and flag is read once, and each element written once. By default a call on arrays of a GPU waits for
    the number. With `count` it does not, and can be captured in a CUDA graph; a kernel before it counts what the condition says.

    Examples
    --------
    >>> prism.lib.split(np.array([3, 1, 4, 1, 5]), lambda e: e > 2)
    (array([3, 4, 5]), array([1, 1]))
    """
    if count:
        asked = ("split with its number",)
        known = repeat.run_many(asked, (x, condition, None)) if stream is None and is_array(condition) else None
        return calls.split(x, _mask_of(x, condition), stream) if known is None else known
    return split_apart("split", x, (condition,), ("condition",), stream)


def split3(x: Any, first: Any, second: Any, *, count: bool = False, stream: Any = None) -> Any:
    """Return the elements of an array that a first condition says, of the others those that a second one says, and the rest.

    Parameters
    ----------
    x : array or lazy array
        As for `prism.lib.select`.
    first, second : array, lazy array, device function or lambda
        As `condition` of `prism.lib.select`.
    count : bool, default False
        Leave the numbers of elements where they are computed: see below.
    stream : stream or int, optional
        As for `prism.lib.split`.

    Returns
    -------
    first, second, rest : array
        Each as of `prism.lib.split`, in their order. With `count` three arrays of the size of `x`, of which only the first
        elements are set, and an array of two int64 that says how many are in the first two.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.select`.

    Notes
    -----
    One pass, as of `prism.lib.split`; by default a call on arrays of a GPU waits for the two numbers. With `count` it does not,
    and can be captured in a CUDA graph. Lambdas may name a number each: then nothing is compiled for another one.

    Examples
    --------
    >>> prism.lib.split3(np.array([3, 1, 4, 1, 5]), lambda e: e < 2, lambda e: e < 5)
    (array([1, 1]), array([3, 4]), array([5]))
    """
    return split_apart("split3", x, (first, second), ("first", "second"), stream, count=count)


def _mask_of(x: Any, condition: Any) -> Any:
    """Return a condition as a mask of bools or real numbers: of a function, and of complex numbers, a lazy one.

    Raises:
        TypeError: it is neither.
    """
    condition = arguments.array_of(condition)
    if is_array(condition) or isinstance(condition, LazyArray):
        return mask_of(condition)
    return calls.function_to_apply(condition).map_over(x)


def compress(
    condition: Any, x: Any, axis: Any = None, out: Any = None, *, count: bool = False, size: int | None = None,
    fill_value: Any = 0, stream: Any = None,
) -> Any:  # fmt: skip
    """Return the elements of an array at which a condition is not zero: `numpy.compress(condition, x)`.

    Parameters
    ----------
    condition : array of NumPy, CuPy or torch, or lazy array
        Of one dimension, of bools or numbers. Elements of `x` behind its end are not kept.
    x : array or lazy array
        Of the library and device of `condition`, of any shape: without `axis` its elements are taken in C order.
    axis : int, optional
        Keep the parts along an axis at which the condition is not zero; it has at most as many elements as the axis.
    out : array, optional
        Where to put the result, by a copy: of its shape and dtype. Without `size` the call waits for the number of elements.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        As of `prism.lib.select`; with `axis` of as many dimensions as `x`. `out`, if given.

    Raises
    ------
    TypeError, OverflowError
        As `prism.lib.select`; `out` is of another dtype.
    IndexError
        `condition` is true behind the end of `x`, or of the axis.
    ValueError
        `condition` has another number of dimensions; it is longer than `x`, and lazy, or on a GPU with `count` or `size`, so that
        nothing looks whether what is behind is false; `count` or `size` with `axis`, or
        `count` with `out`; `out` has another shape; else as `prism.lib.select`. Of an axis that `x` does not have:
        `numpy.exceptions.AxisError`.

    Notes
    -----
    With `axis` it is `prism.lib.flatnonzero` of the condition, and `prism.lib.take`.

    Examples
    --------
    >>> prism.lib.compress(np.array([True, False, True]), np.array([3, 1, 4, 1, 5]))
    array([3, 4])
    """
    mode = calls.mode_of(count, size, fill_value)
    if axis is not None and not mode.cut:
        raise ValueError("`count` and `size` are for a whole array, without `axis`")
    if out is not None and count:
        raise ValueError("`count` gives an array and a number, and `out` is for the array alone: pass one of them")
    if axis is not None and fits_along(condition, x, axis):
        return take(x, flatnonzero(condition, stream=stream), axis, out, "clip", stream=stream)
    along = None if axis is None else axis_or_whole(axis, len(arguments.facts_of(x, "x").shape))
    if along is not None:
        places = flatnonzero(condition_along(condition, x, along, stream), stream=stream)
        return take(x, places, along, out, "clip", stream=stream)
    x, condition = given_array(x, "x"), given_array(condition, "condition")
    if len(condition.shape) == 1:
        condition = fitting(condition, math.prod(x.shape), mode, stream)
    given = {"mask": condition, "x": x}
    found = calls.select_by_mask("compress", given, mode, stream, {"mask": "condition"}, flat=True)
    return found if out is None else put_exactly(found, out, stream)


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
    mode = calls.mode_of(count, size, fill_value)
    x, condition = given_array(x, "x"), given_array(condition, "condition")
    condition = fitting(condition, math.prod(x.shape), mode, stream)
    return calls.select_by_mask("extract", {"mask": condition, "x": x}, mode, stream, {"mask": "condition"})


def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, *, count: bool = False, size: int | None = None,
    fill_value: Any = 0, stream: Any = None,
) -> Any:  # fmt: skip
    """Return the first element of each run of equal elements: `torch.unique_consecutive(x)`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools or numbers: its elements are taken in C order. A run ends where an element differs from the one
        before (`!=`), so every NaN is one.
    return_inverse, return_counts : bool, default False
        Return which run each element is in, too, and how many elements each run has: int64.
    count, size, fill_value, stream
        As for `prism.lib.select`. Behind counts stands 0.

    Returns
    -------
    array, or a tuple of values, inverse and counts
        As of `prism.lib.select`; the inverse has the shape of `x`. With `count` the number of runs stands behind all.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `prism.lib.select`.

    Notes
    -----
    The inverse is a running sum of where runs begin: `x` is read once more. Counts take no further pass.

    Examples
    --------
    >>> prism.lib.unique_consecutive(np.array([7, 7, 8, 8, 7]))
    array([7, 8, 7])
    >>> prism.lib.unique_consecutive(np.array([7, 7, 8, 8, 7]), return_inverse=True, return_counts=True)
    (array([7, 8, 7]), array([0, 0, 1, 1, 2]), array([2, 2, 1]))
    """
    mode = calls.mode_of(count, size, fill_value)
    if return_inverse or return_counts:
        return unique_runs(x, bool(return_inverse), bool(return_counts), mode, stream)
    return calls.unique(x, mode, stream)


def unique_by_key(
    keys: Any, values: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the key and the first value of each run of equal keys.

    Parameters
    ----------
    keys : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools or numbers: its elements are taken in C order. A run ends where a key differs from the one before
        (`!=`), so every NaN is one.
    values : array or lazy array
        Of the library, device and shape of `keys`; of any dtype that `prism.lib.select` takes.
    count, size, fill_value, stream
        As for `prism.lib.select`; keys and values are both filled.

    Returns
    -------
    unique_keys, first_values : array
        Each as of `prism.lib.select`; with `count` the number behind them.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As `prism.lib.select`.

    Notes
    -----
    One pass: each key and value is read once. The call waits as that of `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.unique_by_key(np.array([7, 7, 8, 8, 7]), np.array([3, 1, 4, 1, 5]))
    (array([7, 8, 7]), array([3, 4, 5]))
    """
    return calls.unique_pairs(keys, values, calls.mode_of(count, size, fill_value), stream)


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
    if stream is None and size is None and not count and (known := repeat.run(calls.POSITIONS, x)) is not None:
        return known  # at once: of few elements the host takes the longest
    return calls.find_positions("flatnonzero", x, calls.mode_of(count, size, fill_value), stream)


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
    plainly = stream is None and size is None and not count and getattr(x, "ndim", 0) == 1
    if plainly and (known := repeat.run(calls.POSITIONS, x)) is not None:
        return (known,)
    mode = calls.mode_of(count, size, fill_value)
    shape = calls.shape_of(x, "nonzero")
    if len(shape) > 1:
        return calls.find_indices("nonzero", x, shape, mode, stream)
    found = calls.find_positions("flatnonzero", x, mode, stream)
    return found if isinstance(found, tuple) else (found,)


def argwhere(x: Any, *, count: bool = False, size: int | None = None, fill_value: Any = 0, stream: Any = None) -> Any:
    """Return the indices of the elements that are not zero, a row for each: `numpy.argwhere(x)`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of bools or numbers. NaN is not zero.
    count, size, fill_value, stream
        As for `prism.lib.select`.

    Returns
    -------
    array
        Of int64, with a row for each element and a column for each axis, if there is any; else as of `prism.lib.select`.

    Raises
    ------
    TypeError, OverflowError, ValueError
        As `prism.lib.select`.

    Examples
    --------
    >>> prism.lib.argwhere(np.array([[3, 0], [0, 5]]))
    array([[0, 0],
           [1, 1]])
    """
    x = arguments.array_of(x)
    if not arguments.facts_of(x, "x").shape:  # there are no indices, only how many elements they would be of
        flat = flatnonzero(x, count=count, size=size, fill_value=fill_value, stream=stream)
        return (flat[0][:, None][:, :0], flat[1]) if count else flat[:, None][:, :0]
    shape = calls.shape_of(x, "argwhere")
    return calls.find_indices("argwhere", x, shape, calls.mode_of(count, size, fill_value), stream)


__all__ = [
    "argwhere", "compress", "extract", "flatnonzero", "nonzero", "select", "split", "split3", "unique_by_key",
    "unique_consecutive",
]  # fmt: skip
