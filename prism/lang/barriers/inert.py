"""Statements that a walk need not enter: they, and all inside them, leave every state as it is.

Most statements of a collective count in registers. A walk comes to each again and again: in each trip that it follows, and with
each barrier that is tried. What is found here of a function once, it passes by.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from enum import IntEnum

from prism.lang import tree
from prism.lang.barriers.pointers import pointer_change
from prism.lang.facts.definitions import Facts
from prism.lang.facts.touches import declared_fragment, indices_of, uses_of
from prism.lang.tree.walk import children, subexpressions, terms

_AROUND = (tree.If, tree.While, tree.For, tree.Group, tree.Batch, tree.Turns, tree.Async)
"""What has bodies, and does nothing to a state but what they do. A view's end, and arms beside one another, do."""


class _Kind(IntEnum):
    """What a statement does: nothing, a jump of a loop around it, or anything else."""

    NOTHING = 0
    JUMP = 1
    SOMETHING = 2


def inert(known: Facts, marked: Collection[object]) -> frozenset[tree.Stmt]:
    """Return the statements that do nothing to a state; `marked`: those at which the plan, or a condition, has something to do.

    for i in range(N):            # it, and what is in it: no memory, no call, no pointer is assigned
        total += items[i]
    s[id()] = total               # not this
    """
    found: dict[tree.Stmt, _Kind] = {}
    for statement in known.function.body:
        _look(known, statement, marked, found)
    quiet = frozenset(statement for statement, kind in found.items() if kind == _Kind.NOTHING)
    # Round a loop, accesses before it age by the names that it renews. What stands in it alone are names of none.
    loops = [loop for loop in quiet if isinstance(loop, tree.While | tree.For)]
    if not loops:
        return quiet
    named = _named(known, _others(known.function.body, quiet))
    heard = {loop for loop in loops if not known.renewed[loop].isdisjoint(named)}
    return inert(known, {*marked, *heard}) if heard else quiet


def _look(known: Facts, statement: tree.Stmt, marked: Container[object], found: dict[tree.Stmt, _Kind]) -> _Kind:
    inside = [_look(known, s, marked, found) for body in children(statement) for s in body]
    found[statement] = kind = max(_own(known, statement, marked), *inside, _Kind.NOTHING)
    loop = isinstance(statement, tree.While | tree.For)
    if loop and kind == _Kind.JUMP:  # to its own end, or the next trip
        found[statement] = kind = _Kind.NOTHING
    return kind


def _own(known: Facts, statement: tree.Stmt, marked: Container[object]) -> _Kind:
    """Return what a statement does itself."""
    if statement in marked or uses_of(known, statement) or declared_fragment(statement) is not None:
        return _Kind.SOMETHING
    match statement:
        case tree.Break() | tree.Continue():
            return _Kind.JUMP
        case tree.Declare() | tree.Assign() | tree.Evaluate():
            return _Kind.NOTHING if pointer_change(statement) is None else _Kind.SOMETHING
        case tree.While(condition=tree.Const()):  # it may have no end
            return _Kind.SOMETHING
        case _:
            return _Kind.NOTHING if isinstance(statement, _AROUND) else _Kind.SOMETHING


def _others(body: tree.Body, quiet: Container[object]) -> Iterator[tree.Stmt]:
    """Yield the statements that are not passed by: what stands in one that is passed by is so too."""
    for statement in body:
        if statement not in quiet:
            yield statement
            for inside in children(statement):
                yield from _others(inside, quiet)


def _named(known: Facts, heard: Iterable[tree.Stmt]) -> set[tree.Symbol]:
    """Return the names in these statements, and those that they are defined by."""
    left = [part for statement in heard for part in terms(statement)]
    found: set[tree.Symbol] = set()
    while left:
        part = left.pop()
        if isinstance(part, tree.Element):  # what its views compute, too
            left += [inner for index in indices_of(part) for inner in subexpressions(index)]
        elif isinstance(part, tree.Var | tree.Item) and part.symbol not in found:
            found.add(part.symbol)
            if (value := known.definitions.get(part.symbol)) is not None:
                left += subexpressions(value)
    return found
