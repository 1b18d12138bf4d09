"""Scans and reductions of runs of equal keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.kernels.scan import KEYS
from prism.lib import result_arrays, scan_plans, scans
from prism.lib.operators import Operator
from prism.lib.scan_plans import Shape, Task
from prism.lib.segments import Session, copy_if_shared
from prism.runtime.arrays import ArrayInfo, describe, one_place, require_axes

_KEYS = (*scans.SUPPORTED, "bool")
_SCAN, _REDUCE = scans.Called("scan_by_key", "values"), scans.Called("reduce_by_key", "values")


def scan_by_key(
    keys: Any,
    values: Any,
    op: str | Operator = "add",
    *,
    exclusive: bool = False,
    initial: Any = None,
    dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the running combination of the values of each run of equal keys.

    Parameters
    ----------
    keys : array of NumPy, CuPy or torch
        Of one dimension, of bool, an integer type or a float type. A run ends where a key differs from the one before (`!=`):
        equal keys elsewhere are another run, and every NaN is one.
    values : array
        As `x` of `prism.lib.scan`; of the library, device and shape of `keys`.
    op, exclusive, initial, dtype, out, stream
        As for `prism.lib.scan`: each run begins anew, with `initial`.

    Returns
    -------
    array
        As `values`; `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.scan`; `keys` is of another library, device, shape, or of a dtype that is not supported.

    Notes
    -----
    One pass: each key and value is read once.

    Examples
    --------
    >>> prism.lib.scan_by_key(np.array([7, 7, 8, 8, 7]), np.array([3, 1, 4, 1, 5]))
    array([3, 4, 4, 5, 5])
    """
    given, labels = _pair(keys, values)
    task, shown = scans.task_of(op, given, dtype, exclusive=bool(exclusive), called=_SCAN)
    begin = shown if initial is None else scans.initial_of(initial, task)
    result = None if out is None else scans.result_of(out, given, task.result, given.shape, _SCAN)
    with Session(given, [given, labels, *([] if result is None else [result])], stream) as session:
        y = (
            result_arrays.empty(given, given.size, scans.dtype_of(task.result, given))
            if result is None
            else result.owner
        )
        if not given.size:
            return y
        source, target, heads = (
            scans.contiguous(given, result),
            result or describe(y, "out"),
            copy_if_shared(labels, result),
        )
        shape = Shape(1, given.size, 1, session.is_aligned(source, target))
        session.scan(source, target, heads, _kind(heads), KEYS, task, begin, shape)
    return y


def reduce_by_key(
    keys: Any,
    values: Any,
    op: str | Operator = "add",
    *,
    initial: Any = None,
    dtype: Any = None,
    count: bool = False,
    stream: Any = None,
) -> Any:
    """Return the key of each run of equal keys, and the combination of the values beside it.

    Parameters
    ----------
    keys, values, op, initial, dtype, stream
        As for `prism.lib.scan_by_key`.
    count : bool, default False
        Leave the number of runs where it is computed: see below.

    Returns
    -------
    unique_keys, aggregates : array
        One element a run, of the library and device of `keys`. With `count`, both have the size of `keys`, and only their first
        elements are set; a third array, of one int64, says how many.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.scan_by_key`.

    Notes
    -----
    One pass: each key and value is read once. How many runs there are is known when the kernel has ended: for arrays on a GPU the
    call waits for it, and reads 8 bytes. With `count` it does not wait, and can be captured in a CUDA graph.

    Examples
    --------
    >>> prism.lib.reduce_by_key(np.array([7, 7, 8, 8, 7]), np.array([3, 1, 4, 1, 5]))
    (array([7, 8, 7]), array([4, 5, 5]))
    """
    given, labels = _pair(keys, values)
    task, shown = scans.task_of(op, given, dtype, exclusive=True, called=_REDUCE)
    begin = shown if initial is None else scans.initial_of(initial, task)
    with Session(given, [given, labels], stream) as session:
        unique = result_arrays.empty(given, given.size, scans.dtype_of(labels.scalar, labels))
        y = result_arrays.empty(given, given.size, scans.dtype_of(task.result, given))
        number = result_arrays.empty(given, 1, np.dtype(np.int64))
        if given.size:
            arrays = (
                scans.contiguous(labels, None),
                scans.contiguous(given, None),
                *(describe(a) for a in (unique, y, number)),
            )
            _reduce(session, arrays, task, begin)
        else:
            number[...] = 0
        if count:
            return unique, y, number
        runs = int(number[0])
        return unique[:runs], y[:runs]


def _reduce(session: Session, arrays: tuple[ArrayInfo, ...], task: Task, initial: Any) -> None:
    """Fill the last three of: keys, values, unique keys, aggregates, number of runs."""
    keys, source = arrays[:2]
    key = _kind(keys)
    if session.ordinal is None:
        given, _, stored = task.types
        kinds = (key, given, key, stored, "int64")
        way = scan_plans.runs(task, source.size, False, key, host=True)
        scan_plans.run_on_host(way, task, tuple(map(scans.plain, arrays, kinds)), initial)
        return
    way = scan_plans.runs(task, source.size, session.is_aligned(source), key, keys_aligned=session.is_aligned(keys))
    plan = scan_plans.plan(way, task, session.ordinal)
    plan(session.ordinal, session.stream, tuple(info.pointer for info in arrays), initial.item())


def _pair(keys: Any, values: Any) -> tuple[ArrayInfo, ArrayInfo]:
    """Return the facts of values and keys, checked."""
    given, labels = describe(values, "values"), describe(keys, "keys")
    result_arrays.require_known(given, "values")
    one_place({"values": given, "keys": labels})
    if labels.library != given.library:
        raise TypeError(f"`keys` must be an array of {given.library}, as `values` is, not of {labels.library}")
    if labels.scalar not in _KEYS:
        raise TypeError(f"`keys` has dtype {labels.scalar}, which is not supported")
    require_axes(labels, "keys", 1)
    if labels.shape != given.shape:
        raise ValueError(f"`keys` and `values` must have one shape, not {labels.shape} and {given.shape}")
    return given, labels


def _kind(keys: ArrayInfo) -> str:
    """Return the type that keys are compared as: signs don't matter."""
    return f"u{keys.scalar}" if keys.scalar.startswith("int") else keys.scalar


__all__ = ["reduce_by_key", "scan_by_key"]
