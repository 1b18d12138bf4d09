"""Keys sorted along an axis, and values beside them: results that are made, or are put where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from prism.host import arguments, lazies, memory, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.machine import machine_of
from prism.host.overlap import overlap
from prism.host.plan import OUT, Machine
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.select.plan import moved_as
from prism.lib.algorithms.sort.plan import CARRIED, may_be_in_place, rows
from prism.lib.algorithms.sort_rows import plan as plans
from prism.lib.algorithms.sort_rows.axis import move_last, require_columns, require_order
from prism.lib.algorithms.sort_rows.plan import Kind
from prism.runtime.arrays import ArrayInfo
from prism.runtime.streams import choose_stream

_CALLED = {"x": "keys"}
How: TypeAlias = tuple[str, bool, tuple[int, int] | None]
"""For which function, whether from the largest key on, and which bits decide."""


def sort_by_key_along(
    keys: Any, values: Any, axis: int = -1, *, descending: bool = False, bits: tuple[int, int] | None = None,
    out: Sequence[Any] = (None, None), stream: Any = None, function: str = "sort_by_key",
) -> tuple[Any, Any]:  # fmt: skip
    """Return the rows of keys along `axis`, sorted, and of values, each where its key goes.

    `bits`: those of keys that decide, of rows that are sorted by digits. `out`: arrays for both; None: it is made.

    Raises:
        TypeError: `keys` is of a dtype without an order, or `values` of one whose elements have no usual size; `out` of another.
        ValueError: there is no such axis (`AxisError`); both have not one shape; `out` has another, or its arrays share memory.
    """
    views = move_last(keys, axis), move_last(values, axis)
    if all(one is None for one in out):
        made = _sort(views, None, (function, descending, bits), stream, in_place=False)
        return move_last(made[0], axis, undo=True), move_last(made[1], axis, undo=True)
    targets = [None if one is None else move_last(one, axis) for one in out]
    made = _put(views, targets, (function, descending, bits), stream)
    first, second = (
        move_last(found, axis, undo=True) if one is None else one for one, found in zip(out, made, strict=True)
    )
    return first, second


def _sort(views: tuple[Any, Any], targets: Any, how: How, stream: Any, *, in_place: bool) -> Any:
    """Return rows sorted along the last axis; `targets`: the results, or None; `in_place`: they are what is sorted."""
    function = how[0]
    asked = _asked(how, targets, in_place)
    given = dict(zip(("x", "values", plans.MOVED), (*views, *(targets or ())[1:]), strict=False))
    out = None if targets is None else targets[0]
    if stream is None and (known := repeat.run_many(asked, (*given.values(), out))) is not None:
        return known if targets is None else targets

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        keys, values = arrays["x"], arrays["values"]
        kind = _kind(keys, values, how)
        if copied := arguments.not_plain({"x": keys, "values": values}):
            return Decision(copied=copied)
        if isinstance(values, LazyInfo) and values.scalar not in CARRIED:
            return Decision(copied=("values",))
        made = 2 if targets is None else 1  # of two that are given, the second one is an argument
        results = tuple(Result(one.shape, dtype_of(one.scalar, one)) for one in (keys, values)[:made])
        names = (OUT, plans.MOVED)[:made]
        if not keys.size:
            return Decision(results, names)
        columns = keys.shape[-1]
        require_columns(keys.size // columns, columns, "keys", kind, machine)
        aligned = plans.is_aligned(keys, values, result, arrays.get(plans.MOVED))
        plan = rows(kind, keys.size // columns, columns, machine, aligned=aligned, in_place=in_place)
        return Decision(results, names, plan=plan, in_place=("x",) if in_place else ())

    found = call(function, asked, given, decide, out, stream, called=_CALLED)
    return found if targets is None else targets


def _asked(how: How, targets: Any, in_place: bool) -> tuple[Any, ...]:
    return "rows", *how, targets is None, in_place


def _put(views: tuple[Any, Any], targets: list[Any], how: How, stream: Any) -> Sequence[Any]:
    """Put rows sorted along the last axis into arrays, of which those that are None are made; return all."""
    asked, taken = ("rows put", *how), (*views, targets[1], targets[0])
    if stream is None and repeat.run_many(asked, taken) is not None:
        return targets
    infos = arguments.describe_all(dict(zip(("keys", "values"), views, strict=True)), {})
    keys, values = infos["keys"], infos["values"]
    kind = _kind(keys, values, how)
    results = results_of(targets, infos)
    there = [result for result in results if result is not None]
    same = [result is not None and _is(result, given) for result, given in zip(results, (keys, values), strict=True)]
    direct = all(result.contiguous and result.natural for result in there) and all(
        lazies.lie_apart(given, result) or (j == k and same[k])
        for k, result in enumerate(results) if result is not None
        for j, given in enumerate((keys, values))
    )  # fmt: skip
    if any(same) and direct:
        columns = keys.shape[-1]
        direct = may_be_in_place(kind, keys.size // max(columns, 1), columns, machine_of(keys))
    if not direct:
        return assign_pairs(targets, _sort(views, None, how, stream, in_place=False), keys, stream)
    handle = None if stream is None else choose_stream(stream, (keys,))
    with memory.working(keys, handle):
        whole = [
            memory.empty(keys, given.shape, dtype_of(given.scalar, given)) if target is None else target
            for target, given in zip(targets, (keys, values), strict=True)
        ]
    found: Sequence[Any] = _sort(views, whole, how, stream, in_place=any(same))
    if len(there) == len(whole):
        repeat.keep_place(asked, _asked(how, whole, any(same)), taken)
    return found


def assign_pairs(targets: Sequence[Any], made: Sequence[Any], where: ArrayInfo, stream: Any) -> tuple[Any, Any]:
    """Copy results to arrays, where these are not None; return all."""
    if any(target is not None for target in targets):
        repeat.refuse_plan()
        with memory.working(where, None if stream is None else choose_stream(stream, (where,))):
            for target, one in zip(targets, made, strict=True):
                if target is not None:
                    memory.assign(target, one)
    first, second = (one if target is None else target for target, one in zip(targets, made, strict=True))
    return first, second


def results_of(targets: Sequence[Any], infos: Mapping[str, ArrayInfo]) -> list[ArrayInfo | None]:
    """Return the facts of the arrays that results like those of `infos` are to be put into.

    Raises:
        TypeError, ValueError: one is no array, or of another dtype, shape, library or place; they share memory.
    """
    found: list[ArrayInfo | None] = []
    for k, (target, given) in enumerate(zip(targets, infos.values(), strict=True)):
        found.append(None if target is None else arguments.describe_result(target, infos, {}))
        if (result := found[-1]) is not None:
            arguments.require_scalar(result, given.scalar, f"out[{k}]")
            arguments.require_shape(result, given.shape, f"out[{k}]")
    first, second = found
    if first is not None and second is not None and overlap(first, second):
        raise ValueError("`out[0]` and `out[1]` share memory")
    return found


def _kind(keys: ArrayInfo, values: ArrayInfo, how: How) -> Kind:
    """Return what is sorted.

    Raises:
        TypeError, ValueError: as `sort_by_key_along`.
    """
    function, descending, bits = how
    moved = moved_as(values, "values", function)
    arguments.require_one_shape(keys, values)
    return Kind(require_order(keys, "keys", function), descending, values=moved, bits=bits)


def _is(result: ArrayInfo, given: ArrayInfo) -> bool:
    """Whether a result is the very memory of an array, element by element."""
    plain = given.contiguous and given.natural and not isinstance(given, LazyInfo)
    return plain and result.contiguous and result.pointer == given.pointer


__all__ = ["assign_pairs", "results_of", "sort_by_key_along"]
