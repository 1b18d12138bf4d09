"""Differences of elements that stand beside each other, along an axis or in C order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import floats, memory, repeat
from prism.host.arguments import array_of, exactly, facts_of, require_integer
from prism.host.axes import normal_axis
from prism.host.lazies import LazyArray
from prism.lib.algorithms.difference.compose import differences, neighbours, promote
from prism.lib.algorithms.transform.api import evaluate
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import BOOL, Lazy, broadcast, convert, of_number
from prism.lib.lazy.closures import Applied
from prism.lib.lazy.places import join
from prism.lib.thread import operators
from prism.runtime.arrays import ArrayInfo, is_array

_OPERATORS = {name: getattr(operators, name) for name in ("add", "multiply", "minimum", "maximum", "not_equal")}


def diff(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, *, out: Any = None, stream: Any = None
) -> Any:
    """Return the differences of elements that stand beside each other along an axis: `numpy.diff`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of at least one dimension, of bools, integers, floats or complex numbers. Of bools it says which are not equal.
    n : int, default 1
        How many times differences are taken.
    axis : int, default -1
        Along which axis.
    prepend, append : array, lazy array or number, optional
        What `x` is taken to have before it, or behind it, along the axis: of its shape but for that axis, or a number.
    out : array, optional
        Where to put the result: of its shape and dtype, with any strides. It may overlap `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the library and device of `x`: `n` elements fewer along the axis, of the dtype of `x`, or that which NumPy's
        `concatenate` gives of all three. Integers wrap. `out`, if given; with `n` 0 `x` itself.

    Raises
    ------
    TypeError
        `x` is no array, or of a dtype that is not supported; `n` or `axis` is no integer; the arrays are of two libraries;
        `out` is of another dtype.
    ValueError
        `x` has no dimensions; `n` is negative; `prepend` or `append` has another shape; `out` has another shape;
        `stream` for arrays on the host. Of an axis that `x` does not have: `numpy.exceptions.AxisError`.

    Notes
    -----
    One kernel for each of the `n` times, that reads each element once; what is put before and behind is not copied.

    Examples
    --------
    >>> prism.lib.diff(np.array([3, 1, 4, 1, 5]))
    array([-2,  3, -3,  4])
    >>> prism.lib.diff(np.array([3, 1, 4, 1, 5]), n=2, prepend=0)
    array([-5,  5, -6,  7])
    """
    if stream is None and type(n) is int and n == 1:
        plainly = prepend is None and append is None
        asked = ("diff", axis, type(axis))
        if not plainly:
            asked += _numbers(prepend, append, "prepend", "append")
        if (known := repeat.run(asked, x, out)) is not None:
            return known
    return _diff_anew(x, n, axis, prepend, append, out, stream)


def _diff_anew(x: Any, n: int, axis: int, prepend: Any, append: Any, out: Any, stream: Any) -> Any:
    """Do what `diff` does where no earlier call was like it."""
    times = require_integer(n, "n")
    if times < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not times:
        return x if out is None else evaluate(x, out=out, stream=stream)
    given, ends = _split({"x": x, "prepend": prepend, "append": append})
    if out is None and len(given) == 1 and not ends and (lying := _lying(given["x"])) is not None:
        facts, axes = lying
        along = axes.index(normal_axis(axis, len(axes)))
        found = _diff_anew(memory.transpose(facts, facts.owner, axes), n, along, None, None, None, stream)
        back = tuple(axes.index(k) for k in range(len(axes)))
        return memory.transpose(facts_of(found, "x"), found, back)

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        return differences(_put(arrays, ends, axis), _axis(arrays["x"], axis))

    target = out if times == 1 else None
    found = transform("diff", (axis, type(axis), *_known(ends)), given, compose, target, stream)
    if times > 1:  # what has no elements left has none after any more times
        times = min(times, found.shape[normal_axis(axis, len(found.shape))] + 2)
    for k in range(1, times):
        target = out if k == times - 1 else None
        found = transform(
            "diff", (axis,), {"x": found}, lambda a: differences(a["x"], _axis(a["x"], axis)), target, stream
        )
    beside = {name: one for name, one in (("prepend", prepend), ("append", append)) if one is not None}
    return floats.warn_as(found, lambda: np.diff(x, times, axis, **beside), x, prepend, append)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None, *, out: Any = None, stream: Any = None) -> Any:
    """Return the differences of elements that stand beside each other in C order: `numpy.ediff1d`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of integers, floats or complex numbers.
    to_end, to_begin : array, lazy array or number, optional
        What stands behind the differences, or before them, in C order. They are converted to the dtype of `x`.
    out, stream
        As for `prism.lib.diff`.

    Returns
    -------
    array
        Of one dimension, of the dtype of `x`; `out`, if given.

    Raises
    ------
    TypeError
        `x` is of bools; what is put at an end is of another kind than `x`, as floats for integers; else as `prism.lib.diff`.
    ValueError
        As `prism.lib.diff`.

    Examples
    --------
    >>> prism.lib.ediff1d(np.array([[3, 1], [4, 1]]), to_begin=0)
    array([ 0, -2,  3, -3])
    """
    asked = ("ediff1d", *_numbers(to_begin, to_end, "to_begin", "to_end"))
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    return _ediff1d_anew(x, to_end, to_begin, out, stream)


def _ediff1d_anew(x: Any, to_end: Any, to_begin: Any, out: Any, stream: Any) -> Any:
    """Do what `ediff1d` does where no earlier call was like it."""
    given, ends = _split({"x": x, "to_begin": to_begin, "to_end": to_end})

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        of_x = arrays["x"]
        if of_x.scalar == BOOL:
            raise TypeError("`x` is of bools, and there is no difference of these: use prism.lib.diff")
        flat = Lazy(of_x.value, of_x.scalar, (of_x.size,), of_x.leaves, of_x.numbers)
        parts = {"x": differences(flat, 0)}
        for name in ("to_begin", "to_end"):
            end = arrays[name] if name in arrays else _number(ends, name)
            if end is None:
                continue
            if not np.can_cast(end.dtype, of_x.dtype, "same_kind"):
                text = f"dtype of `{name}` must be compatible with input `x` under the `same_kind` rule."
                raise TypeError(text)
            one = Lazy(end.value, end.scalar, (end.size,), end.leaves, end.numbers)
            parts[name] = convert(one, of_x.scalar)
        kept = [parts[name] for name in ("to_begin", "x", "to_end") if name in parts]
        return kept[0] if len(kept) == 1 else join(kept, 0)

    made = transform("ediff1d", _known(ends), given, compose, out, stream)
    return floats.warn_as(made, lambda: np.ediff1d(x), x, to_end, to_begin)


def adjacent_difference(
    x: Any, op: Any = "subtract", *, right: bool = False, out: Any = None, stream: Any = None
) -> Any:
    """Return a function of each element and the one before it, in C order; the first element stays as it is.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, and of any dtype that `op` takes.
    op : device function, lambda or str, default "subtract"
        What is made of an element and the one before it, `op(x[i], x[i - 1])`: "subtract" (of bools, whether they differ), "add",
        "multiply", "minimum", "maximum", "not_equal", or a function as of `prism.lib.lazy.map`.
    right : bool, default False
        Take the element behind it instead, `op(x[i], x[i + 1])`; then the last element stays as it is.
    out, stream
        As for `prism.lib.diff`.

    Returns
    -------
    array
        Of the shape of `x`, and of what `op` gives, to which the first element is converted; `out`, if given.

    Raises
    ------
    CompileError
        `op` does not take such numbers, or has what Prism does not have.
    TypeError, ValueError
        As `prism.lib.diff`; `op` is none of these.

    Examples
    --------
    >>> prism.lib.adjacent_difference(np.array([3, 1, 4, 1, 5]))
    array([ 3, -2,  3, -3,  4])
    >>> prism.lib.adjacent_difference(np.array([3, 1, 4]), lambda a, b: a * b, right=True)
    array([3, 4, 4])
    """
    plainly = stream is None and isinstance(op, str) and op == "subtract"
    if plainly and (known := repeat.run(("adjacent_difference", None, bool(right)), x, out)) is not None:
        return known
    return _adjacent_anew(x, op, right, out, stream)


def _adjacent_anew(x: Any, op: Any, right: bool, out: Any, stream: Any) -> Any:
    """Do what `adjacent_difference` does where no earlier call was like it."""
    if isinstance(op, str) and op != "subtract" and op not in _OPERATORS:
        raise ValueError(f"`op` is {op!r}, which is none of subtract, {', '.join(_OPERATORS)}")
    function = None if op == "subtract" else Applied(_OPERATORS[op] if isinstance(op, str) else op)

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        return neighbours(arrays["x"], function, right=right)

    return transform("adjacent_difference", (function and function.key, bool(right)), {"x": x}, compose, out, stream)


# -- Arguments ------------------------------------------------------------------------------------------------------------


def _lying(x: Any) -> tuple[ArrayInfo, tuple[int, ...]] | None:
    """Return the facts of an array, and its axes as they lie in memory; None where that is C's order."""
    if isinstance(x, LazyArray):
        return None
    facts = facts_of(x, "x")
    axes = memory.memory_order(facts.shape, facts.strides)
    return None if axes == tuple(range(len(axes))) else (facts, axes)


def _split(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return those arguments that are arrays, and those that are numbers; not those that are not there."""
    given = {name: array_of(one) for name, one in given.items()}
    arrays = {name: one for name, one in given.items() if name == "x" or is_array(one) or isinstance(one, Lazy)}
    return arrays, {name: one for name, one in given.items() if name not in arrays and one is not None}


def _known(ends: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what numbers are known by."""
    return tuple([(name, exactly(one)) for name, one in ends.items()])


_ARRAY = object()
"""What no call is known by."""


def _numbers(first: Any, last: Any, *names: str) -> tuple[Any, ...]:
    """Return what numbers at two ends are known by, as `_known` does; `_ARRAY` of one that is no number of Python's."""
    found: tuple[Any, ...] = ()
    if first is not None:
        found = ((names[0], exactly(first)) if type(first) in (int, float) else _ARRAY,)
    if last is not None:
        found = (*found, (names[1], exactly(last)) if type(last) in (int, float) else _ARRAY)
    return found


def _number(ends: Mapping[str, Any], name: str) -> Lazy | None:
    return of_number(ends[name]) if name in ends else None


def _axis(x: Lazy, axis: Any) -> int:
    if not x.shape:
        raise ValueError("diff requires input that is at least one dimensional")
    return normal_axis(axis, len(x.shape))


def _put(arrays: Mapping[str, Lazy], ends: Mapping[str, Any], axis: Any) -> Lazy:
    """Return an array with what stands before it and behind it along an axis."""
    x, along = arrays["x"], _axis(arrays["x"], axis)
    parts = {"x": x}
    for name in ("prepend", "append"):
        end = arrays[name] if name in arrays else _number(ends, name)
        if end is None:
            continue
        if not end.shape:
            end = broadcast(end, (*x.shape[:along], 1, *x.shape[along + 1 :]))
        if len(end.shape) != len(x.shape) or any(
            k != along and one != other for k, (one, other) in enumerate(zip(end.shape, x.shape, strict=True))
        ):
            raise ValueError(f"`{name}` has shape {end.shape}, which does not go with {x.shape} along axis {along}")
        parts[name] = end
    kept = [parts[name] for name in ("prepend", "x", "append") if name in parts]
    return x if len(kept) == 1 else join(promote(kept), along)


__all__ = ["adjacent_difference", "diff", "ediff1d"]
