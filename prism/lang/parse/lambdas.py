"""A lambda of numbers as a device function: `lambda a, b: a * b + 1`, its parameters of the types that it is called with."""

from __future__ import annotations

import ast
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from prism.lang import surface
from prism.lang.diagnostics import CompileError, Span, register_source
from prism.lang.errors import syntax as errors
from prism.lang.keep.bases import Value
from prism.lang.parse import syntax as s
from prism.lang.parse.expressions import Context, expression
from prism.lang.parse.source import Source, lines_of, no_source, was_edited
from prism.lang.parse.views import Written, as_syntax
from prism.lang.types.perspective import THREAD


class Parsed(Value):
    """A lambda's parameters, each with its place, its expression, and where it stands."""

    parameters: tuple[tuple[str, Span], ...]
    body: s.Expr
    span: Span


def device_function(python: FunctionType) -> Written:
    """Return the device function that a lambda is.

    Raises:
        CompileError: its text is not in a file or a notebook's cell, or has what Prism does not have, which is named.
    """
    return as_function(parse_lambda(python), python)


def parse_lambda(python: FunctionType) -> Parsed:
    """Return a lambda's syntax tree.

    Raises:
        CompileError: as `device_function`.
    """
    code = python.__code__
    lines = lines_of(python, code)
    line = code.co_firstlineno
    if not lines:
        raise CompileError(no_source(code.co_filename, line, "lambda"))
    source = Source(code.co_filename, lines)
    register_source(source.file, lines)
    node = _find("".join(lines), code)
    if node is None or was_edited("".join(lines), code):
        raise CompileError(errors.SourceChanged(span=Span(source.file, line, 0, line, 1), name="lambda"))
    c = Context(source, python)
    a, span = node.args, source.span(node)
    for arg, star in ((a.vararg, "*"), (a.kwarg, "**")):
        if arg is not None:
            raise CompileError(errors.VariadicParameter(span=c.span(arg), text=f"{star}{arg.arg}", name=arg.arg))
    for arg in (*a.posonlyargs, *a.kwonlyargs):
        how, marker = ("positional", "/") if arg in a.posonlyargs else ("keyword", "*")
        raise CompileError(errors.ParameterMarker(span=c.span(arg), name=arg.arg, how=how, marker=marker))
    body = expression(c, node.body)
    if c.errors:
        raise CompileError(*c.errors)
    return Parsed(tuple((arg.arg, c.span(arg)) for arg in a.args), body, span)


def as_function(parsed: Parsed, python: FunctionType) -> Written:
    """Return the device function that gives an expression of parameters; other names are those of a function of Python's."""
    thread, span = as_syntax(THREAD, parsed.span), parsed.span
    types = {f"type of {name}": surface.dtype for name, _ in parsed.parameters}  # no name could be one of these
    parameters = tuple(
        s.Parameter(name=name, annotation=s.Name(name=type_, span=at), place=thread, default=None, span=at)
        for (name, at), type_ in zip(parsed.parameters, types, strict=True)
    )
    result = s.Return(value=parsed.body, span=parsed.body.span)
    function = s.Function(
        name="function", parameters=parameters, result=None, result_place=None, body=(result,), extern=False, decorators=(),
        length=1, span=span,
    )  # fmt: skip
    return Written(function, types, python)


@lru_cache(maxsize=32)
def _lambdas(text: str) -> tuple[ast.Lambda, ...]:
    try:
        return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Lambda))
    except (SyntaxError, ValueError):
        return ()


def _find(text: str, code: CodeType) -> ast.Lambda | None:
    """Return the lambda of which this is the code: the innermost whose body has all that the code's instructions stand for."""
    every = [(line, column, end) for line, _, column, end in code.co_positions()]
    places = [(line, column) for line, column, end in every if line is not None and column is not None and end]
    names = code.co_varnames[: code.co_argcount]

    def has_all(node: ast.Lambda) -> bool:
        body: Any = node.body
        first, last = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
        return all(first <= place <= last for place in places)

    found = [node for node in _lambdas(text) if tuple(arg.arg for arg in node.args.args) == names and has_all(node)]
    return max(found, key=lambda node: (node.body.lineno, node.body.col_offset), default=None)
