"""Elements repeated, each so many times: `repeat`, and `run_length_decode`, which undoes `run_length_encode`."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np

from prism.host import arguments
from prism.host import repeat as known_calls
from prism.host.arguments import require_integer
from prism.host.axes import axis_or_whole
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Buffer, Machine, Plan, Step, instance_of, size_of
from prism.kernels import select as kernels
from prism.lib.algorithms.cumulative.api import cumsum
from prism.lib.algorithms.scan.api import dtype_of, past
from prism.lib.algorithms.search.api import searchsorted
from prism.lib.algorithms.select.calls import fill_of, number_in_launch, number_on_host
from prism.lib.algorithms.take.api import take
from prism.lib.algorithms.take.compose import coordinate, take_axis
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy import arange
from prism.lib.lazy.array import INT64, Lazy, broadcast, convert, of
from prism.lib.lazy.places import choose, divide
from prism.runtime.arrays import ArrayInfo, is_array

_THREADS, _VECTORS = 256, 4  # of a block, and of 16 bytes that a thread writes


def repeat(
    a: Any, repeats: Any, axis: Any = None, *, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return each element of an array so many times, one after the other: `numpy.repeat`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of any dtype of 1, 2, 4, 8 or 16 bytes.
    repeats : int, array or lazy array
        How many times each: one number for all, or an array of integers or bools of up to one dimension, of one element or as
        many as there are along the axis. On a GPU less than 0 is taken for 0.
    axis : int, optional
        Along which axis; by default `a` is taken in C order.
    size : int, optional
        How many elements the result has, of counts in an array and without `axis`: what is beyond them is left out, and
        `fill_value` stands behind those that there are.
    fill_value : number, default 0
        See `size`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the dtype of `a`.

    Raises
    ------
    TypeError
        `a` is no array, or of a dtype that is not supported; `repeats` are no integers; `size` is none.
    ValueError
        A number is negative, where the host has it; `repeats` has another number of dimensions or elements; `size` is negative,
        or given with `axis` or one number for all; `stream` for arrays on the host. Of an axis that `a` does not have:
        `numpy.exceptions.AxisError`.
    OverflowError
        `fill_value` is out of the range of the dtype.

    Notes
    -----
    Of counts in an array on a GPU the call waits until their sum is known, unless `size` says how many elements there are: then
    it can be captured in a CUDA graph. Each element is written once, by vectors.

    Examples
    --------
    >>> prism.lib.repeat(np.array([3, 1, 4]), np.array([2, 0, 3]))
    array([3, 3, 4, 4, 4])
    >>> prism.lib.repeat(np.array([[3, 1], [4, 1]]), 2, axis=1)
    array([[3, 3, 1, 1],
           [4, 4, 1, 1]])
    """
    a, repeats = arguments.array_of(a), arguments.array_of(repeats)
    facts = arguments.facts_of(a, "a")
    along = axis_or_whole(axis, len(facts.shape))
    many = int(np.prod(facts.shape)) if along is None else facts.shape[along]
    if not is_array(repeats) and not isinstance(repeats, LazyArray):
        if size is not None:
            raise ValueError("`size` is for `repeats` in an array: of one number the result's size is known")
        return _all(a, _times(repeats), along, stream)
    counts = arguments.facts_of(repeats, "repeats")
    if not np.can_cast(counts.dtype, np.int64, "safe"):
        raise TypeError(f"`repeats` must be integers that int64 has, not of {counts.scalar}")
    if not counts.shape:
        repeats = broadcast(of(repeats, "repeats"), (1,)) if isinstance(repeats, LazyArray) else repeats.reshape(1)
        counts = arguments.facts_of(repeats, "repeats")
    if len(counts.shape) != 1 or counts.shape[0] not in (1, many):
        raise ValueError(f"`repeats` must have one dimension, and 1 or {many} elements, not shape {counts.shape}")
    if isinstance(repeats, np.ndarray) and repeats.size and int(repeats.min()) < 0:
        raise ValueError("repeats may not contain negative values.")
    if size is not None:
        size = _size(size, along)
    if not many:
        one = _all(a, 0, along, stream)
        return one if size is None else _fixed(a, repeats, many, size, fill_value, stream)
    ends = cumsum(_at_least_none(of(repeats, "repeats"), many), stream=stream)
    if along is None:
        total = number_on_host(ends[-1:], stream) if size is None else size
        return _runs(a, ends, total, fill_value, stream, fills=size is not None)
    total = number_on_host(ends[-1:], stream)
    places = _runs(arange(many), ends, total, 0, stream, fills=False)
    return take(a, places, along, stream=stream, mode="clip")


def run_length_decode(
    values: Any, lengths: Any, *, size: int | None = None, fill_value: Any = 0, stream: Any = None
) -> Any:
    """Return the runs that values and their lengths say: what `prism.lib.run_length_encode` was given.

    It is `prism.lib.repeat` of arrays of one size: its arguments, results and errors are.

    Examples
    --------
    >>> prism.lib.run_length_decode(np.array([7, 8, 7]), np.array([2, 2, 1]))
    array([7, 7, 8, 8, 7])
    """
    return repeat(values, lengths, size=size, fill_value=fill_value, stream=stream)


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _times(repeats: Any) -> int:
    try:
        times = index(repeats)
    except TypeError:
        raise TypeError(f"`repeats` must be integers, not {type(repeats).__name__}") from None
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    return times


def _size(size: Any, along: int | None) -> int:
    if along is not None:
        raise ValueError("`size` is for arrays in C order, without `axis`")
    found = require_integer(size, "size")
    if found < 0:
        raise ValueError(f"`size` must not be negative: {size}")
    return found


def _at_least_none(counts: Lazy, many: int) -> Lazy:
    """Return counts as int64, one for each element, and 0 for what is negative."""
    found = convert(broadcast(counts, (many,)), INT64)
    return found if counts.scalar.kind == "uint" else choose(found > 0, found, broadcast(of(0), (many,)))


# -- Plans ----------------------------------------------------------------------------------------------------------------


def _all(a: Any, times: int, along: int | None, stream: Any) -> Any:
    """Return each element as many times, or each part along an axis."""

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        x = arrays["a"]
        if along is None:
            x = Lazy(x.value, x.scalar, (x.size,), x.leaves, x.numbers)
        extent = x.shape[along or 0] * times
        places = divide(coordinate((extent,), 0), max(times, 1))
        return take_axis(x, places, along or 0, "clip")

    return transform("repeat", (times, along), {"a": a}, compose, None, stream)


def _fixed(a: Any, ends: Any, many: int, size: int, fill_value: Any, stream: Any) -> Any:
    """Return a result of which nothing is there but what is filled in."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        return Decision((Result((size,), dtype_of(given.scalar, given)),), fill=fill_of(fill_value, given))

    return call("repeat", ("repeat", "nothing", size, arguments.exactly(fill_value)), {"x": a}, decide, None, stream)


def _runs(a: Any, ends: Any, total: int, fill_value: Any, stream: Any, *, fills: bool) -> Any:
    """Return the elements of runs that end where `ends` says, `total` of them."""
    size = arguments.facts_of(a, "a").dtype.itemsize
    width = 16 // size if size <= 16 and 16 % size == 0 else 1
    tile = _THREADS * width * _VECTORS
    tiles = -(-total // tile)
    starts = searchsorted(ends, arange(0, (tiles + 1) * tile, tile), side="right", stream=stream)
    asked = ("repeat", total, arguments.exactly(fill_value) if fills else None)
    if stream is None and (known := known_calls.run_many(asked, (a, ends, starts, None))) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        try:
            size_of(given.scalar)
        except TypeError:
            raise TypeError(f"`a` has dtype {given.dtype}, which is not supported") from None
        moved = "uint8" if given.scalar == "bool" else given.scalar
        value = fill_of(fill_value if fills else 0, given)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result((total,), dtype_of(given.scalar, given)),)
        if not total:
            return Decision(results)
        template = {
            "T": moved, "TI": moved, "I": "int32" if given.size < 1 << 31 else "int64", "THREADS": _THREADS,
            "ITEMS": width * _VECTORS, "WIDTH": width,
        }  # fmt: skip
        numbers = {
            "n": given.size, "m": total, "y_aligned": not machine.host and past(result) == 0,
            "otherwise": number_in_launch(value, moved),
        }  # fmt: skip
        arrays_of = {"x": Buffer("x"), "ends": Buffer("ends"), "runs": Buffer("runs"), "y": Buffer(OUT)}
        step = Step(instance_of(kernels.repeat, template), tiles, _THREADS, {**arrays_of, **numbers})
        return Decision(results, plan=Plan((step,)))

    return call("repeat", asked, {"x": a, "ends": ends, "runs": starts}, decide, None, stream, called={"x": "a"})


__all__ = ["repeat", "run_length_decode"]
