"""In what unit two accesses meet of which one is a wgmma's, and what other trips of a loop may have changed."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.facts.definitions import Facts
from prism.lang.facts.disjoint import is_proved
from prism.lang.facts.questions import Question
from prism.lang.facts.touches import Pending, Touch
from prism.lang.types.perspective import Level, Perspective


def narrow(known: Facts, first: Pending, second: Touch, source: Perspective) -> Perspective:
    """Return the unit inside one of `source` whose threads make both accesses where they meet, if one is a wgmma's.

    Its rows may be those of another warpgroup, or its own: `s[64 * w, 0]`.
    """
    earlier = first.touch
    assert earlier is not None
    if "wgmma" not in (earlier.how, second.how) or source.level == Level.GRID:
        return source
    units = {t.code for t in (earlier, second)} | {s.view.perspective for t in (earlier, second) for s in t.steps}
    units = {u for u in units if u < source and u.level == Level.THREAD and u.size < known.threads}
    for unit in sorted(units, key=lambda u: u.size):
        if is_proved(known, earlier.where, second.where, Question(source, unit, None, free_names(known, first))):
            return unit
    return source


def free_names(known: Facts, first: Pending) -> frozenset[tree.Symbol]:
    """Return the names that may have had another value when an access was made: none, where it went round no loop."""
    if not first.loop:
        return frozenset()
    if "renewed" not in known.found:
        known.found["renewed"] = frozenset[tree.Symbol]().union(*known.renewed.values())
    found: frozenset[tree.Symbol] = known.found["renewed"]
    return found
