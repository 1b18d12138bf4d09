"""One of the two accesses of a proof (disjoint.py): what is not negative where it is made, and the bounds that follow.

A minimum of integers is one of its arguments, and at most each of them; a maximum is one of them, and at least each. So where
`c * min(a, b) + r` is not negative, for a positive c, neither is `c * a + r`. Where `c * max(a, b) + r` is not,
neither is one of `c * a + r` and `c * b + r`: the first, if the second surely is. For a negative c minima and maxima
change places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf, prod

from prism.lang.facts.bounds import Bounds
from prism.lang.facts.polynomials import EXTREMES, Base, Digit, Form, Known, Range, add, multiply
from prism.lang.facts.touches import Address
from prism.lang.facts.wraps import drop_wraps, sure, wraps


class Side:
    """One of the two accesses: its polynomials, what is not negative there, and the bounds that follow."""

    def __init__(
        self, known: Known, indices: list[Form], guards: list[Form], side: int, extents: tuple[int, ...]
    ) -> None:
        lanes = [Digit(("lane", side, place)) for place in range(len(indices))]
        wide = [(lane, extent) for lane, extent in zip(lanes, extents, strict=True) if extent > 1]
        self.tighter: dict[Digit, Bounds] = {lane: (0, extent - 1) for lane, extent in wide}
        self.guards, self.range = guards, Range(known, self.tighter)
        self.indices = [
            add(index, {(lane,): 1}) if extent > 1 else index
            for index, lane, extent in zip(indices, lanes, extents, strict=True)
        ]
        self.never = False
        """Whether what holds there contradicts itself: nothing is accessed."""
        # Twice, as what a later guard says of one digit may tighten another by an earlier one. Each step keeps the bounds
        # right, so to stop early only leaves them wider than they might be.
        for guard in (*guards, *guards):
            if not self.never:
                self._tighten(guard)

    def bound_quotient(self, digit: Digit, form: Form, by: int) -> None:
        """What a number is at most, its quotient by a constant is too."""
        if by > 0 and self.range.form(form)[0] >= 0:
            for guard in self.guards:
                # A guard is 0 or more: so the number is at most the number and the guard. In `if x < n`, x + (n - x - 1) is
                # n - 1.
                most = self.range.form(add(form, guard))[1]
                if most < inf:
                    low, high = self.tighter.get(digit, (-inf, inf))
                    self.range.tighten(digit, (low, min(high, most // by)))

    def _tighten(self, guard: Form) -> None:
        for monomial, factor in guard.items():
            if len(monomial) > 1 and factor < 0:
                self._tighten_product(guard, monomial, -factor)
            if len(monomial) == 1:
                # f * d + rest >= 0, so f * d >= -most. For f = -2 and rest at most 7: d is at most 3. For f = 2: d is at
                # least -3. A whole number is rounded inwards: down for what it is at most, up for what it is at least.
                most = self.range.form(guard, but=monomial)[1]
                if most < inf:
                    low, high = self.tighter.get(monomial[0], (-inf, inf))
                    low, high = (low, min(high, most // -factor)) if factor < 0 else (max(low, -(most // factor)), high)
                    self.range.tighten(monomial[0], (low, high))
                    low, high = self.range.digit(monomial[0])
                    self.never = self.never or low > high

    def _tighten_product(self, guard: Form, monomial: tuple[Digit, ...], factor: int) -> None:
        """Bound a number whose product with others, of 1 or more, is bounded: it is at most the product."""
        most = self.range.form(guard, but=monomial)[1]
        ends = {digit: self.range.digit(digit) for digit in monomial}
        if not 0 <= most < inf or len(ends) < len(monomial) or any(low < 0 for low, _ in ends.values()):
            return
        for digit, (low, high) in ends.items():
            others = [least for other, (least, _) in ends.items() if other != digit]
            # x * n <= 12 with n >= 3 leaves x at most 4. With n = 0 it leaves x any value, so each other has to be 1 or more.
            if all(least >= 1 for least in others):
                self.range.tighten(digit, (low, min(high, most // (factor * prod(map(int, others))))))

    def positive(self, form: Form, more: Iterable[Form] = ()) -> bool:
        """Whether a polynomial is sure not to be negative."""
        # A number that is no less than one guard, or than two together, is not negative: i + j >= 0 by i >= 0 and j >= 0.
        if self.range.form(form)[0] >= 0:
            return True
        every, least, term = (*self.guards, *more), self.range.least, self.range.unbounded_term(form)
        if any(least(form, guard) >= 0 for guard in _having(term, every)):
            return True
        for place, guard in enumerate(self.guards, start=1):
            others = every[place:] if term in guard else _having(term, every[place:])
            if others:
                rest = add(form, guard, -1)
                if any(least(rest, other) >= 0 for other in _having(self.range.unbounded_term(rest), others)):
                    return True
        return False


def _having(term: tuple[Digit, ...] | None, guards: Sequence[Form]) -> Sequence[Form]:
    """Return those of some guards that may give a lower bound to a polynomial in which this term has none: few have the term."""
    return guards if term is None else [guard for guard in guards if term in guard]


def unwrap(known: Known, a: Address) -> Address:
    """Return an access with the values of the wraps in it that are sure to fit, where it stands."""
    memo: dict[Address, Address] = known.found.setdefault("unwrapped", {})
    if a not in memo:
        memo[a] = _unwrap(known, a)
    return memo[a]


def _unwrap(known: Known, a: Address) -> Address:
    forms = [*a.indices, *a.guards]
    if not any(True for form in forms for _ in wraps(form)):
        return a
    # The guards hold in the wraps' own terms, as the machine compares: wrap(i - 1) < n. They bound the wrap, not i - 1; that
    # i - 1 itself fits has to follow from the guards that have no wrap around it.
    side = Side(known, list(a.indices), [*a.guards, *following(known, a.guards)], 0, (1,) * len(a.indices))

    def plain(digit: Digit) -> bool:
        return digit.low == 1 and digit.high is None and sure(dict(digit.base[2]), digit.base[1], side.positive)

    found = [drop_wraps(form, plain) for form in forms]
    if found == forms:
        return a
    count = len(a.indices)
    return unwrap(known, replace(a, indices=tuple(found[:count]), guards=tuple(found[count:])))


def following(known: Known, guards: Iterable[Form]) -> Iterator[Form]:
    """Yield what follows from what is not negative, of the arguments of minima and maxima."""
    span = Range(known, {})
    return (more for guard in guards for more in consequences(guard, lambda form: span.form(form)[1]))


MOST = 16
"""Polynomials that are made of one."""


def consequences(guard: Form, most: Callable[[Form], float]) -> Iterator[Form]:
    """Yield what is not negative since a polynomial with minima and maxima is not; `most`: the most that one can be."""
    pending, made = [guard], 0
    while pending and made < MOST:
        form = pending.pop()
        for digit, factor in _extremes(form):
            rest = {m: f for m, f in form.items() if m != (digit,)}
            cases = [add(rest, multiply(dict(key), {(): factor})) for key in digit.base[3]]
            every = (digit.base[1] == EXTREMES[0]) == (factor > 0)
            left = cases if every else [case for case in cases if most(case) >= 0]
            if every or len(left) == 1:
                made += len(left)
                yield from left
                pending += left
                break


def _extremes(form: Form) -> Iterator[tuple[Digit, int]]:
    return ((m[0], f) for m, f in form.items() if len(m) == 1 and _whole(m[0]) and _is(m[0].base))


def _whole(digit: Digit) -> bool:
    return digit.low == 1 and digit.high is None


def _is(base: Base) -> bool:
    return bool(base[0] == "apply" and base[1] in EXTREMES)
