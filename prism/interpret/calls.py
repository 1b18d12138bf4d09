"""Calls of device functions: a frame of their own, values copied, arrays and pointers by reference."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from prism.interpret.errors import MachineError
from prism.interpret.frame import Frame
from prism.interpret.scope import Eval, Scope
from prism.lang.diagnostics import Label
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
    label = Label(node.span, f"`{node.function.name}` is called here")
    places = list(zip(code.parameters, arguments, strict=True))

    def enter(frame: Frame) -> Frame:
        values: list[Any] = [None] * code.slots
        for slot, argument in places:
            values[slot] = argument(frame)
        inner = Frame(values, frame.block, frame.mask, frame.lanes, frame.bid, frame.shared + base)
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
