"""What the compilation of a typed tree into closures carries along."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.frame import Frame
from prism.lang import tree
from prism.lang.keep.bases import Value
from prism.lang.tree.plan import Barrier, Cycle, Layout, Mbarrier, Op, Program
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

    def waits(self, node: tree.Stmt | tree.Expr) -> bool:
        """Whether a statement or an expression may wait for another block or another arm."""
        if isinstance(node, tree.Call):
            function = node.function
            if function not in self.waiting:
                self.waiting[function] = any(self.waits(statement) for statement in function.body)
            if self.waiting[function]:
                return True
        if isinstance(node, tree.Apply) and node.intrinsic.blocking:
            return True
        if isinstance(node, tree.While) and spins(node):
            return True
        return any(self.waits(part) for part in parts(node))


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
            self.assigned = frozenset(_assigned_symbols(self.function.body))
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


def _assigned_symbols(body: tree.Body) -> Iterator[tree.Symbol]:
    for statement in body:
        if isinstance(statement, tree.Assign) and isinstance(statement.target, tree.Var):
            yield statement.target.symbol
        for inner in tree.children(statement):
            yield from _assigned_symbols(inner)


def parts(node: tree.Stmt | tree.Expr) -> Iterator[tree.Stmt | tree.Expr]:
    """Return the statements and expressions directly inside a node."""
    if isinstance(node, tree.Expression):
        yield from tree.operands(node)
        return
    yield from tree.expressions(node)
    for body in tree.children(node):
        yield from body


def spins(loop: tree.While) -> bool:
    """Whether a loop polls a word that others write."""
    return any(_polls(part) for part in loop.body)


def _polls(node: tree.Stmt | tree.Expr) -> bool:
    if isinstance(node, tree.Apply) and any(
        p.atomic and p.effect in ("read", "update") and not p.mailbox for p in node.intrinsic.parameters
    ):
        return True
    return any(_polls(part) for part in parts(node))


def uses(body: tree.Body, kinds: tuple[type, ...]) -> bool:
    """Whether a statement of these kinds stands anywhere inside a body."""
    return any(isinstance(s, kinds) or any(uses(inner, kinds) for inner in tree.children(s)) for s in body)
