"""Histograms: how many elements are in each bin, or the sum of their weights."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments as host_arguments
from prism.host import lazies
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Machine, Plan
from prism.kernels import histogram as kernels
from prism.lib.algorithms.histogram import arguments, plan
from prism.lib.algorithms.histogram.plan import Task
from prism.lib.algorithms.histogram.rules import even_bins
from prism.lib.algorithms.scan.api import memory_order
from prism.runtime.arrays import BFLOAT16, ArrayInfo

_INT64 = np.dtype(np.int64)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, *, stream: Any = None
) -> tuple[Any, Any]:
    """Return how many elements are in each bin, and the bins' edges: `numpy.histogram`.

    Parameters
    ----------
    a : array or lazy array
        Of any shape; of bool, an integer type, bfloat16, float16, float32 or float64. NaN is in no bin.
    bins : int or array, default 10
        How many bins of equal width; or their edges, which increase. Each bin has its lower edge, and the last one both.
    range : (low, high), optional
        The outermost edges of even bins; by default the smallest and the largest element, which the call waits for.
    density : bool, optional
        Return the density instead: its integral over all bins is 1.
    weights : array or lazy array, optional
        What each element counts, of the shape of `a`: of an integer type, bool or a float type.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    counts, edges : array
        Of the library of `a`. Counts are int64, or of the dtype of `weights`; densities float64. There is one more edge.

    Raises
    ------
    TypeError
        `a` is complex, or of a dtype that is not supported; `bins` is no integer and no array, or a string, which would have the
        number of bins estimated.
    ValueError
        `bins` is not positive, has more than one axis, does not increase or has NaN; `range` is turned round, or not finite, as
        elements where there is no range; there are more bins than numbers in the range; `weights` has another shape.

    Notes
    -----
    The counts are NumPy's bit for bit: its rule for bins, with its roundings, is computed where rounding may matter. Numbers of
    bfloat16 are computed in float32. Weights are added in any order: integers as int64, floats as float64, so that the last bits
    of their sums may differ from call to call. With a `range`, or with edges on the host, nothing is waited for.

    Examples
    --------
    >>> prism.lib.histogram(np.array([1, 2, 1, 4]), bins=3)
    (array([2, 1, 1]), array([1., 2., 3., 4.]))
    """
    a, weights = arguments.array_of(a), None if weights is None else arguments.array_of(weights)
    info = host_arguments.facts_of(a, "a")
    kind = arguments.dtype_of(info, "a")
    if info.scalar == "bool":
        warnings.warn("Converting input from bool to uint8 for compatibility.", RuntimeWarning, stacklevel=2)
    given = {"x": a}
    if weights is not None:
        given["weights"] = weights
        arguments.require_shape(
            host_arguments.facts_of(weights, "weights"), info, "`weights` should have the same shape as `a`."
        )
    size = arguments.number_of_bins(bins)
    if size is None:
        edges, edge_kind = arguments.edges_of(bins, _placed(info, given))
        counts = _count_between(given, edges, edge_kind, kind, stream)
    else:
        first, last = arguments.outer_edges(a, info, range)
        counts, edges = _count_even(given, kind, first, last, size, stream)
    if weights is not None:
        counts = _weighed(counts, host_arguments.facts_of(weights, "weights"))
    if density:
        widths = (edges[1:] - edges[:-1]) * 1.0
        return counts / widths / counts.sum(), edges
    return counts, edges


def bincount(x: Any, weights: Any = None, minlength: Any = 0, *, length: Any = None, stream: Any = None) -> Any:
    """Return how often each integer occurs, from 0 on: `numpy.bincount`.

    Parameters
    ----------
    x : array or lazy array
        Of one dimension; of an integer type or bool, not negative.
    weights : array or lazy array, optional
        What each element counts, of the size of `x`: of an integer type, bool or a float type.
    minlength : int, default 0
        The least number of counts.
    length : int, optional
        The number of counts, as of `jax.numpy.bincount`: then nothing is waited for, and the call can be captured in a CUDA graph.
        Integers that are not below it, or negative, are left out.
    stream : stream or int, optional
        As for `prism.lib.histogram`.

    Returns
    -------
    array
        Of the library of `x`, int64; with `weights` float64. One more than the largest element, which the call waits for.

    Raises
    ------
    TypeError
        `x` is of floats, or complex; `weights` are complex; `minlength` or `length` is no integer.
    ValueError
        `x` has negative elements, or other than one dimension; `weights` has another size; `minlength` or `length` is negative.

    Notes
    -----
    Weights are added as float64, in any order: the last bits of their sums may differ from call to call.

    Examples
    --------
    >>> prism.lib.bincount(np.array([0, 1, 1, 3, 2, 1]))
    array([1, 3, 1, 1])
    """
    x, weights = arguments.array_of(x), None if weights is None else arguments.array_of(weights)
    info = host_arguments.facts_of(x, "x")
    if info.scalar != "bool" and info.dtype.kind not in "iu" and info.size:
        raise TypeError(f"Cannot cast array data of `x` from {info.dtype} to int64 according to the rule 'safe'")
    if len(info.shape) != 1:
        raise ValueError("`x`: object too deep for desired array" if info.shape else "`x`: object of too small depth")
    given = {"x": x}
    if weights is not None:
        heavy = host_arguments.facts_of(weights, "weights")
        arguments.dtype_of(heavy, "weights")
        arguments.require_shape(heavy, info, "The `weights` and `x` don't have the same length.")
        given["weights"] = weights
    least = _length(minlength, "minlength")
    if length is not None:
        size = _length(length, "length")
    elif not info.size:
        size = least
    else:
        low, high = arguments.extremes(x, info)
        if low < 0:
            raise ValueError("`x` must have no negative elements")
        size = max(int(high) + 1, least)
    counts = _count_integers(given, size, stream)
    return counts if weights is None else arguments.cast(counts, _placed(info, given), np.dtype(np.float64))


# -- Calls ----------------------------------------------------------------------------------------------------------------


def _placed(info: ArrayInfo, given: Mapping[str, Any]) -> ArrayInfo:
    """Return the facts of `x`, where the others are if it reads no memory."""
    if not isinstance(info, lazies.LazyInfo) or info.located:
        return info
    return host_arguments.describe_all(given, {})["x"]


def _length(value: Any, name: str) -> int:
    """Return a number of counts.

    Raises:
        TypeError: it is no integer.
        ValueError: it is negative, or too large.
    """
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, not {type(value).__name__}") from None
    if found < 0:
        raise ValueError(f"`{name}` must not be negative")
    if found >= 1 << 30:
        raise ValueError(f"`{name}` is {found}: there are at most 2^30 - 1 counts")
    return found


def _copied(arrays: Mapping[str, ArrayInfo]) -> tuple[str, ...]:
    """Return the arrays that must be copied: a single one is read in any order of its axes."""
    if len(arrays) == 1 and (x := arrays["x"]).natural and memory_order(x) is not None:
        return ()
    return host_arguments.not_plain(arrays)


def _weights_of(arrays: Mapping[str, ArrayInfo]) -> str:
    if "weights" not in arrays:
        return ""
    arguments.dtype_of(arrays["weights"], "weights")
    return arguments.scalar_of(arrays["weights"])


def _count_even(
    given: Mapping[str, Any], kind: np.dtype[Any], first: Any, last: Any, size: int, stream: Any
) -> tuple[Any, Any]:
    """Return the counts of even bins, and their edges."""
    asked = ("histogram", size, host_arguments.exactly(first), host_arguments.exactly(last))

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x = arrays["x"]
        found, _ = even_bins(kind, first, last, size)
        if copied := _copied(arrays):
            return Decision(copied=copied)
        task = Task(arguments.scalar_of(x), size, kernels.EVEN, _weights_of(arrays), found)
        steps = [plan.prepare(size, task.sums, size, found, found.edges.name, host=machine.host)]
        if x.size and not found.empty:
            steps.append(plan.count(task, x.size, machine, x, arrays.get("weights")))
        results = Result((size,), np.dtype(task.sums)), Result((size + 1,), found.edges)
        return Decision(results, (OUT, "edges"), Plan(tuple(steps)))

    return call("histogram", asked, given, decide, None, stream, called={"x": "a"})


def _count_between(
    given: Mapping[str, Any], edges: Any, edge_kind: np.dtype[Any], kind: np.dtype[Any], stream: Any
) -> Any:
    """Return the counts between edges."""
    compared = np.promote_types(kind, edge_kind)
    compared = np.dtype(np.float32) if compared == np.float16 else compared

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x, table = arrays["x"], arrays["edges"]
        counted = {name: info for name, info in arrays.items() if name != "edges"}
        if copied := (*_copied(counted), *host_arguments.not_plain({"edges": table})):
            return Decision(copied=copied)
        size = max(table.size - 1, 0)
        kind = arguments.scalar_of(table)
        task = Task(
            arguments.scalar_of(x), size, kernels.EDGES, _weights_of(counted), None, kind, compared.name
        )
        results = (Result((size,), np.dtype(task.sums)),)
        if not size:
            return Decision(results)
        steps = [plan.prepare(size, task.sums, size, None, "", host=machine.host)]
        if x.size:
            steps.append(plan.count(task, x.size, machine, x, arrays.get("weights"), Buffer("edges")))
        return Decision(results, plan=Plan(tuple(steps)))

    asked = ("histogram", "edges")
    return call("histogram", asked, {**given, "edges": edges}, decide, None, stream, called={"x": "a", "edges": "bins"})


def _count_integers(given: Mapping[str, Any], size: int, stream: Any) -> Any:
    """Return the counts of 0, 1, ... `size - 1`."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x = arrays["x"]
        task = Task(arguments.scalar_of(x), size, kernels.IDENTITY, _weights_of(arrays))
        results = (Result((size,), np.dtype(task.sums)),)
        if not size:
            return Decision(results)
        if copied := _copied(arrays):
            return Decision(copied=copied)
        steps = [plan.prepare(size, task.sums, size, None, "", host=machine.host)]
        if x.size and "int" in task.given:
            steps.append(plan.count(task, x.size, machine, x, arrays.get("weights")))
        return Decision(results, plan=Plan(tuple(steps)))

    return call("bincount", ("bincount", size), given, decide, None, stream)


def _weighed(counts: Any, weights: ArrayInfo) -> Any:
    """Return sums of weights in their dtype."""
    dtype = BFLOAT16 if weights.dtype == BFLOAT16 else weights.dtype.newbyteorder("=")
    where = host_arguments.facts_of(counts, "weights")
    return counts if where.dtype == dtype else arguments.cast(counts, where, dtype)


__all__ = ["bincount", "histogram"]
