"""The reference machine: runs one form of a checked and synchronised program on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from prism.interpret.arguments import bind, granule_of
from prism.interpret.calls import narrow
from prism.interpret.clocks import Clocks
from prism.interpret.coroutines import steps_of
from prism.interpret.errors import FlightError
from prism.interpret.expressions import compile_expression
from prism.interpret.frame import Block, Cluster, Frame, Machine
from prism.interpret.lanes import Lanes
from prism.interpret.reach import look_for_ended
from prism.interpret.schedules import HOW, Conductor, Strand
from prism.interpret.scope import Code, Mode, Shop
from prism.interpret.shadow import Shadow
from prism.interpret.statements import compile_function
from prism.interpret.versions import Versions
from prism.lang.facts.launch_tests import Undefined
from prism.lang.facts.rooms import lay_out_sized
from prism.lang.keep.memo import memoize
from prism.lang.tree import Apply, Declare, Expr, Fragment, Specialise, Stmt
from prism.lang.tree.plan import Arrive, Program, Wait
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import WARP, Level

RESIDENT = 16384
"""Threads that run at once at most, unless the launch is cooperative: more blocks begin as others end."""


def launch(
    program: Program,
    blocks: int,
    threads: int,
    arguments: Sequence[Any],
    check: bool,
    schedule: str,
    seed: int,
    resident: int | None,
    axes: Sequence[int] = (),
) -> None:
    """Run one form of a program, as it is written or as it is emitted; `launch.run` says what is what."""
    how = HOW[schedule]
    late = how.late[seed % len(how.late)]
    split = how.apart == "always" or (how.apart == "rings" and has_rings(program)) or has_late_fills(program)
    cluster = program.entry.bound.block or 1
    apart = split or has_roles(program)
    # `plain`: all threads go through the text in step, and a copy is made where it stands, so that waits have nothing to do. Not
    # where copies come in late, where warps, roles or blocks of a cluster run apart, or where waits are what is checked.
    mode = Mode(check, plain=not (check or apart or late != "never" or cluster > 1), apart=apart)
    machine = Machine(
        blocks=blocks,
        threads=threads,
        clocks=Clocks(blocks, threads, proxies=uses_proxies(program), near=has_near_fences(program), cluster=cluster)
        if check
        else None,
        schedule=schedule,
        random=np.random.default_rng(seed),
        base=Lanes(np.arange(threads, dtype=np.int32)),
        everyone=np.arange(threads),
        late=late,
        fine=how.fine,
        begins=program.plans[program.entry].begins,
        ends=program.plans[program.entry].ends,
        tells=program.plans[program.entry].late,
    )
    if machine.clocks is not None and how.stale:
        machine.clocks.stale = Versions(machine.clocks, machine.random)
    launch = _Launch(program, machine, compile_function(_shop(program, mode), program.entry), cluster)
    launch.arguments = bind(program, arguments, machine.clocks, axes)
    _size_objects(program, machine, launch.arguments)
    launch.unit = smallest(program, threads) if split else threads
    if resident is None and how.few and not program.entry.cooperative:
        resident = (1 + seed) * cluster  # who waits for a block that has not begun is found so
    try:
        with np.errstate(all="ignore"):
            launch.run(resident or _resident_blocks(program, blocks, threads), seed, direct=resident is None)
    finally:
        launch.drop_cycles()


def _size_objects(program: Program, machine: Machine, arguments: Sequence[Any]) -> None:
    """Say where the objects are whose length the launch says. Raises ValueError for a length that is none."""
    layout = program.layouts[program.entry]
    try:
        found, machine.room = lay_out_sized(
            layout.bytes, list(layout.sized.values()), (machine.blocks, machine.threads, arguments)
        )
    except Undefined as error:
        raise ValueError(f"`{program.entry.name}` cannot be launched so: {error}") from None
    machine.sized = dict(zip(layout.sized, found, strict=True))


def _resident_blocks(program: Program, blocks: int, threads: int) -> int:
    """Return how many blocks run at once: all, but of large launches as many as a GPU would have; all of a cooperative one."""
    if program.entry.cooperative:
        return blocks
    return min(blocks, max(program.entry.bound.block or 1, RESIDENT // threads))


@memoize
def _shop(program: Program, mode: Mode) -> Shop:
    """Return the compilation of a program, which goes when the program does."""
    return Shop(program, mode, compile_expression, compile_function)


class _Launch:
    """One launch under way: which clusters of blocks are still to start, and how they do."""

    arguments: list[Any]
    unit: int

    def __init__(self, program: Program, machine: Machine, code: Code, cluster: int) -> None:
        self.machine, self.code, self.cluster = machine, code, cluster
        self.left = iter(machine.order(machine.blocks // cluster))
        self.running = 0
        self.clusters: dict[Cluster, None] = {}  # those that have not ended
        self.granule = granule_of(program) if machine.clocks is not None else 1

    def run(self, resident: int, seed: int, direct: bool) -> None:
        """Run all blocks, so many at a time; `direct`: one after the other, where nothing can wait."""
        body = self.code.body.run
        if body is not None and direct and self.unit == self.machine.threads:
            for number in self.left:
                for block in self._start(number):
                    body(self._frame(block, True))
                    self._end(block)
            return
        room = max(1, resident // self.cluster)
        Conductor(self.machine, lambda: self._admit(room), self._end, seed).run()

    def _admit(self, room: int) -> list[Strand]:
        steps = steps_of(self.code.body)
        strands = []
        while self.running < room * self.cluster:
            number = next(self.left, None)
            if number is None:
                break
            for block in self._start(number):
                self.running += 1
                for mask, lanes in self._units():
                    strands.append(Strand(block, lanes, steps(self._frame(block, mask))))
        return strands

    def _units(self) -> list[tuple[Any, Any]]:
        """Return the masks and the threads that run by themselves in each block."""
        everyone = self.machine.everyone
        if self.unit >= len(everyone):
            return [(True, everyone)]
        numbers = everyone // self.unit
        return [(numbers == k, everyone[numbers == k]) for k in range(int(numbers[-1]) + 1)]

    def _start(self, number: int) -> list[Block]:
        size = -(-max(self.code.bytes, self.machine.room, 1) // 16) * 16
        machine, count = self.machine, self.cluster
        shadow = None
        if machine.clocks is not None:
            clocks, locations = machine.clocks, size * count // self.granule
            shadow = Shadow(clocks, locations, self.granule, initialised=False, home=clocks.home(number * count))
        cluster = Cluster(count, np.zeros(size * count, np.uint8), shadow)
        for rank in range(count):
            shared, live = cluster.shared[rank * size : (rank + 1) * size], np.ones(machine.threads, bool)
            cluster.blocks.append(Block(machine, number * count + rank, cluster, rank, rank * size, shared, live))
            machine.begun.add(number * count + rank)
        self.clusters[cluster] = None
        return list(cluster.blocks)

    def _frame(self, block: Block, mask: Any) -> Frame:
        values: list[Any] = [None] * self.code.slots
        for slot, argument in zip(self.code.parameters, self.arguments, strict=True):
            values[slot] = argument
        frame = Frame(values, block, mask, self.machine.base, block.number, 0)
        unit = self.code.function.bound.code
        if unit.level != Level.GRID:
            narrow(frame, unit)
        return frame

    def _end(self, block: Block) -> None:
        self.running -= 1
        self._look_for_flights(block)
        block.cluster.ended += 1
        if block.cluster.ended < block.cluster.size:
            return
        if self.machine.clocks is not None:
            look_for_ended(block.cluster)
            if block.shadow is not None:
                block.shadow.end()
            self.machine.clocks.leave_home(block.number)
        self.clusters.pop(block.cluster)
        _drop_cycles(block.cluster)

    def drop_cycles(self) -> None:
        """Take apart what refers to itself when the launch has ended, or failed: some 30 MB, which go at once and not in time."""
        for cluster in self.clusters:
            _drop_cycles(cluster)
        clocks = self.machine.clocks
        if clocks is not None:
            clocks.stale, clocks.behind = None, []

    def _look_for_flights(self, block: Block) -> None:
        left = [] if block.flights is None else block.flights.finish()
        if left and self.machine.clocks is not None:
            flight = left[0]
            raise FlightError(
                f"this `{flight.what}` is still under way when its block ends: nobody waited for it",
                flight.span,
                here="issued here",
                thread=int(flight.lanes[0]),
                block=block.number,
                barrier="wait for it before the kernel ends: its shared memory goes then",
            )


def _drop_cycles(cluster: Cluster) -> None:
    for block in cluster.blocks:
        if block.flights is not None:
            block.flights.drop_cycles()
            block.flights = None
        block.state.clear()
    cluster.blocks.clear()


def nodes(program: Program) -> Iterator[Stmt | Expr]:
    """Return all statements and expressions of a program's functions."""
    for function in program.functions:
        for statement in statements(function.body):
            yield statement
            yield from terms(statement)


def smallest(program: Program, threads: int) -> int:
    """Return how many threads run together where threads run apart: what the broadest intrinsic asks for, and a warp at least."""
    size = _broadest(program)
    return threads if size is None else min(size, threads)


@memoize
def _broadest(program: Program) -> int | None:
    """Return how many threads run together, None for all of a block."""
    size = WARP
    for node in nodes(program):
        if isinstance(node, Apply):
            unit = node.intrinsic.requires
            if unit.level != Level.THREAD:
                return None
            size = max(size, unit.size)
        elif isinstance(node, Declare) and isinstance(node.symbol.type, Fragment):
            size = max(size, node.symbol.type.threads)
    return size


@memoize
def uses_proxies(program: Program) -> bool:
    """Whether anything accesses memory through the asynchronous proxy."""
    return any(isinstance(n, Apply) and n.intrinsic.asynchronous in ("load", "bulk", "wgmma") for n in nodes(program))


@memoize
def has_near_fences(program: Program) -> bool:
    """Whether any fence is for the threads of one block."""
    return any(
        isinstance(n, Apply) and n.intrinsic.name == "fence" and n.statics.get("scope") == "block"
        for n in nodes(program)
    )


@memoize
def has_roles(program: Program) -> bool:
    """Whether the program is one that specialise.py made: its roles run apart."""
    return any(isinstance(node, Specialise) for node in nodes(program))


@memoize
def has_late_fills(program: Program) -> bool:
    """Whether who fills a copy tells of it in a later round: those who use it can't be run in step with them."""
    for plan in program.plans.values():
        late = {op.barrier for op in plan.operations if isinstance(op, Arrive) and op.delay}
        if any(isinstance(op, Wait) and not op.lap and op.barrier in late for op in plan.operations):
            return True
    return False


def has_rings(program: Program) -> bool:
    """Whether threads wait for one another at mbarriers."""
    return any(plan.cycles for plan in program.plans.values())
