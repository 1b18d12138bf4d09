"""Stations: the scopes that open a ring, what each does with its copy, and where in it that is done.

A station's spot is the narrowest statement list that holds all its uses and is executed once a visit: its threads are those
that visit. Lists are entered through groups, views and the one arm of a split that has uses; not through conditions and loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.walk_access import call_touch, make_touch
from prism.lang.barriers.walk_context import Context, Place
from prism.lang.barriers.walk_state import narrow_path
from prism.lang.facts.budget import most_threads
from prism.lang.facts.touches import Touch
from prism.lang.keep.bases import Frozen, Value
from prism.lang.tree.plan import Path
from prism.lang.types.perspective import WARP, Perspective

Trail = tuple[tuple[tree.Body, int], ...]
"""The statement lists from a function's body down to a statement, each with the index of what contains it."""


class Used(Frozen):
    """A use of a copy: the access, and the statements around it, from the station's body inwards."""

    touch: Touch
    inside: tuple[tree.Stmt, ...]


class Spot(Frozen):
    """A statement list, of which statements `first` to `last` have all the uses; its code, and the way there from the block.

    `held`: of the threads that come to the list only those of an arm inside it make the visit. Then `path` leads to the arm.
    """

    body: tree.Body
    first: int
    last: int
    code: Perspective
    path: Path
    held: bool = False

    @property
    def own_path(self) -> Path:
        """The path of what stands beside the list's statements: empty where all who come there make the visit."""
        return self.path if self.held else ()


class Station(Frozen):
    """A scope that opens a ring. `spot` is None where nothing is done with the copy."""

    ring: tree.Symbol
    opening: tree.Claim | tree.Partition
    trail: Trail
    used: tuple[Used, ...]
    spot: Spot | None

    @property
    def in_flight(self) -> int:
        """How many visits later its asynchronous readers are waited for."""
        view = self.opening.view.view
        return 0 if view is None else view.in_flight

    @property
    def touches(self) -> tuple[Touch, ...]:
        """Its accesses to the copy."""
        return tuple(used.touch for used in self.used)

    @property
    def writes(self) -> bool:
        """Whether it changes the copy."""
        return any(touch.kind != "read" for touch in self.touches)


def ring_of(statement: tree.Stmt) -> tree.Symbol | None:
    """Return the ring that a statement opens, or None."""
    if isinstance(statement, tree.Claim | tree.Partition) and statement.view.view is not None:
        source = statement.view.view.source
        return source if is_ring(source) else None
    return None


def is_ring(symbol: tree.Symbol) -> bool:
    """Whether a name stands for a ring itself, not for a copy."""
    return symbol.view is None and isinstance(symbol.type, tree.Pointer) and symbol.type.ring > 0


def stations(context: Context) -> list[Station]:
    """Return the stations of a function's rings, in program order."""
    return list(_stations(context, context.function.body, Place(context.function.bound.code), ()))


def _stations(context: Context, body: tree.Body, place: Place, trail: Trail) -> Iterator[Station]:
    for index, statement in enumerate(body):
        here: Trail = (*trail, (body, index))
        ring = ring_of(statement)
        if ring is not None:
            assert isinstance(statement, tree.Claim | tree.Partition)
            inner = place.open(statement.view, isinstance(statement, tree.Claim))
            used = tuple(_uses(context, statement.body, inner, statement.view, ()))
            within = {s for one in used for s in one.inside}
            spot = narrowest(statement.body, inner, within, {one.inside[-1] for one in used})
            yield Station(ring, statement, here, used, None if spot is None else for_users(spot, used))
        for inside, part in inner_places(statement, place):
            yield from _stations(context, part, inside, here)


def inner_places(statement: tree.Stmt, place: Place) -> Iterator[tuple[Place, tree.Body]]:
    """Yield the statement lists inside a statement, each with where it stands."""
    match statement:
        case tree.Group():
            yield place.enter(statement.unit, statement.unit), statement.body
        case tree.Split():
            for arm in statement.arms:
                entry = (statement.level, arm.first, arm.size)
                yield place.enter(Perspective(statement.level, arm.size), entry), arm.body
        case tree.Partition() | tree.Claim():
            yield place.open(statement.view, isinstance(statement, tree.Claim)), statement.body
        case _:
            for part in tree.children(statement):
                yield place, part


def _uses(
    context: Context, body: tree.Body, place: Place, view: tree.Symbol, around: tuple[tree.Stmt, ...]
) -> Iterator[Used]:
    """Yield the uses of a copy in a statement list."""
    for statement in body:
        inside = (*around, statement)
        for use in flow.uses(statement):
            if isinstance(use.expression, tree.Call):
                found = _accesses_of_call(context, place, use.expression)
            else:
                found = [make_touch(context, place, (), use)]
            yield from (Used(touch, inside) for touch in found if any(step.view is view for step in touch.steps))
        for there, part in inner_places(statement, place):
            yield from _uses(context, part, there, view, inside)


def _accesses_of_call(context: Context, place: Place, call: tree.Call) -> list[Touch]:
    """Return the accesses that a callee makes to what it is passed."""
    found = []
    for number, exposed in enumerate(context.summaries[call.function].entry):
        touch = call_touch(context, place, (), call, exposed, ("entry", number))
        found += [] if touch is None else [touch]
    return found


def narrowest(body: tree.Body, place: Place, within: set[tree.Stmt], direct: set[tree.Stmt]) -> Spot | None:
    """Return the narrowest list that has all statements of `within` that are in `body`; `direct` make uses themselves."""
    # The narrower, the fewer threads wait and arrive, and the shorter they hold the copy. It stops at a statement that uses the
    # copy itself, and at conditions and loops: inside, some would make a visit, or make it twice, and arrivals would not add up.
    #     with claim(r, users) as c:             the spot is the group's list, statements 1 to 2:
    #         with group(thread[1]):             the wait stands before `v = c[t]`, the arrival behind `v += c[0]`
    #             w = x[t]
    #             v = c[t]
    #             v += c[0]
    users = [index for index, statement in enumerate(body) if statement in within]
    if not users:
        return None
    statement = body[users[0]]
    if (
        len(users) == 1
        and statement not in direct
        and isinstance(statement, tree.Group | tree.Split | tree.Partition | tree.Claim | tree.Async)
    ):
        # Two arms of a split that use the copy are two sets of threads: the visit is made by all that come to the split.
        inner = [(at, part) for at, part in inner_places(statement, place) if any(s in within for s in part)]
        if len(inner) == 1:
            return narrowest(inner[0][1], inner[0][0], within, direct)
    return Spot(body, users[0], users[-1], place.code, narrow_path(place.path))


def for_users(spot: Spot, used: Iterable[Used]) -> Spot:
    """Return a spot as that of the arm which has all uses, where it is around a loop or a condition that the arm stands in."""
    # One role holds its copy over a loop in which others have stations of other rings: they come to the loop, and make no visit.
    #     with claim(q, users) as c:             the wait and the arrival stand around the loop, for the users alone
    #         for j in range(n):
    #             with claim(k, loader) ...
    #             with claim(k, users) as d: use c and d
    paths = {one.touch.path for one in used}
    first, depth = next(iter(paths)), len(spot.path)
    end = depth
    while all(path[: end + 1] == first[: end + 1] and len(path) > end for path in paths) and isinstance(
        first[end], tuple
    ):
        end += 1
    return spot if end == depth else replace(spot, path=first[:end], held=True)


# -- how many threads -------------------------------------------------------------------------------------------------------


class Crowd(Value):
    """The threads of a block that come to a place: `number` of them or, with `share`, that part of all that there are.

    `whole`: they are whole warps.
    """

    number: Fraction
    share: bool
    whole: bool

    @property
    def single(self) -> bool:
        """Whether it is one thread."""
        return not self.share and self.number == 1


def crowd(function: tree.Function, path: Path) -> Crowd:
    """Return the threads of a block that come along a path."""
    # Without an exact bound a launch decides how many threads there are: then counts are shares of them.
    bound = function.bound.thread
    share = bound is None or bound != most_threads(function)
    found = Crowd(Fraction(1 if share else bound or 1), share, bound is not None and bound % WARP == 0)
    unit: int | None = None
    for entry in path:
        if isinstance(entry, Perspective):
            unit = entry.size
            continue
        _, first, size = entry
        whole = found.whole and first % WARP == 0 and size % WARP == 0
        # In the block an arm has as many threads as it says, whatever the launch; in a unit, that part of each unit's.
        if unit is None:
            found = Crowd(Fraction(size), False, whole)
        else:
            found = replace(found, number=found.number * size / unit, whole=whole)
        unit = size
    return found


def members(function: tree.Function, path: Path) -> frozenset[int]:
    """Return the threads that come along a path from the block, of as many as a block may have."""
    return _members(most_threads(function), path)


@lru_cache(maxsize=256)
def _members(most: int, path: Path) -> frozenset[int]:
    found = []
    for thread in range(most):
        at, inside = thread, True
        for entry in path:
            if isinstance(entry, Perspective):
                at %= entry.size
            else:
                inside = inside and entry[1] <= at < entry[1] + entry[2]
                at -= entry[1]
        found += [thread] if inside else []
    return frozenset(found)
