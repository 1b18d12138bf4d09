"""Parsing, continued: expressions, and what a name of the source stands for."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from types import FunctionType, ModuleType

from prism.lang import surface
from prism.lang.diagnostics import CompileError, Error, Span
from prism.lang.errors import syntax as errors
from prism.lang.parse import syntax as s
from prism.lang.parse.source import Source

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.USub: "-", ast.Invert: "~", ast.Not: "not", ast.Pow: "**",
}  # fmt: skip
SCOPES = (
    surface.group, surface.partition, surface.claim, surface.async_, surface.one, surface.turns, surface.wgmma_async,
)  # fmt: skip
UNKNOWN = object()


@dataclass(frozen=True, eq=False, slots=True)
class Context:
    """What parsing a function needs: its text, what its names stand for, and the errors found so far."""

    source: Source
    python: FunctionType
    template: frozenset[str] = frozenset()
    """The names of the function's template parameters."""
    errors: list[Error] = field(default_factory=list)
    nested: frozenset[str] | None = None
    """The names that functions inside it bind, those around what is parsed; None where there are none around."""

    def span(self, node: ast.AST) -> Span:
        """Return where a node is."""
        return self.source.span(node)

    def header(self, node: ast.stmt, last: ast.expr) -> Span:
        """Return where a compound statement's first line is: up to its `last` expression, without its body."""
        start, end = self.span(node), self.span(last)
        return Span(start.file, start.line, start.column, end.end_line, end.end_column)

    def text(self, node: ast.AST) -> str:
        """Return how the source spells a node."""
        return self.source.text(node)

    def resolve(self, node: ast.expr) -> object:
        """Return what a name or a dotted name stands for outside the function, or UNKNOWN."""
        match node:
            case ast.Name(id=name):
                return self._lookup(name)
            case ast.Attribute(value=base, attr=name):
                owner = self.resolve(base)
                return getattr(owner, name, UNKNOWN) if isinstance(owner, ModuleType) else UNKNOWN
            case _:
                return UNKNOWN

    def local(self, name: str) -> bool:
        """Whether the function itself binds a name."""
        code = self.python.__code__
        return name in code.co_varnames or name in code.co_cellvars or name in (self.nested or ())

    def _lookup(self, name: str) -> object:
        if self.local(name):
            return UNKNOWN
        code = self.python.__code__
        cells = dict(zip(code.co_freevars, self.python.__closure__ or (), strict=True))
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:  # not assigned yet
                return UNKNOWN
        return self.python.__globals__.get(name, getattr(builtins, name, UNKNOWN))

    def unsupported_error(self, node: ast.AST, kind: ast.AST | None = None) -> CompileError:
        """Return the error for a node that Prism doesn't have; `kind` is its operator where that is what is wrong."""
        name = type(kind or node).__name__
        return CompileError(errors.unsupported_error(self.source.keyword(node), name))


def expression(c: Context, node: ast.expr) -> s.Expr:  # noqa: C901
    """Parse an expression."""
    span = c.span(node)
    match node:
        case ast.Name(id=name):
            return s.Name(span=span, name=name)
        case ast.Constant():
            return _constant(c, node)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return expression(c, operand)
        case ast.UnaryOp(op=op, operand=operand):
            return s.Unary(span=span, op=OPERATORS[type(op)], operand=expression(c, operand))
        case ast.BinOp(left=left, op=op, right=right):
            return s.Binary(span=span, op=OPERATORS[type(op)], left=expression(c, left), right=expression(c, right))
        case ast.BoolOp(op=op, values=values):
            return _nest(OPERATORS[type(op)], [expression(c, value) for value in values])
        case ast.Compare():
            return _compare(c, node)
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            condition = expression(c, test)
            return s.Conditional(
                span=span, condition=condition, then=expression(c, then), otherwise=expression(c, otherwise)
            )
        case ast.Call():
            return _call(c, node)
        case ast.Subscript(value=base, slice=ast.Constant(value=str() as size)) if isinstance(
            c.resolve(base), surface.LevelName
        ):
            change = f"write `{c.text(base)}[{size}]`: only a bound has names in quotes, since Python evaluates it"
            raise CompileError(errors.StringValue(span=c.span(node), change=change))
        case ast.Subscript(value=base, slice=index):
            indices = tuple(expression(c, i) for i in (index.elts if isinstance(index, ast.Tuple) else [index]))
            return s.Subscript(span=span, base=expression(c, base), indices=indices)
        case ast.Attribute(value=base, attr=name):
            return s.Attribute(span=span, base=expression(c, base), name=name)
        case ast.Lambda():
            return _lambda(c, node)
        case ast.Set(elts=items):
            return s.Braces(span=span, items=tuple(expression(c, item) for item in items))
        case _:
            raise c.unsupported_error(node)


def value_of(c: Context, node: ast.expr) -> s.Expr:
    """What is assigned may also be a list: an array's elements."""
    if isinstance(node, ast.List):
        return s.Listed(span=c.span(node), items=tuple(value_of(c, item) for item in node.elts))
    return expression(c, node)


def several(c: Context, node: ast.expr) -> s.Expr:
    """What a function returns may also be a tuple, and so may the type of its result."""
    if isinstance(node, ast.Tuple) and node.elts:
        return s.Tuple(span=c.span(node), items=tuple(expression(c, item) for item in node.elts))
    return expression(c, node)


def _constant(c: Context, node: ast.Constant) -> s.Literal:
    match node.value:
        case bool() | int() | float() as value:
            return s.Literal(span=c.span(node), value=value)
        case str():
            raise CompileError(errors.StringValue(span=c.span(node)))
        case _:
            raise CompileError(errors.UnsupportedConstant(span=c.span(node), text=c.text(node)))


def _nest(op: str, operands: list[s.Expr]) -> s.Expr:
    """`a and b and c` as `(a and b) and c`."""
    result = operands[0]
    for operand in operands[1:]:
        first, last = result.span, operand.span
        span = Span(first.file, first.line, first.column, last.end_line, last.end_column)
        result = s.Binary(span=span, op=op, left=result, right=operand)
    return result


def _compare(c: Context, node: ast.Compare) -> s.Expr:
    for op in node.ops:
        if type(op) not in OPERATORS:
            raise c.unsupported_error(node, op)
    for middle in node.comparators[:-1]:
        if call := next((n for n in ast.walk(middle) if isinstance(n, ast.Call) and not _repeatable(c, n)), None):
            raise CompileError(errors.ChainedCall(span=c.span(call)))
    values = [expression(c, value) for value in (node.left, *node.comparators)]
    pairs = zip(node.ops, values, values[1:], strict=False)
    return _nest("and", [_nest(OPERATORS[type(op)], [left, right]) for op, left, right in pairs])


def _repeatable(c: Context, call: ast.Call) -> bool:
    return c.resolve(call.func) in (surface.id, surface.count, builtins.id)


def _call(c: Context, node: ast.Call) -> s.Call:
    construct = c.resolve(node.func)
    if isinstance(construct, surface.Construct) and construct in (*SCOPES, surface.split):
        raise CompileError(errors.BareConstruct(span=c.span(node), construct=construct.name, text=c.text(node)))
    if construct is surface.roles:
        fault, why = "names the arms of a split, on a line of its own", "not a value"
        usage = errors.USAGE["roles"]
        found = errors.ConstructArguments(span=c.span(node), construct="roles", fault=fault, why=why, usage=usage)
        raise CompileError(found)
    return application(c, node)


def application(c: Context, node: ast.Call) -> s.Call:
    """Parse a call, whatever is called."""
    function = expression(c, node.func)
    values, keywords = arguments(c, node)
    return s.Call(span=c.span(node), function=function, arguments=values, keywords=keywords)


def arguments(c: Context, call: ast.Call) -> tuple[tuple[s.Expr, ...], tuple[tuple[str, s.Expr], ...]]:
    """Parse a call's arguments, in order and by keyword."""
    values = tuple(_argument(c, value) for value in call.args)
    keywords = []
    for keyword in call.keywords:
        if keyword.arg is None:
            raise CompileError(errors.StarredKeywords(span=c.span(keyword)))
        keywords.append((keyword.arg, _argument(c, keyword.value)))
    return values, tuple(keywords)


def _argument(c: Context, node: ast.expr) -> s.Expr:
    """An argument may also be a text, one of two, or a list: of template arguments, of results, of what unsafe text reads."""
    match node:
        case ast.Constant(value=str() as text):
            return s.Literal(span=c.span(node), value=text)
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            condition = expression(c, test)
            return s.Conditional(
                span=c.span(node), condition=condition, then=_argument(c, then), otherwise=_argument(c, otherwise)
            )
        case ast.List(elts=items):
            return s.Braces(span=c.span(node), items=tuple(_argument(c, item) for item in items))
        case _:
            return expression(c, node)


def _lambda(c: Context, node: ast.Lambda) -> s.Lambda:
    a = node.args
    if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
        raise CompileError(errors.LambdaParameters(span=c.span(node)))
    return s.Lambda(span=c.span(node), parameters=tuple(arg.arg for arg in a.args), body=_indices(c, node.body))


def _indices(c: Context, node: ast.expr) -> s.Expr:
    """What a lambda gives: one index, or several, one a dimension of what is partitioned."""
    if isinstance(node, ast.Tuple):
        return s.Braces(span=c.span(node), items=tuple(expression(c, item) for item in node.elts))
    return expression(c, node)
