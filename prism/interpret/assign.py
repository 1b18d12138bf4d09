"""Declarations and assignments as closures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret import items
from prism.interpret.barriers import agreement
from prism.interpret.checker import Checker
from prism.interpret.errors import index_refused
from prism.interpret.expressions import component_index, field_of
from prism.interpret.fragments import toucher
from prism.interpret.frame import Frame, Local, make_local
from prism.interpret.lanes import Mask, minus, put, union, unwrap
from prism.interpret.objects import declare
from prism.interpret.pointers import access_each_part, address_of
from prism.interpret.regions import Region, mix_pointers
from prism.interpret.scope import Eval, Run, Scope
from prism.interpret.shares import allows_overlap, parts_of
from prism.interpret.values import dtype_of, merging
from prism.lang import tree
from prism.lang.types.perspective import Level
from prism.lang.types.structs import Struct, alignment_of

RING_ALIGN = 128


Write = Callable[[Frame, Local, tuple[Any, ...], Any], None]
"""Writes to a local array: at some indices a value, for the threads that run now."""


def per_thread(symbol: tree.Symbol) -> bool:
    """Whether each thread has its own of a local."""
    return symbol.perspective.level == Level.THREAD


def compile_declare(scope: Scope, statement: tree.Declare) -> Run:
    """A local variable."""
    symbol = statement.symbol
    if isinstance(symbol.type, tree.Array | tree.Fragment):
        return _declare_array(scope, statement, symbol.type)
    if statement.value is not None:
        return store_value(scope, symbol, scope.keep(statement.value), statement, fresh=True)
    slot, check = scope.slot(symbol), scope.check
    dtype = dtype_of(symbol.type) if isinstance(symbol.type, tree.Scalar | tree.Vector) else None
    each, length = per_thread(symbol), symbol.type.length if isinstance(symbol.type, tree.Vector) else 0

    def run(frame: Frame) -> bool:
        if length:
            shape = (frame.block.machine.threads, length) if each else (length,)
            frame.values[slot] = np.zeros(shape, dtype)
        else:
            frame.values[slot] = None if dtype is None else np.zeros((), dtype).item()
        if check:
            frame.holes[slot] = False
        return False

    return run


def _declare_array(scope: Scope, statement: tree.Declare, type_: tree.Array | tree.Fragment) -> Run:
    slot, each, check = scope.slot(statement.symbol), per_thread(statement.symbol), scope.check
    value = None if statement.value is None else scope.evaluate(statement.value)
    touch = toucher(scope, statement.symbol, statement.span, write=True)

    def run(frame: Frame) -> bool:
        local = make_local(type_, each, frame.block.machine.threads, check)
        if value is not None:
            found = value(frame)
            local.data[...] = found.data if isinstance(found, Local) else found
            if local.initialised is not None:
                local.initialised[...] = True
        if touch is not None:
            touch(frame, local)
        frame.values[slot] = local
        return False

    return run


def compile_shared(scope: Scope, statement: tree.SharedDeclare) -> Run:
    """A shared object: bytes of the block's shared memory, with nothing in them."""
    if statement.length is not None:
        return _compile_sized(scope, statement)
    symbol = statement.symbol
    pointer = symbol.type
    assert isinstance(pointer, tree.Pointer)
    size = pointer.element.bytes * (int(np.prod(pointer.shape)) if pointer.shape else 1)
    if symbol.perspective.size > 1:
        size //= symbol.perspective.size  # each block of the cluster has a part
    stride = -(-size // RING_ALIGN) * RING_ALIGN
    if scope.layout is not None:
        stride = scope.layout.strides.get(symbol, stride)
    offset = _place(scope, statement, stride * pointer.ring if pointer.ring else size)
    slot, cycle = scope.slot(symbol), scope.cycles.get(symbol)

    def run(frame: Frame) -> bool:
        frame.values[slot] = declare(frame, statement, offset, stride, cycle)
        return False

    return run


def _compile_sized(scope: Scope, statement: tree.SharedDeclare) -> Run:
    """One whose length the launch says: it has its place for as long as the kernel runs."""
    slot = scope.slot(statement.symbol)

    def run(frame: Frame) -> bool:
        offset, length = frame.block.machine.sized[statement.symbol]
        frame.values[slot] = declare(frame, statement, offset, 0, None, (length,))
        return False

    return run


def _place(scope: Scope, statement: tree.SharedDeclare, size: int) -> int:
    symbol = statement.symbol
    if scope.layout is not None and symbol in scope.layout.offsets:
        offset = scope.layout.offsets[symbol]
    else:
        pointer = symbol.type
        assert isinstance(pointer, tree.Pointer)
        align = max(statement.align, alignment_of(pointer.element), RING_ALIGN if pointer.ring else 1)
        offset = (scope.live + align - 1) // align * align
    scope.live = max(scope.live, offset + size)
    scope.high = max(scope.high, scope.live)
    return offset


def compile_assign(scope: Scope, statement: tree.Assign) -> Run:
    """`target = value`: the value is evaluated first."""
    match statement.target:
        case tree.Var() if isinstance(statement.target.symbol.type, tree.Fragment):
            return _fill_fragment(scope, statement.target.symbol, statement)
        case tree.Var():
            return store_value(scope, statement.target.symbol, scope.keep(statement.value), statement)
        case tree.Item():
            return _store_item(scope, statement.target, scope.evaluate(statement.value))
        case tree.Element():
            return _store_element(scope, statement.target, scope.evaluate(statement.value))
        case tree.Component():
            return _store_component(scope, statement.target, scope.evaluate(statement.value))
        case other:
            raise TypeError(f"{type(other).__name__} is no target")


def _fill_fragment(scope: Scope, symbol: tree.Symbol, statement: tree.Assign) -> Run:
    """`acc = 0`: every element of each thread's part."""
    slot, value = scope.slot(symbol), scope.evaluate(statement.value)
    touch = toucher(scope, symbol, statement.span, write=True)

    def run(frame: Frame) -> bool:
        local: Local = frame.values[slot]
        if touch is not None:
            touch(frame, local)
        lanes = frame.active()
        local.data[:, lanes] = value(frame)
        if local.initialised is not None:
            local.initialised[:, lanes] = True
        return False

    return run


def store_value(scope: Scope, symbol: tree.Symbol, value: Eval, node: tree.Stmt, *, fresh: bool = False) -> Run:
    """Return the closure that gives a variable a value, for the threads that run now."""
    slot, each = scope.slot(symbol), per_thread(symbol)
    merge = merging(symbol.type) if isinstance(symbol.type, tree.Scalar | tree.Vector) else None
    scalar, pointer = isinstance(symbol.type, tree.Scalar), isinstance(symbol.type, tree.Pointer)
    vector = isinstance(symbol.type, tree.Vector)
    agree = agreement(scope, symbol.perspective, node.span, f"value of `{symbol.name}`", vector=vector)

    def run(frame: Frame) -> bool:
        found = value(frame)
        if agree is not None:
            agree(frame, found)
        if not each:
            if scalar and isinstance(found, np.ndarray):
                found = found[frame.first()].item()
        elif frame.mask is not True and not fresh:
            old = frame.values[slot]
            if merge is not None:
                found = merge(frame.mask, found, old)
            elif pointer:
                found = mix_pointers((frame.mask, found), (minus(True, frame.mask), old))
        frame.values[slot] = found
        if frame.holes:
            _fill(frame, slot, fresh or not each)
        return False

    return run


def _fill(frame: Frame, slot: int, whole: bool) -> None:
    if slot in frame.holes:
        written: Mask = True if whole else union(frame.holes[slot], frame.mask)
        if written is True:
            del frame.holes[slot]
        else:
            frame.holes[slot] = written


def _store_item(scope: Scope, target: tree.Item, value: Eval, write: Write | None = None) -> Run:
    """An element of a local array, or a part of it: `write` says how a value gets there."""
    slot, indices = items.local_of(scope, target)
    check, at = items.local_checker(scope, target, write=True), items.places_of(indices)
    put_there = write_local if write is None else write

    def run(frame: Frame) -> bool:
        found = value(frame)
        local: Local = frame.values[slot]
        where = at(frame)
        if check is not None:
            check(frame, local, where)
        try:
            put_there(frame, local, where, found)
        except IndexError as error:
            raise index_refused(
                target.symbol.name, error, target.span, target.perspective, frame.block.number
            ) from None
        return False

    return run


def write_local(frame: Frame, local: Local, where: tuple[Any, ...], found: Any) -> None:
    """Write an element of a local array, for the threads that run now."""
    if not local.each or items.same_place(where):
        if frame.mask is True or not local.each:
            local.data[items.unwrapped_all(where)] = found
        else:
            row = local.data[items.unwrapped_all(where)]
            found = np.asarray(found, row.dtype) if type(found) is tuple else found
            np.copyto(row, found, where=frame.mask if row.ndim == 1 else frame.mask[:, None], casting="unsafe")
        return
    lanes = frame.active()
    picked = items.at_lanes(where, lanes)
    # Whether it has one entry a thread: vectors have an axis of components.
    varies = isinstance(found, np.ndarray) and found.ndim == local.data.ndim - len(where)
    local.data[(*picked, lanes)] = found[lanes] if varies else found


def _store_element(scope: Scope, target: tree.Element, value: Eval) -> Run:
    address = address_of(scope, target)
    checker = Checker(target.span, target.perspective) if scope.check else None
    parts = parts_of(target.symbol)

    def run(frame: Frame) -> bool:
        found = value(frame)
        region, index = address(frame)
        if checker is None and frame.mask is True:
            try:
                if isinstance(index, np.ndarray):
                    put(region.data, index, found)
                else:
                    region.data[unwrap(index)] = found[-1] if _many(found, region) else found
            except IndexError as error:
                raise index_refused(region.name, error, target.span, target.perspective, frame.block.number) from None
            return False
        lanes = frame.active()
        at = index[lanes] if isinstance(index, np.ndarray) else np.full(len(lanes), index)
        if checker is not None and allows_overlap(region.parts + parts):
            picked = found[lanes] if _many(found, region) else found
            checker.share(frame, region, at, lanes, picked, region.parts + parts)
        elif checker is not None:
            checker.access(frame, region, at, lanes, "write")
        try:
            put(region.data, at, found[lanes] if _many(found, region) else found)
        except IndexError as error:
            raise index_refused(region.name, error, target.span, target.perspective, frame.block.number) from None
        return False

    return access_each_part(scope, target, run)


def _many(found: Any, region: Region) -> bool:
    """Whether a value has one entry a thread."""
    return isinstance(found, np.ndarray) and found.ndim == region.data.ndim


def _store_component(scope: Scope, target: tree.Component, value: Eval) -> Run:
    if isinstance(target.vector.type, Struct):
        return _store_field(scope, target, value)
    index = component_index(scope, target)
    if isinstance(target.vector, tree.Item):
        return _store_item(scope, target.vector, lambda frame: (value(frame), index(frame)), _write_component)
    assert isinstance(target.vector, tree.Var)
    symbol = target.vector.symbol
    slot, each = scope.slot(symbol), per_thread(symbol)

    def run(frame: Frame) -> bool:
        found, k, old = value(frame), index(frame), frame.values[slot]
        threads = frame.block.machine.threads
        if each and old.ndim == 1:
            old = np.broadcast_to(old, (threads, len(old)))
        new = old.copy()
        _set_component(frame, new, k, found)
        frame.values[slot] = new
        if frame.holes:
            _fill(frame, slot, not each)
        return False

    return run


def _store_field(scope: Scope, target: tree.Component, value: Eval) -> Run:
    """A field of a struct that is a local, or an element of a local array."""
    whole = target.vector
    name, encode = field_of(target)
    assert isinstance(whole, tree.Var | tree.Item)
    symbol = whole.symbol
    slot, each = scope.slot(symbol), per_thread(symbol)
    if isinstance(whole, tree.Item):

        def write(frame: Frame, local: Local, where: tuple[Any, ...], found: Any) -> None:
            write_local(frame, Local(local.data[name], local.each), where, encode(found))

        return _store_item(scope, whole, value, write)
    dtype = dtype_of(symbol.type)

    def run(frame: Frame) -> bool:
        found, threads = encode(value(frame)), frame.block.machine.threads
        new = np.array(np.broadcast_to(np.asarray(frame.values[slot], dtype), (threads,) if each else ()))
        if not each:
            new[name] = found[frame.first()] if isinstance(found, np.ndarray) and found.ndim else found
            frame.values[slot] = new.item()
        else:
            np.copyto(new[name], found, where=frame.mask, casting="unsafe")
            frame.values[slot] = new
        if frame.holes:
            _fill(frame, slot, not each)
        return False

    return run


def _set_component(frame: Frame, vectors: Any, k: Any, found: Any) -> None:
    if vectors.ndim == 1:
        vectors[k] = found
        return
    lanes = frame.active()
    at = k[lanes] if isinstance(k, np.ndarray) else k
    vectors[lanes, at] = found[lanes] if isinstance(found, np.ndarray) else found


def _write_component(frame: Frame, local: Local, where: tuple[Any, ...], given: tuple[Any, Any]) -> None:
    found, k = given
    if items.same_place(where):
        _set_component(frame, local.data[items.unwrapped_all(where)], k, found)
        return
    lanes = frame.active()
    *rows, component = items.at_lanes((*where, k), lanes)
    local.data[(*rows, lanes, component)] = found[lanes] if isinstance(found, np.ndarray) else found
