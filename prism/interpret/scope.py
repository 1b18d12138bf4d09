"""What the compilation of a typed tree into closures carries along."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.frame import Frame
from prism.lang import tree
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.tree.plan import Barrier, Cycle, Layout, Mbarrier, Op, Program
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import Perspective

Eval = Callable[[Frame], Any]
Run = Callable[[Frame], bool]  # tells whether no thread goes on after it
Steps = Callable[[Frame], Generator[None, None, bool]]  # the same where it may wait: it yields while it does


@dataclass(slots=True)
class Piece:
    """A statement or a body as a closure: `run` where nothing in it can wait, else `steps`."""

    run: Run | None
    steps: Steps | None = None


@dataclass(slots=True)
class Code:
    """A compiled function."""

    function: tree.Function
    body: Piece
    slots: int
    bytes: int
    parameters: tuple[int, ...]


class Mode(Value):
    """How a program is run: all threads of a block in step, or `apart`; `plain`: in step, and copies take effect at once.

    A plain run takes the statements in program order, which is always one of the schedules: it waits for nothing in a block.
    """

    check: bool
    plain: bool = False
    apart: bool = False


@dataclass(slots=True)
class Shop:
    """The compilation of one program."""

    program: Program
    mode: Mode
    expression: Callable[[Scope, tree.Expr], Eval]
    function: Callable[[Shop, tree.Function], Code]
    codes: dict[tree.Function, Code] = field(default_factory=dict)
    waiting: dict[tree.Function, bool] = field(default_factory=dict)

    @property
    def check(self) -> bool:
        """Whether the run is checked."""
        return self.mode.check

    def waits(self, statement: tree.Stmt) -> bool:
        """Whether a statement, or one inside it, may wait for another block or another arm."""
        return any(self._waits_itself(inner) for inner in statements((statement,)))

    def _waits_itself(self, statement: tree.Stmt) -> bool:
        polls = isinstance(statement, tree.While) and spins(statement)
        return polls or any(self._waits_for(e) for e in terms(statement))

    def _waits_for(self, e: tree.Expr) -> bool:
        if not isinstance(e, tree.Call):
            return isinstance(e, tree.Apply) and e.intrinsic.blocking
        if e.function not in self.waiting:
            self.waiting[e.function] = any(map(self._waits_itself, statements(e.function.body)))
        return self.waiting[e.function]


@dataclass(slots=True)
class Scope:
    """The compilation of one function."""

    shop: Shop
    function: tree.Function
    code: Perspective
    layout: Layout | None
    slots: dict[tree.Symbol, int] = field(default_factory=dict)
    bound: dict[tree.Symbol, Eval] = field(default_factory=dict)
    waits: list[Callable[[Frame], Generator[None, None, None]]] = field(default_factory=list)
    origins: dict[tree.Symbol, int] = field(default_factory=dict)  # where a view's scope keeps who opened it
    origin: int | None = None
    assigned: frozenset[tree.Symbol] | None = None
    before: Mapping[tree.Stmt, tuple[Barrier | Op, ...]] = field(default_factory=dict)
    after: Mapping[tree.Stmt, tuple[Op, ...]] = field(default_factory=dict)
    cycles: Mapping[tree.Symbol, Cycle] = field(default_factory=dict)
    leads: Mapping[tree.Symbol, Cycle] = field(default_factory=dict)  # of rings whose fills are ahead
    completes: Mapping[tree.Apply, Mbarrier] = field(default_factory=dict)
    within: tree.Inlined | None = None  # the function whose text is compiled, where that is compiled into this one
    count: int = 0
    live: int = 0
    high: int = 0

    @property
    def check(self) -> bool:
        """Whether the run is checked."""
        return self.shop.check

    def evaluate(self, node: tree.Expr) -> Eval:
        """Return the closure of an expression."""
        return self.shop.expression(self, node)

    def keep(self, node: tree.Expr) -> Eval:
        """Return the closure of a value that is kept: a copy where it would be a view of an array's row."""
        value = self.evaluate(node)
        if not isinstance(node, tree.Item | tree.Component | tree.Select | tree.Cast) or not isinstance(
            node.type, tree.Scalar | tree.Vector
        ):
            return value

        def copied(frame: Frame) -> Any:
            result = value(frame)
            return result.copy() if isinstance(result, np.ndarray) else result

        return copied

    def assigns(self, symbol: tree.Symbol) -> bool:
        """Whether the function assigns a variable."""
        if self.assigned is None:
            assigned = (s.target for s in statements(self.function.body) if isinstance(s, tree.Assign))
            self.assigned = frozenset(target.symbol for target in assigned if isinstance(target, tree.Var))
        return symbol in self.assigned

    def slot(self, symbol: tree.Symbol) -> int:
        """Return the slot of a variable."""
        if symbol not in self.slots:
            self.slots[symbol] = self.fresh()
        return self.slots[symbol]

    def fresh(self) -> int:
        """Return a slot that no variable has."""
        self.count += 1
        return self.count - 1


def spins(loop: tree.While) -> bool:
    """Whether a loop polls a word that others write, itself or in a function that it calls."""
    return any(map(_asks, statements((loop,))))


def _asks(statement: tree.Stmt) -> bool:
    return isinstance(statement, tree.Unsafe) or any(map(_polls, terms(statement)))


@memoize
def _asks_in(function: tree.Function) -> bool:
    return any(map(_asks, statements(function.body)))


def _polls(e: tree.Expr) -> bool:
    if isinstance(e, tree.Call):
        return _asks_in(e.function)
    return isinstance(e, tree.Apply) and any(
        p.atomic and p.effect in ("read", "update") and not p.mailbox for p in e.intrinsic.parameters
    )


def uses(body: tree.Body, kinds: tuple[type, ...]) -> bool:
    """Whether a statement of these kinds stands anywhere inside a body."""
    return any(isinstance(s, kinds) for s in statements(body))
