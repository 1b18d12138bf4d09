"""Reads integer expressions as polynomials over digits (polynomials.py): what `/`, `%` and bit operators leave of an index.

A polynomial's value is the machine's: what may wrap in its type is an atom (exact.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from operator import eq, ge, gt, le, lt, ne

from prism.lang import tree  # fmt: skip
from prism.lang.facts import bitwise
from prism.lang.facts.bounds import NOTHING, Bounds, both, fits, interval, span
from prism.lang.facts.definitions import Facts, facts, read_first
from prism.lang.facts.polynomials import (
    EXTREMES,
    HUGE,
    MOST_BITS,
    THREADS,
    Digit,
    Fewest,
    Form,
    Range,
    add,
    all_digits,
    atom,
    constant,
    multiply,
    number,
    units_of,
    unknown,
)
from prism.lang.facts.wraps import ASSUMED, computation_type, must_fit, wrap_form
from prism.lang.keep.bases import Frozen
from prism.lang.types.perspective import WARPGROUP

COMPARED = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
NO_TYPES: Mapping[tree.Symbol, tree.Scalar] = {}


class Reader(Frozen):
    """Reads a function's expressions; each name is read once."""

    known: Facts
    range: Range
    names: dict[tree.Symbol, Form]

    def read(
        self, e: tree.Expr, given: Mapping[tree.Symbol, Form], types: Mapping[tree.Symbol, tree.Scalar] = NO_TYPES
    ) -> Form:
        """Return an integer expression as a polynomial; `given` and `types`: what a lambda's parameters stand for."""
        return self.read_bounds(e, given, types)[0]

    def read_bounds(
        self, e: tree.Expr, given: Mapping[tree.Symbol, Form], types: Mapping[tree.Symbol, tree.Scalar] = NO_TYPES
    ) -> tuple[Form, Bounds]:
        """Return an integer expression as a polynomial, and its bounds: those of its type too."""
        if not (isinstance(e.type, tree.Scalar) and e.type.integral):
            return unknown(), NOTHING
        match e:
            case tree.Cast(operand=operand):
                form, bounds = self.read_bounds(operand, given, types)
                return self._fit(form, bounds, e.type)
            case tree.Unary(op="-", operand=operand):
                form, bounds = self.read_bounds(operand, given, types)
                return self._result("-", add({}, form, -1), (-bounds[1], -bounds[0]), computation_type(e, types))
            case tree.Binary(left=left, right=right):
                one, two = self.read_bounds(left, given, types), self.read_bounds(right, given, types)
                return self._operator(e, one, two, computation_type(e, types))
            case _:
                form = self._plain(e, given, types)
                return form, both(self.range.form(form), span(computation_type(e, types)))

    def _fit(self, form: Form, bounds: Bounds, type_: tree.Scalar) -> tuple[Form, Bounds]:
        """Return a number as a type has it: itself, where it fits."""
        if fits(bounds, type_):
            return form, bounds
        form = wrap_form(self.range, type_, form)
        return form, both(self.range.form(form), span(type_))

    def _result(self, op: str, form: Form, bounds: Bounds, type_: tree.Scalar) -> tuple[Form, Bounds]:
        """Return the result of an operator that may not fit in its type."""
        if any(abs(factor) >= HUGE for factor in form.values()):
            return unknown(), span(type_)
        found = self.range.form(form)
        if must_fit(op, type_, found, lambda: self._fewest().form(form)):
            return form, both(both(bounds, found), span(type_))
        return self._fit(form, both(bounds, found), type_)

    def _fewest(self) -> Fewest:
        """Return the bounds of numbers where there are two units, and two trips."""
        known = self.range.known
        if "fewest" not in known.found:
            known.found["fewest"] = Fewest(known, {})
        found: Fewest = known.found["fewest"]
        return found

    def _operator(
        self, e: tree.Binary, one: tuple[Form, Bounds], two: tuple[Form, Bounds], type_: tree.Scalar
    ) -> tuple[Form, Bounds]:
        by = number(two[0])
        if e.op in ASSUMED:
            form = multiply(one[0], two[0]) if e.op == "*" else add(one[0], two[0], 1 if e.op == "+" else -1)
            form = without_quotients(form) if e.op == "-" else form
            return self._result(e.op, form, interval(e.op, one[1], two[1]), type_)
        if e.op == "<<" and by is not None and 0 <= by < MOST_BITS - 1:
            times = 1 << by
            return self._result("<<", multiply(one[0], constant(times)), interval("*", one[1], (times, times)), type_)
        if (
            type_ != e.type and type_.kind == "uint" and min(one[1][0], two[1][0]) < 0
        ):  # C++ takes one of them as unsigned
            return unknown(), span(type_)
        found = self._binary(e.op, one, two[0])
        if found is None:
            found = atom(("apply", e.op, e.type, (frozenset(one[0].items()), frozenset(two[0].items()))))
        return found, both(self.range.form(found), span(type_))

    def _plain(self, e: tree.Expr, given: Mapping[tree.Symbol, Form], types: Mapping[tree.Symbol, tree.Scalar]) -> Form:
        match e:
            case tree.Const(value=value):
                return constant(int(value)) if not isinstance(value, float) else unknown()
            case tree.Id(unit=unit, code=code):
                return self.range.index(unit, code)
            case tree.Count(unit=unit, code=code):
                units = units_of(unit, code)
                return atom(("count", unit, code)) if units is None else constant(units)
            case tree.Var(symbol=symbol):
                return given[symbol] if symbol in given else self.name(symbol)
            case tree.Place():
                return self._place(e, given)
            case tree.Select():
                return self._choose(e, given, types)
            case tree.Apply(intrinsic=intrinsic) if intrinsic.elementwise and not e.statics:
                return self._elementwise(e, given, types)
            case tree.Call():
                return self._result_of_call(e, given)
            case _:
                return unknown()

    def _elementwise(
        self, e: tree.Apply, given: Mapping[tree.Symbol, Form], types: Mapping[tree.Symbol, tree.Scalar]
    ) -> Form:
        """Return the result of an intrinsic as an atom: equal arguments, of the same types, give equal results.

        Bits are counted otherwise in 64 than in 32. Not so of one of the user's own, which may read what differs between threads.
        """
        if e.intrinsic.source == "user" or not all(
            isinstance(a.type, tree.Scalar) and a.type.integral for a in e.arguments
        ):
            return unknown()
        forms = [self.read_bounds(a, given, types) for a in e.arguments]
        if e.intrinsic.name in EXTREMES and isinstance(e.type, tree.Scalar):  # they are compared as what is returned
            forms = [self._fit(*one, e.type) for one in forms]
        keys = tuple(frozenset(form.items()) for form, _ in forms)
        return atom(("apply", _function(e), e.type, keys))

    def _decide(
        self, e: tree.Expr, given: Mapping[tree.Symbol, Form], types: Mapping[tree.Symbol, tree.Scalar]
    ) -> bool | None:
        """Return whether a condition holds, where it compares numbers that are constants."""
        match e:
            case tree.Const(value=value):
                return bool(value)
            case tree.Binary(op=op, left=left, right=right) if op in COMPARED:
                one, two = number(self.read(left, given, types)), number(self.read(right, given, types))
                if one is None or two is None or not isinstance(left.type, tree.Scalar) or not left.type.integral:
                    return None
                plain = computation_type(left, types).kind == computation_type(right, types).kind == "int" or (
                    one >= 0 and two >= 0
                )
                return bool(COMPARED[op](one, two)) if plain else None
            case _:
                return None

    def truth(self, e: tree.Expr) -> Form | None:
        """Return a truth value as a number, 0 or 1: of a name that never changes, or of a function of integers."""
        match e:
            case tree.Var(symbol=symbol) if symbol not in self.known.changed:
                return atom(("name", symbol))
            case tree.Apply(intrinsic=intrinsic) if intrinsic.elementwise and not e.statics:
                return self._elementwise(e, {}, {})
            case _:
                return None

    def _choose(
        self, e: tree.Select, given: Mapping[tree.Symbol, Form], types: Mapping[tree.Symbol, tree.Scalar]
    ) -> Form:
        """Return what `a if n == 1 else b` is: b, where b is a if n is 1. Then the condition only saves work."""
        # The choice is `b` in all cases: where n is 1, by the check below that `a` is `b` with 1 for n; else by its own words.
        # `x if n == 1 else n * x` is n * x. Names behind n may keep n: they are 1 all the same where `a` is chosen.
        truth = self._decide(e.condition, given, types)
        if truth is not None:
            return self.read(e.then if truth else e.otherwise, given, types)
        then, otherwise = self.read(e.then, given, types), self.read(e.otherwise, given, types)
        match e.condition:
            case tree.Binary(op="==", left=tree.Var(symbol=symbol), right=tree.Const(value=value)) if (
                0 <= value < 2**31
            ):
                special = self.read(e.otherwise, {**given, symbol: constant(int(value))}, types)
                return otherwise if special == then else unknown()
            case _:
                return otherwise if then == otherwise else unknown()

    def _result_of_call(self, e: tree.Call, given: Mapping[tree.Symbol, Form]) -> Form:
        """Return the result of a function that only computes it: its text, with the arguments in place."""
        value = _result_expression(e.function)
        if value is None:
            return unknown()
        own = facts(e.function, self.known.threads)
        form = reader(enter_callee(self.known, e, given)).read(value, {})
        # A name of the callee's own has another value in each call: f(1) and f(2) would be taken for equal.
        names = {d.base[1] for d in all_digits(form) if d.base[0] in ("name", "trip")}
        return unknown() if names & {*own.definitions, *own.changed, *e.function.parameters} else form

    def name(self, symbol: tree.Symbol) -> Form:
        """Return what a name stands for: its definition, where it never changes and that is understood."""
        if symbol.along is not None:
            return atom(("along", *symbol.along))
        if symbol in self.known.changed or not (isinstance(symbol.type, tree.Scalar) and symbol.type.integral):
            return unknown()
        if symbol not in self.names:
            for name in read_first(self.known, symbol, self.names):
                integral = isinstance(name.type, tree.Scalar) and name.type.integral
                form = self._definition(name) if integral else None
                vague = form is None or any(d.base[0] == "unknown" for d in all_digits(form))
                self.names[name] = atom(("name", name)) if form is None or vague else form
        return self.names[symbol]

    def _definition(self, symbol: tree.Symbol) -> Form | None:
        loop = self.known.loops.get(symbol)
        if loop is not None:
            trip = self.range.part(("trip", symbol), 1, None)
            return (
                add(self.read(loop.start, {}), multiply(self.read(loop.step, {}), trip)) if self._counts(loop) else None
            )
        definition = self.known.definitions.get(symbol)
        return None if definition is None else self.read(definition, {})

    def _counts(self, loop: tree.For) -> bool:
        """Whether a loop's index is start + trip * step: the last one plus the step still fits in its type, or must."""
        # A step of 1 never goes past `stop`, which has the type. In uint32, `range(0, n, 64)` with n near 2**32 comes round
        # to 0 and goes on: then trip k is not at 64 * k. In int32 that would overflow, which the program promises not to.
        type_, (_, (least, most)) = loop.symbol.type, self.read_bounds(loop.step, {})
        if (
            not isinstance(type_, tree.Scalar)
            or (type_.kind == "int" and type_.bits >= 32)
            or (least == most and abs(least) == 1)
        ):
            return True
        stop = self.read_bounds(loop.stop, {})[1]
        if least > 0:
            return fits((0, stop[1] + most - 1), type_)
        return most < 0 and fits((stop[0] + least + 1, 0), type_)

    def _binary(self, op: str, one: tuple[Form, Bounds], right: Form) -> Form | None:
        by, (left, (low, _)) = number(right), one
        match op:
            case "/" | "%":
                return self.divide(left, right)[op == "%"]
            case ">>" if by is not None and 0 <= by < MOST_BITS - 1 and low >= 0:
                return self.divide(left, constant(1 << by))[0]
            case "&" if by is not None and by >= 0 and not by & (by + 1) and low >= 0:
                return self.divide(left, constant(by + 1))[1]
            case "&":
                mask = number(left) if by is None else by
                return None if mask is None else bitwise.mask_form(self.range, left if by is not None else right, mask)
            case "|":
                return bitwise.union(self.range, left, right)
            case "^":
                return bitwise.xor(self.range, left, right)
            case _:
                return None

    def _place(self, e: tree.Place, given: Mapping[tree.Symbol, Form]) -> Form:
        """As `tree.Place` says."""
        fragment, index = e.symbol.type, self.read(e.index, given)
        t = self.range.part(THREADS, 1, getattr(fragment, "threads", WARPGROUP))

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
        if divisor == 1:
            return form, {}
        if divisor is not None and divisor > 0 and self.range.form(form)[0] >= 0:
            exact = self._exactly(form, divisor)
            if exact is not None:
                return exact
        keys = frozenset(form.items()), frozenset(by.items())
        return atom(("quotient", *keys)), atom(("remainder", *keys))

    def _exactly(self, form: Form, by: int) -> tuple[Form, Form] | None:
        """Divide term by term, where what is left of all terms together is less than the divisor."""
        # The form is by * quotient + rest, as its terms are dealt out. With rest from 0 to by - 1 only one such pair exists,
        # and C has it, as the form is not negative: (32*w + 2*l) / 32 is w where l is at most 15, since 2*l is at most 30.
        # It is the sum of what is left that has to be less: a + b by 4, with 3 for both, is 6, and 6 / 4 is not 0.
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
        # 4 * t by 32: step is 8, and t is t % 8 + 8 * (t / 8). So the term is 4 * (t % 8), which is small, and 32 * (t / 8).
        # Only of numbers that are never negative: of those digits are what `/` and `%` say.
        step = by // gcd(factor, by)
        if len(monomial) != 1 or step == 1:
            return {monomial: factor}
        (digit,) = monomial
        if digit.base[0] not in ("id", "trip") or (digit.high is not None and (digit.high // digit.low) % step):
            return {monomial: factor}
        cut = digit.low * step
        low, high = self.range.part(digit.base, digit.low, cut), self.range.part(digit.base, cut, digit.high)
        return add(multiply(low, constant(factor)), multiply(high, constant(factor * step)))


def without_quotients(form: Form) -> Form:
    """Return a number where what is left of a division is written as that: `n - n / d * d` is `n % d`, as C has them."""
    for digit in dict.fromkeys(d for m, factor in form.items() for d in m if factor and d.base[0] == "quotient"):
        if digit.low != 1 or digit.high is not None:
            continue
        _, above, below = digit.base
        # n = n / d * d + n % d holds in C for any signs: what is exchanged is equal, whether or not the result is of use.
        whole = multiply({(digit,): 1}, dict(below))
        monomial, factor = next(iter(whole.items()), ((), 0))
        times = -form.get(monomial, 0) // factor if factor and form.get(monomial, 0) % factor == 0 else 0
        rest = add(add(form, whole, times), dict(above), -times)
        if times and len(rest) + 1 < len(form) and not any(digit in m for m in rest):
            form = add(rest, atom(("remainder", above, below)), times)
    return form


def _function(e: tree.Apply) -> object:
    """Return what tells one elementwise function of integers from another."""
    return e.intrinsic.name if e.intrinsic.name in EXTREMES else (e.intrinsic.name, tuple(a.type for a in e.arguments))


def _result_expression(function: tree.Function) -> tree.Expr | None:
    """Return what a function's result is, where its body is nothing but declarations before it."""
    *before, last = function.body or (None,)
    if isinstance(last, tree.Return) and all(isinstance(s, tree.Declare) for s in before):
        return last.value
    return None


def enter_callee(known: Facts, call: tree.Call, given: Mapping[tree.Symbol, Form] | None = None) -> Facts:
    """Return the facts of a callee, with the values of its arguments in the terms of the caller."""
    own, reads = facts(call.function, known.threads), reader(known)
    found = {name: own.found[name] for name in ("sites", "uses") if name in own.found}
    inside = replace(own, ranges={**known.ranges, **own.ranges}, trips={**known.trips, **own.trips}, found=found)
    names = {
        parameter: reads.read(argument, given or {})
        for parameter, argument in zip(call.function.parameters, call.arguments, strict=False)
        if isinstance(parameter.type, tree.Scalar) and parameter.type.integral
    }
    found["reader"] = Reader(inside, Range(inside, {}), names)
    return inside


def reader(known: Facts) -> Reader:
    """Return what reads a function's expressions; one for each function."""
    found: Reader = known.found.setdefault("reader", Reader(known, Range(known, {}), {}))
    return found
