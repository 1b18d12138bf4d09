"""A function's shared objects, and the shared memory of the functions that it calls: which of them may lie in the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from prism.lang import tree
from prism.lang.facts.definitions import Facts, Span
from prism.lang.facts.touches import indices_of
from prism.lang.keep.bases import Frozen
from prism.lang.keep.memo import memoize
from prism.lang.tree.plan import Layout
from prism.lang.tree.walk import statements
from prism.lang.types import UINT8
from prism.lang.types.perspective import BLOCK, Perspective

BEHIND = 1 << 30
"""Where objects that are sized at launch stand: behind all others, and apart."""


def range_of(layout: Layout, symbol: tree.Symbol) -> Span:
    """Return the first byte of an object in its function's frame, and the one after the last."""
    if symbol in layout.sized:
        first = BEHIND + list(layout.sized).index(symbol)
        return first, first + 1
    return layout.offsets[symbol], layout.offsets[symbol] + layout.total_bytes(symbol)


class Objects(Frozen):
    """A function's objects: where each shared object is in scope, or a call stands, and which pointers may overlap.

    `live`: the first and the last number in which it is in scope, of declarations and calls in the order of the text. A call's
    shared memory is in scope nowhere else.
    """

    known: Facts
    live: Mapping[tree.Symbol, tuple[int, int]]
    frames: Mapping[tree.Call, tree.Symbol]
    ranges: Mapping[tree.Symbol, Span] = field(default_factory=dict)

    def overlap(self, left: tree.Symbol, right: tree.Symbol) -> str | None:
        """Return why two different objects can share bytes: `alias` (pointers), `reuse` (shared memory), or None.

        Shared objects that are never live together may be laid out over one another, and a callee's frame over any object
        that is not in scope at the call. Where the layout is known (`ranges`: first byte and the one after the last), it decides.
        """
        shared = left in self.live, right in self.live
        if all(shared):
            if self._sees(left, right) or self._sees(right, left):
                return None
            if left in self.ranges and right in self.ranges:
                (a, b), (c, d) = self.ranges[left], self.ranges[right]
                return "reuse" if a < d and c < b else None
            return "reuse"
        if any(shared):
            return None
        if any(left.name in names and right.name in names for names in self.known.function.may_alias):
            return "alias"
        return None

    def _sees(self, one: tree.Symbol, other: tree.Symbol) -> bool:
        """Whether an object is in scope where another one is declared, or its call stands."""
        first, last = self.live[one]
        return first < self.live[other][0] <= last


def objects(known: Facts, layouts: Mapping[tree.Function, Layout] | None = None) -> Objects:
    """Find a function's shared objects and calls, each with what is in scope there; layouts say which bytes are whose."""
    live: dict[tree.Symbol, tuple[int, int]] = {}
    frames: dict[tree.Call, tree.Symbol] = {}
    _find_objects(known.function.body, live, frames)
    return Objects(known, live, frames, _ranges(known.function, frames, layouts or {}))


@memoize
def frame_unit(function: tree.Function) -> Perspective:
    """Return whose the bytes of a function's frame are: a cluster's, where it or a callee has an object of the cluster."""
    unit = BLOCK
    for statement in statements(function.body):
        if isinstance(statement, tree.SharedDeclare):
            unit = max(unit, statement.symbol.perspective)
        for expression in tree.expressions(statement):
            for call in calls_of(expression):
                unit = max(unit, frame_unit(call.function))
    return unit


def _find_objects(
    body: tree.Body, live: dict[tree.Symbol, tuple[int, int]], frames: dict[tree.Call, tree.Symbol]
) -> None:
    """Note a body's shared objects in `live`, and the frames of its calls in both."""
    own: list[tree.Symbol] = []
    for statement in body:
        if isinstance(statement, tree.SharedDeclare):
            live[statement.symbol] = (len(live), len(live))
            own.append(statement.symbol)
        for expression in tree.expressions(statement):
            for call in calls_of(expression):
                name = f"{call.function.name}()'s shared memory"
                unit = frame_unit(call.function)
                frames[call] = tree.Symbol(name, tree.Pointer(UINT8, space="shared"), unit, call.span)
                live[frames[call]] = (len(live), len(live))
        for inner in tree.children(statement):
            _find_objects(inner, live, frames)
    # Of two, the earlier one is in scope where the later one begins, if they live together.
    for symbol in own:
        live[symbol] = (live[symbol][0], len(live) - 1)


def _ranges(
    function: tree.Function, frames: Mapping[tree.Call, tree.Symbol], layouts: Mapping[tree.Function, Layout]
) -> dict[tree.Symbol, Span]:
    """Return the bytes of a function's objects and of its callees' frames, where they are laid out."""
    if function not in layouts:
        return {}
    layout = layouts[function]
    ranges = {symbol: range_of(layout, symbol) for symbol in (*layout.offsets, *layout.sized)}
    for call, frame in frames.items():
        if id(call) in layout.frame and call.function in layouts:
            start = layout.frame[id(call)]
            ranges[frame] = (start, start + layouts[call.function].bytes)
    return ranges


def calls_of(expression: tree.Expr) -> Iterator[tree.Call]:
    """Yield the calls in an expression, and in the places of elements that it names, the outer one first."""
    if isinstance(expression, tree.Call):
        yield expression
    for operand in indices_of(expression) if isinstance(expression, tree.Element) else tree.operands(expression):
        yield from calls_of(operand)


# -- relations ------------------------------------------------------------------------------------------------------------
