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

from prism.lang import tree
from prism.lang.tree.walk import statements, subexpressions, terms
from prism.lang.types import FLOAT32, FLOAT64, Array
from prism.lang.types.perspective import THREAD, Level, Perspective

NAMES = {"+": "add", "-": "sub", "*": "mul"}
WRAPPING = {"wrapping_add": "+", "wrapping_subtract": "-", "wrapping_multiply": "*"}


def operator(e: tree.Expr) -> str | None:
    """Return the operator of a sum, difference or product of floats that may be made one with another."""
    if e.type not in (FLOAT32, FLOAT64):  # shorter ones are rounded by instructions of their own
        return None
    match e:
        case tree.Binary(op=op) if op in NAMES:
            return op
        case tree.Apply(intrinsic=intrinsic):
            return WRAPPING.get(intrinsic.name)
        case _:
            return None


def round_operation(e: tree.Expr, op: str, left: str, right: str) -> str:
    """Return an operation's text."""
    return f"__{'f' if e.type == FLOAT32 else 'd'}{NAMES[op]}_rn({left}, {right})"


def precise(functions: Sequence[tree.Function]) -> Mapping[tree.Function, frozenset[tree.Expr]]:
    """Return, for functions in an order of callees first, the operations that are each rounded by themselves."""
    found: dict[tree.Function, frozenset[tree.Expr]] = {}
    asked = _Asked()
    for function in reversed(functions):  # callers first: what they ask of a function is known when its turn comes
        if function in asked.whole:
            every = {part for s in statements(function.body) for e in _all(s) for part in subexpressions(e)}
            asked.whole.update(part.function for part in every if isinstance(part, tree.Call))
        else:
            every = _Slice(function, asked).expressions()
        found[function] = frozenset(part for part in every if operator(part) is not None)
    return found


@dataclass(eq=False, slots=True)
class _Asked:
    """What callers ask of functions: that all in them is rounded by itself, or that what they return is."""

    whole: set[tree.Function] = field(default_factory=set)
    returned: set[tree.Function] = field(default_factory=set)


class _Slice:
    """What decides something in one function, and what that is computed from."""

    def __init__(self, function: tree.Function, asked: _Asked) -> None:
        self.function, self.asked = function, asked
        self.seen: set[tree.Expr] = set()
        self.names: set[tree.Symbol] = set()
        self.values: dict[tree.Symbol, list[tree.Expr]] = {}
        for s in statements(function.body):
            match s:
                case tree.Declare(symbol=symbol, value=value) if value is not None:
                    self.values.setdefault(symbol, []).append(value)
                case tree.Assign(target=target, value=value):
                    whole = target.vector if isinstance(target, tree.Component) else target
                    if isinstance(whole, tree.Var | tree.Item):
                        self.values.setdefault(whole.symbol, []).append(value)
                case _:
                    pass
            # `fill(limits, x)` and then `while f < limits[0]`: what the call does to the array decides too.
            for call, array in _changed_arrays(s):
                self.values.setdefault(array, []).append(call)

    def expressions(self) -> set[tree.Expr]:
        """Return the expressions."""
        copied = any(isinstance(s, tree.Specialise) for s in statements(self.function.body))
        for statement in statements(self.function.body):
            for root in self._roots(statement):
                self._take(root)
        # Where roles have copies of the text, a value in common is computed in each, and must not differ in a bit.
        for symbol in [s for s in self.values if copied and s.perspective.level > Level.THREAD]:
            self._name(symbol)
        return self.seen

    def _roots(self, s: tree.Stmt) -> Iterator[tree.Expr]:
        """Yield what decides for several threads."""
        if isinstance(s, tree.If | tree.While | tree.For | tree.Partition | tree.Claim | tree.Async):
            yield from (e for e in _all(s) if _common(e.perspective))
        if isinstance(s, tree.Return) and self.function in self.asked.returned:
            yield from tree.expressions(s)
        for e in _all(s):
            yield from (p for p in subexpressions(e) if _common(p.perspective) and _becomes_whole(p))

    def _take(self, e: tree.Expr) -> None:
        """Take an expression, and what it is computed from."""
        if e in self.seen:
            return
        self.seen.add(e)
        if isinstance(e, tree.Call):
            alone = e.function.bound.code == THREAD or any(isinstance(a.type, Array) for a in e.arguments)
            (self.asked.whole if alone else self.asked.returned).add(e.function)
        if isinstance(e, tree.Var | tree.Item):
            self._name(e.symbol)
        for part in tree.operands(e):
            if _common(part.perspective) or not _is_joint(e):
                self._take(part)

    def _name(self, symbol: tree.Symbol) -> None:
        if symbol not in self.names:
            self.names.add(symbol)
            for value in self.values.get(symbol, ()):
                self._take(value)


def _is_joint(e: tree.Expr) -> bool:
    """Whether several threads compute something together, or one of them has: what each brings is then no copy of anything."""
    if isinstance(e, tree.Call):
        return e.function.bound.code != THREAD
    return isinstance(e, tree.Element) or (isinstance(e, tree.Apply) and e.intrinsic.requires != THREAD)


def _changed_arrays(s: tree.Stmt) -> Iterator[tuple[tree.Expr, tree.Symbol]]:
    """Yield the calls and intrinsics that are given arrays of the caller's, which they may change."""
    for part in terms(s):
        if isinstance(part, tree.Call | tree.Apply):
            yield from (
                (part, a.symbol) for a in part.arguments if isinstance(a, tree.Var) and isinstance(a.type, Array)
            )


def _all(s: tree.Stmt) -> tuple[tree.Expr, ...]:
    """Return the expressions of a statement; of a view also what an index becomes."""
    view = s.view.view if isinstance(s, tree.Partition | tree.Claim | tree.Async) else None
    return (*tree.expressions(s), *(() if view is None else view.index))


def _common(perspective: Perspective) -> bool:
    return perspective != THREAD


def _becomes_whole(e: tree.Expr) -> bool:
    """Whether a float becomes an integer."""
    if not isinstance(e, tree.Cast):
        return False
    of, to = e.operand.type, e.type
    return isinstance(to, tree.Scalar) and to.integral and isinstance(of, tree.Scalar) and of.kind == "float"
