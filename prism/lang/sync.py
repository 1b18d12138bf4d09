"""The synchronisation plan: which barriers, where, and the two accesses that force each.

Barriers are first placed wherever a conflict asks for one (walk.py); then each is dropped, or moved out of its loops, where
the walk without it finds no conflict. The conflict found otherwise is what the plan says forces it. The last walk is a check
with the barriers fixed: it finds no conflict, whatever placed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prism.lang import flow, overlap, races
from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.sync import Arms, GridSync, NoPlace, Overlap
from prism.lang.flow import Summary
from prism.lang.perspective import BLOCK, WARP, Level, Perspective
from prism.lang.plan import Barrier, Layout, Plan
from prism.lang.trail import Trail
from prism.lang.tree import Body, For, Function, Stmt, While, children
from prism.lang.walk import Concurrent, Conflict, Context, summarise, walked

NOTED = 64
"""Conflicts without a barrier of their own that a plan remembers at most."""


Placed = dict[Stmt, tuple[Perspective, ...]]


def failing(context: Context, placed: Placed, trail: Trail, changed: Iterable[Stmt]) -> Conflict | None:
    """Return the first conflict that these barriers leave, or None. They differ from what the trail holds at `changed`."""
    trail.change(changed)
    try:
        walked(context, placed, trail=trail)
    except Conflict as conflict:
        return conflict
    return None


def minimal(context: Context, placed: Placed) -> dict[tuple[Stmt, Perspective], Conflict]:
    """Drop each barrier that is not needed, move it out of loops where that does; return the rest, with what forces each."""
    order_of = {s: n for n, s in enumerate(races.statements(context.function.body))}
    loops = enclosing(context.function.body)
    trail = Trail()
    trail.add(context.function.body)
    current = dict(placed)
    failing(context, current, trail, ())
    changed = True
    needed: dict[tuple[Stmt, Perspective], Conflict] = {}
    while changed:
        changed, needed = False, {}
        barriers = [(s, unit) for s, units in current.items() for unit in units]
        for barrier in sorted(barriers, key=lambda b: (order_of[b[0]], b[1].level, b[1].size)):
            statement, unit = barrier
            rest = {**current, statement: tuple(u for u in current[statement] if u != unit)}
            conflict = failing(context, rest, trail, (statement,))
            if conflict is None:
                trail.keep()
                current, changed = rest, True
                continue
            for loop in loops[statement]:
                moved = {**rest, loop: (*(u for u in rest.get(loop, ()) if u != unit), unit)}
                if failing(context, moved, trail, (statement, loop)) is None:
                    trail.keep()
                    current, changed = moved, True
                    break
            needed[barrier] = conflict
    return needed


def grouped(placed: Iterable[tuple[Stmt, Perspective]]) -> dict[Stmt, tuple[Perspective, ...]]:
    """Return barriers by the statement that they stand before."""
    found: dict[Stmt, tuple[Perspective, ...]] = {}
    for statement, unit in placed:
        found[statement] = (*found.get(statement, ()), unit)
    return found


def enclosing(body: Body, loops: tuple[Stmt, ...] = ()) -> dict[Stmt, tuple[Stmt, ...]]:
    """Return the loops around each statement, outermost first."""
    found: dict[Stmt, tuple[Stmt, ...]] = {}
    for statement in body:
        found[statement] = loops
        inner = (*loops, statement) if isinstance(statement, While | For) else loops
        for part in children(statement):
            found |= enclosing(part, inner)
    return found


def kind_of(unit: Perspective) -> str:
    """Name the hardware's barrier for a unit."""
    if unit.level == Level.BLOCK:
        return "block"
    return "warp" if WARP % unit.size == 0 else "named"


def refused(conflict: Conflict) -> CompileError:
    """Return the error for a conflict that no barrier can order."""
    first, second = conflict.first.touch, conflict.second
    assert first is not None
    round_ = ", in another trip of the loop" if conflict.first.loop else ""
    labels = (Label(first.access.span, f"the {first.kind}{round_}"),)
    name, span = second.root.name, second.access.span
    if conflict.unit > BLOCK:
        return CompileError(
            GridSync(span=span, labels=labels, name=name, unit=conflict.unit, first=first.kind, second=second.kind)
        )
    return CompileError(
        NoPlace(
            span=span, labels=labels, name=name, unit=conflict.unit, first=first.kind, second=second.kind,
            code_at=second.code,
        )
    )  # fmt: skip


def plan_function(
    function: Function, summaries: Mapping[Function, Summary], layouts: Mapping[Function, Layout] | None = None
) -> tuple[Plan, Summary]:
    """Return one function's plan and its summary; its callees' summaries are given."""
    known = races.facts(function)
    check_partitions(function, known)
    context = Context(function, flow.objects(known, layouts), summaries)
    try:
        first = walked(context, {}, grow=True)
        needed = minimal(context, first.placed)
        last = walked(context, grouped(needed), notes=True)
    except Conflict as conflict:
        raise refused(conflict) from None
    except Concurrent as concurrent:
        one, two = concurrent.first, concurrent.second
        labels = (Label(one.access.span, f"the other arm's {one.kind}"),)
        error = Arms(span=two.access.span, labels=labels, name=two.root.name, first=one.kind, second=two.kind)
        raise CompileError(error) from None
    found: list[Barrier] = []
    for (statement, unit), witness in needed.items():
        assert witness.first.touch is not None
        pair = witness.first.touch.access, witness.second.access
        found.append(Barrier(kind_of(unit), unit, statement, *pair, witness.first.loop))
    return Plan(function, tuple(found), tuple(last.elided[key] for key in sorted(last.elided)[:NOTED])), summarise(
        context, last
    )


def check_partitions(function: Function, known: races.Facts) -> None:
    """Refuse partitions whose units surely write the same element."""
    errors: list[Overlap] = []
    for partition, verdict in overlap.verdicts(function, known):
        meaning = verdict.view.view
        if verdict.status == "overlap" and meaning is not None and meaning.races != "allow":
            errors.append(
                Overlap(
                    span=partition.span, view=verdict.view.name, source=meaning.source.name, unit=meaning.unit,
                    other=verdict.other, element=verdict.element,
                )
            )  # fmt: skip
    if errors:
        raise CompileError(*errors)


def plan(functions: Sequence[Function], layouts: Mapping[Function, Layout] | None = None) -> Mapping[Function, Plan]:
    """Return the plan of each function; `functions` lists callees before their callers.

    Without `layouts`, shared objects that are never live together are taken to reuse each other's bytes.
    """
    plans: dict[Function, Plan] = {}
    summaries: dict[Function, Summary] = {}
    for function in functions:
        plans[function], summaries[function] = plan_function(function, summaries, layouts)
    return plans
