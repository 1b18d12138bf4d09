"""`prism.lib.copy`, `prism.lib.transpose` and `prism.lib.permute`: elements copied from any strides to any others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from prism.host import arguments, repeat
from prism.host.axes import c_strides, normal_axis
from prism.host.call import Decision, Result, call
from prism.host.plan import Machine
from prism.lib.algorithms.copies.plan import WIDEST, moves_of, plan_move
from prism.lib.algorithms.transform.api import decide as decide_evaluation
from prism.lib.lazy.array import Lazy, gather
from prism.runtime.arrays import ArrayInfo


def copy(x: Any, out: Any = None, *, stream: Any = None) -> Any:
    """Return a copy of an array, in C order or in an array of any strides: `numpy.copy`, `numpy.copyto`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, strides and dtype but Python objects; its elements may be repeated (strides of 0).
    out : array, optional
        Where to put the copy: of the library, device, shape and dtype of `x`, of any strides. It may overlap `x`: then the copy
        is made beside, and put there.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the shape and dtype of `x`, in C order. `out`, if given.

    Raises
    ------
    TypeError
        `x` is no array, or has Python objects; `out` is of another dtype.
    ValueError
        `out` has another shape, is read-only, or has elements that share memory; `stream` for arrays on the host.

    Notes
    -----
    Bytes are copied as they are, in any order of bytes. Each is read once and written once, by 16 bytes where they lie so on both
    sides. Axes that are one in both arrays are taken for one; what runs along different axes in the two goes through tiles in
    shared memory. See docs/transposes.md. The elements of a lazy array are computed where they are written, by the kernel of
    `evaluate`; where `out` has gaps, or another order than C's, they are made beside, and put there.

    Examples
    --------
    >>> x = np.arange(6).reshape(2, 3)
    >>> y = np.zeros((2, 6), int)
    >>> prism.lib.copy(x, y[:, ::2])
    array([[0, 1, 2],
           [3, 4, 5]])
    >>> y
    array([[0, 0, 1, 0, 2, 0],
           [3, 0, 4, 0, 5, 0]])
    """
    return _copy("copy", x, None, out, stream)


def transpose(x: Any, axis1: int = -2, axis2: int = -1, *, out: Any = None, stream: Any = None) -> Any:
    """Return an array with two axes exchanged, in memory too: `numpy.swapaxes`, copied in C order.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        As of `copy`, of two axes or more.
    axis1, axis2 : int, default -2 and -1
        Which axes; negative ones count from the last.
    out, stream
        As of `copy`.

    Returns
    -------
    array
        Of the dtype of `x`, in C order. `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `copy`. Of an axis that `x` does not have: `numpy.exceptions.AxisError`.

    Examples
    --------
    >>> prism.lib.transpose(np.array([[3, 1, 4], [1, 5, 9]]))
    array([[3, 1],
           [1, 5],
           [4, 9]])
    """
    return _copy("transpose", x, (axis1, axis2), out, stream)


def permute(x: Any, axes: Sequence[int] | None = None, *, out: Any = None, stream: Any = None) -> Any:
    """Return an array with its axes in another order, in memory too: `numpy.transpose`, copied in C order.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        As of `copy`.
    axes : sequence of int, optional
        Which axis of `x` each axis of the result is; by default from the last to the first.
    out, stream
        As of `copy`.

    Returns
    -------
    array
        Of the dtype of `x`, in C order. `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `copy`. `axes` does not name each axis once. Of an axis that `x` does not have: `numpy.exceptions.AxisError`.

    Examples
    --------
    >>> images = np.zeros((8, 32, 48, 3), np.uint8)
    >>> prism.lib.permute(images, (0, 3, 1, 2)).shape
    (8, 3, 32, 48)
    """
    if axes is not None and not isinstance(axes, tuple):
        try:
            axes = tuple(axes)
        except TypeError:
            raise TypeError(f"`axes` must be a sequence of integers, not {type(axes).__name__}") from None
    return _copy("permute", x, axes, out, stream)


def _copy(function: str, x: Any, axes: tuple[int, ...] | None, out: Any, stream: Any) -> Any:
    asked = (function, axes, None if axes is None else tuple(map(type, axes)))
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known

    if isinstance(x, Lazy):
        ordered = _in_order(x, _order(function, axes, len(x.shape)))
        if stream is None and (known := repeat.run((function,), ordered, out)) is not None:
            return known
        return call(function, (function,), {"x": ordered}, _decide_lazy, out, stream)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        return _decide(given, _order(function, axes, len(given.shape)), result, machine)

    return call(function, asked, {"x": x}, decide, out, stream)


def _in_order(x: Lazy, order: tuple[int, ...]) -> Lazy:
    """Return a lazy array with its axes in an order."""
    if order == tuple(range(len(order))):
        return x
    steps = c_strides(x.shape)
    return gather(x, tuple(x.shape[k] for k in order), [steps[k] for k in order])


def _decide_lazy(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
    """Return how the elements of a lazy array, its axes in their order by now, are written to the result."""
    given = arrays["x"]
    if result is not None:
        arguments.require_scalar(result, given.scalar)
        _require_place(result, given.shape)
        if not (result.contiguous and result.natural):
            return replace(decide_evaluation(arrays, None, machine), beside=True)
    return decide_evaluation(arrays, result, machine)


def _order(function: str, axes: tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return which axis of the array each axis of the result is."""
    order = list(range(ndim))
    if function == "copy":
        return tuple(order)
    if axes is None:
        return tuple(reversed(order))
    found = tuple(normal_axis(axis, ndim) for axis in axes)
    if function == "transpose":
        first, second = found
        order[first], order[second] = second, first
        return tuple(order)
    if sorted(found) != order:
        raise ValueError(f"`axes` must name each of the {ndim} axes of `x` once, not {axes}")
    return found


def _decide(given: ArrayInfo, order: tuple[int, ...], result: ArrayInfo | None, machine: Machine) -> Decision:
    """Return how the elements of `x`, its axes in an order, are put into the result."""
    if given.dtype.hasobject:
        raise TypeError("`x` has Python objects, which only NumPy can copy")
    shape = tuple(given.shape[k] for k in order)
    results, size = (Result(shape, given.dtype),), given.dtype.itemsize
    target, begins, beside = tuple(size * step for step in c_strides(shape)), 0, False
    if result is not None:
        if result.dtype != given.dtype:
            raise TypeError(f"`out` must be of {given.dtype}, the dtype of `x`, not of {result.dtype}")
        _require_place(result, shape)
        if not (beside := any(step < 0 for step in result.strides)):  # its memory is known from its first element on
            target, begins = result.strides, result.pointer
    if 0 in shape or not size:
        return Decision(results)
    if machine.host and (result is None or beside):
        begins = -1  # NumPy says no more of where its arrays begin
    source = tuple(given.strides[k] for k in order)
    ends = (given.pointer % WIDEST, begins % WIDEST if begins >= 0 else -1)
    return Decision(results, plan=plan_move(moves_of(shape, source, target, size, ends), ends), beside=beside)


def _require_place(result: ArrayInfo, shape: tuple[int, ...]) -> None:
    """Check that an array has a shape, and a place for each element."""
    arguments.require_shape(result, shape)
    if result.size and not _apart(result):
        raise ValueError(
            f"`out` has elements that share memory: its shape is {shape}, its strides {result.strides} bytes"
        )


def _apart(info: ArrayInfo) -> bool:
    """Whether elements of an array are known not to share memory: each stride reaches over all that smaller ones do."""
    room = info.dtype.itemsize
    for step, extent in sorted((abs(step), extent) for step, extent in zip(info.strides, info.shape, strict=True)):
        if extent > 1 and step < room:
            return False
        room += step * max(0, extent - 1)
    return True


__all__ = ["copy", "permute", "transpose"]
