"""What a walk knows and finds: the function and its callees, where it stands, the marks in place, the conflicts left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from prism.lang import tree
from prism.lang.barriers import flow
from prism.lang.barriers.conditions import Conditions, conditions
from prism.lang.barriers.flow import Clash, Relation
from prism.lang.barriers.inert import inert
from prism.lang.barriers.objects import Objects
from prism.lang.barriers.walk_changes import Changes
from prism.lang.barriers.walk_state import NOTED, NOTED_IN_LONG, Keeping, Known, Mark, Passed, State
from prism.lang.diagnostics import CompileError
from prism.lang.errors.syntax import TooLarge
from prism.lang.facts.equivalence import Alike, find_alike
from prism.lang.facts.touches import ENGINES, Exposed, Pending, Summary, Touch
from prism.lang.keep.bases import Frozen
from prism.lang.tree.plan import Elided, Mbarrier, Op, Path
from prism.lang.tree.trail import Trail
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import Level, Perspective

MOST_WORK = 40_000_000
"""What walks over one function do at most (`Work`): some 5 to 10 seconds. More is refused."""

MOST_TRIED = 30_000_000
"""What walks that try other barriers do at most: some 5 seconds. Beyond it the barriers stay that there are."""

MOST_SPARE = 10_000_000
"""What is done at most to leave out of a function's plan what it does not need (`Spare`): some 5 seconds."""

CASE = 400
"""What each case costs beside the first, in accesses: each pointer that may have either of two values doubles them."""

PAIR = 200
"""What it costs to find out how two accesses stand, whatever came between them, in accesses."""

PROOF = 400
"""What a proof costs that is tried for that, in accesses."""

SINCE = 20
"""What it costs to find out how they stand after what came between, in accesses."""

STEP = 100
"""What it costs to come to a statement at all, in accesses."""

NAMED = 6
"""What each pointer that was assigned costs at each statement, in accesses: all of them are looked through."""

DEEP = 3
"""Loops in one another that are each walked until they are stable; those inside them are walked together."""


@dataclass(eq=False)
class Conflict(Exception):
    """A conflict that the marks placed so far do not order."""

    first: Pending
    second: Touch
    relation: Relation

    @property
    def unit(self) -> Perspective:
        """The unit whose threads it concerns."""
        assert self.relation.unit is not None
        return self.relation.unit


@dataclass(eq=False)
class Concurrent(Exception):
    """A conflict between two arms of a split: nothing can order it."""

    first: Touch
    second: Touch


class Restart(Exception):
    """A mark was placed behind the walk: it has to begin again."""


class Spent(Exception):
    """No more is tried: what was looked for would only leave something out."""


class Exits(Frozen):
    """The states in which the enclosing loop is left or continued."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)


class Place(Frozen):
    """Where the walk stands: the code's perspective, the path to it, the open views, if in a batch, and the loop around.

    `alone`: the unit that is in a passage by itself, where one takes its turn. `flying`: the wgmmas that were under way where the
    conditions around it were come to.
    """

    code: Perspective
    path: Path = ()
    opened: Mapping[tree.Symbol, tuple[int, bool]] = field(default_factory=dict)
    exits: Exits = field(default_factory=Exits)
    batch: bool = False
    loop: tree.Stmt | None = None
    depth: int = 0
    """Loops around it."""
    alone: Perspective | None = None
    flying: frozenset[Touch] = frozenset()

    def into(self, loop: tree.Stmt, exits: Exits) -> Place:
        """Return the place inside a loop's body."""
        depth = self.depth + 1
        return Place(self.code, self.path, self.opened, exits, self.batch, loop, depth, self.alone, self.flying)

    def enter(self, code: Perspective, entry: Perspective | tuple[Level, int, int]) -> Place:
        """Return the place inside a group or an arm."""
        path = (*self.path, entry)
        return Place(code, path, self.opened, self.exits, self.batch, self.loop, self.depth, self.alone, self.flying)

    def open(self, view: tree.Symbol, claim: bool) -> Place:
        """Return the place inside a view's body."""
        opened = {**self.opened, view: (len(self.path), claim)}
        return Place(
            self.code, self.path, opened, self.exits, self.batch, self.loop, self.depth, self.alone, self.flying
        )


@dataclass(eq=False, slots=True)
class Relations:
    """How pending accesses stand to one about to be made.

    `apart`: those that cannot conflict with it. `free`: those too that need no barrier, or are the caller's. `found`: the rest.
    `clashes`: what is so of an access whatever has come since, by its `flow.history`: a loop is gone round, and barriers are
    tried, until the same few accesses have met many of them.
    """

    apart: set[Pending] = field(default_factory=set)
    free: set[Pending] = field(default_factory=set)
    found: dict[Pending, Relation] = field(default_factory=dict)
    clashes: dict[Pending, Clash | None] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Work:
    """How much the walks over a function have done: accesses that were pending, summed over all statements that they came to.

    Every kind of growth goes through it, so that one limit bounds them all: many accesses, many statements, many walks, many
    cases. It counts what is done and no time, so that the same program is too large on every machine. What a plan can do without
    the program is not refused for: `tried` counts it by itself.
    """

    done: int = 0
    tried: int = 0
    tries: bool = False

    @property
    def is_spent(self) -> bool:
        """Whether something was not tried."""
        return self.tried > MOST_TRIED

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Count what is done inside as tried: it ends with `Spent` where that has become too much."""
        before, self.tries = self.tries, True
        try:
            yield
        finally:
            self.tries = before

    def add(self, function: tree.Function, state: State) -> None:
        """Count what is pending at a statement. Raises CompileError where that has become too much."""
        named = sum(map(len, state))  # pointers that were assigned: each step looks through all of them
        self.spend(function, STEP + sum(map(len, state.values())) + NAMED * named + CASE * (len(state) - 1))

    def spend(self, function: tree.Function, amount: int) -> None:
        """Count what costs as much as so many pending accesses. Raises CompileError where that has become too much."""
        if self.tries:
            self.tried += amount
            if self.is_spent:
                raise Spent
            return
        self.done += amount
        if self.done > MOST_WORK:
            raise CompileError(TooLarge(span=function.span, name=function.name))


@dataclass(eq=False, slots=True)
class Spare:
    """How much was done to find what a function's plan can do without, in units of `Work`, about.

    What is found to be needless is left out. What nobody had the time to look at stays, which is always right: so no program is
    refused for it. It counts what is done and no time: the same program has the same plan on every machine.
    """

    done: int = 0

    def spend(self, amount: int) -> bool:
        """Count what is about to be done; return whether there is so much left."""
        self.done += amount
        return self.done <= MOST_SPARE

    @property
    def is_spent(self) -> bool:
        """Whether something was not looked at."""
        return self.done > MOST_SPARE


class Context(Frozen):
    """What is known of one function and of its callees, the accesses made once for each use, and how two of them stand.

    `before`, `after`: operations that the plan has for certain, of rings and of groups that are committed. `loaded`: which
    loads into rings have ended for who waits on an mbarrier, or for those threads of the block that have left a ring's scope.
    `news`: where the waits of rings join the whole block. `end`: stands for the end of the function's body. `engines`: whether
    some access is the copy engine's or the tensor cores', or may be to what a caller's tensor cores have under way.
    `find_alike`: of many accesses, which stand for others. `inert`: statements that a walk passes by.
    """

    function: tree.Function
    objects: Objects
    summaries: Mapping[tree.Function, Summary]
    end: tree.Stmt
    engines: bool = False
    before: Mapping[tree.Stmt, tuple[Op, ...]] = field(default_factory=dict)
    after: Mapping[tree.Stmt, tuple[Op, ...]] = field(default_factory=dict)
    loaded: Mapping[Mbarrier | tree.Stmt, frozenset[tree.Apply]] = field(default_factory=dict)
    news: Mapping[tree.Stmt, tuple[Passed | Known, ...]] = field(default_factory=dict)
    touches: dict[tuple[object, ...], Touch] = field(default_factory=dict)
    relations: dict[Touch, Relations] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    conditions: Conditions = field(default_factory=Conditions)
    alike: Alike | None = None
    work: Work = field(default_factory=Work)
    spare: Spare = field(default_factory=Spare)
    inert: frozenset[tree.Stmt] = field(init=False)

    def __post_init__(self) -> None:
        marked = (self.before, self.after, self.news, self.loaded, self.conditions.asked, self.conditions.changed)
        places: set[object] = {place for some in marked for place in some}
        kept: dict[frozenset[object], frozenset[tree.Stmt]] = self.objects.known.found.setdefault("inert", {})
        key = frozenset(places)  # what is known of a function before its plan, and after, is for most of them the same
        if key not in kept:
            kept[key] = inert(self.objects.known, key)
        object.__setattr__(self, "inert", kept[key])


def context_of(function: tree.Function, objects: Objects, summaries: Mapping[tree.Function, Summary]) -> Context:
    """Return what is known of a function before its plan is made."""
    own = any(apply.intrinsic.asynchronous in ENGINES for _, apply in issues(function))
    called = {call.function for call in flow.callees(function)}
    passed = any(e.how in ENGINES for f in called for e in (*summaries[f].entry, *summaries[f].exit))
    given = any(isinstance(one.type, tree.Fragment) for one in function.parameters)  # which a caller may have in flight
    end = tree.Return(value=None, span=function.span)
    return Context(
        function,
        objects,
        summaries,
        end,
        own or passed or given,
        conditions=conditions(function),
        alike=find_alike(objects.known),
    )


def issues(function: tree.Function) -> Iterator[tuple[tree.Stmt, tree.Apply]]:
    """Yield the asynchronous copies and wgmmas of a function, with their statements."""
    for statement in statements(function.body):
        match statement:
            case tree.Evaluate(value=tree.Apply() as apply) if apply.intrinsic.asynchronous:
                yield statement, apply
            case _:
                pass


@dataclass(eq=False, slots=True)
class Walk:
    """One walk: the marks in place (`grow`: more may be placed), and what is found on the way (`notes`: elided too).

    `why`: of each statement before which marks were placed, the conflict that asked for the last. `told`: of each access, those
    before it of which there is nothing more to say. `heads`: the states at the heads of loops that
    are deep in others, as they were left; `unsettled`: one of them has changed in this pass.
    """

    context: Context
    placed: dict[tree.Stmt, tuple[Mark, ...]]
    grow: bool
    notes: bool = False
    elided: dict[tuple[int, int], Elided] = field(default_factory=dict)
    entry: dict[tuple[tree.Symbol | None, str, str, Perspective | None, Perspective | None], Exposed] = field(
        default_factory=dict
    )
    returns: list[State] = field(default_factory=list)
    trail: Trail | None = None
    why: dict[tree.Stmt, Conflict] = field(default_factory=dict)
    told: dict[Touch, set[Pending]] = field(default_factory=dict)
    heads: dict[tree.Stmt, State] = field(default_factory=dict)
    unsettled: bool = False
    keep: Keeping = field(init=False)
    """What it keeps of settled accesses."""

    def __post_init__(self) -> None:
        self.keep = Keeping(self.noted, self.context.engines, self.grow)

    @property
    def noted(self) -> int:
        """Among how many pending accesses settled ones are kept to be noted; none, where no notes are taken."""
        return (NOTED if self.context.alike is None else NOTED_IN_LONG) if self.notes else 0
