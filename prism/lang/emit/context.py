"""What rendering statements needs: passed down, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from prism.lang.cuda.names import comment
from prism.lang.diagnostics import Span, source_lines
from prism.lang.emit.expressions import Position, Scope
from prism.lang.emit.follow import Waits
from prism.lang.emit.merge import Step
from prism.lang.emit.rings import Rings
from prism.lang.keep.bases import Value
from prism.lang.tree import Stmt, Symbol

INDENT = "    "


class Context(Value):
    """What rendering a statement needs besides the expressions' scope.

    `before`, `after`: what the plan puts there. `named`: the numbers of named barriers. `fresh` numbers the compiler's own
    variables. `fragments`: those declared so far that a wgmma uses. `role`: the block's threads that run this text, first
    and last + 1, where it is one role's; `alone`: only the first of them does. `threads`: how many a block has at most. `last`:
    what stands before each return. `waits`: where the kernel waits for the one before it in its stream.
    `turns`: the numbers of the barriers of passages, each of its first unit's. `parted`: roles' texts may call this function.
    `positive`: variables that are always above 0. `said`: the line of the statement before, if this one is of the same.
    """

    scope: Scope
    before: Mapping[Stmt, tuple[Step, ...]]
    after: Mapping[Stmt, tuple[Step, ...]]
    rings: Rings
    named: Mapping[int, int]
    comments: bool
    fresh: Iterator[int]
    function: str = ""
    fragments: tuple[Symbol, ...] = ()
    role: tuple[int, int] | None = None
    alone: bool = False
    threads: int = 1024
    last: tuple[str, ...] = ()
    waits: Waits | None = None
    positive: frozenset[Symbol] = frozenset()
    said: tuple[str, int] | None = None
    turns: Mapping[tuple[object, ...], int] = field(default_factory=dict)
    parted: bool = False

    def at(self, position: Position) -> Context:
        """Return the context inside a group or an arm."""
        return replace(self, scope=self.scope.at(position))

    def bare(self, statement: Stmt) -> bool:
        """Whether the plan puts nothing beside a statement."""
        return statement not in self.before and statement not in self.after

    def note(self, span: Span) -> str:
        """Return the comment that shows a statement's line, but where the statement before shows it."""
        if self.said == (span.file, span.line):
            return ""
        lines = source_lines(span.file) if self.comments else []
        text = comment(lines[span.line - 1]) if 0 < span.line <= len(lines) else ""
        return f"  // line {span.line}: {text}" if text else f"  // line {span.line}" if self.comments else ""

    def remark(self, text: str) -> str:
        """Return a comment of the compiler's own; names of the user's may be in it."""
        return f"  // {comment(text)}" if self.comments else ""
