"""Scans and reductions of segments, which offsets tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import SCRATCH, Buffer, Clear, Machine, Plan, Step, X, Y, instance_of
from prism.kernels import reduce as reductions
from prism.kernels.scan import BITS, mark
from prism.lang.surface import Kernel
from prism.lib.algorithms.scan import api as scans
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task, number_of
from prism.lib.operators import Operator
from prism.runtime.arrays import ArrayInfo, require_axes
from prism.runtime.instance import Instance

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
    bits = scans.bits_of(initial, x, op, dtype)
    asked = ("segmented_scan", op, exclusive, dtype, scans.begins(initial, bits))
    if stream is None and (known := repeat.run_many(asked, (x, offsets, out), number=bits)) is not None:
        return known
    return _segmented_scan_anew(asked, x, offsets, op, exclusive, initial, dtype, out, stream, bits)


def _segmented_scan_anew(
    asked: tuple[Any, ...],
    x: Any,
    offsets: Any,
    op: str | Operator,
    exclusive: bool,
    initial: Any,
    dtype: Any,
    out: Any,
    stream: Any,
    bits: int | None,
) -> Any:
    """Do what `segmented_scan` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, starts = arrays["x"], arrays["offsets"]
        require_axes(given, "x", 1)
        _require_offsets(starts, "offsets")
        if (kind := scans.conversion(given, dtype)) is not None:
            return Decision(copied=("x",), converted=kind)
        task, shown = scans.task_of(op, given, dtype, exclusive=bool(exclusive), called=_SCAN)
        begin = scans.begin_of(initial, bits, shown, task)
        if result is not None:
            arguments.require_result(result, task.result, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        plan = _plan_scan(task, given, starts, result, begin, machine) if given.size else None
        return Decision((Result(given.shape, scans.dtype_of(task.result, given)),), plan=plan, in_place=("x",))

    numbers = scans.numbers_of(bits)
    return call("segmented_scan", asked, {"x": x, "offsets": offsets}, decide, out, stream, numbers=numbers)


def _plan_scan(
    task: Task, given: ArrayInfo, starts: ArrayInfo, result: ArrayInfo | None, initial: Any, machine: Machine
) -> Plan:
    """Return the plan of a segmented scan: bits that say where segments begin are cleared, and set, and read."""
    bits = Buffer(SCRATCH, 0, "uint32", -(-given.size // 32))
    shape = Shape(1, given.size, 1, scans.is_aligned(given, result))
    way = scan_plans.segments(task, shape, BITS, 0, "uint32", bits, host=machine.host)
    scan = scan_plans.plan(way, task, initial, machine)
    marking = instance_of(mark, {"TI": starts.scalar, "THREADS": THREADS})
    numbers = {"starts": Buffer("offsets"), "segments": starts.size, "bits": bits, "n": given.size}
    blocks = _blocks(-(-starts.size // THREADS), 1, marking, machine)
    first = (Step(marking, blocks, THREADS, numbers),) if starts.size else ()
    return replace(scan, steps=(Clear(bits), *first, *scan.steps), scratch=4 * bits.count)


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
    bits = scans.bits_of(initial, x, op, dtype)
    asked = ("segmented_reduce", op, dtype, scans.begins(initial, bits))
    arrays = (x, offsets, out) if ends is None else (x, offsets, ends, out)
    if stream is None and (known := repeat.run_many(asked, arrays, number=bits)) is not None:
        return known
    bounds = {"offsets": offsets} if ends is None else {"offsets": offsets, "ends": ends}
    return _segmented_reduce_anew(asked, x, op, initial, dtype, out, stream, bounds, bits)


def _segmented_reduce_anew(
    asked: tuple[Any, ...],
    x: Any,
    op: str | Operator,
    initial: Any,
    dtype: Any,
    out: Any,
    stream: Any,
    bounds: dict[str, Any],
    bits: int | None,
) -> Any:
    """Do what `segmented_reduce` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, starts, stops = arrays["x"], arrays["offsets"], arrays.get("ends")
        require_axes(given, "x", 1)
        segments = segments_of(starts, stops)
        if (kind := scans.conversion(given, dtype)) is not None:
            return Decision(copied=("x",), converted=kind)
        task, shown = scans.task_of(op, given, dtype, exclusive=True, called=_REDUCE)
        begin = scans.begin_of(initial, bits, shown, task)
        if result is not None:
            arguments.require_result(result, task.result, (segments,))
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        plan = plan_reduce(task, given, segments, starts, stops, begin, machine) if segments else None
        return Decision((Result((segments,), scans.dtype_of(task.result, given)),), plan=plan)

    numbers = scans.numbers_of(bits)
    return call("segmented_reduce", asked, {"x": x, **bounds}, decide, out, stream, numbers=numbers)


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _require_offsets(offsets: ArrayInfo, name: str) -> None:
    if offsets.scalar not in ("int32", "int64"):
        raise TypeError(f"`{name}` must be of int32 or int64, not of {offsets.scalar}")
    require_axes(offsets, name, 1)


def segments_of(starts: ArrayInfo, ends: ArrayInfo | None) -> int:
    """Return how many segments there are, the arrays that say where they lie checked."""
    _require_offsets(starts, "offsets")
    if ends is None:
        if not starts.size:
            raise ValueError("`offsets` must have one element more than there are segments: it is empty")
        return starts.size - 1
    _require_offsets(ends, "ends")
    if ends.scalar != starts.scalar:
        raise TypeError(f"`ends` must be of {starts.scalar}, as `offsets` is, not of {ends.scalar}")
    if ends.size != starts.size:
        raise ValueError(f"`ends` must have as many elements as `offsets`, {starts.size}, not {ends.size}")
    return starts.size


# -- Plans ----------------------------------------------------------------------------------------------------------------


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


def plan_reduce(
    task: Task,
    given: ArrayInfo,
    segments: int,
    starts: ArrayInfo,
    ends: ArrayInfo | None,
    initial: Any,
    machine: Machine,
) -> Plan:
    """Return the plan of a reduction of segments."""
    kernel, template, blocks = way_of(task, given.size, segments, machine.multiprocessors)
    chosen = instance_of(kernel, {**template, "O": starts.scalar})
    numbers = {"segments": segments, "n": given.size}
    numbers |= {"identity": number_of(task.identity()), "initial": scan_plans.begin_number(initial)}
    last = Buffer("offsets", starts.dtype.itemsize) if ends is None else Buffer("ends")
    arrays = {"x": X, "y": Y, "starts": Buffer("offsets"), "ends": last}
    blocks = _blocks(blocks, _WAVES, chosen, machine)
    return Plan((Step(chosen, blocks, THREADS, {**arrays, **numbers}),))


def _blocks(most: int, waves: int, chosen: Instance, machine: Machine) -> int:
    """Return how many blocks to launch where there is work for `most`: so many times what runs at once, at most."""
    if machine.host:
        return min(most, 2)
    return min(most, _MOST_BLOCKS, waves * machine.wave(chosen, THREADS))


__all__ = ["plan_reduce", "segmented_reduce", "segmented_scan", "segments_of"]
