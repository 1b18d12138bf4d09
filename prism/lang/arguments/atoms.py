"""Atoms in a search: numbers are cut into digits, and quotients, xors and unions are simplified where their parts are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

from prism.lang.arguments.bounds import Bounds, leave_out
from prism.lang.certify.steps import GE, Poly, add, atom, const, mul, number, scale, sub

MOST_CUTS = 16


class Cut(Exception):
    """A number is to be cut into digits, and all begun anew."""


class Atoms(Bounds):
    """The numbers of a claim, and what operators make of them."""

    guards_read = False

    def find_atom(self, one: tuple[Any, ...]) -> Poly:
        """Return an atom that is defined so; it is made where there is none."""
        key = tuple(frozenset(part.items()) if isinstance(part, dict) else part for part in one)
        i = self.places.get(key)
        if i is None:
            i = self.places[key] = len(self.table)
            self.table.append(one)
            self.begin(i)
        return atom(i)

    def begin(self, i: int) -> None:
        """Find out what a new atom is."""
        one = self.table[i]
        match one[0]:
            case "first" | "second":
                side = int(one[0] == "second")
                _, low, high = self.claim.vars[one[1]]
                found = self.take("range", side, one[1])
                if low is not None:
                    self.low[i] = low, found.pop(0)
                if high is not None:
                    self.high[i] = high, found.pop(0)
                self.cut_at(i, ("var", one[1]), 1)
            case "name":
                pass
            case "min" | "max":
                self.guards += [self.restate(f) for f in self.take("made", i)]
                self.open[i] = None
            case _:
                self.open[i] = None
                self.settle(i)

    def cut_at(self, i: int, key: object, at: int) -> None:
        """Cut a number into digits, where it is to be."""
        self.origin[i] = key, at
        more = sorted(cut for cut in self.cuts.get(key, ()) if cut > at and cut % at == 0)
        if not more:
            return
        by = more[0] // at
        quotient = len(self.table)
        self.table.append(("div", atom(i), by))
        self.places[("div", frozenset(atom(i).items()), by)] = quotient
        low, high = self.take("made", quotient)
        part = sub(atom(i), scale(by, atom(quotient)))
        digit = len(self.table)
        self.table.append(("name", part))
        (made,) = self.take("made", digit)
        self.low[digit] = 0, self.add_up([(const(1), low), (const(1), made)])
        self.high[digit] = by - 1, self.add_up([(const(1), high), (const(-1), made)])
        self.origin[digit] = (key, at, by), 1
        if i in self.high:
            most, fact = self.high[i]
            # x <= most: so what is left of by * q - most is no more than 0, and q is at most what `most` is of it.
            f = self.add_up([(const(1), fact), (const(1), low)])
            self.high[quotient] = most // by, self.take("round", by, f)[0]
        if i in self.low:
            least, fact = self.low[i]
            f = self.add_up([(const(1), fact), (const(1), high)])
            self.low[quotient] = least // by, self.take("round", by, f)[0]
        rule = self.add_up([(const(-1), made)])
        self.rules[i] = add(atom(digit), scale(by, atom(quotient))), rule
        if self.high.get(quotient, (1, 0))[0] == 0 == self.low.get(quotient, (1, 0))[0]:
            self.rules[quotient] = {}, self.take("both", self.low[quotient][1], self.high[quotient][1])[0]
        self.cut_at(quotient, key, more[0])

    def suggest(self, p: Poly, by: int) -> None:
        """Begin anew with more digits, where that may simplify a quotient."""
        if self.steps and by.bit_length() > 31:
            return
        for mono, factor in p.items():
            if len(mono) == 1 and factor % by and mono[0] in self.origin:
                key, at = self.origin[mono[0]]
                cut = at * (by // gcd(by, factor))
                if isinstance(key, tuple) and len(key) == 3:  # a digit: part of a number that was cut
                    key, begin, size = key
                    cut *= begin
                    if cut >= begin * size or (begin * size) % cut:
                        continue
                have = self.cuts.setdefault(key, set())
                chain = all(cut % other == 0 or other % cut == 0 for other in have)
                if cut not in have and cut > 1 and chain and len(have) < MOST_CUTS:
                    most = self.high.get(mono[0])
                    if most is None or most[0] * at >= cut or isinstance(self.origin[mono[0]][0], tuple):
                        have.add(cut)
                        raise Cut

    def settle(self, i: int) -> None:
        """Find out what an operator's result is: a polynomial, or at least its bounds."""
        match self.table[i]:
            case "div", p, by:
                self.settle_quotient(i, p, const(by), *self.take("made", i))
            case "quo", p, q:
                parts = self.positive(self.reduce(p)[0]), self.positive(self.reduce(sub(q, const(1)))[0])
                if parts[0] is not None and parts[1] is not None:
                    f = self.prove(p)
                    g = self.prove(sub(q, const(1)))
                    zero, low, high = self.take("divided", i, f, g)
                    if i not in self.low or self.low[i][0] < 0:
                        self.low[i] = 0, zero
                        self.products.clear()
                    self.settle_quotient(i, p, q, low, high)
            case "and", _, q:
                if self.positive(self.reduce(q)[0]) is not None:
                    zero, top = self.take("masked", i, self.prove(q))
                    self.low[i] = 0, zero
                    self.guards.append(self.restate(top))
                    self.bound_above(i, self.restate(top))
                    del self.open[i]
            case "xor", p, q:
                self.settle_bits(i, p, q)
            case "or", p, q:
                self.settle_union(i, p, q)

    def settle_quotient(self, i: int, p: Poly, q: Poly, low: int, high: int) -> None:
        """Simplify a quotient; `low`, `high`: that what is left is from 0 to the divisor less 1."""
        inside, _ = self.reduce(p)
        by = number(q)
        if by is not None:
            wide = {mono: factor // by for mono, factor in inside.items() if mono and factor % by == 0}
            rest = {mono: factor for mono, factor in inside.items() if mono and factor % by}
            k = inside.get((), 0)
            for whole in dict.fromkeys((k // by, -(-k // by), *self.shift(rest, k, by))):
                a = add(wide, const(whole))
                b = add(rest, const(k - whole * by))
                f, g = self.prove_or_none(b), self.prove_or_none(sub(const(by - 1), b))
                if f is not None and g is not None:
                    # by * (a - x) + b is from 0 to by - 1, and so is b: so a = x.
                    up, down = self.restate(low), self.restate(high)
                    one = self.take("round", by, self.add_up([(const(1), up), (const(1), g)]))[0]
                    two = self.take("round", by, self.add_up([(const(1), down), (const(1), f)]))[0]
                    self.learn_equal(i, a, one, two)
                    return
            if not self.guards_read:
                self.suggest(inside, by)
        else:
            self.divide_terms(i, inside, q, low, high)
            if i not in self.open:
                return
        self.bound_quotient(i, inside, q, low, high)

    def shift(self, rest: Poly, k: int, by: int) -> Iterator[int]:
        """Yield by how much a quotient may be more, since the rest is never less."""
        found = self.lower({**rest, **const(k)})
        if found is not None:
            yield found[0] // by

    def learn_equal(self, i: int, a: Poly, one: int, two: int) -> None:
        """An atom is a polynomial: `one` says that `a - x` is not negative, `two` that `x - a` is not."""
        fact = self.take("both", two, one)[0]
        a, parts = self.reduce(a)
        fact = self.add_up([(const(1), fact), *((scale(-1, times), f) for times, f in parts)])
        self.open.pop(i, None)
        self.rules[i] = a, fact
        self.refresh()

    def divide_terms(self, i: int, inside: Poly, q: Poly, low: int, high: int) -> None:
        """Simplify a quotient by a number that is not known: all terms that have it as a factor."""
        q, _ = self.reduce(q)
        if len(q) != 1:
            return
        ((pivot, times),) = q.items()
        wide: Poly = {}
        for mono, factor in inside.items():
            rest = leave_out(mono, pivot)
            if rest is not None and factor % times == 0:
                wide = add(wide, {rest: factor // times})
        b = sub(inside, mul(q, wide))
        if self.positive(b) is None or self.positive(sub(sub(q, const(1)), b)) is None:
            return
        # q * (a - x) + (b - r) = 0, where r is what is left of x: both are from 0 to q - 1.
        p, divisor = self.table[i][1:]
        r = len(self.table)
        self.table.append(("name", sub(p, mul(divisor, atom(i)))))
        (made,) = self.take("made", r)
        self.low[r] = 0, self.add_up([(const(1), low), (const(1), made)])
        top = self.restate(self.add_up([(const(1), high), (const(-1), made)]))
        self.guards.append(top)
        f = self.restate(self.add_up([(const(-1), made)]))
        e = self.facts[f][1]  # p - q x - r
        g = q
        a = sub(wide, atom(i))
        rest_ = sub(e, mul(g, a))
        if self.positive(sub(sub(g, const(1)), rest_)) is None or self.positive(add(sub(g, const(1)), rest_)) is None:
            return
        hi, lo = self.prove(sub(sub(g, const(1)), rest_)), self.prove(add(sub(g, const(1)), rest_))
        zero, _ = self.take("radix", f, g, a, hi, lo)
        self.open.pop(i, None)
        self.rules[i] = wide, self.add_up([(const(-1), zero)])
        self.refresh()

    def bound_quotient(self, i: int, inside: Poly, q: Poly, low: int, high: int) -> None:
        by = number(q)
        if by is None:
            top = self.upper(inside)
            if (
                top is not None
                and i in self.low
                and i not in self.high
                and self.positive(self.reduce(sub(q, const(1)))[0])
            ):
                # x <= x * q <= p
                less = self.prove(mul(atom(i), sub(q, const(1)))) if self.is_positive(i, q) else None
                if less is not None:
                    f = self.restate(self.add_up([(const(1), low), (const(1), less)]))
                    self.bound_above(i, f)
            self.guards += [self.restate(low), self.restate(high)]
            return
        for fact, table, other in ((low, self.high, self.upper(inside)), (high, self.low, self.lower(inside))):
            if other is None:
                continue
            value, parts = other
            have = table.get(i, (value // by + 1, 0) if table is self.high else (value // by - 1, 0))[0]
            if have <= value // by if table is self.high else have >= value // by:
                continue
            f = self.add_up([(const(1), self.restate(fact)), *parts])
            table[i] = value // by, self.take("round", by, f)[0]
        self.products.clear()

    def is_positive(self, i: int, q: Poly) -> bool:
        """Make a fact of the product of an atom and a number of 1 or more, less the atom."""
        f = self.prove_or_none(sub(q, const(1)))
        g = self.prove_or_none(atom(i))
        if f is None or g is None or self.facts[f][0] != GE or self.facts[g][0] != GE:
            return False
        self.guards.append(self.restate(self.take("product", g, f)[0]))
        return True

    def settle_bits(self, i: int, p: Poly, q: Poly) -> None:
        """An xor of numbers of k bits has k bits."""
        one, two = self.reduce(p)[0], self.reduce(q)[0]
        ends = [self.lower(one), self.upper(one), self.lower(two), self.upper(two)]
        if any(end is None for end in ends) or ends[0][0] < 0 or ends[2][0] < 0:  # type: ignore[index]
            return
        k = max(ends[1][0], ends[3][0]).bit_length()  # type: ignore[index]
        most = const((1 << k) - 1)
        facts = [self.prove(x) for x in (p, sub(most, p), q, sub(most, q))]
        low, high = self.take("mixed", k, i, *facts)
        self.low[i], self.high[i] = (0, low), ((1 << k) - 1, high)
        self.products.clear()
        self.open.pop(i, None)

    def settle_union(self, i: int, p: Poly, q: Poly) -> None:
        """2^k a | b is a sum, where b has k bits."""
        for one, two in ((p, q),):
            low, high = self.lower(self.reduce(two)[0]), self.upper(self.reduce(two)[0])
            if low is None or high is None or low[0] < 0:
                continue
            k = high[0].bit_length()
            if all(factor % (1 << k) == 0 for factor in one.values()):
                a = {mono: factor >> k for mono, factor in one.items()}
                f, g = self.prove(two), self.prove(sub(const((1 << k) - 1), two))
                (made,) = self.take("joined", k, i, a, f, g)
                total, parts = self.reduce(add(p, q))
                fact = self.add_up([(const(1), made), *((scale(-1, t), f) for t, f in parts)])
                self.rules[i] = total, fact
                self.open.pop(i, None)
                self.refresh()
                return
