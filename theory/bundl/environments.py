"""Environment typing, G |- eta, sigma, Sigma, and with it what is to hold of every reachable state of the machine.

`printed` and `corrected` are two tables again. Printed, a rule for G looks at its last entry only, and an array is bound in
the memory that holds its cells; corrected, all of G is checked, and every name but an input's is bound in eta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from theory.bundl.judgement import GRID_CODE, Checker, Code, Context, IllTyped, Rules
from theory.bundl.perspectives import ONE_THREAD, Shape
from theory.bundl.spine import spine
from theory.bundl.step import Machine
from theory.bundl.syntax import ArrayOf, Async, AsyncPartition, Base, Frame, Fun, Kind, Scope, Seq, Skip, Stmt, Type
from theory.bundl.typing import root_context
from theory.bundl.values import Array, Bound, Closure, InFlight, Memory, State, Value


class Env(NamedTuple):
    """What one thread sees."""

    eta: Memory
    sigma: Memory
    world: Memory

    def cells(self, kind: Kind) -> Memory:
        """Return the memory that holds the cells of such arrays."""
        return self.eta if kind is Kind.LOCAL else self.sigma if kind is Kind.SHARED else self.world


ValueRule = Callable[[Env, Value, Type], bool]


def v_int(env: Env, value: Value, type_: Type) -> bool:
    """n : int"""
    return type(value) is int and type_ is Base.INT


def v_bool(env: Env, value: Value, type_: Type) -> bool:
    """b : bool"""
    return type(value) is bool and type_ is Base.BOOL


def v_float(env: Env, value: Value, type_: Type) -> bool:
    """f : float"""
    return type(value) is float and type_ is Base.FLOAT


BASES: dict[Base, ValueRule] = {Base.INT: v_int, Base.BOOL: v_bool, Base.FLOAT: v_float}


def v_array_printed(env: Env, value: Value, type_: Type) -> bool:
    """for all i < n: get(x+i) : t  =>  <x,n> : t[]^l"""
    if type(value) is not Array or not isinstance(type_, ArrayOf):
        return False
    cells, rule = env.cells(value.kind), BASES[type_.element]
    keys = [(value.place, value.base + value.step * i) for i in range(value.length)]
    return all(key in cells and rule(env, cells[key], type_.element) for key in keys)


def v_array(env: Env, value: Value, type_: Type) -> bool:
    """for all i < n: get(l+i) : t, where it is there, and it is unless v is a view  =>  v : t[]^l

    A view may reach out of its array; to use that is out of bounds, which no type rules out.
    """
    if type(value) is not Array or not isinstance(type_, ArrayOf):
        return False
    if value.kind is not type_.kind or value.element is not type_.element:
        return False
    cells, rule = env.cells(value.kind), BASES[type_.element]
    for i in range(value.length):
        cell = cells.get((value.place, value.base + value.step * i))
        if cell is None:
            if not value.view:
                return False
        elif not rule(env, cell, type_.element):
            return False
    return True


def v_function(env: Env, value: Value, type_: Type) -> bool:
    """{x_i .., s} : Fun(x_i .., pi, m); that s checks under its parameters is `check_program`'s, once for all states"""
    return type(value) is Closure and value.function.type == type_


def v_async(env: Env, value: Value, type_: Type) -> bool:
    """in flight (phi, x) : async_phi t[]^l, where x : t[]^l.  The printed calculus has no such rule."""
    if type(value) is not InFlight or not isinstance(type_, Async) or value.phi != type_.phi:
        return False
    bound = env.eta.get(value.source) or env.world.get(value.source)
    return type(bound) is Bound and v_array(env, bound.value, type_.array)


def v_async_printed(env: Env, value: Value, type_: Type) -> bool:
    """(no rule)"""
    return False


@dataclass(frozen=True)
class Environments:
    """A version of the rules: V-* for each form of type, where names of arrays are bound, how much of G a rule checks."""

    name: str
    array: ValueRule
    in_flight: ValueRule
    apart: bool  # names of arrays are bound where their cells are
    all_of_g: bool

    def value(self, env: Env, value: Value, type_: Type) -> bool:
        """V-*: `eta, sigma, Sigma |- value : type_`."""
        if isinstance(type_, Base):
            return BASES[type_](env, value, type_)
        rule = self.array if isinstance(type_, ArrayOf) else self.in_flight if isinstance(type_, Async) else v_function
        return rule(env, value, type_)

    def lookup(self, env: Env, name: str, type_: Type) -> Bound | None:
        """Return what G-Int, -Bool, -Float (eta), -Local (eta), -Shared (sigma), -Global, -Function (Sigma) look at."""
        if isinstance(type_, Fun):
            return env.world.get(name)
        if not isinstance(type_, ArrayOf) or type_.kind is Kind.LOCAL:
            return env.eta.get(name)
        if self.apart:
            return env.cells(type_.kind).get(name)
        return env.eta.get(name) or env.world.get(name)

    def faults(self, g: Context, env: Env) -> list[str]:
        """G-*: G, x :^pi t |- env  if x is bound at pi to a v : t (corrected: and G |- env). Return what does not hold."""
        entries = list(g.names())
        found = []
        for name, entry in entries if self.all_of_g else entries[-1:]:
            bound = self.lookup(env, name, entry.type)
            if bound is None:
                found.append(f"G: {name} is not bound")
            elif bound.at != entry.at:
                found.append(f"G: {name} is bound at {bound.at}, not {entry.at}")
            elif not self.value(env, bound.value, entry.type):
                found.append(f"V: {name} is {bound.value!r}, not of {entry.type}")
        return found


printed = Environments("printed", v_array_printed, v_async_printed, True, False)
corrected = Environments("corrected", v_array, v_async, False, True)


def state_faults(machine: Machine, rules: Rules, state: State, tables: Environments = corrected) -> list[str]:
    """Return what is wrong with a state of a well-typed program: nothing, if preservation and the memory bound hold.

    For each thread: its term types at (Grid,1) with the program's budget; the bytes it holds are within what its term needs;
    its names, at each call's depth, have the context's types and perspectives; what it deferred types at (Thread,1). For
    each block: its shared cells fit the budget. Corrected rules only: contexts are read off the term's run-time forms.
    """
    found = []
    checker = Checker(rules, machine.shape)
    for t in range(len(state.threads)):
        found += [f"thread {t}: {fault}" for fault in thread_faults(machine, checker, state, t, tables)]
    return found + memory_faults(machine, state)


def memory_faults(machine: Machine, state: State) -> list[str]:
    """Return which blocks hold more shared memory than the program may use."""
    found = []
    for block, sigma in enumerate(state.shared):
        held = sum(1 if type(v) is bool else 4 for key, v in sigma.items() if type(key) is tuple)
        if held > machine.program.budget:
            found.append(f"block {block}: {held} bytes of shared memory, may use {machine.program.budget}")
    return found


def thread_faults(
    machine: Machine,
    checker: Checker,
    state: State,
    t: int,
    tables: Environments = corrected,
    needs: dict[Stmt, int] | None = None,
) -> list[str]:
    """Return what is wrong with one thread; `needs` remembers what terms of this program need, for many calls."""
    thread, shape = state.threads[t], machine.shape
    root = root_context(machine.program)
    need = needs.get(thread.body) if needs is not None else None
    if need is None:
        try:
            need = checker.stmt(root, GRID_CODE, thread.body)
        except IllTyped as error:
            return [str(error)]
        if needs is not None:
            needs[thread.body] = need
    found = []
    if not thread.used <= need <= machine.program.budget:
        found.append(f"holds {thread.used} bytes, needs {need}, may use {machine.program.budget}")
    contexts, deferred = contexts_of(machine, state, t)
    names = [*thread.frames, thread.eta]
    if len(names) != len(contexts):
        return [*found, f"{len(thread.frames)} calls kept aside, {len(contexts) - 1} under way"]
    cells = {key: value for key, value in thread.eta.items() if type(key) is not str}
    sigma = state.shared[t // shape.threads]
    for kept, g in zip(names, contexts, strict=True):
        eta = kept if kept is thread.eta else kept.put_all(cells)
        found += tables.faults(g, Env(eta, sigma, state.world))
    return found + _deferred_faults(checker, state, t, deferred)


def _deferred_faults(
    checker: Checker, state: State, t: int, deferred: Mapping[tuple[str, int, int], Context]
) -> list[str]:
    """G |- Phi: each statement that t deferred checks at (Thread,1), where its scope began."""
    found = []
    for key, statements in state.deferred.items():
        if key[1] != t:
            continue
        if key not in deferred:
            found.append(f"Phi: {key[0]} is not open")
            continue
        for s in statements:
            try:
                checker.stmt(deferred[key], Code(ONE_THREAD, 1), s)
            except IllTyped as error:
                found.append(f"Phi: {error}")
    return found


def contexts_of(machine: Machine, state: State, t: int) -> tuple[list[Context], dict[tuple[str, int, int], Context]]:
    """Return the G of each call under way, outermost first, and the G at each async partition's start, by its key in Phi."""
    root = root_context(machine.program)
    contexts = [root]
    deferred: dict[tuple[str, int, int], Context] = {}
    for s, _, _ in spine(state.threads[t].body, t, machine.shape):
        g = contexts[-1]
        if isinstance(s, Scope):
            contexts[-1] = g.hide(s.hides).bind(s.name, s.at, s.type)
        elif isinstance(s, Frame):
            inner = root.functions()
            for param in s.params:
                inner = inner.bind(param.name, param.at, param.type)
            contexts.append(inner)
        elif isinstance(s, Seq) and isinstance(s.second, AsyncPartition) and isinstance(s.second.body, Skip):
            deferred[s.second.phi, t, len(contexts) - 1] = g  # unwinding: `d; async_partition .. in skip`
        elif isinstance(s, AsyncPartition):
            deferred[s.phi, t, len(contexts) - 1] = g
            contexts[-1] = g.hide(s.source)
    return contexts, deferred


def context_of(env: Env) -> Context:
    """Return the G that the memories themselves suggest: each name at its perspective, with the type of its value.

    What the printed calculus leaves of a context once a declaration has been stepped away.
    """
    g = Context()
    for memory in (env.world, env.sigma, env.eta):
        for name, bound in memory.names().items():
            type_ = type_of(bound.value)
            if type_ is not None:
                g = g.bind(name, bound.at, type_)
    return g


def type_of(value: Value) -> Type | None:
    """Return the type of a value, or None for an array in flight, whose type is not in it."""
    if isinstance(value, Array):
        return ArrayOf(value.element, value.kind)
    if isinstance(value, Closure):
        return value.function.type
    if isinstance(value, InFlight):
        return None
    return Base.BOOL if isinstance(value, bool) else Base.INT if isinstance(value, int) else Base.FLOAT


def env_of(state: State, t: int, shape: Shape) -> Env:
    """Return what thread t sees."""
    return Env(state.threads[t].eta, state.shared[t // shape.threads], state.world)
