"""What `assume(distinct(values))` says of accesses: those that had equal values at one place in the text are of one unit.

The claim is of all evaluations at one place, in one launch. So it says something of two accesses only where both are made behind
the same place: at two places units may have the same values. And only where the values are the ones that were had there: they
are read as polynomials of names that never change, and what a changed name is in them is not known to be equal to anything.
"""

from __future__ import annotations

from collections.abc import Callable

from prism.lang.facts.polynomials import Digit, Form, digits_of
from prism.lang.keep.bases import Frozen
from prism.lang.tree import Distinct
from prism.lang.types.perspective import Perspective


class Told(Frozen):
    """The values that an access's unit had at a place before it."""

    place: Distinct
    values: tuple[Form, ...]


def one_unit(
    one: tuple[Told, ...],
    two: tuple[Told, ...],
    unit: Perspective,
    refined: Callable[[Form], Form],
    same: Callable[[Digit], bool],
) -> bool:
    """Whether two accesses are sure to be of one `unit`, since both had equal values at a place where units differ in them.

    Units of the place's that are one are in one of all broader ones. `same`: whether a digit is equal on both sides.
    """

    def equal(a: Form, b: Form) -> bool:
        """Whether two polynomials are the same one, of numbers that are the same on both sides."""
        return dict(a) == dict(b) and all(map(same, digits_of(refined(a))))

    pairs = ((a, b) for a in one for b in two if a.place is b.place and a.place.unit <= unit)
    return any(all(map(equal, a.values, b.values)) for a, b in pairs)
