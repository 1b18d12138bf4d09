"""Splits of an array into two or three, by conditions: what a call comes to that waits for the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyArray
from prism.host.plan import OUT, Machine
from prism.kernels.select import is_set
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.select import plan as plans
from prism.lib.algorithms.select.calls import function_of, function_to_apply, memory_kind
from prism.lib.algorithms.select.plan import KEPT, Kind
from prism.runtime.arrays import ArrayInfo, is_array

_MASKS = ("mask", "other")


def split_apart(function: str, x: Any, conditions: Sequence[Any], names: Sequence[str], stream: Any) -> Any:
    """Return what the first condition says, of the others what the second one says, if there is one, and the rest.

    `names`: what the conditions are called.

    Raises:
        TypeError, ValueError: as `prism.lib.split`.
    """
    conditions = [arguments.array_of(one) for one in conditions]
    applied = [
        None if _is_mask(one) else function_to_apply(one, name) for one, name in zip(conditions, names, strict=True)
    ]
    if stream is None and (known := _repeat(function, x, conditions, applied)) is not None:
        return known
    masks = [
        mask_of(one if how is None else how.map_over(x), name)
        for one, how, name in zip(conditions, applied, names, strict=True)
    ]
    tests = [function_of(x, mask) for mask in masks]
    own = None not in tests
    arrays = {"x": x} if own else {"x": x, **dict(zip(_MASKS, masks, strict=False))}
    called = dict(zip(_MASKS, names, strict=False))

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        first, *others = infos.values()
        moved = memory_kind(first)
        if own:
            scalar = first.scalar
            kinds = [Kind(scalar, scalar, compared=scalar, own=True, test=test) for test in tests]
        else:
            kinds = [_kind(moved, mask, first, called[name]) for name, mask in zip(_MASKS, others, strict=False)]
        if copied := arguments.not_plain(infos):
            return Decision(copied=copied)
        ways, results = len(kinds) + 1, Result((first.size,), dtype_of(first.scalar, first))
        made = (*[results] * ways, Result((ways - 1,), np.dtype(np.int64)))
        places = (OUT, *(("second",) if ways == 3 else ()), "rest", KEPT)
        if not first.size:
            return Decision(made, places, fill=0, cut=ways)
        return Decision(made, places, plans.split_apart(kinds, first, others, machine), cut=ways)

    return call(function, (function, *(tests if own else ())), arrays, decide, None, stream, called=called)


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
