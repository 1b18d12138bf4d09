"""Claims that two accesses are apart, and what the machine computes: all that is asked of them beside arguments (`steps`).

Expressions are an integer, `("var", v)`, `(op, a, b)`, `("as", type, a)` or `("fits", type, a)`; the last is said to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Expr = Any
Condition = tuple[str, Expr, Expr]
Values = Sequence[int]
MOST_BITS = 256
"""Bits of a type, or of a shift: no machine has more."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is said of numbers: where comparisons hold at each access, and pairs of expressions are equal, other pairs are."""

    where: tuple[tuple[Condition, ...], tuple[Condition, ...]]
    equal: tuple[tuple[Expr, Expr], ...]
    therefore: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed of two accesses.

    `vars`: of each number, whether it is one for both accesses, the least and the greatest that it can be (None: nobody says).
    `agree`: expressions that are equal for both. `told`: rules, of which each holds. `where`:
    comparisons `(rel, a, b)` that hold where each is made. `index`: the places of both, along each axis. `goal`: what is equal if
    they meet; None: they never do.
    """

    vars: tuple[tuple[bool, int | None, int | None], ...]
    agree: tuple[Expr, ...]
    where: tuple[tuple[Condition, ...], tuple[Condition, ...]]
    index: tuple[tuple[Expr, Expr], ...]
    goal: tuple[Expr, ...] | None
    told: tuple[Rule, ...] = ()

    def expressions(self, side: int) -> list[Expr]:
        """Return the expressions of one access."""
        conditions = [e for _, a, b in self.where[side] for e in (a, b)]
        told = []
        for rule in self.told:
            told += [e for _, a, b in rule.where[side] for e in (a, b)]
            told += [pair[side] for pair in (*rule.equal, *rule.therefore)]
        return [*conditions, *self.agree, *told, *(self.goal or ()), *(pair[side] for pair in self.index)]


# -- types ------------------------------------------------------------------------------------------------------------------


def least(type_: str) -> int:
    """Return the least number of a type, which is written `i32` or `u8`."""
    return -(1 << bits(type_) - 1) if type_[0] == "i" else 0


def bits(type_: str) -> int:
    """Return how many bits a type has."""
    number = int(type_[1:])
    if type_[0] not in "iu" or not 0 < number <= MOST_BITS:
        raise ValueError(f"{type_} is no type")
    return number


def wrap(type_: str, value: int) -> int:
    """Return a number as a type has it."""
    return least(type_) + (value - least(type_)) % (1 << bits(type_))


# -- values ----------------------------------------------------------------------------------------------------------------

APPLY: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "quo": lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0,
    "rem": lambda a, b: a - b * APPLY["quo"](a, b),
    "shr": lambda a, b: a >> b if b >= 0 else a << -b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}


def evaluate(values: Values, e: Expr) -> tuple[int, bool]:
    """Return an expression's value on the machine, and whether its promises are kept."""
    if isinstance(e, int):
        return e, True
    head, *rest = e
    if head == "var":
        return values[rest[0]] if rest[0] < len(values) else 0, True
    if head in ("as", "fits"):
        found, kept = evaluate(values, rest[1])
        value = wrap(rest[0], found)
        return value, kept and (head == "as" or value == found)
    (a, one), (b, two) = (evaluate(values, part) for part in rest)
    return APPLY[head](a, b), one and two


def promises(e: Expr) -> bool:
    """Whether an expression has a part that is said to fit."""
    return isinstance(e, tuple) and (e[0] == "fits" or any(map(promises, e[1:])))


def is_possible(claim: Claim, one: Values, two: Values) -> bool:
    """Whether numbers keep to the ranges, to what both agree on, and to all promises."""
    for v, (shared, low, high) in enumerate(claim.vars):
        a, b = (values[v] if v < len(values) else 0 for values in (one, two))
        if (shared and a != b) or any((low is not None and x < low) or (high is not None and x > high) for x in (a, b)):
            return False
    sides = (one, two)
    if not all(evaluate(sides[side], e)[1] for side in (0, 1) for e in {*claim.expressions(side)}):
        return False
    return all(evaluate(one, e)[0] == evaluate(two, e)[0] for e in claim.agree) and all(
        obeys(rule, one, two) for rule in claim.told
    )


def obeys(rule: Rule, one: Values, two: Values) -> bool:
    """Whether numbers have what a rule says."""
    asked = all(holds(values, c) for values, side in zip((one, two), rule.where, strict=True) for c in side)
    same = [all(evaluate(one, a)[0] == evaluate(two, b)[0] for a, b in pairs) for pairs in (rule.equal, rule.therefore)]
    return same[1] or not (asked and same[0])


def is_witnessed(claim: Claim, one: Values, two: Values) -> bool:
    """Whether two accesses that are not of one unit keep all promises. If none could, the promises would prove anything."""
    if claim.goal is not None and all(evaluate(one, e)[0] == evaluate(two, e)[0] for e in claim.goal):
        return False
    return is_possible(claim, one, two)


def has_promises(claim: Claim) -> bool:
    """Whether anything in a claim is said to fit."""
    return any(promises(e) for side in (0, 1) for e in claim.expressions(side))


# -- brute force, for tests and for people ------------------------------------------------------------------------------------


def meetings(claim: Claim, sides: Iterator[tuple[Values, Values]]) -> Iterator[tuple[Values, Values]]:
    """Yield those of some values that show a claim to be false."""
    for one, two in sides:
        if not is_possible(claim, one, two):
            continue
        sides_ = (one, two)
        if not all(holds(sides_[side], c) for side in (0, 1) for c in claim.where[side]):
            continue
        if all(evaluate(one, a)[0] == evaluate(two, b)[0] for a, b in claim.index) and (
            claim.goal is None or any(evaluate(one, e)[0] != evaluate(two, e)[0] for e in claim.goal)
        ):
            yield one, two


def holds(values: Values, condition: tuple[str, Expr, Expr]) -> bool:
    """Whether a comparison holds."""
    rel, *parts = condition
    a, b = (evaluate(values, part)[0] for part in parts)
    return a < b if rel == "less" else a <= b if rel == "atmost" else a == b
