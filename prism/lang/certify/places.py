"""What stands where in a skeleton: what is done, in what order, under which constraints. Names are those of theory/proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prism.lang.certify.text import Statement, Unit

Constraint = tuple[int, int, int]
Where = tuple[Constraint, ...]
Path = tuple[int, ...]
MEMORIES = frozenset({"shared", "cluster", "global", "all"})
"""What a fence may be for."""
SENT = frozenset({"sent", "sent_late"})
"""Barriers of a cluster that order no access: its blocks send to one another. If `late`, they wait first until all have begun."""
LANE: Constraint = (32, 0, 1)
TELLS = frozenset({"tell", "load", "later"})
ISSUED = frozenset({"load", "copy", "group"})
OUT = "out"
"""The kind of groups of what stores write: nobody waits for them, but the end of the grid."""
PRODUCTS = "wgmma"
COPIED = "cp_async"
"""The kind of groups of copies that are of the same proxy as what threads do."""
KINDS = frozenset({"bulk", COPIED, PRODUCTS, OUT})
WARP: Unit = ("thread", 32)


class Mbarrier(NamedTuple):
    """A ring's mbarriers. Those of stage 0 say that a copy is free: they are waited for since its last use, others in this round.

    Those of stage 1 say that it is filled, those of stage 2 that it is changed, and so on: stations come in this order.
    """

    number: int
    cycle: int
    copies: int
    stage: int
    late: int
    need: int

    @property
    def free(self) -> bool:
        """Whether they say that a copy is free."""
        return self.stage == 0


class Site(NamedTuple):
    """What stands at a place of a round, under which constraints."""

    place: Path
    deed: Statement
    where: Where


class Failed(Exception):
    """A rule of rings that fails, and why."""


class Rejected(Exception):
    """A rule that fails, and for what."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule, self.what = rule, what


def accesses_of(s: Statement) -> tuple[int, ...]:
    """Return the accesses of one thing that is done: a thread's own, or an engine's."""
    match s:
        case ("acc", i):
            return (i,)
        case ("load", _, _, _, *inner) | ("copy", *inner) | ("group", _, *inner):
            return tuple(inner)
        case _:
            return ()


def events(s: Statement) -> Iterator[Statement]:
    """Yield all that a statement may do."""
    match s:
        case ("seq", *inner):
            for part in inner:
                yield from events(part)
        case ("if", _, then, otherwise):
            yield from events(then)
            yield from events(otherwise)
        case ("loop" | "loop1", _, _, inner) | ("only", _, _, _, inner):
            yield from events(inner)
        case ("round", c, inner):
            yield from events(inner)
            yield ("end", c)
        case _:
            yield s


def implies(one: Where, two: Where) -> bool:
    """Whether who satisfies `one` satisfies `two`."""
    return all(any(n == m and lo <= first and last <= hi for m, first, last in one) for n, lo, hi in two)


def keeps_drains(s: Statement) -> bool:
    """Whether each drain stands where it should: behind a wait for all products, and a barrier of the warp."""
    match s:
        case ("seq", *before, ("settle", kind, 0), ("bar", unit, "warp"), ("only", *lane, inner)) if (
            kind,
            unit,
            tuple(lane),
        ) == (PRODUCTS, WARP, LANE) and all(e[0] == "drain" for e in events(inner)):
            return all(map(keeps_drains, before))
        case ("seq", *parts) | ("if", _, *parts):
            return all(map(keeps_drains, parts))
        case ("loop" | "loop1", _, _, inner) | ("only", _, _, _, inner) | ("round", _, inner):
            return keeps_drains(inner)
        case _:
            return bool(s[0] != "drain")


def clear(kind: str, i: int, j: int, s: Statement, under_way: bool = False, who: Where = ()) -> tuple[bool, bool]:
    """Return whether a thread's groups of a kind that make access i may be under way behind a statement, if they may before.

    And whether none is where it makes access j. Threads under constraints `who` are looked at. A second walk of a loop says that
    the first has what any trips may leave.
    """
    match s:
        case ("seq", *parts):
            well = True
            for part in parts:
                under_way, found = clear(kind, i, j, part, under_way, who)
                well = well and found
            return under_way, well
        case ("if", _, *ways):
            found_ = [clear(kind, i, j, way, under_way, who) for way in ways]
            return any(left for left, _ in found_), all(well for _, well in found_)
        case ("loop" | "loop1", _, _, inner):
            around = under_way or clear(kind, i, j, inner, under_way, who)[0]
            left, well = clear(kind, i, j, inner, around, who)
            return around, well and (around or not left)
        case ("only", n, lo, hi, inner):
            left, well = clear(kind, i, j, inner, under_way, who)
            return left or (under_way and not implies(who, ((n, lo, hi),))), well
        case ("round", _, inner):
            return clear(kind, i, j, inner, under_way, who)
        case ("settle", ended, 0):
            return under_way and ended != kind, True
        case _:
            made = accesses_of(s)
            return under_way or (s[:2] == ("group", kind) and i in made), not (under_way and j in made)


def as_threads(i: int, j: int, s: Statement) -> Statement:
    """Return a statement in which threads make products' access i themselves, with their access j, and nothing else.

    Of barriers there are those of warps that stand right behind a wait for all products, and no others.
    """
    match s:
        case ("seq", *parts):
            before = [None, *parts]
            return (
                "seq",
                *(
                    p if (b, p) == (("settle", PRODUCTS, 0), ("bar", WARP, "warp")) else as_threads(i, j, p)
                    for b, p in zip(before, parts, strict=False)
                ),
            )
        case ("if", u, then, otherwise):
            return ("if", u, as_threads(i, j, then), as_threads(i, j, otherwise))
        case ("loop" | "loop1", _, _, inner) | ("only", _, _, _, inner) | ("round", _, inner):
            return (*s[:-1], as_threads(i, j, inner))
        case ("acc", a) if a == j:
            return s
        case ("group", kind, *made) if kind == PRODUCTS and i in made:
            return ("acc", i)
        case _:
            return ("seq",)


def sites_of(s: Statement, place: Path, where: Where, deep: bool) -> Iterator[Site]:
    """Yield what is done in a statement, in order; `deep`: also under decisions, where it stands where the outermost one does."""
    match s:
        case ("seq", *inner):
            for at, part in enumerate(inner):
                yield from sites_of(part, (*place, at), where, deep)
        case ("only", n, lo, hi, inner):
            yield from sites_of(inner, place, ((n, lo, hi), *where), deep)
        case ("round", c, inner):
            yield from sites_of(inner, (*place, 0), where, deep)
            yield Site((*place, 1), ("end", c), where)
        case ("if", _, then, otherwise):
            for part in (then, otherwise) if deep else ():
                yield from (Site(place, z.deed, z.where) for z in sites_of(part, place, where, deep))
        case ("loop" | "loop1", _, _, inner):
            if deep:
                yield from (Site(place, z.deed, z.where) for z in sites_of(inner, place, where, deep))
        case _:
            yield Site(place, s, where)


def loops_of(
    s: Statement, found: dict[int, frozenset[int]], around: frozenset[int] = frozenset()
) -> dict[int, frozenset[int]]:
    """Add the loops around each access."""
    match s:
        case ("loop" | "loop1", number, _, inner):
            loops_of(inner, found, around | {number})
        case ("seq", *parts) | ("if", _, *parts):
            for part in parts:
                loops_of(part, found, around)
        case ("only", _, _, _, inner) | ("round", _, inner):
            loops_of(inner, found, around)
        case _:
            for i in accesses_of(s):
                found[i] = found.get(i, frozenset()) | around
    return found
