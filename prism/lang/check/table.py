"""The rules, in one table from the kind of node to the function that judges it.

Rules register here, and come here for what they are made of: so none of them knows where another one stands. The package's
`__init__` imports every module that has rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from prism.lang import tree
from prism.lang.check.env import Env
from prism.lang.parse import syntax as s
from prism.lang.types import Type
from prism.lang.types.perspective import Perspective

E = TypeVar("E", bound=s.Node)

ExpressionRule = Callable[[Env, E, Perspective, Type | None], tree.Expr]
"""The environment, the node, what a bare `id()` counts, and the type that a literal takes."""
StatementRule = Callable[[Env, E], tree.Stmt | tree.Body]
"""The environment and the node, to what the statement becomes: one statement, or several, or none."""
DeclarationRule = Callable[[Env, E], tuple[tree.Body, Env]]
"""As a statement's, with the environment of what follows."""


class Judged(NamedTuple):
    """The rule of a kind of statement, and whether it binds names."""

    rule: Callable[[Env, Any], Any]
    binds: bool


EXPRESSIONS: dict[type[s.Node], ExpressionRule[Any]] = {}
STATEMENTS: dict[type[s.Node], Judged] = {}


def expression_rule(kind: type[E]) -> Callable[[ExpressionRule[E]], ExpressionRule[E]]:
    """Register the rule of a kind of expression."""

    def register(rule: ExpressionRule[E]) -> ExpressionRule[E]:
        assert kind not in EXPRESSIONS, f"two rules for {kind.__name__}"
        EXPRESSIONS[kind] = rule
        return rule

    return register


def statement_rule(kind: type[E]) -> Callable[[StatementRule[E]], StatementRule[E]]:
    """Register the rule of a kind of statement that binds no name."""

    def register(rule: StatementRule[E]) -> StatementRule[E]:
        assert kind not in STATEMENTS, f"two rules for {kind.__name__}"
        STATEMENTS[kind] = Judged(rule, binds=False)
        return rule

    return register


def declaration_rule(kind: type[E]) -> Callable[[DeclarationRule[E]], DeclarationRule[E]]:
    """Register the rule of a kind of statement that binds names."""

    def register(rule: DeclarationRule[E]) -> DeclarationRule[E]:
        assert kind not in STATEMENTS, f"two rules for {kind.__name__}"
        STATEMENTS[kind] = Judged(rule, binds=True)
        return rule

    return register


def check_expression(env: Env, e: s.Expr, target: Perspective, want: Type | None = None) -> tree.Expr:
    """Return the typed expression. `target` is what a bare `id()` counts; `want` the type that a literal takes."""
    return EXPRESSIONS[type(e)](env, e, target, want)


def check_statement(env: Env, st: s.Stmt) -> tuple[tree.Body, Env]:
    """Check one statement; return what it becomes and the environment after it."""
    judged = STATEMENTS[type(st)]
    found = judged.rule(env, st)
    if judged.binds:
        body, after = found
        return body, after
    return found if isinstance(found, tuple) else (found,), env
