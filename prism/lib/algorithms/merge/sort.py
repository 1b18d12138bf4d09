"""One row sorted by merging, in any order: what `sort` and its kin call where they are given `less`, or complex numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Machine
from prism.lib.algorithms.merge import plan as plans
from prism.lib.algorithms.merge.order import kind_of
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.select.plan import moved_as
from prism.runtime.arrays import ArrayInfo, require_axes


def sort_by(
    x: Any, less: Any = None, *, descending: bool = False, out: Any = None, stream: Any = None, function: str = "sort"
) -> Any:
    """Return the elements of a one-dimensional array so that none is `less` than the one before it; equal ones keep their order.

    `less`: as of `prism.lib.merge`, and by default what it has.

    Raises:
        TypeError: `x` is of a dtype without an order, `out` of another; `less` is no device function, or with `descending`.
        ValueError: `x` has not one dimension; `out` has another shape.
    """
    asked = (function, "merges", less, bool(descending))
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        require_axes(given, "x", 1)
        kind = kind_of(given, "", less, descending, "x", function)
        if result is not None:
            arguments.require_scalar(result, given.scalar)
            arguments.require_shape(result, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        beside = result is not None and not (result.contiguous and result.natural)
        results = (Result(given.shape, dtype_of(given.scalar, given)),)
        plan = plans.sort(kind, given.size, machine) if given.size else None
        return Decision(results, plan=plan, beside=beside)

    return call(function, asked, {"x": x}, decide, out, stream)


def sort_pairs_by(
    keys: Any,
    values: Any,
    less: Any = None,
    *,
    descending: bool = False,
    stream: Any = None,
    function: str = "sort_by_key",
) -> Any:
    """Return keys sorted as by `sort_by`, and values, each where its key goes.

    Raises:
        TypeError: as `sort_by`; or values are of a dtype of another size than 1, 2, 4, 8 or 16 bytes.
        ValueError: as `sort_by`; or there are more or fewer values than keys.
    """
    asked = (function, "merges", less, bool(descending))
    if stream is None and (known := repeat.run_many(asked, (keys, values, None))) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given, beside = arrays["x"], arrays["values"]
        require_axes(given, "keys", 1)
        moved = moved_as(beside, "values", function)
        kind = kind_of(given, moved, less, descending, "keys", function)
        arguments.require_one_shape(given, beside)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (
            Result(given.shape, dtype_of(given.scalar, given)),
            Result(given.shape, dtype_of(beside.scalar, beside)),
        )
        plan = plans.sort(kind, given.size, machine) if given.size else None
        return Decision(results, (OUT, plans.VALUES), plan=plan)

    return call(function, asked, {"x": keys, "values": values}, decide, None, stream, called={"x": "keys"})


def argsort_by(
    x: Any, less: Any = None, *, descending: bool = False, stream: Any = None, function: str = "argsort"
) -> Any:
    """Return the positions, int64, that sort an array as `sort_by` does.

    Raises:
        TypeError, ValueError: as `sort_by`.
    """
    from prism.lib import lazy

    facts = arguments.facts_of(x, "x")
    require_axes(facts, "x", 1)
    return sort_pairs_by(x, lazy.arange(facts.size), less, descending=descending, stream=stream, function=function)[1]


__all__ = ["argsort_by", "sort_by", "sort_pairs_by"]
