"""The synchronisation plan: what sync infers, and what emit, explain and the reference machine read.

A plan belongs to one function; `Plans` maps each function of a program to its own. A barrier stands before a statement, and
joins the threads of one unit: all units at that point of the code meet it, each for itself. Operations stand before or after
a statement and are executed by each thread that comes there: they are what rings, asynchronous copies and wgmma need.

Rings. The scopes that open a ring (`Claim`, `Partition`) are the stations of its cycle, in program order. Rings visited in step
share a `Cycle`: each thread counts its rounds v = 0, 1, .. (0 at the kernel's start, one more at each `Advance`), and in round v
every ring of the cycle means its copy v % copies. A station that must not begin before another has ended waits on an mbarrier
that the other completes: `Wait(lap=0)` for the other's visit in this round, `lap=1` for that in round v - copies, which the
first rounds need not wait for. Phase n of copy c's mbarrier is completed in round n * copies + c.

Late arrivals. Where an asynchronous reader stays in flight for d visits, it arrives for a round d rounds later (`delay`), and
`drain` stands after the loop that holds the cycle: it arrives for the rounds that are left, at once. So a thread keeps, for
each such mbarrier, the number r of rounds that it has arrived for (0 at first). `Arrive(delay=d)` in round v: nothing where
v - d < r, else arrive for round v - d and r = v - d + 1. `Arrive(delay=d, drain=True)`, when v rounds have begun and ended:
arrive for each of the rounds r .. v - 1 (at most d; none where the loop made no trip), and r = v. Afterwards rounds go on
counting, in an outer loop's next trip.

Fills ahead. Where threads that fill a ring use it too, skew.py can issue the fills some visits ahead (`Plan.skews`). Then a cycle
of its own counts the fills, the lead: its `leads` is the ring's cycle. A view that is `ahead` (`tree.View`) means the copy of the
lead's round, and an mbarrier with `of` is that one, with rounds as the lead counts them. `Plan.skewed` is the plan for it, with
the statements of the function as it was written; skew.py moves them, and what stands beside them.

What a kernel does by itself, without an operation. At its start one thread makes the mbarriers, and the block meets. At its start
the cluster meets where the plan `begins`, and behind its body where it `ends`: no block may be missing yet, or gone already, when
another reaches into its shared memory (barriers/cluster.py). Where it is `late`, blocks tell at the start that they
have begun, and the first gather waits for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.keep.bases import Frozen, Plain, node
from prism.lang.tree import Apply, Declare, For, Function, Stmt, Symbol
from prism.lang.types import Pointer
from prism.lang.types.perspective import Level, Perspective

Path = tuple[Perspective | tuple[Level, int, int], ...]
"""Where code stands: a group's unit, or a split arm's level, first unit and size, outermost first."""


class Access(Frozen):
    """One access to an object: `kind` is `read`, `write` or `atomic`; `root` the object; `text` the source's spelling."""

    root: Symbol
    kind: str
    span: Span
    text: str
    by: Perspective


class Barrier(Frozen):
    """A barrier before `before`; `first` and `second` are the accesses that force it.

    `kind` is `warp`, `named`, `block`, `cluster`, or `grid` (in a cooperative launch only). `loop` tells that `first` reaches
    `second` round a loop's back-edge. `met` is one object for all copies of a barrier in the bodies of several roles: threads
    that meet any of them meet the same barrier (None: the barrier itself).
    """

    kind: str
    unit: Perspective
    before: Stmt
    first: Access
    second: Access
    loop: bool = False
    met: object = None


# -- rings, asynchronous copies, wgmma ------------------------------------------------------------------------------------


class Cycle(Frozen):
    """Rings of the same number of copies that are visited in step: each thread has one count of its rounds.

    `leads`: None, or the cycle whose fills this one counts.
    """

    name: str
    copies: int
    rings: tuple[Symbol, ...]
    leads: Cycle | None = None


class Mbarrier(Frozen):
    """`cycle.copies` mbarriers in shared memory: the one of a copy completes a phase when a station's visit of it has ended.

    `count`: the arrivals of a phase; with `per`, so many for each `per` threads of the block (a launch decides how many it
    has). Bytes announced by `Expect` must have come in too. `blocks`: 0, or a mask of the cluster's blocks: each arrival is made
    at the same mbarrier of each of them (their copies come here, so they wait for this block too), and `count` has them all;
    where `relative`, bit b is block r ^ b to block r.
    `of`: None, or the mbarriers that these are, here with rounds as the lead counts them. `stores`: other blocks' threads store
    to the copies themselves (`st_async`), so waits and arrivals order plain accesses of the whole cluster.
    """

    name: str
    cycle: Cycle
    count: int
    per: int = 0
    blocks: int = 0
    of: Mbarrier | None = None
    stores: bool = False
    relative: bool = False

    @property
    def itself(self) -> Mbarrier:
        """The mbarriers that these are, whoever counts."""
        return self if self.of is None else self.of

    def arrivals(self, threads: int) -> int:
        """Return the arrivals of a phase in a block of so many threads."""
        return self.count * threads // self.per if self.per else self.count


@node
class Operation(Plain):
    """What all operations have: they stand `before` or `after` the statement `at`, for each thread that comes there.

    `path`: only those of them do it that would come there through these arms and groups, which start at the block (for a
    group, take the thread's index modulo its size; for an arm, subtract its first and compare with its size). Empty: all.
    """

    at: Stmt
    side: str = "before"
    path: Path = ()


@node
class Wait(Operation):
    """Wait for the other station's visit, of this round (`lap` 0) or of the copy's last (1): of round v - lap * copies."""

    barrier: Mbarrier
    lap: int
    first: Access
    second: Access


@node
class Arrive(Operation):
    """Say that the visit of round v - `delay` has ended; nothing where it was said before, or v < delay.

    `every` 1: each thread arrives; 32: the threads of each warp meet, then one arrives for them. `copies`: the arrival counts
    when the thread's `cp.async`s so far have ended. `drain`: stands behind the loop, with a `path`, and says it for all rounds
    that are left (see above).
    """

    barrier: Mbarrier
    every: int = 1
    delay: int = 0
    copies: bool = False
    drain: bool = False


@node
class Expect(Operation):
    """Announce the bytes of a bulk or tensor load before it is issued; None: what its operands say when it is.

    Those of a multicast come from each block of the mask: `bytes` has them all.
    """

    barrier: Mbarrier
    copy: Apply
    bytes: int | None


@node
class Advance(Operation):
    """Go to the cycle's next round."""

    cycle: Cycle


@node
class ProxyFence(Operation):
    """Make the thread's plain accesses visible to asynchronous ones (bulk, tensor, wgmma) that come after.

    `space`: those to the block's own `shared` memory, that of the `cluster`, `global`, or `all`.
    """

    first: Access
    second: Access
    space: str = "shared"


@node
class Commit(Operation):
    """Make a group of what the thread issued since the last: `kind` is `cp_async`, `bulk` (stores) or `wgmma`."""

    kind: str


@node
class WaitGroup(Operation):
    """Wait until at most `pending` of the thread's newest groups are under way. `read`: bulk stores have read their source."""

    kind: str
    pending: int
    first: Access
    second: Access
    read: bool = False


@node
class WgmmaFence(Operation):
    """Order the warpgroup's accesses to registers before the wgmmas that come after."""


Op = Wait | Arrive | Expect | Advance | ProxyFence | Commit | WaitGroup | WgmmaFence


class Elided(Frozen):
    """A conflict that needed no barrier of its own, and why; `where`: the line that the reason ends with, where it has one.

    `unproved`: nothing orders the two, and that they never meet is not proved; then it is the kind of what is not (see
    `flow.Relation`).
    """

    first: Access
    second: Access
    reason: str
    where: Span | None = None
    unproved: str = ""

    @property
    def vague(self) -> bool:
        """Whether nobody knows that the two never meet: not even the program says so."""
        return self.unproved not in ("", "overlap", "store")


class Skew(Frozen):
    """Fills that can be issued `by` visits ahead: `fills`, statements of one list, which `around` (outermost first) lead to from
    the body of `loop`. They need the values that `needs` declare, in the order of the text.

    `opens` stands before the fills of a trip, and not before the loop's first ones; `closes` after a trip's fills or, where there
    are none left, in their place.
    """

    lead: Cycle
    loop: For
    around: tuple[Stmt, ...]
    fills: tuple[Stmt, ...]
    needs: tuple[Declare, ...]
    by: int
    opens: tuple[Barrier | Op, ...] = ()
    closes: tuple[Op, ...] = ()


class Note(Frozen):
    """What is worth knowing of a place, though nothing stands there."""

    span: Span
    text: str


class Plan(Frozen):
    """All barriers of one function, in program order, and its operations, in the order of execution at each place.

    `completes`: the mbarrier on which each bulk or tensor load completes. `skewed`: the plan for fills ahead, with its `skews`.
    `begins`, `ends`: the cluster meets before a kernel's body, and behind it.
    `late`: it does not, and its first gather waits until all blocks have begun.
    """

    function: Function
    barriers: tuple[Barrier, ...]
    elided: tuple[Elided, ...] = ()
    operations: tuple[Op, ...] = ()
    cycles: tuple[Cycle, ...] = ()
    mbarriers: tuple[Mbarrier, ...] = ()
    completes: Mapping[Apply, Mbarrier] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    skews: tuple[Skew, ...] = ()
    skewed: Plan | None = None
    begins: bool = False
    ends: bool = False
    late: bool = False

    def cycle_of(self, view: Symbol) -> Cycle | None:
        """Return the cycle whose round says which copy a view of a ring means; None for any other name."""
        if view.view is None:
            return None
        ring, ahead = view.view.source, view.view.ahead
        return next((c for c in self.cycles if ring in c.rings and (c.leads is not None) == ahead), None)

    def before(self) -> Mapping[Stmt, tuple[Barrier | Op, ...]]:
        """Return what stands before each statement, in order: a thread ends its own and fences, arrives, meets others, waits."""
        found: dict[Stmt, tuple[Barrier | Op, ...]] = {}
        here = [op for op in self.operations if op.side == "before"]
        own = [op for op in here if isinstance(op, Commit | WaitGroup | ProxyFence)]
        told = [op for op in here if isinstance(op, Arrive)]
        rest = [op for op in here if not isinstance(op, Commit | WaitGroup | ProxyFence | Arrive)]
        for step in (*own, *told, *self.barriers, *rest):
            at = step.before if isinstance(step, Barrier) else step.at
            found[at] = (*found.get(at, ()), step)
        return found

    def after(self) -> Mapping[Stmt, tuple[Op, ...]]:
        """Return what stands after each statement, in order. Behind a loop all waits come before arrivals for the rounds left."""
        found: dict[Stmt, tuple[Op, ...]] = {}
        here = [op for op in self.operations if op.side == "after"]
        last = [op for op in here if isinstance(op, Arrive) and op.drain]
        for op in (*(op for op in here if op not in last), *last):
            found[op.at] = (*found.get(op.at, ()), op)
        return found

    def drop_step(self, step: Barrier | Op) -> Plan:
        """Return the plan with one barrier or operation deleted: a mutant that the race detector must catch."""
        return replace(
            self,
            barriers=tuple(b for b in self.barriers if b is not step),
            operations=tuple(op for op in self.operations if op is not step),
            skewed=None,
        )


def copies(symbol: Symbol) -> int:
    """Return how many copies a shared object has: more than one only in a ring."""
    return max(1, symbol.type.ring) if isinstance(symbol.type, Pointer) else 1


def shared_bytes(symbol: Symbol) -> int:
    """Return the size of a shared object, or of one copy of a ring; of a cluster's object, that of each block's part."""
    pointer = symbol.type
    if not isinstance(pointer, Pointer) or pointer.shape is None:
        raise ValueError(f"`{symbol.name}` is no shared object")
    count = 1
    for extent in pointer.shape:
        count *= extent
    return pointer.element.bytes * count // symbol.perspective.size


class Layout(Frozen):
    """Shared memory of one function: byte offsets in its frame, where callees' frames start, and the bytes in all.

    A ring's copies stand one after the other, `strides[ring]` bytes apart. `mbarriers`: the offset of the first of each array.
    `sized`: objects whose length the launch says, which stand behind all others (facts/rooms.py). `gathers`: of a kernel whose
    clusters gather, the offset of what that takes; `room`: the bytes of what one gather brings at most; `rooms`: how many such.
    """

    offsets: Mapping[Symbol, int]
    bytes: int
    frame: Mapping[int, int] = field(default_factory=dict)
    strides: Mapping[Symbol, int] = field(default_factory=dict)
    mbarriers: Mapping[Mbarrier, int] = field(default_factory=dict)
    sized: Mapping[Symbol, Any] = field(default_factory=dict)
    gathers: int = 0
    room: int = 0
    rooms: int = 0

    def total_bytes(self, symbol: Symbol) -> int:
        """Return the bytes of a shared object with all its copies."""
        return self.strides[symbol] * copies(symbol) if symbol in self.strides else shared_bytes(symbol)


class Program(Frozen):
    """A checked and synchronised program: the entry, and for each reachable function its plan and its layout.

    `functions` lists callees before callers, the entry last.
    """

    entry: Function
    functions: tuple[Function, ...]
    plans: Mapping[Function, Plan]
    layouts: Mapping[Function, Layout]
    notes: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    """What was found out about it (once.py), by what was asked."""

    def __repr__(self) -> str:
        """Return a line, and not the tree: an interactive Python prints what `prism.check` returns."""
        barriers = sum(len(plan.barriers) for plan in self.plans.values())
        return f"<Program of `{self.entry.name}`: functions: {len(self.functions)}, barriers: {barriers}>"

    def with_plan(self, plan: Plan) -> Program:
        """Return the program with one function's plan replaced."""
        return Program(self.entry, self.functions, {**self.plans, plan.function: plan}, self.layouts)


class Lowered(Frozen):
    """A program in the form that is emitted: fills issued ahead, a body for each role.

    `named`: for each size of unit that meets at a named barrier, the hardware's number of its first unit's barrier. `turns`: for
    each passage (`Turns.passage`) that of the first unit that takes turns there.
    """

    program: Program
    named: Mapping[int, int]
    turns: Mapping[tuple[object, ...], int] = field(default_factory=dict)
