"""What is known of quotients and remainders by numbers that are not constant, where an access stands.

Of x / d, where x is not negative and d is 1 or more, C's quotient q is floor(x / d): `d * q <= x`, and the remainder is from 0 to
d - 1. Where d is `minimum(a, b)`, what is less than d is less than a and than b. That a number f is 1 or more follows, too, from
`p * f >= 1` with `p >= 0`: then neither is 0, nor do their signs differ. So with `x < p * a` and `d = p * b` it is known that
`a - x / d * b` is 1 or more: what is left of a number of rows above the x-th tile's band of b rows, each of p tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from prism.lang.facts.polynomials import Digit, Form, Key, Range, add, constant, digits_of, multiply, operand_forms

Refine = Callable[[Form], Form]
"""Cuts a polynomial's digits where others of the same number end."""
ONE = constant(1)


class Side(Protocol):
    """One of two accesses: what its digits can be, and what is sure not to be negative there."""

    @property
    def range(self) -> Range: ...

    def positive(self, form: Form, more: Iterable[Form] = ()) -> bool:
        """Whether a polynomial is sure not to be negative; `more`: others of which that is known."""


def below_divisor(side: Side, refined: Refine, remainder: Digit) -> Iterator[Form]:
    """Yield what is not negative, for a remainder of what is not negative is less than its divisor, where that is 1 or more."""
    above, by = operand_forms(remainder.base)
    if remainder == Digit(remainder.base) and side.range.form(refined(above))[0] >= 0 and _one(side, refined, by):
        for most in (by, *_parts(by)):
            yield add(add(refined(most), ONE, -1), {(remainder,): 1}, -1)


def _parts(form: Form) -> Iterator[Form]:
    """Yield numbers that a minimum is not greater than."""
    for part in _minimum(form):
        yield part
        yield from _parts(part)


def _minimum(form: Form) -> tuple[Form, ...]:
    """Return the two numbers of which a polynomial is the smaller one; nothing where it is no minimum."""
    match [*form.items()]:
        case [((Digit(base=("apply", "minimum", _, (left, right)), low=1, high=None),), 1)]:
            return _form(left), _form(right)
        case _:
            return ()


def _form(key: Key) -> Form:
    return dict(key)


def _one(side: Side, refined: Refine, form: Form) -> bool:
    """Whether a polynomial is sure to be 1 or more: by bounds, as the smaller of two such, or as a factor of a product."""
    parts = _minimum(form)
    if parts:
        return all(_one(side, refined, part) for part in parts)
    form = refined(form)
    return side.positive(add(form, ONE, -1)) or _factor(side, refined, form)


def _factor(side: Side, refined: Refine, form: Form) -> bool:
    """Whether the product with some number that is not negative is sure to be 1 or more, by what quotients in it say."""
    quotients = dict.fromkeys(d.base for d in digits_of(form) if d.base[0] == "quotient")
    floors = [floor for base in quotients for floor in _floor(side, refined, Digit(base))]
    others = {d: None for base in quotients for d in digits_of(refined(operand_forms(base)[1]))}
    return bool(floors) and any(
        side.positive(add(multiply({(other,): 1}, form), ONE, -1), floors)
        for other in others
        if side.range.digit(other)[0] >= 0
    )


def _floor(side: Side, refined: Refine, quotient: Digit) -> Iterator[Form]:
    """Yield what a quotient leaves of a number, which is not negative: where the number is not, and its divisor is 1 or more."""
    above, by = map(refined, operand_forms(quotient.base))
    if side.range.form(above)[0] >= 0 and side.range.form(by)[0] >= 1:
        yield add(above, multiply(by, {(quotient,): 1}), -1)
