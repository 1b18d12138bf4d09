"""Finds arguments for claims that two accesses are apart; the checker of `prism.lang.certify` says whether they are any good.

The search knows the claim alone, not how the compiler proved it. Equations are split by the rules of radix and stride; what is
found equal stands for the other from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from prism.lang.arguments.atoms import MOST_CUTS, Atoms, Cut
from prism.lang.arguments.bounds import MOST_TERMS, Contradiction, Parts, leave_out
from prism.lang.certify.machine import Claim, Expr, Rule, has_promises, is_witnessed
from prism.lang.certify.steps import (
    GE,
    Argument,
    Mono,
    Poly,
    Unproved,
    add,
    atom,
    const,
    mul,
    proves,
    scale,
    sub,
)

MOST_ROUNDS = 24


class Searcher(Atoms):
    """One attempt."""

    def equate(self, fact: int) -> bool:
        """Take an equation apart; whether anything was found."""
        fact = self.restate(fact)
        p = self.facts[fact][1]
        if not p:
            return True
        step = 0
        for mono, factor in p.items():
            step = gcd(step, factor) if mono else step
        if not step:
            raise Contradiction
        if step > 1:
            (fact,) = self.take("round", step, fact)
            if self.facts[fact][0] == GE:
                raise Contradiction
            p = self.facts[fact][1]
        for q in (p, scale(-1, p)):
            found = self.lower(q)
            if found is not None and found[0] > 0:
                self.contradict(fact, 1 if q is p else -1, found[1])
        if self.substitute(fact, p):
            return True
        if len(p) > MOST_TERMS:
            return False
        return self.by_radix(fact, p) or self.by_stride(fact, p)

    def contradict(self, fact: int, sign: int, parts: Parts) -> None:
        """An equation of what is never 0: less than nothing is left."""
        self.add_up([(const(-sign), fact), *parts])
        raise Contradiction

    def substitute(self, fact: int, p: Poly) -> bool:
        """An atom is a number, or another atom: it stands for that from now on."""
        singles = [(m, f) for m, f in p.items() if m]
        if any(len(m) != 1 or abs(f) != 1 for m, f in singles) or len(singles) > 2:
            return False
        if len(singles) == 2 and (singles[0][1] == singles[1][1] and self.lacks_bound(singles)):
            return False
        (mono, factor) = max(singles, key=lambda one: one[0])
        i = mono[0]
        rest = scale(-factor, sub(p, {mono: factor}))
        kept = self.low.get(i), self.high.get(i)
        self.rules[i] = rest, self.add_up([(const(factor), fact)])
        self.open.pop(i, None)
        for end in kept:
            if end is not None:
                f = self.restate(end[1])
                self.guards.append(f)
                self.keep_bound(f)
        self.refresh()
        return True

    def lacks_bound(self, singles: Iterable[tuple[Mono, int]]) -> bool:
        return any(m[0] not in self.low or m[0] not in self.high for m, _ in singles)

    def split_by(self, fact: int, g: Poly, a: Poly) -> bool:
        """Try to split an equation into g * a and the rest."""
        b = sub(self.facts[fact][1], mul(g, a))
        top = sub(g, const(1))
        hi = self.prove_or_none(sub(top, b))
        lo = None if hi is None else self.prove_or_none(add(top, b))
        if hi is None or lo is None:
            return False
        self.left += self.take("radix", fact, g, a, hi, lo)
        return True

    def by_radix(self, fact: int, p: Poly) -> bool:
        """Split an equation by a number."""
        for g in sorted({abs(f) for m, f in p.items() if m} - {1}, reverse=True):
            wide = {m: f // g for m, f in p.items() if m and f % g == 0}
            rest = {m: f for m, f in p.items() if m and f % g}
            k = p.get((), 0)
            if not rest and k % g == 0:
                continue
            for whole in dict.fromkeys((k // g, -(-k // g))):
                if self.split_by(fact, const(g), add(wide, const(whole))):
                    return True
        return False

    def by_stride(self, fact: int, p: Poly) -> bool:
        """Split an equation by a number that both have in common, or a product of such."""
        pivots: dict[Mono, None] = {}
        for mono in p:
            for i in mono:
                pivots[(i,)] = None
            if len(mono) > 2:
                pivots[mono[:-1]] = pivots[mono[1:]] = None
        for pivot in pivots:
            terms: dict[Mono, int] = {}
            for mono, factor in p.items():
                rest = leave_out(mono, pivot)
                if rest is not None:
                    terms[rest] = factor
            if not any(terms):
                continue
            common = gcd(*terms.values())
            for c in dict.fromkeys((common, 1)):
                a = {m: f // c for m, f in terms.items()}
                g = {pivot: c}
                if sub(p, mul(g, a)) != p and self.split_by(fact, g, a):
                    return True
        return False

    def unite(self) -> bool:
        """Operators of equal numbers are equal; and so are the others of equal xors, where one is."""
        found = False
        live = [
            i
            for i in range(len(self.table))
            if i not in self.rules and self.table[i][0] not in ("first", "second", "name")
        ]
        seen: dict[object, int] = {}
        for i in live:
            one = self.table[i]
            key = tuple(frozenset(self.reduce(part)[0].items()) if isinstance(part, dict) else part for part in one)
            j = seen.setdefault(key, i)
            if j != i and (j, i) not in self.paired:
                self.paired.add((j, i))
                facts = []
                for a, b in zip(one[1:], self.table[j][1:], strict=True):
                    facts.append(self.equal(a, b) if isinstance(a, dict) else 0)
                self.left += self.take("alike", i, j, *facts)
                found = True
        for i in [i for i, one in enumerate(self.table) if one[0] == "xor"]:
            for j in [j for j in range(i) if self.table[j][0] == "xor" and (j, i) not in self.paired]:
                if self.reduce(sub(atom(i), atom(j)))[0]:
                    continue
                _, p, q = self.table[i]
                _, left, right = self.table[j]
                for a, b in ((p, left), (q, right)):
                    if not self.reduce(sub(a, b))[0]:
                        f = self.equal(atom(i), atom(j))
                        self.paired.add((j, i))
                        self.left += self.take("undone", i, j, f, self.equal(a, b))
                        found = True
                        break
        return found

    def tell(self) -> bool:
        """Take what is said to be distinct, where it is equal."""
        found = False
        for n, rule in enumerate(self.claim.told):
            pairs = [(self.value(0, a), self.value(1, b)) for a, b in rule.equal]
            if n in self.taken or any(self.reduce(sub(*pair))[0] and not self.is_left(sub(*pair)) for pair in pairs):
                continue
            asked = self.ask(rule)
            if asked is None:
                continue
            self.taken.add(n)
            places = tuple(
                self.equal(*pair) if not self.reduce(sub(*pair))[0] else self.of_left(sub(*pair)) for pair in pairs
            )
            self.left += self.take("told", n, *asked, places)
            found = True
        return found

    def ask(self, rule: Rule) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the places of the facts that a rule asks for at each access; None where one is not found."""
        found: tuple[list[int], list[int]] = [], []
        for side in (0, 1):
            for rel, a, b in rule.where[side]:
                fact = self.prove_or_none(self.compare(rel, self.value(side, a), self.value(side, b))[1])
                if fact is None:
                    return None
                found[side].append(fact)
        return tuple(found[0]), tuple(found[1])

    def is_left(self, p: Poly) -> bool:
        """Whether an equation that is not taken apart says that a polynomial is 0."""
        return any(
            self.reduce(p)[0] in (self.facts[f][1], scale(-1, self.facts[f][1])) for f in map(self.restate, self.left)
        )

    def of_left(self, p: Poly) -> int:
        """Return the place of the fact that a polynomial is 0, as an equation says that is not taken apart."""
        inside, parts = self.reduce(p)
        for f in map(self.restate, self.left):
            for sign in (1, -1):
                if scale(sign, self.facts[f][1]) == inside:
                    return self.take("sum", (const(sign), f), *((scale(-1, t), g) for t, g in parts))[0]
        raise Unproved

    def equal(self, a: Poly, b: Poly) -> int:
        """Return the place of the fact that two polynomials are equal, which stand for the same."""
        _, parts = self.reduce(sub(a, b))
        if not parts:
            return self.nothing()
        return self.take("sum", *((scale(-1, t), f) for t, f in parts))[0]

    def nothing(self) -> int:
        """Return the place of the fact that 0 is 0."""
        return self.take("sum")[0]

    def search(self) -> None:  # noqa: C901
        """Look for an argument. Raises Contradiction where the facts contradict one another."""
        claim = self.claim
        for n in range(len(claim.agree)):
            self.left += self.take("agreed", n)
        for side in (0, 1):
            self.promises(side)
        for side in (0, 1):
            for n in range(len(claim.where[side])):
                (f,) = self.take("where", side, n)
                self.guards.append(self.restate(f))
        for pair in claim.index:
            self.pair(*pair)
        for e in claim.goal or ():
            self.value(0, e), self.value(1, e)
        self.tighten()
        self.guards_read = True
        for n in range(len(claim.index)):
            self.left += self.take("meets", n)
        for _ in range(MOST_ROUNDS):
            found = False
            for i in list(self.open):
                rules = len(self.rules)
                if i in self.open and i not in self.rules:
                    self.settle(i)
                found = found or len(self.rules) > rules
            waiting, self.left = self.left, []
            for fact in waiting:
                if self.equate(fact):
                    found = True
                    if self.is_done():
                        return
                else:
                    self.left.append(fact)
            found = self.unite() or found
            found = self.tell() or found
            if self.is_done():
                return
            known = len(self.rules)
            self.tighten()
            if not found and known == len(self.rules):
                raise Unproved
        raise Unproved

    def is_done(self) -> bool:
        """Whether all that is claimed is known; if so, say it."""
        if self.claim.goal is None or not all(map(self.is_equal, self.claim.goal)):
            return False
        for e in self.claim.goal:
            self.equal(self.value(0, e), self.value(1, e))
        return True

    def promises(self, side: int) -> None:
        """Take what promises say."""
        seen: set[int] = set()
        for place, e in enumerate(self.claim.expressions(side)):
            for way, part in ways(e, seen):
                p = self.value(side, part[2])
                self.promised.setdefault((part[1], frozenset(p.items())), (p, None, (side, place, *way)))

    def is_equal(self, e: Expr) -> bool:
        """Whether an expression is the same for both, in terms of what is known."""
        return not self.reduce(sub(self.value(0, e), self.value(1, e)))[0]


def ways(e: Expr, seen: set[int]) -> Iterator[tuple[tuple[str, ...], Expr]]:
    """Yield the ways to the parts of an expression that are said to fit, and these, but for parts that were seen."""
    if not isinstance(e, tuple) or e[0] == "var" or id(e) in seen:
        return
    seen.add(id(e))
    if e[0] in ("as", "fits"):
        if e[0] == "fits":
            yield (), e
        yield from ((("inside", *way), part) for way, part in ways(e[2], seen))
        return
    for turn, inner in (("left", e[1]), ("right", e[2])):
        yield from (((turn, *way), part) for way, part in ways(inner, seen))


def find(claim: Claim) -> Argument | None:
    """Return an argument for a claim, which the checker accepts; None where none is found."""
    witness = find_witness(claim)
    if witness is None:
        return None
    cuts: dict[object, set[int]] = {}
    for _ in range(MOST_CUTS):
        searcher = Searcher(claim, cuts)
        try:
            searcher.search()
        except Cut:
            continue
        except Contradiction:
            pass
        except (Unproved, RecursionError):
            return None
        found = Argument(tuple(searcher.table), tuple(searcher.steps), witness)
        return found if proves(claim, found) else None
    return None


def find_witness(claim: Claim) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return numbers of two accesses that keep all promises, or None."""
    if not has_promises(claim):
        return (), ()
    own = [v for v, (shared, _, _) in enumerate(claim.vars) if not shared]
    loose = [v for v in own if claim.vars[v][1] is None]
    for near in (0, 1, 2):
        one = [_near(low, high, near if shared else 0) for shared, low, high in claim.vars]
        for v in own:
            for by in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
                for beside in ((), loose):
                    two = [*one]
                    for w in {v, *beside}:
                        _, low, high = claim.vars[w]
                        two[w] = _near(low, high, two[w] + by)
                    if is_witnessed(claim, one, two):
                        return tuple(one), tuple(two)
        if claim.goal is None and is_witnessed(claim, one, one):
            return tuple(one), tuple(one)
    return None


def _near(low: int | None, high: int | None, value: int) -> int:
    if low is not None:
        value = max(low, value)
    return value if high is None else min(high, value)


__all__ = ["find", "find_witness"]
