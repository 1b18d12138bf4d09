"""Substitution of an expression for a variable: what the printed S-Partition needs, and nothing else does."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from theory.bundl.syntax import Expr, Node, Var

N = TypeVar("N", bound=Node)


def substitute(term: N, name: str, by: Expr) -> N:
    """Return `term[by/name]`. Names in places where an expression cannot stand are left as they are."""
    made: Any = _substitute(term, name, by)
    return made  # type: ignore[no-any-return]


def _substitute(term: Any, name: str, by: Expr) -> Any:
    if type(term) is Var:
        return by if term.name == name else term
    if isinstance(term, tuple):
        return tuple(_substitute(item, name, by) for item in term)
    if not isinstance(term, Node):
        return term
    old = [getattr(term, field.name) for field in fields(term)]  # type: ignore[arg-type]
    new = [_substitute(value, name, by) for value in old]
    return term if all(a is b for a, b in zip(old, new, strict=True)) else type(term)(*new)
