"""Rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from prism.lang.plan import Commit, Cycle, Elided, Mbarrier, Op
from prism.lang.tree import Apply, Stmt
from prism.lang.walk_context import Context


@dataclass(frozen=True, eq=False, slots=True)
class Rings:
    """What the rings of a function need."""

    cycles: tuple[Cycle, ...] = ()
    mbarriers: tuple[Mbarrier, ...] = ()
    operations: tuple[Op, ...] = ()
    completes: Mapping[Apply, Mbarrier] = field(default_factory=dict)
    elided: tuple[Elided, ...] = ()

    def into(self, context: Context, own: Sequence[Op]) -> Context:
        """Return what is known with these operations in place."""
        before: dict[Stmt, tuple[Op, ...]] = {}
        after: dict[Stmt, tuple[Op, ...]] = {}
        for op in (*own, *self.operations):
            side = before if op.side == "before" else after
            side[op.at] = (*side.get(op.at, ()), op)
        return replace(context, before=before, after=after, completes=self.completes, touches={})


def rings(context: Context, own: Sequence[Commit]) -> Rings:
    """Return what the rings of a function need."""
    return Rings()
