"""The text of a Python function: where it is, its tree, and spans in characters."""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import re
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from prism.lang.diagnostics import CompileError, Span, register_source
from prism.lang.errors import syntax as errors
from prism.lang.keep.bases import Value


class Source(Value):
    """The lines of the file, notebook cell or prompt entry that a function stands in."""

    file: str
    lines: list[str]

    def column(self, line: int, offset: int) -> int:
        """Return the character at a byte offset of a line; `ast` counts bytes of UTF-8."""
        text = self.lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

    def span(self, node: ast.AST) -> Span:
        """Return where a node is."""
        at: Any = node
        column, end_column = self.column(at.lineno, at.col_offset), self.column(at.end_lineno, at.end_col_offset)
        return Span(self.file, at.lineno, column, at.end_lineno, end_column)

    def name_span(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
        """Return where the name after `def` is."""
        text = self.lines[node.lineno - 1]
        start = text.find(node.name, text.find("def", self.column(node.lineno, node.col_offset)) + 3)
        start, length = (start, len(node.name)) if start >= 0 else (self.column(node.lineno, node.col_offset), 3)
        return Span(self.file, node.lineno, start, node.lineno, start + length)

    def keyword(self, node: ast.AST) -> Span:
        """Return where a node is; of a statement with a body, its first words: `try`, `class Point`."""
        span = self.span(node)
        words = re.compile(r"async +\w+|(def|class) +\w+|\w+").match(self.lines[span.line - 1], span.column)
        if not hasattr(node, "body") or not isinstance(node, ast.stmt) or words is None:
            return span
        return Span(span.file, span.line, span.column, span.line, words.end())

    def text(self, node: ast.AST) -> str:
        """Return a node's text, on one line, shortened."""
        span = self.span(node)
        lines = [line.rstrip("\r\n") for line in self.lines[span.line - 1 : span.end_line]]
        lines[-1] = lines[-1][: span.end_column]
        lines[0] = lines[0][span.column :]
        text = " ".join(line.strip() for line in lines)
        return text if len(text) <= 40 else text[:37] + "..."


def find(python: FunctionType) -> tuple[Source, ast.FunctionDef]:
    """Return a function's source and its tree; a CompileError where there is none."""
    code: object = getattr(python, "__code__", None)
    name = getattr(python, "__name__", type(python).__name__)
    if not isinstance(code, CodeType):
        nowhere = Span(getattr(python, "__module__", None) or "?", 1, 0, 1, 1)
        raise CompileError(errors.NotAFunction(span=nowhere, name=name, name_to_use=name))
    line = code.co_firstlineno
    lines = lines_of(python, code)
    if not lines:
        raise CompileError(no_source(code.co_filename, line, name))
    source = Source(code.co_filename, lines)
    register_source(source.file, lines)
    if code.co_name == "<lambda>":
        width = len(lines[line - 1].rstrip()) if line <= len(lines) else 1
        whole = Span(source.file, line, 0, line, width)
        raise CompileError(errors.NotAFunction(span=whole, name="lambda", name_to_use="f"))
    for node in _functions("".join(lines)):
        if node.name in (code.co_name, name) and _first_line(node) == line and _parameters(node) == _declared(code):
            if isinstance(node, ast.AsyncFunctionDef):
                raise CompileError(errors.unsupported_error(source.name_span(node), "AsyncFunctionDef"))
            if was_edited("".join(lines), code):
                break
            return source, node
    if source.file == "<string>":  # of `exec` in `python -c`, whose own text it is not
        raise CompileError(no_source("<exec>", line, name))
    raise CompileError(errors.SourceChanged(span=Span(source.file, line, 0, line, 1), name=name))


def was_edited(text: str, code: CodeType) -> bool:
    """Whether a file's text makes other code than a function of it has, that stood at the same place.

    Only of files that were written since Prism was imported: of others the text is what was loaded, whatever hooks made of it.
    """
    try:
        if os.stat(code.co_filename).st_mtime < _STARTED:
            return False
    except OSError:  # a notebook's cell
        return False
    same = [one for one in _codes(text, code.co_flags & _FUTURE) if _place(one) == _place(code)]
    return bool(same) and not any(_alike(one, code) for one in same)


_STARTED = time.time() - 2  # some file systems count in seconds
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names[1:])


@lru_cache(maxsize=32)
def _codes(text: str, flags: int) -> tuple[CodeType, ...]:
    """Return all code that a text makes."""
    try:
        found = [compile(text, "text", "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return ()
    for code in found:
        found.extend(one for one in code.co_consts if isinstance(one, CodeType))
    return tuple(found)


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _alike(one: Any, other: Any) -> bool:
    """Whether two codes, or constants of them, do the same: 2 is not 2.0, and files' names don't count."""
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        parts = ("co_code", "co_names", "co_varnames", "co_freevars")
        return all(getattr(one, part) == getattr(other, part) for part in parts) and _alike(
            one.co_consts, other.co_consts
        )
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def no_source(file: str, line: int, name: str) -> errors.NoSource:
    """Return the error of a function whose text is lost: why it is, and what to do instead."""
    what = "the lambda" if name == "lambda" else f"`{name}`"
    change = f"give the text to `prism.source(text)`, or put {what} in a file or in a notebook's cell"
    why = "code that `exec` runs"
    if file in ("<timed exec>", "<magic-timeit>"):  # IPython's
        why = "a cell that begins with `%%time` or `%%timeit`"
        change = f"define {what} in a cell of its own, and time in the next one"
        if name == "lambda":
            change = "give it a name in a cell of its own, `f = lambda ...`, and pass `f` in the cell that is timed"
    elif file == "<stdin>":
        why = "what Python reads from its standard input, or at a prompt before Python 3.13,"
    return errors.NoSource(span=Span(file, line, 0, line, 1), name=name, why=why, change=change)


def lines_of(python: FunctionType, code: CodeType) -> list[str]:
    """Return the lines of the file that a function stands in; none where its text is lost."""
    linecache.checkcache(code.co_filename)
    lines: list[str] = linecache.getlines(code.co_filename, python.__globals__)
    if not lines and (of_code := getattr(linecache, "_getlines_from_code", None)):  # the prompt of Python 3.13
        lines = of_code(code)
    if not lines and code.co_filename == "<string>" and python.__globals__ is vars(sys.modules["__main__"]):
        lines = command_line()
    return list(lines)


def command_line() -> list[str]:
    """Return the lines of `python -c TEXT`; none where Python was started in another way."""
    given = sys.orig_argv
    text = given[given.index("-c") + 1] if "-c" in given[:-1] else ""
    return text.splitlines(keepends=True)


@lru_cache(maxsize=32)
def _functions(text: str) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(_definitions(tree))


def _definitions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    left = [tree]
    for node in left:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        left.extend(
            n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt | ast.excepthandler | ast.match_case)
        )


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    arguments = node.args
    stars = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return tuple(arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars))


def _declared(code: CodeType) -> tuple[str, ...]:
    stars = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
