"""A plugin for mypy, by which it takes kernels as they are written.

    [tool.mypy]
    plugins = ["prism.mypy"]

The stub of `prism.lang` alone does that where `check_untyped_defs` is off, as it is unless mypy is `strict`. What is inside of a
kernel, a device function or an intrinsic of the user's own is Prism's to check: mypy sees a function of anything that does
nothing. Needs mypy, which Prism itself does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mypy.fastparse import _dummy_fallback
from mypy.nodes import (
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    Expression,
    ForStmt,
    FuncDef,
    IfStmt,
    Import,
    ImportFrom,
    MemberExpr,
    MypyFile,
    NameExpr,
    PassStmt,
    Statement,
    TryStmt,
    WhileStmt,
    WithStmt,
)
from mypy.plugin import Plugin
from mypy.types import AnyType, CallableType, TypeOfAny

MARKS = frozenset({"kernel", "device"})
CALLED = frozenset({"requires", "template", "attr", "may_alias", "intrinsic", "prism"})
"""Decorators of `prism.lang` that are called; those but `intrinsic` are not looked at, for they may name template parameters."""


class PrismPlugin(Plugin):
    """Sees each file when it is parsed, before any name in it is looked up."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Take the texts of kernels out of a file that imports Prism."""
        if any(_is_prism(name) for node in file.imports for name in _modules(node)):
            _hide(file.defs)
        return []


def plugin(version: str) -> type[Plugin]:
    """Return the plugin: what mypy asks a module for."""
    return PrismPlugin


def _modules(node: object) -> Iterator[str]:
    if isinstance(node, ImportFrom):
        yield node.id
    elif isinstance(node, Import):
        yield from (name for name, _ in node.ids)


def _is_prism(name: str) -> bool:
    return name == "prism" or name.startswith("prism.")


def _hide(statements: Iterable[Statement]) -> None:
    """Take the texts of kernels out of statements, and of those inside of them."""
    for statement in statements:
        if isinstance(statement, Decorator):
            if any(map(_called, statement.decorators)):
                _empty(statement)
            else:
                _hide(statement.func.body.body)
        else:
            for block in _blocks(statement):
                _hide(block.body)


def _blocks(statement: Statement) -> Iterator[Block]:
    match statement:
        case FuncDef() | WithStmt():
            yield statement.body
        case ClassDef():
            yield statement.defs
        case IfStmt():
            yield from statement.body
            if statement.else_body is not None:
                yield statement.else_body
        case ForStmt() | WhileStmt():
            yield statement.body
        case TryStmt():
            yield from (statement.body, *statement.handlers)
        case _:
            pass


def _called(decorator: Expression) -> str:
    """Return the name of a decorator of Prism's, by itself or behind a module's name; nothing of any other."""
    called = isinstance(decorator, CallExpr)
    of = decorator.callee if isinstance(decorator, CallExpr) else decorator
    name = of.name if isinstance(of, NameExpr | MemberExpr) else ""
    return name if name in (CALLED if called else MARKS) else ""


def _empty(decorated: Decorator) -> None:
    """Make a function of anything that does nothing of one that is marked."""
    function = decorated.func
    nothing = PassStmt()
    nothing.set_line(function.line)
    function.body.body = [nothing]
    anything = AnyType(TypeOfAny.explicit)
    for argument in function.arguments:
        argument.type_annotation = None
    arguments = [anything] * len(function.arguments)
    function.type = CallableType(arguments, function.arg_kinds, function.arg_names, anything, _dummy_fallback)
    function.unanalyzed_type = function.type
    kept = [one for one in decorated.decorators if _called(one) in (*MARKS, "intrinsic")]
    decorated.decorators = kept
    decorated.original_decorators = list(kept)
