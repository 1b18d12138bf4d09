"""A cluster's blocks at a kernel's begin and end: whether all must have begun before one goes on, and none may end first.

A block's shared memory is there from when the block begins to when its last thread ends. Where another block reaches into
it, by name or by an mbarrier, it may be neither missing yet nor gone. So the cluster meets before the kernel's body, and
behind it, where the plan's barriers do not do that work. They do it if each way from the begin to where a block reaches
into another one leads over a barrier of the cluster (or of the grid), and each way from there to the end. All blocks of a
cluster come to the same barriers, which stand in code that speaks for all of them. Such a barrier waits for blocks that
have not begun, so who has passed one reaches into none that is missing; and who meets it after it was reached into is
still there then.

The decision is the kernel's `Plan.begins` and `Plan.ends`. It is made of the tree and of where the plan's barriers stand,
of what may happen in any order of threads. A branch may go either way, and a loop may make any number of trips.

A gather (`all_gather`) sends to all blocks, which must have begun; and it waits for what is sent to its own block, so none
is reached into when it ends. Where nothing else reaches or meets, and none leaves early, the blocks tell at the begin that
they are there, and the first gather waits for that: the kernel's `Plan.late`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from prism.lang import tree
from prism.lang.diagnostics import CompileError, Error, Fields, Label
from prism.lang.errors.calls import FarElement
from prism.lang.facts.gathers import has_gathers, is_gather
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.tree.bind import operands_of
from prism.lang.tree.plan import Plan
from prism.lang.tree.walk import assigned_names, calls, statements, terms
from prism.lang.types import Array, Pointer
from prism.lang.types.perspective import Level

Open = bool | None
"""Whether the cluster may not have met since the begin, or since a block was reached into; None: nobody comes here."""


def decide(functions: tuple[tree.Function, ...], plans: Mapping[tree.Function, Plan]) -> Plan:
    """Return the plan of the kernel, the last of the functions, with what is decided of its begin and end."""
    entry = functions[-1]
    plan, cluster = plans[entry], entry.bound.block or 1
    if entry.kind != "global" or cluster == 1:
        return plan
    told = any(barrier.blocks for barrier in plan.mbarriers)
    first, last = _effects(functions, plans, cluster, "begin"), _effects(functions, plans, cluster, "end")
    reaches = last.reaches
    begins = told or first.early
    # What rings have under way, fill ahead and give back late is not asked here: they may reach until the end.
    ends = told or (reaches and (bool(plan.cycles) or last.shut))
    late = has_gathers(entry) and not (told or reaches or _meets_or_leaves(functions, plans))
    begins &= not late
    skewed = None if plan.skewed is None else replace(plan.skewed, begins=begins, ends=ends, late=late)
    return replace(plan, begins=begins, ends=ends, late=late, skewed=skewed)


def _meets_or_leaves(functions: tuple[tree.Function, ...], plans: Mapping[tree.Function, Plan]) -> bool:
    """Whether the cluster may meet at a barrier of the plan, or a thread leave the kernel before its end."""
    meets = any(barrier.kind in ("cluster", "grid") for f in functions for barrier in plans[f].barriers)
    return meets or any(isinstance(s, tree.Return | tree.Unsafe) for s in statements(functions[-1].body))


class _Effect(Value):
    """What a function leaves: of `shut`, and of `open`. `reaches`: into another block; `early`: before it has met anybody."""

    shut: bool
    open: bool
    reaches: bool
    early: bool


def _effects(
    functions: tuple[tree.Function, ...], plans: Mapping[tree.Function, Plan], cluster: int, of: str
) -> _Effect:
    """Return the kernel's effect. `of`: `begin`, where a barrier shuts what is open; `end`, where reaching opens it too."""
    found: dict[tree.Function, _Effect] = {}
    for f in functions:
        meets = frozenset(barrier.before for barrier in plans[f].barriers if barrier.kind in ("cluster", "grid"))
        walk = _Walk(f, cluster, found, meets, of)
        shut = walk.whole(False)
        walk.early = False
        found[f] = _Effect(shut, walk.whole(True), walk.reaches, walk.early)
    return found[functions[-1]]


# -- what reaches into another block --------------------------------------------------------------------------------------


def blocks_of(symbol: tree.Symbol) -> int:
    """Return how many blocks of a cluster have a part of an object each: its first index says which."""
    type_ = symbol.type
    shared = isinstance(type_, Pointer) and type_.space == "shared" and type_.shape is not None
    at = symbol.perspective
    return at.size if shared and symbol.view is None and not symbol.parameter and at.level == Level.BLOCK else 1


@memoize
def _ranks(function: tree.Function) -> Mapping[tree.Symbol, int]:
    """Return the variables of a function that are the block's own number among so many, from their declaration on."""
    body: tree.Body = function.body
    found, changed = dict[tree.Symbol, int](), frozenset(assigned_names(body))
    for s in statements(body):
        if isinstance(s, tree.Declare) and isinstance(s.value, tree.Id) and not isinstance(s.symbol.type, Array):
            unit, code = s.value.unit, s.value.code
            if (unit.level, unit.size, code.level) == (Level.BLOCK, 1, Level.BLOCK):
                found[s.symbol] = code.size
    return {symbol: size for symbol, size in found.items() if symbol not in changed}


def ranks_of(function: tree.Function, cluster: int) -> frozenset[tree.Symbol]:
    """Return the variables of a function that are the block's own number in its cluster from their declaration on."""
    return frozenset(symbol for symbol, size in _ranks(function).items() if size == cluster)


def is_other(symbol: tree.Symbol, indices: tuple[tree.Expr, ...], function: tree.Function, cluster: int) -> bool:
    """Whether a name, at some indices (none: as a whole), may be of another block's memory."""
    while symbol.view is not None:
        view = symbol.view
        given = dict(zip(view.params, indices, strict=False))
        indices = tuple(given.get(i.symbol, i) if isinstance(i, tree.Var) else i for i in view.index)
        symbol = view.source
    if blocks_of(symbol) == 1:
        return False
    own = bool(indices) and isinstance(indices[0], tree.Var) and indices[0].symbol in ranks_of(function, cluster)
    return not (own and blocks_of(symbol) == cluster)


def _reaches(s: tree.Stmt, function: tree.Function, cluster: int) -> bool:
    """Whether a statement itself may reach into another block's memory."""
    if isinstance(s, tree.Unsafe):
        named = (*s.uses, *s.names.values(), *(element.symbol for element, _ in s.accesses))
        return any(blocks_of(symbol.root()) > 1 for symbol in named)
    return any(
        is_other(part.symbol, part.indices if isinstance(part, tree.Element) else (), function, cluster)
        for part in terms(s)
        if isinstance(part, tree.Element | tree.Var)
    )


def check_near(functions: tuple[tree.Function, ...]) -> None:
    """Refuse operands that may be another block's memory, where an instruction takes the block's own alone."""
    cluster, faults = functions[-1].bound.block or 1, list[Error]()
    for f in functions if cluster > 1 else ():
        for apply in (part for s in statements(f.body) for part in terms(s) if isinstance(part, tree.Apply)):
            for p, e in operands_of(apply):
                if not isinstance(e, tree.Element | tree.Var) or not (p.near or p.kind == "tile"):
                    continue
                if is_other(e.symbol, e.indices if isinstance(e, tree.Element) else (), f, cluster):
                    root = e.symbol.root()
                    labels = (Label(root.span, f"`{root.name}` is declared here"),)
                    facts: Fields = {"parameter": p.name, "memory": root.name, "blocks": root.perspective.size}
                    faults.append(FarElement(span=e.span, name=apply.intrinsic.name, labels=labels, **facts))
    if faults:
        raise CompileError(*faults)


# -- the walk -------------------------------------------------------------------------------------------------------------


def _join(*ways: Open) -> Open:
    return max((way for way in ways if way is not None), default=None)


@dataclass(eq=False, slots=True)
class _Walk:
    """A walk over a function: what is open at each point. `effects`: of its callees; `meets`: before which the cluster meets."""

    function: tree.Function
    cluster: int
    effects: Mapping[tree.Function, _Effect]
    meets: frozenset[tree.Stmt]
    of: str
    reaches: bool = False
    early: bool = False
    returns: list[Open] = field(default_factory=list)
    breaks: list[Open] = field(default_factory=list)
    continues: list[Open] = field(default_factory=list)

    def whole(self, state: bool) -> bool:
        """Return what the function leaves."""
        self.returns = []
        return bool(_join(self.body(self.function.body, state), *self.returns))

    def body(self, body: tree.Body, state: Open) -> Open:
        """Return what is open behind a statement list."""
        for s in body:
            if state is None:
                break
            state = self.statement(s, self.use(s, False if s in self.meets else state))
        return state

    def use(self, s: tree.Stmt, state: bool) -> bool:
        """Return what is open behind what a statement itself evaluates."""
        # In which order C++ evaluates a statement's parts is not asked: the worst is taken of before and behind its calls.
        reaches = _reaches(s, self.function, self.cluster)
        self.early |= (reaches or any(map(is_gather, terms(s)))) and state
        for call in calls(s):
            effect = self.effects[call.function]
            self.reaches |= effect.reaches
            self.early |= effect.early and state
            state = effect.open if state else effect.shut
        self.reaches |= reaches
        return state or (reaches and self.of == "end")

    def statement(self, s: tree.Stmt, state: Open) -> Open:
        """Return what is open behind a statement of which the own expressions are evaluated."""
        match s:
            case tree.While() | tree.For():
                return self.loop(s, state)
            case tree.Break():
                self.breaks.append(state)
                return None
            case tree.Continue():
                self.continues.append(state)
                return None
            case tree.Return():
                self.returns.append(state)
                return None
            case tree.If():
                return _join(*(self.body(inner, state) for inner in tree.children(s)))
            case tree.Split() | tree.Specialise():
                return _join(state, *(self.body(inner, state) for inner in tree.children(s)))
            case _:
                for inner in tree.children(s):
                    state = self.body(inner, state)
                return state

    def loop(self, s: tree.While | tree.For, state: Open) -> Open:
        """Return what is open behind a loop."""
        around = self.breaks, self.continues
        while True:
            self.breaks, self.continues = [], []
            head = _join(state, self.body(s.body, state), *self.continues)
            if head == state:
                break
            state = head
        left = _join(state, *self.breaks)
        self.breaks, self.continues = around
        return left
