"""Calls of histograms: what each comes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments as host_arguments
from prism.host import lazies, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Buffer, Machine, Plan, Scratch
from prism.kernels import histogram as kernels
from prism.kernels.histogram.configurations import GUESSED
from prism.lib.algorithms.histogram import arguments, plan
from prism.lib.algorithms.histogram.plan import Task
from prism.lib.algorithms.histogram.rules import even_bins, limits_of
from prism.lib.algorithms.scan.api import memory_order
from prism.runtime.arrays import BFLOAT16, ArrayInfo


def is_located(info: ArrayInfo) -> bool:
    """Whether it is known where an array is: it is memory, or reads some."""
    return not isinstance(info, lazies.LazyInfo) or info.located


def locate(info: ArrayInfo, given: Mapping[str, Any]) -> ArrayInfo:
    """Return the facts of `x`, where the others are if it reads no memory."""
    return info if is_located(info) else host_arguments.describe_all(given, {})["x"]


def count_even(
    given: Mapping[str, Any], kind: np.dtype[Any], limits: tuple[Any, Any], size: int, stream: Any
) -> tuple[Any, Any]:
    """Return the counts of even bins in a range, and their edges.

    Raises:
        TypeError, ValueError: see `rules`.
    """
    asked = (_asked_by(given), size, *map(host_arguments.exactly, limits))

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x = arrays["x"]
        found = even_bins(kind, *limits_of(*limits), size)
        if copied := _copied(arrays):
            return Decision(copied=copied)
        task = Task(arguments.scalar_of(x), size, kernels.EVEN, _weights_of(arrays), found)
        steps = [plan.prepare(size, task.sums, size, found, host=machine.host)]
        if x.size and not found.empty:
            steps.append(plan.count(task, x.size, machine, x, arrays.get("weights"), Buffer("edges")))
        results = Result((size,), np.dtype(task.sums)), Result((size + 1,), found.edges)
        return Decision(results, (OUT, "edges"), Plan(tuple(steps)))

    counts, edges = call("histogram", asked, given, decide, None, stream, called={"x": "a"})
    return counts, edges


def count_between(
    given: Mapping[str, Any],
    edges: Any,
    edge_kind: np.dtype[Any],
    kind: np.dtype[Any],
    stream: Any,
    sorted_: bool = True,
) -> Any:
    """Return the counts between edges; `kind`, `edge_kind`: the dtypes that both are taken for.

    Unless edges are known to be `sorted_`, it waits for a kernel to look at them, and while the others run.

    Raises:
        ValueError: they are not.
    """

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x, table = arrays["x"], arrays["edges"]
        counted = {name: info for name, info in arrays.items() if name != "edges"}
        if copied := (*_copied(counted), *host_arguments.not_plain({"edges": table})):
            return Decision(copied=copied)
        size = max(table.size - 1, 0)
        between = (None, arguments.scalar_of(table), arguments.compared_as(kind, edge_kind))
        task = Task(arguments.scalar_of(x), size, kernels.EDGES, _weights_of(counted), *between)
        results = (Result((size,), np.dtype(task.sums)),)
        if not size:
            return Decision(results)
        steps = [plan.prepare(size, task.sums, host=machine.host)]
        if x.size:
            steps.append(plan.count(task, x.size, machine, x, arrays.get("weights"), Buffer("edges")))
        if sorted_:
            return Decision(results, plan=Plan(tuple(steps)))
        steps.insert(0, plan.check_edges(arguments.scalar_of(table), size))
        return Decision((*results, Result((1,), np.dtype(np.int64))), (OUT, plan.LENGTH), Plan(tuple(steps)), cut=1)

    names = {"x": "a", "edges": "bins"}
    asked = _between(sorted_, _asked_by(given))
    found = call("histogram", asked, {**given, "edges": edges}, decide, None, stream, called=names)
    return found if sorted_ else _require_sorted(found[0] if isinstance(found, tuple) else found, edges)


def repeat_between(x: Any, edges: Any) -> Any:
    """Do what an earlier `count_between` did for such arrays, of edges that a kernel looks at; None where there was none.

    Raises:
        ValueError: they are not sorted.
    """
    known = repeat.run(_between(sorted_=False), x, None, edges)
    return None if known is None else _require_sorted(known, edges)


def _between(sorted_: bool, name: str = "histogram") -> tuple[Any, ...]:
    """Return what `count_between` is looked up by."""
    return name, "edges", sorted_


def _asked_by(given: Mapping[str, Any]) -> str:
    """Return what a call is looked up by: of bools by another name, so that no call of them is made again without its warning."""
    return "histogram of bools" if host_arguments.facts_of(given["x"], "x").scalar == "bool" else "histogram"


def _require_sorted(counts: Any, edges: Any) -> Any:
    """Return counts between edges, of which a kernel has said how many there are: none, where edges are not sorted."""
    if counts.shape[0] != edges.shape[0] - 1:
        raise ValueError("`bins` must increase monotonically, when an array")
    return counts


def count_integers(given: Mapping[str, Any], size: int, stream: Any) -> Any:
    """Return the counts of 0, 1, ... `size - 1`."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x = arrays["x"]
        task = Task(arguments.scalar_of(x), size, kernels.IDENTITY, _weights_of(arrays))
        results = (Result((size,), np.dtype(task.sums)),)
        if not size:
            return Decision(results)
        if copied := _copied(arrays):
            return Decision(copied=copied)
        steps = [plan.prepare(size, task.sums, host=machine.host)]
        if x.size:
            steps.append(plan.count(task, x.size, machine, x, arrays.get("weights")))
        return Decision(results, plan=Plan(tuple(steps)))

    return call("bincount", ("bincount", size), given, decide, None, stream)


def most_counted(least: int) -> int:
    """Return in how many bins integers are counted of which the largest is not known."""
    return max(least, int(GUESSED))


def count_guessed(x: Any, least: int, stream: Any) -> Any:
    """Return the counts of all integers that occur, at least `least`; more than are counted so where there are others.

    Then they are of no use. There must be elements.
    """
    size = most_counted(least)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x = arrays["x"]
        if copied := _copied(arrays):
            return Decision(copied=copied)
        steps = plan.count_guessed(arguments.scalar_of(x), x.size, size, least, machine, x)
        results = Result((size + 1,), np.dtype(np.int64)), Result((1,), np.dtype(np.int64))
        return Decision(results, (OUT, plan.LENGTH), steps, cut=1)

    return call("bincount", guess(least), {"x": x}, decide, None, stream)


def guess(least: int) -> tuple[Any, ...]:
    """Return what `count_guessed` is looked up by."""
    return "bincount", "guessed", least


def count_all(given: Mapping[str, Any], info: ArrayInfo, least: int, stream: Any) -> Any:
    """Return the counts of all integers that occur, at least `least`. It waits to know how many there are.

    Without weights they are counted at once, in as many bins as there is room for. That is enough, as a rule.

    Raises:
        ValueError: there are negative integers, or too large ones.
        RuntimeError: a CUDA graph is being captured.
    """
    where = locate(info, given)
    if len(given) == 1:
        arguments.require_no_capture(where, "pass length=")
        counts = count_guessed(given["x"], least, stream)
        if counts.shape[0] <= most_counted(least):
            return counts
    low, high = arguments.extremes(given["x"], info, where, "pass length=")
    if low < 0:
        raise ValueError("`x` must have no negative elements")
    return count_integers(given, arguments.length_of(max(int(high) + 1, least), "x"), stream)


def count_cells(given: Mapping[str, Any], compared: tuple[str, ...], stream: Any) -> Any:
    """Return the counts of the cells of a grid, of points `x0`, `x1` ... between `edges0` and so on, compared in these types."""
    dimensions = range(len(compared))

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        shape = tuple(max(arrays[f"edges{k}"].size - 1, 0) for k in dimensions)
        total = arguments.length_of(int(np.prod(shape, dtype=object)), "bins")
        if copied := host_arguments.not_plain(arrays):
            return Decision(copied=copied)
        task = Task("int32", total, kernels.IDENTITY, _weights_of(arrays))
        results = (Result(shape, np.dtype(task.sums)),)
        if not total:
            return Decision(results)
        n, scratch = arrays["x0"].size, Scratch()
        steps = [plan.prepare(total, task.sums, host=machine.host)]
        places = scratch.take("int32", n)
        for k in dimensions if n else ():
            kinds = arguments.scalar_of(arrays[f"x{k}"]), arguments.scalar_of(arrays[f"edges{k}"]), compared[k]
            steps.append(plan.place(kinds, n, shape[k], total, k, places, host=machine.host))
        if n:
            steps.append(plan.count(task, n, machine, places, arrays.get("weights")))
        return Decision(results, plan=Plan(tuple(steps), scratch=scratch.used))

    called = {name: "bins" if name.startswith("edges") else "sample" for name in given if name != "weights"}
    return call("histogramdd", ("histogramdd", compared), given, decide, None, stream, called=called)


def as_weights(counts: Any, weights: ArrayInfo) -> Any:
    """Return sums of weights in their dtype."""
    dtype = BFLOAT16 if weights.dtype == BFLOAT16 else weights.dtype.newbyteorder("=")
    where = host_arguments.facts_of(counts, "weights")
    return counts if where.dtype == dtype else arguments.cast(counts, where, dtype)


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


__all__ = [
    "as_weights", "count_all", "count_between", "count_cells", "count_even", "count_guessed", "count_integers", "guess",
    "is_located", "locate", "most_counted", "repeat_between",
]  # fmt: skip
