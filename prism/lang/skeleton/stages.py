"""What only a whole skeleton says of a ring's mbarriers: how many loads of a round complete at each, and of which stage they are.

`filled` ones are of stage 1. One at which threads arrive that have waited in the round for one of stage s is of a later stage.
"""

from __future__ import annotations

from collections import Counter

from prism.lang.certify.checker import Checker
from prism.lang.certify.places import TELLS, Site, events, sites_of
from prism.lang.certify.text import Certificate


def count_loads(found: Certificate) -> None:
    """Count loads among the arrivals of a round: as many as stand in the round that has the most, as all should have."""
    rings = Checker(found).rings
    for m, (c, n, stage, late, need, name) in found.mbarriers.items():
        bodies = (Counter(e[:2] for e in events(body)) for body in rings.bodies(c, rings.body))
        found.mbarriers[m] = (c, n, stage, late, need + max((body["load", m] for body in bodies), default=0), name)


def set_stages(found: Certificate) -> None:
    """Write the stages of a certificate's mbarriers, of which it is known which say that a copy is free."""
    rings = Checker(found).rings
    earlier: dict[int, set[int]] = {m: set() for m in found.mbarriers}
    for c in {m.cycle for m in rings.mbarriers.values()}:
        for body in rings.bodies(c, rings.body):
            items = list(sites_of(body, (0,), (), deep=False))
            for told in items:
                if told.deed[0] in TELLS and rings.mbarriers[told.deed[1]].cycle == c:
                    earlier[told.deed[1]] |= {wait.deed[1] for wait in items if _waits(rings, wait, told, c)}
    filled = [m for m, row in found.mbarriers.items() if row[2] > 0]
    for _ in filled:
        for m in filled:
            c, n, stage, late, need, name = found.mbarriers[m]
            above = max((found.mbarriers[d][2] for d in earlier[m] if d in filled and d != m), default=0)
            found.mbarriers[m] = (c, n, min(max(stage, above + 1), len(filled)), late, need, name)


def _waits(rings: object, wait: Site, told: Site, c: int) -> bool:
    """Whether threads that arrive have waited before, at mbarriers of the same cycle."""
    if wait.deed[0] != "wait" or rings.mbarriers[wait.deed[1]].cycle != c or wait.place >= told.place:  # type: ignore[attr-defined]
        return False
    return bool(rings.threads_under(wait.where) & rings.threads_under(told.where))  # type: ignore[attr-defined]


__all__ = ["count_loads", "set_stages"]
