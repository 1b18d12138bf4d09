"""Skew: fills of rings that are issued ahead of the loop's trips, where the plan says that they can be (ahead.py).

    for k in range(start, stop, step):          for k' = the first `by` of them:     (fewer where there are no more)
        fill(k)                                     fill(k')
        use(k)                          =>      for k in range(start, stop, step):
                                                    if there is a trip `by` trips later, k' its index:
                                                        fill(k')
                                                    use(k)

The fills, and the values of the trip that they need, are as they were, with k' in place of k. What the plan puts beside them
stands beside both copies, beside the uses what stood there. Indices are compared without going beyond the loop's last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from prism.lang import tree
from prism.lang.facts.definitions import facts
from prism.lang.lower.copies import Renamed, copy_body, with_parts
from prism.lang.lower.place import with_mbarriers
from prism.lang.lower.trips import Trips, name_value
from prism.lang.rings.hoisting import mentioned_names
from prism.lang.tree.plan import Barrier, Expect, Layout, Op, Plan, Program, Skew, Wait
from prism.lang.tree.walk import statements

Copies = list[tuple[tree.Stmt, tree.Stmt]]
"""Statements with their copies."""


def skew(program: Program) -> Program:
    """Return the program with its fills ahead; the same program where there are none to be issued so."""
    entry = program.entry
    plan = program.plans[entry].skewed
    if plan is None:
        return program
    made = _Rewriting(plan)
    function = replace(entry, body=made.body(entry.body))
    layout = layout_of(program)
    frame = {
        id(new): layout.frame[id(old)]
        for old, new in made.others_in_copies(tree.Call).items()
        if id(old) in layout.frame
    }
    plans = {f: p for f, p in program.plans.items() if f is not entry}
    layouts = {f: one for f, one in program.layouts.items() if f is not entry}
    return Program(
        function,
        tuple(function if f is entry else f for f in program.functions),
        {**plans, function: made.plan(function)},
        {**layouts, function: replace(layout, frame={**layout.frame, **frame})},
    )


def unskew(program: Program) -> Program:
    """Return the program as it was written, with the plan and the layout of what is emitted: fills ahead are where they were."""
    plan = program.plans[program.entry].skewed
    if plan is None:
        return program
    layouts = {**program.layouts, program.entry: layout_of(program)}
    return replace(program.with_plan(plan), layouts=layouts)


def layout_of(program: Program) -> Layout:
    """Return the layout of a kernel whose fills are ahead: with the mbarriers of that plan."""
    layout, plan = program.layouts[program.entry], program.plans[program.entry].skewed
    if plan is None:
        return layout
    end = min(layout.mbarriers.values(), default=layout.gathers or layout.bytes)
    return with_mbarriers(replace(layout, bytes=end), plan)


@dataclass(eq=False, slots=True)
class _Rewriting:
    """A kernel's body as it is rewritten.

    `copies`: statements with what became of them. `trips`: what stands in a trip in place of a skew's fills; `firsts`: the last
    statement of a trip of the loop before; `fresh`: what stands in such a loop that is executed once, so that the copies which it
    fills were never used. `heads`: of each loop, what comes first now. `names`: what each skew's fills are in.
    """

    original: Plan
    copies: Copies = field(default_factory=list)
    trips: dict[Skew, tree.Stmt] = field(default_factory=dict)
    firsts: dict[Skew, tree.Stmt] = field(default_factory=dict)
    fresh: set[tree.Stmt] = field(default_factory=set)
    heads: dict[tree.Stmt, tree.Stmt] = field(default_factory=dict)
    names: dict[Skew, Renamed] = field(default_factory=dict)

    def others_in_copies(self, kind: type[tree.Expr]) -> Mapping[Any, Any]:
        """Return the calls, or the intrinsics' applications, that are others in the copies of fills."""
        found = (pair for names in self.names.values() for pair in names.expressions.items())
        return {old: new for old, new in found if isinstance(old, kind) and isinstance(new, kind)}

    # -- statements ---------------------------------------------------------------------------------------------------

    def body(self, body: tree.Body) -> tree.Body:
        """Return what becomes of a statement list."""
        return tuple(new for s in body for new in self.statement(s))

    def statement(self, s: tree.Stmt) -> tuple[tree.Stmt, ...]:
        """Return what becomes of a statement: itself, where nothing in it changes."""
        skews = tuple(skew for skew in self.original.skews if skew.loop is s)
        if isinstance(s, tree.For) and skews:
            return self.loop(s, skews)
        parts = tuple(map(self.body, tree.children(s)))
        if parts == tree.children(s):
            return (s,)
        new = with_parts(s, parts)
        self.copies.append((s, new))
        return (new,)

    def loop(self, loop: tree.For, skews: tuple[Skew, ...]) -> tuple[tree.Stmt, ...]:
        """Return a loop with its fills ahead, behind loops of the first ones."""
        # Bounds are read once before the first fills, and stay: both loops have to agree on which trips there are.
        changed = facts(self.original.function).changed
        start, one = name_value(loop.start, f"{loop.symbol.name}_start", changed)
        stop, two = name_value(loop.stop, f"{loop.symbol.name}_stop", changed)
        bounded = replace(loop, start=start, stop=stop)
        before = [*one, *two, *(self.first_fills(Trips(bounded), skew) for skew in skews)]
        # Each trip's fills stand in one place only: what is put before the loop or ahead is taken out of the trip itself.
        gone = {s for skew in skews for s in skew.fills}
        new = replace(bounded, body=_drop_unneeded(self.drop_fills(loop.body, skews, gone), skews))
        self.copies.append((loop, new))
        self.heads[loop] = before[0]
        return (*before, new)

    def drop_fills(self, body: tree.Body, skews: tuple[Skew, ...], gone: set[tree.Stmt]) -> tree.Body:
        """Return a statement list of a loop without its fills, and in the loop's own with what comes in their place."""
        # The guarded fills for k' come in the loop's own list, before what led to where fills stood: so no scope of trip k is
        # around them. The scopes that had the fills stay, for what else stands in them.
        made: list[tree.Stmt] = []
        for s in body:
            made += [self.trips[skew] for skew in skews if (*skew.around, skew.fills[0])[0] is s]
            if any(s in skew.around for skew in skews):
                (inner,) = tree.children(s)
                new = with_parts(s, (self.drop_fills(inner, skews, gone),))
                self.copies.append((s, new))
                made.append(new)
            elif s not in gone:
                made += self.statement(s)
        return tuple(made)

    # -- fills --------------------------------------------------------------------------------------------------------

    def first_fills(self, trips: Trips, skew: Skew) -> tree.Stmt:
        """Return the loop of the first fills; and know what stands in place of the others."""
        loop = trips.loop
        index = replace(loop.symbol, name=f"{loop.symbol.name}_ahead")
        symbols = {s.symbol: replace(s.symbol, name=f"{s.symbol.name}_ahead") for s in skew.needs}
        self.names[skew] = Renamed({loop.symbol: index, **symbols}, lambda view: _view_ahead(view, skew))
        # Each fill is made exactly once: those of the first `by` trips before the loop, that of trip k + by in trip k, if there
        # is one. So the lead's rounds are the trips in their order, as the users count them.
        later = tree.Declare(symbol=index, value=trips.later(skew.by), span=loop.span)
        fills = self.fills(skew, loop.body, skew.around)
        self.trips[skew] = tree.If(
            condition=trips.has_later(skew.by), then=(later, *fills), otherwise=(), span=loop.span
        )
        first, self.firsts[skew] = trips.first(index, skew.by, self.fills(skew, loop.body, skew.around))
        # In an outer loop the first fills come again, and then the copies have been used: only once are they surely fresh.
        if not _is_nested(self.original.function.body, skew.loop):
            self.fresh |= set(statements((first,)))
        return first

    def fills(self, skew: Skew, body: tree.Body, around: tuple[tree.Stmt, ...]) -> tree.Body:
        """Return a copy of the fills in a list, with what they need and the scopes around them."""
        # All names of the fills are new ones: so a fill of trip k + by never reads a value of trip k, and uses of k none of
        # its.
        names = self.names[skew]
        if not around:
            # Declarations that fills need are computed again from k', in the text's order: each stands before what it is
            # read by.
            return copy_body(tuple(s for s in body if s in skew.needs or s in skew.fills), names, self.copies)
        needs = copy_body(tuple(s for s in body if s in skew.needs), names, self.copies)
        (inner,) = tree.children(around[0])
        (scope,) = copy_body((with_parts(around[0], ((),)),), names, [])
        return (*needs, with_parts(scope, (self.fills(skew, inner, around[1:]),)))

    # -- the plan -----------------------------------------------------------------------------------------------------

    def plan(self, function: tree.Function) -> Plan:
        """Return the plan beside the statements as they are now."""
        places: dict[tree.Stmt, list[tree.Stmt]] = {s: [s] for s in statements(function.body)}
        for old, new in self.copies:
            places.setdefault(old, []).append(new)
        applied = self.others_in_copies(tree.Apply)
        barriers = [
            replace(barrier, before=at)
            for barrier in self.original.barriers
            for at in self.places(barrier, barrier.before, "before", places)
        ]
        operations: list[Op] = []
        for op in self.original.operations:
            for at in self.places(op, op.at, op.side, places):
                # The first lap waits for nobody: beside fills that are surely of it, a wait for the lap before says nothing.
                if isinstance(op, Wait) and op.lap and at in self.fresh:
                    continue
                moved = replace(op, at=at)
                if isinstance(moved, Expect):
                    moved = replace(moved, copy=applied.get(moved.copy, moved.copy))
                operations.append(moved)
        completes = {applied.get(old, old): barrier for old, barrier in self.original.completes.items()}
        return replace(
            self.original,
            function=function,
            barriers=tuple(barriers),
            operations=tuple(operations),
            completes=completes,
            skews=(),
        )

    def places(
        self, step: Barrier | Op, at: tree.Stmt, side: str, places: Mapping[tree.Stmt, list[tree.Stmt]]
    ) -> list[tree.Stmt]:
        """Return what a step of the plan stands beside now."""
        # What opens a trip's fills stands before the guard, and what closes them behind it, not inside: all threads come there in
        # every trip, also in those that have nothing left to fill.
        for skew, trip in self.trips.items():
            if step in skew.opens:
                return [trip]
            if step in skew.closes:
                return [trip, self.firsts[skew]]
        if side == "before" and at in self.heads:
            return [self.heads[at]]
        return places.get(at, [])


def _view_ahead(view: tree.View, skew: Skew) -> tree.View:
    """Return a view that means the copy which is filled ahead, where it is one of the fills' rings."""
    return replace(view, ahead=True) if view.source in skew.lead.rings else view


def _is_nested(body: tree.Body, loop: tree.For) -> bool:
    """Whether a loop stands in another one."""
    # A loop inside another is entered again: its first fills are then not the first of all, and have to wait for the users.
    others = (s for s in statements(body) if isinstance(s, tree.For | tree.While) and s is not loop)
    return any(loop in statements(other.body) for other in others)


def _drop_unneeded(body: tree.Body, skews: tuple[Skew, ...]) -> tree.Body:
    """Return a loop's body without declarations that only the fills needed."""
    # From the last to the first, as a declaration may be needed by a later one alone:
    #     row = 64 * k; at = row + t; fill(at); use          =>          use
    gone: set[tree.Stmt] = set()
    for declaration in reversed([s for skew in skews for s in skew.needs]):
        left = [s for s in statements(body) if s not in gone and s is not declaration]
        symbols = {
            symbol for s in left for symbol in (*mentioned_names(s), *(s.uses if isinstance(s, tree.Unsafe) else ()))
        }
        # What is dropped is pure (hoisting.py: a declaration that only computes), so nobody misses it but who names it.
        if declaration.symbol not in symbols:
            gone.add(declaration)
    return tuple(s for s in body if s not in gone)
