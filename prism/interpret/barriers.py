"""The plan's barriers, and the agreement of units.

Where all threads of a block run in step a barrier is only checked: all its threads must be there. Where they run apart, in
roles or warp by warp, and for barriers of a cluster or of the grid, threads wait for one another.

A barrier of thread[n] counts to n. So one whose unit has threads that the block does not have, or threads that have ended,
never opens. The barriers of a block and of a cluster do not wait for threads that have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from prism.interpret.errors import BarrierError, DivergenceError
from prism.interpret.frame import Block, Cluster, Frame, Machine, Wait
from prism.interpret.lanes import anywhere, everywhere
from prism.interpret.scope import Piece, Scope
from prism.lang.diagnostics import Span
from prism.lang.tree.plan import Barrier
from prism.lang.types.perspective import WARP, Level, Perspective


def compile_barrier(scope: Scope, barrier: Barrier) -> list[Piece]:
    """A barrier: a check of who is there, or a wait."""
    unit = barrier.unit
    if unit.level == Level.GRID:
        return [Piece(None, _grid_meeting(barrier))]
    if unit.level == Level.BLOCK and unit.size > 1:
        return [Piece(None, _meeting(barrier))]
    if scope.shop.mode.apart and (unit.level == Level.BLOCK or unit.size > WARP):
        return [Piece(None, _meeting(barrier))]
    if not scope.check:
        return []
    return [Piece(_in_step(barrier))]


def _in_step(barrier: Barrier) -> Callable[[Frame], bool]:
    unit = barrier.unit

    def run(frame: Frame) -> bool:
        machine = frame.block.machine
        size = machine.threads if unit.level == Level.BLOCK else unit.size
        whole = machine.threads // size * size
        if (lanes := _first_cut_unit(frame, whole)) is not None:
            raise _incomplete(frame, barrier, lanes)
        members = machine.everyone[:whole].reshape(-1, size)
        if frame.mask is not True:
            here = frame.mask[:whole].reshape(-1, size)
            units = here.any(axis=1)
            if anywhere(units != here.all(axis=1)):
                raise _missing(frame, barrier, here)
            members = members[units]
        if machine.clocks is not None and size > 1:
            machine.clocks.join(frame.block.number, members)
        return False

    return run


def _first_cut_unit(frame: Frame, whole: int) -> int | None:
    """Return the first thread here whose unit the block ends in, the block's whole units having so many threads; or None."""
    threads = frame.block.machine.threads
    if whole == threads:
        return None
    here = frame.active()
    late = here[here >= whole]
    return int(late[0]) if len(late) else None


def _incomplete(frame: Frame, barrier: Barrier, lane: int) -> BarrierError:
    unit, threads = barrier.unit, frame.block.machine.threads
    last = lane // unit.size * unit.size + unit.size - 1
    fault = f"of {unit} before this statement never opens: the block ends before thread {last}"
    here = f"thread {lane} waits here for threads {threads} to {last}, which the block does not have"
    return _barrier_error(frame, barrier, lane, fault, here)


def _missing(frame: Frame, barrier: Barrier, here: Any) -> BarrierError:
    unit = int((here.any(axis=1) != here.all(axis=1)).argmax())
    lane = unit * here.shape[1] + int(np.argmin(here[unit]))
    fault = f"of {barrier.unit} before this statement is not met by all its threads"
    return _barrier_error(frame, barrier, lane, fault, f"thread {lane} does not come here")


def _barrier_error(frame: Frame, barrier: Barrier, lane: int, fault: str, here: str) -> BarrierError:
    return BarrierError(
        f"the barrier {fault}", barrier.before.span, here=here, other=barrier.second.span,
        there="the barrier is for this access", perspective=barrier.unit, thread=lane, block=frame.block.number,
    )  # fmt: skip


# -- threads that wait for one another ------------------------------------------------------------------------------------


class _Meeting:
    """Who has come to a barrier, of all threads of a cluster, and how often each went on from it."""

    def __init__(self, threads: int, counts: bool) -> None:
        self.here = np.zeros(threads, bool)
        self.passed = np.zeros(threads, np.int64)
        self.counts = counts  # so many threads, whether they live or not

    def excused_threads(self, cluster: Cluster) -> Any:
        """Return which threads it does not wait for: those that have ended, but where it counts."""
        return np.zeros(len(self.here), bool) if self.counts else ~np.concatenate([b.live for b in cluster.blocks])

    def settle(self, cluster: Cluster, size: int) -> None:
        """Let the units go on of which all threads that it waits for are here."""
        gone = self.excused_threads(cluster)
        room = max(size, len(gone) // cluster.size)
        for start in range(0, len(gone), room):  # units are counted in a block, or make up whole blocks
            stop = start + room // size * size
            there = (self.here | gone)[start:stop].reshape(-1, size).all(axis=1)
            ready = there & self.here[start:stop].reshape(-1, size).any(axis=1)
            for at in (start + int(unit) * size for unit in np.flatnonzero(ready)):
                lanes = np.flatnonzero(self.here[at : at + size]) + at
                self.here[lanes] = False
                self.passed[lanes] += 1
                _join(cluster, lanes)


def _join(cluster: Cluster, lanes: Any) -> None:
    first = cluster.blocks[0]
    first.machine.progress += 1
    if first.machine.clocks is not None:
        first.machine.clocks.meet((lanes + first.number * first.machine.threads)[None, :])


def _meeting(barrier: Barrier) -> Callable[[Frame], Generator[None, None, bool]]:
    key = barrier if barrier.met is None else barrier.met
    unit = barrier.unit

    def steps(frame: Frame) -> Generator[None, None, bool]:
        block, cluster = frame.block, frame.block.cluster
        threads = block.machine.threads
        meeting = cluster.meetings.get(key)
        if meeting is None:
            counts = unit.level == Level.THREAD
            meeting = cluster.meetings[key] = _Meeting(threads * cluster.size, counts)
        lanes = frame.active() + block.rank * threads
        size = unit.size if unit.level == Level.THREAD else unit.size * threads
        if unit.level == Level.THREAD and (lane := _first_cut_unit(frame, threads // size * size)) is not None:
            raise _incomplete(frame, barrier, lane)
        goal = meeting.passed[lanes] + 1
        meeting.here[lanes] = True
        block.machine.progress += 1
        meeting.settle(cluster, size)
        if not everywhere(meeting.passed[lanes] == goal):
            yield from waiting_for(
                block,
                Wait(
                    barrier.before.span,
                    f"waits at the barrier of {unit} before this statement",
                    frame.first(),
                    needs=lambda: _absent(meeting, cluster, lanes, size, barrier),
                    calls=frame.calls,
                ),
                lambda: _gone_on(meeting, cluster, size, lanes, goal),
            )
        return False

    return steps


def _gone_on(meeting: _Meeting, cluster: Cluster, size: int, lanes: Any, goal: Any) -> bool:
    meeting.settle(cluster, size)
    return everywhere(meeting.passed[lanes] == goal)


def _absent(meeting: _Meeting, cluster: Cluster, lanes: Any, size: int, barrier: Barrier) -> str:
    gone = meeting.excused_threads(cluster)
    room = max(size, len(gone) // cluster.size)
    first = int(lanes[0]) // room * room + int(lanes[0]) % room // size * size
    absent = np.flatnonzero(~gone[first : first + size] & ~meeting.here[first : first + size]) + first
    live = np.concatenate([block.live for block in cluster.blocks])
    ended = "" if live[absent].any() or not len(absent) else ", which have ended: the barrier still counts them"
    return (
        f"the barrier of {barrier.unit} at line {barrier.before.span.line}: missing {span_of(absent, cluster)}{ended}"
    )


def span_of(lanes: Any, cluster: Cluster) -> str:
    """Name threads of a cluster, as ranges."""
    if not len(lanes):
        return "nobody"
    runs = np.split(lanes, np.flatnonzero(np.diff(lanes) != 1) + 1)
    texts = [f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs[:3]]
    more = " and more" if len(runs) > 3 else ""
    return f"threads {', '.join(texts)}{more}" + (" of the cluster" if cluster.size > 1 else "")


class _GridMeeting:
    """Who has come to a barrier of the grid, and how often all went on from it. A block that has ended never comes."""

    def __init__(self, threads: int) -> None:
        self.here = np.zeros(threads, bool)
        self.passed = 0

    def come(self, machine: Machine, numbers: Any) -> None:
        """Note threads that have come; the last ones let all go on."""
        self.here[numbers] = True
        machine.progress += 1
        if not everywhere(self.here):
            return
        self.here[:] = False
        self.passed += 1
        if machine.clocks is not None:
            machine.clocks.meet_all()


def _grid_meeting(barrier: Barrier) -> Callable[[Frame], Generator[None, None, bool]]:
    key = barrier if barrier.met is None else barrier.met

    def steps(frame: Frame) -> Generator[None, None, bool]:
        block, machine = frame.block, frame.block.machine
        meeting = machine.meetings.get(key)
        if meeting is None:
            meeting = machine.meetings[key] = _GridMeeting(machine.blocks * machine.threads)
        before = meeting.passed
        meeting.come(machine, block.numbers(frame.active()))
        if meeting.passed == before:
            text = f"waits at the barrier of {barrier.unit} before this statement"
            wait = Wait(
                barrier.before.span, text, frame.first(), needs=lambda: _blocks_absent(meeting, machine, barrier),
                calls=frame.calls,
            )  # fmt: skip
            yield from waiting_for(block, wait, lambda: meeting.passed != before)
        return False

    return steps


def _blocks_absent(meeting: _GridMeeting, machine: Machine, barrier: Barrier) -> str:
    whole: Any = meeting.here.reshape(machine.blocks, machine.threads).all(axis=1)
    absent = [number for number in range(machine.blocks) if not whole[number]]
    late = [number for number in absent if number not in machine.begun]
    here = [number for number in absent if number in machine.begun]
    missing = [blocks_named(here)] if here else []
    missing += [f"{blocks_named(late)}, not begun yet: fewer blocks run at once than the grid has"] if late else []
    return f"the barrier of {barrier.unit} at line {barrier.before.span.line}: missing {' and '.join(missing)}"


def blocks_named(numbers: list[int]) -> str:
    """Name blocks, as a range where they are one."""
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    whole = numbers[-1] - numbers[0] == len(numbers) - 1
    texts = [str(number) for number in numbers[:6]]
    listed = ", ".join(texts) + (" and more" if len(numbers) > len(texts) else "")
    return f"blocks {numbers[0]} to {numbers[-1]}" if whole else f"blocks {listed}"


def waiting_for(block: Block, wait: Wait, ready: Callable[[], bool]) -> Generator[None, None, None]:
    """Wait until something holds."""
    block.waits.append(wait)
    while True:
        yield
        if ready():
            break
    block.waits.remove(wait)


# -- agreement ------------------------------------------------------------------------------------------------------------


def agreement(
    scope: Scope, unit: Perspective, span: Span, what: str, *, vector: bool = False
) -> Callable[[Frame, Any], None] | None:
    """Return the check that the threads of a unit have the same value; None where there is nothing to check."""
    if not scope.check or (unit.level == Level.THREAD and unit.size == 1):
        return None

    def check(frame: Frame, value: Any) -> None:
        if not isinstance(value, np.ndarray) or value.ndim != (2 if vector else 1):
            return
        for component in value.T if vector else (value,):
            each(frame, component)

    def each(frame: Frame, value: Any) -> None:
        threads = frame.block.machine.threads
        size = unit.size if unit.level == Level.THREAD else threads
        if len(value) != threads or threads % size:
            return
        rows = value.reshape(-1, size)
        if not anywhere(rows != rows[:, :1]):
            return
        here = (np.ones(threads, bool) if frame.mask is True else frame.mask).reshape(-1, size)
        first = np.take_along_axis(rows, here.argmax(axis=1)[:, None], axis=1)
        bad = (here & (rows != first) & ~((rows != rows) & (first != first))).ravel()
        if anywhere(bad):
            raise DivergenceError(
                f"the threads of {unit} disagree about this {what}",
                span,
                here="differs among them",
                perspective=unit,
                thread=int(bad.argmax()),
                block=frame.block.number,
            )

    return check
