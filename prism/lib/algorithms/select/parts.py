"""Splits of an array into two or three, by conditions: what a call comes to that waits for the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decide, Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Machine
from prism.kernels.select import is_set
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.select import plan as plans
from prism.lib.algorithms.select.calls import function_of, function_to_apply, memory_kind, scalar_in_memory
from prism.lib.algorithms.select.plan import KEPT, Kind
from prism.runtime.arrays import ArrayInfo, is_array

_MASKS = ("mask", "other")


def split_apart(
    function: str, x: Any, conditions: Sequence[Any], names: Sequence[str], stream: Any, *, count: bool = False
) -> Any:
    """Return what the first condition says, of the others what the second one says, if there is one, and the rest.

    `names`: what the conditions are called. `count`: the results are not cut, and it stands behind them how many are in each
    but the rest.

    Raises:
        TypeError, ValueError: as `prism.lib.split`.
    """
    asked = f"{function} with its numbers" if count else function
    conditions = [arguments.array_of(one) for one in conditions]
    applied = [
        None if _is_mask(one) else function_to_apply(one, name) for one, name in zip(conditions, names, strict=True)
    ]
    if stream is None and (known := _repeat(asked, x, conditions, applied)) is not None:
        return known
    tests, numbers = _tests_with_numbers(x, applied) or ([None], {})
    if None not in tests:
        if stream is None and (known := repeat.run_many((asked, *tests), (x, *numbers.values(), None))) is not None:
            return known
        return call(function, (asked, *tests), {"x": x, **numbers}, _by_tests(tests, count), None, stream)
    masks = [
        mask_of(one if how is None else how.map_over(x), name)
        for one, how, name in zip(conditions, applied, names, strict=True)
    ]
    tests = [function_of(x, mask) for mask in masks]
    if None not in tests:
        return call(function, (asked, *tests), {"x": x}, _by_tests(tests, count), None, stream)
    called = dict(zip(_MASKS, names, strict=False))

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        first, *others = infos.values()
        moved = memory_kind(first)
        kinds = [_kind(moved, mask, first, called[name]) for name, mask in zip(_MASKS, others, strict=False)]
        copied = arguments.not_plain(infos)
        return Decision(copied=copied) if copied else _decided(kinds, first, others, machine, count)

    arrays = {"x": x, **dict(zip(_MASKS, masks, strict=False))}
    return call(function, (asked,), arrays, decide, None, stream, called=called)


def _by_tests(tests: Sequence[Any], count: bool) -> Decide:
    """Return what decides on a split by tests of the elements; those that are given a number besides have it in an array."""

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        first = infos["x"]
        memory_kind(first)
        if copied := arguments.not_plain(infos):
            return Decision(copied=copied)
        kind = plans.own_kind(first)
        kinds = [
            replace(kind, test=test, mask=infos[name].scalar, number=True)
            if name in infos
            else replace(kind, test=test)
            for test, name in zip(tests, _MASKS, strict=False)
        ]
        return _decided(kinds, first, (), machine, count)

    return decide


def _decided(
    kinds: Sequence[Kind], first: ArrayInfo, masks: Sequence[ArrayInfo], machine: Machine, count: bool
) -> Decision:
    ways, results = len(kinds) + 1, Result((first.size,), dtype_of(first.scalar, first))
    made = (*[results] * ways, Result((ways - 1,), np.dtype(np.int64)))
    places, cut = (OUT, *(("second",) if ways == 3 else ()), "rest", KEPT), 0 if count else ways
    if not first.size:
        return Decision(made, places, fill=0, cut=cut)
    return Decision(made, places, plans.split_apart(kinds, first, masks, machine), cut=cut)


def _tests_with_numbers(x: Any, applied: Sequence[Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """Return tests of the elements, and the number that each is given besides, by the arrays' names.

    None: no condition names a number, or one is something else than a test.
    """
    scalar = None if None in applied or all(how.what is not None for how in applied) else scalar_in_memory(x)
    if scalar is None:
        return None
    tests, numbers = [], {}
    for how, name in zip(applied, _MASKS, strict=False):
        if how.what is not None:
            tests.append(function_of(x, mask_of(how.map_over(x), name)))
        elif (found := how.with_number(scalar)) is not None:
            tests.append(found[0])
            numbers[name] = found[1]
        else:
            return None
    return tests, numbers


def _repeat(function: str, x: Any, conditions: Sequence[Any], applied: Sequence[Any]) -> Any:
    """Do what an earlier call did: by masks alone, or by functions alone, which are not told by numbers that they name."""
    functions = [one.what for one in applied if one is not None]
    if not functions:
        return repeat.run_many((function,), (x, *conditions, None))
    if len(functions) < len(conditions) or None in functions:
        return None
    return repeat.run((function, *functions), x)


def _is_mask(condition: Any) -> bool:
    return is_array(condition) or isinstance(condition, LazyArray)


def _kind(moved: Kind, mask: ArrayInfo, given: ArrayInfo, name: str) -> Kind:
    """Return the types of a split by a mask."""
    read, compared = plans.tested_as(mask, name)
    if mask.shape != given.shape:
        raise ValueError(f"`{name}` must have shape {given.shape}, as `x`, not {mask.shape}")
    return replace(moved, mask=read, compared=compared)


def mask_of(condition: Any, name: str = "condition") -> Any:
    """Return a mask of bools or real numbers: of complex numbers a lazy one."""
    from prism.lib.lazy.array import of
    from prism.lib.lazy.functions import apply

    facts = arguments.facts_of(condition, name)
    return apply(is_set, (of(condition, name),)) if facts.scalar.startswith("complex") else condition


__all__ = ["mask_of", "split_apart"]
