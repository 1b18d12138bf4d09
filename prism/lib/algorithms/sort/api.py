"""Sorts, with NumPy's signatures and errors: always stable."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments
from prism.host.lazies import LazyArray, Sink
from prism.lib.algorithms.sort import merging
from prism.lib.algorithms.sort.fields import comparator_of_fields, has_fields
from prism.lib.algorithms.sort.merging import array_along
from prism.lib.algorithms.sort.orders import (
    Order,
    argsort_keyed,
    order_of,
    sort_keyed,
    sort_pairs_keyed,
    without_comparator,
)
from prism.lib.algorithms.sort_rows.axis import argsort_along, sort_along
from prism.lib.algorithms.sort_rows.pairs import assign_pairs, results_of, sort_by_key_along
from prism.lib.lazy.array import Lazy, broadcast
from prism.runtime.arrays import is_array

_KINDS = ("quicksort", "mergesort", "heapsort", "stable", "q", "m", "h", "s")


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    key: Any = None,
    bits: Any = None,
    less: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return a sorted copy of an array, as `numpy.sort` and `cupy.sort` do.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        Of bool, an integer, float or complex type, or of structs of 1, 2, 4, 8 or 16 bytes.
    axis : int, optional
        The axis to sort along; by default the last one. None: all elements, in C order.
    kind, stable : optional
        As NumPy takes them: every sort is stable, and the same.
    order : str or sequence of str, optional
        Of structs: the fields that are compared first, before the others in their order, as NumPy has it. It goes without `key`,
        `bits` and `less`.
    descending : bool, default False
        From the largest element, or key, on. NaN stands last all the same, and equal elements keep their order.
    key : device function or lambda, optional
        By what elements are sorted: a function of one, as of `prism.lib.lazy.map`, that returns an unsigned integer.
    bits : (int, int), optional
        Only these bits of keys, or of elements that are unsigned integers, decide, from the first to before the second: fewer
        passes.
    less : device function or lambda, optional
        Whether one element stands before another, a strict weak order: then elements are sorted by merging, unless it compares
        what it makes of each alone, as `lambda a, b: a.day % 7 < b.day % 7`, which is an order by a key. Numbers that a lambda
        names outside are constants of the kernels. It goes without `key`, `bits` and `descending`.
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
        `a` or `out` is no array, or of a dtype that is not supported; one of them is on the host and the other on a GPU; `key` or
        `less` is no such function, or gives something else; `bits` is of elements, or keys, that are no unsigned integers; `less`
        or `order` is given with what it goes without.
    ValueError
        `kind` is none that NumPy knows, or both it and `stable` are given; `a` has no fields of `order`, or no such `axis`
        (`numpy.exceptions.AxisError`); `bits` are not there; `out` has another shape, is read-only, or is on another GPU;
        `stream` for arrays on the host.
    CompileError
        `key` or `less` has what Prism does not have, or does not take such elements.

    Notes
    -----
    NaN stands last whatever its sign, and -0.0 is equal to 0.0; NaN of several bits stand in the order of these. A row that a
    block or a cluster holds (up to 2^17 elements of 4 bytes) is read once and written once. A longer one is sorted by digits
    of 8 bits: a read counts them, and each digit takes a read and a write, but where all elements share it. Scratch: as many
    elements again, also where `out` is `a`: then an even number of passes moves them, which may be one more. Numbers of 8 or 16
    bits are counted instead, and written as often as they occur, where they are many. Of one byte, of float16 and bfloat16, and
    of rows that a block or a cluster holds, the result is made beside `a`, and copied.

    Along another axis than the last one of an array in C order, a launch brings the rows side by side, and one brings the result
    back: as many elements again, twice, of scratch.

    With `key`, and `bits` where that moves less, one launch writes the keys, and elements of up to 8 bytes are moved with them,
    in long rows by keys of 8 bytes twice, with half of the key; larger ones are taken once by their positions. Else passes with
    `bits` are over the elements themselves, one for each byte that has some of them. With `less`, and of structs, elements are
    sorted by merging: of several rows all at once, and then by their rows. So are rows of complex numbers that no block holds.
    From 2^23 elements of up to 4 bytes on, or 2^22 of 8, samples part them first, for a byte an element more of scratch.

    Source: Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs".

    Examples
    --------
    >>> prism.lib.sort(np.array([3, 1, 2]))
    array([1, 2, 3])
    >>> prism.lib.sort(np.array([[3, 1], [2, 4]]), axis=0, descending=True)
    array([[3, 4],
           [2, 1]])
    >>> prism.lib.sort(np.array([31, 14, 15, 92]), key=lambda x: prism.lang.uint32(x % 10))
    array([31, 92, 14, 15])
    """
    plainly = key is None and bits is None and less is None and order is None and kind is None
    if plainly and axis is not None and not isinstance(out, Sink) and not _may_merge(a):
        return sort_along(a, axis, descending=bool(descending), out=out, stream=stream)
    _check(kind, stable)
    by = order_of(key, bits, less, descending)
    if isinstance(out, Sink):
        how = {"descending": descending, "key": key, "bits": bits, "less": less}
        out.write(sort(a, axis, order=order, **how, stream=stream), stream)
        return out
    if axis is not None and by.plain and order is None and not _may_merge(a):
        return sort_along(a, axis, descending=by.descending, out=out, stream=stream)
    if by.keyed and order is None:
        return sort_keyed(a, by, axis, out, stream)
    a, axis = array_along(a, axis, "a", stream)
    by = _by_fields(by, a, order, "a")
    if by.keyed:
        return sort_keyed(a, by, axis, out, stream)
    if by.less is not None:
        return merging.sort_merged(a, axis, by.less, by.descending, out, stream)
    return sort_along(a, axis, descending=by.descending, out=out, stream=stream)


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    key: Any = None,
    bits: Any = None,
    less: Any = None,
    dtype: Any = np.int64,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the positions that sort an array, as `numpy.argsort` and `cupy.argsort` do: of equal elements in their order.

    Parameters
    ----------
    a, axis, kind, order, stable, descending, key, bits, less, stream
        As of `prism.lib.sort`.
    dtype : dtype, default int64
        Of the positions: int64 or int32.
    out : array, optional
        Where to put the result: of the shape of `a`, and of `dtype`.

    Returns
    -------
    array
        `out`, if given; else a new array. Of an array of no dimensions it has one element, as NumPy's.

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
    plainly = key is None and bits is None and less is None and order is None and kind is None
    if plainly and axis is not None and not isinstance(out, Sink) and not _may_merge(a) and getattr(a, "ndim", None):
        return argsort_along(a, axis, descending=bool(descending), dtype=dtype, out=out, stream=stream)
    _check(kind, stable)
    by = order_of(key, bits, less, descending)
    if getattr(a, "shape", None) == () and axis in (None, 0, -1) and is_array(a):
        a = broadcast(a, (1,)) if isinstance(a, Lazy) else a.reshape(1)
    if isinstance(out, Sink):
        how = {"descending": descending, "key": key, "bits": bits, "less": less, "dtype": dtype}
        out.write(argsort(a, axis, order=order, **how, stream=stream), stream)
        return out
    if axis is not None and by.plain and order is None and not _may_merge(a):
        return argsort_along(a, axis, descending=by.descending, dtype=dtype, out=out, stream=stream)
    if by.keyed and order is None:
        return argsort_keyed(a, by, axis, dtype, out, stream)
    a, axis = array_along(a, axis, "a", stream)
    by = _by_fields(by, a, order, "a")
    if by.keyed:
        return argsort_keyed(a, by, axis, dtype, out, stream)
    if by.less is not None:
        return merging.argsort_merged(a, axis, by.less, by.descending, dtype, out, stream)
    return argsort_along(a, axis, descending=by.descending, dtype=dtype, out=out, stream=stream)


def sort_by_key(
    keys: Any,
    values: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    key: Any = None,
    bits: Any = None,
    less: Any = None,
    out: Any = None,
    stream: Any = None,
) -> tuple[Any, Any]:
    """Return keys in their order, and values, each where its key goes; those of equal keys keep their order.

    Parameters
    ----------
    keys : array of NumPy, CuPy or torch, or lazy array
        As `a` of `prism.lib.sort`.
    values : array or lazy array
        Of the shape, library and device of `keys`, and of any dtype whose elements have 1, 2, 4, 8 or 16 bytes. Lazy numbers
        along the last axis are computed where the first pass reads them.
    axis, descending, key, bits, less, stream
        As of `prism.lib.sort`, of `keys`.
    out : pair of arrays, optional
        Where to put the results: each of its dtype and shape, strides included, or None where one is to be made. They may be
        `keys` and `values`.

    Returns
    -------
    tuple of arrays
        Sorted keys, and values beside them: those of `out`, where they are given.

    Raises
    ------
    TypeError
        `keys` or `values` is no array, or of a dtype that is not supported; they are not of one library, and in one place; `out`
        is no pair, or of other dtypes; and as `prism.lib.sort`.
    ValueError
        `keys` and `values` have not one shape; there is no such `axis` (`numpy.exceptions.AxisError`); `out` has another shape,
        or its arrays share memory; and as `prism.lib.sort`.

    Notes
    -----
    Values of up to 8 bytes are moved with their keys, and so are those of 16 in rows of up to 4096 elements; in longer rows they
    are taken once, by their positions. Scratch: as many keys and values again, also where `out` is what is sorted and an even
    number of passes can move it (see `prism.lib.sort`); of 2^24 float32 and more, with values of 4 bytes, twice as much.

    Examples
    --------
    >>> prism.lib.sort_by_key(np.array([2, 1, 2]), np.array([10.0, 20.0, 30.0]))
    (array([1, 2, 2]), array([20., 10., 30.]))
    """
    by = order_of(key, bits, less, descending)
    targets = _pair(out)
    if axis is not None and by.plain and not _may_merge(keys) and (_is_read(values, axis) or not _may_merge(values)):
        return sort_by_key_along(keys, values, axis, descending=by.descending, out=targets, stream=stream)
    keys, place = array_along(keys, axis, "keys", stream)
    values, _ = array_along(values, axis, "values", stream)
    by = _by_fields(by, keys, None, "keys")
    infos = arguments.describe_all({"keys": keys, "values": values}, {})
    first, second = infos.values()
    arguments.require_one_shape(first, second)
    if any(target is not None for target in targets):
        results_of(targets, infos)
    if by.keyed or by.less is None:
        return sort_pairs_keyed(keys, values, by, place, targets, stream)
    found = merging.sort_pairs_merged(keys, values, place, by.less, by.descending, stream)
    return assign_pairs(targets, found, first, stream)


def _pair(out: Any) -> tuple[Any, Any]:
    """Return where both results of `sort_by_key` are to be put.

    Raises:
        TypeError: `out` is no pair.
    """
    if out is None:
        return None, None
    if not isinstance(out, tuple | list) or len(out) != 2:
        raise TypeError(f"`out` must be two arrays, for keys and for values, not {type(out).__name__}")
    return out[0], out[1]


def _check(kind: Any, stable: Any) -> None:
    """Check what NumPy's sorts take beside the array.

    Raises:
        TypeError: `kind` is no string.
        ValueError: it is none that NumPy knows, or given beside `stable`.
    """
    if kind is None:
        return
    if not isinstance(kind, str):
        raise TypeError(f"`kind` must be a string, not {type(kind).__name__}")
    if stable is not None:
        raise ValueError("`kind` and `stable` say the same: pass one of them")
    if kind.lower() not in _KINDS:
        raise ValueError(f"`kind` must be one of 'quicksort', 'mergesort', 'heapsort' and 'stable', not {kind!r}")


def _by_fields(by: Order, x: Any, order: Any, name: str) -> Order:
    """Return an order, of structs that have none given that of their fields; without a comparator that keys say as well.

    Raises:
        TypeError: `order` goes with nothing else; elements have a size that kernels do not move.
        ValueError: there are no such fields.
    """
    if not by.plain:
        if order is not None:
            raise TypeError("`order` is that of fields: it goes without `key`, `bits` and `less`")
        facts = arguments.facts_of(x, name)
        return without_comparator(by, facts.scalar, facts)
    less = comparator_of_fields(arguments.facts_of(x, name), order, by.descending, name)
    return by if less is None else replace(by, less=less, descending=False)


def _may_merge(x: Any) -> bool:
    """Whether something may be sorted, or moved, otherwise than by digits or blocks: it is no array, or of large elements."""
    dtype = getattr(x, "dtype", None)
    return dtype is None or isinstance(x, LazyArray) or _is_merged(dtype)


@functools.lru_cache(maxsize=1024)
def _is_merged(dtype: Any) -> bool:
    if has_fields(dtype):
        return True
    if not hasattr(dtype, "kind"):  # torch's
        return bool(dtype.is_complex)
    return bool(dtype.itemsize > 8 or dtype.kind == "c")


def _is_read(values: Any, axis: int) -> bool:
    """Whether values are lazy, and computed where they are read: along the last axis, of up to 8 bytes."""
    return isinstance(values, LazyArray) and axis in (-1, len(values.shape) - 1) and values.scalar.bytes <= 8
