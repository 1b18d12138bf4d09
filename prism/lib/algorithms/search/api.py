"""Where values belong in sorted arrays, `searchsorted` and `digitize`; and where the first of some elements is, `find`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, lazies, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray, LazyInfo
from prism.host.plan import Machine, Plan
from prism.kernels.lookup import FALLS, NEITHER, RISES
from prism.kernels.select import is_set
from prism.lang.surface import Kernel
from prism.lib.algorithms.search import plan as plans
from prism.lib.algorithms.select import calls
from prism.lib.algorithms.select.plan import tested_as
from prism.lib.algorithms.transform.calls import bind_steps, stand_in
from prism.lib.lazy import flip
from prism.lib.lazy.array import of
from prism.runtime.arrays import ArrayInfo, describe, is_array, require_axes

_INT64 = np.dtype(np.int64)
_ORDER = ("digitize", "order of edges")


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, out: Any = None, stream: Any = None) -> Any:
    """Return where elements are to be inserted in a sorted array, so that it stays sorted: `numpy.searchsorted`.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch, or lazy array
        Of one dimension, of bools or numbers, in ascending order, NaN last; or in the order that `sorter` says. Complex numbers
        are in the order of NumPy's `sort`.
    v : array, lazy array or number
        What is looked up: of the library and device of `a`, of any shape. Elements are compared in the dtype that NumPy's
        `result_type` gives of both.
    side : {"left", "right"}, default "left"
        Before elements that are equal to it, or behind them.
    sorter : array or lazy array of integers, optional
        The positions of the elements of `a` in ascending order.
    out : array of int64, optional
        Where to put the result: of the shape of `v`, C-contiguous.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of int64, of the shape of `v`; `out`, if given.

    Raises
    ------
    TypeError
        `a` or `v` is no array, or of a dtype that is not supported; they are of two libraries; `sorter` is not of
        integers; `out` is not of int64.
    ValueError
        `a` has another number of dimensions than one; `side` is another; `sorter` is of another size than `a`, or an index of a
        NumPy array is out of range; `out` has another shape; `stream` for arrays on the host.

    Notes
    -----
    Nothing looks whether `a` is sorted. Of many values the top of the table is read from shared memory, as a tree that a first
    kernel makes; a second looks all of them up. With `sorter` no plan can be made.

    Examples
    --------
    >>> prism.lib.searchsorted(np.array([1, 3, 3, 5]), np.array([3, 0, 9]))
    array([1, 0, 4])
    >>> prism.lib.searchsorted(np.array([1, 3, 3, 5]), np.array([3, 0, 9]), side="right")
    array([3, 0, 4])
    """
    if side not in ("left", "right"):
        raise ValueError(f"`side` must be 'left' or 'right', not {side!r}")
    if sorter is not None:
        a = _in_order(a, sorter)
    return _search("searchsorted", a, v, side == "right", False, {"x": "a"}, out, stream)


def digitize(x: Any, bins: Any, right: bool = False, *, out: Any = None, stream: Any = None) -> Any:
    """Return in which bin each element is: `numpy.digitize`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, lazy array or number
        Of any shape, of bools, integers or floats.
    bins : array
        The edges of bins: of one dimension, ascending or descending; of the library and device of `x`.
    right : bool, default False
        Whether a bin has its right edge, and not its left one.
    out, stream
        As for `prism.lib.searchsorted`.

    Returns
    -------
    array
        Of int64, of the shape of `x`: the number of the bin, 0 before the first edge, and `len(bins)` behind the last; `out`, if
        given.

    Raises
    ------
    TypeError
        As `prism.lib.searchsorted`.
    ValueError
        `bins` are neither ascending nor descending, or have another number of dimensions than one; else as
        `prism.lib.searchsorted`.

    Notes
    -----
    It is `prism.lib.searchsorted` in `bins`. The host must know in which order they are: of arrays on a GPU it waits for a kernel
    that looks at them; of edges in no order `out` may have been written by then. Where they are known to ascend, call that, which
    waits for nothing.

    Examples
    --------
    >>> prism.lib.digitize(np.array([0.2, 6.4, 3.0]), np.array([0.0, 1.0, 2.5, 4.0]))
    array([1, 4, 3])
    """
    bins = arguments.array_of(bins)
    told = repeat.begin(_ORDER, bins) if stream is None else None
    if told is not None:  # while it is not known whether edges rise, which they mostly do, they are taken to
        found = repeat.run_many(("digitize", not right, False), (bins, x, out))
        falls = _told(told())
        if found is not None and not falls:
            return found
    else:
        falls = _falls(bins, stream)
    table = flip(bins) if falls and isinstance(bins, LazyArray) else bins
    return _search("digitize", table, x, not right, falls, {"x": "bins", "v": "x"}, out, stream)


def find(x: Any, condition: Any, *, out: Any = None, stream: Any = None) -> Any:
    """Return the position, in C order, of the first element that a mask, or a function of the elements, says; or -1.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape.
    condition : array, lazy array, device function or lambda
        A mask of the shape of `x`, of bools or numbers, of which none but zero counts; `x` is then not read. Or a function of one
        element, as of `prism.lib.lazy.map`.
    out : array of one int64, optional
        Where to put the result: of no dimensions.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array or scalar
        Of int64 and no dimensions, on the device of `x`: -1 where there is none. Of NumPy arrays a scalar. `out`, if given.

    Raises
    ------
    CompileError
        `condition` is a function that does not take such elements, or has what Prism does not have.
    TypeError
        `x` or `condition` is none of these, or of a dtype that is not supported; they are of two libraries, or one is on the
        host; `out` is not of int64.
    ValueError
        They have two shapes, or are on two GPUs; `out` has dimensions; `stream` for arrays on the host.

    Notes
    -----
    Elements are looked at in their order, by blocks that run at once. They stop when one has found what they look for, so what
    stands far behind it is not read.

    Examples
    --------
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> prism.lib.find(x, lambda e: e > 3)
    np.int64(2)
    >>> prism.lib.find(x, x == 7)
    np.int64(-1)
    """
    plainly = isinstance(condition, Kernel)
    if plainly and stream is None and (known := repeat.run(("find", condition), x, out)) is not None:
        return known
    condition = arguments.array_of(condition)
    applied = None
    if plainly or (not is_array(condition) and not isinstance(condition, LazyArray)):
        applied = calls.function_to_apply(condition)
    if stream is None and not plainly and (known := _repeat_find(x, condition, applied, out)) is not None:
        return known
    if applied is not None:
        condition = applied.map_over(x)
    elif tuple(condition.shape) != (shape := tuple(arguments.facts_of(x, "x").shape)):
        raise ValueError(f"`condition` must have shape {shape}, as `x`, not {tuple(condition.shape)}")
    function = calls.function_of(x, condition)  # then `x` itself is read, and a call like this one is known
    given = condition if function is None else x
    asked = ("find", function)
    if stream is None and (known := repeat.run(asked, given, out)) is not None:
        return known
    return _find_anew(asked, out, stream, function, given)


def _find_anew(asked: tuple[Any, ...], out: Any, stream: Any, function: Any, given: dict[str, Any]) -> Any:
    """Do what `find` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        mask = arrays["mask"]
        read, compared = tested_as(mask, "condition") if function is None else (mask.scalar, mask.scalar)
        if result is not None:
            arguments.require_result(result, "int64", ())
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result((), _INT64),)
        if not mask.size:
            return Decision(results, fill=-1)
        return Decision(results, plan=plans.first(read, compared, function or is_set, mask, machine))

    return call(
        "find", asked, {"mask": given}, decide, out, stream, called={"mask": "condition" if function is None else "x"}
    )


def _repeat_find(x: Any, condition: Any, applied: Any, out: Any) -> Any:
    """Do what an earlier call did: with a mask of the shape of `x`, or a function that is not told by numbers that it names."""
    if applied is not None:
        return None if applied.what is None else repeat.run(("find", applied.what), x, out)
    if getattr(x, "ndim", None) == 1 == condition.ndim:  # a length is read sooner than a shape
        alike = len(x) == len(condition)
    else:
        alike = getattr(x, "shape", None) == condition.shape
    return repeat.run(("find", None), condition, out) if alike else None


def _search(
    function: str, table: Any, values: Any, right: bool, down: bool, called: Mapping[str, str], out: Any, stream: Any
) -> Any:
    """Return where values belong in a table; `down`: it descends, and is one from its end on."""
    asked = (function, right, down)
    if stream is None and (known := repeat.run_many(asked, (table, values, out))) is not None:
        return known
    given = arguments.array_of(values)
    return _search_anew(
        asked, function, table, given if is_array(given) else _as_array(given), right, down, called, out, stream
    )


def _search_anew(
    asked: tuple[Any, ...],
    function: str,
    table: Any,
    values: Any,
    right: bool,
    down: bool,
    called: Mapping[str, str],
    out: Any,
    stream: Any,
) -> Any:
    """Do what `_search` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        sorted_, sought = arrays["x"], arrays["v"]
        try:
            kind = plans.kind_of(sorted_, sought, right=right)
        except TypeError as error:
            raise TypeError(f"`{called['x']}` or `{called.get('v', 'v')}`: {error}") from None
        require_axes(sorted_, called["x"], 1)
        if function == "digitize":
            _require_real(sorted_, sought)
        if result is not None:
            arguments.require_result(result, "int64", sought.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        others = tuple(name for name, info in arrays.items() if info.scalar != kind.compared)
        if others and kind.compared.startswith("complex"):
            return Decision(copied=others, converted=np.dtype(kind.compared))
        results = (Result(sought.shape, _INT64),)
        if not sought.size:
            return Decision(results)
        make = _search_down if down else plans.search
        return Decision(results, plan=make(kind, sorted_, sought, result, machine))

    return call(function, asked, {"x": table, "v": values}, decide, out, stream, called=called)


def _search_down(
    kind: plans.Kind, table: ArrayInfo, sought: ArrayInfo, result: ArrayInfo | None, machine: Machine
) -> Plan:
    """Return the plan of a search in a table that descends; a lazy one ascends already, from its end on."""
    if isinstance(table, LazyInfo):
        return plans.search(kind, table, sought, result, machine, down=True)
    placed = {"x": stand_in(table, 0)}
    view = describe(flip(of(placed["x"], "bins")))
    assert isinstance(view, LazyInfo)
    plan = plans.search(kind, view, sought, result, machine, down=True)
    return replace(plan, steps=bind_steps(plan.steps, {"x": view}, placed, machine.arch))


def _as_array(values: Any) -> Any:
    """Return a number, or a lazy array, as an array or a lazy one."""
    from prism.lib.lazy.array import Lazy, of_number

    if isinstance(values, complex | np.complexfloating):
        return np.asarray(values)
    return values if isinstance(values, Lazy) else of_number(values)


def _in_order(a: Any, sorter: Any) -> Any:
    """Return the elements of an array in the order that positions say.

    Raises:
        TypeError: the positions are no integers.
        ValueError: there are more or fewer than elements, or one is out of range.
    """
    from prism.lib import lazy

    given, places = arguments.facts_of(a, "a"), arguments.facts_of(sorter, "sorter")
    require_axes(given, "a", 1)
    if np.dtype(places.dtype).kind not in "iu":
        raise TypeError("`sorter` must only contain integers")
    if places.shape != given.shape:
        raise ValueError(f"`sorter` must have shape {given.shape}, as `a`, not {places.shape}")
    try:
        return lazy.take(a, sorter)
    except IndexError:
        raise ValueError("`sorter` index out of range") from None


def _falls(bins: Any, stream: Any) -> bool:
    """Whether edges of bins descend.

    Raises:
        TypeError: they are no array, or complex.
        ValueError: they neither ascend nor descend, or have another number of dimensions than one.
    """
    edges = arguments.facts_of(bins, "bins")
    _require_real(edges)
    require_axes(edges, "bins", 1)
    if (made := lazies.evaluate(edges)) is not None:
        edges = made
    if edges.size < 2 or not (edges.scalar == "bfloat16" or edges.dtype.kind in "biuf"):
        return False  # what has no order is refused where dtypes are looked at
    if edges.device is not None:
        return _told(int(call("digitize", _ORDER, {"bins": edges.owner}, _decide_order, None, stream)))
    values = edges.owner
    first = np.flatnonzero(values[1:] != values[:-1])[:1]  # before which an edge is another one
    if not first.size:
        return False
    if values[first[0]] < values[first[0] + 1]:  # NaN stands last of edges that ascend, and first of those that descend
        return _told(NEITHER if np.any(values[:-1] > values[1:]) else RISES)
    return _told(NEITHER if np.any(values[:-1] < values[1:]) else FALLS)


def _require_real(*infos: ArrayInfo) -> None:
    if any(info.dtype.kind == "c" for info in infos):
        raise TypeError("`x` and `bins` may not be complex")


def _decide_order(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
    if copied := arguments.not_plain(arrays):
        return Decision(copied=copied)
    return Decision((Result((1,), _INT64),), (plans.ORDER,), plans.order_of(arrays["bins"]), cut=1)


def _told(order: int) -> bool:
    """Return whether edges fall, of what a kernel says of their order.

    Raises:
        ValueError: they are in none.
    """
    if order == NEITHER:
        raise ValueError("`bins` must be monotonically increasing or decreasing")
    return bool(order == FALLS)


__all__ = ["digitize", "find", "searchsorted"]
