"""The plan's operations as closures: waits and arrivals at mbarriers, groups, fences, and the rounds of rings."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from prism.interpret.barriers import compile_barrier, waiting_for
from prism.interpret.clocks import SPACES
from prism.interpret.errors import ArrivalError, BytesError, MachineError, PhaseError
from prism.interpret.flights import Flight, flights_of
from prism.interpret.frame import Block, Frame, Wait
from prism.interpret.homes import union_of
from prism.interpret.lanes import both
from prism.interpret.mbarriers import Phases, phases_of
from prism.interpret.objects import rounds_of
from prism.interpret.reach import note_reach
from prism.interpret.scope import Piece, Run, Scope, Steps
from prism.interpret.transfers import measure
from prism.lang.tree import Stmt, plan
from prism.lang.types.perspective import WARP, Level, Perspective

FAULTS = {"arrival": ArrivalError, "bytes": BytesError, "phase": PhaseError}


def steps_before(scope: Scope, statement: Stmt) -> list[Piece]:
    """Return what the plan puts before a statement."""
    found: list[Piece] = []
    for step in scope.before.get(statement, ()):
        found.extend(compile_barrier(scope, step) if isinstance(step, plan.Barrier) else compile_operation(scope, step))
    return found


def steps_after(scope: Scope, statement: Stmt) -> list[Piece]:
    """Return what the plan puts after a statement."""
    return [piece for step in scope.after.get(statement, ()) for piece in compile_operation(scope, step)]


def compile_operation(scope: Scope, op: plan.Op) -> list[Piece]:
    """An operation; a plain run needs the rounds only."""
    if isinstance(op, plan.Advance):
        return [_along(op.path, _advance(op))]
    if scope.shop.mode.plain:
        return []
    if isinstance(op, plan.Wait):
        return [_waiting_along(op.path, _wait(op))]
    return [_along(op.path, _immediate(scope, op))]


def _immediate(scope: Scope, op: plan.Op) -> Run:
    match op:
        case plan.Arrive():
            return _drain(op) if op.drain else _arrive(op)
        case plan.Expect():
            return _expect(scope, op)
        case plan.ProxyFence():
            return _proxy_fence(op)
        case plan.Commit():
            return _commit(op)
        case plan.WaitGroup():
            return _wait_group(op)
        case plan.WgmmaFence():
            return _wgmma_fence
        case _:
            raise TypeError(f"{type(op).__name__} is no operation")


# -- who does it ----------------------------------------------------------------------------------------------------------


def _threads_on(path: plan.Path, frame: Frame) -> Any:
    """Return the threads that would come there through these arms and groups."""
    at = frame.block.machine.everyone
    inside = np.ones(len(at), bool)
    for step in path:
        if isinstance(step, Perspective):
            at = at % step.size if step.level == Level.THREAD else at
        elif step[0] == Level.THREAD:
            at = at - step[1]
            inside &= (at >= 0) & (at < step[2])
    return both(frame.mask, inside)


def _along(path: plan.Path, run: Run) -> Piece:
    if not path:
        return Piece(run)

    def narrowed(frame: Frame) -> bool:
        mask = frame.mask
        frame.mask = _threads_on(path, frame)
        if frame.mask is not False:
            run(frame)
        frame.mask = mask
        return False

    return Piece(narrowed)


def _waiting_along(path: plan.Path, steps: Steps) -> Piece:
    if not path:
        return Piece(None, steps)

    def narrowed(frame: Frame) -> Generator[None, None, bool]:
        inner = frame.arm(_threads_on(path, frame), frame.lanes, frame.bid)
        if inner.mask is not False:
            yield from steps(inner)
        return False

    return Piece(None, narrowed)


# -- mbarriers ------------------------------------------------------------------------------------------------------------


def faults_at(op: Any, frame: Frame) -> Callable[[str, str, str], MachineError]:
    """Return what makes the error of an operation's fault."""
    accesses = [(op.second, "this needs it"), (op.first, "for this")] if isinstance(op, plan.Wait) else []

    def fault(kind: str, what: str, here: str) -> MachineError:
        other, there = accesses[0] if accesses else (None, "")
        return FAULTS[kind](
            what,
            op.at.span,
            here=here,
            other=None if other is None else other.span,
            there=there,
            thread=frame.first(),
            block=frame.block.number,
        )

    return fault


def _wait(op: plan.Wait) -> Steps:
    barrier, copies, back = op.barrier, op.barrier.cycle.copies, op.lap * op.barrier.cycle.copies

    def steps(frame: Frame) -> Generator[None, None, bool]:
        block = frame.block
        v = rounds_of(block, barrier.cycle).get(frame, barrier.cycle.name)
        if v < back:
            return False
        phase, copy = divmod(v - back, copies)
        phases, fault = phases_of(block, barrier, copy), faults_at(op, frame)
        if block.machine.pauses():
            yield
        if not phases.passes(phase, fault):
            _land(phases)
        if not phases.passes(phase, fault):
            text, after = f"waits for `{phases.name}` in round {v}, before this statement", op.first.span.line
            wait = Wait(
                op.at.span,
                text,
                frame.first(),
                needs=lambda: f"{phases.missing(phase)}, after line {after}",
                calls=frame.calls,
            )
            yield from waiting_for(block, wait, lambda: _passed(phases, phase, fault))
        block.machine.progress += 1
        clocks = block.machine.clocks
        if clocks is not None and phase in phases.rows:
            clocks.take(block.numbers(frame.active()), phases.rows[phase])
        return False

    return steps


def _passed(phases: Phases, phase: int, fault: Callable[[str, str, str], MachineError]) -> bool:
    if not phases.passes(phase, fault):
        _land(phases)
    return phases.passes(phase, fault)


def _land(phases: Phases) -> None:
    """Let what will come in at an mbarrier come: somebody waits for it."""
    for flight in list(phases.flying):
        flight.owner.land(flight)


def _arrive(op: plan.Arrive) -> Run:
    barrier, copies, delay = op.barrier, op.barrier.cycle.copies, op.delay

    def run(frame: Frame) -> bool:
        block = frame.block
        v = rounds_of(block, barrier.cycle).get(frame, barrier.cycle.name) - delay
        lanes = frame.active()
        if v < 0:
            return False
        if delay:
            said = _rounds_arrived(block, barrier)
            if v < said[lanes[0]]:
                return False
            said[lanes] = v + 1
        phase, copy = divmod(v, copies)
        _arrive_at(op, frame, phase, copy)
        return False

    return run


def _drain(op: plan.Arrive) -> Run:
    barrier, copies = op.barrier, op.barrier.cycle.copies

    def run(frame: Frame) -> bool:
        block = frame.block
        rounds = rounds_of(block, barrier.cycle).get(frame, barrier.cycle.name)
        said = _rounds_arrived(block, barrier)
        lanes = frame.active()
        for v in range(int(said[lanes[0]]), rounds):
            phase, copy = divmod(v, copies)
            _arrive_at(op, frame, phase, copy)
        said[lanes] = rounds
        return False

    return run


def _rounds_arrived(block: Block, barrier: plan.Mbarrier) -> Any:
    """Return how many rounds each thread has arrived for."""
    found = block.state.get((barrier, "said"))
    if found is None:
        found = block.state[barrier, "said"] = np.zeros(block.machine.threads, np.int64)
    return found


def _arrive_at(op: plan.Arrive, frame: Frame, phase: int, copy: int) -> None:
    block, lanes, fault = frame.block, frame.active(), faults_at(op, frame)
    clocks = block.machine.clocks
    times = len(lanes)
    if op.every == WARP:
        warps = _warps(frame, lanes, fault)
        if clocks is not None:
            clocks.join(block.number, warps)
        lanes, times = warps[:, 0], len(warps)
    blocks = block.cluster.blocks
    own = block.rank if op.barrier.relative else 0
    chosen = [b for b in blocks if op.barrier.blocks >> (b.rank ^ own) & 1] if op.barrier.blocks else [block]
    targets = tuple(phases_of(b, op.barrier, copy) for b in chosen)
    for b in chosen:
        note_reach(frame, b.rank, op.at.span)
    row = clocks.leave(block.numbers(lanes)) if clocks is not None else None
    block.machine.progress += 1
    if op.copies:
        _arrive_later(op, frame, lanes, targets, phase, row)
        return
    for phases in targets:
        phases.arrive(times, phase, row, fault)


def _warps(frame: Frame, lanes: Any, fault: Callable[[str, str, str], MachineError]) -> Any:
    """Return the warps that these threads are, a row each: all of each must be here."""
    found = np.unique(lanes // WARP)
    if len(found) * WARP != len(lanes):
        if frame.block.machine.clocks is not None:
            raise fault(
                "arrival",
                "only some threads of a warp come to an arrival that one of them makes for all",
                "arrives here",
            )
        return found[:, None] * WARP
    return lanes.reshape(-1, WARP)


def _arrive_later(op: plan.Arrive, frame: Frame, lanes: Any, targets: tuple[Phases, ...], phase: int, row: Any) -> None:
    """Arrive when the threads' copies so far have ended."""
    flights, fault = flights_of(frame.block), faults_at(op, frame)
    happen, known = flights.arrive_after(lanes)
    clocks = frame.block.machine.clocks
    if clocks is not None and known is not None:
        row = union_of([row, known])

    def effect(chosen: Any) -> None:
        happen()
        for phases in targets:
            phases.arrive(len(lanes), phase, row, fault)

    flight = Flight("load", "arrival", op.at.span, lanes, (effect,), whole=True, targets=targets)
    flights.issue(flight)


def _expect(scope: Scope, op: plan.Expect) -> Run:
    bytes_of = (lambda frame: op.bytes) if op.bytes is not None else measure(scope, op.copy)

    def run(frame: Frame) -> bool:
        block, barrier = frame.block, op.barrier
        v = rounds_of(block, barrier.cycle).get(frame, barrier.cycle.name)
        count = bytes_of(frame)
        total = int(count.sum()) if isinstance(count, np.ndarray) else count * len(frame.active())
        phases_of(block, barrier, v % barrier.cycle.copies).expect(total)
        return False

    return run


def _advance(op: plan.Advance) -> Run:
    cycle = op.cycle

    def run(frame: Frame) -> bool:
        rounds_of(frame.block, cycle).advance(frame)
        return False

    return run


# -- groups and fences ----------------------------------------------------------------------------------------------------


def _commit(op: plan.Commit) -> Run:
    def run(frame: Frame) -> bool:
        flights_of(frame.block).commit(op.kind, frame.active())
        return False

    return run


def _wait_group(op: plan.WaitGroup) -> Run:
    def run(frame: Frame) -> bool:
        flights_of(frame.block).wait(op.kind, frame.active(), op.pending, read=op.read)
        return False

    return run


_SPACES = {"shared": ("shared",), "cluster": ("shared", "cluster"), "global": ("global",), "all": SPACES}


def _proxy_fence(op: plan.ProxyFence) -> Run:
    spaces = _SPACES[op.space]

    def run(frame: Frame) -> bool:
        clocks = frame.block.machine.clocks
        if clocks is not None:
            clocks.fence_proxy(frame.block.numbers(frame.active()), spaces)
        return False

    return run


def _wgmma_fence(frame: Frame) -> bool:
    flights_of(frame.block).fences[frame.active()] += 1
    return False
