"""Well-typed programs by derivation: the corrected typing rules read from the conclusion up, a random one at each step.

    program(rng, shape, fuel, racy=False) -> Program     types with `typing.corrected`; its budget is what it needs

`fuel` bounds the number of rules that a derivation uses. Loops end: each counts to a limit. Indices are within bounds, as far
as an array's length is known here. Without `racy`, each part of a partition has elements of its own and an array in flight
gets one copy, so there is to be no race; with it, views may overlap, and a few indices are any number.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.generate_terms import Expressions, Here, perspectives_within
from theory.bundl.judgement import GRID_CODE, Checker, Code, Context
from theory.bundl.perspectives import ONE_BLOCK, ONE_GRID, ONE_THREAD, Shape, align_corrected, at, dn, shrink
from theory.bundl.typing import check_program, corrected

Rule = Callable[["Statements", Here, int], "syntax.Stmt | None"]
BASES = (syntax.Base.INT, syntax.Base.INT, syntax.Base.INT, syntax.Base.BOOL, syntax.Base.FLOAT)


class Statements(Expressions):
    """One program under way; `needs` remembers the functions' assumptions."""

    def __init__(self, rng: Random, shape: Shape, racy: bool) -> None:
        super().__init__(rng, shape, racy)
        self.lengths: dict[str, dict[str, int]] = {}

    def stmt(self, here: Here, fuel: int) -> syntax.Stmt:
        """Return s with `G |-^pi_m s` for some m."""
        if fuel <= 1 and self.rng.random() < 0.8:
            return (
                self.rng.choice((Statements.assign, Statements.store, Statements.store))(self, here, 3) or syntax.SKIP
            )
        if fuel > 1:
            for _ in range(4):
                rule = self.rng.choices(RULES, WEIGHTS)[0]
                made = rule(self, here, fuel - 1)
                if made is not None:
                    return made
        return syntax.SKIP

    # Code. -----------------------------------------------------------------------------------------------------

    def seq(self, here: Here, fuel: int) -> syntax.Stmt | None:
        first = self.rng.randint(1, max(1, fuel))
        return syntax.Seq(self.stmt(here, first), self.stmt(here, fuel - first))

    def split(self, here: Here, fuel: int) -> syntax.Stmt | None:
        code, whole = here.code, here.code.pi.size
        pairs = [
            (left, right)
            for left in range(1, whole + 1)
            for right in range(whole - left + 1)
            if align_corrected(left, right, whole, code.base)
        ]
        if not pairs:
            return None
        left, right = self.rng.choice(pairs)
        level = code.pi.level
        half = fuel // 2 if right else fuel
        first = self.stmt(here.move(Code(at(level, left), code.base)), half)
        second: syntax.Stmt = syntax.SKIP
        if right:
            second = self.stmt(here.move(Code(at(level, right), self.gcd(code.base, left))), fuel - half)
        return syntax.Split(left, right, first, second)

    def destruct(self, here: Here, fuel: int) -> syntax.Stmt | None:
        lower = dn(here.code.pi, self.shape)
        return syntax.Destruct(self.stmt(here.move(Code(lower, 0)), fuel)) if lower is not None else None

    def group(self, here: Here, fuel: int) -> syntax.Stmt | None:
        code = here.code
        parts = self.rng.choice([q for q in range(1, code.pi.size + 1) if code.pi.size % q == 0])
        if parts == 1 and self.rng.random() < 0.7:
            return None
        part = code.pi.size // parts
        base = self.gcd(code.base, part) if parts > 1 else code.base
        return syntax.Group(parts, self.stmt(here.move(Code(at(code.pi.level, part), base)), fuel))

    def if_(self, here: Here, fuel: int) -> syntax.Stmt | None:
        test = self.expr(here, here.code.pi, syntax.Base.BOOL, min(fuel, 4))
        half = fuel // 2
        return syntax.If(test, self.stmt(here, half), self.stmt(here, fuel - half))

    def while_(self, here: Here, fuel: int) -> syntax.Stmt | None:
        if here.loops > 1 or fuel < 4:
            return None
        name, pi = here.fresh("i"), here.code.pi
        if self.rng.random() < 0.2:
            inner = here.bind(name, pi, syntax.Base.BOOL, fixed=True)._replace(loops=here.loops + 1)
            body = syntax.Seq(self.stmt(inner, fuel - 3), syntax.Assign(name, syntax.Bool(False)))
            return syntax.Declare(name, syntax.Base.BOOL, pi, syntax.Bool(True), syntax.While(syntax.Var(name), body))
        inner = here.bind(name, pi, syntax.Base.INT, fixed=True)._replace(loops=here.loops + 1)
        body = syntax.Seq(
            self.stmt(inner, fuel - 5), syntax.Assign(name, syntax.Bop("+", syntax.Var(name), syntax.Int(1)))
        )
        limit = syntax.Int(self.rng.randint(1, 3))
        return syntax.Declare(
            name, syntax.Base.INT, pi, syntax.Int(0), syntax.While(syntax.Cmp("<", syntax.Var(name), limit), body)
        )

    def call(self, here: Here, fuel: int) -> syntax.Stmt | None:
        functions = [
            (f, e.type)
            for f, e in here.g.names()
            if isinstance(e.type, syntax.Fun) and self.leq(e.type.at, here.code.pi)
        ]
        if not functions:
            return None
        name, type_ = self.rng.choice(functions)
        args: list[syntax.Expr] = []
        for param in type_.params:
            if isinstance(param.type, syntax.Base):
                args.append(self.expr(here, param.at, param.type, 3))
                continue
            fitting = [
                x
                for x, entry in here.g.names()
                if entry.at == param.at
                and entry.type == param.type
                and here.lengths[x] >= self.lengths[name][param.name]
                and syntax.Var(x) not in args
            ]
            if not fitting:
                return None
            args.append(syntax.Var(self.rng.choice(fitting)))
        return syntax.Call(name, tuple(args))

    # Data. -----------------------------------------------------------------------------------------------------

    def declare(self, here: Here, fuel: int) -> syntax.Stmt | None:
        q = self.rng.choice(perspectives_within(here.code.pi, self.shape))
        type_ = self.rng.choice(BASES)
        name = here.fresh("v")
        value = self.expr(here, q, type_, min(5, fuel))
        return syntax.Declare(name, type_, q, value, self.stmt(here.bind(name, q, type_), fuel - 1))

    def assign(self, here: Here, fuel: int) -> syntax.Stmt | None:
        names = [
            (x, e.at, e.type)
            for x, e in here.g.names()
            if isinstance(e.type, syntax.Base) and x not in here.fixed and self.leq(e.at, here.code.pi)
        ]
        if not names:
            return None
        name, q, type_ = self.rng.choice(names)
        return syntax.Assign(name, self.expr(here, q, type_, min(6, fuel)))

    def store(self, here: Here, fuel: int) -> syntax.Stmt | None:
        alone = here.code.pi == ONE_THREAD
        arrays = [
            (x, q, array)
            for x, q, array in here.arrays()
            if here.lengths[x]
            and self.leq(q, here.code.pi)
            and (array.kind is syntax.Kind.LOCAL or (alone and q == ONE_THREAD))
        ]
        if not arrays:
            return None
        name, q, array = self.rng.choice(arrays)
        value = self.expr(here, q, array.element, min(6, fuel))
        return syntax.Store(syntax.Var(name), self.index(here, q, here.lengths[name]), value)

    def alloc(self, here: Here, fuel: int) -> syntax.Stmt | None:
        kind = self.rng.choice(list(syntax.Kind))
        if kind is syntax.Kind.SHARED and here.code.pi != ONE_BLOCK:
            return None
        element = self.rng.choice(BASES)
        name, count = here.fresh("m"), self.rng.choice((0, 1, 2, 2, 4, 4, 8))
        inner = here.bind(name, here.code.pi, syntax.ArrayOf(element, kind), count)
        return syntax.Alloc(name, kind, element, count, self.stmt(inner, fuel))

    def partition(self, here: Here, fuel: int) -> syntax.Stmt | None:
        name = self.owned_array(here)
        if name is None:
            return None
        pi = here.code.pi
        divisors = [c for c in range(1, pi.size + 1) if pi.size % c == 0]
        parts = self.rng.choice(divisors[len(divisors) // 2 :] if self.rng.random() < 0.7 else divisors)
        part = shrink(pi, parts)
        assert part is not None
        length = here.lengths[name] // parts
        view = None
        if self.racy and self.rng.random() < 0.6:
            length = self.rng.randint(0, min(2, here.lengths[name]))
            start = self.rng.choice(
                (syntax.Id(), syntax.Int(0), syntax.Int(0), self.expr(here, part, syntax.Base.INT, 3))
            )
            view = syntax.View(
                start,
                self.rng.choice((syntax.Int(1), syntax.Int(0), self.expr(here, part, syntax.Base.INT, 2))),
                syntax.Int(length),
            )
        elif self.rng.random() < 0.3:
            view = syntax.View(syntax.Id(), syntax.Int(parts), syntax.Int(length))
        return self.view_statement(
            here, name, part, length, fuel, lambda y, s: syntax.Partition(self.label(here), name, y, parts, s, view)
        )

    def claim(self, here: Here, fuel: int) -> syntax.Stmt | None:
        name = self.owned_array(here)
        if name is None:
            return None
        code, whole = here.code, here.code.pi.size
        size = self.rng.choice([n for n in range(1, whole + 1) if whole % n == 0])
        arm, part = self.rng.randrange(whole // size), at(code.pi.level, size)
        y = here.fresh("y")
        inner = here.view(name, y, part, here.lengths[name]).move(Code(part, self.gcd(code.base, arm * size)))
        return syntax.Claim(self.label(here), name, y, size, self.stmt(inner, fuel), arm)

    def lower(self, here: Here, fuel: int) -> syntax.Stmt | None:
        name, part = self.owned_array(here), dn(here.code.pi, self.shape)
        if name is None or part is None:
            return None
        if self.rng.random() < 0.6:  # what is nearly always next
            y = here.fresh("y")
            inner = here.view(name, y, part, here.lengths[name]).move(Code(part, 0))
            return syntax.Lower(self.label(here), name, y, syntax.Destruct(self.stmt(inner, fuel - 1)))
        return self.view_statement(
            here, name, part, here.lengths[name], fuel, lambda y, s: syntax.Lower(self.label(here), name, y, s)
        )

    def view_statement(
        self,
        here: Here,
        x: str,
        part: Perspective,
        length: int,
        fuel: int,
        make: Callable[[str, syntax.Stmt], syntax.Stmt],
    ) -> syntax.Stmt:
        y = here.fresh("y")
        inner = here.view(x, y, part, length)
        if part != here.code.pi and part.level == here.code.pi.level and self.rng.random() < 0.6:
            code = here.code
            parts = code.pi.size // part.size
            base = self.gcd(code.base, part.size)
            return make(y, syntax.Group(parts, self.stmt(inner.move(Code(part, base)), fuel - 1)))
        return make(y, self.stmt(inner, fuel))

    def exchange(self, here: Here, fuel: int) -> syntax.Stmt | None:
        """What barriers are for: each thread stores to its part, then all read the whole; by T-Seq, T-Partition, T-Decl .."""
        name, pi = self.owned_array(here), here.code.pi
        if name is None or pi.level != ONE_THREAD.level or here.lengths[name] < pi.size or fuel < 4:
            return None
        entry = here.g.get(name)
        assert entry is not None and isinstance(entry.type, syntax.ArrayOf)
        y, length = here.fresh("y"), here.lengths[name] // pi.size
        inner = here.view(name, y, ONE_THREAD, length).move(Code(ONE_THREAD, self.gcd(here.code.base, 1)))
        value = self.expr(inner, ONE_THREAD, entry.type.element, 3)
        store: syntax.Stmt = syntax.Store(syntax.Var(y), self.index(inner, ONE_THREAD, length), value)
        view = syntax.View(syntax.Id(), syntax.Int(pi.size), syntax.Int(length)) if self.rng.random() < 0.3 else None
        if self.racy and self.rng.random() < 0.7:
            view = syntax.View(syntax.Int(0), syntax.Int(self.rng.randrange(2)), syntax.Int(length))
        write = syntax.Partition(self.label(here), name, y, pi.size, syntax.Group(pi.size, store), view)
        q, v = self.rng.choice(perspectives_within(pi, self.shape)), here.fresh("v")
        read = syntax.Index(syntax.Var(name), self.index(here, q, here.lengths[name]))
        after = self.stmt(here.bind(v, q, entry.type.element), fuel - 4)
        return syntax.Seq(write, syntax.Declare(v, entry.type.element, q, read, after))

    def owned_array(self, here: Here) -> str | None:
        """Return an array that all of the code's unit owns and shares."""
        names = [x for x, q, array in here.arrays() if q == here.code.pi and array.kind is not syntax.Kind.LOCAL]
        return self.rng.choice(names) if names else None

    # Copies. ---------------------------------------------------------------------------------------------------

    def async_partition(self, here: Here, fuel: int) -> syntax.Stmt | None:
        if here.code.pi != ONE_THREAD:
            return None
        names = [x for x, q, _ in here.arrays() if q == ONE_THREAD]
        open_ = {e.type.phi for _, e in here.g.names() if isinstance(e.type, syntax.Async)}
        phis = [phi for phi in ("f", "g") if phi not in open_]
        if not names or not phis:
            return None
        name, phi, y = self.rng.choice(names), self.rng.choice(phis), here.fresh("y")
        inner = here.fly(name, y, phi)
        body = self.async_memcpy(inner, 0, y) or syntax.SKIP
        if self.racy or body == syntax.SKIP or self.rng.random() < 0.3:
            body = syntax.Seq(body, self.stmt(inner, fuel - 2) if self.racy else syntax.SKIP)
        elif self.rng.random() < 0.6:
            body = syntax.Seq(self.stmt(inner.quiet(y), fuel - 2), body)
        return syntax.AsyncPartition(phi, name, y, body)

    def async_memcpy(self, here: Here, fuel: int, only: str | None = None) -> syntax.Stmt | None:
        if here.code.pi != ONE_THREAD:
            return None
        targets = [(x, e) for x, e in here.g.names() if isinstance(e.type, syntax.Async) and only in (None, x)]
        targets = [(x, e) for x, e in targets if only or (self.racy and x not in here.fixed)]
        if not targets:
            return None
        name, entry = self.rng.choice(targets)
        assert isinstance(entry.type, syntax.Async)
        element = entry.type.array.element
        sources = [
            y
            for y, q, array in here.arrays()
            if y in entry.outer and array.element is element and here.lengths[y] >= here.lengths[name]
            if self.leq(ONE_THREAD, q)
        ]
        return syntax.AsyncMemcpy(entry.type.phi, name, self.rng.choice(sources)) if sources else None

    def memcpy(self, here: Here, fuel: int) -> syntax.Stmt | None:
        pi = here.code.pi
        alone = pi == ONE_THREAD
        pairs = [
            (x, y)
            for x, q, to in here.arrays()
            for y, r, source in here.arrays()
            if self.leq(q, pi) and self.leq(q, r) and (to.kind is syntax.Kind.LOCAL or (alone and q == ONE_THREAD))
            if (source.kind is not syntax.Kind.SHARED or self.leq(pi, ONE_BLOCK)) and to.element is source.element
            if here.lengths[x] <= here.lengths[y]
        ]
        return syntax.Memcpy(*self.rng.choice(pairs)) if pairs else None

    # Programs. -------------------------------------------------------------------------------------------------

    def function(self, name: str, known: Context, fuel: int) -> syntax.Function:
        """V-Function, over the functions before it."""
        pi = self.rng.choice(perspectives_within(ONE_GRID, self.shape))
        base = Checker(corrected, self.shape).whole(pi)
        here, params = Here(known, Code(pi, base)), []
        for index in range(self.rng.randint(0, 3)):
            q = pi if self.rng.random() < 0.6 else self.rng.choice(perspectives_within(ONE_GRID, self.shape))
            type_: syntax.Base | syntax.ArrayOf = self.rng.choice(BASES)
            if self.rng.random() < 0.5:
                type_ = syntax.ArrayOf(
                    self.rng.choice(BASES),
                    self.rng.choice([syntax.Kind.GLOBAL, syntax.Kind.GLOBAL, syntax.Kind.SHARED, syntax.Kind.LOCAL]),
                )
            params.append(syntax.Param(f"{name}{index}", type_, q))
            here = here.bind(f"{name}{index}", q, type_, self.rng.choice((1, 2, 4)))
        self.lengths[name] = {param.name: here.lengths.get(param.name, 0) for param in params}
        body = self.stmt(here, fuel)
        need = Checker(corrected, self.shape).stmt(here.g, here.code, body)
        return syntax.Function(name, tuple(params), pi, need, body)

    def program(self, fuel: int) -> syntax.Program:
        functions: list[syntax.Function] = []
        known = Context()
        for name in ("f", "h")[: self.rng.choice((0, 0, 0, 1, 2))]:
            functions.append(self.function(name, known, max(3, fuel // 3)))
            known = known.bind(name, functions[-1].at, functions[-1].type)
        inputs, here = [], Here(known, GRID_CODE)
        for index in range(self.rng.choice((1, 1, 2))):
            element = self.rng.choice(BASES)
            count = self.rng.choice((1, 2, *[self.shape.blocks * self.shape.threads * n for n in (1, 1, 2)]))
            inputs.append(syntax.Input(f"a{index}", element, tuple(self.literal(element).value for _ in range(count))))
            here = here.bind(f"a{index}", ONE_GRID, syntax.ArrayOf(element, syntax.Kind.GLOBAL), count)
        body = self.inward(here, fuel)
        program = syntax.Program(body, tuple(functions), tuple(inputs), 1 << 30)
        return syntax.Program(body, tuple(functions), tuple(inputs), check_program(corrected, program, self.shape))

    def inward(self, here: Here, fuel: int) -> syntax.Stmt:
        """Most programs go to threads at once, with what they own."""
        pi = here.code.pi
        if self.rng.random() < 0.3 or pi == ONE_THREAD:
            return self.stmt(here, fuel)
        name, part = self.owned_array(here), dn(pi, self.shape)
        if part is None:
            part, parts = at(pi.level), pi.size
            if self.racy and name is not None and self.rng.random() < 0.4:
                return self.partition(here, fuel) or syntax.SKIP
            code = Code(part, self.gcd(here.code.base, 1) if parts > 1 else here.code.base)
            if name is None:
                return syntax.Group(parts, self.inward(here.move(code), fuel))
            y = here.fresh("y")
            inner = here.view(name, y, part, here.lengths[name] // parts).move(code)
            return syntax.Partition(self.label(here), name, y, parts, syntax.Group(parts, self.inward(inner, fuel)))
        if name is None:
            return syntax.Destruct(self.inward(here.move(Code(part, 0)), fuel))
        y = here.fresh("y")
        inner = here.view(name, y, part, here.lengths[name]).move(Code(part, 0))
        return syntax.Lower(self.label(here), name, y, syntax.Destruct(self.inward(inner, fuel)))


TABLE: list[tuple[Rule, float]] = [
    (Statements.seq, 7), (Statements.split, 2), (Statements.destruct, 2), (Statements.group, 3), (Statements.if_, 2),
    (Statements.while_, 1), (Statements.call, 3), (Statements.declare, 3), (Statements.assign, 3), (Statements.store, 8),
    (Statements.alloc, 3), (Statements.partition, 5), (Statements.claim, 3), (Statements.lower, 3),
    (Statements.async_partition, 3), (Statements.async_memcpy, 2), (Statements.memcpy, 2),
    (Statements.exchange, 6),
]  # fmt: skip
RULES = [rule for rule, _ in TABLE]
WEIGHTS = [weight for _, weight in TABLE]


def program(rng: Random, shape: Shape, fuel: int, racy: bool = False) -> syntax.Program:
    """Return a program that types with the corrected rules."""
    return Statements(rng, shape, racy).program(fuel)
