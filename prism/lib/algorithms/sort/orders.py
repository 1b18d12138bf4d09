"""Sorts in other orders than the elements' own: by a key that a function makes of them, by some bits, or by a comparator."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.arguments import scalar_of
from prism.host.call import Decision, call
from prism.host.chain import Chain
from prism.host.machine import machine_of
from prism.host.plan import OUT, Buffer, Machine, Plan, X, Y, size_of
from prism.lang.diagnostics import CompileError
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS, Scalar
from prism.lib.algorithms.merge.order import comparator_of, key_in, usual_order
from prism.lib.algorithms.select.plan import moved_as
from prism.lib.algorithms.sort.merging import array_along
from prism.lib.algorithms.sort.plan import by_digits, rows
from prism.lib.algorithms.sort_rows.axis import (
    Work,
    argsort_along,
    decide_along,
    move_last,
    position_type,
    require_columns,
    require_order,
    work_of,
)
from prism.lib.algorithms.sort_rows.pairs import sort_by_key_along
from prism.lib.algorithms.sort_rows.plan import MOVED, VALUES, Kind, Names, is_aligned
from prism.lib.algorithms.take.api import take, take_along_axis
from prism.lib.algorithms.transform.calls import decide_view, stand_in, transform
from prism.lib.lazy.array import BOOL, Lazy, convert, of, of_number
from prism.lib.lazy.closures import Applied, callable_of
from prism.lib.lazy.functions import apply
from prism.lib.lazy.places import positions
from prism.lib.records import is_record
from prism.runtime.arrays import ArrayInfo

_HELD = 4096
"""Rows of so many elements are sorted by blocks, whatever is moved along."""
_CALLED = {"x": "a"}
_RIDES = 8
"""Bytes of an element that is moved with its key in each pass; larger ones are taken once, by their positions."""
_MOST = 256  # comparators of which it is kept whether they are orders by keys
_TAKEN = 40
"""Bytes that taking an element by its position costs beside itself: the position, and a sector of memory."""


@dataclass(frozen=True, slots=True)
class Order:
    """What decides where elements stand: a `key` of each, `bits` of it from one to another, or a comparator, `less`.

    `any_key`: the key may be any number.
    """

    key: Applied | None
    bits: tuple[int, int] | None
    less: Kernel | None
    descending: bool
    any_key: bool = False

    @property
    def keyed(self) -> bool:
        """Whether elements are sorted by something that is made of them."""
        return self.key is not None or self.bits is not None

    @property
    def asked(self) -> tuple[Any, ...]:
        """What it is told by, of keys and bits."""
        return None if self.key is None else self.key.key, self.bits, self.descending

    @property
    def plain(self) -> bool:
        """Whether elements stand in their own order."""
        return not self.keyed and self.less is None


_PLAIN = (Order(None, None, None, False), Order(None, None, None, True))


def order_of(key: Any, bits: Any, less: Any, descending: Any) -> Order:
    """Return the order that a sort is asked for.

    Raises:
        TypeError: `less` goes with nothing else; one of them is none.
        ValueError: `bits` is none.
    """
    if key is None and bits is None and less is None:
        return _PLAIN[bool(descending)]
    if less is not None:
        for name, given in (("key", key is not None), ("bits", bits is not None), ("descending", bool(descending))):
            if given:
                raise TypeError(f"`less` is an order already: it goes without `{name}`")
        return Order(None, None, comparator_of(less), False)
    applied = None if key is None else _applied(key)
    return Order(applied, None if bits is None else _range(bits), None, bool(descending))


def without_comparator(order: Order, scalar: Any, info: ArrayInfo) -> Order:
    """Return an order by a comparator as one by keys, or as that of numbers, where it is one."""
    if order.less is None:
        return order
    falls = usual_order(order.less, scalar)
    if falls is not None:
        return _PLAIN[falls]
    return _by_key_in(order.less, scalar, replace(info, owner=None)) or order


_by_keys: dict[tuple[Kernel, Any], Order | None] = {}


def _by_key_in(less: Kernel, scalar: Any, info: ArrayInfo) -> Order | None:
    """Return the order by the key that a comparator makes of each element, if it compares nothing else; kept."""
    known = less, scalar
    if known not in _by_keys:
        found, order = key_in(less), None
        if found is not None:
            key = Applied(found[0])
            try:
                kind = key.map_over(of(stand_in(info, 0), "a")).scalar
            except (CompileError, TypeError):  # it is said where the comparator is compiled
                kind = BOOL
            if kind != BOOL and isinstance(kind, Scalar) and kind.kind in ("int", "uint", "float"):
                order = Order(key, None, None, found[1], any_key=True)
        if len(_by_keys) >= _MOST:
            _by_keys.clear()
        _by_keys[known] = order
    return _by_keys[known]


def _applied(key: Any) -> Applied:
    try:
        return Applied(key)
    except TypeError as error:
        raise TypeError(str(error).replace("`function`", "`key`")) from None


def _range(bits: Any) -> tuple[int, int]:
    if not isinstance(bits, tuple | list) or len(bits) != 2:
        raise TypeError(f"`bits` must be two integers, (low, high), not {bits!r}")
    try:
        low, high = map(operator.index, bits)
    except TypeError:
        raise TypeError(f"`bits` must be two integers, (low, high), not {bits!r}") from None
    if not 0 <= low < high:
        raise ValueError(f"`bits` must be (low, high) with 0 <= low < high, not {bits!r}")
    return low, high


# -- Keys -----------------------------------------------------------------------------------------------------------------


def keys_of(x: Any, order: Order, name: str, function: str, stream: Any) -> Any:
    """Return the keys of an array's elements, unsigned integers, as an array of its shape.

    Raises:
        TypeError: elements are of no type that kernels have; the key is no unsigned integer.
        ValueError: there are fewer bits.
        CompileError: `key` does not take such elements, or breaks a rule.
    """
    is_record(arguments.facts_of(x, name).scalar)
    asked = ("keys of sorts", *order.asked)
    return transform(function, asked, {name: x}, lambda arrays: _keys(arrays[name], order), None, stream)


def _keys(given: Lazy, order: Order) -> Lazy:
    """Return what elements are sorted by, as `keys_of`."""
    found = given if order.key is None else order.key.map_over(given)
    if found.scalar == BOOL:
        found = convert(found, SCALARS["uint8"])
    if found.scalar.kind != "uint" and not order.any_key:
        raise TypeError(f"`key` gives {found.scalar}, and keys are unsigned integers: convert it in the function")
    return found if order.bits is None else _bits_of(found, *order.bits)


def _bits_of(keys: Lazy, low: int, high: int) -> Lazy:
    """Return bits of unsigned integers, as ones of the fewest bits.

    Raises:
        ValueError: they have fewer.
    """
    _require_bits((low, high), keys.scalar.name)
    if low == 0 and high == keys.scalar.bits:
        return keys
    shift = of_number(low, SCALARS["int32"], keys.shape)
    mask = of_number((1 << (high - low)) - 1, keys.scalar, keys.shape)
    return convert(apply(callable_of(_FIELD), (keys, shift, mask)), SCALARS[f"uint{8 * _bytes(high - low)}"])


def _require_bits(bits: tuple[int, int], scalar: str) -> None:
    size = SCALARS[scalar].bits
    if bits[1] > size:
        raise ValueError(f"`bits` is {bits}, and keys are {scalar}, of {size} bits")


def _bytes(bits: int) -> int:
    """Return how many bytes an integer of so many bits takes."""
    return next(size for size in (1, 2, 4, 8) if 8 * size >= bits)


_FIELD = lambda key, low, mask: (key >> low) & mask  # noqa: E731 -- its expression becomes Prism's


# -- Sorts ----------------------------------------------------------------------------------------------------------------


def sort_keyed(x: Any, order: Order, axis: Any, out: Any, stream: Any) -> Any:
    """Return an array whose elements stand along an axis in the order of their keys."""
    asked = ("sort", *order.asked, axis, type(axis), out is x)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    x, axis = array_along(x, axis, "a", stream)
    facts = arguments.facts_of(x, "a")
    if order.keyed and facts.dtype.itemsize > _RIDES and facts.shape[axis] > _HELD:
        if out is not None:
            result = arguments.describe_result(out, {"a": facts}, {})
            arguments.require_scalar(result, facts.scalar)
            arguments.require_shape(result, facts.shape)
        keys = keys_of(x, order, "a", "sort", stream)
        return take_along(x, _places(keys, axis, order, stream), axis, out, stream)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        settled = _settled(order, given, "a")
        if settled.keyed and not _in_passes(given, "", settled, axis):
            return decide_along(given, axis, result, machine, _work(settled, given, "", machine), itself=out is x)
        kind = Kind(require_order(given, "a", "sort"), settled.descending, bits=settled.bits)
        return decide_along(given, axis, result, machine, work_of(kind, machine), itself=out is x)

    return call("sort", asked, {"x": x}, decide, out, stream, called=_CALLED)


def argsort_keyed(x: Any, order: Order, axis: Any, dtype: Any, out: Any, stream: Any) -> Any:
    """Return the positions along an axis that put elements in the order of their keys."""
    wanted = position_type(dtype)
    asked = ("argsort", *order.asked, axis, type(axis), wanted)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known
    x, axis = array_along(x, axis, "a", stream)

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        settled = _settled(order, given, "a")
        kind = None if settled.keyed else Kind(require_order(given, "a", "argsort"), settled.descending, False, wanted)
        work = _work(settled, given, wanted, machine) if kind is None else work_of(kind, machine)
        return decide_along(given, axis, result, machine, work)

    return call("argsort", asked, {"x": x}, decide, out, stream, called=_CALLED)


def _work(order: Order, given: ArrayInfo, places: str, machine: Machine) -> Work:
    """Return what is done with rows that are sorted by keys: these are made, and elements, or positions, sorted with them."""
    is_record(given.scalar)  # refuses structs of other sizes than kernels move
    moved = moved_as(given, "a")

    def plan(many: int, columns: int, source: ArrayInfo | None, target: ArrayInfo | None, in_place: bool) -> Plan:
        chain, n, x = Chain(), many * columns, X
        orders = (order,) if places else _halves(order, given, many, columns, machine)
        for each in orders:
            last = each is orders[-1]
            past = source.pointer % 16 if source is not None and x is X else 0
            lying = replace(given, shape=(n,), strides=(given.dtype.itemsize,), pointer=past)
            placed = {"x": stand_in(lying, 0)}
            made = decide_view(_keys(of(placed["x"], "a"), each), {"x": lying}, placed, None, machine)
            assert made.plan is not None
            scalar = scalar_of(made.results[0].dtype)
            keys, y = chain.take(scalar, n), Y if last else chain.take(moved, n)
            chain.add(made.plan, {"x": x, OUT: keys})
            values = {} if places else {OUT: chain.take(scalar, n), VALUES: x, MOVED: y}
            kind = Kind(scalar, each.descending, not places, places, "" if places else moved)
            require_columns(many, columns, "a", kind, machine)
            aligned = past == 0 and is_aligned(target if last else None)
            names = Names(places=Buffer(OUT)) if places else Names()
            chain.add(rows(kind, many, columns, machine, aligned=aligned, names=names), {"x": keys, **values})
            x = y
        return chain.plan()

    def in_place(many: int, columns: int) -> bool:
        """Whether elements are moved twice, by way of scratch memory."""
        return not places and len(_halves(order, given, many, columns, machine)) > 1

    return Work(moved, places or moved, plan, in_place)


def sort_pairs_keyed(
    keys: Any, values: Any, order: Order, axis: int, out: Sequence[Any], stream: Any
) -> tuple[Any, Any]:
    """Return arrays whose elements stand along an axis in the order of keys that are made of those of the first."""
    facts, beside = arguments.facts_of(keys, "keys"), arguments.facts_of(values, "values")
    order, (first, second) = _settled(order, facts, "keys"), out
    largest = _RIDES if facts.shape[axis] > _HELD else 2 * _RIDES
    how: dict[str, Any] = {"descending": order.descending, "stream": stream}
    rides = beside.dtype.itemsize <= largest
    if rides and (not order.keyed or _in_passes(facts, f"uint{8 * beside.dtype.itemsize}", order, axis)):
        return sort_by_key_along(keys, values, axis, bits=order.bits, out=out, **how)
    if not order.keyed:
        found, places = sort_by_key_along(keys, _numbered(keys, axis, stream), axis, out=(first, None), **how)
        return found, take_along(values, places, axis, second, stream)
    made = keys_of(keys, order, "keys", "sort_by_key", stream)
    sizes = facts.dtype.itemsize, beside.dtype.itemsize
    if max(sizes) <= largest and _both_ride(arguments.facts_of(made, "keys").dtype.itemsize, *sizes):
        one, other = (
            sort_by_key_along(made, moved, axis, out=(None, target), **how)[1]
            for moved, target in ((keys, first), (values, second))
        )
        return one, other
    places = _places(made, axis, order, stream)
    return take_along(keys, places, axis, first, stream), take_along(values, places, axis, second, stream)


def _halves(order: Order, given: ArrayInfo, many: int, columns: int, machine: Machine) -> tuple[Order, ...]:
    """Return the orders by the lower and the upper half of keys of 8 bytes, where two sorts by 4 move less than one by 8.

    Passes move keys beside elements of up to 8 bytes: by one sort all bytes of keys in each, by two those of a half.
    """
    if order.key is None or order.any_key or given.dtype.itemsize > _RIDES:
        return (order,)
    low, high = order.bits or (0, order.key.map_over(of(stand_in(given, 0), "a")).scalar.bits)
    kind = Kind("uint64", values=f"uint{8 * given.dtype.itemsize}")
    if high - low <= 32 or not by_digits(kind, many, columns, machine):
        return (order,)
    return replace(order, bits=(low, low + 32)), replace(order, bits=(low + 32, high))


def _settled(order: Order, facts: ArrayInfo, name: str) -> Order:
    """Return an order without bits that are all that elements have.

    Raises:
        TypeError: bits are asked for of elements that are no unsigned integers.
        ValueError: they have fewer.
    """
    if order.key is not None or order.bits is None:
        return order
    if not facts.scalar.startswith("uint"):
        raise TypeError(f"`bits` is of unsigned integers, and `{name}` has dtype {facts.dtype}: pass a `key`")
    _require_bits(order.bits, facts.scalar)
    return replace(order, bits=None) if order.bits == (0, 8 * facts.dtype.itemsize) else order


def _in_passes(facts: ArrayInfo, values: str, order: Order, axis: int) -> bool:
    """Whether rows are sorted by digits that have these bits of their elements, rather than by keys that are made of them."""
    if order.key is not None or order.bits is None:
        return False
    (low, high), columns = order.bits, facts.shape[axis]
    kind = Kind(facts.scalar, order.descending, values=values, bits=order.bits)
    if not by_digits(kind, math.prod(facts.shape) // max(columns, 1), columns, machine_of(facts)):
        return False
    passes = (high - 1) // 8 - low // 8 + 1
    size, made, moved = facts.dtype.itemsize, _bytes(high - low), size_of(values) if values else 0
    by_bits = size + 2 * passes * (size + (moved or 1))
    by_keys = size + 2 * made + 2 * -(-(high - low) // 8) * (made + size)  # and values have to be moved besides
    return by_bits <= by_keys or bool(values)


def _both_ride(key: int, one: int, other: int) -> bool:
    """Whether two sorts move fewer bytes than one, of positions, by which both are taken then."""
    each = 2 * key  # a pass for each byte of a key, which reads and writes
    return each * (key + one) + each * (key + other) <= each * (key + 4) + 2 * _TAKEN + one + other


def _numbered(x: Any, axis: int, stream: Any) -> Any:
    """Return the position of each element along an axis."""
    rows = move_last(x, axis)
    columns = rows.shape[-1]

    def compose(arrays: Mapping[str, Lazy]) -> Lazy:
        shape = arrays["x"].shape
        found = positions(shape)
        if len(shape) > 1:
            found = Applied(lambda place: place % columns).map_over(found)
        return convert(found, SCALARS["int32"])

    return move_last(
        transform("sort_by_key", ("numbers of elements",), {"x": rows}, compose, None, stream), axis, undo=True
    )


def _places(keys: Any, axis: int, order: Order, stream: Any) -> Any:
    return argsort_along(keys, axis, descending=order.descending, dtype=np.int32, stream=stream)


def take_along(x: Any, places: Any, axis: int, out: Any, stream: Any) -> Any:
    """Return the elements at positions along an axis."""
    if len(places.shape) == 1:
        return take(x, places, out=out, stream=stream)
    return take_along_axis(x, places, axis, out=out, stream=stream)


__all__ = [
    "Order",
    "argsort_keyed",
    "keys_of",
    "order_of",
    "sort_keyed",
    "sort_pairs_keyed",
    "take_along",
    "without_comparator",
]
