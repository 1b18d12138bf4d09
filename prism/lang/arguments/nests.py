"""Rules of strides that nest: a sum of multiples of them is equal only where all multiples are, of indices inside their axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prism.lang.certify.machine import Rule

Expr = Any
Axis = tuple[Expr, Expr]
"""An extent, and a stride."""
Sum = Mapping[tuple[Expr, ...], int]
"""Products of expressions that are not taken apart, with their factors."""
MOST = 64


def sum_of(e: Expr) -> Sum:
    """Return an expression as a sum of products. What is said to fit is what it is."""
    if isinstance(e, int):
        return {(): e} if e else {}
    head, *rest = e
    if head == "fits":
        return sum_of(rest[1])
    if head not in ("add", "sub", "mul"):
        return {(e,): 1}
    one, two = sum_of(rest[0]), sum_of(rest[1])
    total = dict(one) if head != "mul" else {}
    if head == "mul":
        for m, f in one.items():
            for n, g in two.items():
                key = tuple(sorted((*m, *n), key=repr))
                total[key] = total.get(key, 0) + f * g
    else:
        for n, g in two.items():
            total[n] = total.get(n, 0) + (g if head == "add" else -g)
    return {m: f for m, f in total.items() if f}


def spell_sum(found: Sum) -> Expr:
    """Return a sum of products as an expression of whole numbers."""
    total: Expr = 0
    for mono, factor in found.items():
        term: Expr = factor
        for part in mono:
            term = part if term == 1 else ("mul", term, part)
        total = term if total == 0 else ("add", total, term)
    return total


def indices(axes: Sequence[Axis], e: Expr) -> list[Expr] | None:
    """Return the index along each axis, of an element at this place; None where it is no sum of multiples of strides."""
    strides = [next(iter(s.items())) if len(s) == 1 else None for s in (sum_of(stride) for _, stride in axes)]
    order = [k for k, stride in enumerate(strides) if stride is not None]
    order.sort(key=lambda k: (len(strides[k][0]), abs(strides[k][1])), reverse=True)  # type: ignore[index]
    found: list[dict[tuple[Expr, ...], int]] = [{} for _ in axes]
    whole = sum_of(e)
    if len(whole) > MOST:
        return None
    for mono, factor in whole.items():
        for k in order:
            unit, size = strides[k] or ((), 0)
            rest = leave_out(mono, unit)
            if rest is not None and factor % size == 0:
                found[k][rest] = found[k].get(rest, 0) + factor // size
                break
        else:
            return None
    return [spell_sum({m: f for m, f in one.items() if f}) for one in found]


def leave_out(mono: tuple[Expr, ...], by: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """Return a product without some of its factors, or None where it has them not."""
    left = list(mono)
    for part in by:
        if part not in left:
            return None
        left.remove(part)
    return tuple(left)


def rules(axes: Sequence[Axis], one: Expr, two: Expr) -> Iterator[Rule]:
    """Yield what strides that nest say of two places."""
    left, right = indices(axes, one), indices(axes, two)
    if left is None or right is None:
        return
    found = left, right
    where = tuple(
        tuple(c for i, (extent, _) in zip(side, axes, strict=True) for c in (("atmost", 0, i), ("less", i, extent)))
        for side in found
    )
    places = []
    for side in found:
        total: Expr = 0
        for i, (_, stride) in zip(side, axes, strict=True):
            term = 0 if i == 0 else ("mul", stride, i)
            total = term if total == 0 else total if term == 0 else ("add", total, term)
        places.append(total)
    therefore = tuple((a, b) for a, b in zip(*found, strict=True) if (a, b) != (0, 0))
    yield Rule((where[0], where[1]), ((places[0], places[1]),), therefore)
