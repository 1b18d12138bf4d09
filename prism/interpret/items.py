"""Elements of local arrays: how they are read and written, and what is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.checker import Checker
from prism.interpret.errors import UninitialisedError, index_refused
from prism.interpret.fragments import toucher
from prism.interpret.frame import Frame, Local
from prism.interpret.lanes import everywhere, first_outside, unwrap
from prism.interpret.scope import Eval, Scope
from prism.lang.tree import Item


def local_of(scope: Scope, node: Item) -> tuple[int, list[Eval]]:
    """Return the slot of an item's array and the closures of its indices."""
    return scope.slot(node.symbol), [scope.evaluate(index) for index in node.indices]


def places_of(indices: list[Eval]) -> Callable[[Frame], tuple[Any, ...]]:
    """Return the closure of all indices of an item."""
    if len(indices) == 1:
        one = indices[0]
        return lambda frame: (one(frame),)
    if len(indices) == 2:
        row, column = indices
        return lambda frame: (row(frame), column(frame))
    return lambda frame: tuple([index(frame) for index in indices])


def same_place(where: tuple[Any, ...]) -> bool:
    """Whether all threads mean one place."""
    for k in where:  # noqa: SIM110 -- a generator inside all() would cost more than the loop
        if isinstance(k, np.ndarray):
            return False
    return True


def unwrapped_all(where: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the indices of a place that all threads mean, as they are; IndexError where one is negative."""
    for k in where:
        if isinstance(k, np.ndarray) or k < 0:
            unwrap(k)
    return where


def at_lanes(where: tuple[Any, ...], lanes: Any) -> tuple[Any, ...]:
    """Return the indices that these threads mean; IndexError where one is negative."""
    return tuple([unwrap(k[lanes] if isinstance(k, np.ndarray) else k) for k in where])


def compile_item(scope: Scope, node: Item) -> Eval:
    """An element of a local array."""
    slot, indices = local_of(scope, node)
    check_local = local_checker(scope, node, write=False)
    at = places_of(indices)

    def item(frame: Frame) -> Any:
        local: Local = frame.values[slot]
        where = at(frame)
        if check_local is not None:
            check_local(frame, local, where)
        try:
            return read_local(frame, local, where)
        except IndexError as error:
            raise index_refused(node.symbol.name, error, node.span, node.perspective, frame.block.number) from None

    return item


def read_local(frame: Frame, local: Local, where: tuple[Any, ...]) -> Any:
    """Return an element of a local array, one a thread where it or an index differs among threads."""
    for k in where:
        if type(k) is not int or k < 0:
            break
    else:  # by far the commonest: one place, of numbers
        return _at_one_place(local, where)
    if same_place(where):
        return _at_one_place(local, unwrapped_all(where))
    lanes = frame.active()
    picked = at_lanes(where, lanes)
    found = local.data[(*picked, lanes) if local.each else picked]
    if frame.mask is True:
        return found
    result = np.zeros((frame.block.machine.threads, *found.shape[1:]), found.dtype)
    result[lanes] = found
    return result


def _at_one_place(local: Local, where: tuple[Any, ...]) -> Any:
    found = local.data[where]
    return found if local.each or found.ndim else found.item()


def _inside(checker: Checker, name: str, frame: Frame, local: Local, where: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what is accessed, by the threads at hand, once no index is outside."""
    lanes, all_of_them = frame.active(), frame.mask is True
    varies = not all_of_them
    place = []
    for k, extent in zip(where, local.initialised.shape, strict=False):
        if isinstance(k, np.ndarray):
            varies = True
            k = k if all_of_them else k[lanes]
        if (found := first_outside(k, extent, lanes)) is not None:
            checker.bounds_error(frame, name, found[0], extent, found[1])
        place.append(k)
    return (*place, lanes) if local.each and varies else tuple(place)


def _is_one_place(where: tuple[Any, ...], extents: tuple[int, ...]) -> bool:
    """Whether all threads mean one place, by numbers that are inside: by far the commonest."""
    for k, extent in zip(where, extents, strict=False):  # noqa: SIM110 -- a generator inside all() would cost more than the loop
        if type(k) is not int or not 0 <= k < extent:
            return False
    return True


def local_checker(scope: Scope, node: Item, *, write: bool) -> Any:
    """Return the function that checks bounds and initialisation of a local array's access; None where nothing is checked."""
    if not scope.check:
        return None
    checker, touch = Checker(node.span, node.perspective), toucher(scope, node.symbol, node.span, write=write)
    name = node.symbol.name

    def check(frame: Frame, local: Local, where: tuple[Any, ...]) -> None:
        if touch is not None:
            touch(frame, local)
        place, written = where, None
        if not _is_one_place(where, local.initialised.shape):
            place = _inside(checker, name, frame, local, where)
        elif local.whole or where in (written := local.places_written(frame.mask)):
            return
        elif local.each and frame.mask is not True:
            place = (*where, frame.active())
        if write:
            local.initialised[place] = True
        else:
            local.look()
            known = local.initialised[place]
            if not everywhere(known):
                lane = int(frame.active()[int(np.argmin(known))])
                text = f"`{name}` is read where nothing was written"
                raise checker.fault(UninitialisedError, frame, lane, text, "read here")
        if written is not None:
            written.add(where)

    return check
