"""Expressions of lazy arrays: the same object for the same, and what arithmetic makes of two."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from prism.lang.surface.views import At, Compute, Expression, Leaf, Number
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.structs import Struct
from prism.lib.lazy.types import WHOLE, common_type

COMPARES = ("<", "<=", ">", ">=", "==", "!=")
_BOOL = SCALARS["bool"]
_E = TypeVar("_E", Leaf, Number, At, Compute)


def make(kind: type[_E], *fields: Any) -> _E:
    """Return an expression; the same object for the same, so that it is found at once where it is looked up."""
    found: _E = _make(kind, *fields)
    return found


@lru_cache(maxsize=4096)
def _make(kind: Any, *fields: Any) -> Any:
    return kind(*fields)


@lru_cache(maxsize=4096)
def renumber(value: Expression, leaves: tuple[int, ...], first: int) -> Expression:
    """Return an expression with its leaves numbered as these say, and its numbers from `first` on."""
    match value:
        case Leaf(number=number):
            return value if leaves[number] == number else replace(value, number=leaves[number])
        case Number(number=number):
            return replace(value, number=first + number) if first else value
        case Compute(what=what, parts=parts):
            return make(Compute, what, tuple(renumber(part, leaves, first) for part in parts))
        case At(source=source, place=place):
            return make(At, renumber(source, leaves, first), renumber(place, leaves, first))
        case _:
            return value


Rule: TypeAlias = tuple[str, Scalar, Scalar]
"""An operator as the language has it, the type of both operands, and of the result."""


@lru_cache(maxsize=1024)
def rule_of(op: str, one: Any, other: Any) -> Rule | None:
    """Return how numbers of two types are operands, where those of lazy arrays are not converted; None where they are."""
    scalar = common_type(op, one, other)
    if isinstance(scalar, Struct) or op in WHOLE or any(isinstance(x, Scalar) and x != scalar for x in (one, other)):
        return None
    name = {"+": "|", "*": "&"}.get(op, op) if scalar == _BOOL else op
    return name, scalar, _BOOL if op in COMPARES else scalar


@lru_cache(maxsize=4096)
def apply_rule(rule: Rule, left: Expression, right: Expression) -> Expression:
    """Return an operator on two expressions, as a number of its result's type."""
    op, _, result = rule
    found = make(Compute, op, (left, right))
    return found if op in COMPARES else make(Compute, result, (found,))
