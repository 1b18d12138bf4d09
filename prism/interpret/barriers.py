"""The plan's barriers, and the agreement of units, on a checked run. Unchecked, threads run in step and need none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prism.interpret.errors import BarrierError, DivergenceError
from prism.interpret.frame import Frame
from prism.interpret.scope import Run, Scope
from prism.lang.diagnostics import Span
from prism.lang.perspective import Level, Perspective
from prism.lang.plan import Barrier, Op
from prism.lang.tree import Stmt


def barriers_before(scope: Scope, statement: Stmt) -> list[Run]:
    """Return the barriers that the plan puts before a statement."""
    if not scope.check:
        return []
    plan = scope.shop.program.plans.get(scope.function)
    found: Mapping[Stmt, tuple[Barrier | Op, ...]] = {} if plan is None else plan.before()
    return [_barrier(barrier) for barrier in found.get(statement, ()) if isinstance(barrier, Barrier)]


def _barrier(barrier: Barrier) -> Run:
    unit = barrier.unit

    def run(frame: Frame) -> bool:
        machine = frame.block.machine
        if unit.level > Level.BLOCK or (unit.level == Level.BLOCK and unit.size != 1):
            raise BarrierError(
                f"a barrier of {unit} is beyond the reference machine", barrier.before.span, perspective=unit
            )
        size = machine.threads if unit.level == Level.BLOCK else unit.size
        whole = machine.threads // size * size  # an arm's size need not divide the block's
        members = machine.everyone[:whole].reshape(-1, size)
        if frame.mask is not True:
            here = frame.mask[:whole].reshape(-1, size)
            units = here.any(axis=1)
            if (units != here.all(axis=1)).any():
                raise _missing(frame, barrier, here)
            members = members[units]
        if machine.clocks is not None and size > 1:
            machine.clocks.join(frame.block.number, members)
        return False

    return run


def _missing(frame: Frame, barrier: Barrier, here: Any) -> BarrierError:
    unit = int((here.any(axis=1) != here.all(axis=1)).argmax())
    lane = unit * here.shape[1] + int(np.argmin(here[unit]))
    return BarrierError(
        f"the barrier of {barrier.unit} before this statement is not met by all its threads",
        barrier.before.span,
        here=f"thread {lane} does not come here",
        other=barrier.second.span,
        there="the barrier is for this access",
        perspective=barrier.unit,
        thread=lane,
        block=frame.block.number,
    )


def agreement(scope: Scope, unit: Perspective, span: Span, what: str) -> Callable[[Frame, Any], None] | None:
    """Return the check that the threads of a unit have the same value; None where there is nothing to check."""
    if not scope.check or (unit.level == Level.THREAD and unit.size == 1):
        return None

    def check(frame: Frame, value: Any) -> None:
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            return
        threads = frame.block.machine.threads
        size = unit.size if unit.level == Level.THREAD else threads
        if len(value) != threads or threads % size:
            return
        active = np.ones(threads, bool) if frame.mask is True else frame.mask
        rows, here = value.reshape(-1, size), active.reshape(-1, size)
        first = np.take_along_axis(rows, here.argmax(axis=1)[:, None], axis=1)
        bad = (here & (rows != first) & ~((rows != rows) & (first != first))).ravel()
        if bad.any():
            raise DivergenceError(
                f"the threads of {unit} disagree about this {what}",
                span,
                here="differs among them",
                perspective=unit,
                thread=int(bad.argmax()),
                block=frame.block.number,
            )

    return check
