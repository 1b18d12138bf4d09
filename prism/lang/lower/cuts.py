"""Cuts: where in a loop's range a condition changes its value, once; and what holds in a part of the range.

A condition compares two integers whose difference is the loop's index, or less it, but for what the loop doesn't change:

    for j in range(0, end + 128, 128):
        if j > 0: ...              from the second trip on
        if j < end: ...            before the last trip
        if j + 128 > row: ...      from some trip on

Each is `j >= X`, or not that, with an X that the loop doesn't change: X is the cut. Both sides of a proof are polynomials
(facts/polynomials.py); where nothing is proved a condition stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from prism.lang import tree
from prism.lang.facts.digits import Reader
from prism.lang.facts.polynomials import Digit, Form, add, all_digits, constant, number
from prism.lang.intrinsics.arithmetic import maximum, minimum
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.keep.bases import Frozen
from prism.lang.tree.walk import subexpressions
from prism.lang.types import INT32, INT64, UINT32
from prism.lang.types.perspective import Perspective, meet

OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class Cut(Frozen):
    """`X` of `j >= X`: as a polynomial, and as an expression of 64 bits.

    `trips`: how many trips come before it, where that is a constant.
    """

    at: Form
    value: tree.Expr
    trips: int | None

    def same(self, other: Cut) -> bool:
        """Whether two cuts are surely at one place of the range."""
        return number(add(self.at, other.at, -1)) == 0 or (self.trips is not None and self.trips == other.trips)


class Change(Frozen):
    """A condition: it holds from its cut on (`after`), or before it."""

    cut: Cut
    after: bool


class Index(Frozen):
    """A loop's index, as conditions are read.

    `first` and `stop`: its bounds, constants or names that do not change. `inside`: names that the loop makes or changes; `code`:
    whose code it is.
    """

    reads: Reader
    loop: tree.For
    first: tree.Expr
    stop: tree.Expr
    inside: frozenset[tree.Symbol]
    code: Perspective

    @property
    def step(self) -> int:
        """From one index to the next."""
        assert isinstance(self.loop.step, tree.Const)
        return int(self.loop.step.value)

    @property
    def start(self) -> Form:
        """The first index."""
        return self.reads.read(self.loop.start, {})

    def meaning(self, e: tree.Expr) -> tree.Expr:
        """Return what an expression is that the loop names, by a name that never changes; any other expression as it is."""
        # A name of the loop that is never changed is its value: of the index, maybe, which conditions are read by.
        known = self.reads.known
        while isinstance(e, tree.Var) and e.symbol in self.inside and e.symbol not in known.changed:
            if e.symbol not in known.definitions:
                break
            e = known.definitions[e.symbol]
        return e

    def atoms(self, e: tree.Expr) -> Iterator[tree.Expr]:
        """Yield the comparisons that a condition is made of."""
        match self.meaning(e):
            case tree.Unary(op="not", operand=operand):
                yield from self.atoms(operand)
            case tree.Binary(op="and" | "or", left=left, right=right):
                yield from self.atoms(left)
                yield from self.atoms(right)
            case found:
                yield found

    def change(self, e: tree.Expr) -> Change | None:
        """Return what a comparison is, where it changes its value once in the loop."""
        if not isinstance(e, tree.Binary) or e.op not in OPPOSITE or e.left.type != self.loop.symbol.type:
            return None
        sign, rest = self._read(e)
        if not sign or any(digit.base[0] == "unknown" for digit in all_digits(rest)):
            return None
        # left - right is sign * (j - X0), with X0 = start - sign * rest
        zero = add(self.start, rest, -sign)
        op = e.op if sign > 0 else {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(e.op, e.op)
        if op in ("==", "!="):
            return self._once(e, op, sign, zero)
        # j > Z is j >= Z + 1, and j <= Z is what is before Z + 1.
        more = int(op in (">", "<="))
        value = self._value(e, sign, more)
        return None if value is None else Change(self._cut(add(zero, constant(more)), value), op in (">", ">="))

    def _read(self, e: tree.Binary) -> tuple[int, Form]:
        """Return 1 or -1 and rest, where left - right is that times the distance from the loop's start, and rest; else 0."""
        # The index is start + step * trip: a factor of step, or less it, and no other index of this loop, or it is no line.
        difference = add(self.reads.read(e.left, {}), self.reads.read(e.right, {}), -1)
        trip = (Digit(("trip", self.loop.symbol)),)
        factor = difference.get(trip, 0)
        rest = {monomial: f for monomial, f in difference.items() if monomial != trip}
        if abs(factor) != self.step or any(
            digit == trip[0] or self.loop.symbol in digit.base for digit in all_digits(rest)
        ):
            return 0, rest
        return factor // self.step, rest

    def _once(self, e: tree.Binary, op: str, sign: int, zero: Form) -> Change | None:
        """Return what `j == X` is where that is the first trip, or the last of a loop in steps of 1."""
        if number(add(zero, self.start, -1)) == 0 and (value := self._value(e, sign, 1)) is not None:
            return Change(self._cut(add(zero, constant(1)), value), op == "!=")
        stop = self.reads.read(self.loop.stop, {})
        # In larger steps the last index is known up to a step only, and may not be X.
        last = self.step == 1 and number(add(stop, zero, -1)) == 1
        if last and (value := self._value(e, sign, 0)) is not None:
            return Change(self._cut(zero, value), op == "==")
        return None

    def _cut(self, at: Form, value: tree.Expr) -> Cut:
        # Trips at indices below X: their number is rounded up, and is none where X is at the start or below it.
        before = number(add(at, self.start, -1))
        return Cut(at, value, None if before is None else max(0, -(-before // self.step)))

    def _value(self, e: tree.Binary, sign: int, more: int) -> tree.Expr | None:
        """Return X as an expression of 64 bits, so that no difference wraps; None where it can't be had before the loop."""
        left, right = self._without_index(e.left), self._without_index(e.right)
        if left is None or right is None:
            return None
        one, two = (right, left) if sign > 0 else (left, right)
        return plus(minus(one, two), whole(more, e))

    def _without_index(self, e: tree.Expr) -> tree.Expr | None:
        """Return an expression with 64 bits, and 0 for the index."""
        e = self.meaning(e)
        if isinstance(e, tree.Var) and e.symbol is self.loop.symbol:
            return whole(0, e)
        if isinstance(e, tree.Const):
            return whole(int(e.value), e)
        if isinstance(e, tree.Binary) and e.op in ("+", "-", "*") and e.type == self.loop.symbol.type:
            left, right = self._without_index(e.left), self._without_index(e.right)
            if left is None or right is None:
                return None
            return plus(left, right) if e.op == "+" else minus(left, right) if e.op == "-" else times(left, right)
        if not self.keeps(e):
            return None
        return tree.Cast(operand=e, type=INT64, perspective=e.perspective, span=e.span)

    def keeps(self, e: tree.Expr) -> bool:
        """Whether an expression has one value, before the loop and in all its trips, for all that run the loop."""
        if not self.code <= e.perspective:
            return False
        match e:
            case tree.Var(symbol=symbol):
                return symbol is not self.loop.symbol and symbol not in self.inside
            case tree.Const() | tree.Id() | tree.Count():
                return True
            # It is computed before the loop, also where no trip comes to it: that may not divide by zero.
            case tree.Binary(op=op, right=right) if op in ("/", "%") and not (
                isinstance(right, tree.Const) and right.value
            ):
                return False
            case tree.Binary() | tree.Unary() | tree.Cast() | tree.Select():
                return all(map(self.keeps, tree.operands(e)))
            case tree.Apply(intrinsic=intrinsic):
                quiet = intrinsic.elementwise and intrinsic.source != "user" and not intrinsic.touches_memory
                return quiet and all(map(self.keeps, tree.operands(e)))
            case _:
                return False


# -- parts of the range -------------------------------------------------------------------------------------------------------


class Part(Frozen):
    """A part of a loop's range: from the greatest of `firsts` on, below the least of `stops`.

    Its indices are not less than any of `lows`, nor more than any of `highs`.
    """

    index: Index
    firsts: tuple[tree.Expr, ...]
    stops: tuple[tree.Expr, ...]
    lows: tuple[Form, ...]
    highs: tuple[Form, ...]

    @property
    def bounds(self) -> tuple[tree.Expr, tree.Expr]:
        """Where a loop over it starts and stops."""
        return extreme(maximum, self.firsts), extreme(minimum, self.stops)

    @property
    def most_trips(self) -> float:
        """How many trips it has at most."""
        span = min(self._most(add(high, low, -1)) for high in self.highs for low in self.lows)
        return span if span == inf else max(0, span // self.index.step + 1)

    def _most(self, form: Form) -> float:
        return self.index.reads.range.form(form)[1]

    def decide(self, e: tree.Expr) -> bool | None:
        """Return whether a condition holds in all of its trips, or in none; None where that isn't known."""
        match self.index.meaning(e):
            case tree.Const(value=value):
                return bool(value)
            case tree.Unary(op="not", operand=operand):
                truth = self.decide(operand)
                return None if truth is None else not truth
            case tree.Binary(op="and" | "or" as op, left=left, right=right):
                one, two, ends = self.decide(left), self.decide(right), op == "or"
                # Where the right side alone decides, the left one is left out: not if it does anything.
                if one is ends or (two is ends and not any(map(acts, subexpressions(left)))):
                    return ends
                return None if one is None or two is None else not ends
            case found:
                change = self.index.change(found)
                return None if change is None else self._decide_change(change)

    def _decide_change(self, change: Change) -> bool | None:
        least = self.index.reads.range
        if any(least.form(add(low, change.cut.at, -1))[0] >= 0 for low in self.lows):
            return change.after
        if any(least.form(add(change.cut.at, high, -1))[0] >= 1 for high in self.highs):
            return not change.after
        return None

    def before(self, cut: Cut, at: tree.Expr) -> Part:
        """Return what of it comes before a cut, which `at` names."""
        last = [add(cut.at, constant(-1))]
        if cut.trips is not None:
            last.append(add(self.index.start, constant((cut.trips - 1) * self.index.step)))
        # A name for a cut is never beyond the loop's end; a constant may be.
        rest = self.stops if isinstance(at, tree.Const) else tuple(s for s in self.stops if s is not self.index.stop)
        return replace(self, stops=(*rest, at), highs=(*self.highs, *last))

    def after(self, cut: Cut, at: tree.Expr) -> Part:
        """Return what of it comes from a cut on."""
        first = [cut.at]
        if cut.trips is not None:
            first.append(add(self.index.start, constant(cut.trips * self.index.step)))
        # The place of a cut is the loop's start or behind it (`place_of`): beside it the start bounds nothing.
        rest = tuple(f for f in self.firsts if f is not self.index.first)
        return replace(self, firsts=(*rest, at), lows=(*self.lows, *first))


def acts(e: tree.Expr) -> bool:
    """Whether an expression itself does more than compute a value."""
    match e:
        case tree.Apply(intrinsic=intrinsic):
            return not intrinsic.elementwise or intrinsic.touches_memory or intrinsic.source == "user"
        case tree.Call(function=function):
            return not function.pure
        case _:
            return False


# -- expressions ----------------------------------------------------------------------------------------------------------


def whole(value: int, like: tree.Expr, type_: tree.Scalar = INT64) -> tree.Const:
    """Return a constant."""
    return tree.Const(value=value, type=type_, span=like.span)


def arithmetic(op: str, left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """Return `left op right`, of one type; folded where both are constants, of 64 bits."""
    if isinstance(left, tree.Const) and isinstance(right, tree.Const) and left.type == INT64:
        one, two = int(left.value), int(right.value)
        return whole({"+": one + two, "-": one - two, "*": one * two}[op], left)
    unit = meet(left.perspective, right.perspective)
    return tree.Binary(op=op, left=left, right=right, type=left.type, perspective=unit, span=left.span)


def plus(left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """Return the sum."""
    if isinstance(right, tree.Const) and not right.value:
        return left
    return right if isinstance(left, tree.Const) and not left.value else arithmetic("+", left, right)


def minus(left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """Return the difference."""
    return left if isinstance(right, tree.Const) and not right.value else arithmetic("-", left, right)


def times(left: tree.Expr, right: tree.Expr) -> tree.Expr:
    """Return the product."""
    return left if isinstance(right, tree.Const) and right.value == 1 else arithmetic("*", left, right)


def extreme(of: Intrinsic, found: Sequence[tree.Expr]) -> tree.Expr:
    """Return the `minimum` or the `maximum` of some indices."""
    constants = [e for e in found if isinstance(e, tree.Const)]
    best = sorted(constants, key=lambda e: e.value, reverse=of is maximum)[:1]
    ordered: list[tree.Expr] = [*best, *(e for e in found if not isinstance(e, tree.Const))]
    result = ordered[0]
    for e in ordered[1:]:
        unit = meet(result.perspective, e.perspective)
        result = tree.Apply(intrinsic=of, arguments=(result, e), type=e.type, perspective=unit, span=e.span, code=unit)
    return result


def place_of(index: Index, cut: Cut) -> tree.Expr | None:
    """Return the first index of the loop that is not before a cut, as the loop's type has it; the loop's end where there is none.

    A name for it is the loop's start where that makes no trip: then no part of the range makes one, whatever its cuts are.
    """
    if cut.trips is not None and isinstance(index.first, tree.Const):
        value = int(index.first.value) + cut.trips * index.step
        return replace(index.first, value=value) if value < 2**31 else None
    found = _place_in(UINT32, index, cut) if isinstance(index.first, tree.Const) else None
    found = _place_in(INT64, index, cut) if found is None else found
    assert found is not None
    return tree.Cast(operand=found, type=index.loop.symbol.type, perspective=found.perspective, span=index.loop.span)


def _place_in(type_: tree.Scalar, index: Index, cut: Cut) -> tree.Expr | None:
    """Return the place of a cut, computed in 64 bits; or in 32 without sign, if the start is a constant, and nothing wraps."""
    step, start, end = index.step, widen(index.first, type_), widen(extreme(maximum, (index.first, index.stop)), type_)
    if cut.trips is not None:
        found = plus(start, whole(cut.trips * step, start))
    else:
        distance = minus(cut.value, widen(index.first, INT64))
        if type_ == INT64:
            ahead = extreme(maximum, (distance, whole(0, start)))
        else:
            # max(V + K, 0) as max(V, -K) + K: without sign that is right below 2**32, and so is what it is rounded up to.
            leaf, more = split_constant(distance)
            first = index.first.value if isinstance(index.first, tree.Const) else -1
            if leaf is None or first < 0 or first + abs(more) + step > 2**30:
                return None
            least = tree.Const(value=-more, type=leaf.type, span=leaf.span)
            ahead = plus(widen(extreme(maximum, (least, leaf)), type_), whole(more % 2**32, start, type_))
        # So many trips come before X, rounded up.
        found = plus(
            start, times(quotient(plus(ahead, whole(step - 1, start, type_)), step), whole(step, start, type_))
        )
    return extreme(minimum, (found, end))


def split_constant(e: tree.Expr) -> tuple[tree.Expr | None, int]:
    """Return a number of 32 bits and a constant of which an expression of 64 bits is the sum; no number where it is another."""
    match e:
        case tree.Cast(operand=operand) if operand.type == INT32:
            return operand, 0
        case tree.Binary(op="+" | "-" as op, left=left, right=tree.Const(value=value)):
            leaf, more = split_constant(left)
            return leaf, more + int(value) if op == "+" else more - int(value)
        case tree.Binary(op="+", left=tree.Const(value=value), right=right):
            leaf, more = split_constant(right)
            return leaf, more + int(value)
        case _:
            return None, 0


def widen(e: tree.Expr, type_: tree.Scalar) -> tree.Expr:
    """Return an integer with another type."""
    if isinstance(e, tree.Const):
        return whole(int(e.value), e, type_)
    return tree.Cast(operand=e, type=type_, perspective=e.perspective, span=e.span)


def quotient(e: tree.Expr, by: int) -> tree.Expr:
    """Return the quotient by a constant."""
    assert isinstance(e.type, tree.Scalar)
    if by == 1:
        return e
    return tree.Binary(op="/", left=e, right=whole(by, e, e.type), type=e.type, perspective=e.perspective, span=e.span)
