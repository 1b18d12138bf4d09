"""Sums and products of floats that decide for several threads where they go: each is rounded by itself.

The GPU's compiler may make one operation of `a * b + c`, which rounds once, and does so where it pays: in one copy of a text
and not in another. A role has a copy of its own of what the block does, and a compiler may copy text too. If the last bit of
one copy were another, one role might go round a loop once more than the other, and wait there for ever. So what decides a
branch, a loop's bounds or an offset at a perspective of several threads, and what such a value is computed from, is written
with `__fmul_rn` and the like, which are never made one with others; so is what becomes an integer there, and, where roles have
copies, all that a block or the grid has in common. All else is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prism.lang.tree import (
    Apply,
    Assign,
    Async,
    Binary,
    Call,
    Cast,
    Claim,
    Component,
    Declare,
    Element,
    Expr,
    For,
    Function,
    If,
    Item,
    Partition,
    Return,
    Scalar,
    Specialise,
    Stmt,
    Symbol,
    Var,
    While,
    expressions,
    operands,
)
from prism.lang.tree.walk import statements, subexpressions
from prism.lang.types import FLOAT32, FLOAT64, Array
from prism.lang.types.perspective import THREAD, Level, Perspective

NAMES = {"+": "add", "-": "sub", "*": "mul"}
WRAPPING = {"wrapping_add": "+", "wrapping_subtract": "-", "wrapping_multiply": "*"}


def operator(e: Expr) -> str | None:
    """Return the operator of a sum, difference or product of floats that may be made one with another."""
    if e.type not in (FLOAT32, FLOAT64):  # shorter ones are rounded by instructions of their own
        return None
    match e:
        case Binary(op=op) if op in NAMES:
            return op
        case Apply(intrinsic=intrinsic):
            return WRAPPING.get(intrinsic.name)
        case _:
            return None


def rounded(e: Expr, op: str, left: str, right: str) -> str:
    """Return an operation's text."""
    return f"__{'f' if e.type == FLOAT32 else 'd'}{NAMES[op]}_rn({left}, {right})"


def precise(functions: Sequence[Function]) -> Mapping[Function, frozenset[Expr]]:
    """Return, for functions in an order of callees first, the operations that are each rounded by themselves."""
    found: dict[Function, frozenset[Expr]] = {}
    asked = _Asked()
    for function in reversed(functions):  # callers first: what they ask of a function is known when its turn comes
        if function in asked.whole:
            every = {part for s in statements(function.body) for e in _all(s) for part in subexpressions(e)}
            asked.whole.update(part.function for part in every if isinstance(part, Call))
        else:
            every = _Slice(function, asked).found()
        found[function] = frozenset(part for part in every if operator(part) is not None)
    return found


@dataclass(eq=False, slots=True)
class _Asked:
    """What callers ask of functions: that all in them is rounded by itself, or that what they return is."""

    whole: set[Function] = field(default_factory=set)
    returned: set[Function] = field(default_factory=set)


class _Slice:
    """What decides something in one function, and what that is computed from."""

    def __init__(self, function: Function, asked: _Asked) -> None:
        self.function, self.asked = function, asked
        self.seen: set[Expr] = set()
        self.names: set[Symbol] = set()
        self.values: dict[Symbol, list[Expr]] = {}
        for s in statements(function.body):
            match s:
                case Declare(symbol=symbol, value=value) if value is not None:
                    self.values.setdefault(symbol, []).append(value)
                case Assign(target=target, value=value):
                    whole = target.vector if isinstance(target, Component) else target
                    if isinstance(whole, Var | Item):
                        self.values.setdefault(whole.symbol, []).append(value)
                case _:
                    pass
            # `fill(limits, x)` and then `while f < limits[0]`: what the call does to the array decides too.
            for call, array in _changed(s):
                self.values.setdefault(array, []).append(call)

    def found(self) -> set[Expr]:
        """Return the expressions."""
        copied = any(isinstance(s, Specialise) for s in statements(self.function.body))
        for statement in statements(self.function.body):
            for root in self._roots(statement):
                self._take(root)
        # Where roles have copies of the text, a value in common is computed in each, and must not differ in a bit.
        for symbol in [s for s in self.values if copied and s.perspective.level > Level.THREAD]:
            self._name(symbol)
        return self.seen

    def _roots(self, s: Stmt) -> Iterator[Expr]:
        """Yield what decides for several threads."""
        if isinstance(s, If | While | For | Partition | Claim | Async):
            yield from (e for e in _all(s) if _common(e.perspective))
        if isinstance(s, Return) and self.function in self.asked.returned:
            yield from expressions(s)
        for e in _all(s):
            yield from (p for p in subexpressions(e) if _common(p.perspective) and _becomes_whole(p))

    def _take(self, e: Expr) -> None:
        """Take an expression, and what it is computed from."""
        if e in self.seen:
            return
        self.seen.add(e)
        if isinstance(e, Call):
            alone = e.function.bound.code == THREAD or any(isinstance(a.type, Array) for a in e.arguments)
            (self.asked.whole if alone else self.asked.returned).add(e.function)
        if isinstance(e, Var | Item):
            self._name(e.symbol)
        for part in operands(e):
            if _common(part.perspective) or not _together(e):
                self._take(part)

    def _name(self, symbol: Symbol) -> None:
        if symbol not in self.names:
            self.names.add(symbol)
            for value in self.values.get(symbol, ()):
                self._take(value)


def _together(e: Expr) -> bool:
    """Whether several threads compute something together, or one of them has: what each brings is then no copy of anything."""
    if isinstance(e, Call):
        return e.function.bound.code != THREAD
    return isinstance(e, Element) or (isinstance(e, Apply) and e.intrinsic.requires != THREAD)


def _changed(s: Stmt) -> Iterator[tuple[Expr, Symbol]]:
    """Yield the calls and intrinsics that are given arrays of the caller's, which they may change."""
    for e in expressions(s):
        for part in subexpressions(e):
            if isinstance(part, Call | Apply):
                yield from (
                    (part, a.symbol) for a in part.arguments if isinstance(a, Var) and isinstance(a.type, Array)
                )


def _all(s: Stmt) -> tuple[Expr, ...]:
    """Return the expressions of a statement; of a view also what an index becomes."""
    view = s.view.view if isinstance(s, Partition | Claim | Async) else None
    return (*expressions(s), *(() if view is None else view.index))


def _common(perspective: Perspective) -> bool:
    return perspective != THREAD


def _becomes_whole(e: Expr) -> bool:
    """Whether a float becomes an integer."""
    if not isinstance(e, Cast):
        return False
    of, to = e.operand.type, e.type
    return isinstance(to, Scalar) and to.integral and isinstance(of, Scalar) and of.kind == "float"
