"""Unique rows, or other parts of an array along an axis: sorted by all their elements, and compared with the one before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from prism.host import arguments, memory
from prism.lib.algorithms.lexsort.api import lexsort
from prism.lib.algorithms.reduce.api import any as any_of
from prism.lib.algorithms.select.api import flatnonzero
from prism.lib.algorithms.sets.compose import Unique, lengths_of, number_of_each
from prism.lib.algorithms.take.api import take
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import INT64, Lazy, at, broadcast, convert, of, of_number
from prism.lib.lazy.places import choose, positions
from prism.runtime.streams import stream_handle


def unique_parts(x: Any, axis: int, wanted: tuple[bool, bool, bool], stream: Any) -> Unique:
    """Return the unique parts of an array of several dimensions along an axis, and what is `wanted`, as of `unique_elements`.

    NaN differs from itself, as NumPy has it of parts.
    """
    indices, inverse, counts = wanted
    facts = arguments.facts_of(x, "ar")
    ndim, many = len(facts.shape), facts.shape[axis]
    axes = (axis, *(k for k in range(ndim) if k != axis))
    lying = memory.transpose(facts, x, axes)
    rest = tuple(facts.shape[k] for k in axes[1:])
    each = math.prod(rest)
    rows = lying.reshape(many, each)
    order = lexsort([rows[:, k] for k in reversed(range(each))], stream=stream) if each else _all(x, many, stream)
    arranged = take(rows, order, 0, stream=stream)
    begins = any_of(_differs(arranged), axis=1, stream=stream) if each else _first(x, many, stream)
    starts = flatnonzero(begins, stream=stream)
    found = take(arranged, starts, 0, stream=stream).reshape(starts.shape[0], *rest)
    back = tuple(axes.index(k) for k in range(ndim))
    with memory.working(facts, None if stream is None else stream_handle(stream)):
        values = memory.transpose(facts, found, back)
    return Unique(
        values,
        take(order, starts, stream=stream) if indices else None,
        number_of_each(_behind_first(begins, many), order, (many,), stream) if inverse else None,
        lengths_of(starts, starts.shape[0], many, stream) if counts else None,
    )


def _differs(rows: Any) -> Lazy:
    """Return of each element of sorted rows whether it differs from that of the row before; of the first row always."""
    x = of(rows)
    place, each = positions(x.shape), x.shape[1]
    before = at(x, choose(place < each, place, place - each))
    found: Lazy = (place < each) | (x != before)
    return found


def _behind_first(begins: Any, many: int) -> Lazy:
    """Return which rows begin something, but for the first, as numbers to be added up."""
    return convert((positions((many,)) != 0) & of(begins), INT64)


def _all(x: Any, many: int, stream: Any) -> Any:
    return _made(x, ("places", many), convert(positions((many,)), INT64), stream)


def _first(x: Any, many: int, stream: Any) -> Any:
    return _made(x, ("first", many), positions((many,)) == broadcast(of_number(0, INT64), (many,)), stream)


def _made(x: Any, asked: tuple[Any, ...], value: Lazy, stream: Any) -> Any:
    """Return what reads no memory as an array where `x` is."""

    def compose(_: Mapping[str, Lazy]) -> Lazy:
        return value

    return transform("sets", asked, {"x": x}, compose, None, stream)


__all__ = ["unique_parts"]
