"""Plans given by hand: operations beside the statement of the first line that has a text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from prism.lang import check as checking
from prism.lang import tree
from prism.lang.lower.place import place
from prism.lang.tree.plan import Access, Cycle, Mbarrier, Op, Plan, Program
from prism.lang.tree.walk import subexpressions
from prism.lang.types.perspective import BLOCK

Make = Callable[[tree.Stmt], Op]


class Hand:
    """A kernel checked, and a plan for it under construction."""

    def __init__(self, kernel: Any, **template: object) -> None:
        self.functions = checking.check(kernel, template)
        self.entry = self.functions[-1]
        self.lines, self.start = inspect.getsourcelines(kernel.python)
        self.plan = Plan(self.entry, ())

    def at(self, text: str, kind: type | None = None, nth: int = 0) -> tree.Stmt:
        """Return the outermost statement (of a kind) that starts on the nth line with a text."""
        numbers = [n for n, line in enumerate(self.lines) if text in line]
        line = self.start + numbers[nth]
        return next(
            s for s in statements(self.entry.body) if s.span.line == line and (kind is None or isinstance(s, kind))
        )

    def object(self, name: str) -> tree.Symbol:
        """Return a shared object."""
        found = (s for s in statements(self.entry.body) if isinstance(s, tree.SharedDeclare))
        return next(s.symbol for s in found if s.symbol.name == name)

    def cycle(self, *names: str) -> Cycle:
        """Make a cycle of rings."""
        rings = tuple(self.object(name) for name in names)
        cycle = Cycle(names[0], rings[0].type.ring, rings)  # type: ignore[union-attr]
        self.plan = replace(self.plan, cycles=(*self.plan.cycles, cycle))
        return cycle

    def mbarrier(self, name: str, cycle: Cycle, count: int) -> Mbarrier:
        """Make an mbarrier."""
        barrier = Mbarrier(name, cycle, count)
        self.plan = replace(self.plan, mbarriers=(*self.plan.mbarriers, barrier))
        return barrier

    def add(self, *operations: Op) -> None:
        """Add operations."""
        self.plan = replace(self.plan, operations=(*self.plan.operations, *operations))

    def completes(self, statement: tree.Stmt, barrier: Mbarrier) -> tree.Apply:
        """Let a load complete on an mbarrier."""
        assert isinstance(statement, tree.Evaluate) and isinstance(statement.value, tree.Apply)
        self.plan = replace(self.plan, completes={**self.plan.completes, statement.value: barrier})
        return statement.value

    def program(self) -> Program:
        """Return the program."""
        layouts: dict[Any, Any] = {}
        for function in self.functions:
            layouts[function] = place(function, layouts)
        plans = {function: Plan(function, ()) for function in self.functions}
        return Program(self.entry, self.functions, {**plans, self.entry: self.plan}, layouts)


def statements(body: tree.Body) -> Iterator[tree.Stmt]:
    """Return all statements, outer before inner."""
    for statement in body:
        yield statement
        for inner in tree.children(statement):
            yield from statements(inner)


def applied(program: Program, name: str) -> list[tree.Apply]:
    """Return the applications of an intrinsic."""
    found = (
        e for f in program.functions for s in statements(f.body) for x in tree.expressions(s) for e in subexpressions(x)
    )
    return [e for e in found if isinstance(e, tree.Apply) and e.intrinsic.name == name]


def access(symbol: tree.Symbol, kind: str, statement: tree.Stmt) -> Access:
    """Return an access for an operation to tell of."""
    return Access(symbol, kind, statement.span, symbol.name, BLOCK)
