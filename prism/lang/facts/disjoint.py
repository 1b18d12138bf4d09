"""Proofs that two accesses can only meet where they are one unit's, or in one trip of a loop.

Two units' accesses meet where all indices are equal: `f(u) = g(v)`, with what both units agree on in common. Each such
equation is taken apart, which only ever finds consequences of it:

- *radix*: where all coefficients of some terms are multiples of g, and the others can't differ by g, both are equal alone;
- *stride*: the same for terms with a factor n that both units agree on, where the others are sure to be from 0 to n - 1: by
  a condition around the access, or as a remainder by n, by n's number of tiles, or by a minimum of n and another number
  (strides.py, divisors.py);
- *digits*: a single digit, or quotient and remainder of a number, that are equal leave the number equal;
- *xor*: for a number c that both units agree on, `a ^ c = b ^ c` only where a = b, for c can be undone: `(a ^ c) ^ c` is a. So
  xors that are equal, where all but one of their numbers are, leave that one equal;
- *wrap*: numbers that are equal modulo 2^bits, and less than that apart, are equal;
- *nest*: a sum of multiples of strides that nest, as `strides_nest` says, is equal only where all multiples are (nested.py);
- *apart*: bounds that don't meet, or a difference that no multiple can make, leave no solution at all.

If the digits that are found equal make up the unit's index, or the trip's, then no two of them meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from itertools import chain, combinations
from math import gcd, inf

from prism.lang.facts import bitwise, divisors, nesting, polynomials, strides
from prism.lang.facts.bounds import Bounds
from prism.lang.facts.claims import one_unit
from prism.lang.facts.definitions import Facts
from prism.lang.facts.polynomials import (
    BLOCKS,
    THREADS,
    Base,
    Digit,
    Form,
    Key,
    Known,
    Range,
    add,
    constant,
    digits_of,
    number,
)
from prism.lang.facts.questions import Question, recall
from prism.lang.facts.sides import Side, following, unwrap
from prism.lang.facts.touches import Address
from prism.lang.facts.wraps import drop_wraps, wraps
from prism.lang.types.perspective import Level, Perspective

MOST_PROOFS = 1 << 14  # that are tried for one function: some seconds
MOST = 128
"""Equations of one proof: they are taken apart into smaller ones, so a proof needs few."""


def is_proved(known: Facts, one: Address | None, two: Address | None, question: Question) -> bool:
    """Whether the answer is yes, for sure."""
    if one is None or two is None or one.root is not two.root or len(one.indices) != len(two.indices):
        return False
    memo: dict[object, bool] = known.found.setdefault("proofs", {})
    key = (_place(known, one), _place(known, two), question)
    if key not in memo:
        if is_exhausted(known):
            return False
        memo[key] = recall(known, one, two, question, lambda *asked: _Proof(*asked).holds())
    return memo[key]


def _place(known: Facts, where: Address) -> object:
    """Return what stands for an access's elements: the same for all accesses of which the same is known."""
    places: dict[object, object] = known.found.setdefault("places", {})
    if where not in places:
        places[where] = places.setdefault(where.key, len(places))
    return places[where]


def is_exhausted(known: Facts) -> bool:
    """Whether as many proofs of a function were tried as are: of what else is asked nothing is proved."""
    return count_proofs(known) >= MOST_PROOFS


def count_proofs(known: Facts) -> int:
    """Return how many proofs of a function were tried."""
    return len(known.found.get("proofs", ()))


class _Contradiction(Exception):
    """The equations have no solution: the two accesses never meet."""


class _Proof:
    """The equations, and the digits that are equal on both sides."""

    def __init__(self, known: Known, one: Address, two: Address, question: Question) -> None:
        self.question = question
        self.equal: set[Digit] = set()
        self.agreed: set[Digit] = set()  # found the same on both sides: `equal` only grows, so they stay so
        self.pieces: dict[Digit, tuple[tuple[tuple[Digit], int], ...]] = {}  # what digits were cut into
        self.told = one.distinct, two.distinct
        self.fixed: tuple[dict[Digit, int], dict[Digit, int]] = {}, {}
        """Digits of one side alone that have one value, where the two accesses meet."""
        one, two = unwrap(known, one), unwrap(known, two)
        whole = one.aligned and two.aligned and one.width == two.width
        forms = [*one.indices, *one.guards, *two.indices, *two.guards]
        counts = {d.base for form in forms for d in digits_of(form) if d.base[0] == "count"}
        more = (Range(known, {}).index(*base[1:]) for base in counts)
        self.cuts = polynomials.cuts_of([*forms, *more], (question.source, question.unit))
        one, two = self._common(one, two), self._common(two, one)
        self.sides = self._both_sides(known, one, two, whole)
        self.left: list[tuple[Form, Form]] = list(zip(self.sides[0].indices, self.sides[1].indices, strict=True))
        self._fixed_alike()
        common = [guard for guard in self.sides[0].guards if self._agreed(guard)]
        self.nests = [axes for axes in nesting.axes_of(common, self.refine) if all(map(self._agreed, chain(*axes)))]
        self.products = dict.fromkeys(
            d.base
            for form in forms
            for d in polynomials.all_digits(form)
            if d.base[0] in ("quotient", "remainder", "xor")
        )

    def _agreed(self, form: Form) -> bool:
        return all(map(self.same, digits_of(form)))

    def _common(self, a: Address, other: Address) -> Address:
        """Return an access with what holds where the other is made, and is said of values that both agree on."""
        more = [form for form in other.guards if form not in a.guards and self._agreed(self.refine(form))]
        return replace(a, guards=(*a.guards, *more)) if more else a

    def _fixed_alike(self) -> None:
        """Learn what conditions and bounds say alone: digits with one value, and numbers that are 0, on both sides."""
        one, two = self.sides
        for digit in one.tighter:
            low, high = one.range.digit(digit)
            if low == high and two.range.digit(digit) == (low, high):
                self.equal.add(digit)
        zeros = [[a for a, b in combinations(side.guards, 2) if polynomials.are_opposite(a, b)] for side in self.sides]
        self.left += [(form, form) for form in zeros[0] if form in zeros[1] or add({}, form, -1) in zeros[1]]

    def _count_bounds(self, known: Known, forms: Iterable[Form]) -> Iterator[Form]:
        """Yield what is not negative since a unit's index is less than the number of units."""
        for base in dict.fromkeys(d.base for form in forms for d in digits_of(form) if d.base[0] == "count"):
            index = Range(known, {}).index(*base[1:])
            yield self.refine(add(add(polynomials.atom(base), index, -1), constant(-1)))

    def _both_sides(self, known: Known, one: Address, two: Address, whole: bool) -> list[Side]:
        """Return the two sides: one and the same where an access to single elements meets itself."""
        first = self._side(known, one, 0, 1 if whole else one.width)
        itself = (two.indices, two.guards, two.rows) == (one.indices, one.guards, one.rows)
        if itself and (whole or one.width == two.width == 1) and all(rows == 1 for rows in one.rows):
            return [first, first]
        return [first, self._side(known, two, 1, 1 if whole else two.width)]

    def _side(self, known: Known, a: Address, which: int, width: int) -> Side:
        indices, guards = ([self.refine(form) for form in forms] for forms in (a.indices, a.guards))
        guards = [*guards, *map(self.refine, following(known, guards))]
        guards += self._count_bounds(known, guards)
        side = Side(known, indices, guards, which, (*(a.rows or (1,) * (len(indices) - 1)), width))
        for digit in dict.fromkeys(d for form in indices for d in digits_of(form) if d.base[0] == "quotient"):
            _, above, below = digit.base
            side.bound_quotient(digit, self.refine(dict(above)), number(dict(below)) or 0)
        return side

    # -- what both sides have in common

    def refine(self, form: Form) -> Form:
        """Return a polynomial with its digits cut wherever some digit of the same number ends."""
        total: dict[tuple[Digit, ...], int] = {}
        for monomial, factor in form.items():
            parts = self._pieces_of(monomial[0]) if len(monomial) == 1 else ()
            for part, times in parts or ((monomial, 1),):
                value = total.get(part, 0) + factor * times
                if value:
                    total[part] = value
                else:
                    total.pop(part, None)
        return total

    def _pieces_of(self, digit: Digit) -> tuple[tuple[tuple[Digit], int], ...]:
        found = self.pieces.get(digit)
        if found is None:
            found = self.pieces[digit] = tuple(((part,), times) for part, times in self._cut(digit))
        return found

    def _cut(self, digit: Digit) -> Iterator[tuple[Digit, int]]:
        low = digit.low
        for cut in sorted(self.cuts.get(digit.base, ())):
            if cut > low and cut % low == 0 and (digit.high is None or (cut < digit.high and digit.high % cut == 0)):
                yield Digit(digit.base, low, cut), low // digit.low
                low = cut
        if low > digit.low:
            yield Digit(digit.base, low, digit.high), low // digit.low

    def same(self, digit: Digit) -> bool:
        """Whether a digit has the same value on both sides."""
        if digit in self.equal or digit in self.agreed:
            return True
        if self._same(digit):
            self.agreed.add(digit)
        return digit in self.agreed

    def _same(self, digit: Digit) -> bool:
        source, base = self.question.source, digit.base
        match base:
            case ("id", unit, code):
                if base == THREADS:
                    return source.level == Level.THREAD and digit.low % source.size == 0
                if base == BLOCKS:
                    narrow = source.level == Level.THREAD
                    return narrow or (source.level == Level.BLOCK and digit.low % source.size == 0)
                return bool(source <= unit) and code is not None
            case ("count" | "along", *_):
                return True
            case ("name" | "trip", symbol):
                return symbol not in self.question.free and source <= symbol.perspective  # free: of another trip
            case ("quotient" | "remainder" | "apply" | "xor" | "wrap", *_):
                return all(
                    self.same(d) for form in polynomials.operand_forms(base) for d in digits_of(self.refine(form))
                )
            case _:
                return False

    def is_complete(self) -> bool:
        """Whether the digits that are equal answer the question."""
        question = self.question
        if question.index is not None:
            return self._covered(("trip", question.index), 1, None)
        if question.unit is None:
            return False
        unit, source = question.unit, question.source
        if one_unit(*self.told, unit, self.refine, self.same) or self._lanes(unit, source):
            return True
        for base in {d.base for d in self.equal}:
            if base[0] != "id" or base in (THREADS, BLOCKS) or not (base[1] <= unit and source <= base[2]):
                continue
            if self._covered(base, unit.size // base[1].size if unit.level == base[1].level else 1, None):
                return True
        if unit.level == Level.THREAD:
            if source.level == Level.THREAD:
                return self._covered(THREADS, unit.size, source.size)
            if not self._covered(THREADS, unit.size, None):
                return False
        first = unit.size if unit.level == Level.BLOCK else 1
        return self._covered(BLOCKS, first, source.size if source.level == Level.BLOCK else None)

    def _lanes(self, unit: Perspective, source: Perspective) -> bool:
        """Whether a broader unit's number in the grid is equal, and the unit's number in that; blocks have whole such units."""
        threads = self.sides[0].range.known.whole
        if unit.level != Level.THREAD or threads is None:
            return False
        for base in {d.base for d in self.equal if d.base[0] == "id" and d.base != THREADS and source <= d.base[2]}:
            of = base[1]
            whole = of.level == Level.THREAD and unit.size < of.size and threads % of.size == 0
            if whole and Digit(base) in self.equal and self._covered(THREADS, unit.size, of.size):
                return True
        return False

    def _covered(self, base: Base, first: int, end: int | None) -> bool:
        at = first
        while end is None or at < end:
            if self.sides[0].range.base(base)[1] < at:  # all that is left is 0
                return True
            digit = next((d for d in self.equal if d.base == base and d.low == at), None)
            if digit is None:
                return False
            if digit.high is None:
                return True
            at = digit.high
        return True

    # -- the proof

    def holds(self) -> bool:
        """Take equations apart until they answer the question, contradict one another, or nothing more is found."""
        if any(side.never for side in self.sides):
            return True
        progress, steps = True, 0
        while progress and steps < MOST:
            progress = False
            equations, self.left = self.left, []
            for one, two in equations:
                steps += 1
                try:
                    found = self._split_equation(one, two)
                except _Contradiction:
                    return True
                self.left += [(one, two)] if found is None else found
                progress = progress or found is not None
            progress = self._whole() or progress
            if self.is_complete():
                return True
        return False

    def _whole(self) -> bool:
        """A number is equal where its quotient and its remainder by one divisor are. Return whether one was found.

        And one of those whose xor is equal, where the others are.
        """
        before = len(self.left)
        for base in [base for base in self.products if base[0] == "xor" and Digit(base) in self.equal]:
            vary = [
                form
                for form in map(self.refine, polynomials.operand_forms(base))
                if not all(map(self.same, digits_of(form)))
            ]
            if len(vary) <= 1:
                del self.products[base]
                self.left += [(form, form) for form in vary]
        # x = x / d * d + x % d, as C divides. x % 4 alone leaves 1 and 5 open; with x / 4 the number is known.
        for base in [base for base in self.products if base[0] == "quotient"]:
            parts = Digit(base), Digit(("remainder", *base[1:]))
            divisor = self.refine(dict(base[2]))
            if all(map(self.same, (*parts, *digits_of(divisor)))):
                del self.products[base]
                form = self.refine(dict(base[1]))
                self.left.append((form, form))
        return len(self.left) > before

    def _split_equation(self, one: Form, two: Form) -> list[tuple[Form, Form]] | None:
        """Return what follows from an equation, or None where nothing was found out."""
        congruent = self._congruent(one, two)
        if congruent is not None:
            return [congruent]
        vary = [{m: f for m, f in form.items() if not all(map(self.same, m))} for form in (one, two)]
        both = [{m: f for m, f in form.items() if m not in vary[k]} for k, form in enumerate((one, two))]
        by = number(add(both[1], both[0], -1))
        if self._fixes_digit(0, one, two) or self._fixes_digit(1, two, one):
            return [(one, two)]
        found = None if by is None else self._numbers(vary[0], vary[1], by)
        if found is not None:
            return found
        parts = self._split_nested(one, two)
        if parts is not None:
            return parts
        for pivot in dict.fromkeys(
            d for form in (one, two) for m in form for d in m if self.same(d) and d not in self.equal
        ):
            if self._apart_by(one, two, pivot):
                low = [{m: f for m, f in form.items() if pivot not in m} for form in (one, two)]
                return [(polynomials.divide_terms(one, pivot), polynomials.divide_terms(two, pivot)), (low[0], low[1])]
        if by is None:  # what is the same on both sides, but not as often, goes to one of them
            more = add(both[1], both[0], -1)
            found = self._numbers(vary[0], add(vary[1], {m: f for m, f in more.items() if m}), more.get((), 0))
        return self._exclusive(one, two) if found is None else found

    def _split_nested(self, one: Form, two: Form) -> list[tuple[Form, Form]] | None:
        """Return what follows from an equation of places in axes whose strides nest: indices are equal along each."""
        for axes in self.nests:
            places = [nesting.indices(axes, form) for form in (one, two)]
            if places[0] is None or places[1] is None:
                continue
            found = list(zip(places[0], places[1], strict=True))
            each = [
                (self.sides[k], pair[k], extent)
                for pair, (extent, _) in zip(found, axes, strict=True)
                for k in ((0,) if self.sides[0] is self.sides[1] and pair[0] == pair[1] else (0, 1))
            ]
            if (one, two) not in found and all(nesting.is_in_extent(side, self.refine, *rest) for side, *rest in each):
                return found
        return None

    def _congruent(self, one: Form, two: Form) -> tuple[Form, Form] | None:
        """Return what follows from an equation with wraps: what is inside is equal, where it is less than 2^bits apart."""
        vary = {digit for form in (one, two) for digit in wraps(form) if not self.same(digit)}
        if not vary:
            return None
        # wrap(x) is x less a multiple of 2^bits. So the insides differ by such a multiple: less than it apart, they are equal.
        modulus = 2 ** min(digit.base[1].bits for digit in vary)
        inside = [self.refine(drop_wraps(form, vary.__contains__)) for form in (one, two)]
        common = {m for form in inside for m in form if all(map(self.same, m))}
        if any(inside[0].get(m, 0) != inside[1].get(m, 0) for m in common if m):
            return None
        rest = [{m: f for m, f in form.items() if not m or m not in common} for form in inside]
        (low, high), (least, most) = (side.range.form(form) for side, form in zip(self.sides, rest, strict=True))
        return (inside[0], inside[1]) if high - least < modulus and most - low < modulus else None

    def _exclusive(self, one: Form, two: Form) -> list[tuple[Form, Form]] | None:
        """Return what follows from an equation with an xor: what both sides have in common is left out."""
        if not any(d.base[0] == "xor" for form in (one, two) for d in digits_of(form)):
            return None
        keys = [self._operands(number, form) for number, form in enumerate((one, two))]
        fixed = [{key for key in side if all(map(self.same, digits_of(dict(key))))} for side in keys]
        vary = [[dict(key) for key in keys[k] - fixed[k]] for k in (0, 1)]
        rest = bitwise.exclusive(self.sides[0].range, [dict(key) for key in fixed[0] ^ fixed[1]])
        found: tuple[Form, Form]
        match vary:
            case [[], []]:
                if number(rest):
                    raise _Contradiction
                return None if rest else []
            case [[left], []]:
                found = left, rest
            case [[], [right]]:
                found = rest, right
            case [[left], [right]] if not rest:
                found = left, right
            case [[left], [right]] if rest == bitwise.ONE and self._bit(0, left) and self._bit(1, right):
                found = left, add(rest, right, -1)
            case _:
                return None
        return None if found == (one, two) else [found]

    def _operands(self, number: int, form: Form) -> Set[Key]:
        keys: frozenset[Key] = frozenset()
        for key in bitwise.operands(self.sides[number].range, form):
            refined = self.refine(dict(key))
            for digit, value in self.fixed[number].items():
                if (digit,) in refined:
                    refined = add(polynomials.drop_multiples(refined, digit), constant(refined[digit,] * value))
            keys ^= {frozenset(refined.items())} if refined else frozenset()
        return keys

    def _fixes_digit(self, side: int, form: Form, value: Form) -> bool:
        """Whether an equation says, for the first time, which value a digit has on one side."""
        (monomial, factor), *others = form.items() if form else [((), 0)]
        found = number(value)
        if others or len(monomial) != 1 or factor != 1 or found is None or monomial[0] in self.fixed[side]:
            return False
        self.fixed[side][monomial[0]] = found
        return True

    def _bit(self, number: int, form: Form) -> bool:
        low, high = self.sides[number].range.form(form)
        return 0 <= low <= high <= 1

    def _numbers(self, one: Form, two: Form, by: int) -> list[tuple[Form, Form]] | None:
        """Return what follows from `one = two + by`, of which nothing is the same on both sides."""
        (low, high), (least, most) = self.sides[0].range.form(one), self.sides[1].range.form(two)
        step = gcd(*one.values(), *two.values())
        if high < least + by or most + by < low or (by % step if step else by):
            raise _Contradiction  # 2*i = 2*j + 1 has no solution: 1 is no multiple of 2
        if not step:
            return []
        if len(one) == 1 and one == two and by == 0 and len(next(iter(one))) == 1:
            self.equal.update(next(iter(one)))
            return []
        for g in sorted({abs(f) for f in (*one.values(), *two.values())} - {1}, reverse=True):
            a, b = ({m: f for m, f in form.items() if f % g} for form in (one, two))
            ends = self._ends(0, a, g), self._ends(1, b, g)
            # `a` and `b` are what g may not divide; so g divides `b + rest - a`. Less than g away from 0, that is 0:
            # 4*i + a = 4*j + b, with a and b from 0 to 3: a - b is a multiple of 4 from -3 to 3. So a = b, and i = j.
            for rest in (by % g, by % g - g):
                if ends[0][1] - ends[1][0] - rest < g and ends[1][1] + rest - ends[0][0] < g:
                    wide = [{m: f // g for m, f in form.items() if f % g == 0} for form in (one, two)]
                    return [(wide[0], add(wide[1], constant((by - rest) // g))), (a, add(b, constant(rest)))]
        return None

    def _ends(self, side: int, form: Form, g: int) -> Bounds:
        """Return the bounds of some terms; where these alone leave them g or more apart, what the guards say of their sum too.

        A guard is not negative, so with it a number is no less than without: `c a <= c a + guard`, and `c a >= c a - guard`, for
        a positive c, which is chosen such that a term goes away.
        """
        of = self.sides[side].range.form
        low, high = of(form)
        if high - low >= g:
            for guard in map(self.refine, self.sides[side].guards):
                for c in {guard[m] // f for m, f in form.items() if m and m in guard and guard[m] % f == 0}:
                    times = {m: f * abs(c) for m, f in form.items()}
                    # `if x >= y` gives the guard x - y. For a = x - y and c = 1, a - guard is 0: so a is 0 or more.
                    least, most = of(add(times, guard, -1 if c > 0 else 1))
                    if c > 0 and least > -inf:
                        low = max(low, -(-least // c))
                    if c < 0 and most < inf:
                        high = min(high, most // -c)
        return low, high

    def _apart_by(self, one: Form, two: Form, pivot: Digit) -> bool:
        """Whether the terms with `pivot` are equal alone, as strides.py says, and so are the others."""
        left, right = self.sides
        beside = (
            (lambda form, by: self._remainders(form, by, left)),
            (lambda form, by: self._remainders(form, by, right)),
        )
        return strides.terms_are_apart((left, right), (one, two), pivot, self.same, beside)

    def _remainders(self, form: Form, pivot: Digit, side: Side) -> Iterator[Form]:
        """Yield what is not negative since a remainder is less than its divisor, n, or n / c, which is tiles of c in n.

        And since a unit's index is less than the number of units.
        """
        if pivot.base[0] == "count":
            index = self.refine(Range(side.range.known, {}).index(*pivot.base[1:]))
            yield add(add({(pivot,): 1}, index, -1), constant(-1))
        for base in dict.fromkeys(d.base for d in digits_of(form) if d.base[0] == "remainder"):
            divisor: Form = dict(base[2])
            of: Form = {(pivot,): 1}
            yield from divisors.below_divisor(side, self.refine, Digit(base))
            if len(divisor) != 1 or side.range.form(self.refine(dict(base[1])))[0] < 0:
                continue
            (monomial, factor), times = next(iter(divisor.items())), 0
            if divisor == of:
                times = 1
            elif factor == 1 and len(monomial) == 1 and monomial[0].base[0] == "quotient":
                _, above, below = monomial[0].base
                times = (number(dict(below)) or 0) if dict(above) == of else 0
            if times > 0:
                yield add(add(of, {(Digit(base),): 1}, -times), constant(-times))
