"""Scans and reductions of segments, which offsets tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.kernels import reduce as reductions
from prism.kernels.scan import BITS, KEYS, mark
from prism.lang.surface import Kernel
from prism.lib import result_arrays, scan_plans, scans
from prism.lib.operators import Operator
from prism.lib.reference import run as interpret
from prism.lib.scan_plans import Shape, Task
from prism.runtime.arrays import ArrayInfo, describe, one_place, require_axes
from prism.runtime.device import device
from prism.runtime.streams import choose_stream, order

THREADS = 256
_SHORT, MEDIUM = 16, 2048  # elements a segment, on average: up to these a thread, and a warp, takes one
_LONG_FOR_A_THREAD, _LONG_FOR_A_WARP = 256, 4096  # what is longer is left to the block

# Measured on one H200, 2^26 float32 in segments of 51 to 4417: warps with 2 elements a lane are best at 51 (211 us; with 8, 283),
# as good as with 8 at 250 (85 us), and worse at 1000 (99 us and 74 us). At 4417 a block with 8 a thread takes 79 us, as do warps.
# Four times as many blocks as are resident share work out better than as many: 211 us for 249, 74 for 90, and 79 for 87.
NARROW = 256  # elements a segment, on average: up to this a lane of a warp takes few at once
# Few segments are each taken by a block, so that all multiprocessors load at once: those of which a multiprocessor has fewer than
# one in so many of their elements. Microseconds by blocks and by warps on the same H200, float32: at 126 elements for each that a
# multiprocessor has, 3.06 and 5.50 (2^20 in segments of 1000), 6.77 and 10.1 (2^22, 2000), 1.51 and 1.61 (2^16, 250); at 31,
# 4.71 and 3.92 (2^20, 500), 8.2 and 8.0 (2^22, 1000), 2.64 and 1.75 (2^18, 250).
_FEW_SEGMENTS = 64
_FEW, _MANY = 2, 8  # elements a lane, or a thread of a block, at once
_FEW_BLOCKS = {
    1: 8,
    2: 8,
    4: 8,
    8: 6,
    16: 4,
}  # a multiprocessor, by an element's bytes: as many as registers suffice for
_MANY_BLOCKS = {1: 5, 2: 5, 4: 5, 8: 5, 16: 3}
_WAVES = 4
_MOST_BLOCKS = 1 << 16
_SCAN, _REDUCE = scans.Called("segmented_scan"), scans.Called("segmented_reduce")


def segmented_scan(
    x: Any,
    offsets: Any,
    op: str | Operator = "add",
    *,
    exclusive: bool = False,
    initial: Any = None,
    dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the running combination of each segment of an array.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        As for `prism.lib.scan`; of one dimension.
    offsets : array
        Of int32 or int64, of `x`'s library and device: where segments begin. Segment `s` is
        ``x[offsets[s]:offsets[s + 1]]``; what is before the first offset, or behind the last, is a segment too. Their order
        doesn't matter, and an offset outside of `x` has no effect.
    op, exclusive, initial, dtype, out, stream
        As for `prism.lib.scan`: each segment begins anew, with `initial`.

    Returns
    -------
    array
        As `x`; `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.scan`; `offsets` is no array of int32 or int64, or `x` or `offsets` has not one dimension.

    Notes
    -----
    One pass over `x`, however long the segments are, besides a bit for each element that says where segments begin.

    Examples
    --------
    >>> prism.lib.segmented_scan(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 5]))
    array([ 3,  4,  4,  5, 10])
    """
    given = describe(x, "x")
    result_arrays.require_known(given, "x")
    require_axes(given, "x", 1)
    bounds = _offsets(offsets, "offsets", given)
    task, shown = scans.task_of(op, given, dtype, exclusive=bool(exclusive), called=_SCAN)
    begin = shown if initial is None else scans.initial_of(initial, task)
    result = None if out is None else scans.result_of(out, given, task.result, given.shape)
    with Session(given, [given, bounds, *([] if result is None else [result])], stream) as session:
        y = (
            result_arrays.empty(given, given.size, scans.dtype_of(task.result, given))
            if result is None
            else result.owner
        )
        if not given.size:
            return y
        source, target = scans.contiguous(given, result), result or describe(y, "out")
        bits = result_arrays.empty(given, -(-given.size // 32), np.dtype(np.int32))
        bits[...] = 0
        heads, starts = describe(bits, "bits"), scans.contiguous(bounds, result)
        marks = (("TI", starts.scalar), ("THREADS", THREADS))
        blocks = min(-(-starts.size // THREADS), _MOST_BLOCKS)
        if starts.size:
            session.launch(mark, marks, blocks, (starts, starts.size, heads, given.size), unsigned=(2,))
        shape = Shape(1, given.size, 1, session.is_aligned(source, target))
        session.scan(source, target, heads, "uint32", BITS, task, begin, shape)
    return y


def segmented_reduce(
    x: Any,
    offsets: Any,
    op: str | Operator = "add",
    *,
    ends: Any = None,
    initial: Any = None,
    dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the combination of each segment of an array.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        As for `prism.lib.scan`; of one dimension.
    offsets : array
        Of int32 or int64, of `x`'s library and device: where segments begin, and where the last one ends. Segment `s` is
        ``x[offsets[s]:offsets[s + 1]]``, empty where that is no slice of rising bounds.
    op : str or Operator, default "add"
        As for `prism.lib.scan`.
    ends : array, optional
        Where each segment ends: as `offsets`, of its dtype and size. Segment `s` is then ``x[offsets[s]:ends[s]]``; segments may
        lie anywhere, and overlap.
    initial : number, optional
        What the first element is combined with, on its left; by default the operator's identity. It is the result of an
        empty segment.
    dtype, out, stream
        As for `prism.lib.scan`.

    Returns
    -------
    array
        One element a segment, of `x`'s library and on its device; `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.scan`; offsets are no arrays of int32 or int64, of one dimension, or don't fit each other.

    Notes
    -----
    Each segment is reduced by one thread, one warp or one block, by how many elements there are a segment on average, and by how
    many segments there are a multiprocessor; threads and warps leave those that are much longer than the others to their block,
    which takes them last. Every run on one GPU gives the same bits. Bounds outside of `x` are taken for its ends.

    Examples
    --------
    >>> prism.lib.segmented_reduce(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5]))
    array([ 4,  0, 10])
    """
    given = describe(x, "x")
    result_arrays.require_known(given, "x")
    require_axes(given, "x", 1)
    starts = _offsets(offsets, "offsets", given)
    stops = None if ends is None else _offsets(ends, "ends", given)
    segments = _segments(starts, stops)
    task, shown = scans.task_of(op, given, dtype, exclusive=True, called=_REDUCE)
    begin = shown if initial is None else scans.initial_of(initial, task)
    result = None if out is None else scans.result_of(out, given, task.result, (segments,))
    arrays = [given, starts, *([] if stops is None else [stops]), *([] if result is None else [result])]
    with Session(given, arrays, stream) as session:
        y = result_arrays.empty(given, segments, scans.dtype_of(task.result, given)) if result is None else result.owner
        if not segments:
            return y
        source, target = copy_if_shared(given, result), result or describe(y, "out")
        first = copy_if_shared(starts, result)
        last = copy_if_shared(stops, result) if stops is not None else describe(first.owner.reshape(-1)[1:], "ends")
        processors = 1 if given.device is None else device(given.device).sm_count
        kernel, pairs, blocks, identity = _ready(task, source.size, segments, first.scalar, processors)
        values = (source, target, first, last, segments, source.size, identity, begin)
        session.launch(kernel, pairs, blocks, values, kinds=task.types, waves=_WAVES)
    return y


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _offsets(offsets: Any, name: str, given: ArrayInfo) -> ArrayInfo:
    found = describe(offsets, name)
    one_place({"x": given, name: found})
    if found.library != given.library:
        raise TypeError(f"`{name}` must be an array of {given.library}, as `x` is, not of {found.library}")
    if found.scalar not in ("int32", "int64"):
        raise TypeError(f"`{name}` must be of int32 or int64, not of {found.scalar}")
    require_axes(found, name, 1)
    return found


def _segments(starts: ArrayInfo, ends: ArrayInfo | None) -> int:
    """Return how many segments there are."""
    if ends is None:
        if not starts.size:
            raise ValueError("`offsets` must have one element more than there are segments: it is empty")
        return starts.size - 1
    if ends.scalar != starts.scalar:
        raise TypeError(f"`ends` must be of {starts.scalar}, as `offsets` is, not of {ends.scalar}")
    if ends.size != starts.size:
        raise ValueError(f"`ends` must have as many elements as `offsets`, {starts.size}, not {ends.size}")
    return starts.size


def copy_if_shared(info: ArrayInfo, result: ArrayInfo | None) -> ArrayInfo:
    """Return an array's elements in C order, copied where they share any memory with `result`."""
    source = scans.contiguous(info, result)
    if result is not None and source.pointer == result.pointer and info.size:
        copy = result_arrays.empty(info, source.size, source.dtype)
        copy[:] = result_arrays.flat(source, source.dtype)
        return describe(copy, "copy")
    return source


def way_of(task: Task, size: int, segments: int, processors: int) -> tuple[Kernel, dict[str, Any], int]:
    """Return the kernel for so many segments of so many elements in all, its template, and how many blocks there is work for."""
    common = {**task.template, "THREADS": THREADS, "COMMUTATIVE": task.operator.commutative}
    if size <= _SHORT * segments:
        template = {**common, "ITEMS": _MANY, "LONG": _LONG_FOR_A_THREAD, "BLOCKS": _FEW_BLOCKS[task.bytes]}
        return reductions.reduce_segments_by_thread, template, -(-segments // THREADS)
    if size <= MEDIUM * segments and size * processors < _FEW_SEGMENTS * segments**2:
        items, blocks = (_FEW, _FEW_BLOCKS) if size <= NARROW * segments else (_MANY, _MANY_BLOCKS)
        template = {**common, "ITEMS": items, "LONG": _LONG_FOR_A_WARP, "BLOCKS": blocks[task.bytes]}
        return reductions.reduce_segments_by_warp, template, -(-segments // (THREADS // 32))
    return reductions.reduce_segments_by_block, {**common, "ITEMS": _MANY}, segments


Ready = tuple[Kernel, tuple[tuple[str, Any], ...], int, Any]
_known: dict[tuple[Task, int, int, str, int], Ready] = {}


def _ready(task: Task, size: int, segments: int, offsets: str, processors: int) -> Ready:
    """Return what `way_of` does, its template as pairs with the type of the offsets, and the operator's identity."""
    key = (task, size, segments, offsets, processors)
    try:
        found = _known.get(key)
    except TypeError:  # the identity can't be looked up: it is a list, say
        return _prepare(*key)
    if found is None:
        found = _prepare(*key)
        if len(_known) >= 1024:
            _known.clear()
        _known[key] = found
    return found


def _prepare(task: Task, size: int, segments: int, offsets: str, processors: int) -> Ready:
    kernel, template, blocks = way_of(task, size, segments, processors)
    return kernel, (*template.items(), ("O", offsets)), blocks, task.identity()


# -- Launching on either machine ------------------------------------------------------------------------------------------


class Session:
    """Where the kernels of one call run: on the reference machine, or on a stream of a GPU; arrays are made there meanwhile."""

    def __init__(self, given: ArrayInfo, arrays: list[ArrayInfo], stream: Any) -> None:
        """Raise ValueError for a stream where arrays are on the host."""
        if given.device is None and stream is not None:
            raise ValueError("`stream` is for arrays on a GPU, and these are on the host")
        self.ordinal = given.device
        self.stream = 0 if given.device is None else choose_stream(stream, (given,))
        if given.device is not None:
            order(arrays, self.stream)
        self._working = result_arrays.working(given, None if stream is None else self.stream)

    def __enter__(self) -> Session:
        self._working.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._working.__exit__(*error)

    def is_aligned(self, *arrays: ArrayInfo) -> bool:
        """Whether vectorised kernels may be used."""
        return self.ordinal is not None and all(info.pointer % 16 == 0 for info in arrays)

    def launch(
        self, kernel: Kernel, pairs: tuple[tuple[str, Any], ...], blocks: int, values: tuple[Any, ...], *,
        kinds: tuple[str, str, str] | None = None, unsigned: tuple[int, ...] = (), waves: int = 1,
    ) -> None:  # fmt: skip
        """Run a kernel on arrays and numbers; `kinds`: the types of the first two; `unsigned`: which are taken for unsigned.

        On a GPU by `blocks`, but by at most `waves` times as many as are resident at once.
        """
        threads = next(value for name, value in pairs if name == "THREADS")
        if self.ordinal is None:
            names = {} if kinds is None else {0: kinds[0], 1: kinds[2]}
            names |= {k: f"u{values[k].scalar}" for k in unsigned}
            ready = tuple(
                scans.plain(v, names.get(k, v.scalar)) if isinstance(v, ArrayInfo) else v for k, v in enumerate(values)
            )
            interpret(scan_plans.program(kernel, pairs), min(blocks, 2), threads, ready)
            return
        launcher = scan_plans.launcher(kernel, pairs, self.ordinal)
        ready = tuple(v.pointer if isinstance(v, ArrayInfo) else v.item() if hasattr(v, "item") else v for v in values)
        launcher(min(blocks, waves * launcher.resident_blocks(threads)), threads, self.stream, ready)

    def scan(
        self,
        source: ArrayInfo,
        target: ArrayInfo,
        heads: ArrayInfo,
        key: str,
        how: int,
        task: Task,
        initial: Any,
        shape: Shape,
    ) -> None:
        """Scan segments that begin where `heads` says, in the way `how`."""
        if self.ordinal is None:
            way = scan_plans.host_segments(task, shape, how, 0, key)
            given, _, stored = task.types
            arrays = (scans.plain(source, given), scans.plain(target, stored), scans.plain(heads, key))
            scan_plans.run_on_host(way, task, arrays, initial)
            return
        way = scan_plans.segments(task, shape, how, 0, key, keys_aligned=how == KEYS and self.is_aligned(heads))
        plan = scan_plans.plan(way, task, self.ordinal)
        plan(self.ordinal, self.stream, (source.pointer, target.pointer, heads.pointer), initial.item())


__all__ = ["segmented_reduce", "segmented_scan"]
