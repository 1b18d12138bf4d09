"""Roles: a kernel whose warps differ around rings, as one body a role, each a projection of the program onto its threads.

Splits are static, so which warps run which arm is known. A role is an interval of whole warps that run the same arms of all
the splits that matter: those inside a station of a ring or around one, in a loop with one, or around `set_registers`. Its body
is the kernel's with these splits resolved. A split keeps its one arm, which says where its threads stand; what no thread of
the role needs is left out. A statement that the plan puts something beside stays, if need be with nothing in it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import field, replace

from prism.lang import tree
from prism.lang.facts.budget import most_threads
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.lower.copies import with_parts
from prism.lang.lower.merge_pieces import Role
from prism.lang.tree.plan import Advance, Arrive, Barrier, Cycle, Expect, Op, Plan, Program, Wait
from prism.lang.tree.walk import calls, statements, subexpressions, terms
from prism.lang.types import Pointer
from prism.lang.types.perspective import BLOCK, WARP, WARPGROUP, Level, Perspective

REGISTERS = "set_registers"


Copies = list[tuple[tree.Stmt, tree.Stmt, "Projection | None"]]
"""Statements with their copies, and whose copy it is (None: of all threads)."""


def specialise(program: Program) -> Program:
    """Return the program with one body a role; the same program where the kernel has only one."""
    entry, plan = program.entry, program.plans[program.entry]
    intervals = roles_of(entry)
    if len(intervals) < 2:
        return program
    copies: Copies = []
    views = _Plan(plan)
    meeting = _meeting(program)
    body = _specialise(entry.body, views, intervals, copies, meeting)
    function = replace(entry, body=body)
    functions = tuple(function if f is entry else f for f in program.functions)
    plans = {f: p for f, p in program.plans.items() if f is not entry}
    layouts = {f: layout for f, layout in program.layouts.items() if f is not entry}
    return Program(
        function,
        functions,
        {**plans, function: _move_plan(plan, function, copies)},
        {**layouts, function: program.layouts[entry]},
    )


# -- which roles --------------------------------------------------------------------------------------------------------


def roles_of(entry: tree.Function) -> list[tuple[int, int]]:
    """Return the roles of a kernel as intervals of threads, first and last + 1: one where all threads have the same."""
    if entry.kind != "global" or has_roles(entry):
        return []
    total = most_threads(entry)
    cuts = {0, total}
    for split in _splits(entry.body, around=False):
        for arm in split.arms:
            # A role has whole warps: else a warp's two halves would run two texts, and a barrier of the warp would stand in
            # each.
            if arm.first % WARP == 0 and arm.size % WARP == 0:
                cuts |= {arm.first, arm.first + arm.size}
    for first, last in _wgmma_threads(entry.body, 0, total):
        # A wgmma is one instruction of four warps: a cut inside its warpgroup would put it into two texts.
        cuts -= {cut for cut in cuts if first < cut < last and (cut - first) % WARPGROUP}
    ends = sorted(cut for cut in cuts if cut <= total)
    return list(zip(ends, ends[1:], strict=False))


def _wgmma_threads(body: tree.Body, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the threads of the block that come to each wgmma: a warpgroup runs one instruction, so one role's text has it."""
    for s in body:
        if isinstance(s, tree.Batch) or any(_multiplies(call.function) for call in calls(s)):
            yield first, last
        elif isinstance(s, tree.Split) and _blocks_threads(s):
            for arm in s.arms:
                yield from _wgmma_threads(arm.body, arm.first, arm.first + arm.size)
        else:
            for inner in tree.children(s):
                yield from _wgmma_threads(inner, first, last)


@memoize
def _multiplies(function: tree.Function) -> bool:
    """Whether a function, or one that it calls, has wgmmas; each function is asked once, however many ways lead to it."""
    body = statements(function.body)
    return any(isinstance(s, tree.Batch) or any(_multiplies(c.function) for c in calls(s)) for s in body)


def _splits(body: tree.Body, around: bool) -> Iterator[tree.Split]:
    """Yield the splits of a block's threads that matter; `around`: a station, or a loop with one, is around the list."""
    for s in body:
        if isinstance(s, tree.Split) and _blocks_threads(s) and (around or _matters(s)):
            yield s
        loop = isinstance(s, tree.For | tree.While) and any(map(is_station, statements((s,))))
        for inner in tree.children(s):
            yield from _splits(inner, around or loop or is_station(s))


def _blocks_threads(s: tree.Split) -> bool:
    return s.level == Level.THREAD and s.code == BLOCK


def is_station(s: tree.Stmt) -> bool:
    """Whether a statement opens a ring."""
    if not isinstance(s, tree.Partition | tree.Claim | tree.Async) or s.view.view is None:
        return False
    source = s.view.view.source
    return source.view is None and isinstance(source.type, Pointer) and source.type.ring > 0


def _matters(s: tree.Stmt) -> bool:
    """Whether a statement has a station in it, or sets the number of registers."""
    return any(is_station(inner) or _sets_registers(inner) for inner in statements((s,)))


def _sets_registers(s: tree.Stmt) -> bool:
    return any(isinstance(part, tree.Apply) and part.intrinsic.name == REGISTERS for part in terms(s))


@memoize
def has_roles(entry: tree.Function) -> bool:
    """Whether a kernel has a body for each role."""
    return any(isinstance(s, tree.Specialise) for s in statements(entry.body))


# -- where the roles' bodies stand ----------------------------------------------------------------------------------------


class _Plan(Value):
    """A plan by statement."""

    plan: Plan
    barriers: dict[tree.Stmt, list[Barrier]] = field(default_factory=dict)
    operations: dict[tree.Stmt, list[Op]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for barrier in self.plan.barriers:
            self.barriers.setdefault(barrier.before, []).append(barrier)
        for op in self.plan.operations:
            self.operations.setdefault(op.at, []).append(op)

    def bare(self, s: tree.Stmt) -> bool:
        """Whether nothing stands beside a statement."""
        return s not in self.barriers and s not in self.operations


def _specialise(
    body: tree.Body, plan: _Plan, intervals: list[tuple[int, int]], copies: Copies, meeting: frozenset[tree.Function]
) -> tree.Body:
    """Return a list with the roles' bodies in place of all from where they differ; shared objects stay before.

    Variables that are declared just before go into the roles, each with those that it needs. A call of a function of `meeting`
    stays: its barriers would stand in each role's text, where fewer threads meet than come to one of them.
    """
    # All before the first difference is one text for all threads, executed once: only what follows is made anew for each role.
    first = next(k for k, s in enumerate(body) if _differs(s, plan))
    s = body[first]
    if (
        first == len(body) - 1
        and isinstance(s, tree.Group | tree.Partition | tree.Claim | tree.Async)
        and _for_blocks(s)
    ):
        inner = replace(s, body=_specialise(s.body, plan, intervals, copies, meeting))
        copies.append((s, inner, None))
        return (*body[:first], inner)
    while first and _only_declares(body[first - 1], plan, meeting):
        first -= 1
    hoisted = tuple(s for s in body[first:] if isinstance(s, tree.SharedDeclare) and plan.bare(s))
    rest = tuple(s for s in body[first:] if s not in hoisted)
    return (*body[:first], *hoisted, _roles(rest, plan, intervals, copies))


def _only_declares(s: tree.Stmt, plan: _Plan, meeting: frozenset[tree.Function]) -> bool:
    declares = isinstance(s, tree.Declare | tree.SharedDeclare) and plan.bare(s)
    return declares and not any(call.function in meeting for call in calls(s))


def _meeting(program: Program) -> frozenset[tree.Function]:
    """Return the functions that have barriers, or call one that has: those that are called stand before their callers."""
    found: set[tree.Function] = set()
    for f in program.functions:
        if program.plans[f].barriers or any(call.function in found for s in statements(f.body) for call in calls(s)):
            found.add(f)
    return frozenset(found)


def _roles(body: tree.Body, plan: _Plan, intervals: list[tuple[int, int]], copies: Copies) -> tree.Specialise:
    """Return a body a role. What sets a warpgroup's registers is one instruction of all its warps, before they part."""
    settings = tuple(s for s in body if _sets_registers_only(s) and all(map(plan.bare, statements((s,)))))
    others = tuple(s for s in body if s not in settings)
    roles: list[tree.Role] = []
    for together in _warpgroups(intervals):
        start, end = together[0][0], together[-1][1]
        first = Projection(start, end, plan, settings).body(copies) if len(together) > 1 else ()
        inner = _bodies(others if first else body, plan, together, copies)
        if first:
            inner = (tree.Role(start, end - start, (*first, tree.Specialise(roles=inner, span=body[-1].span))),)
        roles += inner
    return tree.Specialise(roles=tuple(roles), span=body[-1].span)


def _bodies(body: tree.Body, plan: _Plan, intervals: list[tuple[int, int]], copies: Copies) -> tuple[tree.Role, ...]:
    made = ((first, last, Projection(first, last, plan, body).body(copies)) for first, last in intervals)
    return tuple(tree.Role(first, last - first, part) for first, last, part in made if part)


def _warpgroups(intervals: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the roles that have a part of the same warpgroups."""
    together: list[tuple[int, int]] = []
    for interval in intervals:
        together.append(interval)
        if interval[1] % WARPGROUP == 0 or interval is intervals[-1]:
            yield together
            together = []


def _sets_registers_only(s: tree.Stmt) -> bool:
    """Whether a statement of the block does nothing but to set its warpgroups' registers."""
    inside = tuple(statements((s,)))
    plain = all(isinstance(i, tree.Split | tree.Group) or _sets_registers(i) for i in inside)
    return plain and any(map(_sets_registers, inside))


def _for_blocks(s: tree.Group | tree.Partition | tree.Claim | tree.Async) -> bool:
    """Whether all threads of a block come into a scope together, and it is no station."""
    return s.unit.level >= Level.BLOCK if isinstance(s, tree.Group) else not is_station(s)


def _differs(s: tree.Stmt, plan: _Plan) -> bool:
    """Whether roles differ in a statement: it opens a ring, sets registers, or has a ring's operation beside or in it."""
    inner = tuple(statements((s,)))
    return any(
        is_station(i)
        or _sets_registers(i)
        or any(isinstance(op, Wait | Arrive | Expect | Advance) for op in plan.operations.get(i, ()))
        for i in inner
    )


# -- one role's body ------------------------------------------------------------------------------------------------------


class Projection:
    """What a role has of some statements: the arms that its threads may run, and of the rest what they need."""

    def __init__(self, first: int, last: int, plan: _Plan, body: tree.Body) -> None:
        self.first, self.last, self.plan, self.all = first, last, plan, body
        self.removed: set[tree.Stmt] = set()
        self.merged: dict[tree.Stmt, tree.For] = {}
        self.live: frozenset[Cycle] = frozenset()
        self._remove_unneeded()
        role = Role(self.parts, self._kept, self._steps)
        for loop, pieces in tuple(role.merges(body)):
            self.merged[pieces[0]] = loop
            self.removed |= set(pieces[1:])
        if self.merged:  # what told the pieces apart is no longer needed
            self._remove_unneeded()

    def _remove_unneeded(self) -> None:
        # Until nothing changes: what is removed may have been all that named a variable, and then its declaration goes too.
        # Only what nothing left needs is removed, and removing never makes anything needed. So the order does not matter.
        while True:
            before = len(self.removed), self.live
            found = tuple(self._walk(self.all))
            mentioned = set().union(*map(_symbols_in, found), *map(self._written, found))
            self.live = frozenset(self._cycles(found, mentioned))
            self.removed |= {s for s in found if not self._needed(s, mentioned)}
            if before == (len(self.removed), self.live):
                break

    def arms(self, s: tree.Split) -> tuple[tree.Arm, ...]:
        """Return the arms of a split that threads of the role may run."""
        if not _blocks_threads(s):
            return s.arms
        # Who runs an arm is decided by the thread's number alone, so a role drops only arms that none of its threads would run.
        return tuple(arm for arm in s.arms if arm.first < self.last and self.first < arm.first + arm.size)

    def parts(self, s: tree.Stmt) -> tuple[tree.Body, ...]:
        """Return the statement lists inside a statement, of those arms only."""
        return tuple(arm.body for arm in self.arms(s)) if isinstance(s, tree.Split) else tree.children(s)

    def has_steps_at(self, s: tree.Stmt) -> bool:
        """Whether the role has something of the plan to do beside a statement."""
        return s in self.plan.barriers or any(map(self.does, self.plan.operations.get(s, ())))

    def does(self, op: Op) -> bool:
        """Whether an operation is the role's: it counts the cycle, and threads of it are on the operation's path."""
        if isinstance(op, Advance):
            return op.cycle in self.live
        if not op.path or isinstance(op.path[0], Perspective):
            return True
        # Threads count a cycle's rounds for themselves: a role that neither waits, arrives nor names a copy needs no count.
        _, first, size = op.path[0]
        return first < self.last and self.first < first + size

    def body(self, copies: Copies) -> tree.Body:
        """Return the role's body, of statements of its own; `copies` gets each with what it is a copy of."""
        return self._copy_body(self.all, copies)

    def _kept(self, body: tree.Body) -> tree.Body:
        return tuple(s for s in body if s not in self.removed)

    def _steps(self, s: tree.Stmt) -> tuple[Barrier | Op, ...]:
        """Return what the role does beside a statement."""
        return (*self.plan.barriers.get(s, ()), *filter(self.does, self.plan.operations.get(s, ())))

    def _walk(self, body: tree.Body) -> Iterator[tree.Stmt]:
        for s in body:
            if s not in self.removed:
                yield self.merged.get(s, s)
                for part in self.parts(s):
                    yield from self._walk(part)

    def _cycles(self, found: tuple[tree.Stmt, ...], mentioned: set[tree.Symbol]) -> Iterator[Cycle]:
        """Yield the cycles that the role counts: it waits or arrives, or names a copy of one of the rings."""
        for s in found:
            for op in self.plan.operations.get(s, ()):
                if isinstance(op, Wait | Arrive | Expect) and self.does(op):
                    yield op.barrier.cycle
        for symbol in mentioned:
            cycle = self.plan.plan.cycle_of(symbol)
            if cycle is not None:
                yield cycle

    def _written(self, s: tree.Stmt) -> tuple[tree.Symbol, ...]:
        """The variable that an assignment writes which stays whoever reads it: its declaration stays with it."""
        stays = isinstance(s, tree.Assign) and (self.has_steps_at(s) or not _pure(s))
        target = _variable(s) if stays and isinstance(s, tree.Assign) else None
        return () if target is None else (target,)

    def _needed(self, s: tree.Stmt, mentioned: set[tree.Symbol]) -> bool:
        # A statement is kept for what stands beside it, even if it does nothing itself: a wait before it is all the same made.
        if self.has_steps_at(s):
            return True
        match s:
            case tree.Declare() | tree.Assign():
                target = _variable(s)
                return target is None or target in mentioned or not _pure(s)
            case tree.SharedDeclare():
                return s.symbol in mentioned
            case tree.Turns() if s.first < self.last and self.first < s.first + s.size:
                return True  # who has nothing to do in a passage takes a turn all the same: the next unit waits for it
            case (
                tree.Group()
                | tree.Turns()
                | tree.Partition()
                | tree.Claim()
                | tree.Async()
                | tree.Batch()
                | tree.Split()
                | tree.If()
                | tree.For()
            ):
                # What is in none of its lists has no effect, and a bound or condition that only computes is missed by
                # nobody. A `while` is kept: whether it ends may depend on what it reads.
                empty = all(inner in self.removed for part in self.parts(s) for inner in part)
                return not (empty and _pure(s))
            case _:
                return True

    def _copy_body(self, body: tree.Body, copies: Copies) -> tree.Body:
        made: list[tree.Stmt] = []
        for s in body:
            if s in self.removed:
                continue
            new = self._copy(s, copies)
            made.append(new)
            copies.append((s, new, self))
        return tuple(made)

    def _copy(self, s: tree.Stmt, copies: Copies) -> tree.Stmt:
        s = self.merged.get(s, s)
        if isinstance(s, tree.Split):
            arms = (replace(arm, body=self._copy_body(arm.body, copies)) for arm in self.arms(s))
            return replace(s, arms=tuple(arm for arm in arms if arm.body))
        parts = tuple(self._copy_body(part, copies) for part in tree.children(s))
        return with_parts(s, parts) if parts else replace(s)


def _variable(s: tree.Declare | tree.Assign) -> tree.Symbol | None:
    """Return the variable that a statement gives a value, if that is all that it does."""
    target: tree.Expr | tree.Symbol = s.symbol if isinstance(s, tree.Declare) else s.target
    while isinstance(target, tree.Component):
        target = target.vector
    if isinstance(target, tree.Var | tree.Item):
        target = target.symbol
    return target if isinstance(target, tree.Symbol) and not target.parameter else None


@functools.lru_cache(maxsize=4096)
def _pure(s: tree.Stmt) -> bool:
    """Whether it does not matter whether a statement's own expressions are evaluated."""
    return not any(
        (isinstance(part, tree.Call) and not part.function.pure)
        or (isinstance(part, tree.Apply) and not part.intrinsic.elementwise)
        for e in tree.expressions(s)
        for part in subexpressions(e)
    )


@functools.lru_cache(maxsize=4096)
def _symbols_in(s: tree.Stmt) -> frozenset[tree.Symbol]:
    """Return the symbols that a statement itself needs, those behind its views among them; not a variable that it writes."""
    parts = [e for e in tree.expressions(s) if not (isinstance(s, tree.Assign) and e is s.target)]
    if isinstance(s, tree.Assign):
        target = s.target
        while isinstance(target, tree.Component):
            parts.append(target.index)
            target = target.vector
        parts += (
            list(target.indices)
            if isinstance(target, tree.Item)
            else [target]
            if isinstance(target, tree.Element)
            else []
        )
    found: set[tree.Symbol] = set()
    for part in (part for e in parts for part in subexpressions(e)):
        if isinstance(part, tree.Var | tree.Item | tree.Element):
            found.update(_chain(part.symbol))
        elif (symbol := getattr(part, "symbol", None)) is not None:
            found.add(symbol)
    if isinstance(s, tree.Unsafe):
        for symbol in (*s.uses, *(element.symbol for element, _ in s.accesses)):
            found.update(_chain(symbol))
    return frozenset(found)


def _chain(symbol: tree.Symbol) -> Iterator[tree.Symbol]:
    while True:
        yield symbol
        if symbol.view is None:
            return
        if symbol.view.offset is not None:
            yield symbol.view.offset[0]
        symbol = symbol.view.source


# -- the plan of the new body ---------------------------------------------------------------------------------------------


def _move_plan(plan: Plan, function: tree.Function, copies: Copies) -> Plan:
    """Return a plan for the copies of statements; copies of one barrier are one barrier."""
    places: dict[tree.Stmt, list[tuple[tree.Stmt, Projection | None]]] = {
        s: [(s, None)] for s in statements(function.body)
    }
    for old, new, role in copies:
        places.setdefault(old, []).append((new, role))
    barriers: list[Barrier] = []
    for barrier in plan.barriers:
        found = places.get(barrier.before, [])
        # A barrier's copies in several roles are one: its threads come to different lines, and still meet each other. So no
        # role may drop its copy (`has_steps_at`), or the others wait for ever.
        met = barrier if len(found) > 1 and barrier.met is None else barrier.met
        barriers += [replace(barrier, before=place, met=met) for place, _ in found]
    operations = [
        replace(op, at=place)
        for op in plan.operations
        for place, role in places.get(op.at, [])
        if role is None or role.does(op)
    ]
    return replace(plan, function=function, barriers=tuple(barriers), operations=tuple(operations))
