"""Clusters in a skeleton: gathers, and which accesses are sure to be to the block's own memory."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.barriers.cluster import blocks_of, is_other
from prism.lang.facts.gathers import is_gather
from prism.lang.skeleton.frames import Made
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import terms
from prism.lang.types.perspective import Level, Perspective


def gathers(s: tree.Stmt, program: Program) -> Iterator[object]:
    """Yield the gathers of a statement: all blocks of the cluster send to all, and wait for what is sent to them."""
    for part in terms(s):
        if is_gather(part):
            late = program.plans[program.entry].late
            yield ("bar", Perspective(Level.BLOCK, program.entry.bound.block or 1), "sent_late" if late else "sent")


def is_near(made: Made, cluster: int) -> bool:
    """Whether an access is sure to be to the block's own shared memory: to its own object, or to its part of a cluster's."""
    first = made.links[0]
    root = first.touch.root
    if root.parameter or blocks_of(root) == 1:
        return not root.parameter
    given: object = None
    if len(made.links) > 1:
        inner = made.links[1]
        given = inner.frame.given[inner.touch.root]
    elif first.touch.use is not None:
        given = first.touch.use.expression
    if not isinstance(given, tree.Element | tree.Var) or given.symbol.root() is not root:
        return False
    indices = given.indices if isinstance(given, tree.Element) else ()
    return not is_other(given.symbol, indices, first.frame.function, cluster)
