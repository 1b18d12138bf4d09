"""Which visits of a ring write every element of the copy: nothing of what was there before is left for who comes later."""

from __future__ import annotations

from collections.abc import Set
from math import prod

from prism.lang import tree
from prism.lang.barriers.walk_context import Context
from prism.lang.facts.definitions import surely_entered
from prism.lang.facts.disjoint import is_proved
from prism.lang.facts.questions import Question
from prism.lang.rings.stations import Used
from prism.lang.rings.visits import Visit
from prism.lang.tree.walk import has_jump
from prism.lang.types.perspective import THREAD

PROOF = 2000
"""What a proof costs, in units of `Spare`."""


def covers(context: Context, visit: Visit, ring: tree.Symbol) -> bool:
    """Whether a visit's threads surely write, by plain stores or `cp_async`, every element of a ring's copy.

    As many elements as the copy has are written, each by one thread, in one trip of the loops around: so each is written.
    """
    assert isinstance(ring.type, tree.Pointer)
    shape = ring.type.shape
    if shape is None or visit.crowd.share:
        return False
    # Elements of a copy, counted: 64 threads that write 4 each, no two of them one, write all of 256.
    station, body = visit.of(ring), frozenset(visit.spot.body)
    return any(_elements(context, body, used) * visit.crowd.number == prod(shape) for used in station.used)


def _elements(context: Context, body: Set[tree.Stmt], used: Used) -> int:
    """Return how many elements each thread surely writes, all different from the others'; 0 where that is not known.

    `body`: the statements of the visit, in whose list the write's own begin.
    """
    touch, known = used.touch, context.objects.known
    spot = next(number for number, s in enumerate(used.inside) if s in body)
    around = used.inside[spot:-1]
    if touch.kind != "write" or not all(map(_certain, around)) or not touch.steps or touch.where is None:
        return 0
    # A write under a condition, or at a place that is not known, may leave any element as it was: it counts for none.
    *outer, part = touch.steps
    source = outer[-1].view.perspective if outer else touch.root.perspective
    if part.meaning.unit != THREAD or any(step.who is None for step in outer) or not _all_of(used):
        return 0
    # Of a loop that the place does not depend on, one trip counts: the others write the same elements again.
    loops = [s for s in around if isinstance(s, tree.For) and s.symbol in touch.names]
    free = frozenset(name for loop in loops for name in known.renewed[loop])
    # Two writes that meet are proved to be one thread's, and of one trip of each loop: so each thread's trips add up,
    # without an element that is counted twice. `c[2 * t + i]` for i in range(2) is two elements a thread.
    apart = [Question(source, THREAD, None, free), *(Question(source, None, loop.symbol, free) for loop in loops)]
    if not context.spare.spend(PROOF * len(apart)):
        return 0
    if not all(is_proved(known, touch.where, touch.where, question) for question in apart):
        return 0
    return touch.where.width * prod(known.trips.get(loop.symbol, 0) for loop in loops)


def _certain(around: tree.Stmt) -> bool:
    """Whether what a statement holds is executed by all threads that come to it."""
    # `for i in range(4)` is gone through by all; one that may be left early, or not entered, brings no sure write.
    if isinstance(around, tree.For):
        return surely_entered(around) and not has_jump(around.body)
    return not isinstance(around, tree.If | tree.While | tree.Split)


def _all_of(used: Used) -> bool:
    """Whether a write is of every element that its index may mean."""
    statement, touch = used.inside[-1], used.touch
    root = touch.root.type
    if touch.how == "cp_async":
        return touch.by is not None
    if touch.how or not isinstance(statement, tree.Assign) or not isinstance(statement.target, tree.Element):
        return False
    return isinstance(root, tree.Pointer) and statement.target.type == root.element
