"""Rings of a skeleton: which of a kernel's mbarriers wait for what, and what each operation of a plan does with them.

A round is what stands before its end in one list. A warp that arrives by one thread meets first. A load arrives for the bytes
that it brings, which the thread that asks for it has announced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from prism.lang import tree
from prism.lang.facts.touches import Use
from prism.lang.rings.loads import bytes_of_load
from prism.lang.skeleton.jumps import JUMPS
from prism.lang.tree.plan import (
    Advance,
    Arrive,
    Barrier,
    Commit,
    Cycle,
    Expect,
    Lowered,
    Mbarrier,
    Op,
    Path,
    Plan,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.types.perspective import WARP, Level, Perspective

Body = tuple[Any, ...]
COPIES = frozenset({"load", "cp_async"})
"""Asynchronous copies that arrive at mbarriers."""
GROUPED = frozenset({"bulk", "wgmma", "cp_async"})
"""What is waited for by groups."""
PART = ("part",)
"""What stands behind a part of a group of `wgmma`, whose end comes later."""
UNKNOWN = 1
"""In place of bytes that a load's operands say: what is announced is what comes."""


class Frame(Protocol):
    """A function as one call runs it."""

    plan: Plan


class Unsaid(Exception):
    """Something of rings that a skeleton cannot say yet: at which stage it will, and what it is."""

    def __init__(self, stage: int, reason: str) -> None:
        super().__init__(reason)
        self.stage, self.reason = stage, reason


@dataclass(slots=True)
class Row:
    """A row of mbarriers, or a passage in turns, which is as a ring of one copy."""

    cycle: int
    mbarrier: Mbarrier | None
    """None: turns, for which a unit waits until all threads of the one before it have arrived."""
    name: str
    copies: int
    free: bool
    units: int = 0
    """How many threads of a unit arrive that has had its turn."""
    late: int | None = None
    """How many rounds late threads arrive."""


@dataclass(slots=True)
class Rings:
    """The rings of one kernel."""

    threads: int
    rows: dict[tuple[Frame, object, int], Row] = field(default_factory=dict)
    cycles: dict[tuple[Frame, object, int], int] = field(default_factory=dict)
    classes: dict[tuple[Frame, Cycle], dict[Mbarrier, int]] = field(default_factory=dict)
    told: dict[tree.Apply, int] = field(default_factory=dict)
    """The bytes that are announced for each load."""
    issued: list[tuple[str, int]] = field(default_factory=list)
    """Accesses of a group that is not closed yet: of which kind, and their numbers."""
    pending: int = 0
    """How many groups of stores or copies are under way behind some wait for them, at most."""
    parts: bool = False
    """Whether some group of stores or copies stands in parts."""
    parted: bool = False
    """Whether a part of a group stands, whose end comes next."""
    steps: int = 0
    """How many steps there were that may not stand between parts of a group."""

    def number(self, frame: Frame, mbarrier: Mbarrier, lap: int | None = None) -> int:
        """Return the number of some mbarriers, as they are waited for in a lap (None: as all waits have it).

        A wait in a lap of its own is at mbarriers where nobody arrives, so no rule takes it.
        """
        if mbarrier.of is not None or mbarrier.blocks or mbarrier.stores:
            raise Unsaid(4, "rings that are filled ahead, or by several blocks")
        if lap is None:
            waits = (op for op in frame.plan.operations if isinstance(op, Wait) and op.barrier.itself is mbarrier)
            lap = min((op.lap for op in waits), default=0)
        key = (frame, mbarrier, lap)
        if key not in self.rows:
            which = self.classes_of(frame, mbarrier.cycle)[mbarrier]
            cycle = self.cycle(frame, mbarrier.cycle, which)
            self.rows[key] = Row(cycle, mbarrier, mbarrier.name, mbarrier.cycle.copies, lap == 1)
        return list(self.rows).index(key)

    def cycle(self, frame: Frame, cycle: Cycle, which: int) -> int:
        """Return the number of a cycle's class of mbarriers."""
        return self.cycles.setdefault((frame, cycle, which), len(self.cycles))

    def passage(self, frame: Frame, turns: tree.Turns) -> tuple[int, list[int]]:
        """Return the number of a passage's cycle, and those of what its units wait at, one after the other."""
        cycle = self.cycles.setdefault((frame, turns.passage, 0), len(self.cycles))
        for i in range(turns.number):
            row = Row(cycle, None, f"turn of {turns.name}", 1, free=i == 0, units=turns.unit.size)
            self.rows.setdefault((frame, turns.passage, i), row)
        return cycle, [list(self.rows).index((frame, turns.passage, i)) for i in range(turns.number)]

    def classes_of(self, frame: Frame, cycle: Cycle) -> dict[Mbarrier, int]:
        """Return the class of each mbarrier of a cycle: rings that no mbarrier has in common have rounds of their own."""
        if (frame, cycle) not in self.classes:
            self.classes[frame, cycle] = _classes(frame.plan, cycle)
        return self.classes[frame, cycle]

    def mbarrier_of(self, frame: Frame, ring: tree.Symbol) -> int:
        """Return the number of the mbarriers that say that a copy of a ring is filled."""
        plan = frame.plan
        loaded = [m for apply, m in plan.completes.items() if ring in _targets(apply)]
        waits = [
            op for op in plan.operations if isinstance(op, Wait) and op.lap == 0 and ring in op.barrier.cycle.rings
        ]
        near = [op.barrier for op in waits if ring in (op.first.root, op.second.root)]
        found = [*loaded, *near, *(op.barrier for op in waits)]
        if not found:
            raise Unsaid(2, "a ring whose copies nobody waits for")
        return self.number(frame, found[0].itself)

    def step(self, frame: Frame, op: Op) -> Body:  # noqa: C901
        """Return what an operation does."""
        if not isinstance(op, Commit | WgmmaFence):
            self.ends_group()
            self.steps += 1
        match op:
            case Wait(barrier=mbarrier, lap=lap):
                return (("wait", self.number(frame, mbarrier, lap)),)
            case Arrive(barrier=mbarrier, every=every, copies=copies, delay=delay, drain=drain):
                number = self.number(frame, mbarrier)
                self.delay(list(self.rows.values())[number], delay)
                one = (("drain" if drain else "later" if copies else "tell", number),)
                if every == 1:
                    return one
                warp = Perspective(Level.THREAD, WARP)
                return (("bar", warp, "warp"), ("only", WARP, 0, 1, one))
            case Expect(copy=apply, barrier=mbarrier):
                if (awaited := frame.plan.completes.get(apply)) is not None and awaited.itself is mbarrier.itself:
                    self.told[apply] = UNKNOWN if op.bytes is None else op.bytes
                return ()
            case Advance(cycle=cycle):
                numbers = dict.fromkeys(self.classes_of(frame, cycle).values())
                return tuple(("end", self.cycle(frame, cycle, which)) for which in numbers)
            case ProxyFence(space=space):
                return (("fence", space),)
            case Commit(kind=kind) if kind in GROUPED:
                self.parted = False
                return self.close(kind)
            case WaitGroup(kind=kind, pending=pending, read=read) if kind in GROUPED:
                self.pending = max(self.pending, pending if kind != "wgmma" else 0)
                # What a statement stores may be several groups here, so waits for all of them alone are said.
                stores = (("settle", "out", 0),) if kind == "bulk" and not read and pending == 0 else ()
                return (*stores, ("settle", kind, pending))
            case WgmmaFence():
                return (("order",),)
            case _:
                raise Unsaid(3, "groups of `cp_async`")

    def delay(self, row: Row, delay: int) -> None:
        """Note how many rounds late threads arrive."""
        if row.late not in (None, delay):
            raise Unsaid(3, "arrivals for several earlier rounds")
        row.late = delay

    def ends_group(self) -> None:
        """Raise where a part of a group stands and its end does not: what is done between is not surely done with it."""
        if self.parted:
            raise Unsaid(3, "groups of what several statements issue, with something between")

    def part(self) -> Body:
        """Return the part of a group that a statement issues: of stores, a group by itself, as all are waited for together."""
        if any(how == "wgmma" for how, _ in self.issued):
            return (*self.close("wgmma"), PART)
        self.parted = True
        self.parts = True
        return self.close("bulk")

    def close(self, kind: str) -> Body:
        """Return the group of what has been issued. What stores write is no group: the grid's end waits for it."""
        if any(how not in (kind, "out") for how, _ in self.issued):
            raise Unsaid(3, "groups of several kinds at once")
        read = tuple(i for how, i in self.issued if how == kind)
        written = tuple(("group", "out", i) for how, i in self.issued if how == "out")
        self.issued.clear()
        return (*written, ("group", kind, *read))

    def walk_loop(self, walk: Callable[[], Body]) -> Body:
        """Return a loop's body: a group that it leaves open ends behind the loop, if there is no other step in it."""
        self.parted, before = False, self.steps
        found = walk()
        if self.steps != before:
            self.ends_group()
        return found

    def issue(self, frame: Frame, apply: tree.Apply, how: str, accesses: list[int], ring: bool) -> Body:
        """Return what an asynchronous copy does. To no ring, it is a group by itself: all are waited for together."""
        if how == "cp_async" and not ring:
            self.parted = self.parts = True
            return (("group", how, *accesses),)
        if how == "cp_async":
            return (("copy", *accesses),)
        mbarrier = frame.plan.completes.get(apply)
        if mbarrier is None:
            raise Unsaid(3, "a load that completes at no ring's mbarrier")
        number = self.number(frame, mbarrier)
        brought = bytes_of_load(apply)
        return (("load", number, self.told.get(apply, 0), UNKNOWN if brought is None else brought, *accesses),)

    def need(self, row: Row) -> int:
        """Return how many threads arrive for a round."""
        return row.units if row.mbarrier is None else row.mbarrier.arrivals(self.threads)


def _targets(apply: tree.Apply) -> set[tree.Symbol]:
    return {argument.symbol.root() for argument in apply.arguments if isinstance(argument, tree.Element | tree.Var)}


def _classes(plan: Plan, cycle: Cycle) -> dict[Mbarrier, int]:
    named: dict[Mbarrier, set[tree.Symbol]] = {m: set() for m in plan.mbarriers if m.cycle is cycle}
    for op in plan.operations:
        if isinstance(op, Wait) and op.barrier.itself in named:
            named[op.barrier.itself] |= {op.first.root, op.second.root} & set(cycle.rings)
    for apply, m in plan.completes.items():
        if m.itself in named:
            named[m.itself] |= _targets(apply) & set(cycle.rings)
    found: list[tuple[set[tree.Symbol], list[Mbarrier]]] = []
    for mbarrier, rings in named.items():
        joined, members = set(rings), [mbarrier]
        for other in [one for one in found if one[0] & rings or not rings]:
            found.remove(other)
            joined, members = joined | other[0], [*other[1], *members]
        found.append((joined, members))
    laps = [(op.barrier.itself, op.lap) for op in plan.operations if isinstance(op, Wait)]
    # What waits name may be a part of the rings that they are for: a class has both directions, or all are one.
    apart = all({lap for m, lap in laps if m in members} == {0, 1} for _, members in found)
    return {m: which if apart else 0 for which, (_, members) in enumerate(found) for m in members}


def constraints(path: Path, threads: int) -> Iterable[tuple[int, int, int]]:
    """Yield the constraints on a thread's number that a path of arms and groups from the block on is."""
    modulus, first = 0, 0
    for part in path:
        if isinstance(part, Perspective):
            modulus, first = (part.size, 0) if part.level == Level.THREAD else (modulus, first)
        elif part[0] == Level.THREAD:
            first += part[1]
            if first > 0 or first + part[2] < (modulus or threads):
                yield modulus, first, first + part[2]


def rounds(body: Body) -> Body:
    """Return a list with what stands before each end of a round in it as one round."""
    found: Body = ()
    for s in body:
        if s[0] == "end":
            if _jumps(found):
                raise Unsaid(2, "a jump out of a ring's round")
            found = (("round", s[1], found),)
        else:
            found = (*found, s)
    return found


def _jumps(body: Body, kinds: tuple[str, ...] = JUMPS) -> bool:
    """Whether a list has a jump that leaves it."""
    for s in body:
        left = ("leave",) if s[0] in ("loop", "loop1", "once") else kinds
        inner = [part for part in s[1:] if isinstance(part, tuple) and part and isinstance(part[0], tuple)]
        if s[0] in kinds or any(_jumps(part, left) for part in inner):
            return True
    return False


def barrier(step: Barrier, lowered: Lowered) -> object:
    """Return a barrier as it is emitted: its unit, and what the hardware has for it."""
    match step.kind:
        case "named":
            return ("bar", step.unit, ("named", lowered.named[step.unit.size]))
        case "block":
            return ("bar", step.unit, ("named", 0))
        case _:
            return ("bar", step.unit, "warp")


def is_ring(symbol: tree.Symbol) -> bool:
    """Whether an object is a ring."""
    return isinstance(symbol.type, tree.Pointer) and symbol.type.ring > 0


def is_copy(use: Use) -> bool:
    """Whether a use is a copy's that arrives at an mbarrier."""
    return use.how in COPIES


__all__ = ["COPIES", "GROUPED", "Rings", "Row", "Unsaid", "barrier", "constraints", "is_copy", "is_ring", "rounds"]
