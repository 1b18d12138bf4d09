"""Segments of arrays, each sorted by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Machine, Plan
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.segments.api import segments_of
from prism.lib.algorithms.select.plan import moved_as
from prism.lib.algorithms.sort_rows import plan as plans
from prism.lib.algorithms.sort_rows.axis import position_type, require_order
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from prism.lib.algorithms.sort_rows.top import segmented_top_k
from prism.runtime.arrays import ArrayInfo, require_axes


def segmented_sort(x: Any, offsets: Any, *, descending: bool = False, out: Any = None, stream: Any = None) -> Any:
    """Return an array of which each segment is sorted.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of one dimension, of bool, an integer type, a float type or a complex type.
    offsets : array
        Of int32 or int64, of `x`'s library and device, rising: where segments begin, and where the last one ends. Segment `s` is
        ``x[offsets[s]:offsets[s + 1]]``, of less than 2^31 - 2^13 elements. What is before the first one, or behind the last,
        stays as it is.
    descending : bool, default False
        From the largest element on; NaN stands last all the same, and equal elements keep their order.
    out : array, optional
        Where to put the result: of the shape and dtype of `x`, C-contiguous. It may be `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        As `x`; `out`, if given.

    Raises
    ------
    TypeError
        `x` or `offsets` is no array, or of a dtype that is not supported; `out` is of another dtype.
    ValueError
        `x` or `offsets` has not one dimension, or `offsets` no element, or more than 2^31; `out` has another shape, or is not
        contiguous; `stream` for arrays on the host.

    Notes
    -----
    The sort is stable, NaN stands last whatever its sign, and -0.0 is equal to 0.0; NaN of several bits stand in the order of
    these. Segments are dealt out by their lengths on the device, so nothing waits for it, and a call can be captured in a CUDA
    graph: those of up to 512 elements are sorted in registers, those that a block holds (16384 elements of 4 bytes) in one, both
    with one read and one write. Longer ones are sorted by all blocks, by tiles and merges of four runs, through scratch memory:
    of integers two times their bytes, of others 16 bytes an element of `x`, 32 of elements of 8 bytes, 48 of complex128.

    Examples
    --------
    >>> prism.lib.segmented_sort(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 5]))
    array([1, 3, 1, 4, 5])
    """
    asked = ("segmented_sort", bool(descending))
    if stream is None and (known := repeat.run(asked, x, out, offsets)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, many = _require(arrays, "segmented_sort")
        if result is not None:
            arguments.require_result(result, given.scalar, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result(given.shape, dtype_of(given.scalar, given)),)
        if not given.size or not many:
            return Decision(results, begins="x")
        kind = Kind(given.scalar, bool(descending))
        return Decision(results, plan=_plan(kind, arrays, many, result, machine, Names()))

    return call("segmented_sort", asked, {"x": x, "offsets": offsets}, decide, out, stream)


def segmented_argsort(
    x: Any, offsets: Any, *, descending: bool = False, dtype: Any = np.int64, out: Any = None, stream: Any = None
) -> Any:
    """Return the positions that sort each segment of an array, from the segment's beginning on.

    Parameters
    ----------
    x, offsets, descending, stream
        As for `prism.lib.segmented_sort`.
    dtype : dtype, default int64
        Of the positions: int64, or int32.
    out : array, optional
        Where to put the result: of `dtype` and the shape of `x`, C-contiguous.

    Returns
    -------
    array
        Of `dtype`, of the shape of `x`; `out`, if given. Elements in no segment have -1.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.segmented_sort`; `dtype` is another.

    Notes
    -----
    As of `prism.lib.segmented_sort`. Of equal elements the one that comes first stands first.

    Examples
    --------
    >>> prism.lib.segmented_argsort(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 5]))
    array([1, 0, 1, 0, 2])
    """
    wanted = position_type(dtype)
    asked = ("segmented_argsort", bool(descending), wanted)
    if stream is None and (known := repeat.run(asked, x, out, offsets)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, many = _require(arrays, "segmented_argsort")
        if result is not None:
            arguments.require_result(result, wanted, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result(given.shape, np.dtype(wanted)),)
        if not given.size or not many:
            return Decision(results, fill=-1)
        kind = Kind(given.scalar, bool(descending), elements=False, places=wanted)
        return Decision(results, plan=_plan(kind, arrays, many, result, machine, Names(places=Buffer(OUT))))

    return call("segmented_argsort", asked, {"x": x, "offsets": offsets}, decide, out, stream)


def segmented_sort_by_key(
    keys: Any, values: Any, offsets: Any, *, descending: bool = False, stream: Any = None
) -> tuple[Any, Any]:
    """Return an array of which each segment is sorted, and values, each where its key goes.

    Parameters
    ----------
    keys : array of NumPy, CuPy or torch
        As `x` of `prism.lib.segmented_sort`.
    values : array
        Of the shape, library and device of `keys`, and of any dtype whose elements have 1, 2, 4, 8 or 16 bytes.
    offsets, descending, stream
        As for `prism.lib.segmented_sort`.

    Returns
    -------
    tuple of arrays
        Sorted keys, and values beside them. What is in no segment stays where it is.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.segmented_sort`; values are of a dtype whose elements have another size; `keys` and `values` have not one
        shape.

    Notes
    -----
    As of `prism.lib.segmented_sort`. Values of equal keys keep their order.

    Examples
    --------
    >>> prism.lib.segmented_sort_by_key(np.array([3, 1, 4, 1]), np.array([5, 6, 7, 8]), np.array([0, 2, 4]))
    (array([1, 3, 1, 4]), array([6, 5, 8, 7]))
    """
    asked = ("segmented_sort_by_key", bool(descending))
    if stream is None and (known := repeat.run_many(asked, (keys, values, offsets, None))) is not None:
        return known[0], known[1]

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        beside = arrays["values"]
        given, many = _require(arrays, "segmented_sort_by_key", "keys")
        moved = moved_as(beside, "values", "segmented_sort_by_key")
        arguments.require_one_shape(given, beside)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (
            Result(given.shape, dtype_of(given.scalar, given)),
            Result(given.shape, dtype_of(beside.scalar, beside)),
        )
        kind = Kind(given.scalar, bool(descending), values=moved)
        plan = _plan(kind, arrays, many, None, machine, Names()) if given.size else None
        return Decision(results, (OUT, plans.MOVED), plan=plan)

    given = {"x": keys, "values": values, "offsets": offsets}
    found = call("segmented_sort_by_key", asked, given, decide, None, stream, called={"x": "keys"})
    return found[0], found[1]


def _require(arrays: Mapping[str, ArrayInfo], function: str, name: str = "x") -> tuple[ArrayInfo, int]:
    """Return the facts of the array, called `name`, and how many segments there are."""
    given = arrays["x"]
    require_axes(given, name, 1)
    require_order(given, name, function)
    return given, segments_of(arrays["offsets"], None)


def _plan(
    kind: Kind, arrays: Mapping[str, ArrayInfo], many: int, result: ArrayInfo | None, machine: Machine, names: Names
) -> Plan:
    given, offsets = arrays["x"], arrays["offsets"]
    aligned = plans.is_aligned(given, result)
    return plans.segments(kind, given.size, many, offsets.scalar, machine, names, aligned=aligned)


__all__ = ["segmented_argsort", "segmented_sort", "segmented_sort_by_key", "segmented_top_k"]
