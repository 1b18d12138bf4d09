"""Elements at indices, along an axis or in C order: `take` and `take_along_axis`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.axes import axis_or_whole, normal_axis
from prism.host.lazies import LazyArray
from prism.host.plan import Machine, Step
from prism.lib.algorithms.take import plan
from prism.lib.algorithms.take.compose import MODES, take_along, take_axis
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import Lazy, of_number
from prism.runtime.arrays import ArrayInfo, is_array


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise", *, stream: Any = None) -> Any:
    """Return the elements of an array at indices along an axis: `numpy.take`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        Of any shape and dtype that kernels have; structs of 1, 2, 4, 8 or 16 bytes.
    indices : array, lazy array or integer
        Of integers, of any shape, of the library and device of `a`. A negative one counts from the end.
    axis : int, optional
        Along which axis; by default `a` is taken in C order.
    out : array, optional
        Where to put the result: of its shape and dtype, with any strides. It may overlap `a` and `indices`.
    mode : {"raise", "wrap", "clip"}, default "raise"
        What becomes of an index that is out of range: an error, or the rest of a division by the extent, or the nearest one; with
        "clip" negative ones become 0. On a GPU, and of lazy indices, nothing can be raised: there "raise" is "wrap", as CuPy's.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the dtype of `a`: the shape of `indices` stands where the axis was. `out`, if given.

    Raises
    ------
    TypeError
        `a` or `indices` is no array, `indices` are no integers, they are of two libraries; `out` is of another dtype.
    IndexError
        An index of NumPy arrays is out of range, with "raise"; there is none in range.
    ValueError
        `mode` is another; `out` has another shape; `stream` for arrays on the host. Of an axis that `a` does not have:
        `numpy.exceptions.AxisError`.

    Examples
    --------
    >>> prism.lib.take(np.array([3, 1, 4, 1, 5]), np.array([4, 0, -1]))
    array([5, 3, 5])
    >>> prism.lib.take(np.array([[3, 1, 4], [1, 5, 9]]), np.array([2, 0]), axis=1)
    array([[4, 3],
           [9, 1]])
    """
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {', '.join(MODES)}, not {mode!r}")
    if stream is None and (known := repeat.run_many(("take", axis, mode, None), (a, indices, out))) is not None:
        return known
    indices = arguments.array_of(indices)
    return _take_anew(a, indices, axis, out, mode, stream)


def _take_anew(a: Any, indices: Any, axis: Any, out: Any, mode: str, stream: Any) -> Any:
    """Do what `take` does where no earlier call was like it."""
    given = {"a": a, **({"indices": indices} if is_array(indices) or isinstance(indices, LazyArray) else {})}
    if "indices" not in given:
        _number_of(indices)
    shape = arguments.facts_of(a, "a").shape
    along = axis_or_whole(axis, len(shape))
    extent = int(np.prod(shape)) if along is None else shape[along]
    require_indices(indices, extent, mode, along)

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        x = arrays["a"]
        places = arrays["indices"] if "indices" in arrays else of_number(int(indices))
        if along is None:
            x = Lazy(x.value, x.scalar, (x.size,), x.leaves, x.numbers)
        return take_axis(x, places, along or 0, mode)

    def own(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Sequence[Step] | None:
        return None if mode == "clip" else plan.take_flat(infos, result, machine, along)

    asked = (axis, type(axis), mode, None if "indices" in given else int(indices))
    return transform("take", asked, given, compose, out, stream, own=own)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1, *, out: Any = None, stream: Any = None) -> Any:
    """Return the elements of an array at indices along an axis, each beside the others: `numpy.take_along_axis`.

    Parameters
    ----------
    arr : array of NumPy, CuPy or torch, or lazy array
        As for `prism.lib.take`.
    indices : array or lazy array
        Of integers, of the library and device of `arr`, and of as many dimensions; but for the axis shapes broadcast.
    axis : int or None, default -1
        Along which axis; None: `arr` is taken in C order, and `indices` has one dimension.
    out, stream
        As for `prism.lib.take`.

    Returns
    -------
    array
        Of the dtype of `arr`; `out`, if given.

    Raises
    ------
    TypeError
        As `prism.lib.take`.
    IndexError
        `indices` are no integers; an index of NumPy arrays is out of range. On a GPU such indices wrap.
    ValueError
        `indices` has another number of dimensions, or does not broadcast; else as `prism.lib.take`.

    Examples
    --------
    >>> x = np.array([[3, 1, 4], [1, 5, 9]])
    >>> prism.lib.take_along_axis(x, np.array([[2], [0]]), axis=1)
    array([[4],
           [1]])
    """
    if (
        stream is None
        and (known := repeat.run_many(("take_along_axis", axis, type(axis)), (arr, indices, out))) is not None
    ):
        return known
    indices = arguments.array_of(indices)
    return _take_along_axis_anew(arr, indices, axis, out, stream)


def _take_along_axis_anew(arr: Any, indices: Any, axis: Any, out: Any, stream: Any) -> Any:
    """Do what `take_along_axis` does where no earlier call was like it."""
    facts, places = arguments.facts_of(arr, "arr"), arguments.facts_of(indices, "indices")
    shape = facts.shape if axis is not None else (int(np.prod(facts.shape)),)
    if np.dtype(places.dtype).kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if len(places.shape) != len(shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    along = 0 if axis is None else normal_axis(axis, len(shape))
    require_indices(indices, shape[along], "raise", along)

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        x = arrays["arr"]
        return take_along(Lazy(x.value, x.scalar, shape, x.leaves, x.numbers), arrays["indices"], along)

    return transform("take_along_axis", (axis, type(axis)), {"arr": arr, "indices": indices}, compose, out, stream)


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _number_of(index: Any) -> int:
    if isinstance(index, bool) or not isinstance(index, int | np.integer):
        raise TypeError(f"`indices` must be integers, not {type(index).__name__}")
    return int(index)


def require_indices(indices: Any, extent: int, mode: str, axis: int | None) -> None:
    """Check indices: their dtype, and of NumPy's arrays their range.

    Raises:
        TypeError: they are no integers.
        IndexError: one is out of range, with "raise"; none can be in range.
    """
    if is_array(indices) or isinstance(indices, LazyArray):
        facts = arguments.facts_of(indices, "indices")
        if np.dtype(facts.dtype).kind not in "iu":
            raise TypeError(f"`indices` must be of integers, not of {facts.scalar}")
        size = int(np.prod(facts.shape))
        look = facts.owner if isinstance(indices, np.ndarray) else None
    else:
        size, look = 1, np.array(_number_of(indices))
    if size and not extent:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "raise" and look is not None and size:
        low, high = int(look.min()), int(look.max())
        if low < -extent or high >= extent:
            bad = low if low < -extent else high
            where = f"axis {axis} with size {extent}" if axis is not None else f"size {extent}"
            raise IndexError(f"index {bad} is out of bounds for {where}")


__all__ = ["require_indices", "take", "take_along_axis"]
