"""Where the smallest or largest element of each segment is: elements are reduced with their positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray, LazyInfo
from prism.host.plan import OUT, Machine, Plan, Scratch, move_steps
from prism.kernels.reduce.pairs import larger_or_first, position_of, smaller_or_first
from prism.lang.types import SCALARS
from prism.lib.algorithms.scan import api as scans
from prism.lib.algorithms.segments import api as segments_api
from prism.lib.algorithms.transform import api as transforms
from prism.lib.algorithms.transform.calls import bind_steps, stand_in
from prism.lib.lazy import zip as zip_lazily
from prism.lib.lazy.array import Lazy, at, broadcast, convert, of, of_number
from prism.lib.lazy.functions import apply
from prism.lib.lazy.places import choose, positions
from prism.lib.operators import Operator
from prism.runtime.arrays import ArrayInfo, describe, require_axes

_CALLED = scans.Called("segmented_reduce", "x")
_NOWHERE = (0, -1)  # a value, and a position that is none


LARGEST = Operator(larger_or_first, identity=_NOWHERE, name="argmax", commutative=True)
SMALLEST = Operator(smaller_or_first, identity=_NOWHERE, name="argmin", commutative=True)


def segmented_argmin(x: Any, offsets: Any, *, ends: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Return where the smallest element of each segment is, from the segment's beginning on; -1 of an empty one.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of one dimension, of bools, integers or floats. Of equal elements the first counts, and NaN as smaller than all others.
    offsets, ends, stream
        As for `prism.lib.segmented_reduce`.
    out : array of int64, optional
        Where to put the result: one element a segment.

    Returns
    -------
    array
        Of int64, one element a segment; `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.segmented_reduce`; `x` is complex.

    Notes
    -----
    Two kernels: `prism.lib.segmented_reduce` of elements with their positions, and one that takes the positions. A lazy array is
    evaluated first.

    Examples
    --------
    >>> prism.lib.segmented_argmin(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5]))
    array([ 1, -1,  1])
    """
    return find_in_segments("segmented_argmin", x, offsets, ends, SMALLEST, out, stream)


def segmented_argmax(x: Any, offsets: Any, *, ends: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Return where the largest element of each segment is, from the segment's beginning on; -1 of an empty one.

    NaN counts as larger than all others; the rest is as of `prism.lib.segmented_argmin`.

    Examples
    --------
    >>> prism.lib.segmented_argmax(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5]))
    array([ 0, -1,  2])
    """
    return find_in_segments("segmented_argmax", x, offsets, ends, LARGEST, out, stream)


def find_in_segments(function: str, x: Any, offsets: Any, ends: Any, op: Operator, out: Any, stream: Any) -> Any:
    """Return where in its segment, from its beginning on, the best element of each is; -1 of empty ones."""
    taken = (x, offsets, out) if ends is None else (x, offsets, ends, out)
    if isinstance(x, LazyArray) or isinstance(offsets, LazyArray) or isinstance(ends, LazyArray):
        x, offsets, ends = (
            transforms.evaluate(one, stream=stream) if isinstance(one, LazyArray) else one for one in (x, offsets, ends)
        )
        return find_in_segments(function, x, offsets, ends, op, out, stream)
    if stream is None and (known := repeat.run_many((function,), taken)) is not None:
        return known
    return _find_in_segments_anew(function, x, offsets, ends, op, out, stream)


def _find_in_segments_anew(function: str, x: Any, offsets: Any, ends: Any, op: Operator, out: Any, stream: Any) -> Any:
    """Do what `find_in_segments` does where no earlier call was like it."""
    bounds = {"offsets": offsets} if ends is None else {"offsets": offsets, "ends": ends}

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, starts, stops = arrays["x"], arrays["offsets"], arrays.get("ends")
        require_axes(given, "x", 1)
        segments = segments_api.segments_of(starts, stops)
        if given.dtype.kind not in "biuf" and given.scalar != "bfloat16":
            raise TypeError(f"`x` has dtype {given.scalar}, which {function} does not support")
        if result is not None:
            arguments.require_result(result, "int64", (segments,))
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result((segments,), np.dtype(np.int64)),)
        if not segments:
            return Decision(results)
        placed = {name: stand_in(info, k) for k, (name, info) in enumerate(arrays.items())}
        pairs = _view(zip_lazily(_as_field(of(placed["x"])), positions(given.shape)))
        task, shown = scans.task_of(op, pairs, None, exclusive=True, called=_CALLED)
        reduction = segments_api.plan_reduce(task, pairs, segments, starts, stops, shown, machine)
        scratch = Scratch()
        room = scratch.take(task.result, segments)
        placed["room"] = _like(pairs, placed["x"], segments, len(placed) + 1)
        begin = at(of(placed["offsets"]), positions((segments,)))
        found = apply(position_of, (of(placed["room"]),))
        none = broadcast(of_number(-1), (segments,))
        least = convert(
            choose(begin < 0, broadcast(of_number(0), (segments,)), convert(begin, SCALARS["int64"])), found.scalar
        )
        within = choose(found < 0, none, found - least)
        second = transforms.decide({"x": _view(within)}, result, machine).plan
        assert second is not None
        first = bind_steps(reduction.steps, {"x": pairs}, placed, machine.arch)
        behind = bind_steps(second.steps, {"x": _view(within)}, placed, machine.arch)
        steps = (
            *move_steps(first, lambda buffer: room if buffer.name == OUT else buffer),
            *move_steps(behind, lambda buffer: room if buffer.name == "room" else buffer),
        )
        return Decision(results, plan=Plan(steps, scratch=scratch.used))

    return call(function, (function,), {"x": x, **bounds}, decide, out, stream)


def _as_field(x: Lazy) -> Lazy:
    """Return elements as a struct may have them: bools as bytes, floats of 16 bits as float32."""
    name = {"bool": "uint8", "float16": "float32", "bfloat16": "float32"}.get(x.scalar.name)
    return x if name is None else convert(x, SCALARS[name])


def _view(lazy: Lazy) -> LazyInfo:
    found = describe(lazy)
    assert isinstance(found, LazyInfo)
    return found


def _like(pairs: LazyInfo, x: ArrayInfo, many: int, number: int) -> ArrayInfo:
    """Return the facts of memory for so many pairs, that stands beside the arrays of a call."""
    size = pairs.dtype.itemsize
    pointer = stand_in(x, number - 1).pointer
    return replace(x, dtype=pairs.dtype, shape=(many,), strides=(size,), pointer=pointer - pointer % 16)


__all__ = ["segmented_argmax", "segmented_argmin"]
