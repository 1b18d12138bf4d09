"""Cycles: which rings are visited in step, and whether each round visits all their stations, in one order.

The rings of a cycle have the same number of copies and their stations in one statement list, with no jump between: so one
count of rounds does for all. Stations of several rings in the same place, one `with` inside the other, are one visit.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.diagnostics import CompileError, Error, Label
from prism.lang.errors.rings import Crowded, Jump, Kept, Skipped, Unfilled
from prism.lang.rings.sections import check_alike, split_by_place
from prism.lang.rings.stations import Station, crowd, is_ring, ring_of
from prism.lang.rings.visits import Lap, Round, Sections, Visit, textual
from prism.lang.tree.plan import Cycle, Path
from prism.lang.tree.walk import statements

MOST_VISITS = 512
"""Visits of one ring in a round: who waits for whom is found out of each two."""

# -- rounds -----------------------------------------------------------------------------------------------------------------


def laps(function: tree.Function, stations: Sequence[Station]) -> list[Lap]:
    """Return the cycles of a function, those with sections once for each. Raises CompileError where rounds would not be whole."""
    by_ring: dict[tree.Symbol, list[Station]] = {}
    for station in stations:
        by_ring.setdefault(station.ring, []).append(station)
    errors: list[Error] = [*_stored_copies(function)]
    rounds: list[Sections] = []
    for ring, own in by_ring.items():
        found = _sections(ring, own)
        if isinstance(found, tuple):
            errors.extend(fault for one in found for fault in _faults(one))
            rounds.append(found)
        else:
            errors.append(found)
    if errors:
        raise CompileError(*errors)
    return [lap for group in _in_step(rounds) for lap in _laps(function, group)]


def _sections(ring: tree.Symbol, stations: Sequence[Station]) -> Sections | Error:
    """Return a ring's rounds, of each place that has whole ones; or the error that there is no such place."""
    # One place first: two stations that stand in one list are visits of one round, not rounds of two places.
    found = _round(ring, stations)
    if isinstance(found, Round):
        return (found,)
    parts = split_by_place(stations)
    rounds = [_round(ring, part) for part in parts]
    filled = all(used and used[0].writes for used in ([s for s in part if s.used] for part in parts))
    whole = tuple(one for one in rounds if isinstance(one, Round))
    return whole if filled and len(whole) == len(rounds) > 1 and not any(map(_around_others, whole)) else found


def _around_others(found: Round) -> bool:
    """Whether a round has a visit of the ring's other places between its own."""
    own = {station.opening for station in found.stations}
    inner = statements(found.home[found.first : found.last + 1])
    return any(ring_of(s) is found.ring and s not in own for s in inner)


def _round(ring: tree.Symbol, stations: Sequence[Station]) -> Round | Error:
    """Return where a ring's stations stand together, or the error that one of them is skipped in some rounds."""
    # The round's home is the innermost list that all stations stand in. Below it each has to be executed once a trip, or rounds
    # would not be counted alike for all of them:
    #     for k in range(n):
    #         with claim(r, fillers) ...
    #         if k > 2:                      `Skipped`: the users' first round is the fillers' fourth
    #             with claim(r, users) ...
    trails = [station.trail for station in stations]
    depth = 0
    while all(len(trail) > depth + 1 and trail[depth + 1][0] is trails[0][depth + 1][0] for trail in trails):
        depth += 1
    for station, trail in zip(stations, trails, strict=True):
        for body, index in trail[depth:-1]:
            if (where := _where(body[index])) is not None:
                labels = tuple(
                    Label(other.opening.span, "opened here too") for other in stations if other is not station
                )
                span = station.opening.span
                return Skipped(span=span, labels=labels[:1], name=ring.name, where=where[0], inner=where[1])
    indices = [trail[depth][1] for trail in trails]
    return Round(ring, tuple(stations), trails[0][depth][0], min(indices), max(indices), trails[0][: depth + 1])


def _where(statement: tree.Stmt) -> tuple[str, str] | None:
    """Return what makes statements inside another be executed less or more often, or by fewer threads; None for nothing."""
    match statement:
        case tree.If():
            return "under a condition", "condition"
        case tree.For() | tree.While():
            return "in a loop of its own", "loop"
        case tree.Split():
            return "in one arm of a split", "split"
        case tree.Claim() | tree.Partition() | tree.Group() | tree.Async() | tree.Turns():
            return None
        case _:
            return "where it may be skipped", "statement"


def _faults(found: Round) -> Iterator[Error]:
    """Yield what is wrong with a ring's round: a jump out of its middle, a copy that is read before it is filled."""
    if len(found.stations) > MOST_VISITS:
        first, number = found.stations[0].opening.span, len(found.stations)
        yield Crowded(span=first, name=found.ring.name, number=number, most=MOST_VISITS)
    # A jump in the middle ends a trip with half a round: those before it have counted on, those behind it have not.
    for jump in jumps(found.home, found.first, found.last):
        word = type(jump).__name__.lower()
        labels = (Label(found.stations[0].opening.span, "the round's first visit"),)
        yield Jump(span=jump.span, labels=labels, name=found.ring.name, jump=word)
    # The first visit has waited for nobody: what it reads in the first lap, nobody has written.
    used = [station for station in found.stations if station.used]
    if used and not used[0].writes:
        touch = used[0].touches[0]
        yield Unfilled(span=touch.access.span, name=found.ring.name, view=used[0].opening.view.name)


def jumps(body: tree.Body, first: int, last: int) -> list[tree.Stmt]:
    """Return the jumps out of the middle of a statement list's range: not those of loops inside it."""
    return [jump for statement in body[first : last + 1] for jump in _jumps_of(statement)]


@functools.lru_cache(maxsize=4096)
def _jumps_of(statement: tree.Stmt) -> tuple[tree.Stmt, ...]:
    if isinstance(statement, tree.Return | tree.Break | tree.Continue):
        return (statement,)
    found = [jump for inner in tree.children(statement) for part in inner for jump in _jumps_of(part)]
    # A loop inside takes its own jumps, and lets a return through.
    loop = isinstance(statement, tree.For | tree.While)
    return tuple(jump for jump in found if not loop or isinstance(jump, tree.Return))


def _stored_copies(function: tree.Function) -> Iterator[Error]:
    """Yield the assignments of a ring's copy to a pointer."""
    for statement in statements(function.body):
        change = flow.pointer_change(statement)
        # A copy is another one in each round: a pointer to it would outlive its visit, and no wait would know of its uses.
        for source in change[1] if change is not None else ():
            if is_ring(source.root()) and change is not None:
                yield Kept(span=statement.span, name=source.root().name, pointer=change[0].name)


# -- cycles -----------------------------------------------------------------------------------------------------------------


def _in_step(rings: Sequence[Sections]) -> list[list[Sections]]:
    """Return rings grouped into cycles."""
    groups: list[list[Sections]] = []
    for one in rings:
        for group in groups:
            places = list(zip(*group, one, strict=False))
            if len(group[0]) == len(one) and all(map(_stand_side_by_side, places)):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def _stand_side_by_side(rounds: Sequence[Round]) -> bool:
    """Whether rings' rounds stand in one list, of as many copies, with no jump between."""
    # One count of rounds does for all if no trip makes a round of one ring alone, and round v means copy v % copies for each.
    home, copies = rounds[0].home, rounds[0].copies
    same = all(one.home is home and one.copies == copies for one in rounds)
    return same and not jumps(home, min(r.first for r in rounds), max(r.last for r in rounds))


def _laps(function: tree.Function, rings: Sequence[Sections]) -> list[Lap]:
    """Return a cycle with its visits, once for each section."""
    name = "_".join(one[0].ring.name for one in rings)
    cycle = Cycle(name, rings[0][0].copies, tuple(one[0].ring for one in rings))
    found = [_lap(function, cycle, rounds) for rounds in zip(*rings, strict=True)]
    if len(found) > 1:
        check_alike(found)
        for lap in found:
            lap.sections = tuple(found)
    return found


def _lap(function: tree.Function, cycle: Cycle, rounds: Sequence[Round]) -> Lap:
    """Return a cycle with its visits in one place."""
    # Stations of a cycle whose uses stand in one list are one visit, with one wait and one arrival:
    #     with claim(a, users) as x, claim(b, users) as y:
    #         use x; use y                   waits before it for both, and one arrival for both behind it
    # Invariant: visits are in the order of the text, which is the order in which each thread makes its own.
    places: dict[tuple[int, Path], list[Station]] = {}
    for station in sorted((s for one in rounds for s in one.stations if s.spot is not None), key=textual):
        assert station.spot is not None
        places.setdefault((id(station.spot.body), station.spot.path), []).append(station)
    visits = []
    for own in places.values():
        spot = own[0].spot
        assert spot is not None
        visits.append(Visit(tuple(own), spot, crowd(function, spot.path), cycle, tuple(rounds)))
    return Lap(cycle, tuple(rounds), visits)
