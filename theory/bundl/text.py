"""A text form for terms, to read and to paste: `parse(show(program)) == program`.

    budget 16
    input a : int = [1, 2, 3]
    fun f(x : int @ thread[1], v : int[]global @ block[1]) @ thread[4] uses 0 { skip }
    destruct { let i : int @ thread[1] = id { group 2 { f(i + 1, a) } } }; skip

A statement is one of
    skip   s; s   { s }   x = e   e[e] = e   f(e, e)   if e { s } else { s }   while e { s }
    split(2, 2) { s } { s }   group 2 { s }   destruct { s }
    let x : int @ thread[1] = e { s }   alloc x : int[4] shared { s }   alloc x : int[4] local @ thread[1] { s }
    partition psi: x as y by 2 at (e, e, e) { s }   claim psi: x as y at 2 arm 1 { s }   lower psi: x as y { s }
    async phi: x as y { s }   async_memcpy phi: x from y   memcpy x from y
    init psi   dec psi   wait psi   free 4   leave x[4] shared   arm 1 of 2 { s }
    scope x : int[]shared @ block[1] hides z holds 4 { s }   frame (x : int @ thread[1]) @ thread[4] uses 0 { s }
`id` is partition_id; operators bind as in Python; `#` starts a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from prism.lang.types.perspective import Level, Perspective
from theory.bundl import syntax as x
from theory.bundl.perspectives import at
from theory.bundl.show import show
from theory.bundl.syntax import ArrayOf, Base, Expr, Kind, Stmt

__all__ = ["SyntaxFault", "parse", "parse_expression", "parse_statement", "show"]

R = TypeVar("R")
# Parsing. ----------------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"\s+|#[^\n]*"
    r"|(?P<number>(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_']*)"
    r"|(?P<sign>==|!=|<=|[-+*/%<=@:;,(){}\[\]])"
)
# fmt: off
WORDS = frozenset([
    "skip", "if", "else", "while", "split", "group", "destruct", "let", "alloc", "partition", "claim", "lower", "async",
    "async_memcpy", "memcpy", "init", "dec", "wait", "free", "leave", "arm", "scope", "frame", "id", "true", "false", "inf",
    "fun", "input", "budget", "uses", "by", "at", "as", "from", "of", "hides", "holds",
])
# fmt: on


class SyntaxFault(ValueError):
    """The text is not in the form above."""


class Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                raise SyntaxFault(f"cannot read {text[place : place + 20]!r}")
            if match.lastgroup:
                self.tokens.append(match.group())
            place = match.end()
        self.place = 0

    # Tokens. ---------------------------------------------------------------------------------------------------

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.next
        if wanted and token not in wanted:
            raise SyntaxFault(f"expected {' or '.join(wanted)}, found {token or 'the end'!r} (token {self.place})")
        self.place += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next != token:
            return False
        self.place += 1
        return True

    def name(self) -> str:
        token = self.take()
        if token in WORDS or not (token[:1].isalpha() or token[:1] == "_"):
            raise SyntaxFault(f"expected a name, found {token!r}")
        return token

    def number(self) -> int:
        token = self.take()
        if not token.isdigit():
            raise SyntaxFault(f"expected a whole number, found {token!r}")
        return int(token)

    def parse_list(self, item: Callable[[], R], close: str) -> tuple[R, ...]:
        items: list[R] = []
        while not self.accept(close):
            if items:
                self.take(",")
            items.append(item())
        return tuple(items)

    # Types. ----------------------------------------------------------------------------------------------------

    def perspective(self) -> Perspective:
        self.take("@")
        level = Level[self.take("thread", "block", "grid").upper()]
        self.take("[")
        size = self.number()
        self.take("]")
        return at(level, size)

    def base(self) -> Base:
        return Base(self.take("bool", "int", "float"))

    def type(self) -> Base | ArrayOf:
        base = self.base()
        if not self.accept("["):
            return base
        self.take("]")
        return ArrayOf(base, self.kind())

    def kind(self) -> Kind:
        return Kind(self.take("local", "shared", "global"))

    def param(self) -> x.Param:
        name = self.name()
        self.take(":")
        return x.Param(name, self.type(), self.perspective())

    # Expressions. ----------------------------------------------------------------------------------------------

    def expr(self) -> Expr:
        left = self.infix(("+", "-"), lambda: self.infix(("*", "/", "%"), self.postfix))
        if self.next in ("==", "!=", "<", "<="):
            return x.Cmp(self.take(), left, self.infix(("+", "-"), lambda: self.infix(("*", "/", "%"), self.postfix)))
        return left

    def infix(self, ops: tuple[str, ...], operand: Callable[[], Expr]) -> Expr:
        left = operand()
        while self.next in ops:
            left = x.Bop(self.take(), left, operand())
        return left

    def postfix(self) -> Expr:
        e = self.primary()
        while self.accept("["):
            e = x.Index(e, self.expr())
            self.take("]")
        return e

    def primary(self) -> Expr:
        if self.accept("("):
            e = self.expr()
            self.take(")")
            return e
        if self.accept("id"):
            return x.Id()
        if self.next in ("true", "false", "inf", "-") or self.next[:1].isdigit():
            value = self.literal()
            return (
                x.Bool(value) if isinstance(value, bool) else x.Int(value) if isinstance(value, int) else x.Float(value)
            )
        return x.Var(self.name())

    def literal(self) -> bool | int | float:
        if self.next in ("true", "false"):
            return self.take() == "true"
        sign = -1 if self.accept("-") else 1
        token = self.take()
        if token == "inf" or "." in token or "e" in token:
            return sign * float(token)
        if not token.isdigit():
            raise SyntaxFault(f"expected a literal, found {token!r}")
        return sign * int(token)

    # Statements. -----------------------------------------------------------------------------------------------

    def sequence(self) -> Stmt:
        statements = [self.statement()]
        while self.accept(";"):
            statements.append(self.statement())
        return x.seq(*statements)

    def block(self) -> Stmt:
        self.take("{")
        s = self.sequence()
        self.take("}")
        return s

    def statement(self) -> Stmt:
        if self.next == "{":
            return self.block()
        rule = STATEMENTS.get(self.next)
        if rule is not None:
            self.take()
            return rule(self)
        if self.next not in WORDS and self.next != "(" and self.tokens[self.place + 1 : self.place + 2] == ["("]:
            function = self.name()
            self.take("(")
            return x.Call(function, self.parse_list(self.expr, ")"))
        target = self.postfix()
        self.take("=")
        if isinstance(target, x.Var):
            return x.Assign(target.name, self.expr())
        if isinstance(target, x.Index):
            return x.Store(target.array, target.index, self.expr())
        raise SyntaxFault("only a variable or an element can be assigned to")

    def renaming(self) -> tuple[str, str, str]:
        """Return (psi, x, y) of `psi: x as y`."""
        psi = self.name()
        self.take(":")
        source = self.name()
        self.take("as")
        return psi, source, self.name()

    def program(self) -> x.Program:
        budget, inputs, functions = 0, [], []
        while self.next in ("budget", "input", "fun"):
            if self.accept("budget"):
                budget = self.number()
            elif self.next == "input":
                inputs.append(self.input())
            else:
                functions.append(self.function())
        body = self.sequence()
        return x.Program(body, tuple(functions), tuple(inputs), budget)

    def input(self) -> x.Input:
        self.take("input")
        name = self.name()
        self.take(":")
        element = self.base()
        self.take("=")
        self.take("[")
        return x.Input(name, element, self.parse_list(self.literal, "]"))

    def function(self) -> x.Function:
        self.take("fun")
        name = self.name()
        self.take("(")
        params = self.parse_list(self.param, ")")
        pi = self.perspective()
        self.take("uses")
        return x.Function(name, params, pi, self.number(), self.block())

    def finish(self, result: R) -> R:
        if self.next:
            raise SyntaxFault(f"{self.next!r} is left over (token {self.place})")
        return result


def _split(p: Parser) -> Stmt:
    p.take("(")
    left = p.number()
    p.take(",")
    right = p.number()
    p.take(")")
    return x.Split(left, right, p.block(), p.block())


def _if(p: Parser) -> Stmt:
    test, then = p.expr(), p.block()
    p.take("else")
    return x.If(test, then, p.block())


def _let(p: Parser) -> Stmt:
    name = p.name()
    p.take(":")
    type_, pi = p.base(), p.perspective()
    p.take("=")
    return x.Declare(name, type_, pi, p.expr(), p.block())


def _alloc(p: Parser) -> Stmt:
    name = p.name()
    p.take(":")
    element = p.base()
    p.take("[")
    count = p.number()
    p.take("]")
    kind = p.kind()
    pi = p.perspective() if p.next == "@" else None
    return x.Alloc(name, kind, element, count, p.block(), pi)


def _partition(p: Parser) -> Stmt:
    psi, source, name = p.renaming()
    p.take("by")
    parts, view = p.number(), None
    if p.accept("at"):
        p.take("(")
        offset, step, length = p.parse_list(p.expr, ")")
        view = x.View(offset, step, length)
    return x.Partition(psi, source, name, parts, p.block(), view)


def _claim(p: Parser) -> Stmt:
    psi, source, name = p.renaming()
    p.take("at")
    size = p.number()
    arm = p.number() if p.accept("arm") else 0
    return x.Claim(psi, source, name, size, p.block(), arm)


def _async_memcpy(p: Parser) -> Stmt:
    phi = p.name()
    p.take(":")
    target = p.name()
    p.take("from")
    return x.AsyncMemcpy(phi, target, p.name())


def _memcpy(p: Parser) -> Stmt:
    target = p.name()
    p.take("from")
    return x.Memcpy(target, p.name())


def _leave(p: Parser) -> Stmt:
    name = p.name()
    p.take("[")
    count = p.number()
    p.take("]")
    return x.Leave(name, p.kind(), count)


def _arm(p: Parser) -> Stmt:
    index = p.number()
    p.take("of")
    return x.Arm(p.number(), index, p.block())


def _scope(p: Parser) -> Stmt:
    name = p.name()
    p.take(":")
    type_, pi = p.type(), p.perspective()
    hides = p.name() if p.accept("hides") else None
    held = p.number() if p.accept("holds") else 0
    return x.Scope(name, type_, pi, p.block(), hides, held)


def _frame(p: Parser) -> Stmt:
    p.take("(")
    params = p.parse_list(p.param, ")")
    pi = p.perspective()
    p.take("uses")
    return x.Frame(params, pi, p.number(), p.block())


STATEMENTS: dict[str, Callable[[Parser], Stmt]] = {
    "skip": lambda p: x.SKIP,
    "split": _split,
    "destruct": lambda p: x.Destruct(p.block()),
    "group": lambda p: x.Group(p.number(), p.block()),
    "let": _let,
    "alloc": _alloc,
    "if": _if,
    "while": lambda p: x.While(p.expr(), p.block()),
    "partition": _partition,
    "claim": _claim,
    "lower": lambda p: x.Lower(*p.renaming(), p.block()),
    "async": lambda p: x.AsyncPartition(*p.renaming(), p.block()),
    "async_memcpy": _async_memcpy,
    "memcpy": _memcpy,
    "init": lambda p: x.Init(p.name()),
    "dec": lambda p: x.Dec(p.name()),
    "wait": lambda p: x.Wait(p.name()),
    "free": lambda p: x.Free(p.number()),
    "leave": _leave,
    "arm": _arm,
    "scope": _scope,
    "frame": _frame,
}


def parse(text: str) -> x.Program:
    """Return the program that `text` is."""
    parser = Parser(text)
    return parser.finish(parser.program())


def parse_statement(text: str) -> Stmt:
    """Return the statement that `text` is."""
    parser = Parser(text)
    return parser.finish(parser.sequence())


def parse_expression(text: str) -> Expr:
    """Return the expression that `text` is."""
    parser = Parser(text)
    return parser.finish(parser.expr())
