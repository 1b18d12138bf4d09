"""What is known in a search: facts, in terms of what atoms stand for, and the bounds that follow."""

from __future__ import annotations

from typing import Any

from prism.lang.certify.machine import Claim
from prism.lang.certify.steps import GE, IS, Checker, Mono, Poly, Unproved, add, atom, const, mul, scale, sub

Parts = list[tuple[Poly, int]]
"""Facts, each with how often it is taken."""
MOST_STEPS, DEPTH = 4000, 3
MOST_TRIED = 800
"""Sums of which it is asked whether they are negative."""
MOST_TERMS = 64
"""Of a sum of which that is asked, or an equation that is taken apart."""


class Contradiction(Exception):
    """The facts contradict one another."""


class Bounds(Checker):
    """Facts and bounds. `cuts`: where the numbers are cut into digits."""

    def __init__(self, claim: Claim, cuts: dict[object, set[int]]) -> None:
        super().__init__(claim, [])
        self.table: list[tuple[Any, ...]] = []
        self.atoms, self.cuts = self.table, cuts
        self.steps: list[tuple[Any, ...]] = []
        self.rules: dict[int, tuple[Poly, int]] = {}
        self.low: dict[int, tuple[int, int]] = {}
        self.high: dict[int, tuple[int, int]] = {}
        self.products: dict[tuple[str, Mono], tuple[int, int] | None] = {}
        self.origin: dict[int, tuple[object, int]] = {}
        self.guards: list[int] = []
        self.promised: dict[Any, tuple[Poly, list[int] | None, tuple[Any, ...]]] = {}
        """What is said to fit, with the facts that say so, if they are taken, and the step that gives them.

        Of one number alone it may bound it; else it seldom helps.
        """
        self.left: list[int] = []
        self.open: dict[int, None] = {}
        self.constants: dict[int, int] = {}
        self.tried, self.taken, self.used = 0, set[int](), set[int]()
        self.paired: set[tuple[int, int]] = set()

    def take(self, *step: Any) -> list[int]:
        """Make a step, and return the places of its facts."""
        if len(self.steps) >= MOST_STEPS:
            raise Unproved
        found = self.follow(step)
        begin = len(self.facts)
        self.steps.append(step)
        self.facts += found
        return list(range(begin, len(self.facts)))

    def add_up(self, parts: Parts) -> int:
        """Return the place of a sum of facts."""
        parts = [(times, f) for times, f in parts if times]
        if len(parts) == 1 and parts[0][0] == {(): 1}:
            return parts[0][1]
        return self.take("sum", *parts)[0]

    def reduce(self, p: Poly) -> tuple[Poly, Parts]:
        """Return a polynomial with what its atoms stand for, and the facts that are to be added to it for that."""
        parts: Parts = []
        rules = self.rules
        if not rules:
            return p, parts
        for _ in range(256):
            i = -1
            for mono in p:
                for j in mono:
                    if j in rules:
                        i = j
                        break
                if i >= 0:
                    break
            else:
                return p, parts
            by, fact = rules[i]
            times: Poly = {}
            for mono, factor in p.items():
                if i in mono:
                    times = add(times, {leave_out(mono, (i,)): factor})  # type: ignore[dict-item]
            parts.append((scale(-1, times), fact))
            p = add(p, mul(times, sub(by, atom(i))))
        raise Unproved

    def restate(self, f: int) -> int:
        """Return the place of a fact in terms of what its atoms stand for."""
        _, parts = self.reduce(self.facts[f][1])
        return self.add_up([(const(1), f), *parts]) if parts else f

    def refresh(self) -> None:
        """What is known in terms of an atom that stands for something is known in other terms."""
        kept: dict[object, int] = {}
        for f in map(self.restate, self.guards):
            kind, p = self.facts[f]
            if any(p):
                kept.setdefault((kind, frozenset(p.items())), f)
        self.guards = list(kept.values())
        self.products.clear()

    def mono_bound(self, mono: Mono, upper: bool) -> tuple[int, int] | None:
        """Return an end of a product of atoms, and the fact that says so."""
        if len(mono) == 1:
            return (self.high if upper else self.low).get(mono[0])
        key = ("high" if upper else "low", mono)
        if key not in self.products:
            self.products[key] = None
            self.products[key] = self._product(mono, upper)
        return self.products[key]

    def _product(self, mono: Mono, upper: bool) -> tuple[int, int] | None:
        i, rest = mono[0], mono[1:]
        low, other = self.low.get(i), self.mono_bound(rest, False)
        if low is None or other is None or low[0] < 0 or other[0] < 0:
            return None
        if not upper:
            # x y - k m = (x - k) (y - m) + m (x - k) + k (y - m)
            one, two, (k, m) = low[1], other[1], (low[0], other[0])
            f = self.take("product", self.plain(one), self.plain(two))[0]
            return k * m, self.add_up([(const(1), f), (const(m), one), (const(k), two)])
        high, top = self.high.get(i), self.mono_bound(rest, True)
        if high is None or top is None:
            return None
        # h t - x y = h (t - y) + y (h - x)
        y = self.add_up([(const(1), other[1]), (const(other[0]), self.one())])
        f = self.take("product", self.plain(y), self.plain(high[1]))[0]
        return high[0] * top[0], self.add_up([(const(high[0]), top[1]), (const(1), f)])

    def plain(self, f: int) -> int:
        """Return a fact that something is not negative, not that it is 0."""
        if self.facts[f][0] == GE:
            return f
        return self.add_up([(const(1), f), (const(1), self.zero_fact())])

    def one(self) -> int:
        """Return the place of the fact that 1 is not negative."""
        return self.constant(1)

    def zero_fact(self) -> int:
        """Return the place of the fact that 0 is not negative."""
        return self.constant(0)

    def constant(self, value: int) -> int:
        """Return the place of the fact that a number is not negative: the sum of the bounds of some atom, divided."""
        if value not in self.constants:
            i = len(self.table)
            self.table.append(("div", {}, 2))
            low, high = self.take("made", i)  # -2 x >= 0, and 1 + 2 x >= 0
            one = self.add_up([(const(1), low), (const(1), high)])
            self.constants = {1: one, 0: self.take("round", 2, one)[0]}
        return self.constants[value]

    def lower(self, p: Poly) -> tuple[int, Parts] | None:
        """Return what a polynomial is at least, and facts whose sum is it less that."""
        value, parts = p.get((), 0), Parts()
        for mono, factor in p.items():
            if mono:
                known = self.high if factor < 0 else self.low
                end = known.get(mono[0]) if len(mono) == 1 else self.mono_bound(mono, factor < 0)
                if end is None:
                    return None
                value += end[0] * factor
                parts.append((const(abs(factor)), end[1]))
        return value, parts

    def upper(self, p: Poly) -> tuple[int, Parts] | None:
        """Return what a polynomial is at most, and facts whose sum is that less it."""
        found = self.lower(scale(-1, p))
        return None if found is None else (-found[0], found[1])

    def positive(self, p: Poly, depth: int = DEPTH, failed: set[object] | None = None) -> Parts | None:  # noqa: C901
        """Return facts whose sum, with a number that is not negative, is a polynomial; None where none are found.

        `failed`: polynomials of which none were found on the way here.
        """
        failed = set() if failed is None else failed
        key = (depth, frozenset(p.items()))
        if key in failed:
            return None
        failed.add(key)
        self.tried += 1
        if self.tried > MOST_TRIED:
            raise Unproved
        found = self.lower(p)
        if found is not None and found[0] >= 0:
            return [*found[1], *([(const(found[0]), -1)] if found[0] else [])]
        if not depth or len(p) > MOST_TERMS:
            return None
        bad = next((m for m, f in p.items() if m and self.mono_bound(m, f < 0) is None), None)
        wanted = [m for m in p if m] if bad is None else [bad]
        for guard in self.guards:
            kind, g = self.facts[guard]
            for mono in wanted:
                have = p[mono]
                for part, factor in g.items():
                    if not part or have % factor or (kind == GE and have // factor <= 0):
                        continue
                    rest = leave_out(mono, part)
                    if rest is None or (rest and (bad is None or len(rest) > 2)):
                        continue
                    more = self.multiply(guard, rest)
                    if more is None:
                        continue
                    times = have // factor
                    inner = self.positive(sub(p, scale(times, self.facts[more][1])), depth - 1, failed)
                    if inner is not None:
                        return [(const(times), more), *inner]
        return None

    def multiply(self, fact: int, by: Mono) -> int | None:
        """Return a fact times atoms that are not negative."""
        for i in by:
            if self.facts[fact][0] == IS:
                fact = self.add_up([(atom(i), fact)])
                continue
            low = self.low.get(i)
            if low is None or low[0] < 0:
                return None
            x = low[1] if not low[0] else self.add_up([(const(1), low[1]), (const(low[0]), self.one())])
            fact = self.take("product", fact, self.plain(x))[0]
        return fact

    def prove_or_none(self, p: Poly) -> int | None:
        """Return the place of the fact that a polynomial is not negative, or None."""
        inside, parts = self.reduce(p)
        found = self.positive(inside)
        if found is None:
            return None
        total = [(times, self.one() if f < 0 else f) for times, f in found]
        if not total and not parts:
            return self.zero_fact() if not p else None
        total += [(scale(-1, times), f) for times, f in parts]
        return self.add_up(total)

    def prove(self, p: Poly) -> int:
        """Return the place of the fact that a polynomial is not negative."""
        found = self.prove_or_none(p)
        if found is None:
            raise Unproved
        return found

    def tighten(self) -> None:
        """Bound atoms by what the guards say."""
        for fact in [*self.promises_of_one(), *self.guards, *self.guards]:
            for sign in (1, -1) if self.facts[fact][0] == IS else (1,):
                self.bound_by(fact, sign)
        self.pin()

    def bound_by(self, fact: int, sign: int) -> None:
        """Bound the atoms of a fact, each by the bounds of the others."""
        p = self.facts[fact][1]
        ends: dict[Mono, tuple[int, int]] = {}
        loose: Mono | None = None
        total = sign * p.get((), 0)
        for mono, factor in p.items():
            if mono:
                end = self.mono_bound(mono, factor * sign > 0)
                if end is not None:
                    ends[mono] = end
                    total += end[0] * factor * sign
                elif loose is None:
                    loose = mono
                else:  # of each atom, another has no bound
                    return
        for mono in p if loose is None else (loose,):
            if len(mono) != 1:
                continue
            i, factor, c = mono[0], p[mono] * sign, abs(p[mono])
            value = total if loose is not None else total - ends[mono][0] * factor
            table, bound = (self.low, -(value // c)) if factor > 0 else (self.high, value // c)
            if i in table and (table[i][0] >= bound if factor > 0 else table[i][0] <= bound):
                continue
            parts = [(const(abs(p[other])), end[1]) for other, end in ends.items() if other != mono]
            table[i] = bound, self.take("round", c, self.add_up([(const(sign), fact), *parts]))[0]
            self.products.clear()
            if i in self.low and i in self.high and self.low[i][0] > self.high[i][0]:
                self.add_up([(const(1), self.low[i][1]), (const(1), self.high[i][1])])
                raise Contradiction

    def promises_of_one(self) -> list[int]:
        """Return what promises say of one number each."""
        found: list[int] = []
        for key, (p, facts, step) in self.promised.items():
            p, _ = self.reduce(p)
            if len(p) - (() in p) == 1:
                facts = self.take("promised", *step) if facts is None else facts
                found += map(self.restate, facts)
            self.promised[key] = p, facts, step
        return found

    def pin(self) -> None:
        """What is neither less than 0 nor more is 0."""
        signs: dict[object, int] = {}
        for fact in self.guards:
            kind, p = self.facts[fact]
            if kind == IS and p and fact not in self.used:
                self.used.add(fact)
                self.left.append(fact)
            elif kind == GE and any(p):
                other = signs.get(frozenset(scale(-1, p).items()))
                if other is not None:
                    self.left += self.take("both", fact, other)
                signs[frozenset(p.items())] = fact
        for i in [i for i in self.low if i in self.high and i not in self.rules]:
            if self.low[i][0] == self.high[i][0]:
                fact = self.take("both", self.plain(self.low[i][1]), self.plain(self.high[i][1]))[0]
                self.rules[i] = const(self.low[i][0]), fact
                self.open.pop(i, None)
                self.refresh()

    def keep_bound(self, fact: int) -> None:
        """Keep what a fact says of one atom alone."""
        kind, p = self.facts[fact]
        monos = [m for m in p if m]
        if kind == GE and len(monos) == 1 and len(monos[0]) == 1 and abs(p[monos[0]]) == 1:
            i, value = monos[0][0], p.get((), 0)
            if p[monos[0]] == 1 and (i not in self.low or self.low[i][0] < -value):
                self.low[i] = -value, fact
            if p[monos[0]] == -1 and (i not in self.high or self.high[i][0] > value):
                self.high[i] = value, fact

    def bound_above(self, i: int, fact: int) -> None:
        """Bound an atom by what a fact says: it less the atom is not negative."""
        p = self.facts[fact][1]
        if p.get((i,)) == -1:
            rest = add(p, atom(i))
            top = self.upper(rest)
            if top is not None and (i not in self.high or top[0] < self.high[i][0]):
                value, parts = top
                self.high[i] = value, self.add_up([(const(1), fact), *parts])
                self.products.clear()


def leave_out(mono: Mono, by: Mono) -> Mono | None:
    """Return a product without some of its factors, or None where it has them not."""
    if len(by) > len(mono):
        return None
    if len(by) == 1:
        if by[0] not in mono:
            return None
        at = mono.index(by[0])
        return mono[:at] + mono[at + 1 :]
    left = list(mono)
    for i in by:
        if i not in left:
            return None
        left.remove(i)
    return tuple(left)
