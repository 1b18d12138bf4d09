"""Premises: in what unit two accesses meet, if they touch one byte; and how that is known.

Each is what the prover of the compiler says of two accesses, whatever stands between them. Of accesses inside a call it is what
the caller knows of what it passes, and inside of that what the callee knows of its parameter.
"""

from __future__ import annotations

from dataclasses import replace

from prism.lang import tree
from prism.lang.barriers import flow, overlap
from prism.lang.facts import destinations
from prism.lang.facts.disjoint import is_proved
from prism.lang.facts.questions import Question
from prism.lang.facts.touches import GROUPED, Pending, Touch
from prism.lang.skeleton.frames import Frame, Loop, Made
from prism.lang.types.perspective import BLOCK, GRID, THREAD, WARP, Level, Perspective

ORIGINS = ("proved", "assumed", "believed", "runs")
"""How a premise is known, from the strongest on: by the prover (`inferred` without an argument); as the program says, which
checked runs test; as the program says; or not at all, so that only runs on the reference machine look for it."""
UNPROVED = {"": 0, "store": 1, "overlap": 2, "trip": 3, "asynchronous": 3}
RACES = {"none": 1, "allow": 2}
IF_PARTS_ARE = "the elements of different trips are apart, if the parts are, and that is not proved"


def premise(one: Made, two: Made, loop: Loop | None) -> tuple[Perspective | None, str, str]:  # noqa: C901
    """Return the unit in which two accesses that overlap meet (None: they never do), its origin, and why.

    `loop`: the outermost loop of which they are in different trips; None: in no other trip of any.
    """
    owners = [made.links[0].touch.root.perspective for made in (one, two)]
    found: Perspective | None = max(owners, key=lambda p: (p.level, p.size))
    worst, why = 0, ""
    if loop is not None and loop.frame.depth < one.links[0].frame.depth:
        return found, ORIGINS[0], "whose the object is"
    for place, (left, right) in enumerate(zip(one.links, two.links, strict=False)):
        frame = left.frame
        if frame is not right.frame or (place and left.touch.root is not right.touch.root):
            break
        if place and not (found is not None and found <= left.touch.root.perspective):
            break  # several calls, each for another unit
        here = loop if loop is not None and loop.frame is frame else None
        outside = len(here.around) if here is not None else None
        count = 0
        for step in left.touch.steps:
            first, second = left.opened.get(step.view), right.opened.get(step.view)
            if first is None or second is None or (outside is not None and first > outside):
                break
            count += 1
        # Behind a loop, all its trips are others than the one in which it ended.
        left_behind = (other for other in one.loops if other.frame is frame and other not in two.loops)
        gone = (each.statement for each in (left_behind if here is None else (here,)))
        aged = frozenset(s for s in gone if not left.touch.varies.isdisjoint(frame.known.renewed[s]))
        # What engines do is under way until it is waited for: of what they write more is known than whose it is.
        since = 0 if left.touch.how in (*GROUPED, "load") else None
        earlier = Pending(left.touch, count, aged=aged, loop=here is not None, since=since)
        clash = flow.find_clash(frame.objects, earlier, right.touch)
        if clash is not None and clash.copies and since is not None and (here is not None or one is not two):
            clash = replace(clash, relation=flow.relate_after(clash, earlier, right.touch) or clash.relation)
        if clash is not None and clash.copies and isinstance(right.touch.root.type, tree.TensorMap):
            unproved = _between_blocks(frame, left.touch, right.touch)
            worst, why = max(worst, UNPROVED[unproved]), destinations.BLOCKED if unproved else why
        worst = max([worst, *(_parting(frame, step.view) for step in (*left.touch.steps, *right.touch.steps))])
        if clash is None or (clash.relation.unit is None and flow.is_block_scoped(left.touch.kind, right.touch.kind)):
            # Of atomic accesses of blocks, nothing is said where they are one block's.
            near = flow.is_block_scoped(left.touch.kind, right.touch.kind)
            unproved = "" if clash is None else clash.relation.unproved
            return (BLOCK if near else None), ORIGINS[max(worst, UNPROVED[unproved])], why
        relation = clash.relation
        worst = max(worst, UNPROVED[relation.unproved])
        found, why = relation.unit, relation.believed or (relation.reason if relation.unit is None else "")
        if found is None or here is not None:
            break
        if one is two and loop is None and place == len(one.links) - 1 and found.size <= WARP and found < BLOCK:
            # One operation of a warp: its threads' elements are often apart, too.
            unit = Perspective(Level.THREAD, min(found.size, one.lanes))
            question = Question(unit, THREAD, None, frozenset())
            found = THREAD if is_proved(frame.known, left.touch.where, left.touch.where, question) else found
    if worst == UNPROVED["trip"] and found is None and why == flow.TRIPS_APART:
        why = IF_PARTS_ARE
    return found, ORIGINS[worst], why


def _between_blocks(frame: Frame, one: Touch, two: Touch) -> str:
    """Return what kind of thing is not proved of the tiles that several blocks store: "" where they are apart.

    The other rules are of stores of one block.
    """
    free = frozenset[tree.Symbol]().union(*frame.known.renewed.values())
    if is_proved(frame.known, one.lands, two.lands, Question(GRID, BLOCK, None, free)):
        return ""
    return "store" if destinations.is_declared_distinct(one, two) else "asynchronous"


def _parting(frame: Frame, view: tree.Symbol) -> int:
    """Return how it is known that a partition's parts are apart."""
    memo: dict[tree.Symbol, int] = frame.known.found.setdefault("parted", {})
    if not memo:
        memo[view] = 0
        for partition, verdict in overlap.verdicts(frame.function, frame.known):
            meaning = partition.view.view
            assert meaning is not None
            memo[partition.view] = 0 if verdict.status == "disjoint" else RACES.get(meaning.races, 3)
    return memo.get(view, 0)
