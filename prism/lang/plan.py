"""The synchronisation plan: what sync infers, and what emit, explain and the reference machine read.

A plan belongs to one function; `Plans` maps each function of a program to its own. A barrier stands before a statement, and
joins the threads of one unit: all units at that point of the code meet it, each for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prism.lang.diagnostics import Span
from prism.lang.perspective import Perspective
from prism.lang.tree import Function, Stmt, Symbol


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """One access to an object: `kind` is `read`, `write` or `atomic`; `root` the object; `text` the source's spelling."""

    root: Symbol
    kind: str
    span: Span
    text: str
    by: Perspective


@dataclass(frozen=True, eq=False, slots=True)
class Barrier:
    """A barrier before `before`: `kind` is `warp`, `named` or `block`; `first` and `second` are the accesses that force it.

    `loop` tells that `first` reaches `second` round a loop's back-edge.
    """

    kind: str
    unit: Perspective
    before: Stmt
    first: Access
    second: Access
    loop: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Elided:
    """A conflict that needed no barrier of its own, and why."""

    first: Access
    second: Access
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """All barriers of one function, in program order."""

    function: Function
    barriers: tuple[Barrier, ...]
    elided: tuple[Elided, ...] = ()

    def before(self) -> Mapping[Stmt, tuple[Barrier, ...]]:
        """Return the barriers by the statement that they stand before."""
        found: dict[Stmt, tuple[Barrier, ...]] = {}
        for barrier in self.barriers:
            found[barrier.before] = (*found.get(barrier.before, ()), barrier)
        return found

    def without(self, barrier: Barrier) -> Plan:
        """Return the plan with one barrier deleted: a mutant that the race detector must catch."""
        return Plan(self.function, tuple(b for b in self.barriers if b is not barrier), self.elided)


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """Shared memory of one function: byte offsets in its frame, where callees' frames start, and the bytes in all."""

    offsets: Mapping[Symbol, int]
    bytes: int
    frame: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A checked and synchronised program: the entry, and for each reachable function its plan and its layout.

    `functions` lists callees before callers, the entry last.
    """

    entry: Function
    functions: tuple[Function, ...]
    plans: Mapping[Function, Plan]
    layouts: Mapping[Function, Layout]

    def with_plan(self, plan: Plan) -> Program:
        """Return the program with one function's plan replaced."""
        return Program(self.entry, self.functions, {**self.plans, plan.function: plan}, self.layouts)
