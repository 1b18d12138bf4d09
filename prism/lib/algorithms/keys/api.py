"""Scans and reductions of runs of equal keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import Buffer, Machine, Plan
from prism.kernels.scan import KEYS
from prism.lib.algorithms.reduce.where import number_like
from prism.lib.algorithms.scan import api as scans
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.algorithms.select.calls import encode, fill_of, mode_of
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import Lazy
from prism.lib.operators import Operator
from prism.runtime.arrays import ArrayInfo, require_axes

_KEYS = (*scans.SUPPORTED, "bool")
_CALLED = {"x": "values"}
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
    bits = scans.bits_of(initial, values, op, dtype)
    asked = ("scan_by_key", op, exclusive, dtype, scans.begins(initial, bits))
    if stream is None and (known := repeat.run_many(asked, (keys, values, out), number=bits)) is not None:
        return known
    return _scan_by_key_anew(asked, keys, values, op, exclusive, initial, dtype, out, stream, bits)


def _scan_by_key_anew(
    asked: tuple[Any, ...],
    keys: Any,
    values: Any,
    op: str | Operator,
    exclusive: bool,
    initial: Any,
    dtype: Any,
    out: Any,
    stream: Any,
    bits: int | None,
) -> Any:
    """Do what `scan_by_key` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, labels = _pair(arrays)
        if (kind := scans.conversion(given, dtype)) is not None:
            return Decision(copied=("x",), converted=kind)
        task, shown = scans.task_of(op, given, dtype, exclusive=bool(exclusive), called=_SCAN)
        begin = scans.begin_of(initial, bits, shown, task)
        if result is not None:
            arguments.require_result(result, task.result, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        plan = _plan_scan(task, given, labels, result, begin, machine) if given.size else None
        return Decision((Result(given.shape, scans.dtype_of(task.result, given)),), plan=plan, in_place=("x",))

    numbers = scans.numbers_of(bits)
    return call("scan_by_key", asked, {"keys": keys, "x": values}, decide, out, stream, called=_CALLED, numbers=numbers)


def reduce_by_key(
    keys: Any,
    values: Any,
    op: str | Operator = "add",
    *,
    initial: Any = None,
    dtype: Any = None,
    count: bool = False,
    size: int | None = None,
    fill_value: Any = 0,
    stream: Any = None,
) -> Any:
    """Return the key of each run of equal keys, and the combination of the values beside it.

    Parameters
    ----------
    keys, values, op, initial, dtype, stream
        As for `prism.lib.scan_by_key`.
    count : bool, default False
        Leave the number of runs where it is computed: see below.
    size : int, optional
        How many elements the results have: those of the first runs, and `fill_value` behind them.
    fill_value : number, default 0
        See `size`.

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
    One pass: each key and value is read once. The kernel writes the number of runs into the host's memory, and a call on arrays
    of a GPU waits for that. With `count` or `size` it does not wait, and can be captured in a CUDA graph. With `size` a kernel
    for each result copies what is there.

    Examples
    --------
    >>> prism.lib.reduce_by_key(np.array([7, 7, 8, 8, 7]), np.array([3, 1, 4, 1, 5]))
    (array([7, 8, 7]), array([4, 5, 5]))
    """
    if not (mode := mode_of(count, size, fill_value)).cut:
        count = True
    bits = scans.bits_of(initial, values, op, dtype)
    asked = ("reduce_by_key", op, dtype, count, scans.begins(initial, bits))
    if stream is None and (known := repeat.run_many(asked, (keys, values, None), number=bits)) is not None:
        return known if mode.size is None else _fixed(known, mode.size, (fill_value, fill_value), stream)
    return _reduce_by_key_anew(asked, keys, values, op, initial, dtype, count, fill_value, stream, mode, bits)


def _reduce_by_key_anew(
    asked: tuple[Any, ...],
    keys: Any,
    values: Any,
    op: str | Operator,
    initial: Any,
    dtype: Any,
    count: bool,
    fill_value: Any,
    stream: Any,
    mode: Any,
    bits: int | None,
) -> Any:
    """Do what `reduce_by_key` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, labels = _pair(arrays)
        if (kind := scans.conversion(given, dtype)) is not None:
            return Decision(copied=("x",), converted=kind)
        task, shown = scans.task_of(op, given, dtype, exclusive=True, called=_REDUCE)
        begin = scans.begin_of(initial, bits, shown, task)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        dtypes = scans.dtype_of(labels.scalar, labels), scans.dtype_of(task.result, given)
        results = (*(Result(given.shape, dtype) for dtype in dtypes), Result((1,), np.dtype(np.int64)))
        plan = _plan_reduce(task, given, labels, begin, machine) if given.size else None
        return Decision(results, scan_plans.RUNS, plan, fill=None if given.size else 0, cut=not count)

    numbers = scans.numbers_of(bits)
    found = call(
        "reduce_by_key", asked, {"keys": keys, "x": values}, decide, None, stream, called=_CALLED, numbers=numbers
    )
    return found if mode.size is None else _fixed(found, mode.size, (fill_value, fill_value), stream)


def run_length_encode(
    x: Any,
    *,
    nontrivial: bool = False,
    count: bool = False,
    size: int | None = None,
    fill_value: Any = 0,
    stream: Any = None,
) -> Any:
    """Return the element of each run of equal elements, and how many there are of it.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of one dimension, of bools or numbers. NaN is equal to nothing.
    nontrivial : bool, default False
        Return where runs of more than one element begin, and their lengths, and nothing of others.
    count, size, fill_value, stream
        As for `prism.lib.reduce_by_key`. Behind lengths stands 0, and with `nontrivial` behind positions the size of `x`.

    Returns
    -------
    values, lengths : array
        One element a run, of the library and device of `x`; lengths are int64, and so are positions. With `count` as of
        `prism.lib.reduce_by_key`.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.reduce_by_key`.

    Notes
    -----
    One pass: `x` is read once, and nothing else. With `nontrivial` it is `prism.lib.flatnonzero` twice, of where runs begin and
    of where they end: each reads `x` once.

    Examples
    --------
    >>> prism.lib.run_length_encode(np.array([7, 7, 8, 8, 7]))
    (array([7, 8, 7]), array([2, 2, 1]))
    >>> prism.lib.run_length_encode(np.array([7, 7, 9, 8, 8]), nontrivial=True)
    (array([0, 3]), array([2, 2]))
    """
    if nontrivial:
        mode_of(count, size, fill_value)
        facts = arguments.facts_of(x, "keys")
        require_axes(facts, "x", 1)
        if facts.scalar not in _KEYS:
            raise TypeError(f"`x` has dtype {facts.scalar}, which is not supported")
        return _long_runs(x, count, size, stream)
    mode, x = mode_of(count, size, fill_value), arguments.array_of(x)
    if mode.size and 0 in x.shape:  # no kernel says how many runs there are
        found = encode(x, mode_of(True, None, 0), stream)
        return _fixed(found, mode.size, (fill_value, 0), stream)
    return encode(x, mode, stream)


def _long_runs(x: Any, count: bool, size: int | None, stream: Any) -> Any:
    """Return where runs of more than one element begin, and their lengths."""
    from prism.lib.algorithms.select.api import flatnonzero
    from prism.lib.lazy.array import at, of, of_number
    from prism.lib.lazy.places import choose, positions

    given = of(x)
    shape, place = given.shape, positions(given.shape)
    before, behind = at(given, positions(shape, -1)), at(given, positions(shape, 1))
    yes, no = of_number(True, None, shape), of_number(False, None, shape)
    last = place == given.size - 1
    begins = choose(place == 0, yes, given != before) & choose(last, no, given == behind)
    ends = choose(place == 0, no, given == before) & choose(last, yes, given != behind)
    n = given.size
    first = flatnonzero(begins, count=count, size=size, fill_value=n, stream=stream)
    end = flatnonzero(ends, count=count, size=size, fill_value=n - 1, stream=stream)
    number: tuple[Any, ...] = ()
    if count:
        (first, *number), (end, _) = first, end

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        found: Lazy = arrays["end"] - arrays["first"] + 1
        return found

    lengths = transform("run_length_encode", (), {"first": first, "end": end}, compose, None, stream)
    return (first, lengths, *number)


def _fixed(found: tuple[Any, Any, Any], size: int, fills: tuple[Any, Any], stream: Any) -> tuple[Any, Any]:
    """Return the first elements of two results, of which the third says how many are set, and what is filled in behind them."""
    *results, number = found

    def fixed(x: Any, fill: Any) -> Any:
        fill_of(fill, arguments.facts_of(x, "x"))  # here: what is raised names the argument

        def compose(arrays: Mapping[str, Lazy]) -> Lazy:
            from prism.lib.lazy.array import at, broadcast
            from prism.lib.lazy.places import choose, positions

            place = positions((size,))
            many = broadcast(arrays["number"], (size,))
            given = at(arrays["x"], place)  # which has other elements than the result: not by vectors
            return choose(place < many, given, broadcast(number_like(fill, given), (size,)))

        asked = ("size", size, arguments.exactly(fill))
        return transform("reduce_by_key", asked, {"x": x, "number": number}, compose, None, stream)

    one, other = (fixed(x, fill) for x, fill in zip(results, fills, strict=True))
    return one, other


# -- Arguments and plans --------------------------------------------------------------------------------------------------


def _pair(arrays: Mapping[str, ArrayInfo]) -> tuple[ArrayInfo, ArrayInfo]:
    """Return the facts of values and keys, checked."""
    given, labels = arrays["x"], arrays["keys"]
    if labels.scalar not in _KEYS:
        raise TypeError(f"`keys` has dtype {labels.scalar}, which is not supported")
    require_axes(labels, "keys", 1)
    arguments.require_one_shape(labels, given)
    return given, labels


def _kind(keys: ArrayInfo) -> str:
    """Return the type that keys are compared as: signs don't matter."""
    return f"u{keys.scalar}" if keys.scalar.startswith("int") else keys.scalar


def _plan_scan(
    task: Task, given: ArrayInfo, labels: ArrayInfo, result: ArrayInfo | None, initial: Any, machine: Machine
) -> Plan:
    """Return the plan of a scan by key."""
    shape, where = Shape(1, given.size, 1, scans.is_aligned(given, result)), (KEYS, 0, _kind(labels), Buffer("keys"))
    way = scan_plans.segments(task, shape, *where, host=machine.host, keys_aligned=scans.past(labels) == 0)
    return scan_plans.plan(way, task, initial, machine)


def _plan_reduce(task: Task, given: ArrayInfo, labels: ArrayInfo, initial: Any, machine: Machine) -> Plan:
    """Return the plan of a reduction by key."""
    aligned, keys_aligned = scans.past(given) == 0, scans.past(labels) == 0
    way = scan_plans.runs(task, given.size, aligned, _kind(labels), host=machine.host, keys_aligned=keys_aligned)
    return scan_plans.plan(way, task, initial, machine)


__all__ = ["reduce_by_key", "run_length_encode", "scan_by_key"]
