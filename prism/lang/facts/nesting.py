"""What follows from `strides_nest`: elements that are at one place have the same index along each axis.

`strides_nest(n0, s0, n1, s1, ...)` says that each stride is larger, without its sign, than all smaller ones reach. Let two
indices, each from 0 to n - 1 along each axis, be at one place: `sum(i * s) = sum(j * s)`. Along the axis of the largest stride,
of those of more than one element, i = j: else the two sides differ there by the stride at least, and what all the smaller ones
reach does not make up for it. So it goes on with the next smaller one. Along an axis of one element both are 0. So i = j along
all axes.

For that, an address is written as such a sum: each of its terms is a multiple of some axis' stride, or nothing is found. That is
the address itself, however its terms are dealt out. Then each index must be sure to be from 0 to n - 1, on both sides, and
extents and strides must be the same on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from prism.lang.facts.polynomials import Digit, Form, Range, add, atom, constant, digits_of, number
from prism.lang.intrinsics.layouts import strides_nest

Axis = tuple[Form, Form]
"""An extent and a stride."""
Refine = Callable[[Form], Form]
"""Cuts a polynomial's digits as all others are."""


class Side(Protocol):
    """An access: what its digits can be, and whether a polynomial is sure not to be negative there."""

    range: Range

    def positive(self, form: Form, more: Iterable[Form] = ()) -> bool:
        """Whether a polynomial is sure not to be negative; neither are `more`."""


def axes_of(guards: Iterable[Form], refined: Refine) -> Iterator[tuple[Axis, ...]]:
    """Yield the axes of the strides that nest, as some of what holds says."""
    for guard in guards:
        for digit in digits_of(guard):
            match digit.base:
                # A truth value, 0 or 1, is 1 where it, less 1, is not negative.
                case ("apply", (strides_nest.name, _), _, keys) if guard == add(atom(digit.base), constant(-1)):
                    forms = [refined(dict(key)) for key in keys]
                    yield tuple(zip(forms[::2], forms[1::2], strict=True))
                case _:
                    pass


def indices(axes: Sequence[Axis], form: Form) -> tuple[Form, ...] | None:
    """Return the index along each axis, of an element at this place; None where it is no sum of multiples of strides."""
    strides = [next(iter(stride.items())) if len(stride) == 1 else None for _, stride in axes]
    if any(stride is None and form_ for stride, (_, form_) in zip(strides, axes, strict=True)):
        return None
    order = sorted(
        (k for k, stride in enumerate(strides) if stride is not None),
        key=lambda k: (len(strides[k][0]), abs(strides[k][1])),  # type: ignore[index]
        reverse=True,
    )
    found: list[Form] = [{} for _ in axes]
    for monomial, factor in form.items():
        for k in order:
            unit, size = strides[k] or ((), 0)
            rest = _quotient(monomial, unit)
            if rest is not None and factor % size == 0:
                found[k] = add(found[k], {rest: factor // size})
                break
        else:
            return None
    return tuple(found)


def _quotient(monomial: tuple[Digit, ...], by: tuple[Digit, ...]) -> tuple[Digit, ...] | None:
    """Return a product without some of its factors, or None where it has them not."""
    left = list(monomial)
    for digit in by:
        if digit not in left:
            return None
        left.remove(digit)
    return tuple(left)


def is_in_extent(side: Side, refined: Refine, index: Form, extent: Form) -> bool:
    """Whether an index is sure to be from 0 to the extent less 1."""
    return side.positive(index) and at_most(side, refined, index, add(extent, constant(-1)))


def at_most(side: Side, refined: Refine, small: Form, large: Form) -> bool:
    """Whether one number is sure not to be larger than another.

    Quotients of numbers that are not negative grow with these; a remainder is less than its divisor; so is a unit's index than
    the number of units.
    """
    for one in _quotients(small):
        for two in _quotients(large):
            same = one[0].base[2] == two[0].base[2] and small[one] == large[two] > 0
            if same and _grows(side, refined, one[0], two[0]):
                return at_most(side, refined, _but(small, one), _but(large, two))
    total = small
    for monomial, factor in small.items():
        if factor > 0 and len(monomial) == 1 and monomial[0].base[0] == "remainder" and not _cut(monomial[0]):
            _, above, below = monomial[0].base
            least = add(refined(dict(below)), constant(-1))
            if side.positive(refined(dict(above))) and side.positive(least):
                total = add(_but(total, monomial), least, factor)
    for one in _quotients(large):
        _, above, below = one[0].base
        above, below, rest = refined(dict(above)), number(dict(below)), add(small, _but(large, one), -1)
        if large[one] == 1 and below is not None and below > 0 and side.positive(above):
            return side.positive(
                add(above, rest, -below)
            )  # a whole number is at most a / n where n times it is at most a
    more = list(_counts(side.range, refined, large))
    return any(side.positive(add(large, form, -1), more) for form in ((small,) if total == small else (small, total)))


def _quotients(form: Form) -> Iterator[tuple[Digit, ...]]:
    return (m for m in form if len(m) == 1 and m[0].base[0] == "quotient" and not _cut(m[0]))


def _cut(digit: Digit) -> bool:
    """Whether it is a part of its number alone."""
    return digit.low != 1 or digit.high is not None


def _grows(side: Side, refined: Refine, one: Digit, two: Digit) -> bool:
    """Whether a quotient is sure not to be larger than another, of the same divisor."""
    small, large, divisor = (refined(dict(key)) for key in (one.base[1], two.base[1], one.base[2]))
    sound = side.positive(small) and side.positive(add(divisor, constant(-1)))
    return sound and at_most(side, refined, small, large)


def _but(form: Form, monomial: tuple[Digit, ...]) -> Form:
    return {m: f for m, f in form.items() if m != monomial}


def _counts(range_: Range, refined: Refine, form: Form) -> Iterator[Form]:
    for base in dict.fromkeys(d.base for d in digits_of(form) if d.base[0] == "count"):
        yield add(add(atom(base), refined(Range(range_.known, {}).index(*base[1:])), -1), constant(-1))
