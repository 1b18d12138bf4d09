"""The state of a walk: every access that may have happened, by what the pointers name; how barriers and waits change it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Set

from prism.lang.barriers.flow import Env
from prism.lang.barriers.walk_changes import Changes, One
from prism.lang.diagnostics import Span
from prism.lang.facts.touches import MOST, Met, Pending, Touch
from prism.lang.keep.bases import Value
from prism.lang.tree import Pointer, Stmt, Symbol
from prism.lang.tree.plan import Path
from prism.lang.types.perspective import BLOCK, Level, Perspective

State = dict[Env, frozenset[Pending]]
NOTED = 64
"""Accesses among which settled ones, which barriers order for good, are kept to note why they need none of their own."""
NOTED_IN_LONG = 16
"""Likewise in a function with many accesses: each of them is compared with all that are kept."""


class Landing(Value):
    """A wait until at most `pending` of the newest groups of a kind are under way; `read`: until they have read their source.

    `commit`: what was issued since the last group is made one before.
    """

    kind: str
    pending: int
    read: bool = False
    commit: bool = False

    def lands(self, pending: Pending) -> bool:
        """Whether an access that is under way has ended after it."""
        if pending.touch is None or pending.since is None or pending.touch.how != self.kind:
            return False
        return pending.since >= self.pending and (not self.read or pending.touch.kind == "read")


class Fence(Value):
    """A proxy fence for accesses to the block's own `shared` memory, that of its `cluster` (its own too), `global`, or `all`."""

    space: str = "shared"

    def covers(self, pending: Pending) -> bool:
        """Whether it is one for an access's memory."""
        return self.space == "all" or (pending.touch is not None and space_of(pending.touch.root) in WITHIN[self.space])


WITHIN = {"shared": {"shared"}, "global": {"global"}, "cluster": {"cluster", "shared"}}
"""Whose memory a fence is for: a block's own is its cluster's, too."""


def join_spaces(spaces: Set[str]) -> str:
    """Return the space of one fence for accesses to several."""
    return next((space for space, within in WITHIN.items() if spaces <= within), "all")


class Registers(Value):
    """A wgmma fence."""


class Passed(Value):
    """A place that each thread of the block passes; what it did before may have been fenced there."""

    number: int


class Known(Value):
    """A place where every thread of the block knows, by the waits of rings, that all have passed the one of this number."""

    number: int


Mark = Perspective | Landing | Fence | Registers
"""What may stand before a statement: a barrier of a unit's threads, or what each thread does for itself, before it."""


def rank(mark: Mark) -> int:
    """In which order marks of one statement are executed: what a thread does itself comes before it meets others."""
    return (Landing, Fence, Registers, Perspective).index(type(mark))


def add_marks(marks: tuple[Mark, ...], more: Iterable[Mark]) -> tuple[Mark, ...]:
    """Return a statement's marks with more of them, each as strong as the strongest of its like."""
    for mark in more:
        match mark:
            case Perspective():
                if not any(mark <= other for other in marks if isinstance(other, Perspective)):
                    marks = (*(m for m in marks if not (isinstance(m, Perspective) and m <= mark)), mark)
            case Landing(kind=kind):
                like = [m for m in marks if isinstance(m, Landing) and m.kind == kind]
                one = Landing(
                    kind,
                    min(m.pending for m in (mark, *like)),
                    all(m.read for m in (mark, *like)),
                    any(m.commit for m in (mark, *like)),
                )
                marks = (*(m for m in marks if m not in like), one)
            case Fence(space=space):
                spaces = {space, *(m.space for m in marks if isinstance(m, Fence))}
                marks = (*(m for m in marks if not isinstance(m, Fence)), Fence(join_spaces(spaces)))
            case _:
                marks = marks if mark in marks else (*marks, mark)
    return tuple(sorted(marks, key=rank))


def space_of(root: Symbol) -> str:
    """Return where an object is: in `shared` memory, in that of a `cluster`, where other blocks access it too, or `global`."""
    space = root.type.space if isinstance(root.type, Pointer) else "global"
    return "cluster" if space == "shared" and root.perspective > BLOCK else space


# -- joins ----------------------------------------------------------------------------------------------------------------


def union(changes: Changes, *states: State) -> State:
    """Return what may have happened on any of several ways here."""
    found: State = {}
    for state in states:
        for env, pending in state.items():
            found[env] = found[env] | pending if env in found else pending
    for env, pending in found.items():
        known = changes.thin.get(pending)
        if known is None:
            known = changes.thin[pending] = keep_latest(pending)
        found[env] = known
    return found


def keep_latest(pending: frozenset[Pending]) -> frozenset[Pending]:
    """Return pending accesses where of those that differ only in how many groups came since, the latest stands for all."""
    for p in pending:
        if p.since:
            break
    else:
        return pending
    latest: dict[Pending, Pending] = {}
    for p in pending:
        key = p._replace(since=0) if p.since is not None else p
        other = latest.get(key)
        if other is None or (p.since is not None and other.since is not None and p.since < other.since):
            latest[key] = p
    return frozenset(latest.values())


def change_pending(state: State, change: Callable[[frozenset[Pending]], frozenset[Pending]]) -> State:
    """Return the state with pending accesses changed; the same object where none are."""
    found = {env: change(pending) for env, pending in state.items()}
    return state if all(found[env] is pending for env, pending in state.items()) else found


def drop_touches(state: State, touches: Set[Touch]) -> State:
    """Return the state without some accesses."""
    if not touches:
        return state
    return {env: frozenset(p for p in pending if p.touch not in touches) for env, pending in state.items()}


# -- what a mark does -------------------------------------------------------------------------------------------------------


class Keeping(Value):
    """What a walk keeps of settled accesses, and of barriers that were met.

    `noted`: among so many pending ones, to say why they need nothing, and 0 where that is not said; `engines`: some may need a
    proxy fence; `grow`: one may be put before such a barrier.
    """

    noted: int
    engines: bool
    grow: bool


def apply_barrier(
    changes: Changes, pending: frozenset[Pending], unit: Perspective | None, words: str, where: Span, at: Stmt | None,
    keep: Keeping,
) -> frozenset[Pending]:  # fmt: skip
    """Return pending accesses after a barrier; what it settles for good is kept only where notes are taken.

    `words` and the line of `where` are what it is called there.
    """
    if unit is None:
        return pending
    before = at if keep.engines and keep.grow else None
    met: Met = (unit, f"{words} line {where.line}", before, where) if keep.noted else (unit, "", before, None)
    # What is settled for good can never again be in conflict: without it the state stays small, and no answer changes.
    every = len(pending) < keep.noted

    def meet(p: Pending) -> Pending | None:
        return p.after(met) if every or not p.is_settled(unit, keep.engines) else None

    return changes.of(("meet", met, every, keep.engines), meet)(pending)


def apply_mark(changes: Changes, state: State, mark: Mark, at: Stmt, keep: Keeping) -> State:
    """Return the state after one mark, before a statement."""
    match mark:
        case Perspective():
            words = "the barrier before"
            return change_pending(
                state, lambda pending: apply_barrier(changes, pending, mark, words, at.span, at, keep)
            )
        case Landing(kind=kind):
            if mark.commit:
                commit: One = lambda p: p.commit() if p.touch and p.touch.how == kind else p  # noqa: E731
                state = change_pending(state, changes.of(("commit", kind), commit))
            return change_pending(state, changes.of(mark, lambda p: p.land() if mark.lands(p) else p))
        case Fence():
            return change_pending(state, changes.of(mark, lambda p: p.fence_proxy() if mark.covers(p) else p))
        case Registers():
            return change_pending(state, changes.of(mark, lambda p: p.fence_registers()))


def apply_join(changes: Changes, state: State, one: Passed | Known) -> State:
    """Return the state after a place that the waits of rings join with another."""
    match one:
        case Passed(number=number):
            return change_pending(state, changes.of(one, lambda p: p.passing(number)))
        case Known(number=number):
            news: Met = (BLOCK, "the waits for a ring's visits", None, None)
            return change_pending(state, changes.of(one, lambda p: p.pass_place(number, news)))


def comes_along(path: Path, touch: Touch) -> bool:
    """Whether an access is made by threads that come along a path, which starts at the block."""
    return touch.path[: len(path)] == path


# -- scopes and loops -------------------------------------------------------------------------------------------------------


def close_view(changes: Changes, state: State, view: Symbol) -> State:
    """Return the state after a view's end: its accesses are accesses of its source."""

    def close(pending: Pending) -> Pending:
        if pending.touch is None:
            return pending
        for place, step in enumerate(pending.touch.steps[: pending.open]):
            if step.view is view:
                return pending._replace(open=place)
        return pending

    return change_pending(state, changes.of(("close", view), close))


def left_station(changes: Changes, state: State, ring: Symbol) -> State:
    """Return the state after the end of a ring's scope: the ring's mbarriers order what comes later."""

    def elsewhere(pending: Pending) -> Pending | None:
        return pending if pending.touch is None or pending.touch.root is not ring else None

    return change_pending(state, changes.of(("leave", ring), elsewhere))


def next_trip(changes: Changes, renewed: frozenset[Symbol], state: State, loop: Stmt) -> State:
    """Return the state after a loop's back-edge: names that the loop renews may have other values now."""

    def age(pending: Pending) -> Pending:
        if pending.touch is None:
            return pending
        if pending.loop and loop in pending.aged:
            return pending
        # Only a loop that renews a name of the access makes its elements other ones: for the rest a trip is like another.
        moved = not pending.touch.varies.isdisjoint(renewed)
        if pending.loop and not moved:
            return pending
        return pending._replace(aged=pending.aged | {loop} if moved else pending.aged, loop=True)

    return change_pending(state, changes.of(("age", loop), age))


def leave_loop(changes: Changes, state: State, entered: State) -> State:
    """Return the state after a loop's end: what went round it did so inside, and is not in another trip of what follows."""
    before = frozenset(p.touch for pending in entered.values() for p in pending if p.loop)

    def leave(pending: Pending) -> Pending:
        return pending._replace(loop=False) if pending.loop and pending.touch not in before else pending

    return change_pending(state, changes.of(("left", before), leave))


def order(pending: Pending) -> tuple[object, ...]:
    """The order in which conflicts are looked for: the text's, so that plans are the same every time.

    All that tells two pending accesses apart is in it: a set has those that it leaves equal in any order.
    """
    serial = -1 if pending.touch is None else pending.touch.serial
    since = MOST + 1 if pending.since is None else pending.since
    aged = sorted((loop.span.line, loop.span.column) for loop in pending.aged)
    at = None if pending.synced is None else pending.synced[2]  # a fence that is missing there is put before it
    beside = (
        (0, 0) if at is None else (at.span.line, at.span.column),
        pending.fenced,
        _met_text(pending.asynced),
        aged,
        sorted(pending.passed),
    )
    return (serial, pending.open, pending.loop, len(aged), _met_text(pending.synced), since, *beside)


def _met_text(met: Met | None) -> str:
    return "None" if met is None else _text(*met[:2])


@functools.lru_cache(maxsize=256)
def _text(unit: Perspective, kind: str) -> str:
    return str((unit, kind))


def narrow_path(path: Path) -> Path:
    """Return a path from the block on: without the groups and arms of blocks."""
    return tuple(
        entry for entry in path if (entry.level if isinstance(entry, Perspective) else entry[0]) == Level.THREAD
    )
