"""Programs to run: checked from source, with no barriers, with those given, or with those that the compiler infers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from prism.lang import check as checking
from prism.lang.lower.place import place
from prism.lang.tree import Function, Stmt, Symbol, children
from prism.lang.tree.plan import Access, Barrier, Plan, Program
from prism.lang.types.perspective import BLOCK, Perspective

Barriers = Mapping[str, Perspective]


def statements(body: Any) -> list[Stmt]:
    found: list[Stmt] = []
    for statement in body:
        found.append(statement)
        for inner in children(statement):
            found.extend(statements(inner))
    return found


def _barrier(statement: Stmt, unit: Perspective) -> Barrier:
    access = Access(Symbol("x", None, BLOCK, statement.span), "write", statement.span, "x", BLOCK)  # type: ignore[arg-type]
    return Barrier("block" if unit == BLOCK else "warp", unit, statement, access, access)


@pytest.fixture
def program() -> Callable[..., Program]:
    """Return `program(kernel, barriers, **template)`: barriers stand before the statement of the first line that has a text.

    `barriers=None` takes what the compiler infers.
    """

    def build(kernel: Any, barriers: Barriers | None = (), **template: object) -> Program:  # type: ignore[assignment]
        functions = checking.check(kernel, template)
        layouts: dict[Function, Any] = {}
        for function in functions:
            layouts[function] = place(function, layouts)
        if barriers is None:
            plan = pytest.importorskip("prism.lang.sync").__dict__.get("plan") or pytest.skip("no sync yet")
            return Program(functions[-1], functions, plan(functions), layouts)
        entry = functions[-1]
        found = []
        lines, start = inspect.getsourcelines(kernel.python)
        for text, unit in dict(barriers).items():
            line = start + next(n for n, line in enumerate(lines) if text in line)
            found.append(_barrier(next(s for s in statements(entry.body) if s.span.line == line), unit))
        plans = {function: Plan(function, ()) for function in functions}
        plans[entry] = Plan(entry, tuple(found))
        return Program(entry, functions, plans, layouts)

    return build
