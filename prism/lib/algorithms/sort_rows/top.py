"""The first elements of each segment of an array: `segmented_top_k`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.arguments import require_integer, require_pair
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Clear, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import sort_rows as kernels
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.segments.api import segments_of
from prism.lib.algorithms.sort_rows import plan as plans
from prism.lib.algorithms.sort_rows.plan import LONGEST, Kind, Names
from prism.lib.algorithms.topk.calls import copy_to
from prism.lib.algorithms.topk.plan import INDICES, is_ordered
from prism.runtime.arrays import ArrayInfo, require_axes

_KEPT = {"uint64": (1, 4, 8), "struct{key:uint64,place:uint32}": (1, 4)}
"""By the type of what is sorted: how many first elements a thread has, of those that a block finds."""


def segmented_top_k(
    x: Any, offsets: Any, k: int, *, largest: bool = True, mode: str | None = None, out: Any = None, stream: Any = None
) -> tuple[Any, Any]:
    """Return the `k` largest elements of each segment of an array, or the smallest, in their order, and their positions.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of one dimension; of bool, an integer type or a float type of 16 bits or more.
    offsets : array
        As for `prism.lib.segmented_sort`.
    k : int
        How many of each segment, 0 or more.
    largest : bool, default True
        The largest elements; else the smallest.
    mode : {"largest", "smallest"}, optional
        The same as `largest`, as NumPy 2.6 and the array API call it.
    out : pair of arrays, optional
        Where to put the values and the positions, by copies: of their shapes and dtypes, with any strides.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    values, indices : array
        Of shape ``(segments, k)``: the elements, of the dtype of `x`, and their positions, int64, from the segment's beginning
        on. `out`, if given. Where a segment has fewer than `k` elements, what is missing stands last: its position is -1, and
        its value is the lowest that the dtype has, -inf of floats, as if segments had been filled up with it; of the smallest
        ones the highest, inf.

    Raises
    ------
    TypeError
        `x` or `offsets` is no array, or of a dtype that is not supported; `k` is no integer; `out` is no pair of arrays of these
        dtypes.
    ValueError
        `k` is negative; `mode` is another; `x` or `offsets` has not one dimension, or `offsets` no element; `out` has other
        shapes; `stream` for arrays on the host.

    Notes
    -----
    The same result in every run. Of equal elements the one at the lower position comes first, and is taken first; -0.0 equals
    0.0. NaN stands last, whether the largest or the smallest are asked for: before what is missing.

    Segments are dealt out by their lengths on the device, so nothing waits for it. Those of up to 512 elements (256 of 8 bytes)
    are sorted by warps. Of a longer one a block finds the last of the first `k` digit by digit, and sorts what comes before:
    one of up to 8192 elements is read once; a longer one is read again for each 8 bits of an element, so of few very long
    segments the most of a GPU has nothing to do: `prism.lib.top_k` of each is faster. With `k` above 4096, 2048 of elements of
    8 bytes, all segments are sorted.

    Examples
    --------
    >>> prism.lib.segmented_top_k(np.array([3, 1, 4, 1, 5]), np.array([0, 3, 5]), 2)
    (array([[4, 3],
           [5, 1]]), array([[2, 0],
           [1, 0]]))
    """
    if mode not in (None, "largest", "smallest"):
        raise ValueError(f"`mode` must be 'largest' or 'smallest', not {mode!r}")
    largest = bool(largest) if mode is None else mode == "largest"
    require_pair(out)
    asked = ("segmented_top_k", _whole(k), largest)
    if stream is None and out is None and (known := repeat.run_many(asked, (x, offsets, None))) is not None:
        return known[0], known[1]

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        require_axes(given, "x", 1)
        if not is_ordered(given.scalar):
            raise TypeError(f"`x` has dtype {given.dtype}, whose elements have no order here")
        many = segments_of(arrays["offsets"], None)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        shape = (many, asked[1])
        results = (Result(shape, dtype_of(given.scalar, given)), Result(shape, np.dtype(np.int64)))
        plan = None
        if many and asked[1]:
            aligned = plans.is_aligned(given)
            plan = top_segments(
                Kind(given.scalar, asked[2], elements=False, places="int32"), given.size, many, asked[1],
                arrays["offsets"].scalar, machine, aligned=aligned,
            )  # fmt: skip
        return Decision(results, (OUT, INDICES), plan=plan)

    found = call("segmented_top_k", asked, {"x": x, "offsets": offsets}, decide, None, stream)
    if out is not None:
        found = copy_to("segmented_top_k", found, tuple(out), stream)
    return found[0], found[1]


def _whole(k: Any) -> int:
    found = require_integer(k, "k", bools=False)
    if found < 0:
        raise ValueError(f"`k` must be 0 or more, not {found}")
    return found


def top_segments(
    kind: Kind, n: int, many: int, k: int, offsets: str, machine: Machine, *, aligned: bool = False
) -> Plan:
    """Return the plan that finds the first `k` elements of `many` segments of an array `x` of `n` elements, which `kind` sorts.

    Scratch: 4 bytes an element, and lists of segments.
    """
    scratch, steps = Scratch(), list[Step | Clear]()
    element = kind.long[1]
    threads, room = (256, 1024) if machine.host else (512, 8192)
    kept = next((kept for kept in _KEPT[element] if k <= kept * threads), 0)
    order, longest = nothing("int32"), LONGEST
    if n:
        order = scratch.take("int32", n)
        names = Names(places=order)
        steps, given, held = plans.segment_steps(
            kind, n, many, offsets, machine, names, scratch, aligned=aligned, held=room if kept else 0
        )
        if not kept and n > held:
            steps.append(
                plans.long_step(kind, many, n, machine, given, scratch, mode=kernels.SEGMENTS, offsets=offsets)
            )
        if kept:
            longest = kernels.LANES[size_of(kind.sorted_as)][-1].span
            template = {
                "T": kind.read, "U": "uint64" if size_of(kind.read) == 8 else "uint32", "E": element, "O": offsets,
                "DESCENDING": kind.descending, "KEPT": kept, "THREADS": threads,
            }  # fmt: skip
            own = {name: given[name] for name in ("x", "starts", "ends", "listed", "listed_many", "n")}
            own |= {"y": Buffer(OUT), "positions": Buffer(INDICES), "k": k}
            for number, holds, least in ((3, room, longest), (5, 1, room)):
                if n > least:
                    found = instance_of(kernels.top_segments, {**template, "ROOM": holds})
                    blocks = 2 if machine.host else min(many, machine.wave(found, threads))
                    place = {"first_listed": number * many, "number": number}
                    steps.append(Step(found, blocks, threads, {**own, **place}))
    taking = instance_of(kernels.take_first, {"T": kind.read, "O": offsets, "THREADS": kernels.THREADS})
    blocks = -(-many * k // kernels.THREADS)
    blocks = min(blocks, 2 if machine.host else 4 * machine.wave(taking, kernels.THREADS))
    steps.append(Step(taking, blocks, kernels.THREADS, {
        "x": Buffer("x"), "order": order, "y": Buffer(OUT), "positions": Buffer(INDICES), "starts": Buffer("offsets"),
        "ends": Buffer("offsets", size_of(offsets)), "segments": many, "n": n, "k": k, "longest": longest,
        "missing": missing(kind),
    }))  # fmt: skip
    return Plan(tuple(steps), scratch=scratch.used)


def missing(kind: Kind) -> Any:
    """Return what stands where there is no element: the last one of its type."""
    if kind.scalar == "bool":
        return 0 if kind.descending else 1
    if kind.read.startswith(("int", "uint")):
        limits = np.iinfo(kind.read)
        return int(limits.min if kind.descending else limits.max)
    return -np.inf if kind.descending else np.inf


__all__ = ["segmented_top_k", "top_segments"]
