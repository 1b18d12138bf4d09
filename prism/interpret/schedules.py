"""Schedules: in which order what stands side by side runs, and when asynchronous operations take effect.

A strand is what runs by itself: a block, or where threads run apart a warp of it (or more, where an intrinsic needs more). It
runs until it waits. `ahead` lets one strand run whenever it can, `starved` one only when no other can. With `few`, a block begins
only when another has ended: a GPU promises no more, unless the launch is cooperative.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from prism.interpret.barriers import blocks_named
from prism.interpret.errors import DeadlockError
from prism.interpret.frame import Block, Machine
from prism.lang.diagnostics import Label
from prism.lang.keep.bases import Value

# A loop that polls is never seen to stand still: what it waits for may come in any round. Where nothing polls one is enough.
PATIENCE = 10_000  # rounds without progress after which blocks that poll are taken to wait for ever


class How(Value):
    """What a schedule does besides an order: see `Machine`. `apart`: warps run by themselves, always or where there are rings."""

    late: tuple[str, ...] = ("never",)  # one of these, by the seed
    apart: str = "never"
    fine: bool = False
    roles: bool = False  # where there are roles, the program is run as specialise.py makes it, for every other seed
    stale: bool = False  # atomic loads may see old values
    few: bool = False  # one block, or cluster, at a time, one more by each seed; all at once in a cooperative launch


HOW = {
    "round-robin": How(),
    "reversed": How(),
    "late": How(("always",)),
    "random": How(("random",), "rings", fine=True, roles=True, stale=True),
    "ahead": How(("never", "always"), "always", roles=True),
    "starved": How(("never", "always"), "always", roles=True),
    "few": How(few=True),
}
SCHEDULES = tuple(HOW)


def schedules(count: int, waits: bool = False) -> list[tuple[str, int]]:
    """Return so many schedules to explore, each with a seed: all kinds first, then those that a seed changes.

    `waits`: the program waits for other blocks. Then `few` comes second, as no other finds a wait for a block that has not begun.
    """
    kinds = sorted(SCHEDULES, key=lambda name: (SCHEDULES.index(name) > 0, not HOW[name].few)) if waits else SCHEDULES
    first = [(name, 0) for name in kinds]
    seeded = [name for name in SCHEDULES if HOW[name].roles]
    more = [(seeded[k % len(seeded)], 1 + k // len(seeded)) for k in range(max(0, count - len(first)))]
    return [*first, *more][:count]


@dataclass(slots=True, eq=False)
class Strand:
    """What runs by itself: some threads of a block."""

    block: Block
    lanes: Any
    steps: Generator[None, None, bool]


Admit = Callable[[], list[Strand]]


class Conductor:
    """Runs strands, and admits more as blocks end."""

    def __init__(self, machine: Machine, admit: Admit, ended: Callable[[Block], None], seed: int) -> None:
        self.machine, self.admit, self.ended, self.seed = machine, admit, ended, seed
        self.live: list[Strand] = []
        self.chosen: Strand | None = None

    def run(self) -> None:
        """Run until nothing is left."""
        idle = 0
        while True:
            self.live.extend(self.admit())
            if not self.live:
                return
            progress = self.machine.progress
            {"ahead": self._ahead, "starved": self._starved}.get(self.machine.schedule, self._in_turn)()
            idle = 0 if self.machine.progress != progress else idle + 1
            if idle and self.live:
                _look_for_deadlock(self.machine, self.live, idle)

    def step(self, strand: Strand) -> bool:
        """Let a strand run until it waits; return whether it did anything."""
        progress = self.machine.progress
        try:
            next(strand.steps)
        except StopIteration:
            self.machine.progress += 1
            self.live.remove(strand)
            strand.block.live[strand.lanes] = False
            if all(other.block is not strand.block for other in self.live):
                self.ended(strand.block)
        return self.machine.progress != progress

    def _in_turn(self) -> None:
        strands = list(self.live)
        shuffled = self.machine.schedule == "random"
        for number in self.machine.order(len(strands)) if shuffled else range(len(strands)):
            self.step(strands[number])
            if shuffled and strands[number].block.flights is not None:
                strands[number].block.flights.drift()

    def _choose(self) -> Strand:
        if self.chosen not in self.live:
            self.chosen = self.live[self.seed % len(self.live)]
        assert self.chosen is not None
        return self.chosen

    def _ahead(self) -> None:
        first = self._choose()
        self._while_it_can(first)
        for strand in [s for s in self.live if s is not first]:
            if self.step(strand):  # it may have woken the first, which then is as far ahead as can be
                self._while_it_can(first)

    def _while_it_can(self, strand: Strand) -> None:
        while strand in self.live and self.step(strand):
            pass

    def _starved(self) -> None:
        last = self._choose()
        others = [s for s in self.live if s is not last]
        # A list, not a generator: all others take their step, whether or not one before has.
        if not any([self.step(strand) for strand in others]):
            self.step(last)


def _look_for_deadlock(machine: Machine, live: list[Strand], idle: int) -> None:
    blocks = list(dict.fromkeys(strand.block for strand in live))
    waits = [(block, wait) for block in blocks for wait in block.waits]
    if not waits or (idle < PATIENCE and any(wait.spins for _, wait in waits)):
        return
    block, first = waits[0]
    others = tuple(
        Label(wait.span, f"{wait.text} (thread {wait.thread} of block {other.number})")
        for other, wait in waits[1:4]
        if wait.span != first.span
    )
    one = len(blocks) == 1
    all_wait, them = ("the resident block waits", "it") if one else (f"all {len(blocks)} resident blocks wait", "them")
    error = DeadlockError(
        f"deadlock: {all_wait}, and nothing can wake {them}",
        first.span,
        here=first.text,
        perspective=None,
        thread=first.thread,
        block=block.number,
        others=others,
        notes=(*_describe_waits(waits), *_describe_late(machine, blocks)),
    )
    error.add_calls(*first.calls)
    raise error


def _describe_waits(waits: list[tuple[Block, Any]]) -> Iterator[str]:
    for number, (block, wait) in enumerate(waits[:6]):
        if wait.needs is not None:
            yield f"thread {wait.thread} of block {block.number} waits at line {wait.span.line} for {wait.needs()}"
        elif number:
            yield f"block {block.number} waits at line {wait.span.line}"


def _describe_late(machine: Machine, blocks: list[Block]) -> Iterator[str]:
    """Say which blocks are yet to begin: those that wait may wait for them."""
    late = [number for number in range(machine.blocks) if number not in machine.begun]
    if late:
        verb, they = ("have", "they begin") if len(late) > 1 else ("has", "it begins")
        room = "one runs" if len(blocks) == 1 else f"{len(blocks)} run"
        yield f"{blocks_named(late)} {verb} not begun: only {room} at once, and {they} when another has ended"
