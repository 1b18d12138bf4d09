"""Which visits of a ring write every element of the copy: nothing of what was there before is left for who comes later."""

from __future__ import annotations

from math import prod

from prism.lang.barriers.flow import Objects
from prism.lang.facts import races
from prism.lang.rings.stations import Used
from prism.lang.rings.visits import Visit
from prism.lang.tree import (
    Assign,
    Break,
    Const,
    Continue,
    Element,
    For,
    If,
    Pointer,
    Return,
    Split,
    Stmt,
    Symbol,
    While,
)
from prism.lang.types.perspective import THREAD


def covers(objects: Objects, visit: Visit, ring: Symbol) -> bool:
    """Whether a visit's threads surely write, by plain stores or `cp_async`, every element of a ring's copy.

    As many elements as the copy has are written, each by one thread: those of a thread are its part of an injective partition.
    """
    assert isinstance(ring.type, Pointer)
    shape = ring.type.shape
    if shape is None or visit.crowd.share:
        return False
    station = visit.of(ring)
    return any(_elements(objects, visit, used) * visit.crowd.number == prod(shape) for used in station.used)


def _elements(objects: Objects, visit: Visit, used: Used) -> int:
    """Return how many elements each thread surely writes, all different from the others'; 0 where that is not known."""
    touch = used.touch
    spot = next(number for number, s in enumerate(used.inside) if s in visit.spot.body)
    if touch.kind != "write" or not all(map(_certain, used.inside[spot:-1])) or not touch.steps:
        return 0
    *outer, part = touch.steps
    source = outer[-1].view.perspective if outer else touch.root.perspective
    if part.meaning.unit != THREAD or any(step.who is None for step in outer):
        return 0
    span = part.used
    if span is None or not races.injective(part.offset, THREAD, source, span):
        return 0
    return span[1] - span[0] + 1 if _all_of(objects, used) else 0


def _certain(around: Stmt) -> bool:
    """Whether what a statement holds is executed by all threads that come to it."""
    if isinstance(around, For):
        inside = races.statements(around.body)
        return races.surely_entered(around) and not any(isinstance(s, Break | Continue | Return) for s in inside)
    return not isinstance(around, If | While | Split)


def _all_of(objects: Objects, used: Used) -> bool:
    """Whether a write is of every element that its index may mean."""
    statement, touch, known = used.inside[-1], used.touch, objects.known
    root = touch.root.type
    if touch.how == "cp_async" and touch.by is not None:
        targets = [a for a in touch.by.arguments if isinstance(a, Element) and a.symbol.root() is touch.root]
        return all(isinstance(index, Const) for target in targets for index in target.indices)
    if touch.how or not isinstance(statement, Assign) or not isinstance(statement.target, Element):
        return False
    if not isinstance(root, Pointer) or statement.target.type != root.element:
        return False
    (index,) = statement.target.indices
    form = races.affine(known, index)
    loops = [s for s in used.inside if isinstance(s, For)]
    steps = [known.steps.get(loop.symbol) for loop in loops if form is not None and _only(form, loop.symbol)]
    return (form is not None and not set(form) - {()}) or any(step in (1, -1) for step in steps)


def _only(form: races.Form, symbol: Symbol) -> bool:
    """Whether a form is a name, or its opposite, plus a constant."""
    return {m for m in form if m} == {(("name", symbol, None),)} and abs(form[("name", symbol, None),]) == 1
