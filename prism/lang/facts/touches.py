"""The accesses: what each statement touches, and what is known of an access that has happened.

An access is made through a chain of views, from the object outwards. An asynchronous one (`how`) goes on after its statement,
until its thread waits for it; what barriers it meets before says nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field, fields
from math import prod
from typing import NamedTuple

from prism.lang import (
    diagnostics,
    tree,  # fmt: skip
)
from prism.lang.facts.claims import Told
from prism.lang.facts.definitions import Facts
from prism.lang.facts.polynomials import Form, all_digits
from prism.lang.keep.bases import Frozen
from prism.lang.tree.bind import operands_of
from prism.lang.tree.plan import Access, Path
from prism.lang.types.perspective import THREAD, Level, Perspective

LOADS = frozenset({"load", "remote"})
"""What completes on a ring's mbarrier by the bytes that come in."""
ENGINES = frozenset({"load", "bulk", "wgmma"})
"""Who accesses shared memory by another way than plain loads and stores: a fence is needed between the two."""
GROUPED = frozenset({"cp_async", "bulk", "wgmma"})
"""What is waited for by groups that the thread commits."""
COPIED = 16
"""Bytes of a `cp_async` that does not say."""
ATOMIC, NEAR, REDUCTION = "atomic", "atomic of a block", "reduction"
"""Kinds of access: atomic ones, those that are so to the threads of one block alone, and the copy engine's, which are so to one
another alone. The others: `read`, `write`."""
MOST = 7
"""Groups that may be pending at most: more are taken for so many."""


class Address(Frozen):
    """The elements of `root` that an access touches: `width` of them from `indices` on; `aligned`: at a multiple of `width`.

    `guards`: polynomials that are not negative where the access is made. `rows`: of a box, its extents but the last, which is
    `width`; empty where only the last index has more than one element.
    """

    root: tree.Symbol
    indices: tuple[Form, ...]
    guards: tuple[Form, ...]
    width: int
    aligned: bool
    rows: tuple[int, ...] = ()
    distinct: tuple[Told, ...] = ()
    """What is claimed of its unit's values."""

    key: tuple[object, ...] = field(init=False)
    """All that is known of it, to be compared: where two have it in common, every question has one answer for both."""

    def __post_init__(self) -> None:
        known = (getattr(self, one.name) for one in fields(self) if one.init)
        object.__setattr__(self, "key", tuple(map(_key, known)))


def _key(value: object) -> object:
    """Return what is compared of a field: polynomials, and claims, are so by what is in them."""
    if isinstance(value, dict):
        return frozenset(value.items())
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, Told):
        return value.place, _key(value.values)
    return value


class Step(Frozen):
    """One view of a chain. `names`: those that its indices are computed from. `who`: the arm that a claim's one unit runs."""

    view: tree.Symbol
    meaning: tree.View
    names: frozenset[tree.Symbol]
    who: Path | None


class Touch(Frozen):
    """An access to `root` through `steps`; `serial` orders them as the text does, `code` is where it stands.

    `how`: what makes it: a thread (the empty string), or what `Intrinsic.asynchronous` says. `by`: the copy or wgmma.
    `where`: its elements, where they are known. `allowed`: it is a callee's, through a partition for this unit that says
    `races="allow"`. `lands`: of an asynchronous write, the elements that come in, of tiles and boxes too. `use`: what makes it,
    but for a call's. `names`: those whose values decide which elements it touches. `varies`: these, and those whose values decide
    whether it is made: of two accesses in different trips of a loop that renews one of them, nothing that is said of both is
    of one value.
    """

    root: tree.Symbol
    kind: str
    steps: tuple[Step, ...]
    access: Access
    serial: int
    code: Perspective = THREAD
    how: str = ""
    path: Path = ()
    by: tree.Apply | None = None
    where: Address | None = None
    allowed: Perspective | None = None
    lands: Address | None = None
    use: Use | None = None
    names: frozenset[tree.Symbol] = field(init=False)
    varies: frozenset[tree.Symbol] = field(init=False)
    likeness: Hashable = field(init=False)
    """What tells it from accesses that stand to any access as it does, after the same steps."""

    def __post_init__(self) -> None:
        addresses = [address for address in (self.where, self.lands) if address is not None]
        names = frozenset[tree.Symbol]().union(*(step.names for step in self.steps))
        object.__setattr__(self, "names", names | names_of(f for a in addresses for f in a.indices))
        # `if i == 3: s[0]`: the element is one in all trips, and whether it is touched is not. A proof uses both.
        said = (f for a in addresses for f in (*a.guards, *(form for told in a.distinct for form in told.values)))
        object.__setattr__(self, "varies", self.names | names_of(said))
        object.__setattr__(self, "likeness", self._likeness())

    def _likeness(self) -> Hashable:
        if self.by is not None or self.lands is not None or isinstance(self.root.type, tree.Fragment):
            return object()  # like no other; not itself, or it would only be freed by the collector
        views = tuple((step.view, step.who) for step in self.steps)
        key = (self.root, self.kind, self.how, views, self.code, self.path, self.allowed)
        return key if self.where is None else (*key, self.where.key)

    @property
    def level(self) -> Perspective:
        """The perspective of the view or object through which it is made."""
        return self.steps[-1].view.perspective if self.steps else self.root.perspective

    @property
    def engine(self) -> bool:
        """Whether it is made by the copy engine or the tensor cores, not by the thread."""
        return self.how in ENGINES


Met = tuple[Perspective, str, tree.Stmt | None, diagnostics.Span | None]
"""A barrier that was met: its unit, what it is called, the statement that it stands before, and where the line is that its name
has."""


class Pending(NamedTuple):
    """An access that has happened; `touch` None stands for whatever the caller did before the call.

    `open`: how many of its views are still open. `synced`: a barrier met since. `aged`: the loops whose back-edge it has gone
    round, of those that renew what it `varies` with. `loop`: whether it went round any. `since`: None, or it is under way: how
    many groups of its kind its thread has surely committed after its own (-1: its own is not yet committed). `fenced`: its
    thread has made a proxy fence since; `asynced`: a barrier met after that. `passed`: places that its thread has passed since,
    and whether the fence came first.
    """

    touch: Touch | None
    open: int = 0
    synced: Met | None = None
    aged: frozenset[tree.Stmt] = frozenset()
    loop: bool = False
    since: int | None = None
    fenced: bool = False
    asynced: Met | None = None
    passed: frozenset[tuple[int, bool]] = frozenset()

    def is_settled(self, unit: Perspective, engines: bool) -> bool:
        """Whether a barrier of `unit` orders it before all that can ever conflict with it.

        That is the block's, or the cluster's, for shared memory, and the grid's for all memory.
        """
        if self.touch is None or self.since is not None or not isinstance(self.touch.root.type, tree.Pointer):
            return False
        if engines and not (self.fenced or self.touch.engine):
            return False
        shared = self.touch.root.type.space == "shared"
        return (shared or unit.level == Level.GRID) and self.touch.root.perspective <= unit

    def after(self, met: Met) -> Pending:
        """Return it as it is after a barrier."""
        if self.since is not None:
            return self
        # What is under way ends when its thread waits for it: a barrier before that says nothing. Of two barriers the
        # broader one is kept. It joins all threads that the narrower one joins, where the narrower unit is inside it.
        synced = met if self.synced is None or self.synced[0] < met[0] else self.synced
        asynced = self.asynced
        if self.fenced and (asynced is None or asynced[0] < met[0]):
            asynced = (*met[:2], None, met[3])
        # A fence is put before a barrier that was met where it is missing there: not for an engine's own access, and not where
        # a barrier as broad has come after one. Without the statement, what met different barriers is one.
        if (self.touch is not None and self.touch.engine) or (asynced is not None and synced[0] <= asynced[0]):
            synced = (*synced[:2], None, synced[3])
        if synced == self.synced and asynced == self.asynced:
            return self
        return self._replace(synced=synced, asynced=asynced)

    def passing(self, place: int) -> Pending:
        """Return it as it is after its thread has passed a place."""
        if self.touch is None or self.since is not None or (place, self.fenced) in self.passed:
            return self
        return self._replace(passed=self.passed | {(place, self.fenced)})

    def pass_place(self, place: int, met: Met) -> Pending:
        """Return it as it is after a place where those of `met` know that its thread has passed another."""
        # The access came before the place for its own thread. All know that this thread has passed the place: so they know that
        # the access has ended, as if all had met at a barrier. Engines see it only if the fence too came before the place.
        found = self
        if {(place, False), (place, True)} & self.passed and (self.synced is None or self.synced[0] < met[0]):
            found = found._replace(synced=met)
        if (place, True) in self.passed and (self.asynced is None or self.asynced[0] < met[0]):
            found = found._replace(asynced=met)
        return found

    def commit(self) -> Pending:
        """Return it as it is after its thread has committed one more group of its kind."""
        # No wait leaves more than MOST groups, so that at MOST it has ended for all of them, and the states stay few.
        return self if self.since is None else self._replace(since=min(self.since + 1, MOST))

    def land(self) -> Pending:
        """Return it as it is once its thread has waited for it."""
        if self.since is None:
            return self
        # What an engine did, engines see without a proxy fence; what `cp_async` stored is a thread's, and needs one. Of registers
        # that a wgmma wrote, a wgmma that reads them is told by a fence of their own.
        return self._replace(
            since=None, fenced=self.touch is not None and self.touch.engine and in_memory(self.touch.root)
        )

    def fence_proxy(self) -> Pending:
        """Return it as it is after its thread's proxy fence."""
        memory = self.touch is None or in_memory(self.touch.root)
        return self._replace(fenced=True) if memory and self.since is None and not self.fenced else self

    def fence_registers(self) -> Pending | None:
        """Return it as it is after its thread's wgmma fence; None for a thread's own access to a fragment, which it settles."""
        if self.touch is None or in_memory(self.touch.root):
            return self
        if not self.touch.how:
            return None
        return self if self.since is not None else self._replace(fenced=True)


def other_trip(known: Facts, first: Pending, second: Touch) -> tree.Symbol | None:
    """Return the index of the loop of which two accesses are in different trips, where that may keep their places apart.

    It is the loop around all that `first` has gone round: those inside may have begun anew, and be in any trip. A `while` has no
    index, so of its trips nothing is known.

        while c:                       both renew i alone: behind the second trip of the `while`, i is what it was in the first
            for i in range(n): s[i]
    """
    assert first.touch is not None
    mentioned = first.touch.names | second.names
    loops = [loop for loop in first.aged if not known.renewed[loop].isdisjoint(mentioned)]
    outer = min(loops, key=_order_of_loops(known).__getitem__, default=None)
    inside = outer is not None and all(known.renewed[loop] <= known.renewed[outer] for loop in loops)
    return outer.symbol if isinstance(outer, tree.For) and inside else None


def _order_of_loops(known: Facts) -> Mapping[tree.Stmt, int]:
    """Number the loops as the text has them, so that one comes before those inside it."""
    found: Mapping[tree.Stmt, int] | None = known.found.get("loops")
    if found is None:
        found = known.found["loops"] = {loop: number for number, loop in enumerate(known.renewed)}
    return found


class Exposed(Frozen):
    """An access of a callee as its callers see it: `root` is a parameter, or None for the callee's shared memory.

    At entry, `guard` is the unit of the barriers surely met before it (by the copy engine or the tensor cores: of those after a
    proxy fence); at exit, of those surely met after it. `allowed`: the unit that the callee parts it for, where that
    says `races="allow"`.
    """

    root: tree.Symbol | None
    kind: str
    access: Access
    guard: Perspective | None
    how: str = ""
    allowed: Perspective | None = None


class Summary(Frozen):
    """A callee, for its callers. `clears`: the units of the barriers that its paths meet (None: a path that meets none)."""

    entry: tuple[Exposed, ...]
    exit: tuple[Exposed, ...]
    clears: tuple[Perspective | None, ...]
    kinds: Mapping[tree.Symbol, frozenset[str]] = field(default_factory=dict)


class Use(Frozen):
    """A use of memory or of a fragment in an expression: `kind` read, write, ATOMIC, NEAR or REDUCTION; or a call.

    `exact`: it touches `width` elements from where it points, and no others. `how` and `by` are as in `Touch`.
    """

    expression: tree.Element | tree.Var | tree.Item | tree.Call
    kind: str
    exact: bool = True
    conditional: bool = False
    how: str = ""
    by: tree.Apply | None = None
    width: int = 1


def uses(statement: tree.Stmt) -> Iterator[Use]:
    """Yield what a statement itself touches, in evaluation order (not what statements inside it do)."""
    if isinstance(statement, tree.Unsafe):
        yield from _uses_of_text(statement)
        return
    target = statement.target if isinstance(statement, tree.Assign) else None
    for expression in tree.expressions(statement):
        if expression is target:
            yield from _uses_of_target(expression)
        else:
            yield from _uses(expression)


def _uses_of_text(statement: tree.Unsafe) -> Iterator[Use]:
    for element, kind in statement.accesses:
        yield from (use for index in indices_of(element) for use in _uses(index))
        yield Use(element, kind, exact=False)
    for symbol in statement.uses:
        if isinstance(symbol.type, tree.Fragment):  # nobody says what a text does to one that it is lent
            whole = tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=statement.span)
            yield Use(whole, "write", exact=False)


def _uses_of_target(target: tree.Expr) -> Iterator[Use]:
    match target:
        case tree.Element():
            yield from (use for index in indices_of(target) for use in _uses(index))
            yield Use(target, "write")
        case tree.Item(symbol=symbol) if isinstance(symbol.type, tree.Fragment):
            yield from (use for index in target.indices for use in _uses(index))
            yield Use(target, "write")
        case tree.Var(symbol=symbol) if isinstance(symbol.type, tree.Fragment):
            yield Use(target, "write", exact=False)  # `acc = 0`: all of it
        case tree.Var():
            pass
        case _:
            yield from _uses(target)


def uses_of(known: Facts, statement: tree.Stmt) -> tuple[Use, ...]:
    """Return what `uses` yields, which is found out once for each statement of a function."""
    memo: dict[tree.Stmt, tuple[Use, ...]] = known.found.setdefault("uses", {})
    if statement not in memo:
        memo[statement] = tuple(uses(statement))
    return memo[statement]


def declared_fragment(statement: tree.Stmt) -> tree.Symbol | None:
    """Return the fragment that a statement declares: its registers are touched there for the first time."""
    match statement:
        case tree.Declare(symbol=symbol) if isinstance(symbol.type, tree.Fragment):
            return symbol
        case _:
            return None


def _uses(expression: tree.Expr, conditional: bool = False) -> Iterator[Use]:  # noqa: C901
    match expression:
        case tree.Element():
            for index in indices_of(expression):
                yield from _uses(index, conditional)
            yield Use(expression, "read", conditional=conditional)
        case tree.Item(symbol=symbol) if isinstance(symbol.type, tree.Fragment):
            for index in expression.indices:
                yield from _uses(index, conditional)
            yield Use(expression, "read", conditional=conditional)
        case tree.Apply():
            yield from _apply(expression, conditional)
        case tree.Call():
            for argument in expression.arguments:
                if isinstance(argument, tree.Element) and isinstance(argument.type, tree.Pointer):
                    for index in indices_of(argument):
                        yield from _uses(index, conditional)
                else:
                    yield from _uses(argument, conditional)
            yield Use(expression, "call", conditional=conditional)
        case tree.Select() | tree.Binary(op="and" | "or"):
            # `c and s[i]`: s[i] may not be read. It can be in conflict, but nobody may count on what it would bring about.
            first, *rest = tree.operands(expression)
            yield from _uses(first, conditional)
            for operand in rest:
                yield from _uses(operand, True)
        case _:
            for operand in tree.operands(expression):
                yield from _uses(operand, conditional)


def indices_of(element: tree.Element) -> Iterator[tree.Expr]:
    """Its indices, and what its views compute from them at each access: a lambda may read memory or call a function."""
    yield from element.indices
    symbol = element.symbol
    while symbol.view is not None:
        yield from symbol.view.index
        symbol = symbol.view.source


def _apply(apply: tree.Apply, conditional: bool) -> Iterator[Use]:
    """Its plain operands first, then its memory operands, as their parameters declare."""
    parameters = [p for p in apply.intrinsic.parameters if p.kind != "static"]
    how = apply.intrinsic.asynchronous
    by = apply if how else None
    memory: list[Use] = []
    for parameter, argument in zip(parameters, apply.arguments, strict=False):
        if parameter.kind in ("element", "tile", "tensor") and isinstance(argument, tree.Element):
            for index in indices_of(argument):
                yield from _uses(index, conditional)
            quiet = parameter.atomic or parameter.mailbox
            quietly = REDUCTION if how else NEAR if apply.statics.get("scope") == "block" else ATOMIC
            kind = quietly if quiet else "read" if parameter.effect == "read" else "write"
            width = _width(apply, argument) if parameter.kind == "element" else None
            exact = (parameter.exact or width is not None) and parameter.kind == "element"
            memory.append(Use(argument, kind, exact, conditional, how, by, width or 1))
        elif parameter.kind in ("tile", "fragment") and isinstance(argument, tree.Var):
            kind = "read" if parameter.effect == "read" else "write"
            memory.append(Use(argument, kind, False, conditional, how, by))
        else:
            yield from _uses(argument, conditional)
    yield from memory


def _width(apply: tree.Apply, element: tree.Element) -> int | None:
    """Return how many elements of a plain pointer an asynchronous copy touches, where that is constant."""
    root = element.symbol.root().type
    if not isinstance(root, tree.Pointer) or not apply.intrinsic.asynchronous:
        return None
    if apply.intrinsic.asynchronous == "cp_async":
        count = apply.statics.get("bytes") or COPIED
        return max(1, int(count) // root.element.bytes) if isinstance(count, int) else None
    given = {parameter.name: argument for parameter, argument in operands_of(apply)}
    if "n" in given:
        n = given["n"]
        return max(1, int(n.value)) if isinstance(n, tree.Const) else None
    tiles = [a for p, a in operands_of(apply) if p.kind == "tile" and isinstance(a, tree.Var | tree.Element)]
    shape = tiles[0].symbol.type.shape if tiles and isinstance(tiles[0].symbol.type, tree.Pointer) else None
    # A copy of a whole tile: to take more for touched than is can only make accesses meet that do not.
    return None if shape is None else max(1, prod(shape))  # at most: where it begins inside, it is less


def spell(expression: tree.Expr) -> str:
    """Return the source's spelling of a name or element, shortened."""
    if isinstance(expression, tree.Element | tree.Item):
        return f"{expression.symbol.name}[...]"
    return expression.symbol.name if isinstance(expression, tree.Var) else "..."


def names_of(forms: Iterable[Form]) -> frozenset[tree.Symbol]:
    """Return the names, and the loops' indices, that polynomials depend on."""
    bases = (digit.base for form in forms for digit in all_digits(form))
    return frozenset(base[1] for base in bases if base[0] in ("name", "trip"))


def in_memory(symbol: tree.Symbol) -> bool:
    """Whether a name stands for memory that several threads reach: not for a fragment."""
    return isinstance(symbol.type, tree.Pointer | tree.TensorMap)
