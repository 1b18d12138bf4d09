"""Proxy fences: which visits' plain accesses engines that come later, in this round or the next lap, have to see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prism.lang.barriers import flow
from prism.lang.barriers.walk_context import Context
from prism.lang.facts.touches import Touch
from prism.lang.rings.covers import covers
from prism.lang.rings.visits import Lap, Unseen, Visit
from prism.lang.tree import Symbol

Fences = Mapping[Visit, tuple[Touch, Touch]]
"""The visits whose threads make a proxy fence at the end: a plain access, and the one by an engine that has to see it."""


def fences(context: Context, cycles: Sequence[Lap]) -> Fences:
    """Return where engines that come later, in this round or the next lap, have to see plain accesses."""
    found: dict[Visit, tuple[Touch, Touch]] = {}
    for lap in cycles:
        between: dict[tuple[Visit, Symbol], list[Visit]] = {}
        for pair in unseen_accesses(context, lap):
            others = between.setdefault((pair.engine, pair.ring), [])
            if not any(_among(pair.earlier, other) for other in others):
                others.append(pair.earlier)
                for twin in lap.twins(pair.earlier):
                    found.setdefault(twin, (pair.first, pair.second))
    return found


def unseen_accesses(context: Context, lap: Lap) -> Iterator[Unseen]:
    """Yield the plain accesses of visits that engines have to see, for each engine's visit the latest first.

    Rule *overwritten*: those before a visit whose threads write every element of the copy again need not be: that one has to.
    """
    for ring, visits in lap.of_rings.items():
        engines = [any(touch.engine for touch in visit.touches(ring)) for visit in visits]
        if not any(engines):
            continue
        plain = {visit: _unseen_in_visit(visit, ring) for visit in visits}
        again: dict[Visit, bool] = {}
        for place, engine in enumerate(visits):
            for back in range(1, len(visits) + 1) if engines[place] else ():
                earlier = visits[place - back]
                pair = _find_unseen(plain[earlier], engine.touches(ring))
                if pair is not None:
                    yield Unseen(earlier, engine, int(back > place), ring, *pair)
                if earlier not in again:
                    again[earlier] = not lap.sections and covers(context, earlier, ring)
                # The engine sees what this visit wrote, by its own fence; of what was there before, nothing is left to be seen.
                if again[earlier]:
                    break


def _among(visit: Visit, other: Visit) -> bool:
    """Whether the threads of a visit make another one too."""
    return visit is not other and visit.spot.path[: len(other.spot.path)] == other.spot.path


def _unseen_in_visit(visit: Visit, ring: Symbol) -> list[Touch]:
    """Return a visit's plain accesses to a copy, without those that an engine's surely come after in the same visit.

    There the walk puts a fence between. Of each kind the first is enough.
    """
    # `c[t] = v; wgmma(c)` in one visit: the fence before the wgmma is made by the same threads, and serves later engines.
    latest: dict[str, int] = {}
    for touch in visit.surely(ring):
        if touch.engine:
            latest[touch.kind] = max(touch.serial, latest.get(touch.kind, touch.serial))
    found: dict[str, Touch] = {}
    for one in visit.touches(ring):
        if one.engine or one.kind in found:
            continue
        if not any(one.serial < last and flow.conflicting(one.kind, kind) for kind, last in latest.items()):
            found[one.kind] = one
    return list(found.values())


def _find_unseen(plain: Sequence[Touch], engine: Sequence[Touch]) -> tuple[Touch, Touch] | None:
    """Return a plain access and one by an engine that conflict."""
    for one in plain:
        for two in engine:
            if two.engine and flow.conflicting(one.kind, two.kind):
                return one, two
    return None
