"""The stride rule: what follows from `p * A + a = p * B + b`, where both sides have the number p in common.

Then a - b is a multiple of p, and of `g * p` where all terms in which A and B differ are multiples of g. So if a and b are less
than `g * p` apart, A = B and a = b. They are where both are from 0 to `g * p - 1`; or both from `1 - g * p` to 0, of rows that
are counted from the end. What a and b have in common may be left out before.

That a unit's index is less than the number of units, times what multiplies both, is known here too: of threads of the grid, there
are at most as many as blocks, times the most that a block has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import Protocol

from prism.lang.facts.polynomials import BLOCKS, THREADS, Digit, Form, Range, add, atom, constant, digits_of, multiply
from prism.lang.types.perspective import BLOCK, GRID, Level

Beside = Callable[[Form, Digit], Iterable[Form]]
"""What is not negative since a remainder, or an index, is less than a number."""


class Side(Protocol):
    """One access: what its digits can be, and whether a polynomial is sure not to be negative there."""

    @property
    def range(self) -> Range: ...

    def positive(self, form: Form, more: Iterable[Form] = ()) -> bool: ...


def terms_are_apart(
    sides: tuple[Side, Side],
    forms: tuple[Form, Form],
    pivot: Digit,
    same: Callable[[Digit], bool],
    beside: tuple[Beside, Beside],
) -> bool:
    """Whether the terms with a pivot are equal alone, and so are the others."""
    wide = [{m: f for m, f in form.items() if pivot in m} for form in forms]
    rest = [{m: f for m, f in form.items() if pivot not in m} for form in forms]
    times = _step(wide[0], wide[1], same)
    common = {m: f for m, f in rest[0].items() if rest[1].get(m) == f and all(map(same, m))}
    less = [add(form, common, -1) for form in rest]
    ways = ((rest, 1), (less, -1), (less, 1))
    return any(
        all(
            _is_below(side, add({}, form, sign), pivot, times, more)
            for side, form, more in zip(sides, found, beside, strict=True)
        )
        for found, sign in ways
    )


def _step(one: Form, two: Form, same: Callable[[Digit], bool]) -> int:
    """Return what divides the difference of two polynomials, whatever the digits that are not the same."""
    agreed = [{m: f for m, f in form.items() if all(map(same, m))} for form in (one, two)]
    vary = [f for form, known in ((one, agreed[0]), (two, agreed[1])) for m, f in form.items() if m not in known]
    return max(1, gcd(*vary, *add(agreed[0], agreed[1], -1).values()))


def _is_below(side: Side, rest: Form, pivot: Digit, times: int, beside: Beside) -> bool:
    """Whether a polynomial is sure to be from 0 to `times` pivots less 1."""
    room = add(add({(pivot,): times}, rest, -1), constant(-1))
    if not side.positive(rest):
        return False
    more = [*beside(rest, pivot), *bound_counts(side.range, rest, pivot), *bound_along(rest, pivot)]
    return side.positive(room, more) or (
        times > 1 and side.positive(room, [multiply(form, constant(times)) for form in more])
    )


def bound_along(form: Form, pivot: Digit) -> Iterator[Form]:
    """Yield what is not negative since a block has as many threads as the numbers along its axes make: along the last axis too.

    The index there is what is left of a thread's number, divided by the numbers along all other axes. So it is with blocks.
    """
    match pivot.base:
        case ("along", str(what), axis, axes) if axis == axes - 1:
            index = atom(THREADS if what == "threads" else BLOCKS)
            for before in range(axis):
                divisor = atom(("along", what, before, axes))
                index = atom(("quotient", frozenset(index.items()), frozenset(divisor.items())))
            if all(digit in digits_of(form) for digit in digits_of(index)):
                yield add(add({(pivot,): 1}, index, -1), constant(-1))
        case _:
            pass


def bound_counts(known: Range, form: Form, pivot: Digit) -> Iterator[Form]:
    """Yield what is not negative since units are counted through the grid, in blocks of so many at most."""
    if pivot.base != ("count", BLOCK, GRID):
        return
    for digit in digits_of(form):
        match digit.base:
            case ("id", unit, code) if code == GRID and unit.level == Level.THREAD and digit == Digit(digit.base):
                yield add(add({(pivot,): known.known.threads // unit.size}, {(digit,): 1}, -1), constant(-1))
            case _:
                pass
