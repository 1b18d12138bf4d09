"""Soundness, tested: what is to hold of every reachable state of a well-typed program, over all of its schedules or some.

    explore(program, shape) -> Report     every state, but that a private step goes first and alone (it commutes with others)
    sample(program, shape, rng) -> Report one random schedule
    failures(report) -> [str]             what a well-typed program must not show

Of every program: progress (no stuck thread but out of bounds), preservation and the memory bound (`state_faults`). Of one
without races: each unit's members do the same, with the same values, in the same order (uniformity, and collectives by all
members at one dynamic instance), none waits for ever, and all schedules give the same result.

The i-th thing that a unit does is one dynamic instance of it: so values are compared by a unit's own count, whatever the
schedule, and `Instances` keeps the first member's word for the others, over all schedules of the program.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from random import Random

from theory.bundl import step, typing
from theory.bundl.environments import memory_faults, state_faults, thread_faults
from theory.bundl.judgement import Checker, Rules
from theory.bundl.perspectives import Shape
from theory.bundl.races import Clocks, Event, Log, Watched, conflicts
from theory.bundl.step import Step
from theory.bundl.syntax import Program, Stmt
from theory.bundl.values import State, Thread
from theory.bundl.work import OutOfBounds, Steps, Stuck

Counts = dict[Hashable, int]  # how much one thread has done, by unit; never changed in place


@dataclass
class Report:
    """What the runs of a program showed."""

    states: int = 0
    ends: set[str] = field(default_factory=set)  # done, deadlock, stuck, bounds, cut
    outcomes: set[Hashable] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)  # rule: why
    faults: set[str] = field(default_factory=set)  # of preservation, and of the memory bound
    parted: set[str] = field(default_factory=set)  # members of a unit that did not do the same
    race: bool = False
    rules: set[str] = field(default_factory=set)  # of steps
    most_used: int = 0  # bytes of shared memory, as threads count them


class Instances:
    """What each unit did, in order, as its first member there said."""

    def __init__(self, shape: Shape, report: Report) -> None:
        self.shape, self.report = shape, report
        self._said: dict[Hashable, list[Hashable]] = {}

    def advance(self, counts: Counts, log: Log, thread: int) -> Counts:
        """Return a thread's counts after what its log tells, compared with what others did there."""
        if not log.events:
            return counts
        counts = dict(counts)
        for event in log.events:
            place = counts.get(event.key, 0)
            counts[event.key] = place + 1
            said = self._said.setdefault(event.key, [])
            if place == len(said):
                said.append(event.what)
            elif said[place] != event.what:
                self.report.parted.add(f"{_show(event)} is not {said[place]!r:.200} (thread {thread}, number {place})")
        return counts

    def finish(self, all_counts: list[Counts]) -> None:
        """Compare how much the members of each unit did, once all are done."""
        for key in {key for counts in all_counts for key in counts}:
            done = {all_counts[t].get(key, 0) for t in self.members(key)}
            if len(done) > 1:
                self.report.parted.add(f"members of {key} did {sorted(done)} things")

    def members(self, key: Hashable) -> range:
        """Return the threads of the unit of a key."""
        assert isinstance(key, tuple)
        unit = key[0] if isinstance(key[0], tuple) else key
        level, size, first = unit
        width = self.shape.threads
        if level == 0:
            return range(first, first + size)
        return range(first * width, (first + size) * width) if level == 1 else range(self.shape.blocks * width)


def _show(event: Event) -> str:
    return f"{event.key}: {event.what!r:.200}"


class Judge:
    """One program's invariants."""

    def __init__(
        self, program: Program, shape: Shape, steps: Steps = step.corrected, rules: Rules | None = typing.corrected
    ) -> None:
        self.machine, self.report, self.rules = Watched(steps, program, shape), Report(), rules
        self.instances = Instances(shape, self.report)
        self._needs: dict[Stmt, int] = {}
        self._checked: set[tuple[int, Thread]] = set()
        self._checker = Checker(rules, shape) if rules is not None else None

    def begin(self) -> State:
        """Return the first state, all of which is checked; later only what a step changed is."""
        start = self.machine.start()
        if self.rules is not None:
            self.report.faults.update(state_faults(self.machine, self.rules, start))
        return start

    def after(self, made: Step, before: Thread) -> None:
        """Preservation: check the thread that has stepped, unless it was checked as it now is; at times, check everything.

        Where neither memories nor what its names are bound to have changed, its term is all there is to check.
        """
        if self._checker is None or self.rules is None:
            return
        if self.report.states % 64 == 0:
            self.report.faults.update(state_faults(self.machine, self.rules, made.state))
        key = made.thread, made.state.threads[made.thread]
        if key in self._checked:
            return
        self._checked.add(key)
        after = key[1]
        same = after.eta is before.eta and after.frames is before.frames and after.used == before.used
        if made.private and same and after.body in self._needs:
            return
        found = thread_faults(self.machine, self._checker, made.state, made.thread, needs=self._needs)
        if made.rule == "S-Alloc-Shared":
            found += memory_faults(self.machine, made.state)
        if found:
            self.report.faults.update(f"{made.rule}: {fault}" for fault in found)

    def note_stuck(self, errors: list[tuple[int, Stuck]]) -> None:
        """Progress: note who is stuck."""
        for _, error in errors:
            if isinstance(error, OutOfBounds):
                self.report.ends.add("bounds")
            else:
                self.report.ends.add("stuck")
                self.report.stuck.add(str(error))

    def note_done(self, state: State, counts: list[Counts]) -> None:
        """Note what a run that has ended left."""
        self.report.ends.add("done")
        self.report.outcomes.add(tuple(self.machine.outcome(state).values()))
        self.instances.finish(counts)
        waits = any(arrived for arrived, _ in state.sync.values())
        if any(state.shared) or state.deferred or waits or any(thread.eta or thread.used for thread in state.threads):
            self.report.faults.add("something is left: in shared memory or a thread's own, at a barrier or in flight")

    # One schedule. ---------------------------------------------------------------------------------------------

    def sample(self, rng: Random, limit: int = 4000) -> Report:
        """Follow one schedule: threads run in bursts, or step by step."""
        state = self.begin()
        clocks, counts = Clocks(len(state.threads)), [Counts() for _ in state.threads]
        alive = [t for t, thread in enumerate(state.threads) if self.machine.thread_can_step(thread)]
        waiting: set[int] = set()
        stop, now, fell = rng.choice((1.0, 0.3, 0.02)), -1, False
        ready = list(alive)
        for _ in range(limit):
            ready = [t for t in alive if t not in waiting]
            if not ready:
                break
            if now not in ready or rng.random() < stop:
                now = rng.choice(ready)
            try:
                moves = self.machine.moves(state, now)
            except Stuck as error:
                self.note_stuck([(now, error)])
                alive.remove(now)
                fell = True
                continue
            made, log = rng.choice(moves) if len(moves) > 1 else moves[0]
            if made.spins:
                waiting.add(now)
                continue
            clocks.follow(now, log, len(moves))
            counts[now] = self._follow(made, log, state, counts[now])
            state = made.state
            if log.sync is not None:
                waiting.clear()
            if not self.machine.thread_can_step(state.threads[now]):
                alive.remove(now)
        self.report.race |= clocks.race
        if ready:
            self.report.ends.add("cut")
        elif not fell:
            self._end(alive, state, counts)
        return self.report

    def _follow(self, made: Step, log: Log, before: State, counts: Counts) -> Counts:
        """Take account of one step, and return its thread's counts."""
        self.report.states += 1
        self.report.rules.add(made.rule)
        self.report.most_used = max(self.report.most_used, made.state.threads[made.thread].used)
        self.after(made, before.threads[made.thread])
        return self.instances.advance(counts, log, made.thread)

    def _end(self, alive: list[int], state: State, counts: list[Counts]) -> None:
        """Nobody can go on: all are done, or some wait for ever."""
        if alive:
            self.report.ends.add("deadlock")
        else:
            self.note_done(state, counts)

    # All schedules. --------------------------------------------------------------------------------------------

    def explore(self, limit: int = 20_000) -> Report:
        """Visit every state, as far as the limit; a first schedule says whether there is a race, should the rest be cut."""
        self.sample(Random(0), limit=400)
        self.report.ends.discard("cut")
        start = self.begin()
        seen: set[State] = {start}
        work: list[tuple[State, list[Counts]]] = [(start, [{} for _ in start.threads])]
        while work:
            state, counts = work.pop()
            moves, stuck = self.machine.all_moves(state)
            self.note_stuck(stuck)
            if not moves and not stuck:
                self.note_done(state, counts)
            elif not stuck and all(made.spins for made, _ in moves):
                self.report.ends.add("deadlock")
            self.report.race = self.report.race or conflicts(moves)
            alone = next((move for move in moves if move[0].private and move[0].state not in seen), None)
            for made, log in [alone] if alone is not None else moves:
                if made.state in seen:
                    continue
                if len(seen) >= limit:
                    self.report.ends.add("cut")
                    return self.report
                seen.add(made.state)
                after = list(counts)
                after[made.thread] = self._follow(made, log, state, counts[made.thread])
                work.append((made.state, after))
        return self.report


def explore(program: Program, shape: Shape, limit: int = 20_000) -> Report:
    """Visit every state of a well-typed program."""
    return Judge(program, shape).explore(limit)


def sample(program: Program, shape: Shape, rng: Random, schedules: int = 1, limit: int = 4000) -> Report:
    """Follow some schedules of a well-typed program; they must agree, so they share one judge."""
    judge = Judge(program, shape)
    for _ in range(schedules):
        judge.sample(rng, limit)
    return judge.report


def failures(report: Report) -> list[str]:
    """Return what a well-typed program must not show."""
    found = [f"not preserved: {fault}" for fault in sorted(report.faults)]
    found += [f"no progress: {why}" for why in sorted(report.stuck)]
    if report.race:
        return found
    found += [f"not together: {why}" for why in sorted(report.parted)]
    if "deadlock" in report.ends:
        found.append("deadlock")
    if len(report.outcomes) > 1 or ("done" in report.ends and "bounds" in report.ends):
        found.append(f"{len(report.outcomes)} results, ends {sorted(report.ends)}")
    return found
