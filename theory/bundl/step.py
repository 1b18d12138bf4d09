"""The semantics, twice, and the machine that runs them: L, S, Sigma, P, Psi, Phi ~> L', S', Sigma', P', Psi', Phi'.

`printed` and `corrected` are tables of the rules in `step_expressions`, `step_code` and `step_data`; what they share is one
function. `Machine` frames the threads' rules. A thread is done at skip; it waits when its only step is a barrier's spin; it
is stuck when it is not done and no rule applies. The machine is deadlocked when each thread is done or waits, and one waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from theory.bundl import syntax
from theory.bundl.perspectives import (
    ONE_GRID,
    Shape,
    align_corrected,
    align_printed,
    order_nested,
    order_printed,
)
from theory.bundl.step_code import CORRECTED_CODE_STEPS, PRINTED_CODE_STEPS
from theory.bundl.step_data import CORRECTED_DATA_STEPS, PRINTED_DATA_STEPS, fence, fence_printed, s_memcpy
from theory.bundl.step_expressions import CORRECTED_EVALS, PRINTED_EVALS
from theory.bundl.syntax import Kind, Program, Skip
from theory.bundl.values import EMPTY, Array, Bound, Closure, State, Thread, Value
from theory.bundl.work import OutOfBounds, Steps, Stuck, Work

__all__ = ["Machine", "OutOfBounds", "Step", "Steps", "Stuck", "corrected", "mix", "printed"]

printed = Steps(
    "printed",
    order_printed,
    align_printed,
    {**PRINTED_CODE_STEPS, **PRINTED_DATA_STEPS},
    PRINTED_EVALS,
    fence_printed,
)

corrected = Steps(
    "corrected",
    order_nested,
    align_corrected,
    {**CORRECTED_CODE_STEPS, **CORRECTED_DATA_STEPS},
    CORRECTED_EVALS,
    fence,
)

STEP_OF = {
    "Skip": "S-Skip", "Seq": "S-Seq", "Call": "S-Function-Call", "Split": "S-Split", "Destruct": "S-Destruct",
    "Group": "S-Group", "Assign": "S-Assn", "Store": "S-Arr-Assn", "Declare": "S-Decl", "Alloc": "S-Alloc", "If": "S-If",
    "While": "S-While", "Partition": "S-Partition", "Claim": "S-Claim", "Lower": "S-Lower",
    "AsyncPartition": "S-Async-Partition", "AsyncMemcpy": "S-Async-Memcpy", "Memcpy": "S-Memcpy", "Init": "S-Sync-Init",
    "Dec": "S-Sync-Dec", "Wait": "S-Sync-Wait", "Free": "S-Free", "Leave": "S-Leave", "Arm": "S-Arm", "Scope": "S-Scope",
    "Frame": "S-Frame",
}  # fmt: skip
EVAL_OF = {
    "Var": "E-Var", "Int": "E-Int", "Float": "E-Float", "Bool": "E-Bool", "Id": "E-Partition-Id",
    "Index": "E-Arr-Access", "Bop": "E-Bop", "Cmp": "E-Cmp",
}  # fmt: skip

SPIN = "S-Sync-Wait-Spin"


def mix(steps: Steps, other: Steps, *names: str) -> Steps:
    """Return `steps` with the families of rules called `names` taken from `other`."""
    return steps.swap(other, *names)


class Step(NamedTuple):
    """One step of one thread.

    `rule` is the axiom at its root and `via` the congruences around that, innermost first. `private`: nothing that other
    threads see was read or written, so the step commutes with all of theirs.
    """

    thread: int
    rule: str
    state: State
    private: bool
    via: tuple[str, ...]

    @property
    def spins(self) -> bool:
        """Whether this is a barrier's spin, which changes nothing."""
        return self.rule == SPIN


class Machine:
    """A version of the semantics, at one shape, with one program.

    It remembers what a thread's private steps lead to, which depends on that thread alone, and keeps one object for equal
    threads, so that states compare fast; make another machine for another program.
    """

    def __init__(self, steps: Steps, program: Program, shape: Shape) -> None:
        self.table, self.program, self.shape = steps, program, shape
        self.rules = {getattr(syntax, name): steps.statements[rule] for name, rule in STEP_OF.items()}
        self.evals = {getattr(syntax, name): steps.expressions[rule] for name, rule in EVAL_OF.items()}
        constant = {function.name for function in program.functions}
        if steps.statements["S-Memcpy"] is s_memcpy:
            constant |= {given.name for given in program.inputs}
        self.constant = frozenset(constant)
        self._work = Work(steps, shape, self.rules, self.evals, self.constant)
        self._private: dict[tuple[int, Thread], tuple[Thread, str, tuple[str, ...]]] = {}
        self._threads: dict[Thread, Thread] = {}

    def start(self) -> State:
        """Return the state before the first step: every thread of the grid has the program's body."""
        world = EMPTY
        for function in self.program.functions:
            world = world.put(function.name, Bound(function.at, Closure(function)))
        for given in self.program.inputs:
            place = (given.name, 0, None)
            array = Array(place, 0, 1, len(given.cells), given.element, Kind.GLOBAL)
            world = world.put(given.name, Bound(ONE_GRID, array))
            world = world.put_all({(place, i): v for i, v in enumerate(given.cells)})
        thread = Thread(self.program.body, EMPTY)
        threads = (thread,) * (self.shape.blocks * self.shape.threads)
        return State(threads, (EMPTY,) * self.shape.blocks, world, EMPTY, EMPTY)

    def thread_steps(self, state: State, index: int) -> list[Step]:
        """Return the steps of one thread (several where a choice is open), none if it is done; raise Stuck if it is stuck."""
        thread = state.threads[index]
        if type(thread.body) is Skip:
            return []
        first, choices = self._step(state, thread, index, 0)
        return [first, *[self._step(state, thread, index, choice)[0] for choice in range(1, choices)]]

    def _step(self, state: State, thread: Thread, index: int, choice: int) -> tuple[Step, int]:
        """S-Program: L(t), S(b), Sigma, t, b, 0, Psi, Phi |-^(Grid,1)_m s ~> s' -|_m' ..  =>  P(t,b) steps"""
        known = self._private.get((index, thread))
        if known is not None:
            after, rule, via = known
            threads = (*state.threads[:index], after, *state.threads[index + 1 :])
            made = State(threads, state.shared, state.world, state.sync, state.deferred)
            return Step(index, rule, made, True, via), 1
        w = self._work
        block = index // self.shape.threads
        w.t, w.b = index, block
        w.eta, w.sigma, w.world = thread.eta, state.shared[block], state.world
        w.sync, w.deferred, w.used, w.frames = state.sync, state.deferred, thread.used, thread.frames
        w.rule, w.via, w.touched, w.choice, w.choices = "", [], False, choice, 1
        body = w.step(thread.body, ONE_GRID, 0)
        if w.rule == SPIN:
            return Step(index, SPIN, state, False, tuple(w.via)), 1
        after = Thread(body, w.eta, w.used, w.frames)
        after = self._threads.setdefault(after, after)
        if not w.touched:
            self._private[index, thread] = after, w.rule, tuple(w.via)
        shared = state.shared
        if w.sigma is not shared[block]:
            shared = (*shared[:block], w.sigma, *shared[block + 1 :])
        threads = (*state.threads[:index], after, *state.threads[index + 1 :])
        made = State(threads, shared, w.world, w.sync, w.deferred)
        return Step(index, w.rule, made, not w.touched, tuple(w.via)), w.choices

    def steps(self, state: State) -> list[Step]:
        """Return every step of every thread that can make one."""
        result: list[Step] = []
        for index in range(len(state.threads)):
            try:
                result += self.thread_steps(state, index)
            except Stuck:
                continue
        return result

    def stuck_threads(self, state: State) -> list[tuple[int, Stuck]]:
        """Return the threads that are neither done nor able to step, each with the rule that fails."""
        result = []
        for index in range(len(state.threads)):
            try:
                self.thread_steps(state, index)
            except Stuck as error:
                result.append((index, error))
        return result

    def status(self, state: State) -> str:
        """Return "done", "stuck", "bounds" (stuck, but only for an index out of bounds), "deadlock" or "running"."""
        stuck = self.stuck_threads(state)
        if stuck:
            return "bounds" if all(isinstance(error, OutOfBounds) for _, error in stuck) else "stuck"
        if all(type(thread.body) is Skip for thread in state.threads):
            return "done"
        return "deadlock" if all(step.spins for step in self.steps(state)) else "running"

    def outcome(self, state: State) -> dict[str, tuple[Value | None, ...]]:
        """Return the inputs' cells: what a launch gives back."""
        result: dict[str, tuple[Value | None, ...]] = {}
        for given in self.program.inputs:
            cells = [state.world.get(((given.name, 0, None), i)) for i in range(len(given.cells))]
            result[given.name] = tuple(cells)
        return result

    def successors(self, state: State) -> tuple[list[Step], list[tuple[int, Stuck]]]:
        """Return `steps` and `stuck_threads` at the price of one."""
        moves: list[Step] = []
        stuck: list[tuple[int, Stuck]] = []
        for index in range(len(state.threads)):
            try:
                moves += self.thread_steps(state, index)
            except Stuck as error:
                stuck.append((index, error))
        return moves, stuck


def walk_states(machine: Machine, limit: int) -> Iterator[State]:
    """Yield every reachable state, at most `limit`, each once: the plain search, without reduction."""
    start = machine.start()
    seen, work = {start}, [start]
    while work:
        state = work.pop()
        yield state
        for step in machine.steps(state):
            if step.state not in seen and len(seen) < limit:
                seen.add(step.state)
                work.append(step.state)
