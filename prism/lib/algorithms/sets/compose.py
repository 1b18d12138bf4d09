"""Sets made of the library's other functions: sorted elements, which of them are the first of equal ones, and what is found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from prism.host import arguments, memory
from prism.host.lazies import LazyArray
from prism.lang.types import SCALARS
from prism.lib.algorithms.difference.compose import promote
from prism.lib.algorithms.merge.api import merge, merge_by_key
from prism.lib.algorithms.reduce.where import number_like
from prism.lib.algorithms.scan.api import scan
from prism.lib.algorithms.search.api import searchsorted
from prism.lib.algorithms.select.api import flatnonzero, select, unique_consecutive
from prism.lib.algorithms.sort.api import sort, sort_by_key
from prism.lib.algorithms.sort.merging import flatten
from prism.lib.algorithms.take.write import put
from prism.lib.algorithms.transform.api import evaluate
from prism.lib.algorithms.transform.calls import transform
from prism.lib.lazy.array import INT64, Lazy, at, broadcast, convert, of, of_number
from prism.lib.lazy.places import choose, join, positions
from prism.runtime.arrays import is_array
from prism.runtime.streams import stream_handle

_NARROW = 1 << 31  # positions in arrays of fewer elements are of 32 bits where they are sorted


class Unique(NamedTuple):
    """What is known of the unique elements of an array; None: what was not asked for."""

    values: Any
    indices: Any
    inverse: Any
    counts: Any


# -- Arguments ------------------------------------------------------------------------------------------------------------


def array_of(x: Any, name: str, stream: Any) -> Any:
    """Return an array that has an order, of any shape: of a number or a list NumPy's, of a lazy array what it stands for.

    Raises:
        TypeError: it is none of these, or of structs.
    """
    facts = arguments.facts_of(x, name)
    if facts.scalar != "bfloat16" and facts.dtype.kind not in "biufc":
        raise TypeError(f"`{name}` has dtype {facts.dtype}, which has no order here: it takes bools and numbers")
    if isinstance(x, LazyArray):
        return evaluate(x, stream=stream)
    return x if is_array(x) else np.asarray(x)


def flat_of(x: Any, name: str, stream: Any) -> Any:
    """Return the elements of such an array in C order, as one dimension."""
    return flatten(array_of(x, name, stream), name, stream)


def require_together(one: Any, other: Any, names: tuple[str, str]) -> None:
    """Check that two arrays are of one library, and in one place.

    Raises:
        TypeError: they are of two libraries, or one is on the host and the other on a GPU.
        ValueError: they are on two GPUs.
    """
    arguments.describe_all(dict(zip(names, (one, other), strict=True)), {})


def two_of(one: Any, other: Any, names: tuple[str, str], stream: Any) -> tuple[Any, Any]:
    """Return two arrays of one dimension, in the dtype that both have in common.

    Raises:
        TypeError: as `array_of` and `require_together`; they have none.
        ValueError: as `require_together`.
    """
    flat = [flat_of(x, name, stream) for x, name in zip((one, other), names, strict=True)]
    require_together(flat[0], flat[1], names)
    given = [of(x, name) for x, name in zip(flat, names, strict=True)]
    made = promote(given)
    first, second = (
        x if lazy.scalar == whole.scalar else _cast(x, whole, stream)
        for x, lazy, whole in zip(flat, given, made, strict=True)
    )
    return first, second


def _cast(x: Any, whole: Lazy, stream: Any) -> Any:
    name = whole.scalar.name
    return transform("sets", ("cast", name), {"x": x}, lambda a: convert(a["x"], whole.scalar), None, stream)


def join_two(one: Any, other: Any, stream: Any) -> Any:
    """Return the elements of two arrays of one dtype, one behind the other."""
    return transform("sets", ("join",), {"a": one, "b": other}, lambda x: join([x["a"], x["b"]], 0), None, stream)


# -- Unique elements ------------------------------------------------------------------------------------------------------


def sort_with_positions(x: Any, stream: Any) -> tuple[Any, Any]:
    """Return the elements of an array of one dimension in their order, and where each stood."""
    scalar = SCALARS["int32"] if math.prod(x.shape) < _NARROW else INT64

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        return convert(positions(arrays["x"].shape), scalar)

    keys, places = sort_by_key(x, transform("sets", ("positions",), {"x": x}, compose, None, stream), stream=stream)
    return keys, places


def begins(elements: Any, equal_nan: bool, first: bool = True) -> Lazy:
    """Return which of sorted elements differ from the one before; `first`: what is said of the first one."""
    x = of(elements)
    before = at(x, positions(x.shape, -1))
    differs = x != before
    if equal_nan and _may_be_nan(x):
        differs = differs & (before == before)  # NaN stands last: behind one there are no others
    return choose(positions(x.shape) == 0, of_number(first, None, x.shape), differs)


def unique_values(x: Any, equal_nan: bool, stream: Any) -> Any:
    """Return the unique elements of an array of one dimension, in their order."""
    if not math.prod(x.shape):
        return evaluate(x, stream=stream)
    return _first_of_each(sort(x, stream=stream), equal_nan, None, 0, stream)


def _first_of_each(elements: Any, equal_nan: bool, size: int | None, fill: Any, stream: Any) -> Any:
    """Return the first of equal elements that stand beside each other, with `size` so many."""
    if not (equal_nan and _may_be_nan(of(elements))):
        return unique_consecutive(elements, size=size, fill_value=fill, stream=stream)
    return select(elements, begins(elements, equal_nan), size=size, fill_value=fill, stream=stream)


def _may_be_nan(x: Lazy) -> bool:
    return x.scalar.name == "bfloat16" or x.dtype.kind in "fc"


def unique_elements(
    x: Any,
    shape: tuple[int, ...],
    wanted: tuple[bool, bool, bool],
    equal_nan: bool,
    size: int | None,
    fill: Any,
    stream: Any,
) -> Unique:
    """Return the unique elements of an array of one dimension, and what is `wanted`: indices, inverse, counts.

    `shape`: that of the inverse. `size`: see `prism.lib.unique`.
    """
    indices, inverse, counts = wanted
    if size is None and not any(wanted):
        return Unique(unique_values(x, equal_nan, stream), None, None, None)
    n = math.prod(x.shape)
    if not n:
        return _none(x, shape, wanted, size, fill, stream)
    if not any(wanted) and fill is not None:
        return Unique(_first_of_each(sort(x, stream=stream), equal_nan, size, fill, stream), None, None, None)
    if indices or inverse:
        elements, order = sort_with_positions(x, stream)
    else:
        elements, order = sort(x, stream=stream), None
    more = None if size is None else size + 1  # where the run behind the last one begins, its length says
    starts = flatnonzero(begins(elements, equal_nan), size=more, fill_value=n, stream=stream)
    many = starts.shape[0] if size is None else size
    values = _at_starts(elements, starts, many, n, fill, stream)
    return Unique(
        values,
        _at_starts(order, starts, many, n, None, stream, wide=True) if indices else None,
        number_of_each(convert(begins(elements, equal_nan, first=False), INT64), order, shape, stream)
        if inverse
        else None,
        lengths_of(starts, many, n, stream) if counts else None,
    )


def _at_starts(x: Any, starts: Any, many: int, n: int, fill: Any, stream: Any, *, wide: bool = False) -> Any:
    """Return the first elements of runs, and behind them a number, or the first element of all; `wide`: as int64."""

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        given = arrays["x"]
        place = at(arrays["starts"], positions((many,)))
        other = at(given, broadcast(of_number(0, INT64), (many,))) if fill is None else _filled(fill, given, many)
        found = choose(place < n, at(given, place), other)
        return convert(found, INT64) if wide else found

    asked = ("first", many, arguments.exactly(fill), wide)
    return transform("sets", asked, {"x": x, "starts": starts}, compose, None, stream)


def lengths_of(starts: Any, many: int, n: int, stream: Any) -> Any:
    """Return how long runs are, by where they begin."""
    last = starts.shape[0] - 1

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        place = positions((many,))
        end = of_number(n, INT64, (many,))
        behind: Lazy = choose(place < last, at(arrays["starts"], positions((many,), 1)), end)
        found: Lazy = behind - at(arrays["starts"], place)
        return found

    return transform("sets", ("lengths", many, n), {"starts": starts}, compose, None, stream)


def number_of_each(more: Lazy, order: Any, shape: tuple[int, ...], stream: Any) -> Any:
    """Return the number of each element of an array among the unique ones; `more`: 1 where one differs from the one before."""
    number = scan(more, stream=stream)
    facts = arguments.facts_of(order, "ar")
    with memory.working(facts, None if stream is None else stream_handle(stream)):
        found = memory.empty(facts, facts.size, np.dtype(np.int64))
    put(found, order, number, stream=stream)
    return found.reshape(shape)


def _none(
    x: Any, shape: tuple[int, ...], wanted: tuple[bool, bool, bool], size: int | None, fill: Any, stream: Any
) -> Unique:
    """Return what there is to say of an array without elements."""
    many = size or 0

    def constant(scalar: str) -> Any:
        def compose(arrays: Mapping[str, Lazy]) -> Lazy:
            if scalar:
                return of_number(0, INT64, (many,))
            return _filled(0 if fill is None else fill, arrays["x"], many)

        asked = ("none", many, arguments.exactly(fill), scalar)
        return transform("sets", asked, {"x": x}, compose, None, stream)

    indices, inverse, counts = wanted
    whole = Unique(
        constant(""),
        constant("int64") if indices else None,
        None,
        constant("int64") if counts else None,
    )
    if not inverse:
        return whole
    nowhere = transform("sets", ("nowhere",), {"x": x}, lambda _: of_number(0, INT64, (0,)), None, stream)
    return whole._replace(inverse=nowhere.reshape(shape))


def _filled(fill: Any, like: Lazy, many: int) -> Lazy:
    return broadcast(number_like(fill, like), (many,))


# -- Two sets -------------------------------------------------------------------------------------------------------------


def marks(elements: Any, table: Any, invert: bool, stream: Any) -> Any:
    """Return which elements, of any shape, a table of one dimension has; `invert`: which it does not have."""
    n, shape = math.prod(table.shape), tuple(elements.shape)
    if not n:
        return transform(
            "sets", ("marks", invert), {"x": elements}, lambda _: of_number(invert, None, shape), None, stream
        )
    given = {"table": sort(table, stream=stream), "x": elements}
    given["found"] = searchsorted(given["table"], elements, stream=stream)

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        found, last = arrays["found"], of_number(n - 1, INT64, shape)
        same: Lazy = at(arrays["table"], choose(found < n, found, last)) == arrays["x"]
        return ~same if invert else same

    return transform("sets", ("marks", invert, n), given, compose, None, stream)


def common_elements(one: Any, other: Any, stream: Any) -> Any:
    """Return the elements of two sorted arrays of one dtype, each without equal ones, that both have."""
    both = merge(one, other, stream=stream)
    return select(both, _again(both), stream=stream)


def common_with_places(one: tuple[Any, Any], other: tuple[Any, Any], stream: Any) -> tuple[Any, Any, Any]:
    """Return such elements, and the places beside them in the first array and in the second."""
    both, places = merge_by_key(*one, *other, stream=stream)
    where = flatnonzero(_again(both), stream=stream)

    def taken(x: Any, shift: int, wide: bool) -> Any:
        def compose(arrays: Mapping[str, Lazy]) -> Lazy:
            found = at(arrays["x"], arrays["where"] + shift)
            return convert(found, INT64) if wide else found

        return transform("sets", ("taken", shift, wide), {"x": x, "where": where}, compose, None, stream)

    return taken(both, 0, False), taken(places, 0, True), taken(places, 1, True)


def lone_elements(one: Any, other: Any, stream: Any) -> Any:
    """Return the elements of two sorted arrays of one dtype that have none equal beside them."""
    both = merge(one, other, stream=stream)
    return select(both, begins(both, False) & ~_again(both), stream=stream)


def _again(elements: Any) -> Lazy:
    """Return which of sorted elements are equal to the one behind them."""
    x = of(elements)
    behind = at(x, positions(x.shape, 1))
    return choose(positions(x.shape) == x.size - 1, of_number(False, None, x.shape), x == behind)


__all__ = [
    "Unique", "array_of", "common_elements", "common_with_places", "flat_of", "flatten", "join_two", "lone_elements",
    "lengths_of", "marks", "number_of_each", "require_together", "sort_with_positions", "two_of", "unique_elements",
    "unique_values",
]  # fmt: skip
