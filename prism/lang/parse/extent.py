"""How much of a program is looked at: so many statements, parameters and functions, which no program written by hand reaches.

What grows faster than a program has bounds of its own, further on. These come first, before a line is looked at: what is
refused at all is refused at once.
"""

from __future__ import annotations

import ast

from prism.lang.diagnostics import CompileError
from prism.lang.errors import syntax as errors
from prism.lang.parse.expressions import Context

MOST_STATEMENTS = 20_480
"""Statements of one function, and of all functions of a program together."""

MOST_EXPRESSIONS = 196_608
"""Names, numbers and operations of one function: some ten to a statement."""

MOST_PARAMETERS = 4_096
"""Parameters of a function: a launch hands over 32,764 bytes at most."""

MOST_FUNCTIONS = 1_024
"""Functions of a program, each with each list of template arguments."""


FEWER = "let a loop do what many lines do alike, or make several kernels of it"
MOST = {
    "parameters": (MOST_PARAMETERS, "pass arrays, `x: ptr(T) @ grid[1]`, in place of numbers that are alike"),
    "statements": (MOST_STATEMENTS, FEWER),
    "names, numbers and operations": (MOST_EXPRESSIONS, FEWER),
}
"""What is counted in a function, the most of it that is looked at, and what to do about more."""


def measure(c: Context, node: ast.FunctionDef) -> int:
    """Return how many statements a function has. Raises CompileError for more than are looked at, of anything in it."""
    given = node.args
    length = count_statements(node)
    numbers = {
        "parameters": len([*given.posonlyargs, *given.args, *given.kwonlyargs]),
        "statements": length,
        "names, numbers and operations": sum(isinstance(part, ast.expr) for part in ast.walk(node)),
    }
    for what, number in numbers.items():
        most, change = MOST[what]
        if number > most:
            span = c.source.name_span(node)
            error = errors.TooMany(span=span, name=node.name, number=number, what=what, most=most, change=change)
            raise CompileError(error)
    return length


def count_statements(function: ast.FunctionDef) -> int:
    """Return how many statements stand in a function; each item of a `with`, and each `case`, is one that opens a scope."""
    number = 0
    left: list[ast.stmt | ast.match_case] = [*function.body]
    while left:
        node = left.pop()
        number += len(node.items) if isinstance(node, ast.With | ast.AsyncWith) else 1
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            left.extend(getattr(node, name, ()))
    return number
