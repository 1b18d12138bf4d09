"""The verdict on each partition of a function: what is used through it, and whether its units' parts can meet (races.py)."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import flow, races
from prism.lang.perspective import Level, Perspective
from prism.lang.races import Facts, Span, Verdict
from prism.lang.tree import (
    Assign,
    Body,
    Break,
    Call,
    Const,
    Continue,
    Element,
    For,
    Function,
    Group,
    Partition,
    Return,
    Symbol,
    Var,
)  # fmt: skip

MOST = 256
"""Indices of one loop that are looked at one by one."""


def verdicts(function: Function, known: Facts) -> Iterator[tuple[Partition, Verdict]]:
    """Yield each partition with the verdict on it, in program order."""
    for statement in races.statements(function.body):
        if isinstance(statement, Partition) and statement.view.view is not None:
            written, used = _used(known, statement)
            surely = frozenset(_surely(statement.body, statement.view))
            units = _units(function, statement.view.view.source.perspective, statement.view.view.unit)
            yield statement, races.judge(known, statement.view, used, surely, written, units)


def _units(function: Function, source: Perspective, unit: Perspective) -> int:
    """How many units are guaranteed in one unit of the source."""
    if source.level == unit.level:
        return source.size // unit.size
    if unit.level == Level.THREAD and function.bound.thread is not None:
        return function.bound.thread // unit.size
    return 1


def _used(known: Facts, partition: Partition) -> tuple[bool, Span | None]:
    """Whether anything is written through a view, and the span of its indices in use, where all are known."""
    written, spans, bounded = False, list[Span](), True
    for statement in races.statements(partition.body):
        for use in flow.uses(statement):
            expression = use.expression
            if isinstance(expression, Call):
                passed = [
                    a for a in expression.arguments if isinstance(a, Var | Element) and _through(a.symbol, partition)
                ]
                written, bounded = written or bool(passed), bounded and not passed
            elif _through(expression.symbol, partition):
                written = written or use.kind == "write"
                _, views = flow.resolve(expression.symbol, ())
                chain = flow.steps(known, views, flow.index_span(known, use), (), {})
                span = next(step.used for step in chain if step.view is partition.view)
                spans.extend(() if span is None else (span,))
                bounded = bounded and span is not None
    if not bounded or not spans:
        return written, None
    return written, (min(low for low, _ in spans), max(high for _, high in spans))


def _through(symbol: Symbol, partition: Partition) -> bool:
    return partition.view in flow.resolve(symbol, ())[1]


def _surely(body: Body, view: Symbol, loop: For | None = None) -> Iterator[int]:
    """Yield indices that every unit is sure to write through the view: in no branch, in loops that are sure to be run."""
    for statement in body:
        match statement:
            case Assign(target=Element(symbol=symbol, indices=(index,))) if symbol is view:
                if isinstance(index, Const):
                    yield int(index.value)
                elif loop is not None and isinstance(index, Var) and index.symbol is loop.symbol:
                    yield from _trips(loop)
            case Group() | Partition():
                yield from _surely(statement.body, view, loop)
            case For() if races.surely_entered(statement) and not any(map(_jumps, races.statements(statement.body))):
                yield from _surely(statement.body, view, statement)
            case _:
                pass


def _jumps(statement: object) -> bool:
    return isinstance(statement, Break | Continue | Return)


def _trips(loop: For) -> range:
    start, stop, step = (int(e.value) for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const))
    return range(start, stop, step)[:MOST]


__all__ = ["verdicts"]
