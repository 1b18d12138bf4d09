"""The checker of arguments: whether two accesses touch one element only where they are one unit's, or in one trip of a loop.

A claim has the indices of both accesses as the machine computes them, in types that wrap. An argument gives names to numbers
(`atoms`: quotients, remainders, parts of numbers) and derives facts: that a polynomial of atoms is not negative, or is 0. The
rules are those of theory/proofs/Apart.v, by the same names, where they are proved to suffice. Nothing here knows how arguments
are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism.lang.certify.machine import MOST_BITS, Claim, Expr, Values, bits, has_promises, is_witnessed, least

Mono = tuple[int, ...]
Poly = Mapping[Mono, int]
"""Products of atoms, by their numbers in order, with their factors; none is 0."""
Fact = tuple[str, Poly]
"""`("ge", p)`: p is not negative; `("is", p)`: p is 0."""
Atom = tuple[Any, ...]
Step = tuple[Any, ...]
OPERATORS = frozenset({"add", "sub", "mul", "quo", "rem", "shr", "and", "or", "xor", "min", "max"})
GE, IS = "ge", "is"


class Unproved(Exception):
    """A step that does not follow, or an argument that does not show what is claimed."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What is said for a claim. `witness`: values of all numbers, for both, with which all promises are kept."""

    atoms: tuple[Atom, ...]
    steps: tuple[Step, ...]
    witness: tuple[Values, Values] = ((), ())


# -- polynomials ------------------------------------------------------------------------------------------------------------


def const(value: int) -> Poly:
    """Return a number."""
    return {(): value} if value else {}


def atom(i: int) -> Poly:
    """Return an atom."""
    return {(i,): 1}


def add(p: Poly, q: Poly, times: int = 1) -> Poly:
    """Return `p + times * q`."""
    total = dict(p)
    _put(total, q, times)
    return total


def _put(total: dict[Mono, int], q: Poly, times: int) -> None:
    """Add `times * q` to a polynomial."""
    for mono, factor in q.items():
        left = total.get(mono, 0) + times * factor
        if left:
            total[mono] = left
        else:
            total.pop(mono, None)


def sub(p: Poly, q: Poly) -> Poly:
    """Return `p - q`."""
    return add(p, q, -1)


def mul(p: Poly, q: Poly) -> Poly:
    """Return the product."""
    if not any(p):
        return scale(p.get((), 0), q)
    if not any(q):
        return scale(q.get((), 0), p)
    total: dict[Mono, int] = {}
    for m, f in p.items():
        for n, g in q.items():
            mono = tuple(sorted((*m, *n)))
            total[mono] = total.get(mono, 0) + f * g
    return {mono: factor for mono, factor in total.items() if factor}


def scale(factor: int, p: Poly) -> Poly:
    """Return a multiple."""
    return {mono: factor * f for mono, f in p.items()} if factor else {}


def number(p: Poly) -> int | None:
    """Return a polynomial's value, where it is a number."""
    return None if any(p) else p.get((), 0)


def need(truth: bool) -> None:
    """Stop where something does not hold."""
    if not truth:
        raise Unproved


# -- the rules --------------------------------------------------------------------------------------------------------------


class Checker:
    """The rules, for one claim and the atoms of one argument."""

    def __init__(self, claim: Claim, atoms: Sequence[Atom]) -> None:
        self.claim, self.atoms = claim, atoms
        self.facts: list[Fact] = []
        self.places: dict[Any, int] = {}
        for i, one in enumerate(atoms):
            need(all(0 <= j < i for part in one if isinstance(part, Mapping) for mono in part for j in mono))
            self.places.setdefault(_key(one), i)
        self.memo: tuple[dict[int, tuple[Expr, Poly]], ...] = {}, {}
        """Values of expressions, by their identities: a part that stands in many is looked at once. It holds them, too."""

    def prove_claim(self, steps: Sequence[Step]) -> bool:
        """Whether steps prove the claim."""
        for step in steps:
            self.facts += self.follow(step)
        return any(map(absurd, self.facts)) or (
            self.claim.goal is not None and all(map(self.is_shown, self.claim.goal))
        )

    def find_atom(self, one: Atom) -> Poly:
        """Return an atom that is defined so."""
        i = self.places.get(_key(one))
        if i is None:
            raise Unproved
        return atom(i)

    # -- values of expressions

    def value(self, side: int, e: Expr) -> Poly:
        """Return the polynomial that is an expression's value for one of the accesses."""
        if isinstance(e, int):
            return const(e)
        found = self.memo[side].get(id(e))
        if found is None:
            found = self.memo[side][id(e)] = e, self._value(side, e)
        return found[1]

    def _value(self, side: int, e: Expr) -> Poly:
        head, *rest = e
        if head == "var":
            shared = rest[0] < len(self.claim.vars) and self.claim.vars[rest[0]][0]
            return self.find_atom(("second" if side and not shared else "first", rest[0]))
        if head in ("as", "fits"):
            type_, p = rest[0], self.value(side, rest[1])
            if head == "fits":
                return p
            return sub(
                p, scale(1 << bits(type_), self.find_atom(("div", sub(p, const(least(type_))), 1 << bits(type_))))
            )
        return self.apply(head, self.value(side, rest[0]), self.value(side, rest[1]))

    def apply(self, op: str, p: Poly, q: Poly) -> Poly:
        """Return the polynomial of an operator's result."""
        by = number(q)
        match op:
            case "add":
                return add(p, q)
            case "sub":
                return sub(p, q)
            case "mul":
                return mul(p, q)
            case "rem":
                return sub(p, mul(q, self.find_atom(("quo", p, q))))
            case "shr":
                need(by is not None and 0 <= by <= MOST_BITS)
                assert by is not None
                return self.find_atom(("div", p, 1 << by))
            case "and" if by is not None and by >= 0 and not by & (by + 1):
                return sub(p, scale(by + 1, self.find_atom(("div", p, by + 1))))
            case _:
                return self.find_atom((op, p, q))

    # -- steps

    def ge(self, f: int, p: Poly) -> None:
        """Stop unless a fact says that a polynomial is not negative, or is 0."""
        need(f >= 0 and self.facts[f][1] == p)

    def zero(self, f: int, p: Poly) -> None:
        """Stop unless a fact says that a polynomial is 0."""
        need(f >= 0 and self.facts[f] == (IS, p))

    def follow(self, step: Step) -> list[Fact]:  # noqa: C901
        """Return what follows by a step."""
        claim, (head, *rest) = self.claim, step
        match head:
            case "sum":
                return [self.sum(rest)]
            case "range":
                return self.bounds(*rest)
            case "where":
                side, n = rest
                rel, a, b = claim.where[side][n]
                return [self.compare(rel, self.value(side, a), self.value(side, b))]
            case "agreed":
                return [self.pair(claim.agree[rest[0]], claim.agree[rest[0]])]
            case "meets":
                return [self.pair(*claim.index[rest[0]])]
            case "told":
                return self.by_rule(*rest)
            case "promised":
                return self.fits(*rest)
            case "product":
                (one, p), (two, q) = self.facts[rest[0]], self.facts[rest[1]]
                need(min(rest) >= 0 and one == two == GE)
                return [(GE, mul(p, q))]
            case "round":
                return [self.round(*rest)]
            case "radix":
                return self.part(*rest)
            case "alike":
                return [self.match(*rest)]
            case "undone":
                return self.undo(*rest)
            case "both":
                f, g = rest
                kind, p = self.facts[f]
                need(f >= 0 and kind == GE)
                self.ge(g, scale(-1, p))
                return [(IS, p)]
            case _:
                return self.of_atom(head, *rest)

    def bounds(self, side: int, v: int) -> list[Fact]:
        """Return that a variable is between its bounds, those that it has."""
        _, low, high = self.claim.vars[v]
        p = self.value(side, ("var", v))
        found = [] if low is None else [(GE, sub(p, const(low)))]
        return found if high is None else [*found, (GE, sub(const(high), p))]

    def fits(self, side: int, n: int, *way: str) -> list[Fact]:
        """Return that a value fits its type, where an expression promises it: the way leads there from outside."""
        e = self.claim.expressions(side)[n]
        for turn in way:
            e = inner(e, turn)
        need(isinstance(e, tuple) and e[0] == "fits")
        p, low = self.value(side, e[2]), least(e[1])
        return [(GE, sub(p, const(low))), (GE, sub(const(low + (1 << bits(e[1])) - 1), p))]

    def part(self, f: int, g: Poly, a: Poly, hi: int, lo: int) -> list[Fact]:
        """Return that `a` and `b` are 0, where `g a + b` is, and `b` is smaller than `g`, and larger than `-g`."""
        kind, e = self.facts[f]
        need(f >= 0 and kind == IS)
        b, most = sub(e, mul(g, a)), sub(g, const(1))
        self.ge(hi, sub(most, b))
        self.ge(lo, add(most, b))
        return [(IS, a), (IS, b)]

    def undo(self, i: int, j: int, f: int, g: int) -> list[Fact]:
        """Return that two values are equal, where they are the same by `^` with equal ones."""
        (one, p, q), (two, left, right) = self.atoms[i], self.atoms[j]
        need(min(i, j, f, g) >= 0 and one == two == "xor")
        self.zero(f, sub(atom(i), atom(j)))
        if self.facts[g] == (IS, sub(p, left)):
            return [(IS, sub(q, right))]
        self.zero(g, sub(q, right))
        return [(IS, sub(p, left))]

    def by_rule(self, n: int, *places: tuple[int, ...]) -> list[Fact]:
        """Return what a rule says, where facts say what it asks for."""
        rule = self.claim.told[n]
        need(n >= 0 and [*map(len, places)] == [len(rule.where[0]), len(rule.where[1]), len(rule.equal)])
        for side in (0, 1):
            for (rel, a, b), f in zip(rule.where[side], places[side], strict=True):
                kind, p = self.compare(rel, self.value(side, a), self.value(side, b))
                self.zero(f, p) if kind == IS else self.ge(f, p)
        for (a, b), f in zip(rule.equal, places[2], strict=True):
            self.zero(f, sub(self.value(0, a), self.value(1, b)))
        return [self.pair(*pair) for pair in rule.therefore]

    def compare(self, rel: str, p: Poly, q: Poly) -> Fact:
        """Return what a comparison says."""
        need(rel in ("less", "atmost", "equal"))
        if rel == "equal":
            return IS, sub(p, q)
        return GE, sub(sub(q, p), const(1 if rel == "less" else 0))

    def pair(self, one: Expr, two: Expr) -> Fact:
        """Return that the value of one expression for the first access is that of another for the second."""
        return IS, sub(self.value(0, one), self.value(1, two))

    def sum(self, parts: Sequence[tuple[Poly, int]]) -> Fact:
        """Return the sum of facts, each as often as said."""
        total: dict[Mono, int] = {}
        kind = IS
        for times, f in parts:
            need(f >= 0)
            (one, p), n = self.facts[f], number(times)
            if one == GE:
                need(n is not None and n >= 0)
                kind = GE
            _put(total, *((mul(times, p), 1) if n is None else (p, n)))
        return kind, total

    def round(self, n: int, f: int) -> Fact:
        """Return a fact divided by a number: what it says of whole numbers."""
        need(n > 0 and f >= 0)
        kind, p = self.facts[f]
        rest, k = {mono: factor for mono, factor in p.items() if mono}, p.get((), 0)
        need(all(factor % n == 0 for factor in rest.values()))
        if kind == IS and k % n:
            return GE, const(-1)
        return kind, add(const(k // n), {mono: factor // n for mono, factor in rest.items()})

    def match(self, i: int, j: int, f: int, g: int) -> Fact:
        """Return that operators of equal numbers are equal."""
        one, two = self.atoms[i], self.atoms[j]
        need(min(i, j) >= 0 and one[0] == two[0] and one[0] in (*OPERATORS, "div"))
        self.zero(f, sub(one[1], two[1]))
        if one[0] == "div":
            need(one[2] == two[2])
        else:
            self.zero(g, sub(one[2], two[2]))
        return IS, sub(atom(i), atom(j))

    def of_atom(self, head: str, *rest: Any) -> list[Fact]:
        """Return what an atom is by what it is made of."""
        i = rest[1] if head in ("mixed", "joined") else rest[0]
        need(i >= 0)
        x = atom(i)
        match head, self.atoms[i], rest:
            case "made", ("name", p), _:
                return [(IS, sub(x, p))]
            case "made", ("div", p, n), _ if n > 0:
                r = sub(p, scale(n, x))
                return [(GE, r), (GE, sub(const(n - 1), r))]
            case "made", ("min", p, q), _:
                return [(GE, sub(p, x)), (GE, sub(q, x))]
            case "made", ("max", p, q), _:
                return [(GE, sub(x, p)), (GE, sub(x, q))]
            case "divided", ("quo", p, q), (_, f, g):
                self.ge(f, p)
                self.ge(g, sub(q, const(1)))
                r = sub(p, mul(q, x))
                return [(GE, x), (GE, r), (GE, sub(sub(q, const(1)), r))]
            case "masked", ("and", _, q), (_, f):
                self.ge(f, q)
                return [(GE, x), (GE, sub(q, x))]
            case "mixed", ("xor", p, q), (k, _, f, g, h, j):
                need(0 <= k <= MOST_BITS)
                most = const((1 << k) - 1)
                for fact, part in ((f, p), (g, sub(most, p)), (h, q), (j, sub(most, q))):
                    self.ge(fact, part)
                return [(GE, x), (GE, sub(most, x))]
            case "joined", ("or", p, q), (k, _, a, f, g):
                need(0 <= k <= MOST_BITS and p == scale(1 << k, a))
                self.ge(f, q)
                self.ge(g, sub(const((1 << k) - 1), q))
                return [(IS, sub(x, add(p, q)))]
            case _:
                raise Unproved

    def is_shown(self, e: Expr) -> bool:
        """Whether a fact says that an expression is equal for both."""
        p = sub(self.value(0, e), self.value(1, e))
        return not p or any(kind == IS and q in (p, scale(-1, p)) for kind, q in self.facts)


def absurd(fact: Fact) -> bool:
    """Whether a fact is none: no values have it."""
    kind, n = fact[0], number(fact[1])
    return n is not None and (n < 0 if kind == GE else n != 0)


def inner(e: Expr, turn: str) -> Expr:
    """Return a part of an expression."""
    need(isinstance(e, tuple))
    if turn == "inside":
        need(e[0] in ("as", "fits"))
        return e[2]
    need(e[0] in OPERATORS and turn in ("left", "right"))
    return e[1 if turn == "left" else 2]


def _key(one: Atom) -> Any:
    return tuple(frozenset(part.items()) if isinstance(part, Mapping) else part for part in one)


def proves(claim: Claim, argument: Argument) -> bool:
    """Whether an argument proves a claim."""
    try:
        if not Checker(claim, argument.atoms).prove_claim(argument.steps):
            return False
        return not has_promises(claim) or is_witnessed(claim, *argument.witness)
    except (Unproved, IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return False
