"""Rings in passages: a unit that has its turn may not wait for what other units of its role do in the same passage."""

from __future__ import annotations

from collections.abc import Sequence

from prism.lang import tree
from prism.lang.barriers.walk_context import Context
from prism.lang.diagnostics import CompileError, Label
from prism.lang.errors.turns import TurnsRing
from prism.lang.rings.edges import Edges, by_itself
from prism.lang.rings.loads import loads
from prism.lang.rings.visits import Edge, Lap, Visit


def check_passages(context: Context, laps: Sequence[Lap], every: Sequence[Edge]) -> None:
    """Refuse a wait in a passage for another visit there, of the same round.

    Why no other wait is refused: put all that is done in the order of rounds, in a round in that of the text, and in a passage of
    it unit after unit. Who waits, waits for something that comes before in this order: of an earlier round, even where it is said
    some rounds late (`in_flight` is less than the copies), or earlier in the text. So some thread can always go on. A visit in
    the same passage is the exception: the last unit makes it after the first one has left.
    """
    known = Edges(every)
    for edge in every:
        turns = passage_of(edge.later)
        if edge.lap == 0 and turns is not None and turns is passage_of(edge.earlier) and not by_itself(context, edge):
            labels = (Label(edge.first.access.span, f"the {edge.first.kind} that it waits for"),)
            span, name = edge.second.access.span, edge.ring.name
            raise CompileError(TurnsRing(span=span, labels=labels, name=name, role=turns.name))
    for visit in (visit for lap in laps for visit in lap.visits):
        turns = passage_of(visit)
        brought = list(loads(visit)) if turns is not None else []
        if turns is not None and brought and not known.is_followed(visit):  # who loads would wait for all that do
            raise CompileError(TurnsRing(span=brought[0][0].span, name=visit.rings[0].name, role=turns.name))


def passage_of(visit: Visit) -> tree.Turns | None:
    """Return the passage in which a visit is made."""
    around = (body[index] for body, index in visit.stations[0].trail)
    return next((s for s in around if isinstance(s, tree.Turns)), None)
