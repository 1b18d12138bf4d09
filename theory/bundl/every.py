"""Every well-typed program up to a size: the corrected rules read from the conclusion up, all choices instead of one.

    programs(root, size) -> programs whose hole is filled with each derivation of exactly `size` rules

A size counts statements and expressions in the hole. The vocabulary is small but has every form of statement but calls: int
only, numbers 0 and 1, `+`, `==`, arrays of two cells, one name for a barrier; names are taken in order, so that no two
programs differ by names alone. Loops are any at all, so some do not end.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax  # fmt: skip
from theory.bundl.generate_terms import Here, perspectives_within
from theory.bundl.judgement import GRID_CODE, Code, Context
from theory.bundl.perspectives import (
    ONE_BLOCK,
    ONE_GRID,
    ONE_THREAD,
    Shape,
    align_corrected,
    at,
    dn,
    order_nested,
    shrink,
)
from theory.bundl.typing import check_program, corrected


class Root(NamedTuple):
    """Where the hole is: at the grid's code with input `a`, at a block's with `b`, or at its threads' with `c`."""

    level: str
    shape: Shape


class Every:
    """All derivations at one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def leq(self, narrow: Perspective, broad: Perspective) -> bool:
        """Whether `narrow <= broad`."""
        return order_nested(narrow, broad, self.shape)

    # Expressions. ----------------------------------------------------------------------------------------------

    def ints(self, here: Here, d: Perspective, size: int) -> Iterator[syntax.Expr]:
        """Yield each e of that size with `G |-^pi_d e : int`."""
        if size == 1:
            yield from (syntax.Int(0), syntax.Int(1))
            if self.leq(d, here.code.pi):
                yield syntax.Id()
            yield from (syntax.Var(x) for x, e in here.g.names() if e.type is syntax.Base.INT and self.leq(d, e.at))
        for left in range(1, size - 1):
            for a in self.ints(here, d, left):
                yield from (syntax.Bop("+", a, b) for b in self.ints(here, d, size - 1 - left))
        if size > 2:
            for x, q, array in here.arrays():
                if self.leq(d, q) and (array.kind is not syntax.Kind.SHARED or self.leq(here.code.pi, ONE_BLOCK)):
                    yield from (syntax.Index(syntax.Var(x), i) for i in self.ints(here, d, size - 2))

    def tests(self, here: Here, size: int) -> Iterator[syntax.Expr]:
        """Yield each e of that size with `G |-^pi_pi e : bool`."""
        if size == 1:
            yield from (syntax.Bool(False), syntax.Bool(True))
        for left in range(1, size - 1):
            for a in self.ints(here, here.code.pi, left):
                yield from (syntax.Cmp("==", a, b) for b in self.ints(here, here.code.pi, size - 1 - left))

    # Statements. -----------------------------------------------------------------------------------------------

    def stmts(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield each s of that size with `G |-^pi_m s` for some m."""
        if size == 1:
            yield syntax.SKIP
        if size > 1:
            yield from self.code(here, size - 1)
            yield from self.control(here, size - 1)
            yield from self.variables(here, size - 1)
            yield from self.arrays(here, size - 1)
            yield from self.views(here, size - 1)
            if here.code.pi == ONE_THREAD:
                yield from self.copies(here, size - 1)
            yield from self.memcpys(here, size - 1)

    def code(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Destruct, T-Group, T-Split."""
        code, whole = here.code, here.code.pi.size
        lower = dn(code.pi, self.shape)
        if lower is not None:
            yield from (syntax.Destruct(s) for s in self.stmts(here.move(Code(lower, 0)), size))
        for parts in range(1, whole + 1):
            if whole % parts == 0:
                inner = here.move(self.part(code, whole // parts))
                yield from (syntax.Group(parts, s) for s in self.stmts(inner, size))
        for left in range(1, whole + 1):
            for right in range(whole - left + 1):
                if align_corrected(left, right, whole, code.base):
                    yield from self.split(here, left, right, size)

    def part(self, code: Code, size: int) -> Code:
        """Return the code of one of the equal parts of that size."""
        part = at(code.pi.level, size)
        return Code(part, gcd(code.base, size) if size != code.pi.size else code.base)

    def split(self, here: Here, left: int, right: int, size: int) -> Iterator[syntax.Stmt]:
        level, base = here.code.pi.level, here.code.base
        first = here.move(Code(at(level, left), base))
        if right == 0:
            yield from (syntax.Split(left, 0, s, syntax.SKIP) for s in self.stmts(first, size - 1))
            return
        second = here.move(Code(at(level, right), gcd(base, left)))
        for half in range(1, size):
            for s in self.stmts(first, half):
                yield from (syntax.Split(left, right, s, t) for t in self.stmts(second, size - half))

    def control(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Seq, T-If, T-While. A sequence nests to the right, and has no skip in it."""
        for half in range(2, size - 1):
            for s in self.stmts(here, half):
                if not isinstance(s, syntax.Seq):
                    yield from (syntax.Seq(s, t) for t in self.stmts(here, size - half))
        for of_test in range(1, size):
            for test in self.tests(here, of_test):
                rest = size - of_test
                yield from (syntax.While(test, s) for s in self.stmts(here, rest))
                for half in range(1, rest):
                    for s in self.stmts(here, half):
                        yield from (syntax.If(test, s, t) for t in self.stmts(here, rest - half))

    def variables(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Assn, T-Decl."""
        for x, e in here.g.names():
            if e.type is syntax.Base.INT and self.leq(e.at, here.code.pi):
                yield from (syntax.Assign(x, value) for value in self.ints(here, e.at, size))
        name = here.fresh("v")
        for q in perspectives_within(here.code.pi, self.shape):
            inner = here.bind(name, q, syntax.Base.INT)
            for half in range(1, size):
                for value in self.ints(here, q, half):
                    yield from (
                        syntax.Declare(name, syntax.Base.INT, q, value, s) for s in self.stmts(inner, size - half)
                    )

    def arrays(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Arr-Assn, T-Alloc, T-Alloc-Shared."""
        pi = here.code.pi
        for x, q, array in here.arrays():
            if self.leq(q, pi) and (array.kind is syntax.Kind.LOCAL or pi == ONE_THREAD == q):
                for half in range(1, size - 1):
                    for i in self.ints(here, q, half):
                        yield from (syntax.Store(syntax.Var(x), i, v) for v in self.ints(here, q, size - 1 - half))
        name = here.fresh("m")
        for kind in syntax.Kind:
            if kind is not syntax.Kind.SHARED or pi == ONE_BLOCK:
                inner = here.bind(name, pi, syntax.ArrayOf(syntax.Base.INT, kind), 2)
                yield from (syntax.Alloc(name, kind, syntax.Base.INT, 2, s) for s in self.stmts(inner, size))

    def views(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Partition, T-Claim, T-Lower."""
        code, whole, y = here.code, here.code.pi.size, here.fresh("y")
        for x, q, array in list(here.arrays()):
            if q != code.pi or array.kind is syntax.Kind.LOCAL:
                continue
            lower = dn(q, self.shape)
            if lower is not None:
                yield from (syntax.Lower("p", x, y, s) for s in self.stmts(here.view(x, y, lower, 0), size))
            for parts in range(1, whole + 1):
                part = shrink(q, parts)
                if part is None:
                    continue
                inner = here.view(x, y, part, 0)
                yield from (syntax.Partition("p", x, y, parts, s) for s in self.stmts(inner, size))
                for arm in range(parts):
                    claimed = inner.move(Code(part, gcd(code.base, arm * part.size)))
                    yield from (syntax.Claim("p", x, y, part.size, s, arm) for s in self.stmts(claimed, size))

    def copies(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Async-Partition, T-Async-Memcpy."""
        flying = [(x, e.type, e.outer) for x, e in here.g.names() if isinstance(e.type, syntax.Async)]
        if not flying:
            y = here.fresh("y")
            for x, q, _ in list(here.arrays()):
                if q == ONE_THREAD:
                    yield from (syntax.AsyncPartition("f", x, y, s) for s in self.stmts(here.fly(x, y, "f"), size))
        elif size == 2:
            for x, type_, outer in flying:
                yield from (
                    syntax.AsyncMemcpy(type_.phi, x, y)
                    for y, q, _ in here.arrays()
                    if y in outer and self.leq(ONE_THREAD, q)
                )

    def memcpys(self, here: Here, size: int) -> Iterator[syntax.Stmt]:
        """Yield by T-Memcpy."""
        if size != 2:
            return
        pi = here.code.pi
        for x, q, to in here.arrays():
            if self.leq(q, pi) and (to.kind is syntax.Kind.LOCAL or pi == ONE_THREAD == q):
                for y, r, source in here.arrays():
                    if self.leq(q, r) and (source.kind is not syntax.Kind.SHARED or self.leq(pi, ONE_BLOCK)):
                        yield syntax.Memcpy(x, y)


def programs(root: Root, size: int) -> Iterator[syntax.Program]:
    """Yield each program whose hole has that size."""
    inputs = (syntax.Input("a", syntax.Base.INT, (0, 1)),)
    here = Here(Context(), GRID_CODE).bind("a", ONE_GRID, syntax.ArrayOf(syntax.Base.INT, syntax.Kind.GLOBAL), 2)
    for body in fill(Every(root.shape), root.level, here, size):
        unbounded = syntax.Program(body, (), inputs, 1 << 30)
        yield syntax.Program(body, (), inputs, check_program(corrected, unbounded, root.shape))


def fill(every: Every, level: str, here: Here, size: int) -> Iterator[syntax.Stmt]:
    """Yield what is around the hole, with each statement of that size in it. Below the grid there is one block."""
    if level == "grid":
        yield from every.stmts(here, size)
        return
    one = here.view("a", "b", at(ONE_BLOCK.level, every.shape.blocks), 2).move(
        Code(at(ONE_BLOCK.level, every.shape.blocks), 0)
    )
    if level == "block":
        yield from (syntax.Lower("g", "a", "b", syntax.Destruct(s)) for s in every.stmts(one, size))
        return
    threads = at(ONE_THREAD.level, every.shape.threads)
    inner = one.view("b", "c", threads, 2).move(Code(threads, 0))
    for s in every.stmts(inner, size):
        yield syntax.Lower("g", "a", "b", syntax.Destruct(syntax.Lower("h", "b", "c", syntax.Destruct(s))))
