"""How many barriers, waits and arrivals a thread meets: once in a function, and in each trip of each loop, calls included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from prism.explanation.entries import entry, role_names
from prism.explanation.model import Count, Duty, Tally
from prism.lang import tree
from prism.lang.diagnostics import source_lines
from prism.lang.emit.merge import Step, Steps, merge_steps
from prism.lang.keep.bases import Value
from prism.lang.lower.specialise import roles_of
from prism.lang.tree.inlined import owner as owner_of
from prism.lang.tree.inlined import parts
from prism.lang.tree.plan import Path, Plan, Program
from prism.lang.tree.walk import calls
from prism.lang.types.perspective import BLOCK, Level, Perspective

Range = Mapping[str, tuple[int, int]]
"""The kinds of what makes a thread wait, and the least and the greatest number of each."""


class _Ways(Value):
    """What is met on the ways through code that reach its end (None: none does), a loop's next trip, or the function's end."""

    through: Range | None
    again: tuple[Range, ...] = ()
    returned: tuple[Range, ...] = ()


class _Counter(Value):
    """Counts in one program, `deep` with what called functions do. `known` has the functions counted so far.

    `role`: None, or the threads, first and last + 1, for which it counts: those of them that go through the arms of splits.
    """

    program: Program
    deep: bool
    role: tuple[int, int] | None = None
    known: dict[tree.Function, Range] = field(default_factory=dict)
    steps: dict[tree.Function, tuple[Steps, Steps]] = field(default_factory=dict)

    def steps_of(self, plan: Plan) -> tuple[Steps, Steps]:
        """Return what stands before and after each statement of a function, as it is emitted; found once."""
        if plan.function not in self.steps:
            self.steps[plan.function] = merge_steps(plan, plan.function.body)
        return self.steps[plan.function]


def counts(program: Program, function: tree.Function) -> tuple[Count, ...]:
    """Return what a function makes a thread meet: first outside all loops, then a trip of each loop, as far as there is any.

    Where threads have roles, each role in turn has these counts of its own.
    """
    found = duties(function)
    if not found:
        return _counts(program, function, "", None)
    return tuple(c for d in found for c in _counts(program, function, d.name, (d.first, d.first + d.size)))


def duties(function: tree.Function) -> tuple[Duty, ...]:
    """Return the roles of a kernel's threads, each by the narrowest of its names; none where all do the same."""
    named = sorted(role_names(function).items(), key=lambda one: one[0][1])
    found = []
    for first, last in roles_of(function):
        names = [name for (start, size), name in named if start <= first and last <= start + size]
        found.append(Duty(names[0] if names else f"threads {first} to {last - 1}", first, last - first))
    return tuple(found) if len(found) > 1 else ()


def _counts(program: Program, function: tree.Function, name: str, threads: tuple[int, int] | None) -> tuple[Count, ...]:
    deep, own = _Counter(program, True, threads), _Counter(program, False, threads)
    once = _tallies(_whole(deep, function))
    found = [Count(None, "", "", once, _tallies(_whole(own, function)), name)] if once or threads is None else []
    for owner, loop in _loops(function, threads, set()):
        total = _tallies(_trip(deep, owner, loop))
        if total:
            lines = source_lines(loop.span.file)
            text = lines[loop.span.line - 1].strip().rstrip(":") if loop.span.line <= len(lines) else ""
            inside = owner_of(owner, loop.span)
            where = "" if inside == function.name and owner is function else inside or owner.name
            part = loop.part_text if isinstance(loop, tree.For) else ""
            found.append(Count(loop.span.line, text, where, total, _tallies(_trip(own, owner, loop)), name, part))
    return tuple(found)


def _tallies(range_: Range) -> tuple[Tally, ...]:
    return tuple(Tally(kind, least, most) for kind, (least, most) in sorted(range_.items()) if most)


def _loops(
    function: tree.Function, role: tuple[int, int] | None, met: set[tree.Function]
) -> Iterator[tuple[tree.Function, tree.While | tree.For]]:
    """Yield the loops of a function and of what it calls, each once, with the function that each is in."""
    met.add(function)
    for statement in _reachable(function.body, role):
        if isinstance(statement, tree.While | tree.For):
            yield function, statement
        for call in calls(statement):
            if call.function not in met:
                yield from _loops(call.function, None, met)


def _reachable(body: tree.Body, role: tuple[int, int] | None) -> Iterator[tree.Stmt]:
    """Yield the statements of a list, and of those inside them, that threads of a role come to."""
    for statement in body:
        yield statement
        arms = _arms(statement, role) if isinstance(statement, tree.Split) else None
        for part in tree.children(statement) if arms is None else (arm.body for arm in arms):
            yield from _reachable(part, role)


def _arms(split: tree.Split, role: tuple[int, int] | None) -> tuple[tree.Arm, ...]:
    """Return the arms of a split that threads of a role may run."""
    if role is None or split.level != Level.THREAD or split.code != BLOCK:
        return split.arms
    return tuple(arm for arm in split.arms if _overlap(role, arm.first, arm.size))


def _whole(counter: _Counter, function: tree.Function) -> Range:
    if function not in counter.known:
        ways = _body(counter, counter.program.plans[function], function.body)
        counter.known[function] = _either([r for r in (ways.through, *ways.returned) if r is not None])
    return counter.known[function]


def _trip(counter: _Counter, function: tree.Function, loop: tree.While | tree.For) -> Range:
    ways = _body(counter, counter.program.plans[function], loop.body)
    return _either([r for r in (ways.through, *ways.again) if r is not None])


def _body(counter: _Counter, plan: Plan, body: tree.Body) -> _Ways:
    """Return the ways through a statement list."""
    before, after = counter.steps_of(plan)
    sofar: Range = {}
    again: list[Range] = []
    returned: list[Range] = []
    for statement in body:
        sofar = _sum(sofar, _met(counter, plan, before.get(statement, ()), statement))
        if isinstance(statement, tree.Turns) and _takes_turns(counter, statement):
            sofar = _sum(sofar, {"turn wait": (1, 1)})
        if counter.deep:
            for call in calls(statement):
                sofar = _sum(sofar, _whole(counter, call.function))
        ways = _ways_inside(counter, plan, statement)
        again += (_sum(sofar, way) for way in ways.again)
        returned += (_sum(sofar, way) for way in ways.returned)
        if ways.through is None:
            return _Ways(None, tuple(again), tuple(returned))
        sofar = _sum(_sum(sofar, ways.through), _met(counter, plan, after.get(statement, ()), statement))
    return _Ways(sofar, tuple(again), tuple(returned))


def _ways_inside(counter: _Counter, plan: Plan, statement: tree.Stmt) -> _Ways:
    """Return the ways through what stands inside a statement."""
    match statement:
        case tree.While() | tree.For():  # a loop's trips are counted apart
            return _Ways({}, (), _body(counter, plan, statement.body).returned)
        case tree.Continue():
            return _Ways(None, ({},))
        case tree.Break():
            return _Ways(None)
        case tree.Return():
            return _Ways(None, (), ({},))
        case tree.If():
            return _join([_body(counter, plan, part) for part in tree.children(statement)])
        case tree.Split() if counter.role is not None:
            return _join([_body(counter, plan, arm.body) for arm in _arms(statement, counter.role)] or [_Ways({})])
        case tree.Split() | tree.Specialise():  # the threads of no arm pass by
            return _join([*(_body(counter, plan, part) for part in tree.children(statement)), _Ways({})])
        case _:
            parts = tree.children(statement)
            return _body(counter, plan, parts[0]) if parts else _Ways({})


def _takes_turns(counter: _Counter, turns: tree.Turns) -> bool:
    """Whether threads that are counted for have turns: all of them, where nobody asks for a role's."""
    return counter.role is None or _overlap(counter.role, turns.first, turns.first + turns.size)


def _overlap(role: tuple[int, int], first: int, size: int) -> bool:
    return first < role[1] and role[0] < first + size


def _met(counter: _Counter, plan: Plan, steps: Iterable[Step], statement: tree.Stmt) -> Range:
    mine = (step for step in steps if counter.role is None or _comes(counter.role, getattr(step, "path", ())))
    part = parts(plan.function)[0]
    kinds = [entry(part, step, statement).kind for step in mine]
    return {kind: (kinds.count(kind), kinds.count(kind)) for kind in kinds if kind}


def _comes(role: tuple[int, int], path: Path) -> bool:
    """Whether threads of a role come to the end of a path."""
    return not path or isinstance(path[0], Perspective) or _overlap(role, path[0][1], path[0][2])


def _join(arms: list[_Ways]) -> _Ways:
    through = [arm.through for arm in arms if arm.through is not None]
    again = tuple(way for arm in arms for way in arm.again)
    returned = tuple(way for arm in arms for way in arm.returned)
    return _Ways(_either(through) if through else None, again, returned)


def _sum(left: Range, right: Range) -> Range:
    kinds = (*left, *right)
    return {k: (left.get(k, (0, 0))[0] + right.get(k, (0, 0))[0], left.get(k, (0, 0))[1] + right.get(k, (0, 0))[1])
            for k in kinds}  # fmt: skip


def _either(ranges: list[Range]) -> Range:
    kinds = {kind for range_ in ranges for kind in range_}
    return {
        kind: (min(r.get(kind, (0, 0))[0] for r in ranges), max(r.get(kind, (0, 0))[1] for r in ranges))
        for kind in kinds
    }
