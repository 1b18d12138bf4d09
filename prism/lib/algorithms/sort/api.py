"""Sorts, with NumPy's signatures and errors: always stable."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host import arguments
from prism.lib.algorithms.sort_rows.axis import argsort_along, sort_along, sort_by_key_along
from prism.lib.algorithms.transform.api import evaluate

_KINDS = ("quicksort", "mergesort", "heapsort", "stable", "q", "m", "h", "s")


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return a sorted copy of an array, as `numpy.sort` and `cupy.sort` do.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch
        Of bool, an integer type, a float type or a complex type.
    axis : int, optional
        The axis to sort along; by default the last one. None: all elements, in C order.
    kind, stable : optional
        As NumPy takes them: every sort is stable, and the same.
    order : None
        Only None: structs have no order.
    descending : bool, default False
        From the largest element on. NaN stands last all the same, and equal elements keep their order.
    out : array, optional
        Where to put the result: of its shape and dtype, strides included; of `a`'s library, and on its device. It may be `a`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        `out`, if given; else a new array, of the dtype of `a`.

    Raises
    ------
    TypeError
        `a` or `out` is no array, or of a dtype that is not supported; one of them is on the host and the other on a GPU.
    ValueError
        `kind` is none that NumPy knows, or both it and `stable` are given; `order` is given; `a` has no such `axis`
        (`numpy.exceptions.AxisError`); `out` has another shape, is read-only, or is on another GPU; `stream` for arrays on the
        host.

    Notes
    -----
    NaN stands last whatever its sign, and -0.0 is equal to 0.0; NaN of several bits stand in the order of these. A row that a
    block holds (16384 elements of 4 bytes) is read once and written once. A longer one is sorted by digits of 8 bits: a read
    counts them, and each digit takes a read and a write, but where all elements share it. Scratch: as many elements again.

    Source: Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".

    Examples
    --------
    >>> prism.lib.sort(np.array([3, 1, 2]))
    array([1, 2, 3])
    >>> prism.lib.sort(np.array([[3, 1], [2, 4]]), axis=0, descending=True)
    array([[3, 4],
           [2, 1]])
    """
    _check(kind, order, stable)
    if axis is None:
        a, axis = flatten(a, "a", stream), -1
    return sort_along(a, axis, descending=bool(descending), out=out, stream=stream)


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    dtype: Any = np.int64,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the positions that sort an array, as `numpy.argsort` and `cupy.argsort` do: of equal elements in their order.

    Parameters
    ----------
    a, axis, kind, order, stable, descending, stream
        As of `prism.lib.sort`.
    dtype : dtype, default int64
        Of the positions: int64 or int32.
    out : array, optional
        Where to put the result: of the shape of `a`, and of `dtype`.

    Returns
    -------
    array
        `out`, if given; else a new array.

    Raises
    ------
    TypeError
        `dtype` is neither int64 nor int32; and as `prism.lib.sort`.
    ValueError
        As `prism.lib.sort`.

    Notes
    -----
    All NaN are equal. No array of positions is read: the first pass over a long row makes them. Scratch: two times as many keys,
    and as many positions of 4 bytes.

    Examples
    --------
    >>> prism.lib.argsort(np.array([3.0, np.nan, 1.0, 3.0]))
    array([2, 0, 3, 1])
    """
    _check(kind, order, stable)
    if axis is None:
        a, axis = flatten(a, "a", stream), -1
    return argsort_along(a, axis, descending=bool(descending), dtype=dtype, out=out, stream=stream)


def sort_by_key(
    keys: Any, values: Any, axis: int | None = -1, *, descending: bool = False, stream: Any = None
) -> tuple[Any, Any]:
    """Return keys in their order, and values, each where its key goes; those of equal keys keep their order.

    Parameters
    ----------
    keys : array of NumPy, CuPy or torch
        As `a` of `prism.lib.sort`.
    values : array
        Of the shape, library and device of `keys`, and of any dtype whose elements have 1, 2, 4, 8 or 16 bytes.
    axis, descending, stream
        As of `prism.lib.sort`.

    Returns
    -------
    tuple of arrays
        Sorted keys, and values beside them.

    Raises
    ------
    TypeError
        `keys` or `values` is no array, or of a dtype that is not supported; they are not of one library, and in one place.
    ValueError
        `keys` and `values` have not one shape; there is no such `axis` (`numpy.exceptions.AxisError`).

    Examples
    --------
    >>> prism.lib.sort_by_key(np.array([2, 1, 2]), np.array([10.0, 20.0, 30.0]))
    (array([1, 2, 2]), array([20., 10., 30.]))
    """
    if axis is None:
        keys, values, axis = flatten(keys, "keys", stream), flatten(values, "values", stream), -1
    return tuple(sort_by_key_along(keys, values, axis, descending=bool(descending), stream=stream))


def _check(kind: Any, order: Any, stable: Any) -> None:
    """Check what NumPy's sorts take beside the array.

    Raises:
        TypeError: `kind` is no string.
        ValueError: it is none that NumPy knows, or given beside `stable`; there is an `order`.
    """
    if order is not None:
        raise ValueError("`order` names fields, and structs have no order here: sort by a key of them")
    if kind is None:
        return
    if not isinstance(kind, str):
        raise TypeError(f"`kind` must be a string, not {type(kind).__name__}")
    if stable is not None:
        raise ValueError("`kind` and `stable` say the same: pass one of them")
    if kind.lower() not in _KINDS:
        raise ValueError(f"`kind` must be one of 'quicksort', 'mergesort', 'heapsort' and 'stable', not {kind!r}")


def flatten(x: Any, name: str, stream: Any) -> Any:
    """Return an array as one dimension; with gaps, or in another order than C's, a copy."""
    x = arguments.array_of(x)
    if not arguments.facts_of(x, name).contiguous:
        x = evaluate(x, stream=stream)  # and not by its library, which would copy on its current stream
    return x.reshape(-1)
