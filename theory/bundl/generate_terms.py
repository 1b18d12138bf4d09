"""What `generate` derives statements with: where it stands, and expressions. G |-^pi_d e : t, read from t up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import gcd
from random import Random
from typing import NamedTuple

from prism.lang.types.perspective import Perspective
from theory.bundl.judgement import Code, Context, Entry
from theory.bundl.perspectives import BLOCK, GRID, ONE_BLOCK, ONE_THREAD, THREAD, Shape, at, order_nested
from theory.bundl.syntax import ArrayOf, Async, Base, Bool, Bop, Cmp, Expr, Float, Id, Index, Int, Kind, Type, Var


@cache
def perspectives_within(pi: Perspective, shape: Shape) -> tuple[Perspective, ...]:
    """Return each q <= pi, but for thread units larger than a block and such."""
    every = [at(THREAD, n) for n in range(1, shape.threads + 1)] + [at(BLOCK, n) for n in range(1, shape.blocks + 1)]
    return tuple(q for q in [*every, at(GRID)] if order_nested(q, pi, shape))


class Here(NamedTuple):
    """G and the code, with what typing does not know: how long arrays are, which names are left alone, loops around."""

    g: Context
    code: Code
    lengths: dict[str, int] = {}  # never changed in place
    fixed: frozenset[str] = frozenset()
    loops: int = 0

    def move(self, code: Code) -> Here:
        """Return the same at other code."""
        return self._replace(code=code)

    def bind(self, name: str, pi: Perspective, type_: Type, length: int = 0, fixed: bool = False) -> Here:
        """Return this with `name :^pi type_`."""
        lengths = {**self.lengths, name: length} if isinstance(type_, ArrayOf) else self.lengths
        return self._replace(
            g=self.g.bind(name, pi, type_), lengths=lengths, fixed=self.fixed | {name} if fixed else self.fixed
        )

    def view(self, x: str, y: str, pi: Perspective, length: int) -> Here:
        """Return this with x hidden, and y of its type at pi."""
        entry = self.g.get(x)
        assert entry is not None
        return self._replace(g=self.g.hide(x).bind(y, pi, entry.type), lengths={**self.lengths, y: length})

    def fly(self, x: str, y: str, phi: str) -> Here:
        """Return this with x hidden, and y in flight."""
        entry = self.g.get(x)
        assert entry is not None and isinstance(entry.type, ArrayOf)
        outer = frozenset(name for name, _ in self.g.names() if name != x)
        g = self.g.hide(x).bind(y, ONE_THREAD, Async(entry.type, phi), outer)
        return self._replace(g=g, lengths={**self.lengths, y: self.lengths[x]})

    def quiet(self, name: str) -> Here:
        """Return this with `name` left alone."""
        return self._replace(fixed=self.fixed | {name})

    def arrays(self) -> Iterator[tuple[str, Perspective, ArrayOf]]:
        """Yield the arrays that can be used."""
        for name, entry in self.g.names():
            if isinstance(entry.type, ArrayOf):
                yield name, entry.at, entry.type

    def fresh(self, stem: str) -> str:
        """Return the first free name: scopes that follow each other use the same ones."""
        number = 0
        while self.g.is_bound(f"{stem}{number}"):
            number += 1
        return f"{stem}{number}"


class Expressions:
    """Random expressions of a type at a demand."""

    def __init__(self, rng: Random, shape: Shape, racy: bool) -> None:
        self.rng, self.shape, self.racy = rng, shape, racy
        self.gcd = gcd

    def leq(self, narrow: Perspective, broad: Perspective) -> bool:
        """Whether `narrow <= broad`."""
        return order_nested(narrow, broad, self.shape)

    def label(self, here: Here) -> str:
        """Return a barrier's name: one of few, so that units and rounds share it; at times an array's."""
        return self.rng.choice(("p", "q", "m0"))

    def literal(self, type_: Base) -> Int | Float | Bool:
        """T-Int, T-Float, T-Bool."""
        if type_ is Base.INT:
            return Int(self.rng.randint(0, 3))
        return Float(self.rng.choice((0.0, 0.5, 1.0, 2.0))) if type_ is Base.FLOAT else Bool(self.rng.random() < 0.5)

    def expr(self, here: Here, d: Perspective, type_: Base, fuel: int) -> Expr:
        """Return e with `G |-^pi_d e : type_`."""
        choices: list[Expr] = [self.literal(type_)]
        if fuel > 0:
            names = [
                (x, e)
                for x, e in here.g.names()
                if (e.type is type_ or isinstance(e.type, ArrayOf)) and self.leq(d, e.at)
            ]
            if names:
                choices += [e for e in (self.read(here, d, type_, *self.rng.choice(names)),) if e is not None] * 3
            if type_ is Base.INT and self.leq(d, here.code.pi):
                choices.append(Id())
        if fuel > 2 and self.rng.random() < 0.4:
            return self.operation(here, d, type_, fuel - 1)
        return self.rng.choice(choices)

    def read(self, here: Here, d: Perspective, type_: Base, x: str, entry: Entry) -> Expr | None:
        """T-Var, T-Arr-Access, T-Arr-Access-Shared."""
        if entry.type is type_:
            return Var(x)
        assert isinstance(entry.type, ArrayOf)
        if entry.type.element is not type_ or not here.lengths[x]:
            return None
        if entry.type.kind is Kind.SHARED and not self.leq(here.code.pi, ONE_BLOCK):
            return None
        return Index(Var(x), self.index(here, d, here.lengths[x]))

    def index(self, here: Here, d: Perspective, length: int) -> Expr:
        """Return an index below `length`."""
        chance = self.rng.random()
        counters = [x for x, e in here.g.names() if x in here.fixed and e.type is Base.INT and self.leq(d, e.at)]
        if self.racy and chance < 0.03:
            return self.expr(here, d, Base.INT, 3)
        if chance < 0.4 and self.leq(d, here.code.pi):
            return Bop("%", Id(), Int(length))
        if counters:
            return Bop("%", Var(self.rng.choice(counters)), Int(length))
        return Int(self.rng.randrange(length))

    def operation(self, here: Here, d: Perspective, type_: Base, fuel: int) -> Expr:
        """T-Bop, T-Cmp. Products and quotients only by small numbers, so that loops make none that are large."""
        if type_ is Base.BOOL:
            of = self.rng.choice((Base.INT, Base.INT, Base.FLOAT))
            op = self.rng.choice(("==", "!=", "<", "<="))
            return Cmp(op, self.expr(here, d, of, fuel // 2), self.expr(here, d, of, fuel // 2))
        op = self.rng.choice("++--*/%") if type_ is Base.INT else self.rng.choice("+-")
        left = self.expr(here, d, type_, fuel // 2)
        right = self.literal(type_) if op in "*/%" else self.expr(here, d, type_, fuel // 2)
        return Bop(op, left, right)
