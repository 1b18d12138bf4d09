"""Turns in C++: units of a role enter a passage one after the other, each at a named barrier of its own.

A unit comes in when its barrier is complete: all its threads wait there, and all threads of the unit before it have arrived, as
they do when they leave. Nobody comes before the first unit's first round: for that the last unit arrives once, when the kernel
begins. So in the end one arrival is left over at the first unit's barrier, and no other barrier may have its number.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.emit.context import INDENT, Context
from prism.lang.emit.operations import where
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import Level


def passage(context: Context, s: tree.Turns, lines: list[str]) -> list[str]:
    """Return the lines of a passage with what a unit does before and after it; nothing for those who only pass by."""
    before = enter(context, s)
    return [*before, *(lines if before or s.body else ()), *leave(context, s)]


def enter(context: Context, s: tree.Turns) -> list[str]:
    """Return the lines before a passage: wait for this unit's turn; none where nobody else takes turns, or none here does."""
    first, unit = context.turns.get(s.passage, 0), _unit(context, s)
    number = f"{first + unit}u" if isinstance(unit, int) else f"{first}u + {unit}"
    return _among(context, s, s.first, s.size, _barrier("sync", number, s), f"a turn of {s.name}")


def leave(context: Context, s: tree.Turns) -> list[str]:
    """Return the lines behind a passage: the next unit may come in; after the last the first, in the next round."""
    first, unit = context.turns.get(s.passage, 0), _unit(context, s)
    after = f"{first + (unit + 1) % s.number}u" if isinstance(unit, int) else f"{first}u + ({unit} + 1u) % {s.number}u"
    return _among(context, s, s.first, s.size, _barrier("arrive", after, s), f"the next turn of {s.name}")


def starts(context: Context, body: tree.Body) -> Iterator[str]:
    """Yield the lines with which the passages of some statements begin: the last unit lets the first one in."""
    # A place that stands in several pieces of a loop, or bodies of roles, is one passage: its first unit is let in once.
    passages = {s.passage: s for s in statements(body) if isinstance(s, tree.Turns)}
    for s in passages.values():
        last = s.first + s.size - s.unit.size
        line = _barrier("arrive", f"{context.turns.get(s.passage, 0)}u", s)
        yield from _among(context, s, last, s.unit.size, line, f"the first turn of {s.name}")


def _barrier(what: str, number: str, s: tree.Turns) -> str:
    # Two units are at each: the one that waits, and the one before it, which arrives and goes on.
    return f'asm volatile("bar.{what} %0, %1;" :: "r"({number}), "n"({2 * s.unit.size}) : "memory");'


def _unit(context: Context, s: tree.Turns) -> int | str:
    """Return which of the units a thread is in: a number, where this text is one unit's."""
    first, last = context.role or (0, context.threads)
    unit = (first - s.first) // s.unit.size
    if s.first + unit * s.unit.size <= first and last <= s.first + (unit + 1) * s.unit.size:
        return unit
    return f"({f'threadIdx.x - {s.first}u' if s.first else 'threadIdx.x'}) / {s.unit.size}u"


def _among(context: Context, s: tree.Turns, first: int, size: int, line: str, what: str) -> list[str]:
    test = where(context, ((Level.THREAD, first, size),)) if s.number > 1 else None
    if test is None:
        return []
    note = context.remark(what)
    return [f"if ({test}) {{{note}", f"{INDENT}{line}", "}"] if test else [line + note]
