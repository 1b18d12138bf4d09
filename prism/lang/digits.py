"""Reads integer expressions as polynomials over digits (polynomials.py): what `/`, `%` and bit operators leave of an index.

Index arithmetic is taken not to wrap where its bounds aren't known; where they are, and don't fit, nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd, inf

from prism.lang import bitwise, races
from prism.lang.perspective import BLOCK, WARPGROUP, Level, Perspective
from prism.lang.polynomials import (
    BLOCKS,
    THREADS,
    Base,
    Digit,
    Form,
    Range,
    add,
    atom,
    constant,
    mentioned,
    multiply,
    number,
    unknown,
)
from prism.lang.races import Facts
from prism.lang.tree import Apply, Binary, Cast, Const, Count, Expr, Id, Place, Scalar, Select, Symbol, Unary, Var


@dataclass(frozen=True, eq=False, slots=True)
class Reader:
    """Reads a function's expressions; each name is read once."""

    known: Facts
    range: Range
    names: dict[Symbol, Form]

    def read(self, e: Expr, given: Mapping[Symbol, Form]) -> Form:
        """Return an integer expression as a polynomial; `given` has what a lambda's parameters stand for."""
        form = self._read(e, given)
        return form if self._fits(form, e) else unknown()

    def _fits(self, form: Form, e: Expr) -> bool:
        """Whether a value is sure not to wrap in its type, or may be taken not to."""
        if not (isinstance(e.type, Scalar) and e.type.integral):
            return False
        low, high = self.range.form(form)
        signed = e.type.kind == "int"
        least = -(2 ** (e.type.bits - 1)) if signed else 0
        most = 2 ** (e.type.bits - signed) - 1
        if e.type.bits >= 32:
            return not (low > -inf and low < least) and not (high < inf and high > most)
        return isinstance(e, Var) or (least <= low and high <= most)

    def _read(self, e: Expr, given: Mapping[Symbol, Form]) -> Form:  # noqa: C901
        match e:
            case Const(value=value):
                return constant(int(value)) if not isinstance(value, float) else unknown()
            case Id(unit=unit, code=code):
                return self.id(unit, code)
            case Count(unit=unit, code=code):
                units = races.units_of(unit, code)
                return atom(("count", unit, code)) if units is None else constant(units)
            case Cast(operand=operand) if isinstance(operand.type, Scalar) and operand.type.integral:
                return self.read(operand, given)
            case Unary(op="-", operand=operand):
                return add({}, self.read(operand, given), -1)
            case Binary(left=left, right=right) if isinstance(left.type, Scalar) and left.type.integral:
                one, two = self.read(left, given), self.read(right, given)
                found = self._binary(e.op, one, two)
                of = frozenset(one.items()), frozenset(two.items())
                return atom(("apply", e.op, e.type, of)) if found is None else found
            case Var(symbol=symbol) if symbol in given:
                return given[symbol]
            case Var(symbol=symbol):
                return self.name(symbol)
            case Place():
                return self._place(e, given)
            case Select(condition=Const(value=value), then=then, otherwise=otherwise):
                return self.read(then if value else otherwise, given)
            case Apply(intrinsic=intrinsic, arguments=arguments) if intrinsic.elementwise and not e.statics:
                if all(isinstance(a.type, Scalar) and a.type.integral for a in arguments):
                    keys = tuple(frozenset(self.read(a, given).items()) for a in arguments)
                    return atom(("apply", intrinsic.name, e.type, keys))
                return unknown()
            case _:
                return unknown()

    def id(self, unit: Perspective, code: Perspective) -> Form:
        """Return a unit's index inside another, which starts at a multiple of its own size."""
        if not unit <= code:
            return unknown()
        if (unit.level, code.level) == (Level.THREAD, Level.THREAD) or (unit.level == Level.THREAD and code == BLOCK):
            return self._part(THREADS, unit.size, code.size if code.level == Level.THREAD else None)
        if unit.level == Level.BLOCK:
            return self._part(BLOCKS, unit.size, code.size if code.level == Level.BLOCK else None)
        return atom(("id", unit, code)) if unit != code else {}

    def name(self, symbol: Symbol) -> Form:
        """Return what a name stands for: its definition, where it never changes and that is understood."""
        if symbol in self.known.changed or not (isinstance(symbol.type, Scalar) and symbol.type.integral):
            return unknown()
        if symbol not in self.names:
            form = self._defined(symbol)
            vague = form is None or any(d.base[0] == "unknown" for d in mentioned(form))
            self.names[symbol] = atom(("name", symbol)) if form is None or vague else form
        return self.names[symbol]

    def _defined(self, symbol: Symbol) -> Form | None:
        loop = self.known.loops.get(symbol)
        if loop is not None:
            return add(
                self.read(loop.start, {}), multiply(self.read(loop.step, {}), self._part(("trip", symbol), 1, None))
            )
        definition = self.known.definitions.get(symbol)
        return None if definition is None else self.read(definition, {})

    def _binary(self, op: str, left: Form, right: Form) -> Form | None:
        by = number(right)
        match op:
            case "+" | "-":
                return add(left, right, 1 if op == "+" else -1)
            case "*":
                return multiply(left, right)
            case "<<" if by is not None and 0 <= by < 63:
                return multiply(left, constant(1 << by))
            case "/" | "%":
                return self.divide(left, right)[op == "%"]
            case ">>" if by is not None and 0 <= by < 63 and self.range.form(left)[0] >= 0:
                return self.divide(left, constant(1 << by))[0]
            case "&" if by is not None and by >= 0 and not by & (by + 1) and self.range.form(left)[0] >= 0:
                return self.divide(left, constant(by + 1))[1]
            case "&":
                mask = number(left) if by is None else by
                return None if mask is None else bitwise.masked(self.range, left if by is not None else right, mask)
            case "|":
                return bitwise.union(self.range, left, right)
            case "^":
                return bitwise.xor(self.range, left, right)
            case _:
                return None

    def _place(self, e: Place, given: Mapping[Symbol, Form]) -> Form:
        """As `tree.Place` says."""
        fragment, index = e.symbol.type, self.read(e.index, given)
        t = self._part(THREADS, 1, getattr(fragment, "threads", WARPGROUP))

        def of(form: Form, *steps: tuple[str, int]) -> Form:
            for op, by in steps:
                form = multiply(form, constant(by)) if op == "*" else self.divide(form, constant(by))[op == "%"]
            return form

        strip = getattr(fragment, "strip", 1)
        if e.axis == 0:
            parts = (
                of(index, ("/", strip), ("*", 64)), of(t, ("/", 32), ("*", 16)), of(t, ("%", 32), ("/", 4)),
                of(index, ("/", 2), ("%", 2), ("*", 8)),
            )  # fmt: skip
        else:
            parts = (
                of(index, ("%", strip), ("/", 4), ("*", 8)), of(t, ("%", 4), ("*", 2)), of(index, ("%", 2)), {},
            )  # fmt: skip
        total: Form = {}
        for part in parts:
            total = add(total, part)
        return total

    # -- division

    def divide(self, form: Form, by: Form) -> tuple[Form, Form]:
        """Return the quotient and the remainder, as C has them."""
        divisor = number(by)
        if divisor is not None and divisor > 0 and self.range.form(form)[0] >= 0:
            exact = self._exactly(form, divisor)
            if exact is not None:
                return exact
        keys = frozenset(form.items()), frozenset(by.items())
        return atom(("quotient", *keys)), atom(("remainder", *keys))

    def _exactly(self, form: Form, by: int) -> tuple[Form, Form] | None:
        """Divide term by term, where what is left of all terms together is less than the divisor."""
        quotient: Form = {}
        rest: Form = {}
        for monomial, factor in form.items():
            for part, times in self._split(monomial, factor, by).items():
                if times % by == 0:
                    quotient = add(quotient, {part: times // by})
                elif part:
                    rest = add(rest, {part: times})
                else:
                    quotient, rest = add(quotient, constant(times // by)), add(rest, constant(times % by))
        low, high = self.range.form(rest)
        return (quotient, rest) if low >= 0 and high < by else None

    def _split(self, monomial: tuple[Digit, ...], factor: int, by: int) -> Form:
        """Return a term as one that `by` divides and one that is small, where its digit can be cut so."""
        step = by // gcd(factor, by)
        if len(monomial) != 1 or step == 1:
            return {monomial: factor}
        (digit,) = monomial
        if digit.base[0] not in ("id", "trip") or (digit.high is not None and (digit.high // digit.low) % step):
            return {monomial: factor}
        cut = digit.low * step
        low, high = self._part(digit.base, digit.low, cut), self._part(digit.base, cut, digit.high)
        return add(multiply(low, constant(factor)), multiply(high, constant(factor * step)))

    def _part(self, base: Base, low: int, high: int | None) -> Form:
        """Return a digit; nothing where it is always 0."""
        most = self.range.base(base)[1]
        if most < low or high == low:
            return {}
        return {(Digit(base, low, None if high is not None and most < high else high),): 1}


def reader(known: Facts) -> Reader:
    """Return what reads a function's expressions; one for each function."""
    found: Reader = known.found.setdefault("reader", Reader(known, Range(known, {}), {}))
    return found


__all__ = ["Reader", "reader"]
