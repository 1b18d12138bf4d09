"""Shared memory: where each object of a function stands in the function's frame.

A frame is a stack: an object lives from its declaration to the end of the statement list that it stands in, and a callee's
frame stands above what lives at the call. Bytes that are used again cost barriers between their users, so dead space is
reused only where the frame would otherwise be large. Rings stand first, below the stack, and their mbarriers behind it: they
live as long as the kernel. Limits are the driver's to check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from prism.lang import tree
from prism.lang.facts.sized import sized_objects
from prism.lang.intrinsics.gathers import MBARRIERS
from prism.lang.keep.memo import memoize
from prism.lang.tree.plan import Layout, Plan, copies, shared_bytes
from prism.lang.tree.walk import calls, statements, terms, used_objects
from prism.lang.types import Array, Pointer, tiles
from prism.lang.types.structs import alignment_of

_Layouts = Mapping[tree.Function, Layout]
SPREAD = 16 * 1024
"""Bytes that a frame may have before dead space in it is used again."""
WIDEST = 16
"""The alignment of each object, and of each copy of a ring: that of the widest `cp_async`, and of the widest read.

NVCC reads so many bytes at once where a program reads some of them. They are of one object then. Nobody uses the others, but
compute-sanitizer takes the read for a race with who writes them.
"""
MBARRIER = 8
"""Bytes of an mbarrier."""


def place(function: tree.Function, layouts_of_callees: _Layouts) -> Layout:
    """Return the layout of one function, given those of all that it calls.

    `frame` is keyed by `id(call)`: the byte offset, in this function's frame, at which the callee's frame starts.
    """
    limit = function.shared_limit
    rings, strides = _place_rings(function)
    base = max((rings[ring] + strides[ring] * copies(ring) for ring in rings), default=0)
    for reuse in (False, True):
        offsets, frames = dict(rings), dict[int, int]()
        high = _place_body(function, function.body, base, layouts_of_callees, offsets, frames, reuse=reuse)
        if high <= base + SPREAD and (limit is None or high <= limit):
            break
    return Layout(offsets, high, frames, strides, sized=sized_objects(function))


def with_mbarriers(layout: Layout, plan: Plan) -> Layout:
    """Return a kernel's layout with the mbarriers of its plan, behind all objects but those that are sized at launch."""
    offsets, end = {}, _up(layout.bytes, WIDEST)
    for barrier in plan.mbarriers:
        offsets[barrier] = end
        end += MBARRIER * barrier.cycle.copies
    gathers = _up(end, WIDEST) if layout.room else 0
    end = gathers + gathered_bytes(layout) if layout.room else end
    last = end if offsets or layout.sized or layout.room else layout.bytes
    return replace(layout, bytes=last, mbarriers=offsets, gathers=gathers)


def gathered_bytes(layout: Layout) -> int:
    """Return the bytes that a kernel's gathers take: two mbarriers, and the rooms."""
    return MBARRIERS + layout.rooms * layout.room if layout.room else 0


def _place_rings(function: tree.Function) -> tuple[dict[tree.Symbol, int], dict[tree.Symbol, int]]:
    """Return where a function's rings begin, the most aligned first, and how far apart each one's copies are.

    A ring that nothing but stations name takes no room: its scopes wait for nobody either.
    """
    found = [s for s in statements(function.body) if isinstance(s, tree.SharedDeclare) and _ring(s.symbol)]
    offsets: dict[tree.Symbol, int] = {}
    strides: dict[tree.Symbol, int] = {}
    end = 0
    named = used_objects(function) if found else frozenset()
    for statement in sorted(found, key=lambda s: -_align(function, s)):
        symbol, align = statement.symbol, _align(function, statement)
        if symbol not in named:
            offsets[symbol] = strides[symbol] = 0
            continue
        offsets[symbol], strides[symbol] = _up(end, align), _up(shared_bytes(symbol), align)
        end = offsets[symbol] + strides[symbol] * copies(symbol)
    return offsets, strides


def _ring(symbol: tree.Symbol) -> bool:
    return isinstance(symbol.type, Pointer) and symbol.type.ring > 0


@memoize
def alignment(function: tree.Function) -> int:
    """Return the alignment that a function's frame needs: that of its objects, and of its callees' frames."""
    most = 1
    for statement in statements(function.body):
        if isinstance(statement, tree.SharedDeclare):
            most = max(most, _align(function, statement))
        for call in calls(statement):
            most = max(most, alignment(call.function))
    return most


def _align(function: tree.Function, statement: tree.SharedDeclare) -> int:
    pointer = statement.symbol.type
    assert isinstance(pointer, Pointer) and not isinstance(pointer.element, Array)
    return max(
        WIDEST,
        statement.align,
        alignment_of(pointer.element),
        _alignments(function).get(statement.symbol, 1),
        tiles.ALIGNMENT[pointer.swizzle] if pointer.swizzle else 1,
    )


@memoize
def _alignments(function: tree.Function) -> Mapping[tree.Symbol, int]:
    """Return the alignment that asynchronous copies and wgmma need of the objects and parameters that they touch."""
    found: dict[tree.Symbol, int] = {}

    def ask(argument: tree.Expr, least: int) -> None:
        if isinstance(argument, tree.Var | tree.Element):
            root = argument.symbol.root()
            found[root] = max(found.get(root, 1), least)

    for statement in statements(function.body):
        for part in terms(statement):
            if isinstance(part, tree.Call):
                inner = _alignments(part.function)
                for formal, argument in zip(part.function.parameters, part.arguments, strict=False):
                    ask(argument, inner.get(formal, 1))
            elif isinstance(part, tree.Apply) and part.intrinsic.asynchronous:
                given = [p for p in part.intrinsic.parameters if p.kind != "static"]
                for parameter, argument in zip(given, part.arguments, strict=False):
                    if parameter.kind in ("element", "tile"):
                        ask(argument, tiles.ALIGNMENT[0] if parameter.kind == "tile" else WIDEST)
    return found


def _up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def _place_body(
    function: tree.Function,
    body: tree.Body,
    live: int,
    layouts: _Layouts,
    offsets: dict[tree.Symbol, int],
    frames: dict[int, int],
    *,
    reuse: bool,
) -> int:
    """Place a statement list above `live` bytes; return its high-water mark. Without `reuse` nothing is laid over another."""
    high = live
    for statement in body:
        for call in calls(statement):
            if layouts[call.function].bytes:
                frames[id(call)] = _up(live if reuse else high, alignment(call.function))
                high = max(high, frames[id(call)] + layouts[call.function].bytes)
            else:
                frames[id(call)] = live
        if isinstance(statement, tree.SharedDeclare) and not _ring(statement.symbol) and statement.length is None:
            start = _up(live if reuse else high, _align(function, statement))
            offsets[statement.symbol] = start
            live = start + shared_bytes(statement.symbol)
            high = max(high, live)
        for inner in tree.children(statement):
            start = live if reuse else high
            high = max(high, _place_body(function, inner, start, layouts, offsets, frames, reuse=reuse))
    return high
