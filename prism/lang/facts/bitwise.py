"""Bit operators on polynomials: numbers whose terms share no bit are taken apart into bits, and these are put together.

`t / 8 * 8 + t % 8` has the bits of t, and `(t / 8 * 8 + t % 8) ^ r` for r from 0 to 7 changes the lowest three of them. What
meets in one place of an xor is an atom `("xor", keys)`: of bits where both numbers can be cut there, of larger pieces, or of
both numbers as they are. An xor with a bit that is 1 is a difference, 1 - bit, so that constants leave no atom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

from prism.lang.facts.polynomials import MOST_BITS, Digit, Form, Key, Range, add, atom, constant, number
from prism.lang.keep.bases import Frozen

ONE: Form = {(): 1}


class Piece(Frozen):
    """`value * 2**place` of a number; `value` has so many bits: infinitely many, of a number that nothing bounds."""

    place: int
    width: float
    value: Form

    @property
    def end(self) -> float:
        """Where the next piece may begin."""
        return self.place + self.width


def xor(range_: Range, left: Form, right: Form) -> Form:
    """Return `left ^ right`."""
    found = _cut_xor(range_, left, right)
    if found is not None:
        return found
    above, low, less = _split_low_bits(range_, left, right)
    joint: Form = {}
    others: list[Form] = []
    for value in sorted(map(dict, operands(range_, low) ^ operands(range_, less)), key=lambda v: _widest(range_, v)):
        found = _cut_xor(range_, joint, value) if _widest(range_, value) < inf else None
        if found is None:
            others.append(value)
        else:
            joint = found
    return add(above, exclusive(range_, [joint, *others]))


def _cut_xor(range_: Range, left: Form, right: Form) -> Form | None:
    """Return `left ^ right`, or None where the two have no pieces."""
    return _join(range_, left, right, lambda met, width: _xor(met, range_) if width == 1 else exclusive(range_, met))


def union(range_: Range, left: Form, right: Form) -> Form | None:
    """Return `left | right`, or None where it is not known."""

    def either(met: Sequence[Form], width: float) -> Form | None:
        return met[0] if met[0] == met[1] else ONE if width == 1 and ONE in met else None

    return _join(range_, left, right, either)


def _join(range_: Range, left: Form, right: Form, meet: Callable[[Sequence[Form], float], Form | None]) -> Form | None:
    """Return two numbers as one: `meet` says what pieces of both become that meet, None where that is not known."""
    above, low, less = _split_low_bits(range_, left, right)
    sides = _both(range_, low, less)
    if sides is None:
        return None
    total = above
    for place, width, met in _meetings(*sides):
        value = met[0] if len(met) == 1 else meet(met, width)
        if value is None:
            return None
        total = add(total, value, 1 << place)
    return join_digits(total)


def mask_form(range_: Range, form: Form, mask: int) -> Form | None:
    """Return `form & mask`, or None where it is not known."""
    if mask < 0:  # all but some bits
        taken = mask_form(range_, form, ~mask)
        return None if taken is None or range_.form(form)[0] < 0 else join_digits(add(form, taken, -1))
    found = pieces(range_, form, mask.bit_length())
    if found is None:
        return None
    total: Form = {}
    for piece in found:
        here = mask >> piece.place
        if piece.width == inf:
            if here:
                return None
        elif here & ((1 << int(piece.width)) - 1) == (1 << int(piece.width)) - 1:
            total = add(total, piece.value, 1 << piece.place)
        elif here & ((1 << int(piece.width)) - 1):
            return None
    return join_digits(total)


# -- pieces -----------------------------------------------------------------------------------------------------------------


def pieces(range_: Range, form: Form, most: int) -> list[Piece] | None:
    """Return what a number is made of, lowest first, if its terms share no bit; bits beyond `most` may stay in one piece."""
    found: list[Piece] = []
    rest = form.get((), 0)
    for monomial, factor in form.items():
        if not monomial:
            continue
        size = abs(factor)
        low, high = range_.form({monomial: 1})
        if size & (size - 1) or low < 0:
            return None
        for part in _cut(monomial, size.bit_length() - 1, high, most):
            if factor > 0:
                found.append(part)
            elif part.width == 1:  # -x is 1 - x, less 1
                found.append(Piece(part.place, 1, add(ONE, part.value, -1)))
                rest -= 1 << part.place
            else:
                return None
    if rest < 0 or rest.bit_length() > MOST_BITS:
        return None
    found += [Piece(place, 1, ONE) for place in range(rest.bit_length()) if rest >> place & 1]
    found.sort(key=lambda piece: piece.place)
    return None if any(one.end > two.place for one, two in zip(found, found[1:], strict=False)) else found


def _cut(monomial: tuple[Digit, ...], place: int, high: float, most: int) -> Iterator[Piece]:
    """Yield the bits of a term, if it is a digit that has bits; or the term as it is."""
    width = int(high).bit_length() if high < inf else inf
    (digit, *others) = monomial
    number_of = None if digit.high is None else digit.high // digit.low
    plain = number_of is None or not number_of & (number_of - 1)
    if not width:
        return
    if width == 1 or others or digit.base[0] not in ("id", "trip") or not plain or (width < inf and width > MOST_BITS):
        yield Piece(place, width, {monomial: 1})
        return
    bits = int(width) if width < inf else max(0, most - place)
    for k in range(bits):
        low = digit.low << k
        last = width < inf and digit.high is None and k + 1 == bits
        yield Piece(place + k, 1, {(Digit(digit.base, low, None if last else 2 * low),): 1})
    if width == inf:
        yield Piece(place + bits, inf, {(Digit(digit.base, digit.low << bits),): 1})


def _split_low_bits(range_: Range, left: Form, right: Form) -> tuple[Form, Form, Form]:
    """Return two numbers as a multiple of 2**k and two rests, of k bits each if it is not 0: of the one that has more bits."""
    for one, two in ((left, right), (right, left)):
        low, high = range_.form(two)
        while 0 <= low <= high < 1 << MOST_BITS:
            by = 1 << int(high).bit_length()
            rest = {m: f for m, f in one.items() if f % by}
            low, most = range_.form(rest)
            if low >= 0 and most < by:
                return add(one, rest, -1), rest, two
            high = max(most, 2 * high)
    return {}, left, right


def _both(range_: Range, left: Form, right: Form) -> tuple[list[Piece], list[Piece]] | None:
    ends = [high for _, high in (range_.form(left), range_.form(right)) if high < inf]
    if not ends:
        return None
    most = int(max(ends)).bit_length()
    one, two = pieces(range_, left, most), pieces(range_, right, most)
    if one is None or two is None or most > MOST_BITS:
        return None
    return one, two


def _widest(range_: Range, form: Form) -> float:
    """Return the bits of a number's largest piece; infinitely many where it has none."""
    found = pieces(range_, form, MOST_BITS)
    return inf if found is None else max((piece.width for piece in found), default=0)


def _meetings(one: list[Piece], two: list[Piece]) -> Iterator[tuple[int, float, tuple[Form, ...]]]:
    """Yield where pieces of two numbers meet, how many bits that is, and what is there of the one and of the other."""
    sides: tuple[list[Piece], list[Piece]] = [], []
    place, end = 0, 0.0
    for piece, side in sorted([*((p, 0) for p in one), *((p, 1) for p in two)], key=lambda item: item[0].place):
        if any(sides) and piece.place >= end:
            yield place, end - place, tuple(_sum(side, place) for side in sides if side)
            sides = [], []
        if not any(sides):
            place = piece.place
        sides[side].append(piece)
        end = max(end, piece.end)
    if any(sides):
        yield place, end - place, tuple(_sum(side, place) for side in sides if side)


def _sum(taken: list[Piece], place: int) -> Form:
    total: Form = {}
    for piece in taken:
        total = add(total, piece.value, 1 << (piece.place - place))
    return join_digits(total)


def join_digits(form: Form) -> Form:
    """Return a polynomial with digits that follow one another as one digit."""
    total = dict(form)
    alone = sorted((m[0] for m in form if len(m) == 1), key=lambda digit: -digit.low)
    for digit in alone:
        above = next((m for m in total if len(m) == 1 and m[0].base == digit.base and m[0].low == digit.high), None)
        if above is None or total[above] != total[digit,] * ((digit.high or 0) // digit.low):
            continue
        whole = (Digit(digit.base, digit.low, above[0].high),)
        del total[above]
        factor = total.pop((digit,))
        total[whole] = total.get(whole, 0) + factor
    return {m: f for m, f in total.items() if f}


# -- what is in one place -----------------------------------------------------------------------------------------------------


def operands(range_: Range, form: Form) -> frozenset[Key]:
    """Return the numbers whose xor a number is: of a bit that is subtracted from 1, one more, the 1."""
    negative = {m: -f for m, f in form.items() if m}
    if form.get(()) == 1 and len(negative) == 1 and range_.form(negative) in ((0, 0), (0, 1)):
        return operands(range_, negative) ^ {_key(ONE)}
    (monomial, factor), *others = form.items() if form else [((), 0)]
    if factor == 1 and not others and len(monomial) == 1 and monomial[0].base[0] == "xor":
        found: frozenset[Key] = monomial[0].base[1]
        return found
    return frozenset({_key(form)} if form else ())


def exclusive(range_: Range, values: Iterable[Form]) -> Form:
    """Return the xor of numbers that are not cut."""
    keys: frozenset[Key] = frozenset()
    fixed = 0
    for value in values:
        for key in operands(range_, value):
            known = number(dict(key))
            if known is None:
                keys ^= {key}
            else:
                fixed ^= known
    if not keys or not fixed:
        return _atom(keys) if keys else constant(fixed)
    return _atom(keys | {_key(constant(fixed))})


def _xor(values: Iterable[Form], range_: Range) -> Form:
    """Return the xor of bits, without a 1 among them."""
    keys: frozenset[Key] = frozenset()
    for value in values:
        keys ^= operands(range_, value)
    one = _key(ONE)
    return add(ONE, _atom(keys - {one}), -1) if one in keys else _atom(keys)


def _atom(keys: frozenset[Key]) -> Form:
    if len(keys) == 1:
        return dict(next(iter(keys)))
    return atom(("xor", keys)) if keys else {}


def _key(form: Form) -> Key:
    return frozenset(form.items())
