"""Which values are what their text says, and which only modulo their type's range.

An index is read as a polynomial over whole numbers (digits.py); the machine computes in types. What is computed there is the
polynomial's value where it is sure to fit: its bounds say so, or it is a sum, difference, product or opposite in a signed type
of 32 bits or more, which must not overflow. Anything else is an atom `("wrap", type, key)`: the polynomial's value modulo
2^bits, in the type's range. Unsigned arithmetic drops bits, and so do shifts to the left and conversions to a type that can't
hold the value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from math import inf

from prism.lang import tree
from prism.lang.facts.bounds import Bounds, fits, span
from prism.lang.facts.polynomials import HUGE, Digit, Form, Range, add, atom, constant, multiply
from prism.lang.types import INT32

ASSUMED = ("+", "-", "*")
"""Operators whose results, in a signed type of 32 bits or more, are the program's promise to fit."""


def must_fit(op: str, type_: tree.Scalar, bounds: Bounds, fewest: Callable[[], Bounds]) -> bool:
    """Whether a result is taken to fit: a signed one, unless its bounds are known and say that it may not.

    `fewest`: its bounds where there are two units, or two trips. What does not fit even there is a promise that nothing keeps in
    which two could meet: of `id() * 2**30 * 4` 32 bits leave 0, whichever the thread.
    """
    if type_.kind != "int" or type_.bits < 32 or op not in ASSUMED:
        return False
    # Where an end is unknown, the promise stands for it: `x + 1` is x + 1. Where it is known and too far, it is not relied
    # on: then nothing is concluded from a sum that some run may make wrap.
    least, most = span(type_)
    if -inf < bounds[0] < least or most < bounds[1] < inf:
        return False
    return (bounds[0] > -inf and bounds[1] < inf) or fits(fewest(), type_)


def wrap_form(range_: Range, type_: tree.Scalar, form: Form) -> Form:
    """Return a polynomial's value modulo a type's range; wraps within it that drop no more bits are seen through."""
    # uint8(uint32(x)) is uint8(x): what 32 bits drop, a multiple of 2^32, is a multiple of 2^8 too. Not the other way round:
    # uint32(uint8(x)) stays what 8 bits left.
    total = drop_wraps(form, lambda digit: digit.base[1].bits >= type_.bits)
    return total if fits(range_.form(total), type_) else atom(("wrap", type_, frozenset(total.items())))


def computation_type(e: tree.Expr, given: Mapping[tree.Symbol, tree.Scalar]) -> tree.Scalar:
    """Return the type in which C++ computes a number, where a lambda's parameters stand for numbers of these types."""
    return _computed(e, given) if given else _own_type(e)


@functools.lru_cache(maxsize=4096)
def _own_type(e: tree.Expr) -> tree.Scalar:
    return _computed(e, {})


def _computed(e: tree.Expr, given: Mapping[tree.Symbol, tree.Scalar]) -> tree.Scalar:
    assert isinstance(e.type, tree.Scalar)
    match e:
        case tree.Var(symbol=symbol):
            return given.get(symbol, e.type)
        case tree.Unary(operand=operand) if e.type.integral:
            return promote(computation_type(operand, given), e.type)
        case tree.Binary(op="<<" | ">>", left=left):
            return promote(computation_type(left, given), e.type)
        case tree.Binary(left=left, right=right) if e.type.integral:
            one, two = computation_type(left, given), computation_type(right, given)
            wide = one if one.bits > two.bits or (one.bits == two.bits and one.kind == "uint") else two
            return promote(wide, e.type)
        case _:
            return e.type


def promote(of: tree.Scalar, to: tree.Scalar) -> tree.Scalar:
    """Return the type of a result: narrow numbers are computed in `int`, and cast back where the language has it so."""
    if to.bits < 32:
        return to
    return of if of.bits >= 32 else INT32


# -- seen through -----------------------------------------------------------------------------------------------------------


def wraps(form: Form) -> Iterator[Digit]:
    """Yield the wraps among a polynomial's digits."""
    return (digit for monomial in form for digit in monomial if digit.base[0] == "wrap")


def drop_wraps(form: Form, gone: Callable[[Digit], bool]) -> Form:
    """Return a polynomial with what is inside in the place of some wraps."""
    total: Form = {}
    for monomial, factor in form.items():
        # Products keep what is inside whole: 4 * wrap(x) becomes 4 * x, which is equal but for a multiple of 4 * 2^bits.
        term: Form = {(): factor}
        for digit in monomial:
            inside = digit.base[0] == "wrap" and gone(digit)
            term = multiply(term, dict(digit.base[2]) if inside else {(digit,): 1})
        total = add(total, term)
    return total if all(abs(factor) < HUGE for factor in total.values()) else form


def sure(form: Form, type_: tree.Scalar, positive: Callable[[Form], bool]) -> bool:
    """Whether a polynomial is sure to fit in a type, by what is known not to be negative."""
    # A wrap of what is in the type's range is that itself: no multiple of 2^bits but 0 leaves it in the range.
    least, most = span(type_)
    return positive(add(form, constant(-int(least)))) and positive(add(constant(int(most)), form, -1))
