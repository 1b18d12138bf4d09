"""Who called the function in which a fault lies: a report shows the collective's line, and the user's.

A fault that is raised while a function runs is told by each call on the way out. What is reported later, as a wait that never
ends, keeps the calls that its frame was in.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from prism.interpret.errors import MachineError
from prism.interpret.frame import Frame
from prism.interpret.scope import Piece
from prism.lang.diagnostics import Label, Span


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
