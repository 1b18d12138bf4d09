"""Prism's core to Bundl: a kernel's syntax tree in, well typed or not, a program of the calculus out (CALCULUS.md, 10).

The core: one kernel whose body declares scalars, partitions its array between blocks, and in `group(block[1])` declares shared
arrays, scalars, and has group, split, partition, claim, if, while, for, assignments and stores. `int32` throughout.

What the calculus has no word for is put in other words, as follows.
- Prism's code at block[1] may speak of its threads at once. A block is destructed on entry, so block[1] is (Thread, T), the
  same unit. Shared arrays are allocated just before.
- A split of several arms is one after the other: each arm alone, reached by splits whose other arm is skip.
- `claim` and the split in it are Bundl's claim of the arm that has the claimed name, after a split of the others.
- A loop over a range counts in a variable of the code's perspective.
`NoWord` where there is nothing to say: a size that does not divide, an arm that no split reaches.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from prism.bundl import syntax as x
from prism.bundl.perspectives import BLOCK, GRID, THREAD, Shape, align_corrected, at
from prism.bundl.syntax import SKIP, Base, Expr, Kind, Program, Stmt, View, seq
from prism.lang import syntax as s
from prism.lang.perspective import Level, Perspective

LONG = 64  # a view's length, where Prism knows none


class NoWord(Exception):
    """Not in the core, or not to be said in Bundl."""


class Code(NamedTuple):
    """Threads of the code's unit, and what its start is known to be a multiple of (0: it is 0)."""

    size: int
    base: int


class Elaboration:
    """One kernel at one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.barriers, self.inside = shape, 0, False  # inside a block

    def place(self, e: s.Expr | None) -> Perspective:
        """`thread[4]`, `block[1]`, .. as a perspective of the calculus."""
        match e:
            case s.Subscript(base=s.Name(name=name), indices=(s.Literal(value=int(n)),)):
                if name == "block" and n == 1 and self.inside:
                    return at(THREAD, self.shape.threads)
                levels: dict[str, Level] = {"thread": THREAD, "block": BLOCK, "grid": GRID}
                return at(levels[name], n)
        raise NoWord("a place")

    def psi(self) -> str:
        """Return a barrier of its own."""
        self.barriers += 1
        return f"p{self.barriers}"

    # Expressions. ----------------------------------------------------------------------------------------------

    def expr(self, e: s.Expr) -> Expr:
        """Translate an expression."""
        match e:
            case s.Name(name=name):
                return x.Var(name)
            case s.Literal(value=bool(value)):
                return x.Bool(value)
            case s.Literal(value=int(value)):
                return x.Int(value)
            case s.Binary(op=op, left=left, right=right) if op in ("==", "!=", "<", "<="):
                return x.Cmp(op, self.expr(left), self.expr(right))
            case s.Binary(op=op, left=left, right=right) if op in "+-*/%":
                return x.Bop(op, self.expr(left), self.expr(right))
            case s.Subscript(base=s.Name(name=name), indices=(index,)):
                return x.Index(x.Var(name), self.expr(index))
            case s.Call(function=s.Name(name="id"), arguments=(), keywords=()):
                return x.Id()
        raise NoWord(f"an expression: {type(e).__name__}")

    # Statements. -----------------------------------------------------------------------------------------------

    def body(self, statements: tuple[s.Stmt, ...], code: Code) -> Stmt:
        """Translate a list; a declaration is in force to its end."""
        for place, statement in enumerate(statements):
            if isinstance(statement, s.Declare):
                if statement.value is None:
                    raise NoWord("a declaration without a value")
                rest = self.body(statements[place + 1 :], code)
                made = x.Declare(
                    statement.name, Base.INT, self.place(statement.place), self.expr(statement.value), rest
                )
                return seq(*[self.statement(before, code) for before in statements[:place]], made)
        return seq(*[self.statement(statement, code) for statement in statements])

    def statement(self, statement: s.Stmt, code: Code) -> Stmt:
        """Translate a statement that declares nothing for those after it."""
        match statement:
            case s.Pass():
                return SKIP
            case s.Assign(target=s.Name(name=name), value=value):
                return x.Assign(name, self.expr(value))
            case s.Assign(target=s.Subscript(base=s.Name(name=name), indices=(index,)), value=value):
                return x.Store(x.Var(name), self.expr(index), self.expr(value))
            case s.If(condition=condition, then=then, otherwise=otherwise):
                return x.If(self.expr(condition), self.body(then, code), self.body(otherwise, code))
            case s.While(condition=condition, body=body):
                return x.While(self.expr(condition), self.body(body, code))
            case s.For():
                return self.loop(statement, code)
            case s.Group(unit=unit, body=body):
                inner, parts = self.narrower(self.place(unit), code)
                return x.Group(parts, self.body(body, inner))
            case s.Split(arms=arms):
                return seq(
                    *[self.arm(arms, number, self.body(arm.body, c), code) for number, arm, c in self.arms(arms, code)]
                )
            case s.Partition(source=s.Name(name=name), unit=unit, offset=offset, name=new, body=body):
                part = self.place(unit)
                _, parts = self.narrower(part, code)
                view = View(self.expr(offset) if offset is not None else x.Int(0), x.Int(1), x.Int(LONG))
                return x.Partition(self.psi(), name, new, parts, self.body(body, code), view)
            case s.Claim():
                return self.claim(statement, code)
        raise NoWord(f"a statement: {type(statement).__name__}")

    def loop(self, statement: s.For, code: Code) -> Stmt:
        """`for i in range(lo, hi, step)` is `let end = hi { let i = lo { while i < end { s; i = i + step } } }`."""
        pi, end, i = at(THREAD, code.size), f"end_{statement.name}", statement.name
        body = seq(self.body(statement.body, code), x.Assign(i, x.Bop("+", x.Var(i), self.expr(statement.step))))
        loop = x.While(x.Cmp("<", x.Var(i), x.Var(end)), body)
        counted = x.Declare(i, Base.INT, pi, self.expr(statement.start), loop)
        return x.Declare(end, Base.INT, pi, self.expr(statement.stop), counted)

    def narrower(self, part: Perspective, code: Code) -> tuple[Code, int]:
        """Return the code of a part, and how many there are."""
        if part.level != THREAD or code.size % part.size:
            raise NoWord(f"{part} of {code.size} threads")
        base = code.base if part.size == code.size else gcd(code.base, part.size)
        return Code(part.size, base), code.size // part.size

    def arms(self, arms: tuple[s.Case, ...], code: Code) -> list[tuple[int, s.Case, Code]]:
        """Return each arm with its number and its code."""
        result, start = [], 0
        for number, arm in enumerate(arms):
            if not isinstance(arm.size, s.Literal) or not isinstance(arm.size.value, int):
                raise NoWord("an arm's size")
            result.append((number, arm, Code(arm.size.value, gcd(code.base, start))))
            start += arm.size.value
        return result

    def arm(self, arms: tuple[s.Case, ...], number: int, body: Stmt, code: Code) -> Stmt:
        """Return `body` as what only that arm's threads run."""
        sizes = [inner.size for _, _, inner in self.arms(arms, code)]
        return reach(code, sum(sizes[:number]), sizes[number], body)

    def claim(self, statement: s.Claim, code: Code) -> Stmt:
        """A claim and the one split in it."""
        if not isinstance(statement.source, s.Name) or statement.offset is not None:
            raise NoWord("a claim of part of an array")
        part, _ = self.narrower(self.place(statement.unit), code)
        inside = [inner for inner in statement.body if not isinstance(inner, s.Pass)]
        if not inside:
            return x.Claim(self.psi(), statement.source.name, statement.name, part.size, SKIP)
        if len(inside) != 1 or not isinstance(inside[0], s.Split):
            raise NoWord("a claim around more than a split")
        arms, done, others = inside[0].arms, None, []
        start = 0
        for number, arm, inner in self.arms(arms, code):
            body = self.body(arm.body, inner)
            if done is None and mentions(body, statement.name):
                if inner.size != part.size or start % part.size:
                    raise NoWord("the arm is no unit of the claim's")
                done = x.Claim(self.psi(), statement.source.name, statement.name, part.size, body, start // part.size)
                body = SKIP
            others.append(self.arm(arms, number, body, code))
            start += inner.size
        unused = x.Claim(self.psi(), statement.source.name, statement.name, part.size, SKIP)
        return seq(*others, unused if done is None else done)

    # The kernel. -----------------------------------------------------------------------------------------------

    def kernel(self, function: s.Function, cells: tuple[int, ...], values: tuple[int, ...]) -> Program:
        """Translate a kernel of an array, which has these cells, and numbers; it ends by partitioning the array to blocks."""
        whole = function.parameters[0].name
        *before, last = function.body
        if not isinstance(last, s.Partition) or len(last.body) != 1 or not isinstance(last.body[0], s.Group):
            raise NoWord("a kernel's form")
        offset = self.expr(last.offset) if last.offset is not None else x.Int(0)
        view = View(offset, x.Int(1), x.Int(LONG))
        self.inside = True
        part = x.Group(self.shape.blocks, self.block(last.body[0].body, last.name))
        self.inside = False
        shared = x.Partition(self.psi(), "grid_", "blocks_", self.shape.blocks, part, view)
        made: Stmt = x.Lower(self.psi(), whole, "grid_", x.Destruct(shared))
        for statement in reversed(before):
            if not isinstance(statement, s.Declare) or statement.value is None:
                raise NoWord("a statement of the grid")
            made = x.Declare(statement.name, Base.INT, self.place(statement.place), self.expr(statement.value), made)
        for parameter, value in zip(function.parameters[1:], values, strict=True):
            made = x.Declare(parameter.name, Base.INT, at(GRID), x.Int(value), made)
        return Program(made, (), (x.Input(whole, Base.INT, cells),), 1 << 20)

    def block(self, statements: tuple[s.Stmt, ...], out: str) -> Stmt:
        """Allocate what is shared, and go from the block to its threads with all that it owns."""
        arrays = [d for d in statements if isinstance(d, s.Declare) and d.value is None]
        rest = tuple(statement for statement in statements if statement not in arrays)
        made: Stmt = x.Destruct(self.body(rest, Code(self.shape.threads, 0)))
        for old, new in [("blocks_", out), *[(f"{d.name}_", d.name) for d in arrays]]:
            made = x.Lower(self.psi(), old, new, made)
        for declared in reversed(arrays):
            made = x.Alloc(f"{declared.name}_", Kind.SHARED, Base.INT, self.length(declared), made)
        return made

    def length(self, declared: s.Declare) -> int:
        """Return n of `shared(int32[n])`."""
        match declared.annotation:
            case s.Call(arguments=(s.Subscript(indices=(s.Literal(value=int(n)),)),)):
                return n
        raise NoWord("a shared array's type")


def mentions(term: Stmt, name: str) -> bool:
    """Whether the term uses the name: in an expression, or as what it partitions or claims."""
    return any(
        (isinstance(part, x.Var) and part.name == name)
        or (isinstance(part, (x.Partition, x.Claim)) and part.source == name)
        for part in x.walk(term)
    )


def reach(code: Code, start: int, size: int, body: Stmt) -> Stmt:
    """Return `body` as what `size` threads from `start` run, by splits that align; the others skip."""
    if start == 0 and size == code.size:
        return body
    for left in range(code.size, 0, -1):
        for right in range(code.size - left + 1):
            if not align_corrected(left, right, code.size, code.base):
                continue
            try:
                if start + size <= left and (left, right) != (code.size, 0):
                    return x.Split(left, 0, reach(Code(left, code.base), start, size, body), SKIP)
                if left <= start and start + size <= left + right:
                    inner = Code(right, gcd(code.base, left))
                    return x.Split(left, right, SKIP, reach(inner, start - left, size, body))
            except NoWord:
                continue
    raise NoWord(f"no split reaches {size} threads from {start} of {code.size}")


def elaborate(function: s.Function, shape: Shape, cells: tuple[int, ...], values: tuple[int, ...] = ()) -> Program:
    """Return the calculus's program for a kernel, at one shape, with what it is launched with."""
    return Elaboration(shape).kernel(function, cells, values)
