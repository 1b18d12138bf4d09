"""Names of memory as closures: views are composed when a function is compiled, not when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.errors import BoundsError, UninitialisedError
from prism.interpret.frame import Frame
from prism.interpret.lanes import both, first_outside
from prism.interpret.objects import Ring, Spread
from prism.interpret.reach import note_reach
from prism.interpret.regions import Address, Mixed, Parts, Region
from prism.interpret.scope import Eval, Scope
from prism.interpret.shares import parts_of
from prism.interpret.values import merging
from prism.lang.facts.contiguous import shifts
from prism.lang.tree import Element, Pointer, Scalar, Symbol, Vector
from prism.lang.tree.plan import Cycle

Locate = Callable[[Frame], tuple[Region, Any]]


def address_of(scope: Scope, node: Element) -> Locate:
    """Return the closure that gives an element's region and index: one int, or one a thread."""
    return _locate(scope, node.symbol, [scope.evaluate(index) for index in node.indices], node)


def locate_name(scope: Scope, symbol: Symbol) -> Locate:
    """Return the closure that gives where a name's first element is."""
    rank = len(symbol.view.params) if symbol.view is not None else _rank(symbol)
    return _locate(scope, symbol, [lambda frame: 0] * rank, None)


def _rank(symbol: Symbol) -> int:
    return symbol.type.rank if isinstance(symbol.type, Pointer) else 1


def _shape(symbol: Symbol) -> tuple[int, ...] | None:
    return symbol.type.shape if isinstance(symbol.type, Pointer) else None


def _locate(scope: Scope, symbol: Symbol, indices: list[Eval], node: Element | None) -> Locate:
    root, indices = _through_views(scope, symbol, indices)
    slot = scope.slot(root)
    if isinstance(root.type, Pointer) and root.type.space == "shared" and root.perspective.size > 1:
        return _locate_spread(scope, slot, root, indices, node)
    if root.axes:
        index = _by_strides(scope, root, indices, node)
    else:
        index = indices[0] if len(indices) == 1 else _flatten(scope, root, indices, node)
    lead = _lead(scope, symbol)

    def locate(frame: Frame) -> tuple[Region, Any]:
        address: Any = frame.values[slot]
        if type(address) is not Address:
            if type(address) is Ring:
                return address.region(frame, lead), index(frame)
            address = _one(frame, address, root, node)
        at = index(frame)
        if address.map is not None:
            at = address.map(frame, (at,))
        return address.region, at

    return locate


def _lead(scope: Scope, symbol: Symbol) -> Cycle | None:
    """Return the cycle that counts the fills ahead, where a name is of a copy that is filled so."""
    while symbol.view is not None:
        if symbol.view.ahead:
            return scope.leads[symbol.view.source]
        symbol = symbol.view.source
    return None


def _locate_spread(scope: Scope, slot: int, root: Symbol, indices: list[Eval], node: Element | None) -> Locate:
    """Return the closure for an object that the blocks of a cluster share: the first index says whose part it is."""
    assert isinstance(root.type, Pointer) and root.type.shape is not None
    rank, inner = indices[0], _flatten(scope, root, [lambda frame: 0, *indices[1:]], node)
    blocks, check = root.type.shape[0], scope.check and node is not None

    def locate(frame: Frame) -> tuple[Region, Any]:
        spread: Spread = frame.values[slot]
        r = rank(frame)
        if check and node is not None:
            _check_inside(frame, r, blocks, root.name, node)
            note_reach(frame, r, node.span)
        return spread.region, r * spread.stride + inner(frame)

    return locate


def _one(frame: Frame, address: Mixed | None, root: Symbol, node: Element | None) -> Address:
    """Return the one address that the threads that run now hold."""
    span = node.span if node is not None else root.span
    held = [] if address is None else [a for mask, a in address.parts if both(frame.mask, mask) is not False]
    if len(held) == 1:
        return held[0]
    what = (
        "is used before it points to anything"
        if not held
        else "points to different objects in threads that run together"
    )
    raise UninitialisedError(
        f"`{root.name}` {what}", span, here="used here", perspective=root.perspective, thread=frame.first(),
        block=frame.block.number,
    )  # fmt: skip


def access_each_part(scope: Scope, node: Element, one: Eval) -> Eval:
    """Return an access that is made for each part of the threads that hold one pointer, where they hold several."""
    root = node.symbol.root()
    if root.parameter and not scope.assigns(root):
        return one
    slot, type_ = scope.slot(root), node.type
    merge = merging(type_) if isinstance(type_, Scalar | Vector) else lambda mask, new, old: new

    def every(frame: Frame) -> Any:
        address = frame.values[slot]
        if type(address) is not Mixed:
            return one(frame)
        mask, result = frame.mask, None
        for part, held in address.parts:
            here = both(mask, part)
            if here is False:
                continue
            frame.mask, frame.values[slot] = here, held
            found = one(frame)
            result = found if result is None or isinstance(found, bool) else merge(here, found, result)
        frame.mask, frame.values[slot] = mask, address
        return result

    return every


def _through_views(scope: Scope, symbol: Symbol, indices: list[Eval]) -> tuple[Symbol, list[Eval]]:
    """Return the object behind a chain of views, and the closures of the indices into it."""
    while symbol.view is not None:
        view = symbol.view
        scope.bound.update(zip(view.params, indices, strict=True))
        outer, scope.origin = scope.origin, scope.origins.get(symbol)
        indices = [scope.evaluate(index) for index in view.index]
        scope.origin = outer
        for parameter in view.params:
            del scope.bound[parameter]
        symbol = view.source
    return symbol, indices


def _flatten(scope: Scope, root: Symbol, indices: list[Eval], node: Element | None) -> Eval:
    shape = root.type.shape if isinstance(root.type, Pointer) else None
    if shape is None or len(shape) != len(indices):
        raise TypeError(f"`{root.name}` is indexed {len(indices)} times")
    extents = shape
    check = scope.check and node is not None

    def flat(frame: Frame) -> Any:
        total: Any = 0
        for index, extent in zip(indices, extents, strict=True):
            k = index(frame)
            if check and node is not None:
                _check_inside(frame, k, extent, root.name, node)
            total = total * extent + k
        return total

    return flat


def _by_strides(scope: Scope, root: Symbol, indices: list[Eval], node: Element | None) -> Eval:
    """Return the closure of an array's element, in elements from the first one on: each index is inside its axis."""
    sizes = [(scope.slot(extent), scope.slot(stride)) for extent, stride in root.axes]
    check = scope.check and node is not None

    def flat(frame: Frame) -> Any:
        total: Any = 0
        for axis, (index, (extent, stride)) in enumerate(zip(indices, sizes, strict=True)):
            k = index(frame)
            if check and node is not None:
                _check_inside(frame, k, int(frame.values[extent]), root.name, node, f"axis {axis}")
            total = total + np.asarray(k, np.int64) * int(frame.values[stride])
        return total if isinstance(total, int) or total.ndim else int(total)

    return flat


def _check_inside(frame: Frame, index: Any, extent: int, name: str, node: Element, what: str = "a dimension") -> None:
    lanes = frame.active()
    picked = index[lanes] if isinstance(index, np.ndarray) and frame.mask is not True else index
    if (found := first_outside(picked, extent, lanes)) is not None:
        value, lane = found
        raise BoundsError(
            f"index {value} is outside {what} of `{name}`, of {extent} elements", node.span,
            here=f"index {value}", perspective=node.perspective, thread=lane, block=frame.block.number,
        )  # fmt: skip


def pointer_value(scope: Scope, symbol: Symbol) -> Eval:
    """Return the closure of a pointer as a value; a view passed on maps its indices in the frame that it was named in.

    What lies side by side is an address: names in its index count with the values that they have now.
    """
    if symbol.view is None:
        slot = scope.slot(symbol)
        return lambda frame: frame.values[slot]
    root, lead = scope.slot(symbol.root()), _lead(scope, symbol)
    if _shape(symbol) is not None:
        return _whole(root, lead)
    slots, parts = [scope.fresh() for _ in symbol.view.params], parts_of(symbol) if scope.check else ()
    locate = _locate(scope, symbol, [_read(slot) for slot in slots], None)
    if shifts(symbol):
        return _start(root, lead, slots[0], locate, parts)

    def value(frame: Frame) -> Address:
        def map_indices(user: Frame, indices: Any) -> Any:
            for slot, index in zip(slots, indices, strict=True):
                frame.values[slot] = index
            mask, frame.mask = frame.mask, user.mask
            at = locate(frame)[1]
            frame.mask = mask
            return at

        held = frame.values[root]
        return Address(_part(held.region(frame, lead) if type(held) is Ring else held.region, parts), map_indices)

    return value


def _part(region: Region, parts: Parts) -> Region:
    """Return a region as a function gets it that is passed such a view."""
    return region.part(parts=parts) if parts else region


def _start(root: int, lead: Cycle | None, slot: int, locate: Locate, parts: Parts) -> Eval:
    """Return the closure of a pointer to what begins at a view's first element."""

    def value(frame: Frame) -> Address:
        frame.values[slot] = 0
        region, first = locate(frame)
        held = frame.values[root]
        return Address(
            _part(held.region(frame, lead) if type(held) is Ring else region, parts),
            lambda _, indices: first + indices[0],
        )

    return value


def _whole(root: int, lead: Cycle | None) -> Eval:
    """Return the closure of a pointer to all of an object, or of a ring's copy."""

    def value(frame: Frame) -> Any:
        held = frame.values[root]
        return Address(held.region(frame, lead)) if type(held) is Ring else held

    return value


def _read(slot: int) -> Eval:
    return lambda frame: frame.values[slot]
