"""Integer expressions as polynomials over digits: what `/` and `%` by constants leave of an index, exactly.

A digit is `base / low % (high / low)` of a number that is not negative: of a thread's index in its block, say, or of a loop's
trip. So `t / 4 * n + t % 4` is a sum of multiples of two digits of t, and names that never change. A quotient by anything else
is an atom of its own, and so is the remainder; whoever knows both knows the number. What is not understood is an atom of which
nothing is known. Index arithmetic is taken not to wrap where its bounds aren't known; where they are, and don't fit, nothing is
known.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import gcd, inf
from typing import Any

from prism.lang import races
from prism.lang.perspective import BLOCK, GRID, THREAD, WARPGROUP, Level, Perspective
from prism.lang.races import Facts
from prism.lang.tree import Apply, Binary, Cast, Const, Count, Expr, For, Id, Place, Scalar, Select, Symbol, Unary, Var

Base = tuple[Any, ...]
"""A number: `("id", unit, code)`, `("count", unit, code)`, `("trip", index)`, `("name", symbol)`, `("apply", name, keys)`,
`("quotient", key, key)`, `("remainder", key, key)`, or `("unknown", number)`."""
Key = frozenset[tuple[Any, int]]
"""A polynomial, to be compared: its items."""
Bounds = tuple[float, float]
"""The least and the greatest value, both included; infinite where not known."""
NOTHING: Bounds = (-inf, inf)
THREADS: Base = ("id", THREAD, BLOCK)
BLOCKS: Base = ("id", BLOCK, GRID)

_unknown = count()


@dataclass(frozen=True, slots=True)
class Digit:
    """`base / low % (high / low)`; `high` None: `base / low`."""

    base: Base
    low: int = 1
    high: int | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.base, self.low, self.high)))

    def __hash__(self) -> int:
        return self._hash


Form = Mapping[tuple[Digit, ...], int]
"""A polynomial: products of digits (sorted) to coefficients; `()` is the constant's."""


def constant(value: int) -> Form:
    """Return a number as a polynomial."""
    return {(): value} if value else {}


def atom(base: Base) -> Form:
    """Return a number that is not taken apart."""
    return {(Digit(base),): 1}


def unknown() -> Form:
    """Return a number of which nothing is known, not even that it is the same twice."""
    return atom(("unknown", next(_unknown)))


def add(left: Form, right: Form, times: int = 1) -> Form:
    """Return `left + times * right`."""
    total = dict(left)
    for monomial, factor in right.items():
        total[monomial] = total.get(monomial, 0) + factor * times
    return {m: f for m, f in total.items() if f}


def multiply(left: Form, right: Form) -> Form:
    """Return the product."""
    total: dict[tuple[Digit, ...], int] = {}
    for m, f in left.items():
        for n, g in right.items():
            monomial = tuple(sorted((*m, *n), key=hash))
            total[monomial] = total.get(monomial, 0) + f * g
    return {m: f for m, f in total.items() if f}


def digits_of(form: Form) -> Iterator[Digit]:
    """Yield the digits that a polynomial mentions."""
    for monomial in form:
        yield from monomial


def number(form: Form) -> int | None:
    """Return a polynomial's value, where it is a constant."""
    return None if any(form) else form.get((), 0)


# -- bounds ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Range:
    """What a polynomial's digits can be; `tighter` says it of some digits, where an access stands."""

    known: Facts
    tighter: Mapping[Digit, Bounds]

    def digit(self, digit: Digit) -> Bounds:
        """Return the bounds of one digit."""
        low, high = self.base(digit.base)
        if digit.low > 1 or digit.high is not None:
            low, high = max(0, low) // digit.low, high // digit.low if high < inf else inf
            if digit.high is not None:
                most = digit.high // digit.low - 1
                low, high = (low, high) if high <= most else (0, most)
        if digit in self.tighter:
            low, high = max(low, self.tighter[digit][0]), min(high, self.tighter[digit][1])
        return low, high

    def form(self, form: Form) -> Bounds:
        """Return the bounds of a polynomial."""
        low: float = form.get((), 0)
        high: float = low
        for monomial, factor in form.items():
            if monomial:
                one, two = self.digit(monomial[0]) if len(monomial) == 1 else self._product(monomial)
                if one == -inf and two == inf:
                    return NOTHING
                if factor < 0:
                    one, two = two, one
                low, high = low + one * factor, high + two * factor
        return low, high

    def _product(self, monomial: tuple[Digit, ...]) -> Bounds:
        low: float = 1
        high: float = 1
        for digit in monomial:
            one, two = self.digit(digit)
            if one < 0:
                return NOTHING
            low, high = low * one, (high * two if high and two else 0)
        return low, high

    def base(self, base: Base) -> Bounds:
        """Return the bounds of a number."""
        kind = base[0]
        if kind == "id":
            most = races.most_units(self.known, base[1], base[2])
            return 0, inf if most is None else most - 1
        if kind == "count":
            return 1, inf
        if kind == "trip":
            trips = self.known.trips.get(base[1])
            return 0, inf if trips is None else max(0, trips - 1)
        if kind == "name":
            span, type_ = self.known.ranges.get(base[1]), base[1].type
            unsigned = isinstance(type_, Scalar) and type_.kind == "uint"
            return span or ((0, inf) if unsigned else NOTHING)
        if kind in ("quotient", "remainder"):
            return self._divided(kind, *inner(base))
        return NOTHING

    def _divided(self, kind: str, left: Form, right: Form) -> Bounds:
        low, high = self.form(left)
        divisor = number(right)
        if low < 0 or (divisor is not None and divisor <= 0):
            return NOTHING
        if kind == "remainder":
            return 0, high if divisor is None else min(high, divisor - 1)
        if divisor is not None:
            return low // divisor, high // divisor if high < inf else inf
        return (0, high) if self.form(right)[0] >= 0 else (-high, high)


# -- expressions ------------------------------------------------------------------------------------------------------------


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
                return self._binary(e.op, self.read(left, given), self.read(right, given))
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

    def _binary(self, op: str, left: Form, right: Form) -> Form:
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
            case _:
                return unknown()

    def _place(self, e: Place, given: Mapping[Symbol, Form]) -> Form:
        """As `tree.Place` says."""
        fragment, index = e.symbol.type, self.read(e.index, given)
        t = self._part(THREADS, 1, getattr(fragment, "threads", WARPGROUP))

        def of(form: Form, *steps: tuple[str, int]) -> Form:
            for op, by in steps:
                form = self._binary(op, form, constant(by))
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


def mentioned(form: Form) -> Iterator[Digit]:
    """Yield all digits that a polynomial depends on, also those inside quotients and the like."""
    for digit in digits_of(form):
        yield digit
        for inside in inner(digit.base):
            yield from mentioned(inside)


@functools.lru_cache(maxsize=4096)
def inner(base: Base) -> tuple[Form, ...]:
    """Return the polynomials that a number is computed from."""
    match base:
        case ("quotient" | "remainder", left, right):
            return dict(left), dict(right)
        case ("apply", _, _, keys):
            return tuple(dict(key) for key in keys)
        case _:
            return ()


def reader(known: Facts) -> Reader:
    """Return what reads a function's expressions; one for each function."""
    found: Reader = known.found.setdefault("reader", Reader(known, Range(known, {}), {}))
    return found


__all__ = ["BLOCKS", "THREADS", "Base", "Bounds", "Digit", "For", "Form", "Range", "Reader", "reader"]
