"""Turns on the reference machine: a unit comes into a passage when the one before it has left, and all its threads are there.

It is an order of time and nothing more: who comes in knows no more of what others have done than before. So a race that only
turns keep apart is reported all the same.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.interpret import coroutines
from prism.interpret.barriers import span_of, waiting_for
from prism.interpret.frame import Frame, Wait
from prism.interpret.lanes import both
from prism.interpret.scope import Piece, Run, Scope, Steps
from prism.lang.tree import Turns


@dataclass(slots=True)
class Passage:
    """How often each thread of a block has come to a passage, and how often it has left it."""

    come: Any
    left: Any

    def lacks(self, turns: Turns, unit: int, round_: int) -> Any:
        """Return the threads that keep a unit out of a round: of the unit before it, and its own."""
        size, number = turns.unit.size, turns.number
        own, before = (turns.first + k * size + np.arange(size) for k in (unit, (unit - 1) % number))
        needed = round_ + 1 if unit else round_  # the first unit's first round comes after nothing
        late = before[self.left[before] < needed] if number > 1 else before[:0]
        return np.concatenate([late, own[self.come[own] <= round_]])


def compile_turns(scope: Scope, turns: Turns, body: Piece) -> Piece:
    """A passage: unit after unit goes through it, and threads that are in none of them do not."""
    if scope.shop.mode.plain and body.run is not None:
        return Piece(_in_order(turns, body.run))
    inner = coroutines.steps_of(body)

    def steps(frame: Frame) -> Generator[None, None, bool]:
        yield from coroutines.interleave([_turn(turns, unit, part, inner) for unit, part in _units(turns, frame)])
        return False

    return Piece(None, steps)


def _units(turns: Turns, frame: Frame) -> list[tuple[int, Frame]]:
    """Return the units of which threads come here, each with a frame for them, in their order."""
    everyone, size = frame.block.machine.everyone, turns.unit.size
    found = []
    for unit in range(turns.number):
        first = turns.first + unit * size
        mask = both(frame.mask, (everyone >= first) & (everyone < first + size))
        if mask is not False:
            found.append((unit, frame.arm(mask, frame.lanes, frame.bid)))
    return found


def _in_order(turns: Turns, body: Run) -> Run:
    def run(frame: Frame) -> bool:
        for _, part in _units(turns, frame):
            body(part)
        return False

    return run


def _turn(turns: Turns, unit: int, frame: Frame, body: Steps) -> Generator[None, None, None]:
    block, lanes = frame.block, frame.active()
    passage = block.state.get(turns.passage)
    if passage is None:
        counts = (np.zeros(block.machine.threads, np.int64) for _ in range(2))
        passage = block.state[turns.passage] = Passage(*counts)
    round_ = int(passage.come[lanes[0]])
    passage.come[lanes] += 1
    block.machine.progress += 1
    if block.machine.pauses():
        yield
    if len(passage.lacks(turns, unit, round_)):
        text = f"unit {unit} of `{turns.name}` waits for its turn, in round {round_}"
        wait = Wait(turns.span, text, frame.first(), calls=frame.calls, needs=lambda: _missing(turns, unit, frame))
        yield from waiting_for(block, wait, lambda: not len(passage.lacks(turns, unit, round_)))
    yield from body(frame)
    passage.left[lanes] += 1
    block.machine.progress += 1


def _missing(turns: Turns, unit: int, frame: Frame) -> str:
    passage: Passage = frame.block.state[turns.passage]
    round_ = int(passage.come[frame.first()]) - 1
    late = span_of(passage.lacks(turns, unit, round_), frame.block.cluster)
    return f"the turn of unit {unit} of `{turns.name}`: missing {late}"
