"""Positions in the order of several keys, `lexsort`; and complex numbers in theirs, `sort_complex`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments
from prism.host.axes import normal_axis
from prism.host.lazies import LazyArray
from prism.lang.types import SCALARS
from prism.lang.types.structs import scalar_called
from prism.lib.algorithms.sort.api import argsort, sort, sort_by_key
from prism.lib.algorithms.take.api import take, take_along_axis
from prism.lib.algorithms.transform.api import evaluate
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import Lazy, compute, convert, of_number
from prism.runtime.arrays import is_array

_NARROW = 1 << 20
"""From so many elements on it takes longer to move positions of 8 bytes than to convert them."""


def lexsort(keys: Any, axis: int = -1, *, stream: Any = None) -> Any:
    """Return the positions that sort by several keys, the last of them first: `numpy.lexsort`, `cupy.lexsort`.

    Parameters
    ----------
    keys : sequence of arrays, or array of at least one dimension
        Of one shape, each of a dtype of its own that `prism.lib.sort` takes; of NumPy, CuPy or torch, or lazy. Of an array the
        keys are what its first axis counts. The last key is the primary one: those before it order elements that are equal in it.
    axis : int, default -1
        The axis of the keys to sort along.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of int64, of the shape of a key; of NumPy's numbers a scalar. Elements that are equal in all keys keep their order.

    Raises
    ------
    TypeError
        There are no keys; one of them is no array, or of a dtype that is not supported; they are of two libraries.
    ValueError
        They have two shapes; `stream` for arrays on the host. Of an axis that keys do not have: `numpy.exceptions.AxisError`.

    Notes
    -----
    `prism.lib.argsort` of the first key; for each other one `prism.lib.take_along_axis` of it and `prism.lib.sort_by_key`, with
    the positions found so far as values, of 4 bytes where there are many. Nothing waits for a GPU.

    Examples
    --------
    >>> prism.lib.lexsort((np.array([9, 4, 0, 4]), np.array([1, 5, 1, 4])))
    array([2, 0, 3, 1])
    """
    each = _split(keys, stream)
    named = {f"keys[{k}]": key for k, key in enumerate(each)}
    shapes = [info.shape for info in arguments.describe_all(named, {}).values()]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("all keys need to be the same shape")
    if not shapes[0]:  # as NumPy: keys of one element each
        if isinstance(axis, bool) or axis not in (0, -1):
            normal_axis(axis, 0)
        first, *others = (key.reshape(1) for key in each)
        found = _positions([first, *others], 0, stream).reshape(())
        return found[()] if isinstance(found, np.ndarray) else found
    return _positions(each, normal_axis(axis, len(shapes[0])), stream)


def sort_complex(a: Any, *, stream: Any = None) -> Any:
    """Return numbers, as complex ones, sorted along the last axis by real and then by imaginary parts: `numpy.sort_complex`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        Of at least one dimension, of bools or numbers.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the shape of `a`: of complex64 if that is of complex64, or of integers of 8 or 16 bits; else of complex128.

    Raises
    ------
    TypeError
        `a` is no array, or of a dtype that is not supported.
    ValueError
        `a` has no dimensions (`numpy.exceptions.AxisError`); `stream` for arrays on the host.

    Notes
    -----
    `prism.lib.sort`, and of others than complex numbers a kernel that converts. As NumPy has it, numbers without NaN come first,
    then those whose imaginary part is NaN, then those whose real part is, then those of both. Equal ones keep their order.

    Examples
    --------
    >>> prism.lib.sort_complex(np.array([1 + 2j, 2 - 1j, 1 - 2j]))
    array([1.-2.j, 1.+2.j, 2.-1.j])
    >>> prism.lib.sort_complex(np.array([5, 3, 4]))
    array([3.+0.j, 4.+0.j, 5.+0.j])
    """
    if not is_array(a) or isinstance(a, LazyArray):
        arguments.facts_of(a, "a")
        a = evaluate(a, stream=stream) if isinstance(a, LazyArray) else np.asarray(a)
    facts = arguments.facts_of(a, "a")
    normal_axis(-1, len(facts.shape))
    if facts.dtype.kind == "c":
        return sort(a, stream=stream)
    short = facts.dtype.kind in "iu" and facts.dtype.itemsize <= 2
    part, whole = ("float32", "complex64") if short else ("float64", "complex128")

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        real, scalar = convert(arrays["a"], SCALARS[part]), scalar_called(whole)
        assert scalar is not None
        return compute(scalar, scalar, (real, of_number(0.0, SCALARS[part], real.shape)))

    return transform("sort_complex", (), {"a": sort(a, stream=stream)}, compose, None, stream)


def _positions(keys: list[Any], axis: int, stream: Any) -> Any:
    """Return the positions along an axis that sort by keys, the last of them first."""
    narrow = len(keys) > 1 and math.prod(keys[0].shape) >= _NARROW  # positions of 4 bytes, till the end
    found = argsort(keys[0], axis, dtype=np.int32 if narrow else np.int64, stream=stream)
    flat = len(found.shape) == 1
    for key in keys[1:]:
        moved = take(key, found, stream=stream) if flat else take_along_axis(key, found, axis, stream=stream)
        found = sort_by_key(moved, found, axis, stream=stream)[1]
    if not narrow:
        return found
    return transform("lexsort", ("positions",), {"x": found}, lambda x: convert(x["x"], SCALARS["int64"]), None, stream)


def _split(keys: Any, stream: Any) -> list[Any]:
    """Return keys, each as an array that holds its elements.

    Raises:
        TypeError: there are none.
    """
    if isinstance(keys, LazyArray):
        keys = evaluate(keys, stream=stream)
    several = isinstance(keys, list | tuple) or (is_array(keys) and len(keys.shape))
    if not several or not len(keys):
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    return [
        evaluate(key, stream=stream) if isinstance(key, LazyArray) else key if is_array(key) else np.asarray(key)
        for key in (keys[k] for k in range(len(keys)))
    ]


__all__ = ["lexsort", "sort_complex"]
