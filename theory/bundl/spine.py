"""Where a thread stands: the congruences from the root of its term to what it does next."""

from __future__ import annotations

from typing import NamedTuple

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.perspectives import BLOCK, ONE_GRID, Shape, at, dn, enter


class Spot(NamedTuple):
    """A statement that is being executed, at the perspective and position that the rules give it."""

    statement: syntax.Stmt
    pi: Perspective
    p: int


def inward(spot: Spot, t: int, shape: Shape) -> Spot | None:
    """Return the statement inside that steps when this one does by congruence, or None."""
    s, pi, p = spot
    block = t // shape.threads
    match s:
        case syntax.Seq(first, _):
            return Spot(first, pi, p)
        case syntax.Scope(_, _, _, body) | syntax.AsyncPartition(_, _, _, body):
            return Spot(body, pi, p)
        case syntax.Split(left, _, first, _) if p < left:
            return Spot(first, at(pi.level, left), p)
        case syntax.Split(left, right, _, second) if p < left + right:
            return Spot(second, at(pi.level, right), p - left)
        case syntax.Arm(size, index, body) if p // size == index:
            return Spot(body, at(pi.level, size), p - index * size)
        case syntax.Group(parts, body):
            part = pi.size // parts
            return Spot(body, at(pi.level, part), p % part)
        case syntax.Destruct(body):
            lower = dn(pi, shape)
            place = t % shape.threads if pi.level == BLOCK else block
            return Spot(body, lower, place) if lower is not None else None
        case syntax.Frame(_, inner, _, body):
            return Spot(body, inner, enter(pi, p, t, block, inner, shape))
    return None


def spine(body: syntax.Stmt, t: int, shape: Shape) -> list[Spot]:
    """Return the spots from the whole term to the redex, which is last."""
    spots = [Spot(body, ONE_GRID, 0)]
    while True:
        inner = inward(spots[-1], t, shape)
        if inner is None or isinstance(inner.statement, syntax.Skip):
            return spots
        spots.append(inner)
