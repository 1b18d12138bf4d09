"""Claims and arguments as text: what theory/proofs reads, and this package.

(argument "name"
 (numbers (one 0 _) (own 0 127))            for both accesses one, or each its own; the least, the greatest (`_`: nobody says)
 (agree e ...)                              equal for both
 (told ((less a b) ...) ((less a b) ...) ((a b) ...) ((a b) ...)) ...)
                                            rules: what is asked of each access, and of both; what then is equal
 (first (less a b) ...) (second ...)        what holds where each access is made: less, atmost, equal
 (index (a b) ...)                          the places of both, along each axis
 (goal e ...)                               or (never)
 (atoms (first 0) (div p 32) ...)
 (steps (range 0 0) (sum (p 3) ...) ...)
 (witness (0 1) (1 1)))

Expressions are numbers, `(var 0)`, `(add a b)`, `(as i32 a)` and `(fits i32 a)`. A polynomial is `(p (3 0 0) (-1))`: three times
atom 0 squared, less 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from prism.lang.certify.machine import MOST_BITS, Claim, Rule
from prism.lang.certify.steps import OPERATORS, Argument, Poly, add, proves
from prism.lang.certify.text import Malformed, read_forms

TYPE = re.compile(r"[iu][1-9][0-9]{0,2}")
RELATIONS = frozenset({"less", "atmost", "equal"})
STEPS: Mapping[str, str] = {
    "range": "sn", "where": "sn", "agreed": "n", "meets": "n", "told": "r", "promised": "snw", "sum": "q", "product": "nn",
    "round": "zn", "radix": "nppnn", "both": "nn", "made": "n", "divided": "nnn", "masked": "nn", "mixed": "znnnnn",
    "undone": "nnnn", "joined": "znpnn", "alike": "nnnn",
}  # fmt: skip
"""What each step is given: s: a side; n: a place; z: a number; p: a polynomial; r: a rule, and places; w: a way; q: facts and
how often each is taken."""
MOST_DIGITS = 12


def spell(name: str, claim: Claim, argument: Argument) -> str:
    """Return a claim and what is said for it as text."""
    numbers = [
        (("one" if shared else "own"), *("_" if end is None else end for end in ends)) for shared, *ends in claim.vars
    ]
    told = [(*rule.where, rule.equal, rule.therefore) for rule in claim.told]
    rows: list[tuple[Any, ...]] = [
        ("numbers", *numbers), ("agree", *claim.agree), ("told", *told),
        ("first", *claim.where[0]), ("second", *claim.where[1]), ("index", *claim.index),
        ("never",) if claim.goal is None else ("goal", *claim.goal),
        ("atoms", *argument.atoms), ("steps", *argument.steps), ("witness", *map(tuple, argument.witness)),
    ]  # fmt: skip
    return "\n".join([f'(argument "{name}"', *(f" {_text(row)}" for row in rows)]) + ")\n"


def _text(part: Any) -> str:
    if isinstance(part, Mapping):
        return _text(("p", *((factor, *mono) for mono, factor in sorted(part.items()))))
    return f"({' '.join(map(_text, part))})" if isinstance(part, tuple) else str(part)


def read(text: str) -> Iterator[tuple[str, Claim, Argument]]:
    """Yield the claims that a text has, with what is said for each. Raises Malformed."""
    try:
        for form in read_forms(text):
            head, name, *rows = form
            if head != "argument":
                raise Malformed(f"there is no `({head} ...)`")
            yield (name, *_argument(rows))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"no argument: {error}") from None


def _argument(rows: list[Any]) -> tuple[Claim, Argument]:
    heads = tuple(row[0] for row in rows)
    numbers, agree, told, first, second, index, goal, atoms, steps, witness = (row[1:] for row in rows)
    if heads[:6] != ("numbers", "agree", "told", "first", "second", "index") or heads[7:] != (
        "atoms",
        "steps",
        "witness",
    ):
        raise ValueError("a row is missing")
    if heads[6] not in ("goal", "never") or (heads[6] == "never" and goal):
        raise ValueError("there is no goal")
    claim = Claim(
        tuple(map(_number, numbers)),
        tuple(map(_expression, agree)),
        (tuple(map(_condition, first)), tuple(map(_condition, second))),
        _pairs(index),
        None if heads[6] == "never" else tuple(map(_expression, goal)),
        tuple(map(_rule, told)),
    )
    one, two = witness
    if not all(isinstance(value, int) for value in (*one, *two)):
        raise ValueError("a witness is made of numbers")
    return claim, Argument(tuple(map(_atom, atoms)), tuple(map(_step, steps)), (one, two))


def _number(row: Any) -> tuple[bool, int | None, int | None]:
    kind, *ends = row
    low, high = (None if end == "_" else _whole(end) for end in ends)
    if kind not in ("one", "own"):
        raise ValueError(kind)
    return kind == "one", low, high


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value} is no number")
    return value


def _place(value: Any) -> int:
    if not 0 <= _whole(value) < 10**MOST_DIGITS:
        raise ValueError(f"{value} is no place")
    return int(value)


def _expression(e: Any) -> Any:
    if isinstance(e, int):
        return e
    head, *rest = e
    if head == "var":
        (v,) = rest
        return head, _place(v)
    if head in ("as", "fits"):
        type_, part = rest
        if not TYPE.fullmatch(type_) or int(type_[1:]) > MOST_BITS:
            raise ValueError(f"{type_} is no type")
        return head, type_, _expression(part)
    one, two = rest
    if head not in OPERATORS:
        raise ValueError(f"{head} is no operator")
    return head, _expression(one), _expression(two)


def _condition(row: Any) -> tuple[str, Any, Any]:
    rel, a, b = row
    if rel not in RELATIONS:
        raise ValueError(rel)
    return rel, _expression(a), _expression(b)


def _pairs(rows: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((_expression(a), _expression(b)) for a, b in rows)


def _rule(row: Any) -> Rule:
    first, second, equal, therefore = row
    return Rule((tuple(map(_condition, first)), tuple(map(_condition, second))), _pairs(equal), _pairs(therefore))


def _polynomial(form: Any) -> Poly:
    head, *terms = form
    if head != "p":
        raise ValueError(f"{head} is no polynomial")
    found: Poly = {}
    for factor, *mono in terms:
        found = add(found, {tuple(sorted(map(_place, mono))): _whole(factor)})
    return found


def _atom(row: Any) -> tuple[Any, ...]:
    match row:
        case ("first" | "second" as head, v):
            return head, _place(v)
        case ("name", p):
            return "name", _polynomial(p)
        case ("div", p, by):
            return "div", _polynomial(p), _whole(by)
        case (head, p, q) if head in OPERATORS:
            return head, _polynomial(p), _polynomial(q)
        case _:
            raise ValueError("there is no such atom")


def _step(row: Any) -> tuple[Any, ...]:
    head, *rest = row
    kinds = STEPS[head]
    if kinds == "q":
        return (head, *((_polynomial(times), _place(f)) for times, f in rest))
    if kinds == "r":
        n, first, second, both = rest
        return head, _place(n), *(tuple(map(_place, part)) for part in (first, second, both))
    if kinds == "snw":
        side, n, *way = rest
        if side not in (0, 1) or not set(way) <= {"left", "right", "inside"}:
            raise ValueError("no way")
        return head, side, _place(n), *way
    if len(kinds) != len(rest) or ("s" in kinds and rest[0] not in (0, 1)):
        raise ValueError(f"{head} is given something else")
    read_ = {"s": _place, "n": _place, "z": _whole, "p": _polynomial}
    return (head, *(read_[kind](part) for kind, part in zip(kinds, rest, strict=True)))


def verdicts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what the checker says of each argument of a text."""
    for name, claim, argument in [*read(text)]:
        yield name, proves(claim, argument)


__all__ = ["read", "spell", "verdicts"]
