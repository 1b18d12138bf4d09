"""Which waits of a ring's visits are implied by others: the rest is what is needed.

Cycles that go round together, one round of each a trip of their loop, are looked at together. A wait is left out where the other
waits alone, in a plan that has nothing else, see to what it would see to: happens.py says so, of every schedule.

    with claim(a, fillers) ...                    fillers arrive at a_filled, then at b_filled
    with claim(b, fillers) ...
    with claim(b, users) ...                      users wait for b_filled
    with claim(a, users) ...                      the wait for a_filled is implied: it was arrived at before

Barriers do not stand yet, so none is counted. Where they do, joint.py asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prism.lang.barriers.walk_context import Context
from prism.lang.rings.cycles import jumps
from prism.lang.rings.ground import Asked, end_of, ground
from prism.lang.rings.happens import Standing, is_known
from prism.lang.rings.loads import multicast_of
from prism.lang.rings.visits import Edge, Lap
from prism.lang.tree import Break, Return
from prism.lang.tree.plan import Plan

GATHERED = 300
"""What it costs to say again what is needed, for each edge or visit, in units of `Spare`."""


def find_implied(
    context: Context, laps: Sequence[Lap], needed: Sequence[Edge], plan_of: Callable[[Sequence[Edge]], Plan]
) -> list[Edge]:
    """Return the edges that the others of these cycles imply; `plan_of` has the waits for some edges, and nothing else."""
    if context.spare.is_spent:
        return []
    every = len(needed)
    visits = {visit for lap in laps for visit in lap.visits}
    left = [edge for edge in needed if edge.later in visits]
    place, gone, asked = ground(context.function, laps), list[Edge](), list[Asked]()
    for edge in list(left) if place is not None else ():
        # A multicast waits for visits of other blocks too. What is known here is of one block alone.
        if place is None or multicast_of(edge.later):
            continue
        trips = 1 + max(lap.cycle.copies for lap in laps)
        if not context.spare.spend(place.cost(trips) + GATHERED * every):
            break
        rest = [other for other in left if other is not edge]
        one = end_of(place, edge)
        # What is gone already is asked for again: two edges may imply one another, and only one of them can go.
        if is_known(place, Standing(plan_of(rest)), [one, *asked]):
            gone.append(edge)
            asked.append(one)
            left = rest
    return gone


def group_laps(laps: Sequence[Lap]) -> list[list[Lap]]:
    """Return cycles grouped into those that make their rounds in the same trips."""
    groups: list[list[Lap]] = []
    of_homes: dict[int, list[list[Lap]]] = {}
    for lap in laps:
        known = of_homes.setdefault(id(lap.home), [])
        for group in known:
            if _in_step([*group, lap]):
                group.append(lap)
                break
        else:
            known.append([lap])
            groups.append(known[-1])
    return groups


def _in_step(laps: Sequence[Lap]) -> bool:
    """Whether a trip that makes a round of one cycle makes one of each, or is the loop's last ever."""
    first, last = min(lap.range[0] for lap in laps), max(lap.range[1] for lap in laps)
    # A trip that makes a round of one cycle alone puts their counts apart; in the last trip ever nobody counts on.
    outermost = len(laps[0].rounds[0].loops) == 1
    found = jumps(laps[0].home, first, last)
    return all(isinstance(jump, Return) or (isinstance(jump, Break) and outermost) for jump in found)
