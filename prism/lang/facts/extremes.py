"""What is known of minima and maxima of integers, in what is not negative.

A minimum is one of its arguments, and at most each of them; a maximum is one of them, and at least each. So where
`c * min(a, b) + r` is not negative, for a positive c, neither is `c * a + r`. Where `c * max(a, b) + r` is not,
neither is one of `c * a + r` and `c * b + r`: the first, if the second surely is. For a negative c minima and maxima
change places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prism.lang.facts.polynomials import EXTREMES, Base, Digit, Form, add, multiply

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
