"""Which two accesses can conflict, and which threads that concerns.

While a view is open, its part belongs to one unit of its perspective: two accesses through the same open view can only
conflict inside that unit. So the threads that a conflict concerns are one unit of the deepest level that the two chains share
(`relate`). Besides, an access that is under way conflicts with its own thread's next ones, until that waits for it; and one
by the copy engine or the tensor cores with those before it that were plain, until their threads have made a proxy fence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from prism.lang import diagnostics, tree
from prism.lang.barriers.meetings import meet
from prism.lang.barriers.objects import Objects, calls_of
from prism.lang.barriers.pointers import pointer_change
from prism.lang.barriers.products import free_names, narrow
from prism.lang.facts import destinations
from prism.lang.facts.addresses import names_behind
from prism.lang.facts.definitions import Facts
from prism.lang.facts.disjoint import is_proved
from prism.lang.facts.questions import Question
from prism.lang.facts.touches import (
    ATOMIC,
    LOADS,
    NEAR,
    Exposed,
    Pending,
    Step,
    Summary,
    Touch,
    Use,
    declared_fragment,
    in_memory,
    other_trip,
    spell,
    uses,
)  # fmt: skip
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.tree import Partition  # fmt: skip
from prism.lang.tree.plan import Path
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, THREAD, WARP1, Level, Perspective

Env = tuple[tuple[Any, Any], ...]
"""Pointer variables that were assigned, and the object or view that each one names now; conditions, and whether they hold."""

ALLOWED = '`{}` says races="allow"'
TRIPS_APART = "the elements of different trips are proved disjoint"
TRIPS = "the part of `{}` that a unit has may be another unit's in another trip; the reference machine checks it"


class Relation(Value):
    """How two accesses that touch the same bytes stand: `unit` whose threads a barrier must join, or None and the reason.

    At thread[1] no barrier is needed, but something else. `land`: the first is under way, and its thread has to wait for it.
    `fence`: its thread has to make a proxy fence before the barrier; `behind`: that barrier is there, and only the fence is
    missing. `registers`: a wgmma has to be told that registers were touched. `where` is the line that the reason speaks of.

    `unproved`: empty, or the kind of a conflict that nothing orders, though it is not proved that the two never meet: `trip` (of
    one partition, in two trips of a loop), `asynchronous` (of two copies) or `store` (of stores that are said to be `disjoint`).
    The safety report counts each of them. `overlap`: what partitions that say `races="allow"` do to one another. `believed`
    says in words what nothing orders, where the two need something besides.
    """

    unit: Perspective | None
    reason: str = ""
    where: diagnostics.Span | None = None
    land: bool = False
    fence: bool = False
    behind: bool = False
    registers: bool = False
    unproved: str = ""
    believed: str = ""


def conflicting(left: str, right: str) -> bool:
    """Whether two kinds of access to one object conflict: either writes, and they are not atomic to one another."""
    one, two = (ATOMIC if kind == NEAR else kind for kind in (left, right))
    return one != two or one == "write"


def is_block_scoped(left: str, right: str) -> bool:
    """Whether two atomic accesses are so to one another in one block only, by the scope of either."""
    return NEAR in (left, right) and {left, right} <= {ATOMIC, NEAR}


def relate(objects: Objects, first: Pending, second: Touch) -> Relation | None:
    """Return how an access that has happened and one about to be made stand, or None where they cannot conflict."""
    clash = find_clash(objects, first, second)
    return None if clash is None else relate_after(clash, first, second)


class Clash(Value):
    """What of two accesses is so whatever came between them: the barriers and waits that were met since do not matter.

    `relation`: the unit that they concern, or None and the reason. Of two copies of one kind to one object (`copies`): `apart`,
    they are proved never to write one place; `surely`, as loads under way they do.
    """

    relation: Relation
    copies: bool = False
    apart: bool = False
    surely: bool = False


def history(first: Pending) -> Pending:
    """Return all of an access that has happened which `find_clash` asks for."""
    return Pending(first.touch, first.open, aged=first.aged, loop=first.loop)


def find_clash(objects: Objects, first: Pending, second: Touch) -> Clash | None:
    """Return how two accesses stand, whatever came between, or None where they cannot conflict. This is what takes time."""
    earlier = first.touch
    if earlier is None:
        return None
    if isinstance(earlier.root.type, tree.Fragment) or isinstance(second.root.type, tree.Fragment):
        conflict = earlier.root is second.root and conflicting(earlier.kind, second.kind)
        return Clash(Relation(THREAD)) if conflict else None
    found = _relate_in_memory(objects, first, earlier, second)
    if found is None:
        return None
    copies = found.unit is not None and earlier.how and earlier.how == second.how and earlier.root is second.root
    return _find_copies(objects.known, first, second, found) if copies else Clash(found)


def relate_after(clash: Clash, first: Pending, second: Touch) -> Relation | None:
    """Return how two accesses stand after what came between them."""
    earlier, found = first.touch, clash.relation
    assert earlier is not None
    if isinstance(earlier.root.type, tree.Fragment):
        return _registers(first, earlier, second)
    if found.unit is None:
        return found
    stand = partial(_relate_copies, clash) if clash.copies else _relate_in_unit
    stands = stand(first, earlier, second, found.unit)
    if stands.unproved or not (found.unproved or found.believed):
        return stands
    return replace(stands, unproved=found.unproved, believed=found.believed)


def _relate_in_memory(objects: Objects, first: Pending, earlier: Touch, second: Touch) -> Relation | None:
    """Return the unit that two accesses to memory concern, whatever was met between them."""
    if earlier.root is second.root:
        if is_block_scoped(earlier.kind, second.kind):
            return _relate_atomics(_common(objects.known, first, earlier, second))
        if not conflicting(earlier.kind, second.kind):
            return None
        if isinstance(earlier.root.type, tree.TensorMap):
            return Relation(earlier.root.perspective)
        return _common(objects.known, first, earlier, second)
    why = objects.overlap(earlier.root, second.root)
    if why is None or (earlier.kind == second.kind == "read"):
        return None
    if why == "alias" and not (conflicting(earlier.kind, second.kind) or is_block_scoped(earlier.kind, second.kind)):
        return None
    left, right = earlier.root.perspective, second.root.perspective
    unit = left if right <= left else right
    if why == "alias" and unit.level == Level.GRID and not objects.known.function.cooperative:
        for touch in (earlier, second):
            if overlap_unit(touch) is not None:
                return Relation(None, _says(touch), unproved="overlap")
    return Relation(unit)


APART = "they are proved never to write one place"
LOADED = "loads of one visit; the reference machine checks it"


def _find_copies(known: Facts, first: Pending, second: Touch, found: Relation) -> Clash:
    """Return how two asynchronous writes of one kind stand by where they write, and in what unit they may meet."""
    assert found.unit is not None and first.touch is not None
    unit = BLOCK if isinstance(second.root.type, tree.TensorMap) else found.unit
    # What other blocks store is looked at by itself: no block waits for another's.
    unit = destinations.conflict_unit(known, first, second, unit)
    apart = destinations.never_meet(known, first, second, unit)
    load = not apart and first.touch.how in LOADS
    surely = load and unit == THREAD and destinations.meet(known, first, second)
    return Clash(replace(found, unit=unit), True, apart, surely)


def _relate_copies(clash: Clash, first: Pending, earlier: Touch, second: Touch, unit: Perspective) -> Relation:
    """Return how two asynchronous writes of one kind stand: in no order, until the first has been waited for.

    Where that can't be, as of loads of one visit, those that surely meet are a conflict that nothing settles, and of others it is
    said that nothing is proved.
    """
    if clash.apart:
        return Relation(None, APART)
    if earlier.how in LOADS and first.since is not None:
        return Relation(unit, land=True) if clash.surely else Relation(None, LOADED, unproved="asynchronous")
    if destinations.is_declared_distinct(earlier, second):
        return Relation(None, destinations.BELIEVED, unproved="store")
    return _relate_in_unit(first, earlier, second, unit)


def _relate_atomics(found: Relation) -> Relation | None:
    """Return how two atomic accesses stand that are so in one block only: there they need nothing."""
    if found.unit is None or not found.unit <= BLOCK:
        return found
    return Relation(None, found.believed, unproved=found.unproved) if found.unproved else None


def _relate_in_unit(first: Pending, earlier: Touch, second: Touch, unit: Perspective) -> Relation:
    """Return what two accesses that concern a unit still need, after what was met between them."""
    # Plain accesses and the engine's go different ways to memory: a barrier alone does not order them, a fence before it does.
    fence = second.engine and not earlier.engine
    if first.since is not None:
        return Relation(unit, land=True, fence=fence)
    if earlier.how == "wgmma" and unit <= WARP1:
        return Relation(None, "each thread of the warp has waited for it")
    if earlier.how == "load" and unit < BLOCK:
        unit = BLOCK  # it has ended, and those know that waited at its mbarrier: not the thread that issued it
    if unit == THREAD:
        if fence and not first.fenced:
            return Relation(THREAD, fence=True)
        return Relation(None, "the same thread makes both")
    # Barriers of broader units join all threads of narrower ones: the broadest that was met decides.
    met = first.asynced if fence else first.synced
    if met is not None and unit <= met[0]:
        return Relation(None, f"ordered by {met[1]}", met[3])
    behind = fence and first.synced is not None and unit <= first.synced[0]
    return Relation(unit, fence=fence and (behind or not first.fenced), behind=behind)


def _registers(first: Pending, earlier: Touch, second: Touch) -> Relation | None:
    """Return how accesses in conflict to one fragment stand: registers are a thread's own, but wgmma uses them later."""
    if earlier.how and second.how:
        # The sums of two are added in order. What one reads as its operand is another's only behind a wait and a fence.
        if earlier.kind != second.kind and (first.since is not None or not first.fenced):
            return Relation(THREAD, land=first.since is not None, registers=first.since is None)
        return Relation(None, "wgmmas on one fragment are in order")
    if second.how:
        return Relation(THREAD, registers=True)
    return Relation(THREAD, land=True) if first.since is not None else None


def _common(known: Facts, first: Pending, earlier: Touch, second: Touch) -> Relation:
    """Descend the two chains while they name the same unit's part of the same source.

    A view that a loop opens anew is another one in each trip: other units may have what was this one's. Where nothing is proved,
    a barrier of the grid comes between the trips. A kernel that can have none is refused if units are seen to meet, as it were
    without the loop; else it is believed that they do not, and said so. One unit's own accesses are ordered all the same.
    """
    source, believed = earlier.root.perspective, None
    for place in range(min(len(earlier.steps), len(second.steps)) + 1):
        left, right = _step(earlier, place), _step(second, place)
        steps = (left, right) if left is not None and right is not None else None
        # One part of one source: nobody but its unit can be concerned, so the question goes one view down. That holds while the
        # view is still the same opening of it, or the elements are proved to be one unit's.
        #     with partition(s, warp[1], ...) as w:          # the two concern a warp: its part is nobody else's
        #         w[0] = v; v = w[1]
        opened = steps is not None and place < first.open and steps[0].view is steps[1].view
        if not opened and not (steps is not None and _same_part(known, first, second, steps, source)):
            why = _reason_to_believe(known, first, second, place, source)
            believed = believed or why
            if why is None:
                break
            if steps is None or steps[0].view is not steps[1].view:
                parts = overlap_unit(earlier, place), overlap_unit(second, place)
                source = _wider(*(part for part in parts if part is not None))
                break
        source = second.steps[place].view.perspective
    source = narrow(known, first, second, source)
    kind, words = believed or ("", "")
    if _trips_apart(known, first, second, source):
        return Relation(None, TRIPS_APART, unproved=kind, believed=words)
    return Relation(source, unproved=kind, believed=words)


def _step(touch: Touch, place: int) -> Step | None:
    return touch.steps[place] if place < len(touch.steps) else None


def _wider(one: Perspective, two: Perspective) -> Perspective:
    """Return the broader of two units, or the block where neither is."""
    return max(one, two) if one <= two or two <= one else BLOCK


def _reason_to_believe(
    known: Facts, first: Pending, second: Touch, place: int, source: Perspective
) -> tuple[str, str] | None:
    """Return why nothing orders units of a source that both accesses part, though they may meet: kind and words, or None.

    Those of global memory, of partitions that say so; and those of one that a loop opens anew, where none is seen to meet
    another. Not where a barrier of the grid can be had.
    """
    earlier = first.touch
    assert earlier is not None
    if source.level == Level.GRID and known.function.cooperative:
        return None
    type_ = second.root.type
    in_global = isinstance(type_, tree.Pointer) and type_.space == "global"
    if in_global and all(overlap_unit(touch, place) is not None for touch in (earlier, second)):
        return "overlap", _says(second, place)
    left, right = _step(earlier, place), _step(second, place)
    if source.level < Level.GRID or left is None or right is None or left.view is not right.view or not first.loop:
        return None
    if _trips_apart(known, first, second, source):
        return None  # nobody meets anybody: there is nothing to order, and nothing to believe
    return None if meet(known, left.view, earlier, second) else ("trip", TRIPS.format(left.view.name))


def overlap_unit(touch: Touch, place: int = 0) -> Perspective | None:
    """Return the unit of the partition that parts an access's source, if it says that an overlap is meant.

    Behind the caller's own partitions there is a callee's.
    """
    step = _step(touch, place)
    if step is None:
        return touch.allowed
    return step.view.perspective if step.meaning.races == "allow" else None


def _says(touch: Touch, place: int = 0) -> str:
    step = _step(touch, place)
    return ALLOWED.format(touch.access.text if step is None else step.view.name)


def _same_part(known: Facts, first: Pending, second: Touch, steps: tuple[Step, Step], source: Perspective) -> bool:
    """Whether only one unit's accesses meet: a claim for the same arm, or partitions whose elements are proved to be its own."""
    left, right = steps
    if left.meaning.unit != right.meaning.unit:
        return False
    if left.who is not None or right.who is not None:
        return left.who is not None and left.who == right.who
    assert first.touch is not None
    question = Question(source, left.meaning.unit, None, free_names(known, first))
    return is_proved(known, first.touch.where, second.where, question)


def _trips_apart(known: Facts, first: Pending, second: Touch, source: Perspective) -> bool:
    """Whether an access in another trip is proved to touch other elements: another one of the outermost loop that matters."""
    assert first.touch is not None
    index = other_trip(known, first, second)
    if index is None:
        return False
    question = Question(source, None, index, free_names(known, first._replace(loop=True)))
    return is_proved(known, first.touch.where, second.where, question)


# -- touches --------------------------------------------------------------------------------------------------------------


def resolve(symbol: tree.Symbol, env: Env) -> tuple[tree.Symbol, tuple[tree.Symbol, ...]]:
    """Return the object behind a name, and the views between, outermost first."""
    if symbol.view is None and not env:
        return symbol, ()
    named, views = dict(env), list[tree.Symbol]()
    while True:
        while symbol.view is not None:
            views.append(symbol)
            symbol = symbol.view.source
        now = named.pop(symbol, symbol)
        if now.view is None:
            return now, tuple(reversed(views))
        symbol = now


def target(symbol: tree.Symbol, env: Env) -> tree.Symbol:
    """Return the object or view that a pointer's value names."""
    return symbol if symbol.view is not None else dict(env).get(symbol, symbol)


def steps(
    known: Facts, views: tuple[tree.Symbol, ...], path: Path, opened: Mapping[tree.Symbol, tuple[int, bool]]
) -> tuple[Step, ...]:
    """Return the chain's steps; `opened` has, for each open view, the length of the path there and whether it is a claim."""
    found: list[Step] = []
    for view in views:
        assert view.view is not None
        if view in known.same:
            continue
        depth, claim = opened.get(view, (0, False))
        who = _who(path[depth:], view.view.unit) if claim else None
        found.append(Step(view, view.view, names_behind(known, view), who))
    return tuple(found)


def _who(path: Path, unit: Perspective) -> Path | None:
    """The arms from a claim down to its one unit, or None where a group stands between."""
    for length, entry in enumerate(path, 1):
        if isinstance(entry, Perspective):
            return None
        if Perspective(entry[0], entry[2]) == unit:
            return path[:length]
    return None


@memoize
def callees(function: tree.Function) -> tuple[tree.Call, ...]:
    """Return all calls of a function."""
    every = (e for statement in statements(function.body) for e in tree.expressions(statement))
    return tuple(call for expression in every for call in calls_of(expression))


__all__ = [
    "Env", "Exposed", "Partition", "Path", "Pending", "Relation", "Step", "Summary", "Touch", "Use", "callees",
    "conflicting", "declared_fragment", "in_memory", "pointer_change", "relate", "resolve", "spell",
    "steps", "target", "uses",
]  # fmt: skip
