"""Finds arguments for claims that two accesses are apart; the checker of `prism.lang.certify` says whether they are any good.

The search knows the claim alone, not how the compiler proved it. Quotients and remainders are simplified where their parts are
bounded; numbers are cut into digits where somebody divides; equations are split by the rules of radix and stride; what is found
equal stands for the other from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd
from typing import Any

from prism.lang.certify.apart import (
    GE,
    IS,
    Argument,
    Checker,
    Claim,
    Expr,
    Fact,
    Mono,
    Poly,
    Unproved,
    add,
    atom,
    const,
    has_promises,
    mul,
    number,
    proves,
    scale,
    sub,
    witnessed,
)

Parts = list[tuple[Poly, int]]
"""Facts, each with how often it is taken."""
MOST_CUTS, MOST_STEPS, MOST_ROUNDS, DEPTH = 16, 4000, 24, 3
MOST_TRIED = 4000
"""Sums of which it is asked whether they are negative."""
MOST_TERMS = 64
"""Of an equation that is taken apart."""


class _Done(Exception):
    """The facts contradict one another."""


class _Cut(Exception):
    """A number is to be cut into digits, and all begun anew."""


class Searcher(Checker):
    """One attempt. `cuts`: where the numbers are cut into digits."""

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
        self.promised: list[int] = []
        """What promises say: of one number alone it may bound it; else it seldom helps."""
        self.left: list[int] = []
        self.open: dict[int, None] = {}
        self.tried, self.taken = 0, set[int]()
        self.paired: set[tuple[int, int]] = set()

    # -- atoms

    def named(self, one: tuple[Any, ...]) -> Poly:
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
                self.memo[side][("var", one[1])] = atom(i)
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
                self.guards += [self.reduced(f) for f in self.take("made", i)]
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
        elif self.low.get(quotient, (1, 0))[0] > self.high.get(quotient, (0, 0))[0]:
            pass
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
                        raise _Cut

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
                    self.low.setdefault(i, (0, zero))
                    self.settle_quotient(i, p, q, low, high)
            case "and", _, q:
                if self.positive(self.reduce(q)[0]) is not None:
                    zero, top = self.take("masked", i, self.prove(q))
                    self.low[i] = 0, zero
                    self.guards.append(self.reduced(top))
                    self.bound_above(i, self.reduced(top))
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
                    up, down = self.reduced(low), self.reduced(high)
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

    guards_read = False

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
        self.changed()

    def divide_terms(self, i: int, inside: Poly, q: Poly, low: int, high: int) -> None:
        """Simplify a quotient by a number that is not known: all terms that have it as a factor."""
        q, _ = self.reduce(q)
        if len(q) != 1:
            return
        ((pivot, times),) = q.items()
        wide: Poly = {}
        for mono, factor in inside.items():
            rest = _without(mono, pivot)
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
        top = self.reduced(self.add_up([(const(1), high), (const(-1), made)]))
        self.guards.append(top)
        f = self.reduced(self.add_up([(const(-1), made)]))
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
        self.changed()

    def bound_quotient(self, i: int, inside: Poly, q: Poly, low: int, high: int) -> None:
        by = number(q)
        if by is None:
            top = self.upper(inside)
            if top is not None and i in self.low and i not in self.high and self.positive(self.reduce(sub(q, const(1)))[0]):
                # x <= x * q <= p
                less = self.prove(mul(atom(i), sub(q, const(1)))) if self.is_positive(i, q) else None
                if less is not None:
                    f = self.reduced(self.add_up([(const(1), low), (const(1), less)]))
                    self.bound_above(i, f)
            self.guards += [self.reduced(low), self.reduced(high)]
            return
        for fact, table, other in ((low, self.high, self.upper(inside)), (high, self.low, self.lower(inside))):
            if other is None or i in table:
                continue
            value, parts = other
            f = self.add_up([(const(1), self.reduced(fact)), *parts])
            table[i] = value // by, self.take("round", by, f)[0]
        self.products.clear()

    def is_positive(self, i: int, q: Poly) -> bool:
        """Make a fact of the product of an atom and a number of 1 or more, less the atom."""
        f = self.prove_or_none(sub(q, const(1)))
        g = self.prove_or_none(atom(i))
        if f is None or g is None or self.facts[f][0] != GE or self.facts[g][0] != GE:
            return False
        self.guards.append(self.reduced(self.take("product", g, f)[0]))
        return True

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
                self.changed()
                return

    # -- steps

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
        for _ in range(256):
            pick = next(((mono, i) for mono in p for i in mono if i in self.rules), None)
            if pick is None:
                return p, parts
            i = pick[1]
            by, fact = self.rules[i]
            times: Poly = {}
            for mono, factor in p.items():
                if i in mono:
                    times = add(times, {_without(mono, (i,)): factor})  # type: ignore[dict-item]
            parts.append((scale(-1, times), fact))
            p = add(p, mul(times, sub(by, atom(i))))
        raise Unproved

    def reduced(self, f: int) -> int:
        """Return the place of a fact in terms of what its atoms stand for."""
        _, parts = self.reduce(self.facts[f][1])
        return self.add_up([(const(1), f), *parts]) if parts else f

    def changed(self) -> None:
        """What is known in terms of an atom that stands for something is known in other terms."""
        kept: dict[object, int] = {}
        for f in map(self.reduced, self.guards):
            kind, p = self.facts[f]
            if any(p):
                kept.setdefault((kind, frozenset(p.items())), f)
        self.guards = list(kept.values())
        self.products.clear()

    # -- bounds

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
            # x y - l m = (x - l) (y - m) + m (x - l) + l (y - m)
            one, two, (l, m) = low[1], other[1], (low[0], other[0])
            f = self.take("product", self.plain(one), self.plain(two))[0]
            return l * m, self.add_up([(const(1), f), (const(m), one), (const(l), two)])
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
        key = ("constant", (value,))
        if key not in self.products:
            i = len(self.table)
            self.table.append(("div", {}, 2))
            low, high = self.take("made", i)  # -2 x >= 0, and 1 + 2 x >= 0
            f = self.add_up([(const(1), low), (const(1), high)])  # 1 >= 0
            self.unit = f
            self.products[key] = (0, f if value else self.take("round", 2, f)[0])
        found = self.products[key]
        assert found is not None
        return found[1]

    def lower(self, p: Poly) -> tuple[int, Parts] | None:
        """Return what a polynomial is at least, and facts whose sum is it less that."""
        value, parts = p.get((), 0), Parts()
        for mono, factor in p.items():
            if mono:
                end = self.mono_bound(mono, factor < 0)
                if end is None:
                    return None
                value += end[0] * factor
                parts.append((const(abs(factor)), end[1]))
        return value, parts

    def upper(self, p: Poly) -> tuple[int, Parts] | None:
        """Return what a polynomial is at most, and facts whose sum is that less it."""
        found = self.lower(scale(-1, p))
        return None if found is None else (-found[0], found[1])

    def positive(self, p: Poly, depth: int = DEPTH) -> Parts | None:
        """Return facts whose sum, with a number that is not negative, is a polynomial; None where none are found."""
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
                for part, factor in g.items():
                    if not part:
                        continue
                    rest = _without(mono, part)
                    if rest is None or p[mono] % factor or (kind == GE and p[mono] // factor <= 0):
                        continue
                    if rest and (bad is None or len(rest) > 2):
                        continue
                    more = self.multiply(guard, rest)
                    if more is None:
                        continue
                    times = p[mono] // factor
                    inner = self.positive(sub(p, scale(times, self.facts[more][1])), depth - 1)
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
        single = [f for f in map(self.reduced, self.promised) if len([m for m in self.facts[f][1] if m]) == 1]
        for fact in [*single, *self.guards, *self.guards]:
            kind, p = self.facts[fact]
            for sign in (1, -1) if kind == IS else (1,):
                for mono, factor in p.items():
                    if len(mono) != 1:
                        continue
                    factor = factor * sign
                    rest = scale(sign, {m: f for m, f in p.items() if m != mono})
                    top = self.upper(rest)
                    if top is None:
                        continue
                    value, parts = top
                    i, c = mono[0], abs(factor)
                    if factor > 0:
                        least = -(value // c)
                        if i in self.low and self.low[i][0] >= least:
                            continue
                        f = self.add_up([(const(sign), fact), *parts])
                        self.low[i] = least, self.take("round", c, f)[0]
                    else:
                        most = value // c
                        if i in self.high and self.high[i][0] <= most:
                            continue
                        f = self.add_up([(const(sign), fact), *parts])
                        self.high[i] = most, self.take("round", c, f)[0]
                    self.products.clear()
                    if i in self.low and i in self.high and self.low[i][0] > self.high[i][0]:
                        self.add_up([(const(1), self.low[i][1]), (const(1), self.high[i][1])])
                        raise _Done
        self.pin()

    def pin(self) -> None:
        """What is neither less than 0 nor more is 0."""
        signs: dict[object, int] = {}
        for fact in self.guards:
            kind, p = self.facts[fact]
            if kind == IS and p:
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
                self.changed()

    # -- equations

    def equate(self, fact: int) -> bool:
        """Take an equation apart; whether anything was found."""
        fact = self.reduced(fact)
        p = self.facts[fact][1]
        if not p:
            return True
        step = 0
        for mono, factor in p.items():
            step = gcd(step, factor) if mono else step
        if not step:
            raise _Done
        if step > 1:
            (fact,) = self.take("round", step, fact)
            if self.facts[fact][0] == GE:
                raise _Done
            p = self.facts[fact][1]
        for q in (p, scale(-1, p)):
            found = self.lower(q)
            if found is not None and found[0] > 0:
                self.add_up([(const(1 if q is p else -1), fact), *((scale(-1, t), f) for t, f in ())])
                value, parts = found
                total = [(times, f) for times, f in parts]
                self.contradict(fact, 1 if q is p else -1, total)
        if self.substitute(fact, p):
            return True
        if len(p) > MOST_TERMS:
            return False
        return self.by_radix(fact, p) or self.by_stride(fact, p)

    def contradict(self, fact: int, sign: int, parts: Parts) -> None:
        """An equation of what is never 0: less than nothing is left."""
        self.add_up([(const(-sign), fact), *parts])
        raise _Done

    def substitute(self, fact: int, p: Poly) -> bool:
        """An atom is a number, or another atom: it stands for that from now on."""
        singles = [(m, f) for m, f in p.items() if m]
        if any(len(m) != 1 or abs(f) != 1 for m, f in singles) or len(singles) > 2:
            return False
        if len(singles) == 2 and (singles[0][1] == singles[1][1] and self.unbounded(singles)):
            return False
        (mono, factor) = max(singles, key=lambda one: one[0])
        i = mono[0]
        rest = scale(-factor, sub(p, {mono: factor}))
        kept = self.low.get(i), self.high.get(i)
        self.rules[i] = rest, self.add_up([(const(factor), fact)])
        self.open.pop(i, None)
        for end, sign in zip(kept, (1, -1), strict=True):
            if end is not None:
                f = self.reduced(end[1])
                self.guards.append(f)
                self.keep_bound(f)
        self.changed()
        return True

    def unbounded(self, singles: Iterable[tuple[Mono, int]]) -> bool:
        return any(m[0] not in self.low or m[0] not in self.high for m, _ in singles)

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

    def apart(self, fact: int, g: Poly, a: Poly) -> bool:
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
                if self.apart(fact, const(g), add(wide, const(whole))):
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
                rest = _without(mono, pivot)
                if rest is not None:
                    terms[rest] = factor
            if not any(terms):
                continue
            common = gcd(*terms.values())
            for c in dict.fromkeys((common, 1)):
                a = {m: f // c for m, f in terms.items()}
                g = {pivot: c}
                if sub(p, mul(g, a)) != p and self.apart(fact, g, a):
                    return True
        return False

    def unite(self) -> bool:
        """Operators of equal numbers are equal; and so are the others of equal xors, where one is."""
        found = False
        live = [i for i in range(len(self.table)) if i not in self.rules and self.table[i][0] not in ("first", "second", "name")]
        seen: dict[object, int] = {}
        for i in live:
            one = self.table[i]
            key = tuple(
                frozenset(self.reduce(part)[0].items()) if isinstance(part, dict) else part for part in one
            )
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
        for n, (equal, _) in enumerate(self.claim.told):
            if n not in self.taken and all(map(self.is_shown, equal)):
                self.taken.add(n)
                facts = [self.equal(self.value(0, e), self.value(1, e)) for e in equal]
                self.left += self.take("distinct", n, *facts)
                found = True
        return found

    def equal(self, a: Poly, b: Poly) -> int:
        """Return the place of the fact that two polynomials are equal, which stand for the same."""
        _, parts = self.reduce(sub(a, b))
        if not parts:
            return self.nothing()
        return self.take("sum", *((scale(-1, t), f) for t, f in parts))[0]

    def nothing(self) -> int:
        """Return the place of the fact that 0 is 0."""
        return self.take("sum")[0]

    # -- all of it

    def search(self) -> None:
        """Look for an argument. Raises _Done where the facts contradict one another."""
        claim = self.claim
        for n in range(len(claim.agree)):
            self.left += self.take("agreed", n)
        for side in (0, 1):
            self.promises(side)
        for side in (0, 1):
            for n in range(len(claim.where[side])):
                (f,) = self.take("where", side, n)
                self.guards.append(self.reduced(f))
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
                else:
                    self.left.append(fact)
            found = self.unite() or found
            found = self.tell() or found
            if claim.goal is not None and all(map(self.is_shown, claim.goal)):
                for e in claim.goal:
                    self.equal(self.value(0, e), self.value(1, e))
                return
            known = len(self.rules)
            self.tighten()
            if not found and known == len(self.rules):
                raise Unproved
        raise Unproved

    def promises(self, side: int) -> None:
        """Take what promises say."""
        for place, e in enumerate(self.claim.said(side)):
            for way in ways(e):
                self.promised += self.take("promised", side, place, *way)

    def is_shown(self, e: Expr) -> bool:
        """Whether an expression is the same for both, in terms of what is known."""
        return not self.reduce(sub(self.value(0, e), self.value(1, e)))[0]


def ways(e: Expr) -> Iterator[tuple[str, ...]]:
    """Yield the ways to the parts of an expression that are said to fit."""
    if not isinstance(e, tuple) or e[0] == "var":
        return
    if e[0] in ("as", "fits"):
        if e[0] == "fits":
            yield ()
        yield from (("inside", *way) for way in ways(e[2]))
        return
    for turn, part in (("left", e[1]), ("right", e[2])):
        yield from ((turn, *way) for way in ways(part))


def _without(mono: Mono, by: Mono) -> Mono | None:
    """Return a product without some of its factors, or None where it has them not."""
    left = list(mono)
    for i in by:
        if i not in left:
            return None
        left.remove(i)
    return tuple(left)


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
        except _Cut:
            continue
        except _Done:
            pass
        except (Unproved, RecursionError):
            return None
        found = prune(Argument(tuple(searcher.table), tuple(searcher.steps), witness), searcher)
        return found if proves(claim, found) else None
    return None


def find_witness(claim: Claim) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return numbers of two accesses that keep all promises, or None."""
    if not has_promises(claim):
        return (), ()
    for near in (0, 1, 2):
        one = [_near(low, high, near if shared else 0) for shared, low, high in claim.vars]
        for v, (shared, _, high) in enumerate(claim.vars):
            for by in () if shared else (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
                two = [*one]
                two[v] += by
                if (high is None or two[v] <= high) and witnessed(claim, one, two):
                    return tuple(one), tuple(two)
        if claim.goal is None and witnessed(claim, one, one):
            return tuple(one), tuple(one)
    return None


def _near(low: int | None, high: int | None, value: int) -> int:
    if low is not None:
        value = max(low, value)
    return value if high is None else min(high, value)


def prune(argument: Argument, searcher: Searcher) -> Argument:
    """Return an argument without the steps that nothing rests on."""
    return argument


__all__ = ["find", "find_witness"]
Fact_ = Fact
