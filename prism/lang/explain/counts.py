"""How many barriers a thread meets: once in a function, and in each trip of each loop, called functions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prism.lang.diagnostics import source_lines
from prism.lang.explain.entries import entry
from prism.lang.explain.model import Count, Tally
from prism.lang.place import calls
from prism.lang.plan import Barrier, Op, Plan, Program
from prism.lang.races import statements
from prism.lang.tree import Body, Break, Continue, For, Function, If, Return, Specialise, Split, Stmt, While, children

Range = Mapping[str, tuple[int, int]]
"""The kinds of what makes a thread wait, and the least and the greatest number of each."""


@dataclass(frozen=True, slots=True)
class _Ways:
    """What is met on the ways through code that reach its end (None: none does), a loop's next trip, or the function's end."""

    through: Range | None
    again: tuple[Range, ...] = ()
    returned: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts in one program, `deep` with what called functions do. `known` has the functions counted so far."""

    program: Program
    deep: bool
    known: dict[Function, Range] = field(default_factory=dict)


def counts(program: Program, function: Function) -> tuple[Count, ...]:
    """Return what a function makes a thread meet: first outside all loops, then a trip of each loop, as far as there is any."""
    deep, own = _Counter(program, True), _Counter(program, False)
    found = [Count(None, "", "", _tallies(_whole(deep, function)), _tallies(_whole(own, function)))]
    for owner, loop in _loops(function, set()):
        total = _tallies(_trip(deep, owner, loop))
        if total:
            lines = source_lines(owner.span.file)
            text = lines[loop.span.line - 1].strip().rstrip(":") if loop.span.line <= len(lines) else ""
            name = "" if owner is function else owner.name
            found.append(Count(loop.span.line, text, name, total, _tallies(_trip(own, owner, loop))))
    return tuple(found)


def _tallies(range_: Range) -> tuple[Tally, ...]:
    return tuple(Tally(kind, least, most) for kind, (least, most) in sorted(range_.items()) if most)


def _loops(function: Function, met: set[Function]) -> Iterator[tuple[Function, While | For]]:
    """Yield the loops of a function and of what it calls, each once, with the function that each is in."""
    met.add(function)
    for statement in statements(function.body):
        if isinstance(statement, While | For):
            yield function, statement
        for call in calls(statement):
            if call.function not in met:
                yield from _loops(call.function, met)


def _whole(counter: _Counter, function: Function) -> Range:
    if function not in counter.known:
        ways = _body(counter, counter.program.plans[function], function.body)
        counter.known[function] = _either([r for r in (ways.through, *ways.returned) if r is not None])
    return counter.known[function]


def _trip(counter: _Counter, function: Function, loop: While | For) -> Range:
    ways = _body(counter, counter.program.plans[function], loop.body)
    return _either([r for r in (ways.through, *ways.again) if r is not None])


def _body(counter: _Counter, plan: Plan, body: Body) -> _Ways:
    """Return the ways through a statement list."""
    before, after = plan.before(), plan.after()
    sofar: Range = {}
    again: list[Range] = []
    returned: list[Range] = []
    for statement in body:
        sofar = _sum(sofar, _met(plan, before.get(statement, ()), statement))
        if counter.deep:
            for call in calls(statement):
                sofar = _sum(sofar, _whole(counter, call.function))
        ways = _inside(counter, plan, statement)
        again += (_sum(sofar, way) for way in ways.again)
        returned += (_sum(sofar, way) for way in ways.returned)
        if ways.through is None:
            return _Ways(None, tuple(again), tuple(returned))
        sofar = _sum(_sum(sofar, ways.through), _met(plan, after.get(statement, ()), statement))
    return _Ways(sofar, tuple(again), tuple(returned))


def _inside(counter: _Counter, plan: Plan, statement: Stmt) -> _Ways:
    """Return the ways through what stands inside a statement."""
    match statement:
        case While() | For():  # a loop's trips are counted apart
            return _Ways({}, (), _body(counter, plan, statement.body).returned)
        case Continue():
            return _Ways(None, ({},))
        case Break():
            return _Ways(None)
        case Return():
            return _Ways(None, (), ({},))
        case If():
            return _joined([_body(counter, plan, part) for part in children(statement)])
        case Split() | Specialise():  # the threads of no arm pass by
            return _joined([*(_body(counter, plan, part) for part in children(statement)), _Ways({})])
        case _:
            parts = children(statement)
            return _body(counter, plan, parts[0]) if parts else _Ways({})


def _met(plan: Plan, steps: Iterable[Barrier | Op], statement: Stmt) -> Range:
    kinds = [entry(plan.function, step, statement).counted for step in steps]
    return {kind: (kinds.count(kind), kinds.count(kind)) for kind in kinds if kind}


def _joined(arms: list[_Ways]) -> _Ways:
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
