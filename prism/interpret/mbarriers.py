"""Mbarriers on the reference machine: phases, arrivals, bytes, and what threads that wait for a phase know after it.

A phase ends when its arrivals are there and the bytes that were announced have come in. As on the hardware, a wait asks for a
parity: it passes where the phase under way has the other one. Checked, each arrival and each wait also says which phase it
means, and one that the hardware would take for another is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prism.interpret.frame import Block
from prism.interpret.homes import union_of
from prism.lang.tree.plan import Mbarrier

Fault = Callable[[str, str, str], Exception]
"""Make the error of a kind, `arrival`, `bytes` or `phase`: what is wrong, and what stands at the line."""


@dataclass(slots=True)
class Phases:
    """The mbarrier of one copy, in one block."""

    barrier: Mbarrier
    copy: int
    count: int
    checked: bool
    alone: bool  # nobody outside the block copies here
    completed: int = 0
    arrived: int = 0
    announced: int = 0
    came: int = 0
    flying: list[Any] = field(default_factory=list)  # what will arrive or come in, yet to be delivered
    handed: list[Any] = field(default_factory=list)  # what those who arrived knew
    rows: dict[int, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name, with its copy where there are several."""
        return self.barrier.name if self.barrier.cycle.copies == 1 else f"{self.barrier.name}[{self.copy}]"

    def round(self, phase: int) -> int:
        """Return the round in which a phase completes."""
        return phase * self.barrier.cycle.copies + self.copy

    def arrive(self, times: int, phase: int, row: Any, fault: Fault) -> None:
        """Arrive so many times for a phase."""
        if self.checked and phase != self.completed:
            self._wrong_phase(phase, fault)
        self.arrived += times
        if row is not None:
            self.handed.append(row)
        if self.checked and self.arrived > self.count:
            text = f"{self.arrived} arrivals at `{self.name}` in round {self.round(phase)}, which takes {self.count}"
            raise fault("arrival", text, "arrives here")
        self.settle(fault)

    def _wrong_phase(self, phase: int, fault: Fault) -> None:
        mine, now = self.round(phase), self.round(self.completed)
        if phase < self.completed:
            text = (
                f"an arrival at `{self.name}` for round {mine}, which ended without it: it takes {self.count} arrivals"
            )
        else:
            text = (
                f"an arrival at `{self.name}` for round {mine}, and round {now} has only {self.arrived} of {self.count}"
            )
        raise fault("arrival", text, "arrives here")

    def expect(self, count: int) -> None:
        """Announce bytes."""
        self.announced += count

    def deliver(self, count: int, row: Any, fault: Fault) -> None:
        """Take in the bytes of a copy that has ended."""
        self.came += count
        if row is not None:
            self.handed.append(row)
        self.settle(fault)

    def settle(self, fault: Fault) -> None:
        """End the phase where all is there."""
        if self.arrived < self.count:
            return
        if self.announced != self.came:  # bytes may come in before they are announced: then the phase waits for that
            if self.checked and (self.came > self.announced or (self.alone and not self.flying)):
                v = self.round(self.completed)
                text = f"`{self.name}` is told of {self.announced} bytes in round {v}, and {self.came} come"
                raise fault("bytes", text, "completes here")
            return
        if self.handed:
            self.rows[self.completed] = union_of(self.handed)
            # A wait of a parity passes for the last phase alone: who comes later is taken for another, and reported.
            self.rows.pop(self.completed - 2, None)
        self.completed += 1
        self.arrived = self.announced = self.came = 0
        self.handed.clear()

    def passes(self, phase: int, fault: Fault) -> bool:
        """Whether a wait for the phase passes: by its parity, as on the hardware."""
        # Phase p is over when `completed` is p + 1, p + 3, ...: the hardware can't tell these apart, nor p - 1 from p + 1.
        passed = (self.completed - phase) % 2 == 1
        if self.checked and (self.completed > phase + 1 or (passed and self.completed < phase)):
            if self.completed > phase:
                when = f"comes when round {self.round(self.completed - 1)} has ended"
            else:
                when = f"passes when only round {self.round(self.completed)} is under way"
            text = f"a wait at `{self.name}` for round {self.round(phase)} {when}"
            raise fault("phase", f"{text}: it is taken for another phase", "waits here")
        return passed

    def missing(self, phase: int) -> str:
        """Say what a wait for the phase lacks."""
        found = [f"{self.count - self.arrived} of {self.count} arrivals"] if self.arrived < self.count else []
        if self.announced > self.came:
            found.append(f"{self.announced - self.came} of {self.announced} bytes")
        if self.announced < self.came:
            found.append(f"word of {self.came - self.announced} bytes that came unannounced")
        return f"`{self.name}`, round {self.round(phase)}: missing {', '.join(found) or 'nothing'}"


def phases_of(block: Block, barrier: Mbarrier, copy: int) -> Phases:
    """Return a block's mbarrier of one copy."""
    barrier = barrier.itself
    key = (barrier, copy)
    found = block.state.get(key)
    if found is None:
        threads = block.machine.threads
        checked, alone = block.machine.clocks is not None, block.cluster.size == 1
        found = Phases(barrier, copy, barrier.arrivals(threads), checked, alone)
        block.state[key] = found
    return found
