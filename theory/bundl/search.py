"""Minimal programs: every well-typed program of a grammar, smallest first, until one tells two versions of the rules apart.

    Grammar                  which forms and inputs the programs may have
    bodies(rules, grammar, shape, size)           all bodies of exactly that `length` that type at (Grid, 1)
    smallest(wanted, version, grammar, shape, ..) the first program that does what `wanted` says, and how many were tried
    shrunk(program, keep)    a program no part of which can be left out

The enumeration is by typing: a statement is put together from statements that type where it will put them, and kept if the
rules, mixed or not, give it a type. Names do not matter, so a name is one letter and how many were bound before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from prism.lang.types.perspective import Level, Perspective
from theory.bundl import (
    syntax,  # fmt: skip
    typing,
)
from theory.bundl.judgement import GRID_CODE, Checker, Code, Context, IllTyped, Rules
from theory.bundl.observe import CORRECTED, TooMany, Version, misdeeds, observe
from theory.bundl.perspectives import ONE_THREAD, Shape, at, dn

NESTED = ("first", "second", "then", "other", "body")  # the fields that hold statements
ALL_FORMS = frozenset(
    ["seq", "store", "assign", "let", "if", "lower", "partition", "claim", "split", "group", "destruct", "alloc"]
    + ["memcpy", "async", "call", "id", "read", "plus"]
)


@dataclass(frozen=True)
class Grammar:
    """What the programs are made of: forms, inputs, functions; arrays allocated are `count` long, and numbers are 0 and 1.

    `needs`: classes of nodes without which a program is not tried, as the rules at stake would not be used. `proper`: what is
    claimed is less than the whole.
    """

    forms: frozenset[str] = ALL_FORMS
    inputs: tuple[syntax.Input, ...] = (syntax.Input("a", syntax.Base.INT, (0, 0)),)
    functions: tuple[syntax.Function, ...] = ()
    kinds: tuple[syntax.Kind, ...] = (syntax.Kind.LOCAL, syntax.Kind.SHARED, syntax.Kind.GLOBAL)
    count: int = 1
    needs: frozenset[str] = frozenset()
    proper: bool = True


Key = tuple[tuple[object, ...], Code, int]


@dataclass
class _Maker:
    """The statements of each size, at each context and code; remembered."""

    rules: Rules
    grammar: Grammar
    shape: Shape
    deadline: float = float("inf")
    known: dict[Key, list[syntax.Stmt]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.checker = Checker(self.rules, self.shape)

    def statements(self, g: Context, code: Code, size: int) -> list[syntax.Stmt]:
        """Return all statements of exactly this size that type here."""
        key = tuple(sorted((name, entry) for name, entry in g.names())), code, size
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = [s for s in self._candidates(g, code, size) if self._types(g, code, s)]
        return found

    def _types(self, g: Context, code: Code, s: syntax.Stmt) -> bool:
        if time.monotonic() > self.deadline:
            raise TimeoutError
        try:
            self.checker.stmt(g, code, s)
        except IllTyped:
            return False
        return True

    def _has(self, form: str) -> bool:
        return form in self.grammar.forms

    def _candidates(self, g: Context, code: Code, size: int) -> Iterator[syntax.Stmt]:
        if size == 1:
            yield syntax.SKIP
            if self._has("sync"):
                yield from (syntax.Init("p"), syntax.Dec("p"), syntax.Wait("p"))
        yield from self._simple(g, size)
        if size < 2:
            return
        yield from self._code(g, code, size)
        yield from self._data(g, code, size)
        if self._has("seq"):
            for left in range(1, size - 1):
                for first in self.statements(g, code, left):
                    if not isinstance(first, (syntax.Skip, syntax.Seq)):
                        rest = self.statements(g, code, size - 1 - left)
                        yield from (syntax.Seq(first, s) for s in rest if not isinstance(s, syntax.Skip))

    def _simple(self, g: Context, size: int) -> Iterator[syntax.Stmt]:  # noqa: C901 - one form after the other
        names = [(name, entry.type) for name, entry in g.names()]
        arrays = [name for name, type_ in names if isinstance(type_, syntax.ArrayOf)]
        if self._has("store"):
            for name in arrays:
                yield from (syntax.Store(syntax.Var(name), syntax.Int(0), e) for e in self._expressions(g, size - 3))
        if self._has("assign"):
            for name, type_ in names:
                if isinstance(type_, syntax.Base):
                    yield from (syntax.Assign(name, e) for e in self._expressions(g, size - 1))
        if size == 1 and self._has("memcpy"):
            yield from (syntax.Memcpy(to, source) for to in arrays for source in arrays if to != source)
        if size == 1 and self._has("async"):
            for name, type_ in names:
                if isinstance(type_, syntax.Async):
                    yield from (syntax.AsyncMemcpy(type_.phi, name, source) for source in arrays)
        if self._has("call"):
            for name, type_ in names:
                if isinstance(type_, syntax.Fun):
                    yield from (syntax.Call(name, args) for args in self._arguments(g, len(type_.params), size - 1))

    def _arguments(self, g: Context, count: int, size: int) -> Iterator[tuple[syntax.Expr, ...]]:
        if count == 0:
            yield from [()] if size == 0 else []
            return
        arrays: list[syntax.Expr] = [
            syntax.Var(name) for name, entry in g.names() if isinstance(entry.type, syntax.ArrayOf)
        ]
        for first in range(1, size - count + 2):
            for e in [*self._expressions(g, first), *(arrays if first == 1 else [])]:
                yield from ((e, *rest) for rest in self._arguments(g, count - 1, size - first))

    def _expressions(self, g: Context, size: int) -> Iterator[syntax.Expr]:
        names = list(g.names())
        if size == 1:
            yield from (syntax.Int(0), syntax.Int(1))
            yield from [syntax.Id()] if self._has("id") else []
            yield from [syntax.Float(1.0)] if self._has("float") else []
            yield from [syntax.Bool(True)] if self._has("bool") else []
            yield from (syntax.Var(name) for name, entry in names if isinstance(entry.type, syntax.Base))
        if size == 3 and self._has("read"):
            yield from (
                syntax.Index(syntax.Var(name), syntax.Int(0))
                for name, entry in names
                if isinstance(entry.type, syntax.ArrayOf)
            )
        if size in (3, 5) and self._has("plus"):
            for e in self._expressions(g, size - 2):
                if not isinstance(e, syntax.Int):
                    yield syntax.Bop("+", e, syntax.Float(1.0) if isinstance(e, syntax.Float) else syntax.Int(1))

    def _tests(self, g: Context, size: int) -> Iterator[syntax.Expr]:
        if size == 1:
            yield from (syntax.Var(name) for name, entry in g.names() if entry.type is syntax.Base.BOOL)
        for e in self._expressions(g, size - 2):
            if not isinstance(e, (syntax.Int, syntax.Float)):
                yield syntax.Cmp("==", e, syntax.Int(0))

    def _code(self, g: Context, code: Code, size: int) -> Iterator[syntax.Stmt]:  # noqa: C901 - one form after the other
        level, whole = code.pi.level, code.pi.size
        lower = dn(code.pi, self.shape)
        if lower is not None and self._has("destruct"):
            yield from (syntax.Destruct(s) for s in self.statements(g, Code(lower, 0), size - 1))
        if self._has("group"):
            for q in range(2, whole + 1):
                if whole % q == 0:
                    inner = Code(at(level, whole // q), whole // q)
                    yield from (syntax.Group(q, s) for s in self.statements(g, inner, size - 1))
        if self._has("split"):
            for left in range(1, whole):
                for right in range(1, whole - left + 1):
                    yield from self._splits(g, code, size, left, right)
        if self._has("if"):
            for k in range(1, size - 2):
                for test in self._tests(g, k):
                    for n in range(1, size - 1 - k):
                        for then in self.statements(g, code, n):
                            yield from (syntax.If(test, then, s) for s in self.statements(g, code, size - 1 - k - n))

    def _splits(self, g: Context, code: Code, size: int, left: int, right: int) -> Iterator[syntax.Stmt]:
        level = code.pi.level
        if not self.rules.align(left, right, code.pi.size, code.base):
            return
        for n in range(1, size - 1):
            for first in self.statements(g, Code(at(level, left), code.base), n):
                seconds = self.statements(g, Code(at(level, right), right), size - 1 - n)
                yield from (syntax.Split(left, right, first, second) for second in seconds)

    def _data(self, g: Context, code: Code, size: int) -> Iterator[syntax.Stmt]:  # noqa: C901 - one form after the other
        pi, whole = code.pi, code.pi.size
        fresh = f"x{sum(1 for _ in g.names())}{'abcdefgh'[pi.level]}"
        while g.is_bound(fresh):
            fresh += "'"
        lower = dn(pi, self.shape)
        for name, entry in list(g.names()):
            array = entry.type
            if not isinstance(array, syntax.ArrayOf):
                continue
            rest = g.hide(name)
            if lower is not None and self._has("lower"):
                yield from (
                    syntax.Lower("p", name, fresh, s) for s in self._inside(rest, fresh, lower, array, code, size)
                )
            for c in range(1, whole + 1):
                if self._has("claim") and (c < whole or not self.grammar.proper):
                    inner = Code(at(pi.level, c), c)
                    yield from (
                        syntax.Claim("p", name, fresh, c, s)
                        for s in self._inside(rest, fresh, inner.pi, array, inner, size)
                    )
                if self._has("partition") and c > 1 and whole % c == 0:
                    part = at(pi.level, whole // c)
                    yield from (
                        syntax.Partition("p", name, fresh, c, s)
                        for s in self._inside(rest, fresh, part, array, code, size)
                    )
            if self._has("async") and pi == ONE_THREAD:
                outer = frozenset(n for n, _ in rest.names())
                inner_g = rest.bind(fresh, pi, syntax.Async(array, "f"), outer)
                yield from (
                    syntax.AsyncPartition("f", name, fresh, s) for s in self.statements(inner_g, code, size - 1)
                )
        if self._has("alloc"):
            for kind in self.grammar.kinds:
                array = syntax.ArrayOf(syntax.Base.INT, kind)
                inside = self._inside(g, fresh, pi, array, code, size)
                yield from (syntax.Alloc(fresh, kind, syntax.Base.INT, self.grammar.count, s) for s in inside)
        if self._has("let"):
            yield from self._lets(g, code, size, fresh)

    def _inside(
        self, g: Context, name: str, q: Perspective, array: syntax.ArrayOf, code: Code, size: int
    ) -> list[syntax.Stmt]:
        return self.statements(g.bind(name, q, array), code, size - 1)

    def _lets(self, g: Context, code: Code, size: int, fresh: str) -> Iterator[syntax.Stmt]:
        for q in perspectives(self.shape):
            for k in range(1, size - 1):
                values = [(e, t) for e in self._expressions(g, k) if (t := self._type(g, code, q, e)) is not None]
                for e, type_ in values:
                    inner = g.bind(fresh, q, type_)
                    bodies = self.statements(inner, code, size - 1 - k)
                    yield from (syntax.Declare(fresh, type_, q, e, s) for s in bodies)

    def _type(self, g: Context, code: Code, q: Perspective, e: syntax.Expr) -> syntax.Base | None:
        """Return the type of `e` at q, or, where rules ask for the code's perspective, there."""
        for d in (q, code.pi):
            try:
                type_ = self.checker.expr(g, code.pi, d, e)
            except IllTyped:
                continue
            return type_ if isinstance(type_, syntax.Base) else None
        return None


def perspectives(shape: Shape) -> list[Perspective]:
    """Return those that a variable may be declared at, narrow to broad."""
    threads = [at(Level.THREAD, n) for n in range(1, shape.threads + 1) if shape.threads % n == 0 or n % 2 == 0]
    blocks = [at(Level.BLOCK, n) for n in range(1, shape.blocks + 1) if shape.blocks % n == 0]
    return [*threads, *blocks, at(Level.GRID)]


def bodies(rules: Rules, grammar: Grammar, shape: Shape, size: int) -> list[syntax.Stmt]:
    """Return all bodies of exactly this size that type at (Grid, 1)."""
    return _Maker(rules, grammar, shape).statements(_root(grammar), GRID_CODE, size)


def _root(grammar: Grammar) -> Context:
    return typing.root_context(syntax.Program(syntax.SKIP, grammar.functions, grammar.inputs))


def fresh(program: syntax.Program) -> syntax.Program:
    """Give each partition, claim and lower a psi of its own."""
    count = 0

    def rename(s: syntax.Node) -> syntax.Node:
        nonlocal count
        if isinstance(s, (syntax.Partition, syntax.Claim, syntax.Lower)):
            count += 1
            s = replace(s, psi=f"p{count}")
        return rebuilt(s, rename)

    body = rename(program.body)
    return replace(program, body=body)  # type: ignore[arg-type]


def rebuilt(s: syntax.Node, change: Callable[[syntax.Node], syntax.Node]) -> syntax.Node:
    """Return `s` with each statement directly inside it changed."""
    changed = {}
    for name in NESTED:
        part = getattr(s, name, None)
        if isinstance(part, syntax.Node):
            changed[name] = change(part)
    return replace(s, **changed) if changed else s  # type: ignore[type-var]


@dataclass(frozen=True)
class Found:
    """A search's end: the program, if one was found, how many were tried, the size that was reached, and the seconds."""

    program: syntax.Program | None
    tried: int
    size: int
    seconds: float


def smallest(
    wanted: str,
    version: Version,
    grammar: Grammar,
    shape: Shape,
    *,
    limit: int = 20,
    seconds: float = 5.0,
    uniform: bool = False,
) -> Found:
    """Return the first program, by size, of which `version` does what `wanted` says and the corrected rules do not.

    `wanted` is one of KINDS. For "ill-typed" the programs are those that the corrected rules let through.
    """
    begin, tried, size = time.monotonic(), 0, 0
    rules = typing.corrected if wanted == "ill-typed" else version.rules
    maker = _Maker(rules, grammar, shape, begin + seconds)
    found = None
    try:
        for size in range(1, limit + 1):
            for program in _programs(maker, size):
                tried += 1
                if shows(program, wanted, version, shape, uniform):
                    found = program
                    break
                if time.monotonic() > maker.deadline:
                    raise TimeoutError
            if found is not None:
                break
    except TimeoutError:
        pass
    return Found(found, tried, size, time.monotonic() - begin)


def _programs(maker: _Maker, size: int) -> Iterator[syntax.Program]:
    """Yield the programs whose body has exactly this size and all that the grammar needs."""
    grammar = maker.grammar
    for body in maker.statements(_root(grammar), GRID_CODE, size):
        if grammar.needs <= {type(node).__name__ for node in syntax.walk(body)}:
            yield add_budget(fresh(syntax.Program(body, grammar.functions, grammar.inputs)), maker.rules, maker.shape)


def add_budget(program: syntax.Program, rules: Rules, shape: Shape) -> syntax.Program:
    """Give the program the budget that it needs."""
    try:
        return replace(
            program, budget=Checker(rules, shape).stmt(typing.root_context(program), GRID_CODE, program.body)
        )
    except IllTyped:
        return program


def shows(
    program: syntax.Program, wanted: str, version: Version, shape: Shape, uniform: bool = False, limit: int = 20_000
) -> bool:
    """Whether `version` does with the program what `wanted` says, and the corrected rules do well or refuse it."""
    try:
        if wanted == "ill-typed":
            refused = typing.why_not(version.rules, program, shape) is not None
            return refused and observe(program, shape, limit=limit, invariants=True).good
        invariants = wanted == "preservation"
        first = observe(program, shape, version, uniform=uniform, invariants=invariants, until=wanted, limit=limit)
        if first.good and wanted != "wrong value":
            return False
        reference = observe(program, shape, CORRECTED, uniform=uniform, limit=limit)
        return wanted in misdeeds(first, reference) and (reference.good or reference.ends == {"ill-typed"})
    except TooMany:
        return False


def shrunk(program: syntax.Program, keep: Callable[[syntax.Program], bool]) -> syntax.Program:
    """Replace statements by skip or by a part of theirs for as long as `keep` holds; nothing more can then be left out."""
    while True:
        smaller = next((p for p in _smaller(program) if keep(p)), None)
        if smaller is None:
            return program
        program = smaller


def _smaller(program: syntax.Program) -> Iterator[syntax.Program]:
    candidates = [replace(program, body=body) for body in _variants(program.body)]
    yield from sorted(candidates, key=syntax.length)


def _variants(s: syntax.Node) -> Iterator[syntax.Stmt]:
    """Yield `s` with one statement in it left out, or put in the place of the one around it."""
    if isinstance(s, syntax.Skip):
        return
    yield syntax.SKIP
    for part in syntax.parts(s):
        if isinstance(part, syntax.Stmt):
            yield part
    for name in NESTED:
        inner = getattr(s, name, None)
        if isinstance(inner, syntax.Node):
            changes: dict[str, Any] = {}
            for smaller in _variants(inner):
                changes[name] = smaller
                yield replace(s, **changes)  # type: ignore[misc,type-var]
