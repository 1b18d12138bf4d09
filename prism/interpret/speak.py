"""`assert_`, `assume`, `print_` and `breakpoint` on the reference machine: what is said, for each unit, in the units' order."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import numpy as np

from prism.interpret.errors import AssertError, AssumeError
from prism.interpret.frame import Frame, Local
from prism.interpret.regions import Address, Region
from prism.interpret.scope import Run, Scope
from prism.lang import tree
from prism.lang.types.perspective import Level, Perspective


def speakers(frame: Frame, code: Perspective) -> Any:
    """Return the first thread of each unit that runs now."""
    lanes = frame.active()
    if code.level == Level.THREAD:
        return lanes if code.size == 1 else lanes[frame.lanes.index[lanes] == 0]
    blocks = 1 if code.level == Level.BLOCK and code.size == 1 else 0
    return lanes[lanes == 0] if blocks or frame.bid == 0 else lanes[:0]


def unit_of(frame: Frame, code: Perspective, lane: int) -> str:
    """Return which unit speaks, as the GPU prints it."""
    number = frame.block.number
    if code.level == Level.THREAD:
        name = "thread" if code.size == 1 else str(code)
        return f"{name} {lane // code.size} of block {number}: "
    if code.level == Level.BLOCK:
        return f"{'block' if code.size == 1 else code} {number // code.size}: "
    return ""


def compile_print(scope: Scope, statement: tree.Print) -> Run:
    """A line a unit, on standard output."""
    values = [(scope.evaluate(value), value.type) for value in statement.values]

    def run(frame: Frame) -> bool:
        found = [(value(frame), type_) for value, type_ in values]
        for lane in speakers(frame, statement.code):
            given = iter(found)
            line = "".join(_show(next(given), int(lane)) if text is None else text for text in statement.texts)
            said = unit_of(frame, statement.code, int(lane)) + line
            print(
                said.encode("utf-8", "backslashreplace").decode()
            )  # half of a pair, which no file takes, as its number
        return False

    return run


def compile_breakpoint(scope: Scope, statement: tree.Breakpoint) -> Run:
    """Python's debugger, where the kernel stands, with its variables: those of all threads of the block at once."""
    span = statement.span
    code = compile("\n" * (span.line - 1) + "breakpoint()", span.file, "exec")
    visible = {symbol.name: slot for symbol, slot in scope.slots.items()}

    def run(frame: Frame) -> bool:
        names: dict[str, Any] = {"block": frame.block.number, "threads": frame.active()}
        names |= {name: visible_value(frame.values[slot]) for name, slot in visible.items()}
        exec(code, {"__builtins__": builtins, "__name__": scope.function.name}, names)
        return False

    return run


def visible_value(value: Any) -> Any:
    """Return a variable as one looks at it: of a local array, or of memory, its elements."""
    found = value.region if isinstance(value, Address) else value
    return found.data if isinstance(found, Local | Region) else found


def _show(value: tuple[Any, Any], lane: int) -> str:
    found, type_ = value
    one = found[lane].item() if isinstance(found, np.ndarray) else found
    return f"{one:g}" if isinstance(type_, tree.Scalar) and type_.kind == "float" else str(one)


def compile_assert(scope: Scope, statement: tree.Assert | tree.Assume) -> Run:
    """The first thread for which it does not hold ends the run, whatever else is checked: what follows may rest on it."""
    condition = scope.evaluate(statement.condition)
    if isinstance(statement, tree.Assert):
        text, here = statement.text or "an assertion does not hold", f"does not hold at {statement.code}"
    else:
        text, here = "what is assumed does not hold", "does not hold for this thread"
    fault = AssertError if isinstance(statement, tree.Assert) else AssumeError

    def run(frame: Frame) -> bool:
        found = np.broadcast_to(condition(frame), (frame.block.machine.threads,))
        lanes = frame.active()
        bad = lanes[~found[lanes]]
        if len(bad):
            block = frame.block.number
            raise fault(text, statement.span, here=here, perspective=statement.code, thread=int(bad[0]), block=block)
        return False

    return run


MOST = 2**20
"""Values of one place that are kept; those that come later are compared with these alone."""


def compile_distinct(scope: Scope, statement: tree.Distinct) -> Run:
    """The first unit that has what another one had ends the run, whatever else is checked."""
    values = [scope.evaluate(value) for value in statement.values]
    place = scope.function.identifier, statement.span

    def run(frame: Frame) -> bool:
        seen = frame.block.machine.distinct.setdefault(place, {})
        for lane, unit, had in _had(frame, statement.unit, [value(frame) for value in values]):
            other = seen.get(had)
            if other is None:
                if len(seen) < MOST:
                    seen[had] = unit
            elif other != unit:
                raise AssumeError(
                    "two units have the same value, which is said to be distinct", statement.span,
                    here=f"{_shown_values(had)}, which {_name_unit(statement.unit, other, frame)} had too",
                    perspective=statement.code, thread=lane, block=frame.block.number,
                )  # fmt: skip
        return False

    return run


def _had(frame: Frame, unit: Perspective, values: list[Any]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield, for each unit that is here, a thread of it, its number in the launch, and its values."""
    lanes = frame.active()
    if unit.level == Level.BLOCK:
        lanes, numbers = lanes[:1], np.full(min(1, len(lanes)), frame.block.number // unit.size)
    else:
        numbers = frame.block.numbers(lanes) // unit.size
    columns = [np.broadcast_to(value, (frame.block.machine.threads,))[lanes].tolist() for value in values]
    yield from zip(lanes.tolist(), numbers.tolist(), zip(*columns, strict=True), strict=True)


def _name_unit(unit: Perspective, number: int, frame: Frame) -> str:
    """Name a unit by its number in the launch."""
    if unit.level == Level.BLOCK:
        return f"{'block' if unit.size == 1 else unit} {number}"
    first = number * unit.size
    threads = frame.block.machine.threads
    name = "thread" if unit.size == 1 else str(unit)
    return f"{name} {first % threads // unit.size} of block {first // threads}"


def _shown_values(had: tuple[int, ...]) -> str:
    return str(had[0]) if len(had) == 1 else str(had)
