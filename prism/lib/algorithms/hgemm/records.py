"""What a kernel takes of an epilogue that is a function: a device function, and records of the arrays that it reads.

    after = After(...)    the functions, and what they are given, in the order of their parameters
    after.bound()         the device functions that the kernel calls, its records' types, their views and arguments

An array beside the operands is given by element, by row, by column, or is of one element. Those that are read in the same way are
one record: a view (`prism.lang.surface.views`) of all of them, so that the kernel has one parameter for each way, however many
arrays there are. Numbers, those that a lambda names too, are in the record that is read once.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from prism.host.plan import OUT
from prism.lang.diagnostics import Span
from prism.lang.intrinsics import TABLE
from prism.lang.parse import syntax as s
from prism.lang.parse.views import Written, as_syntax, call, leaf_name, number_name, parameter
from prism.lang.surface import Kernel
from prism.lang.surface.views import Compute, Leaf, Number
from prism.lang.surface.views import View as Viewed
from prism.lang.types import FLOAT32, INT32, SCALARS, Scalar
from prism.lang.types.perspective import THREAD
from prism.lang.types.structs import Struct, struct_of
from prism.lib.lazy.types import dtype_of
from prism.lib.operators import Operator
from prism.lib.views import View

SECOND, REDUCED = "second", "reduced"
"""Names of results beside the first."""
ONCE, ROW, COLUMN, ELEMENT, LOADED = "once", "row", "column", "element", "loaded"
"""How arrays are read: their one element, one of each row, column or element of the result; and the last by tensor copies."""
RECORDS = (ONCE, ROW, COLUMN, ELEMENT)
SUMS = ("sum", "other")
_TURNED = {ROW: COLUMN, COLUMN: ROW}
_NOWHERE = Span("epilogue", 1, 0, 1, 1)
_ENDS = {"int8": (-128, 127), "uint8": (0, 255)}


@dataclass(frozen=True, slots=True)
class Extra:
    """An array that an epilogue reads, or a number: how, and of which type its elements are there."""

    per: str
    scalar: Scalar
    view: View | None = None
    bits: int = 0

    @property
    def buffer(self) -> Any:
        """The memory of an array."""
        assert self.view is not None
        return self.view.buffer


class Call(NamedTuple):
    """What a kernel calls: of so many sums, their row and column where `indices`, and `extras`, by number; its result's type."""

    what: Any
    sums: int
    indices: bool
    result: Scalar
    extras: tuple[int, ...]


class Reduced(NamedTuple):
    """A function whose values are combined along an axis of the result: 0: one a column, 1: one a row."""

    call: Call
    operator: Operator
    axis: int


class Scaling(NamedTuple):
    """What is done with a sum before: the numbers of extras; -1: not."""

    alpha: int = -1
    scale_a: int = -1
    scale_b: int = -1
    beta: int = -1
    c: int = -1
    bias: int = -1


class Bound(NamedTuple):
    """What a kernel takes: its function, the types of the records, and the records' parameters, by name."""

    functions: tuple[Kernel, ...]
    records: Mapping[str, Any]
    views: Mapping[str, Viewed]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class After:
    """An epilogue that is a function: the call, what it is given, and what is done before; `result`: of which type it makes one.

    `second`: of a second result, and `reduced`. `order`: which of the three are results, in the caller's order. `trans`: the
    kernel makes the transpose of the result.
    """

    call: Call
    extras: tuple[Extra, ...]
    scaling: Scaling
    result: str
    second: Call | None = None
    reduced: Reduced | None = None
    order: tuple[str, ...] = (OUT,)
    trans: bool = False

    @property
    def calls(self) -> tuple[Call, ...]:
        """The functions: of the result, the second one, and what is combined; the first, where there are none of these."""
        return self.call, self.second or self.call, self.reduced.call if self.reduced else self.call

    @property
    def indices(self) -> bool:
        """Whether a function is told the row and the column."""
        return any(call.indices for call in self.calls)

    @property
    def arrays(self) -> tuple[View, ...]:
        """What is read as plain memory."""
        return tuple(extra.view for extra in self.extras if extra.view is not None and extra.per != LOADED)

    @property
    def by_parts(self) -> bool:
        """Whether a product may be made in parts of K: of one array, and arrays that lie without gaps."""
        dense = all(extra.view is None or extra.view.contiguous for extra in self.extras)
        return self.second is None and self.reduced is None and dense

    def with_elements(self) -> After:
        """Return the same without tensor copies: what these bring is read by element."""
        return replace(self, extras=tuple(replace(x, per=ELEMENT) if x.per == LOADED else x for x in self.extras))

    def turn(self) -> After:
        """Return the same of the transposed result."""
        return replace(self, trans=not self.trans)

    def has(self, per: str) -> bool:
        """Whether the kernel has extras of a kind: by its rows, or its columns."""
        return any(self.read(extra) == per for extra in self.extras)

    def read(self, extra: Extra) -> str:
        """Return how the kernel reads an array."""
        return _TURNED.get(extra.per, extra.per) if self.trans else extra.per

    def size(self, per: str) -> int:
        """Return the bytes of a record."""
        record = record_of(tuple(one.scalar for one in self.extras if self.read(one) == per))
        return 0 if record is None else dtype_of(record).itemsize

    def bound(self) -> Bound:
        """Return what the kernel takes."""
        records: dict[str, Any] = {}
        views: dict[str, Viewed] = {}
        arguments: dict[str, Any] = {}
        for per in RECORDS:
            name = per if per == ONCE else f"by_{per}"
            some = [extra for extra in self.extras if self.read(extra) == per]
            record = record_of(tuple(extra.scalar for extra in some))
            records[per] = record or FLOAT32
            views[name], arrays, numbers = _view(record, some)
            arguments |= {leaf_name(name, k): extra.buffer for k, extra in enumerate(arrays)}
            arguments |= {number_name(name, k): extra.bits for k, extra in enumerate(numbers)}
        reads = tuple((self.read(extra), extra.scalar) for extra in self.extras)
        kinds = self.result, self.result, FLOAT32.name
        functions = (
            _function(c, reads, self.scaling, kind, self.trans) for c, kind in zip(self.calls, kinds, strict=True)
        )
        return Bound(tuple(functions), records, views, arguments)


# -- What a kernel takes ----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def record_of(scalars: tuple[Scalar, ...]) -> Struct | None:
    """Return the record of elements of types; None of none."""
    if not scalars:
        return None
    return struct_of(np.dtype([(f"f{k}", dtype_of(scalar)) for k, scalar in enumerate(scalars)], align=True))


def _view(record: Struct | None, some: Sequence[Extra]) -> tuple[Viewed, list[Extra], list[Extra]]:
    """Return the view that makes records of arrays and numbers, the arrays that are its leaves, and its numbers."""
    if record is None:
        return Viewed(Number(0, FLOAT32), FLOAT32, (), 1), [], [Extra(ONCE, FLOAT32)]
    arrays: list[Extra] = []
    numbers: list[Extra] = []
    parts: list[Any] = []
    stored: list[Scalar] = []
    for extra in some:
        if extra.view is None:
            parts.append(Number(len(numbers), extra.scalar))
            numbers.append(extra)
            continue
        leaf = Leaf(len(arrays), False)
        parts.append(leaf if extra.view.scalar == extra.scalar.name else Compute(extra.scalar, (leaf,)))
        arrays.append(extra)
        stored.append(SCALARS[extra.view.scalar])
    return Viewed(Compute(record, tuple(parts)), record, tuple(stored), len(numbers)), arrays, numbers


@functools.lru_cache(maxsize=1024)
def _function(
    called: Call, reads: tuple[tuple[str, Scalar], ...], scaling: Scaling, result: str, trans: bool
) -> Written:  # fmt: skip
    """Return the device function that a kernel calls for each element of its result."""
    values = _values(reads)
    sums = [_scaled(_name(text), scaling, values) for text in SUMS[: called.sums]]
    places = [_name("x"), _name("y")] if trans else [_name("y"), _name("x")]
    made = _call(called.what, *sums, *(places if called.indices else ()), *(values[k] for k in called.extras))
    if called.result != FLOAT32:
        made = _call(FLOAT32, made)
    if result in _ENDS:
        low, high = (s.Literal(value=float(end), span=_NOWHERE) for end in _ENDS[result])
        made = _call(TABLE["minimum"], _call(TABLE["maximum"], _call(TABLE["round_"], made), low), high)
    types: dict[str, Any] = dict.fromkeys((*SUMS, LOADED), FLOAT32)
    for per in RECORDS:
        types[per] = record_of(tuple(scalar for each, scalar in reads if each == per)) or FLOAT32
    types |= {"y": INT32, "x": INT32}
    thread = as_syntax(THREAD, _NOWHERE)
    function = s.Function(
        name="epilogue", parameters=tuple(parameter(each, kind, thread, _NOWHERE) for each, kind in types.items()),
        result=as_syntax(FLOAT32, _NOWHERE), result_place=thread, body=(s.Return(value=made, span=_NOWHERE),), extern=False,
        decorators=(), length=1, span=_NOWHERE,
    )  # fmt: skip
    return Written(function)


def _values(reads: Sequence[tuple[str, Scalar]]) -> list[s.Expr]:
    """Return the extras, as they stand in the function: fields of records, or what tensor copies brought."""
    counts = dict.fromkeys(RECORDS, 0)
    found: list[s.Expr] = []
    for per, scalar in reads:
        if per == LOADED:
            found.append(_call(scalar, _name(LOADED)))
            continue
        found.append(s.Attribute(base=_name(per), name=f"f{counts[per]}", span=_NOWHERE))
        counts[per] += 1
    return found


def _scaled(value: s.Expr, scaling: Scaling, values: Sequence[s.Expr]) -> s.Expr:
    """Return a sum, times alpha and scales, plus beta times c, and a bias: those that there are."""
    for k in (scaling.alpha, scaling.scale_a, scaling.scale_b):
        value = value if k < 0 else _binary("*", values[k], value)
    if scaling.c >= 0:
        value = _binary("+", value, _binary("*", values[scaling.beta], values[scaling.c]))
    return value if scaling.bias < 0 else _binary("+", value, values[scaling.bias])


def _name(text: str) -> s.Expr:
    return s.Name(name=text, span=_NOWHERE)


def _binary(op: str, left: s.Expr, right: s.Expr) -> s.Expr:
    return s.Binary(op=op, left=left, right=right, span=_NOWHERE)


def _call(what: object, *given: s.Expr) -> s.Expr:
    return call(what, given, _NOWHERE)


__all__ = [
    "COLUMN", "ELEMENT", "LOADED", "ONCE", "REDUCED", "ROW", "SECOND", "After", "Bound", "Call", "Extra", "Reduced", "Scaling",
]  # fmt: skip
