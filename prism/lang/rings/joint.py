"""Joint reduction: what of a ring's waits, fences and groups the rest of the plan sees to, its barriers too, is left out.

rings.py has each wait that the other waits do not imply, and a fence and a wait for its own copies with each visit that may need
them; sync.py then adds the barriers. Here each of the former is left out, one after the other, where everything still holds
without it (happens.py), and the walk still finds no conflict.

Named rules, each with what makes it legal:
- *met*: a wait for a visit, where barriers and the other waits bring the same news: who waited there knows of the visit's end
  before its first use of the copy, in every schedule.
- *warp*: a wait of threads for others of their warp, where a barrier of the warp before the use brings the same news.
- *fenced*: a visit's proxy fence, where its threads make another one before the engine that has to see what they did is told of
  it. A fence is for all that its thread did before, whatever it stands there for.
- *landed*: a visit's wait for its own groups, or that behind the loop, where its threads make another wait that ends them before
  anybody is told that the visit has ended, and before the kernel may end.
- *early*: a late arrival, where a wait of the same trip has ended what it is late for (releases.py).
- *merged*: the end of a group, where the next group's end comes before all waits that have to end it.
- *counted*: a wait for groups leaves as many of the newest ones under way as it may, those of other rings' visits counted too.

Left as they are: functions with copies to other blocks of a cluster, and those whose fills are issued ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from prism.lang.barriers.walk_context import Conflict, Context
from prism.lang.barriers.walk_state import Known, Mark, Passed
from prism.lang.facts.touches import MOST
from prism.lang.keep.bases import Frozen
from prism.lang.rings.edges import PAIR, Proved, conflicts, each_by_itself
from prism.lang.rings.fences import unseen_accesses
from prism.lang.rings.ground import Ground, ask, ask_fence, ground
from prism.lang.rings.happens import Standing, holds, is_ended, news
from prism.lang.rings.implication import GATHERED, group_laps
from prism.lang.rings.loads import multicast_of
from prism.lang.rings.releases import Early, exchange, find_again, find_early, late_barriers
from prism.lang.rings.visits import Edge, Lap
from prism.lang.rings.waits import Rings, drop_edges
from prism.lang.tree import Stmt
from prism.lang.tree.plan import Barrier, Commit, Op, Plan, ProxyFence, WaitGroup
from prism.lang.types.perspective import WARP1

WALKED = 40
"""What it costs to walk over a statement, beside what the walk itself counts, in units of `Spare`."""
MET = "barriers and the other waits see to it"


class State(Frozen):
    """What is left: what rings need, the groups that are committed, and warps' barriers in place of waits.

    `marks`: what the walk has placed, where that is other than at first.
    """

    rings: Rings
    groups: tuple[Commit, ...]
    barriers: tuple[Barrier, ...] = ()
    marks: Mapping[tuple[Stmt, Mark], Conflict] | None = None


class Joint(Frozen):
    """What a function's rings need beside its barriers. `made` gives the plan; `walks`: whether the walk finds no conflict.

    `placed`: the state with all marks that it needs, or None. `inside`: the function's statements. What there is no time to look
    at stays as it is (`Spare`).
    """

    context: Context
    grounds: Sequence[Ground]
    made: Callable[[State], Plan]
    walks: Callable[[State], bool]
    placed: Callable[[State], State | None]
    inside: Sequence[Stmt]
    cost: int = field(init=False)
    """What it costs to look at all grounds, and to walk, beside what the walk itself counts; in units of `Spare`."""

    def __post_init__(self) -> None:
        trips = sum(one.cost(1 + max((asked.trips for asked in one.asked), default=0)) for one in self.grounds)
        visits = sum(len(lap.visits) for one in self.grounds for lap in one.laps)
        object.__setattr__(self, "cost", trips + GATHERED * visits + WALKED * len(self.inside))

    def reduce(self, found: Rings, own: Sequence[Commit]) -> State:
        """Return what is left of what rings need, of the groups that are committed, and warps' barriers in place of waits."""
        state = State(found, tuple(own))
        # Each step below asks whether all still holds. Where not all is known to hold at first, that could not tell a wrong step
        # from a right one: then nothing is left out.
        if not self.context.spare.spend(self.cost) or not self.stands(self.made(state)):
            return state
        # Invariant: `state` holds, on all grounds and in the walk. A step replaces it only by one that holds too: the order of
        # the steps decides what is left out, never whether that was right. Waits go first: they cost most.
        for trips in self.grounds:
            if self.context.spare.is_spent:
                break
            state = self.meet(trips, state)
            state = self.fence(trips, state)
        state = self.arrive(state)
        for trips in self.grounds:
            # A trip that is cut short may skip a group's end, and a count of groups would be wrong.
            if trips.whole:
                state = self.merge(trips, state)
        return state

    def stands(self, plan: Plan) -> bool:
        """Whether all that is asked of the grounds is known with a plan: what one cycle has may be what another relies on."""
        standing = Standing(plan)
        return all(holds(trips, standing) for trips in self.grounds)

    def holds(self, state: State) -> bool:
        """Whether all is well with these operations, as far as there is time to find out."""
        spare, work = self.context.spare, self.context.work
        if not spare.spend(self.cost) or not self.stands(self.made(state)):
            return False
        before = work.tried
        found = self.walks(state)
        return spare.spend(work.tried - before) and found

    def meet(self, trips: Ground, state: State) -> State:
        """Rules *met* and *warp*."""
        # All edges of one wait go together: one mbarrier stands for them, and is left or not.
        visits = {visit for lap in trips.laps for visit in lap.visits}
        for wait in dict.fromkeys((e.earlier, e.later, e.lap) for e in state.rings.edges if e.later in visits):
            if self.context.spare.is_spent:
                break
            gone = [edge for edge in state.rings.edges if (edge.earlier, edge.later, edge.lap) == wait]
            other = replace(state, rings=drop_edges(self.context, state.groups, state.rings, gone, MET))
            # First without anything in its place, then with a barrier of the warp at each place that may do.
            tried = (replace(other, barriers=(*state.barriers, *more)) for more in ((), *warps(trips, gone[0])))
            state = next((one for one in tried if self.holds(one)), state)
        # One that was put for an early wait may do nothing more, now that a later one has brought another.
        for barrier in state.barriers if not self.context.spare.is_spent else ():
            other = replace(state, barriers=tuple(one for one in state.barriers if one is not barrier))
            state = other if self.holds(other) else state
        return state

    def fence(self, trips: Ground, state: State) -> State:
        """Rule *fenced*."""
        for op in state.rings.operations:
            if isinstance(op, ProxyFence) and trips.threads_at(op.at, op.side) is not None:
                state = self.drop(state, op)
        return state

    def arrive(self, state: State) -> State:
        """Rule *early*."""
        laps, plan = state.rings.laps, self.made(state)
        each = [find_early(self.context.function, laps, plan, one) for one in late_barriers(state.rings.operations)]
        # All at once, if that can be: what one waits for may be what another was found by. Else one after the other.
        made: list[Early] = []
        for found in ([early for one in each for early in one], *each) if any(each) else ():
            if self.context.spare.is_spent or len(made) == sum(map(len, each)):
                break
            state, more = self.release(state, found, made)
            made += more
        return state

    def release(self, state: State, found: Sequence[Early], made: Sequence[Early]) -> tuple[State, Sequence[Early]]:
        """Return the state with some arrivals early, and these; the same state, where not all is well then."""
        operations = state.rings.operations
        # Without the waits that the late ones had, others are inferred where something else needs them: it may be later.
        bare = self.placed(_with_operations(state, exchange(operations, found))) if found else None
        again = find_again(self.context.function, found, self.made(bare)) if bare is not None else None
        if bare is None or again is None:
            return state, ()
        other = _with_operations(bare, exchange(operations, again))
        plan = Standing(self.made(other))
        well = all(is_ended(one.trips, plan, one.readers, one.arrival) for one in (*made, *again))
        return (other, again) if well and self.holds(other) else (state, ())

    def merge(self, trips: Ground, state: State) -> State:
        """Rules *landed*, *merged* and *counted*."""
        loops = trips.laps[0].rounds[0].loops[:1]
        groups = [
            op for op in state.groups if op.kind != "cp_async"
        ]  # such are no ring's: only the walk sees their waits
        for op in (*state.rings.operations, *groups):
            if isinstance(op, WaitGroup | Commit) and (trips.threads_at(op.at, op.side) is not None or op.at in loops):
                state = self.drop(state, op)
        for op in state.rings.operations:
            # `wait_group 0` => `wait_group 1`, where the newest group is one that nobody asks for yet. One more at a time: more
            # groups under way only ever tell less, so the first count that fails ends it.
            while isinstance(op, WaitGroup) and trips.threads_at(op.at, op.side) is not None and op.pending < MOST:
                more = replace(op, pending=op.pending + 1)
                other = replace(state, rings=_exchange(state.rings, op, (more,)))
                if not self.holds(other):
                    break
                op, state = more, other
        return state

    def drop(self, state: State, op: Op) -> State:
        """Return what is there without an operation, if all is well then."""
        if self.context.spare.is_spent:
            return state
        groups = tuple(one for one in state.groups if one is not op)
        other = replace(state, rings=_exchange(state.rings, op, ()), groups=groups)
        return other if self.holds(other) else state


def _with_operations(state: State, operations: tuple[Op, ...]) -> State:
    """Return a state in which the rings have other operations."""
    return replace(state, rings=replace(state.rings, operations=operations))


def _exchange(rings: Rings, old: Op, new: tuple[Op, ...]) -> Rings:
    """Return what rings need with other operations in place of one."""
    return replace(rings, operations=tuple(op for one in rings.operations for op in (new if one is old else (one,))))


def grounds(context: Context, found: Rings) -> list[Ground]:
    """Return the trips of a function's cycles; none where not enough is known of all, as of what is visited in several places."""
    # In another section a trip of another loop may come between: "so many trips before" says nothing of its rounds.
    if any(lap.sections for lap in found.laps):
        return []
    groups = [ground_of(context, group) for group in group_laps(found.laps)]
    # All or none: a wait that is left out on one ground may be what brings news to another one.
    known = [trips for trips in groups if trips is not None]
    return known if len(known) == len(groups) else []


def joins_of(context: Context, trips: Sequence[Ground], plan: Plan) -> Mapping[Stmt, tuple[Passed | Known, ...]]:
    """Return where a plan's waits join the whole block, as the walk takes it: `Context.news`."""
    found: dict[Stmt, tuple[Passed | Known, ...]] = {}
    number, standing = 0, Standing(plan)
    for one in trips if context.spare.spend(sum(one.cost(2) for one in trips)) else ():
        for at, place in news(one, standing, number):
            found[at] = (*found.get(at, ()), place)
        number += len(one.points)
    return found


def warps(trips: Ground, edge: Edge) -> Iterator[tuple[Barrier]]:
    """Yield barriers of a warp that may do in place of a visit's mbarrier: before each of those that use the copy after it."""
    first, second = edge.first.access, edge.second.access
    for lap in trips.laps:
        # From the visit on, round to itself: the news must come after it has ended, and before the copy is used.
        visits = [visit for visit in lap.visits if edge.ring in visit.rings]
        after = visits.index(edge.earlier) if edge.earlier in visits else 0
        for visit in (*visits[after + 1 :], *visits[: after + 1]):
            at = trips.warps_come(visit.spot.body[visit.first_index([edge.ring])])
            if at is not None:
                yield (Barrier("warp", WARP1, at, first, second, bool(edge.lap)),)


def ground_of(context: Context, group: Sequence[Lap]) -> Ground | None:
    """Return the trips of some cycles with all that has to hold there; None where that is not known."""
    visits = [visit for lap in group for visit in lap.visits]
    # Copies to other blocks end there: what this block's threads know of each other does not tell of that.
    if any(multicast_of(visit) or any(t.how == "remote" for t in visit.touches()) for visit in visits):
        return None
    found = ground(context.function, group)
    if found is None:
        return None
    proved = Proved()
    for lap in group:
        for edge in conflicts(lap):
            if not context.spare.spend(PAIR):
                return None
            if not each_by_itself(context, edge, proved):
                ask(found, edge)
        for pair in unseen_accesses(context, lap):
            ask_fence(found, pair)
    return found
