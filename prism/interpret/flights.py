"""What is under way on the reference machine: asynchronous copies and wgmmas, from when they are issued until they have ended.

An operation takes effect when the schedule says so: as it is issued, or late, when somebody waits for it. Until it is waited for
it is an agent of its own for the race detector, whenever it took effect. Groups are counted a thread: an operation belongs to
the group that the thread's next `Commit` makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.clocks import Clocks
from prism.interpret.frame import Block
from prism.interpret.lanes import anywhere, everywhere
from prism.lang.diagnostics import Span

KINDS = ("cp_async", "bulk", "wgmma")
Effect = Callable[[Any], None]
"""Let an operation take effect, for those of its lanes that a Boolean array names."""


@dataclass(slots=True, eq=False)
class Flight:
    """One operation of some threads, or one of each of them.

    `effects`: what it does, one after the other: a store reads its source, then writes. `agents`: for each effect one a lane.
    `whole`: it takes effect for all its lanes together. `targets`: the mbarriers that have it among what will come in, of any
    block of the cluster; `owner`: the block's whose it is.
    """

    kind: str
    what: str
    span: Span
    lanes: Any
    effects: tuple[Effect, ...]
    agents: tuple[Any, ...] = ()
    groups: Any = None
    whole: bool = False
    targets: tuple[Any, ...] = ()
    owner: Any = None
    done: list[Any] = field(default_factory=list)
    waited: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.done = [np.zeros(len(self.lanes), bool) for _ in self.effects]
        self.waited = [np.zeros(len(self.lanes), bool) for _ in self.effects]

    def take_effect(self, chosen: Any, effects: int) -> None:
        """Let the first effects happen, for some of its lanes."""
        for number, effect in enumerate(self.effects[:effects]):
            left = chosen & ~self.done[number]
            if anywhere(left):
                if self.whole:
                    left = ~self.done[number]
                self.done[number] |= left
                effect(left)

    def complete(self) -> None:
        """Let all of it happen, and no mbarrier wait for it any longer."""
        for phases in self.targets:
            phases.flying.remove(self)
        self.targets = ()
        self.take_effect(np.ones(len(self.lanes), bool), len(self.effects))


class Flights:
    """What a block's threads have under way."""

    def __init__(self, block: Block) -> None:
        threads = block.machine.threads
        self.block = block
        self.flying: dict[str, list[Flight]] = {kind: [] for kind in KINDS}
        self.loads: list[Flight] = []
        self.committed = {kind: np.zeros(threads, np.int64) for kind in KINDS}
        self.ended = {kind: np.zeros(threads, np.int64) for kind in KINDS}
        self.fences = np.ones(threads, np.int64)  # wgmma's: how many each thread has met
        self._open: dict[tuple[str, int], Any] = {}  # agents of groups that are yet to be committed
        self._held: dict[
            int, tuple[int, Flight]
        ] = {}  # by the agent that uses the block's memory: its last use, by number

    def agents(self, kind: str, units: Any, what: str, part: int = 0, *, generic: bool | None = None) -> Any:
        """Return the agents of the groups that rows of lanes have open, which go on now; None where nothing is checked.

        `generic`: whether they access memory as threads do (None: as the kind does).
        """
        clocks = self.block.machine.clocks
        if clocks is None:
            return None
        numbers = self.block.numbers(units)
        if kind == "load":
            return clocks.issue(numbers, what, generic=bool(generic))
        open_ = self._open.setdefault((kind, part), np.full(self.block.machine.threads, -1, np.int64))
        found = open_[units[:, 0]]
        fresh = found < 0
        if anywhere(fresh):
            found[fresh] = clocks.issue(numbers[fresh], what, generic=kind == "cp_async")
            open_[units[:, 0]] = found
        if not everywhere(fresh):
            clocks.renew(numbers[~fresh], found[~fresh])
        return found

    def issue(self, flight: Flight) -> None:
        """Let an operation start."""
        self.block.machine.progress += 1
        flight.owner = self
        clocks: Clocks | None = self.block.machine.clocks
        if clocks is not None and flight.agents:
            agents = np.unique(flight.agents[0])
            last = clocks.last(agents)
            self._held.update((int(agent), (int(n), flight)) for agent, n in zip(agents, last, strict=True))
        if flight.kind == "load":
            for phases in flight.targets:
                phases.flying.append(flight)
            self.loads.append(flight)
            if not self.block.machine.delays():
                self.land(flight)
            return
        # The number of the group that is open: it has ended when a wait's limit, groups committed less pending, is beyond it.
        flight.groups = self.committed[flight.kind][flight.lanes]
        self.flying[flight.kind].append(flight)
        if not self.block.machine.delays():
            # wgmmas of a warpgroup end in their order: a later one adds to the sums of the earlier.
            for earlier in self.flying["wgmma"] if flight.kind == "wgmma" else ():
                earlier.complete()
            flight.complete()

    def land(self, flight: Flight) -> None:
        """Let a load end."""
        self.loads.remove(flight)
        flight.complete()

    def commit(self, kind: str, lanes: Any) -> None:
        """Make a group of what each lane issued since its last."""
        self.committed[kind][lanes] += 1
        for (of, _), agents in self._open.items():
            if of == kind:
                agents[lanes] = -1

    def wait(self, kind: str, lanes: Any, pending: int, *, read: bool = False) -> None:
        """Let all but the lanes' newest `pending` groups end; with `read`, only what reads their source."""
        limit = np.full(self.block.machine.threads, -1, np.int64)  # groups below it end; -1: of others none
        limit[lanes] = self.committed[kind][lanes] - pending
        if not read:
            self.ended[kind][lanes] = np.maximum(self.ended[kind][lanes], limit[lanes])
        left = []
        for flight in self.flying[kind]:
            chosen = flight.groups < limit[flight.lanes]
            if anywhere(chosen):
                self._end(flight, chosen, 1 if read else len(flight.effects))
            if not all(everywhere(waited) for waited in flight.waited):
                left.append(flight)
        self.flying[kind] = left

    def _end(self, flight: Flight, chosen: Any, effects: int) -> None:
        flight.take_effect(chosen, effects)
        for number in range(effects):
            fresh = chosen & ~flight.waited[number]
            flight.waited[number] |= fresh
            if flight.agents and anywhere(fresh):
                clocks: Clocks | None = self.block.machine.clocks
                assert clocks is not None
                clocks.end(self.block.numbers(flight.lanes[fresh]), flight.agents[number][fresh])
        self.block.machine.progress += 1

    def arrive_after(self, lanes: Any) -> tuple[Callable[[], None], Any]:
        """Return what lets the lanes' copies so far take effect, and what those who wait for them know then.

        Those of a group that was committed may still be waited for as a group.
        """
        taken = [(f, np.isin(f.lanes, lanes)) for f in self.flying["cp_async"]]
        taken = [(flight, chosen) for flight, chosen in taken if anywhere(chosen)]
        clocks = self.block.machine.clocks
        row = None
        if clocks is not None:
            agents = [flight.agents[0][chosen] for flight, chosen in taken]
            row = clocks.gather(np.unique(np.concatenate(agents))) if agents else None
        for flight, chosen in taken:
            for waited in flight.waited:
                waited |= chosen & (flight.groups >= self.committed["cp_async"][flight.lanes])
        self.flying["cp_async"] = [f for f in self.flying["cp_async"] if not everywhere(f.waited[0])]
        for (of, _), open_ in self._open.items():
            if of == "cp_async":
                open_[lanes] = -1

        def happen() -> None:
            for flight, chosen in taken:
                flight.take_effect(chosen, len(flight.effects))

        return happen, row

    def drift(self) -> None:
        """Let something that is under way take effect, at random; wgmmas do in their order."""
        random = self.block.machine.random
        first = [flights[0] for flights in self.flying.values() if flights and not everywhere(flights[0].done[-1])]
        everything = [*self.loads, *first]
        if everything and random.integers(2):
            flight = everything[int(random.integers(len(everything)))]
            if flight.kind == "load":
                self.land(flight)
            else:
                flight.complete()

    def finish(self) -> list[Flight]:
        """Let all that is left take effect, as the block ends; return what reads or writes its memory, and nobody waited for."""
        left = list(self.loads)
        for flight in [*self.loads, *(f for flights in self.flying.values() for f in flights)]:
            flight.complete()
            if flight.kind in ("bulk", "wgmma") and not everywhere(flight.waited[0]):
                left.append(flight)
        self.loads.clear()
        return left or self._unknown()

    def drop_cycles(self) -> None:
        """Forget what refers to this, when the block has ended."""
        self.flying, self.loads, self._held = {}, [], {}

    def _unknown(self) -> list[Flight]:
        """Return what has used the block's memory, and no thread of the cluster knows that it has ended, on any schedule."""
        clocks: Clocks | None = self.block.machine.clocks
        if clocks is None or not self._held:
            return []
        threads = self.block.machine.threads
        # Where a cluster's blocks do not end together, a thread of another block may be there when this one has gone.
        blocks = self.block.cluster.blocks if self.block.machine.ends else [self.block]
        first = min(block.number for block in blocks) * threads
        last = (max(block.number for block in blocks) + 1) * threads
        agents = np.fromiter(self._held, np.int64)
        # Any thread will do: the block's memory lives until its last thread ends, and that one may be who waited.
        known = clocks.steps(np.arange(first, last)[:, None], agents).max(axis=0)
        ended = known >= [number for number, _ in self._held.values()]
        return [self._held[int(agent)][1] for agent in agents[~ended]]


def flights_of(block: Block) -> Flights:
    """Return what a block has under way."""
    if block.flights is None:
        block.flights = Flights(block)
    return block.flights  # type: ignore[no-any-return]
