"""What an expression is at least and at most, by the ranges of its numbers."""

from __future__ import annotations

from typing import Any

from prism.lang import tree

Expr = Any
Bounds = tuple[int | None, int | None]
Rows = list[tuple[bool, int | None, int | None]]
"""Numbers: whether each is one for both accesses, the least and the greatest that it can be."""
BOOLEAN: Bounds = (0, 1)


def type_range(type_: object) -> Bounds:
    """What a number of a type is at least and at most: of a signed one nothing is said."""
    if not isinstance(type_, tree.Scalar):
        return None, None
    if type_.kind == "bool":
        return BOOLEAN
    return (0, (1 << type_.bits) - 1) if type_.kind == "uint" else (None, None)


def span(rows: Rows, e: Expr, memo: dict[int, tuple[Expr, Bounds]]) -> Bounds:
    """Return what an expression is at least and at most, by the ranges of its numbers: None, where nobody says.

    `memo` has what was asked before, by the expressions' identities.
    """
    if isinstance(e, int):
        return e, e
    found = memo.get(id(e))
    if found is None:
        found = memo[id(e)] = e, _look(rows, e, memo)
    return found[1]


def _look(rows: Rows, e: Expr, memo: dict[int, tuple[Expr, Bounds]]) -> Bounds:
    head, *rest = e
    if head == "var":
        _, low_, high_ = rows[rest[0]]
        return low_, high_
    if head in ("as", "fits"):
        low = -(1 << int(rest[0][1:]) - 1) if rest[0][0] == "i" else 0
        high = low + (1 << int(rest[0][1:])) - 1
        inside = span(rows, rest[1], memo)
        if inside[0] is not None and inside[1] is not None and low <= inside[0] and inside[1] <= high:
            return inside
        if head == "fits":
            return inside
        return (low, high) if rest[0][0] == "u" else (None, None)
    (a, b), (c, d) = span(rows, rest[0], memo), span(rows, rest[1], memo)
    return _span(head, a, b, c, d)


def _span(op: str, a: int | None, b: int | None, c: int | None, d: int | None) -> Bounds:  # noqa: C901
    plus = a is not None and a >= 0
    match op:
        case "add":
            return (None if a is None or c is None else a + c), (None if b is None or d is None else b + d)
        case "sub":
            return (None if a is None or d is None else a - d), (None if b is None or c is None else b - c)
        case "mul":
            if a is not None and b is not None and c is not None and d is not None:
                ends = [x * y for x in (a, b) for y in (c, d)]
                return min(ends), max(ends)
            if plus and c is not None and c >= 0:
                return a * c, (0 if 0 in (b, d) else None)  # type: ignore[operator]
            return None, None
        case "quo" if plus and c is not None and c > 0:
            return (a // d if d is not None else 0), (b // c if b is not None else None)  # type: ignore[operator]
        case "rem" if plus and c is not None and c > 0:
            most = [x for x in (b, d - 1 if d is not None else None) if x is not None]
            return 0, min(most) if most else None
        case "shr" if plus and c is not None and c == d:
            return a >> c, (b >> c if b is not None else None)  # type: ignore[operator]
        case "and":
            tops = [y for x, y in ((a, b), (c, d)) if x is not None and x >= 0 and y is not None]
            return (0, min(tops)) if tops else (None, None)
        case "or" | "xor" if plus and c is not None and c >= 0 and b is not None and d is not None:
            return 0, (1 << max(b, d).bit_length()) - 1
        case "min" if b is not None or d is not None:
            return (None if a is None or c is None else min(a, c)), min(x for x in (b, d) if x is not None)
        case "max" if a is not None or c is not None:
            return max(x for x in (a, c) if x is not None), (None if b is None or d is None else max(b, d))
        case _:
            return None, None
