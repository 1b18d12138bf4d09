"""`unsafe` and `extern` on the reference machine: what their `meaning` says, or nothing: refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from prism.interpret.assign import store_value
from prism.interpret.checker import Checker
from prism.interpret.errors import NoMeaningError
from prism.interpret.frame import Frame
from prism.interpret.pointers import pointer_value
from prism.interpret.regions import Address, Mixed, Region
from prism.interpret.scope import Eval, Run, Scope
from prism.interpret.values import dtype_of
from prism.lang import tree


class Memory:
    """Memory as a meaning sees it: `p[k]` is one element a thread, `p[k] = v` stores one; `k` one index, or one a thread."""

    def __init__(self, frame: Frame, pointer: Address | Mixed, checker: Checker, check: bool) -> None:
        self._frame, self._checker, self._check = frame, checker, check
        self._lanes = frame.active()
        everyone = frame.block.machine.everyone
        parts = pointer.parts if isinstance(pointer, Mixed) else [(True, pointer)]
        self._parts = [
            (self._lanes if mask is True else np.intersect1d(self._lanes, everyone[mask]), address)
            for mask, address in parts
        ]

    def _each(self, index: Any, kind: str) -> Iterator[tuple[Any, Region, Any]]:
        """Yield what the threads of each pointer touch: the threads, the region, an element of it for each."""
        threads = self._frame.block.machine.threads
        whole = np.zeros(threads, np.int64)
        whole[self._lanes] = index
        for lanes, address in self._parts:
            at = whole
            if address.map is not None:
                at = np.broadcast_to(address.map(self._frame, (at,)), (threads,))
            at = at[lanes]
            if self._check:
                self._checker.access(self._frame, address.region, at, lanes, kind)
            else:
                self._checker.bounds(self._frame, address.region, at, lanes)
            yield lanes, address.region, at

    def __getitem__(self, index: Any) -> Any:
        found: Any = None
        for lanes, region, at in self._each(index, "read"):
            values = region.data[at]
            if len(self._parts) == 1:
                return values
            if found is None:
                found = np.zeros((self._frame.block.machine.threads, *values.shape[1:]), values.dtype)
            found[lanes] = values
        return found[self._lanes]

    def __setitem__(self, index: Any, value: Any) -> None:
        whole = None
        if len(self._parts) > 1 and np.ndim(value):
            whole = np.zeros((self._frame.block.machine.threads, *np.shape(value)[1:]), np.asarray(value).dtype)
            whole[self._lanes] = value
        for lanes, region, at in self._each(index, "write"):
            region.data[at] = value if whole is None else whole[lanes]


def compile_unsafe(scope: Scope, statement: tree.Unsafe) -> Run:
    """A meaning is called with all that the text uses, by name; it gives what it writes, in order, or the result."""
    meaning = statement.meaning
    if not callable(meaning):
        if statement.text.startswith("#pragma"):
            return lambda frame: False
        return _refuse(scope, statement)
    checker = Checker(statement.span, statement.code)
    values = [(symbol.name, _value(scope, symbol, checker)) for symbol in statement.uses]
    slots = [(scope.fresh(), symbol) for symbol in statement.writes]
    stores = [store_value(scope, symbol, _from(slot), statement) for slot, symbol in slots]
    result = scope.function.result if statement.returns else None

    def run(frame: Frame) -> bool:
        with np.errstate(all="ignore"):
            found = meaning(**{name: value(frame) for name, value in values})
        if result is not None:
            frame.result = _spread(frame, found, result)
            return True
        given = found if isinstance(found, tuple) else (found,)
        for (slot, symbol), value in zip(slots, given, strict=False):
            frame.values[slot] = _spread(frame, value, symbol.type)
        for store in stores:
            store(frame)
        return False

    return run


def _refuse(scope: Scope, statement: tree.Unsafe) -> Run:
    what = (
        f"the extern function `{scope.function.name}`"
        if scope.function.span == statement.span
        else "this `unsafe` text"
    )

    def run(frame: Frame) -> bool:
        raise NoMeaningError(
            f"{what} has no meaning on the reference machine", statement.span, here="only CUDA knows what it does",
            perspective=statement.code, thread=frame.first(), block=frame.block.number,
            barrier="give it a Python `meaning=`, or run the kernel on a GPU",
        )  # fmt: skip

    return run


def _from(slot: int) -> Eval:
    return lambda frame: frame.values[slot]


def _value(scope: Scope, symbol: tree.Symbol, checker: Checker) -> Eval:
    if isinstance(symbol.type, tree.Pointer):
        pointer = pointer_value(scope, symbol)
        return lambda frame: Memory(frame, pointer(frame), checker, scope.check)
    slot = scope.slot(symbol)
    if isinstance(symbol.type, tree.Array):
        return lambda frame: frame.values[slot].data
    dtype = dtype_of(symbol.type)

    def value(frame: Frame) -> Any:
        found = frame.values[slot]
        if not isinstance(found, np.ndarray):
            return dtype.type(found)
        return found if frame.mask is True else found[frame.active()]

    return value


def _spread(frame: Frame, found: Any, type_: Any) -> Any:
    if not isinstance(type_, tree.Scalar | tree.Vector):
        return found
    found = np.asarray(found).astype(dtype_of(type_), copy=False)
    lanes = frame.active()
    if found.ndim == (1 if isinstance(type_, tree.Vector) else 0):
        return found if found.ndim else found.item()
    result = np.zeros((frame.block.machine.threads, *found.shape[1:]), found.dtype)
    result[lanes] = found
    return result
