"""Calls of device functions: a frame of their own, values copied, arrays and pointers by reference."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from prism.interpret.errors import MachineError
from prism.interpret.frame import Frame
from prism.interpret.scope import Eval, Piece, Scope
from prism.lang.diagnostics import Label, Span
from prism.lang.tree import Call
from prism.lang.types.perspective import Level, Perspective

ALIGN = 16


def compile_call(scope: Scope, node: Call) -> Eval:
    """A call: every unit of the callee's perspective inside the current one runs it."""
    code = scope.shop.function(scope.shop, node.function)
    arguments = [scope.keep(argument) for argument in node.arguments]
    base = frame_of(scope, node)
    scope.high = max(scope.high, base + code.bytes)
    unit = node.function.bound.code
    size = unit.size if unit.level == Level.THREAD else 0
    label = call_label(node.function.name, node.span)
    assert code.parameters == tuple(range(len(arguments)))  # they have the first slots
    others: list[Any] = [None] * (code.slots - len(arguments))

    def enter(frame: Frame) -> Frame:
        values = [argument(frame) for argument in arguments]
        values += others
        lanes = frame.lanes.group(size) if size else frame.lanes
        inner = Frame(values, frame.block, frame.mask, lanes, frame.bid, frame.shared + base)
        if not size:
            narrow(inner, unit)
        inner.calls = (label, *frame.calls)
        return inner

    if code.body.run is not None:
        run = code.body.run

        def call(frame: Frame) -> Any:
            inner = enter(frame)
            try:
                run(inner)
            except MachineError as error:
                error.add_calls(label)
                raise
            return inner.result

        return call
    steps, slot = code.body.steps, scope.fresh()
    assert steps is not None

    def wait(frame: Frame) -> Generator[None, None, None]:
        inner = enter(frame)
        try:
            yield from steps(inner)
        except MachineError as error:
            error.add_calls(label)
            raise
        frame.values[slot] = inner.result

    scope.waits.append(wait)
    return lambda frame: frame.values[slot]


def frame_of(scope: Scope, node: Call) -> int:
    """Return where the callee's shared memory starts inside the caller's."""
    if scope.layout is not None and id(node) in scope.layout.frame:
        return scope.layout.frame[id(node)]
    return (scope.live + ALIGN - 1) // ALIGN * ALIGN


def narrow(frame: Frame, unit: Perspective) -> None:
    """Make the frame's indices relative to units of `unit`."""
    if unit.level == Level.THREAD:
        frame.lanes = frame.lanes.group(unit.size)
    elif unit.level == Level.BLOCK:
        frame.bid %= unit.size
        frame.lanes = frame.block.machine.base


def call_label(name: str, span: Span) -> Label:
    """Return what is said of a call, as a compile error says it."""
    return Label(span, f"`{name}` is called here")


def add_call(label: Label, piece: Piece) -> Piece:
    """Return a function's body that is compiled into another's text, with its call in what goes wrong inside."""
    inner, waits = piece.run, piece.steps
    if inner is not None:
        body = inner

        def run(frame: Frame) -> bool:
            outer, frame.calls = frame.calls, (label, *frame.calls)
            try:
                return body(frame)
            except MachineError as error:
                error.add_calls(label)
                raise
            finally:
                frame.calls = outer

        return Piece(run)
    assert waits is not None
    wait = waits

    def steps(frame: Frame) -> Generator[None, None, Any]:
        outer, frame.calls = frame.calls, (label, *frame.calls)
        try:
            return (yield from wait(frame))
        except MachineError as error:
            error.add_calls(label)
            raise
        finally:
            frame.calls = outer

    return Piece(None, steps)
