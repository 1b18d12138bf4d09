"""What the threads of a run do to each other: each step's log, and two detectors of races.

A `Watched` machine also tells, of each step, what it did as a member of which unit (`Event`s), which shared cells it touched
and where it synchronised. `Clocks` follows one run and orders its accesses by happens-before: a thread's own order, and
barriers. `conflicts` looks for two threads at one state whose next steps touch a cell, one to write it.

Typing promises uniformity, and with it the absence of deadlock, to programs without races only (a view may overlap another).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.perspectives import Shape, Unit, enter, size, unit
from theory.bundl.step import Machine, Step
from theory.bundl.values import Array, State, Thread, Value
from theory.bundl.work import Steps, Stuck, Work


class Access(NamedTuple):
    cell: Hashable  # which memory, and its key there
    writes: bool


class Event(NamedTuple):
    """What a thread did as a member of `key`'s unit: all of its members are to do the same, in the same order."""

    key: Hashable
    what: Hashable


class Sync(NamedTuple):
    """Arriving at (psi, unit), or going on from there."""

    arrives: bool
    psi: str
    unit: Unit
    members: int


class Log(NamedTuple):
    events: tuple[Event, ...] = ()
    accesses: tuple[Access, ...] = ()
    sync: Sync | None = None


# What all members of a unit do alike. The ends of split and arm differ between them, and so they do not count.
TOGETHER = frozenset(
    ["S-If-True", "S-If-False", "S-While", "S-Assn", "S-Arr-Assn", "S-Decl", "S-Alloc-Local", "S-Alloc-Shared"]
    + ["S-Alloc-Global", "S-Partition", "S-Claim", "S-Lower", "S-Arrive", "S-Sync-Wait-Done", "S-Leave", "S-Memcpy"]
    + ["S-Function-Call", "S-Async-Memcpy"]
)
Seen = tuple[Perspective, Perspective, int, Value]


class Watch(Work):
    """One step, written down."""

    __slots__ = ("cells", "nested", "redex", "values")
    redex: tuple[syntax.Stmt, Perspective, int]
    values: list[Seen]
    cells: list[tuple[str, syntax.Kind, Any]]
    nested: bool

    def clear(self) -> None:
        """Forget the last step."""
        self.values, self.cells, self.nested = [], [], False

    def step(self, s: syntax.Stmt, pi: Perspective, p: int) -> syntax.Stmt:
        self.redex = s, pi, p
        return self.rules[type(s)](self, s, pi, p)

    def value(self, e: syntax.Expr, pi: Perspective, p: int, d: Perspective) -> Value:
        if self.nested:
            return self.evals[type(e)](self, e, pi, p, d)
        self.nested = True
        try:
            value = self.evals[type(e)](self, e, pi, p, d)
        finally:
            self.nested = False
        self.values.append((d, pi, p, value))
        return value

    def cell(self, rule: str, array: Array, index: Value) -> tuple[Any, int]:
        key = Work.cell(self, rule, array, index)
        if array.kind is not syntax.Kind.LOCAL:
            self.cells.append((rule, array.kind, key))
        elif rule == "S-Memcpy":
            self.cells.append((rule, array.kind, None))
        return key

    def log(self) -> Log:
        """Return what the step did."""
        s, pi, p = self.redex
        here = unit(pi, p, self.t, self.b)
        events = []
        if self.rule in TOGETHER:
            events.append(Event(here, (self.rule, s)))
        for d, _, _, value in self.values:
            inside = d if self.leq(d, pi) else pi
            u = here if inside is pi else unit(d, enter(pi, p, self.t, self.b, d, self.shape), self.t, self.b)
            events.append(Event((u, d), (type(value).__name__, value)))
        return Log(tuple(events), tuple(self._accesses()), self._sync(s, here, pi))

    def _accesses(self) -> Iterable[Access]:
        copied = len(self.cells) // 2
        for place, (rule, kind, key) in enumerate(self.cells):
            writes = place >= copied if rule == "S-Memcpy" else rule == "S-Arr-Assn"
            if kind is not syntax.Kind.LOCAL:
                yield Access((self.b if kind is syntax.Kind.SHARED else None, key), writes)

    def _sync(self, s: syntax.Stmt, here: Unit, pi: Perspective) -> Sync | None:
        if isinstance(s, syntax.Dec) or (isinstance(s, syntax.Leave) and s.kind is not syntax.Kind.LOCAL):
            return Sync(True, s.psi if isinstance(s, syntax.Dec) else s.name, here, size(pi, self.shape))
        if isinstance(s, syntax.Wait) and self.rule == "S-Sync-Wait-Done":
            return Sync(False, s.psi, here, size(pi, self.shape))
        return None


class Watched(Machine):
    """A machine that tells what its steps did."""

    def __init__(self, steps: Steps, program: syntax.Program, shape: Shape) -> None:
        super().__init__(steps, program, shape)
        self._watch = Watch(steps, shape, self.rules, self.evals, self.constant)
        self._work = self._watch
        self._logs: dict[tuple[int, Thread], Log] = {}
        self._log = Log()

    def _step(self, state: State, thread: Thread, index: int, choice: int) -> tuple[Step, int]:
        known = self._logs.get((index, thread))
        if known is None:
            self._watch.clear()
        made = super()._step(state, thread, index, choice)
        if known is None:
            known = Log() if made[0].spins else self._watch.log()
            if made[0].private:
                self._logs[index, thread] = known
        self._log = known
        return made

    def moves(self, state: State, index: int) -> list[tuple[Step, Log]]:
        """Return the steps of one thread, each with its log; raise Stuck if it is stuck."""
        thread = state.threads[index]
        if not self.thread_can_step(thread):
            return []
        first, choices = self._step(state, thread, index, 0)
        result = [(first, self._log)]
        for choice in range(1, choices):
            step, _ = self._step(state, thread, index, choice)
            result.append((step, self._log))
        return result

    def all_moves(self, state: State) -> tuple[list[tuple[Step, Log]], list[tuple[int, Stuck]]]:
        """Return what every thread can do, and which are stuck."""
        moves: list[tuple[Step, Log]] = []
        stuck: list[tuple[int, Stuck]] = []
        for index in range(len(state.threads)):
            try:
                moves += self.moves(state, index)
            except Stuck as error:
                stuck.append((index, error))
        return moves, stuck

    @staticmethod
    def thread_can_step(thread: Thread) -> bool:
        """Whether the thread is not at skip."""
        return type(thread.body).__name__ != "Skip"


def conflicts(moves: Iterable[tuple[Step, Log]]) -> bool:
    """Whether two threads are about to touch a cell, one of them to write it; or one has a choice that can matter."""
    users: dict[Hashable, tuple[int, bool]] = {}
    threads = [step.thread for step, _ in moves]
    if len(set(threads)) < len(threads):
        return True  # copies in flight may land in any order
    for step, log in moves:
        for cell, writes in log.accesses:
            other, written = users.setdefault(cell, (step.thread, writes))
            if other != step.thread and (written or writes):
                return True
            users[cell] = (step.thread, written or writes)
    return False


class Clocks:
    """Happens-before along one run, as vector clocks: `race` says whether two accesses were not ordered."""

    def __init__(self, threads: int) -> None:
        self.race = False
        self._now = [[0] * threads for _ in range(threads)]
        self._open: dict[tuple[str, Unit], tuple[list[int], list[int]]] = {}
        self._mine: dict[tuple[int, str], list[int]] = {}
        self._write: dict[Hashable, tuple[int, int]] = {}
        self._reads: dict[Hashable, dict[int, int]] = {}
        for thread, clock in enumerate(self._now):
            clock[thread] = 1

    def follow(self, thread: int, log: Log, choices: int = 1) -> None:
        """Take account of one step."""
        self.race |= choices > 1
        now = self._now[thread]
        for cell, writes in log.accesses:
            last = self._write.get(cell)
            self.race |= last is not None and now[last[0]] < last[1]
            reads = self._reads.setdefault(cell, {})
            if writes:
                self.race |= any(now[other] < when for other, when in reads.items())
                self._write[cell] = (thread, now[thread])
            else:
                reads[thread] = now[thread]
        if log.sync is not None:
            self._synchronise(thread, now, log.sync)

    def _synchronise(self, thread: int, now: list[int], sync: Sync) -> None:
        if not sync.arrives:
            _join(now, self._mine.pop((thread, sync.psi)))
            return
        clock, arrived = self._open.setdefault((sync.psi, sync.unit), ([0] * len(now), []))
        _join(clock, now)
        now[thread] += 1
        self._mine[thread, sync.psi] = clock
        arrived.append(thread)
        if len(arrived) == sync.members:
            del self._open[sync.psi, sync.unit]


def _join(into: list[int], other: list[int]) -> None:
    for thread, when in enumerate(other):
        into[thread] = max(into[thread], when)
