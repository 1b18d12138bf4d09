"""Integers as polynomials over digits, and what these can be.

A digit is `base / low % (high / low)` of a number that is not negative: of a thread's index in its block, say, or of a loop's
trip. So `t / 4 * n + t % 4` is a sum of multiples of two digits of t, and names that never change. A quotient by anything else
is an atom of its own, and so is the remainder; whoever knows both knows the number. Of the numbers of an xor, whoever knows it
and all but one knows that one. What is not understood is an atom of which nothing is known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from itertools import chain, count
from math import inf
from typing import Any, Protocol

from prism.lang.facts.bounds import NOTHING, Bounds
from prism.lang.keep.bases import Frozen, Value
from prism.lang.tree import Scalar, Symbol
from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective

Base = tuple[Any, ...]
"""A number: `("id", unit, code)`, `("count", unit, code)`, `("along", what, axis, axes)`, `("trip", index)`, `("name", symbol)`,
`("apply", name, type, keys)`, `("quotient", key, key)`, `("remainder", key, key)`, `("xor", keys)`, `("wrap", type, key)`,
`("unknown", number)`, or `("unknown", number, "large")`."""
Key = frozenset[tuple[Any, int]]
"""A polynomial, to be compared: its items."""
HUGE = 2**256
"""More than any number is, and still one that Python can compute with beside infinity."""
MOST_BITS = 64
"""Bits that are looked at: of a number that is taken apart, or shifted."""
MOST_TERMS, MOST_FACTORS = 1024, 16
"""Terms of a polynomial that is multiplied out, and factors of one term: of what is larger nothing is known."""
THREADS: Base = ("id", THREAD, BLOCK)
BLOCKS: Base = ("id", BLOCK, GRID)

EXTREMES = ("minimum", "maximum")
"""Intrinsics whose result is one of their arguments."""

_unknown = count()


class Digit(Value):
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
    return total if all(total.values()) else {m: f for m, f in total.items() if f}


def are_opposite(one: Form, two: Form) -> bool:
    """Whether the sum of two polynomials is 0."""
    return len(one) == len(two) and all(two.get(monomial) == -factor for monomial, factor in one.items())


def large() -> Form:
    """Return a number of which nothing is known since it has too many terms."""
    return atom(("unknown", next(_unknown), "large"))


def multiply(left: Form, right: Form) -> Form:
    """Return the product; nothing is known of one that is too large."""
    if _too_large(left, right):
        return large()
    total: dict[tuple[Digit, ...], int] = {}
    for m, f in left.items():
        for n, g in right.items():
            monomial = in_order((*m, *n)) if m and n else m or n
            total[monomial] = total.get(monomial, 0) + f * g
    return {m: f for m, f in total.items() if f}


def substitute(form: Form, value_of: Callable[[Digit], Digit | int | None]) -> dict[tuple[Digit, ...], int] | None:
    """Return a polynomial with numbers, or other digits, for its digits; None where one of them has no value."""
    total: dict[tuple[Digit, ...], int] = {}
    for monomial, factor in form.items():
        kept: list[Digit] = []
        for digit in monomial:
            value = value_of(digit)
            if value is None:
                return None
            if isinstance(value, Digit):
                kept.append(value)
            else:
                factor *= value
        key = in_order(kept)
        total[key] = total.get(key, 0) + factor
    return {m: f for m, f in total.items() if f}


def in_order(digits: Iterable[Digit]) -> tuple[Digit, ...]:
    """Return a product's digits in their order, which is one for all products of the same."""
    return tuple(sorted(digits, key=_in_order))


def _in_order(digit: Digit) -> tuple[object, ...]:
    """The order of a product's digits: the text's, as far as that tells them apart, so that proofs go one way in all runs."""
    of = digit.base[1] if len(digit.base) > 1 else None
    where = (of.name, of.span.line, of.span.column) if isinstance(of, Symbol) else ()
    return (digit.base[0], where, digit.low, digit.high or 0, hash(digit))


def _too_large(left: Form, right: Form) -> bool:
    """Whether a product is not multiplied out: each sum in it may double the terms."""
    factors = sum(max(map(len, form), default=0) for form in (left, right))
    return len(left) * len(right) > MOST_TERMS or factors > MOST_FACTORS


def digits_of(form: Form) -> Iterator[Digit]:
    """Yield the digits that a polynomial mentions."""
    for monomial in form:
        yield from monomial


def number(form: Form) -> int | None:
    """Return a polynomial's value, where it is a constant."""
    return None if any(form) else form.get((), 0)


def drop_multiples(form: Form, digit: Digit) -> Form:
    """Return a polynomial without the term that is a multiple of a digit alone."""
    return {m: f for m, f in form.items() if m != (digit,)}


def divide_terms(form: Form, pivot: Digit) -> Form:
    """Return the terms with a factor, without it."""
    found: Form = {}
    for monomial, factor in form.items():
        if pivot in monomial:
            at = monomial.index(pivot)
            found = add(found, {(*monomial[:at], *monomial[at + 1 :]): factor})
    return found


# -- bounds ---------------------------------------------------------------------------------------------------------------


class Known(Protocol):
    """What is known of a function's names and threads: all that a polynomial's bounds, and proofs, ask of a function."""

    @property
    def threads(self) -> int:
        """The most that a block has."""

    @property
    def whole(self) -> int | None:
        """How many a block has, where it is a kernel that says so."""

    @property
    def found(self) -> dict[Any, Any]:
        """What was found out so far."""

    def span_of(self, symbol: Symbol) -> tuple[int, int] | None:
        """Return the least and the greatest value of a loop's index."""

    def trips_of(self, symbol: Symbol) -> int | None:
        """Return how many trips a loop makes."""


class Range(Frozen):
    """What a polynomial's digits can be; `tighter` says it of some digits, where an access stands."""

    known: Known
    tighter: dict[Digit, Bounds]
    _bounds: dict[Digit, Bounds] = field(default_factory=dict, init=False, repr=False)
    """Of the digits that were asked for: proofs ask for the same few again and again."""

    def tighten(self, digit: Digit, bounds: Bounds) -> None:
        """Say more of a digit. Others may be computed from it, so what was found of them is found anew."""
        self.tighter[digit] = bounds
        self._bounds.clear()

    def digit(self, digit: Digit) -> Bounds:
        """Return the bounds of one digit."""
        found = self._bounds.get(digit)
        if found is None:
            found = self._bounds[digit] = self._digit(digit)
        return found

    def _digit(self, digit: Digit) -> Bounds:
        low, high = self.base(digit.base)
        if digit.low > 1 or digit.high is not None:
            # t from 8 to 11 gives t % 16 from 8 to 11: nothing is dropped. Where something may be, any value may come.
            low, high = max(0, low) // digit.low, high // digit.low if high < inf else inf
            if digit.high is not None:
                most = digit.high // digit.low - 1
                low, high = (low, high) if high <= most else (0, most)
        if digit in self.tighter:
            low, high = max(low, self.tighter[digit][0]), min(high, self.tighter[digit][1])
        return low, high

    def form(self, form: Form, but: tuple[Digit, ...] = ()) -> Bounds:
        """Return the bounds of a polynomial; `but`: of one without this term, which is a key of it."""
        low: float = form.get((), 0)
        high: float = low
        if not -HUGE < low < HUGE:
            return NOTHING
        for monomial, factor in form.items():
            if monomial and monomial is not but:
                one, two = self.digit(monomial[0]) if len(monomial) == 1 else self._product(monomial)
                if (one == -inf and two == inf) or not -HUGE < factor < HUGE:
                    return NOTHING
                if factor < 0:
                    one, two = two, one
                low, high = low + one * factor, high + two * factor
        return low, high

    def least(self, form: Form, less: Form) -> float:
        """Return the lower bound of `form - less`. Proofs ask it for each pair of guards; one term without a bound ends it."""
        low: float = form.get((), 0) - less.get((), 0)
        if not -HUGE < low < HUGE:
            return -inf
        others = ((monomial, -factor) for monomial, factor in less.items() if monomial not in form)
        both = ((monomial, factor - less.get(monomial, 0)) for monomial, factor in form.items())
        for monomial, factor in chain(both, others):
            if monomial and factor:
                one, two = self.digit(monomial[0]) if len(monomial) == 1 else self._product(monomial)
                low += (one if factor > 0 else two) * factor
                if low == -inf or not -HUGE < factor < HUGE:
                    return -inf
        return low

    def unbounded_term(self, form: Form) -> tuple[Digit, ...] | None:
        """Return the first term of a polynomial that has no lower bound: what doesn't change it leaves the sum without one."""
        for monomial, factor in form.items():
            if monomial:
                one, two = self.digit(monomial[0]) if len(monomial) == 1 else self._product(monomial)
                if (one if factor > 0 else two) * factor == -inf:
                    return monomial
        return None

    def _product(self, monomial: tuple[Digit, ...]) -> Bounds:
        low: float = 1
        high: float = 1
        for digit in monomial:
            # Without negative factors the ends of a product are the products of the ends: [1, 3] * [2, 5] is [2, 15].
            one, two = self.digit(digit)
            if one < 0:
                return NOTHING
            low, high = low * one, (high * two if high and two else 0)
            if high >= HUGE:
                low, high = min(low, HUGE), inf
        return low, high

    def index(self, unit: Perspective, code: Perspective) -> Form:
        """Return a unit's index inside another, which starts at a multiple of its own size."""
        if not unit <= code:
            return unknown()
        # Units are counted from the start of `code`, which stands at a multiple of its size: thread 70 is number 6 of its warp,
        # 70 % 32. So the index is a digit of the thread's number in the block, or of the block's in the grid.
        if (unit.level, code.level) == (Level.THREAD, Level.THREAD) or (unit.level == Level.THREAD and code == BLOCK):
            return self.part(THREADS, unit.size, code.size if code.level == Level.THREAD else None)
        if unit.level == Level.BLOCK:
            return self.part(BLOCKS, unit.size, code.size if code.level == Level.BLOCK else None)
        return atom(("id", unit, code)) if unit != code else {}

    def part(self, base: Base, low: int, high: int | None) -> Form:
        """Return a digit; nothing where it is always 0."""
        # A digit that nothing reaches is 0; one that nothing exceeds needs no upper end. So equal numbers get equal digits.
        most = self.base(base)[1]
        if most < low or high == low:
            return {}
        return {(Digit(base, low, None if high is not None and most < high else high),): 1}

    def base(self, base: Base) -> Bounds:
        """Return the bounds of a number."""
        kind = base[0]
        if kind == "id":
            most = _most_units(self.known, base[1], base[2])
            return 0, inf if most is None else most - 1
        if kind == "count":
            return 1, inf
        if kind == "along":
            return 1, self.known.threads if base[1] == "threads" else inf
        if kind == "trip":
            trips = self.known.trips_of(base[1])
            return 0, inf if trips is None else max(0, trips - 1)
        if kind == "name":
            span, type_ = self.known.span_of(base[1]), base[1].type
            return span or (_type_bounds(type_) if isinstance(type_, Scalar) else NOTHING)
        if kind == "wrap":
            return _type_bounds(base[1])
        if kind in ("quotient", "remainder"):
            return self._bound_quotient(kind, *operand_forms(base))
        if kind == "xor":
            return self._xor(operand_forms(base))
        if kind == "apply":
            return self._bound_result(*base[1:])
        return NOTHING

    def _bound_result(self, name: str, type_: Scalar, keys: tuple[Key, ...]) -> Bounds:
        """What is masked is at most the mask; shifts are of what is not negative, and to the left they may drop bits."""
        # `x & 12` is at most 12, for an x of any sign. Where `x << s` may drop bits, its type alone bounds it.
        least = _type_bounds(type_)
        if name in EXTREMES:
            low, high = extreme(name, [self.form(dict(key)) for key in keys])
            return max(low, least[0]), min(high, least[1])
        if name not in ("&", "<<", ">>"):
            return least
        (low, high), (few, many) = (self.form(dict(key)) for key in keys)
        if name == "&":
            masks = [mask for mask in (number(dict(key)) for key in keys) if mask is not None and mask >= 0]
            return (0, min(masks)) if masks else least
        if not 0 <= low <= high or not 0 <= few <= many < MOST_BITS:
            return least
        if name == "<<":
            most = 2 ** (type_.bits - (type_.kind == "int"))
            return (
                (int(low) << int(few), int(high) << int(many))
                if high < inf and int(high) << int(many) < most
                else least
            )
        return int(low) >> int(many), int(high) >> int(few) if high < inf else inf

    def _xor(self, parts: tuple[Form, ...]) -> Bounds:
        """Numbers of k bits make one of k bits."""
        # No bit is set above the highest of any part: 5 ^ 2 is 7, though both are less. A negative number has all high bits.
        spans = [self.form(part) for part in parts]
        if any(low < 0 for low, _ in spans):
            return NOTHING
        most = max(high for _, high in spans)
        return 0, inf if most == inf else (1 << int(most).bit_length()) - 1

    def _bound_quotient(self, kind: str, left: Form, right: Form) -> Bounds:
        low, high = self.form(left)
        divisor = number(right)
        # C rounds toward 0, and a remainder has its dividend's sign: -1 / 2 is 0, -1 % 2 is -1. So nothing is said of those
        # here. A remainder of x >= 0 is at most x, whatever divides. A quotient is nearer to 0 than x, or as far.
        if low < 0 or (divisor is not None and divisor <= 0):
            return NOTHING
        if kind == "remainder":
            return 0, high if divisor is None else min(high, divisor - 1)
        if divisor is not None:
            return low // divisor, high // divisor if high < inf else inf
        return (0, high) if self.form(right)[0] >= 0 else (-high, high)


class Fewest(Range):
    """What digits can be with two units, or two trips, of those whose number nobody bounds; all others are nearest to 0."""

    def _digit(self, digit: Digit) -> Bounds:
        low, high = Range._digit(self, digit)
        if digit.base[0] == "trip":
            return low, min(high, 1)
        if digit.base[0] != "id":
            near = min(max(low, 0), high)
            return near, near
        if high < inf:
            return low, high
        # A block has as many threads as the kernel says at least; of what has no such number two are enough to meet.
        _, unit, code = digit.base
        threads = self.known.whole if unit.level == Level.THREAD and code.level > Level.THREAD else None
        return 0, max(1, (threads or 0) // (unit.size * digit.low) - 1)


def units_of(unit: Perspective, code: Perspective) -> int | None:
    """Return how many units a unit of `code` has, where the two perspectives alone say so."""
    return code.size // unit.size if unit.level == code.level else None


def _most_units(known: Known, unit: Perspective, code: Perspective) -> int | None:
    """Return how many units a unit of `code` has at most: a block has no more threads than its launch bounds allow."""
    if (unit.level, code.level) == (Level.THREAD, Level.BLOCK):
        return known.threads * code.size // unit.size
    return units_of(unit, code)


def extreme(name: str, spans: Sequence[Bounds]) -> Bounds:
    """Return the bounds of a minimum or maximum of numbers with these."""
    of = min if name == "minimum" else max
    return of(low for low, _ in spans), of(high for _, high in spans)


def _type_bounds(type_: Scalar) -> Bounds:
    """Return what an unsigned type's values are, or a truth value's; of a signed one's nothing: results are taken to fit."""
    # With the bounds of int32 for a name x, x + 1 would be known to go beyond them, and not be taken to fit (wraps.py).
    if type_.kind == "bool":
        return 0, 1
    return (0, 2**type_.bits - 1) if type_.kind == "uint" else NOTHING


def all_digits(form: Form) -> Iterator[Digit]:
    """Yield all digits that a polynomial depends on, also those inside quotients and the like."""
    for digit in digits_of(form):
        yield digit
        yield from _inside(digit.base)


@functools.lru_cache(maxsize=4096)
def _inside(base: Base) -> tuple[Digit, ...]:
    return tuple(digit for form in operand_forms(base) for digit in all_digits(form))


@functools.lru_cache(maxsize=4096)
def operand_forms(base: Base) -> tuple[Form, ...]:
    """Return the polynomials that a number is computed from."""
    match base:
        case ("quotient" | "remainder", left, right):
            return dict(left), dict(right)
        case ("apply", _, _, keys):
            return tuple(dict(key) for key in keys)
        case ("xor", keys):
            return tuple(dict(key) for key in keys)
        case ("wrap", _, key):
            return (dict(key),)
        case _:
            return ()


def cuts_of(forms: Iterable[Form], units: Iterable[Perspective | None]) -> Mapping[Base, Set[int]]:
    """Return where digits of each number begin and end; of threads' and blocks' indices, where units do too."""
    found: dict[Base, set[int]] = {THREADS: set(), BLOCKS: set()}
    for form in forms:
        for digit in all_digits(form):
            found.setdefault(digit.base, set()).update({digit.low, digit.high or 1})
    for unit in units:
        if unit is not None and unit.level != Level.GRID:
            found[THREADS if unit.level == Level.THREAD else BLOCKS].add(unit.size)
    return found
