"""Positions in the order of several keys: `lexsort`."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host import arguments
from prism.host.axes import normal_axis
from prism.host.lazies import LazyArray
from prism.lib.algorithms.sort.api import argsort, sort_by_key
from prism.lib.algorithms.take.api import take, take_along_axis
from prism.lib.algorithms.transform.api import evaluate
from prism.runtime.arrays import is_array


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
    the positions found so far as values. Nothing waits for a GPU.

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


def _positions(keys: list[Any], axis: int, stream: Any) -> Any:
    """Return the positions along an axis that sort by keys, the last of them first."""
    found = argsort(keys[0], axis, stream=stream)
    flat = len(found.shape) == 1
    for key in keys[1:]:
        moved = take(key, found, stream=stream) if flat else take_along_axis(key, found, axis, stream=stream)
        found = sort_by_key(moved, found, axis, stream=stream)[1]
    return found


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


__all__ = ["lexsort"]
